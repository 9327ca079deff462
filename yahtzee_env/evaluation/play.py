"""Play games to the end and record what each decision cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import N_KEEPS
from yahtzee_env.game import Games
from yahtzee_env.kernels import GAME, REROLLS
from yahtzee_env.policies import Policy
from yahtzee_env.policies.adapters import as_actions
from yahtzee_env.rules import MAX_BOXES, Ruleset
from yahtzee_env.solver import Solution
from yahtzee_env.solver.endings import choice_number

OnIllegal = Literal["raise", "random"]

BATCH = 4096
"""Games played at once; the results of deterministic policies do not depend on it."""

CHOICES = N_KEEPS + MAX_BOXES
"""What a decision can choose, as one number: a keep (see `dice.KEEPS`), or N_KEEPS + box."""

_NEGLIGIBLE = 1e-9


@dataclass
class Played:
    """What happened in n games.

    Attributes:
        records: (n,) `kernels.GAME` records of the finished games.
        regret: (n, 3, boxes) float64, points lost by decisions: by rolls left and by turn.
        mistakes: for (rolls left, chosen, best), the points lost in all games and the number of
            times.
        illegal: how many illegal actions were replaced by random ones.
    """

    records: NDArray[np.void]
    regret: NDArray[np.float64]
    mistakes: dict[tuple[int, int, int], tuple[float, int]]
    illegal: int


def play(
    policy: Policy,
    solution: Solution,
    games: int,
    seed: np.random.SeedSequence,
    on_illegal: OnIllegal = "raise",
) -> Played:
    """Play games to the end. Game i has the same dice for every policy and number of games.

    Raises:
        ValueError: for an illegal action with `on_illegal="raise"`, or if the policy returns
            anything but a whole number per game.
    """
    ruleset = solution.ruleset
    dice_seed, policy_seed = seed.spawn(2)
    generators = np.random.default_rng(dice_seed).integers(2**64, size=games, dtype=np.uint64)
    rng = _generator(policy_seed)
    log = _Log(ruleset, games)
    for first in range(0, games, BATCH):
        batch = Games(ruleset, min(BATCH, games - first))
        batch.rngs[:] = generators[first : first + BATCH]
        batch.start()
        _finish(policy, solution, batch, first + np.arange(len(batch)), rng, on_illegal, log)
    return log.played()


def _generator(seed: np.random.SeedSequence) -> np.random.Generator:
    """The policy's generator, without the seed: from it a policy could derive the coming dice."""
    bits = np.random.PCG64(0)
    bits.state = np.random.PCG64(seed).state
    return np.random.Generator(bits)


class _Log:
    """Collects what happens in each game, and what each kind of mistake costs."""

    def __init__(self, ruleset: Ruleset, games: int) -> None:
        n_boxes = len(ruleset.boxes)
        self.records = np.zeros(games, GAME)
        self.regret = np.zeros((games, REROLLS + 1, n_boxes))
        self.lost: dict[int, float] = defaultdict(float)
        self.times: Counter[int] = Counter()
        self.illegal = 0

    def note(
        self,
        batch: Games,
        numbers: NDArray[np.int64],
        actions: NDArray[np.int64],
        values: NDArray[np.float64],
    ) -> None:
        """Record what the actions cost, before they are played."""
        rows = np.arange(len(batch))
        best = np.nanargmax(values, axis=1)
        lost = values[rows, best] - values[rows, actions]
        rolls_left = batch.records["rolls_left"].astype(np.int64)
        turn = np.bitwise_count(batch.records["filled"])
        self.regret[numbers, rolls_left, turn] += lost
        wrong = lost > _NEGLIGIBLE
        roll = batch.records["roll"][wrong]
        code = rolls_left[wrong]
        for choice in (actions, best):
            code = code * CHOICES + choice_number(roll, choice[wrong])
        codes, which, times = np.unique(code, return_inverse=True, return_counts=True)
        sums = np.bincount(which, lost[wrong], len(codes))
        for key, points, count in zip(codes.tolist(), sums.tolist(), times.tolist(), strict=True):
            self.lost[key] += points
            self.times[key] += count

    def played(self) -> Played:
        mistakes = {}
        for code, lost in self.lost.items():
            rest, best = divmod(code, CHOICES)
            rolls_left, chosen = divmod(rest, CHOICES)
            mistakes[rolls_left, chosen, best] = (lost, self.times[code])
        return Played(self.records, self.regret, mistakes, self.illegal)


def _finish(
    policy: Policy,
    solution: Solution,
    batch: Games,
    numbers: NDArray[np.int64],
    rng: np.random.Generator,
    on_illegal: OnIllegal,
    log: _Log,
) -> None:
    while len(batch):
        actions = as_actions(policy.act(batch.positions(), rng), len(batch))
        if on_illegal == "random":
            actions, replaced = _legal(batch, actions, rng)
            log.illegal += replaced
        else:
            batch.check_legal(actions)
        log.note(batch, numbers, actions, solution.action_values(batch))
        batch.play(actions)
        over = batch.over
        if over.any():
            log.records[numbers[over]] = batch.records[over]
            batch, numbers = batch.select(~over), numbers[~over]


def _legal(
    batch: Games, actions: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], int]:
    known = (actions >= 0) & (actions < batch.n_actions)
    rows = np.arange(len(batch))
    legal = known & (batch.masks()[rows, np.where(known, actions, 0)] == 1)
    return np.where(legal, actions, batch.random_actions(rng)), int((~legal).sum())
