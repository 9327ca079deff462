"""Objectives other than the expected score, as what a final score is worth.

Each is worked out at levels (see `levels`): the points that are missing to a goal, or, for a table
of utilities, the points up to the end of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.bounds import most_to_come, scores_so_far
from yahtzee_env.solver.distribution import Distribution
from yahtzee_env.solver.levels import Span

DEFAULT_LEVELS = 512


class Objective(Protocol):
    """What to maximise instead of the expected score."""

    @property
    def name(self) -> str:
        """What the objective is called in results, such as "at-least-300"."""
        ...

    @property
    def kind(self) -> str:
        """The same for objectives that share one table of values."""
        ...

    @property
    def slope(self) -> float:
        """How values change from level to level where no more points can come than are missing."""
        ...

    @property
    def monotone(self) -> bool:
        """Whether more points are never worth less."""
        ...

    def final(self, levels: int) -> NDArray[np.float64]:
        """(levels,) float64: what each level is worth when the card is full."""
        ...

    def spans(self, ruleset: Ruleset, levels: int) -> list[Span]:
        """The levels that matter on each card, by number of filled boxes."""
        ...

    def start_level(self, values: NDArray[np.float64]) -> int:
        """The level at which a game begins, from the values of all levels at the start."""
        ...

    def start_value(self, values: NDArray[np.float64]) -> float:
        """The value of the objective at the start, from the values of all levels there."""
        ...


@dataclass(frozen=True)
class AtLeast:
    """The chance to score at least some points; one table holds the values for all of them.

    A level is the number of points still needed.
    """

    points: int

    slope = 0.0
    monotone = True
    kind = "at-least"

    @property
    def name(self) -> str:
        """Such as "at-least-300"."""
        return f"at-least-{self.points}"

    def final(self, levels: int) -> NDArray[np.float64]:
        """1 where nothing is needed any more, else 0."""
        worth = np.zeros(levels)
        worth[0] = 1.0
        return worth

    def spans(self, ruleset: Ruleset, levels: int) -> list[Span]:
        """Up to the most points that can come, and one more."""
        return _spans_to_come(ruleset, levels)

    def start_level(self, values: NDArray[np.float64]) -> int:
        """The points.

        Raises:
            ValueError: for fewer than 0 points, or more than the table holds.
        """
        if not 0 <= self.points < len(values):
            raise ValueError(
                f"points must be 0 to {len(values) - 1} with {len(values)} levels, "
                f"not {self.points}"
            )
        return self.points

    def start_value(self, values: NDArray[np.float64]) -> float:
        """The chance at the start of a game."""
        return float(values[self.start_level(values)])


@dataclass(frozen=True)
class CVaR:
    """The conditional value at risk: the mean of the worst share `level` of all scores.

    The best policy for it is found with the points so far as part of the state (Baeuerle and Ott
    2011): CVaR = max over goals y of y - E[shortfall below y] / level, and the policy that keeps
    the expected shortfall of the best goal least is the best one. One table holds all levels.

    Raises:
        ValueError: for a level that is not above 0 and at most 1.
    """

    level: float

    slope = -1.0
    monotone = True
    kind = "cvar"

    def __post_init__(self) -> None:
        if not 0.0 < self.level <= 1.0:
            raise ValueError(f"the level of CVaR must be above 0 and at most 1, not {self.level}")

    @property
    def name(self) -> str:
        """Such as "cvar-0.1"."""
        return f"cvar-{self.level:g}"

    def final(self, levels: int) -> NDArray[np.float64]:
        """Less the points missing to the goal."""
        return -np.arange(levels, dtype=np.float64)

    def spans(self, ruleset: Ruleset, levels: int) -> list[Span]:
        """Up to the most points that can come, and one more."""
        return _spans_to_come(ruleset, levels)

    def start_level(self, values: NDArray[np.float64]) -> int:
        """The best goal.

        Raises:
            ValueError: if it may lie above the levels of the table.
        """
        goal = int(np.argmax(self._by_goal(values)))
        if goal == len(values) - 1:
            raise ValueError(f"CVaR at level {self.level:g} needs more than {len(values)} levels")
        return goal

    def start_value(self, values: NDArray[np.float64]) -> float:
        """The best CVaR of the score."""
        return float(self._by_goal(values)[self.start_level(values)])

    def _by_goal(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        by_goal: NDArray[np.float64] = np.arange(len(values)) + values / self.level
        return by_goal


class Utility:
    """The expected utility of the final score, for any table of utilities.

    Args:
        utilities: (scores,) what each final score from 0 on is worth; higher scores are worth the
            last entry. Every table of values has as many levels as this one has entries.
        name: what the objective is called in results.

    Raises:
        ValueError: for utilities that are not finite.
    """

    slope = 0.0

    def __init__(self, utilities: NDArray[np.float64], name: str = "utility") -> None:
        self.utilities = np.array(utilities, np.float64)
        if self.utilities.ndim != 1 or not np.isfinite(self.utilities).all():
            raise ValueError("utilities must be one row of finite numbers, one a score from 0 on")
        self.name = name
        self.kind = name
        self.monotone = bool((np.diff(self.utilities) >= 0).all())

    def final(self, levels: int) -> NDArray[np.float64]:
        """The utilities from the highest score down."""
        return self.utilities[::-1]

    def spans(self, ruleset: Ruleset, levels: int) -> list[Span]:
        """The levels of the scores with which a card can occur."""
        spans = []
        for low, high in scores_so_far(ruleset):
            first = np.maximum(levels - 1 - high, 0)
            last = np.maximum(levels - 1 - low, 0)
            spans.append(Span(first.astype(np.int32), last + 1 - first))
        return spans

    def start_level(self, values: NDArray[np.float64]) -> int:
        """That of the score 0."""
        return len(values) - 1

    def start_value(self, values: NDArray[np.float64]) -> float:
        """The best expected utility."""
        return float(values[-1])


class Beat(Utility):
    """The chance to score more than an opponent whose score has a given distribution.

    A tie counts half. Neither player sees the other's score: the policy is a best response to a
    blind opponent.
    """

    def __init__(self, opponent: Distribution, name: str = "beat") -> None:
        scores = np.arange(int(opponent.values[-1]) + 2)
        below = np.array([opponent.cdf(score - 1) for score in scores.tolist()])
        reached = np.array([opponent.cdf(score) for score in scores.tolist()])
        super().__init__((below + reached) / 2.0, name)


def _spans_to_come(ruleset: Ruleset, levels: int) -> list[Span]:
    return [
        Span(np.zeros(len(most), np.int32), np.minimum(most + 2, levels))
        for most in most_to_come(ruleset)
    ]
