"""Evaluate a policy: play games and measure the distance from perfect play."""

from __future__ import annotations

import math
from operator import index
from typing import Any, get_args

import numpy as np

from yahtzee_env.evaluation.play import OnIllegal, Played, play
from yahtzee_env.evaluation.result import CardSummary, Evaluation, luck_of, worst_mistakes
from yahtzee_env.family import get_ruleset
from yahtzee_env.policies import OptimalPolicy, as_policy
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver import solve

PILOT_GAMES = 500
"""Games on which the coefficient of the control variate is fitted, apart from those evaluated."""

IMPOSSIBLE = 5.0
"""A mean this many standard errors above the optimum is an error, not luck."""


def evaluate(
    policy: Any,
    ruleset: str | Ruleset = "yahtzee",
    games: int = 1000,
    seed: int = 0,
    on_illegal: OnIllegal = "raise",
) -> Evaluation:
    """Play exactly `games` games and measure the distance from perfect play.

    The same seed gives the same result, and game i has the same dice for every policy.

    Args:
        policy: a `Policy`, a name or file for `load_policy`, a function of (observations, masks),
            or a stable-baselines3 or sb3-contrib model.
        ruleset: a rule set, its name or its JSON file.
        games: how many, at least 2.
        seed: of the dice and of the policy's generator.
        on_illegal: "raise", or "random": a random legal action instead, counted in the result.

    Raises:
        ValueError: for unknown names, too few games, or an illegal action.
        RuntimeError: if the mean is far above the optimum: the policy saw the coming dice, or the
            engine is wrong.
    """
    try:
        games, seed = index(games), index(seed)
    except TypeError:
        raise ValueError(
            f"games and seed must be whole numbers, not {games!r} and {seed!r}"
        ) from None
    if games < 2:
        raise ValueError(f"games must be at least 2, not {games}")
    if on_illegal not in get_args(OnIllegal):
        raise ValueError(f"on_illegal must be one of {get_args(OnIllegal)}, not {on_illegal!r}")
    player = as_policy(policy)
    solution = solve(get_ruleset(ruleset))
    main_seed, pilot_seed = np.random.SeedSequence(seed).spawn(2)
    played = play(player, solution, games, main_seed, on_illegal)
    pilot = play(player, solution, PILOT_GAMES, pilot_seed, on_illegal)
    optimal = play(OptimalPolicy(), solution, games, np.random.SeedSequence(seed).spawn(1)[0])
    result = Evaluation(
        policy=player.name,
        ruleset=solution.ruleset.name,
        games=games,
        seed=seed,
        optimum=solution.start_value,
        scores=played.records["score"].astype(np.int64),
        regret=played.regret,
        coefficient=_coefficient(pilot, solution.start_value),
        cards=CardSummary.of(solution.ruleset, played.records),
        optimal_cards=CardSummary.of(solution.ruleset, optimal.records),
        mistakes=worst_mistakes(solution.ruleset, played),
        illegal_actions=played.illegal,
    )
    _refuse_impossible(result, float(pilot.records["score"].std(ddof=1)))
    return result


def _coefficient(pilot: Played, optimum: float) -> float:
    """The regression coefficient of score on luck; 1 where luck never varies."""
    scores = pilot.records["score"].astype(np.int64)
    luck = luck_of(scores, pilot.regret, optimum)
    variance = luck.var(ddof=1)
    return float(np.cov(scores, luck)[0, 1] / variance) if variance > 0 else 1.0


def _refuse_impossible(result: Evaluation, std: float) -> None:
    """Refuse a mean above the optimum; of few games the pilot's spread guards against chance."""
    limit = result.optimum + IMPOSSIBLE * max(result.std, std) / math.sqrt(result.games)
    if result.mean > limit:
        raise RuntimeError(
            f"{result.policy} scored {result.mean:.2f} +- {result.sem:.2f}, above the optimum "
            f"{result.optimum:.2f}: no policy can, so the policy or the engine is wrong"
        )
