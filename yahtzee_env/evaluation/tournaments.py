"""Tournaments: every table of the policies plays, and results become ratings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import combinations, permutations
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.evaluation.duels import chunks_of, play_set
from yahtzee_env.evaluation.intervals import SampleMean, student_t
from yahtzee_env.evaluation.ratings import bradley_terry
from yahtzee_env.family import get_ruleset
from yahtzee_env.match import MAX_PLAYERS, winners
from yahtzee_env.policies import as_policy
from yahtzee_env.rules import Ruleset


@dataclass(frozen=True)
class Standing:
    """One policy in a tournament.

    Attributes:
        policy: its name.
        rating: on the Elo scale, the mean of all policies being 0.
        rating_half_width: half of the 95 % interval of the rating.
        share: its share of the wins at its tables.
        mean: its mean final score.
    """

    policy: str
    rating: float
    rating_half_width: float
    share: SampleMean
    mean: float


@dataclass(frozen=True)
class PairResult:
    """Two policies in the matches that one of them won, or both of them together.

    Attributes:
        first: the name of the first.
        second: the name of the second.
        win: the share of these matches that the first won alone of the two.
        tie: the share that both won together.
        loss: the share that the second won.
        share: the share of the first, ties half.
    """

    first: str
    second: str
    win: float
    tie: float
    loss: float
    share: SampleMean


@dataclass(frozen=True)
class Tournament:
    """The result of a tournament.

    Attributes:
        ruleset: the name of the rule set.
        games: how many matches each table played.
        seed: of the dice and of the policies' generators.
        table: the number of players at a table.
        standings: one for each policy, the best first.
        pairs: one for each pair, in the order of the policies.
        moving_first: the share of the wins of whoever moves first.
    """

    ruleset: str
    games: int
    seed: int
    table: int
    standings: tuple[Standing, ...]
    pairs: tuple[PairResult, ...]
    moving_first: SampleMean

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain numbers, texts, lists and dictionaries; None for no error bound."""
        parts = {
            name: [{**vars(part), "share": part.share.to_dict()} for part in getattr(self, name)]
            for name in ("standings", "pairs")
        }
        for standing in parts["standings"]:
            if not isfinite(standing["rating_half_width"]):
                standing["rating_half_width"] = None
        return {**vars(self), **parts, "moving_first": self.moving_first.to_dict()}


def tournament(
    policies: Sequence[Any],
    ruleset: str | Ruleset = "yahtzee",
    games: int = 1000,
    seed: int = 0,
    table: int = 2,
    executor: Executor | None = None,
    progress: Callable[[float], None] | None = None,
) -> Tournament:
    """Let every table of `table` policies play, everybody at every seat equally often.

    Matches come in sets with the same dice at each seat, one for each rotation of the players; all
    tables have the same dice.

    Args:
        policies: what `as_policy` takes, with different names.
        ruleset: a rule set or its name.
        games: how many matches each table plays, a multiple of `table`, at least two sets.
        seed: of the dice and of the policies' generators; the result depends on nothing else.
        table: the number of players at a table, 2 to 10.
        executor: plays the matches; by default the calling thread does.
        progress: called now and then with the share of the matches played, 0 to 1.

    Raises:
        ValueError: for unknown names, two of one name, numbers that do not fit, or an illegal
            action.
    """
    players = [as_policy(policy) for policy in policies]
    names = [player.name for player in players]
    _check(names, games, table)
    rules = get_ruleset(ruleset)
    chunks = chunks_of(games // table, seed)
    tables = list(combinations(range(len(players)), table))
    tasks = [
        ([players[i] for i in seats], rules, False, *chunk) for seats in tables for chunk in chunks
    ]
    played = []
    for totals, _ in (executor.map if executor else map)(play_set, *zip(*tasks, strict=True)):
        played.append(totals)
        if progress:
            progress(len(played) / len(tasks))
    each = len(chunks)
    joined = [np.concatenate(played[i * each : (i + 1) * each], axis=1) for i in range(len(tables))]
    return _result(names, rules.name, games, seed, table, dict(zip(tables, joined, strict=True)))


def _check(names: list[str], games: Any, table: Any) -> None:
    if not 2 <= table <= MAX_PLAYERS:
        raise ValueError(f"a table has 2 to {MAX_PLAYERS} players, not {table}")
    if len(names) < table:
        raise ValueError(f"a table of {table} needs at least so many policies, not {len(names)}")
    if doubles := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"policies must have different names, but {sorted(doubles)} occur twice")
    if games % table or games < 2 * table:
        raise ValueError(
            f"games must be a multiple of {table}, at least {2 * table}, so that everybody sits "
            f"everywhere equally often, not {games}"
        )


def _result(
    names: list[str],
    ruleset: str,
    games: int,
    seed: int,
    table: int,
    tables: dict[tuple[int, ...], NDArray[np.int64]],
) -> Tournament:
    """Standings and pairs from the totals of each table, (rotations, sets, players)."""
    n_sets = games // table
    points = np.zeros((n_sets, len(names), len(names)))
    ties = np.zeros((len(names), len(names)))
    shares: list[list[NDArray[np.float64]]] = [[] for _ in names]
    means: list[list[float]] = [[] for _ in names]
    first = []
    for seats, totals in tables.items():
        won = winners(totals)
        of_wins = won / won.sum(axis=2, keepdims=True)
        first.append(np.mean([of_wins[seat, :, seat] for seat in range(table)], axis=0))
        for seat, i in enumerate(seats):
            shares[i].append(of_wins[..., seat].mean(axis=0))
            means[i].append(float(totals[..., seat].mean()))
        for (a, i), (b, j) in permutations(enumerate(seats), 2):
            together = won[..., a] & won[..., b]
            points[:, i, j] += (won[..., a] - together / 2).sum(axis=0)
            ties[i, j] += together.sum()
    ratings = bradley_terry(points)
    width = student_t(n_sets - 1)
    standings = [
        Standing(
            name,
            float(ratings.values[i]),
            float(width * ratings.sems[i]),
            SampleMean.of(np.mean(shares[i], axis=0)),
            float(np.mean(means[i])),
        )
        for i, name in enumerate(names)
    ]
    standings.sort(key=lambda one: -one.rating)
    pairs = [_pair(names, points, ties, i, j) for i, j in combinations(range(len(names)), 2)]
    moving_first = SampleMean.of(np.mean(first, axis=0))
    return Tournament(ruleset, games, seed, table, tuple(standings), tuple(pairs), moving_first)


def _pair(
    names: list[str],
    points: NDArray[np.float64],
    ties: NDArray[np.float64],
    i: int,
    j: int,
) -> PairResult:
    """The share is a ratio of sums over the sets, and its standard error is linearised."""
    ahead, met = points[:, i, j], points[:, i, j] + points[:, j, i]
    n_met = max(met.sum(), 1.0)
    share = float(ahead.sum() / n_met)
    error = SampleMean.of((ahead - share * met) / (n_met / len(met))).sem
    tie = float(ties[i, j] / n_met)
    of_first = SampleMean(share, error, len(met))
    return PairResult(names[i], names[j], share - tie / 2, tie, 1 - share - tie / 2, of_first)
