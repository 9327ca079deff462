"""The exact solution of a rule set: the value of every position and action."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.family import get_ruleset
from yahtzee_env.game import Positions, State
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver import cache as kept
from yahtzee_env.solver.distribution import Distribution
from yahtzee_env.solver.exponential import Exponential, ExponentialSolution
from yahtzee_env.solver.label import action_values
from yahtzee_env.solver.moments import score_variance
from yahtzee_env.solver.objective_solution import ObjectiveSolution, solve_objective
from yahtzee_env.solver.objectives import DEFAULT_LEVELS, Objective
from yahtzee_env.solver.returns import Layer, Returns, return_layers
from yahtzee_env.solver.sweep import card_shape, reachable_cards, sweep
from yahtzee_env.solver.turn import Outcomes
from yahtzee_env.solver.values import PositionValues

RETURNS = "returns"
"""The kind of the files of distributions in the cache folder."""


class Solution(PositionValues):
    """Optimal play of one rule set, exact to float64 rounding (about 1e-11 points).

    The value of an action is the expectation of the points still to come, bonuses included, when
    play is optimal after it.

    Attributes:
        ruleset: the rules.
        card_values: float64 array over cards at the start of a turn, of `sweep.card_shape`: sets
            of filled boxes, whether the five-alike box holds points (where that matters), upper
            totals up to the last bonus step; NaN for cards that cannot occur.

    Args:
        ruleset: the rules.
        card_values: the values of all cards.
        cache: whether the distributions are kept in the user's cache folder once computed.
    """

    def __init__(
        self, ruleset: Ruleset, card_values: NDArray[np.float64], cache: bool = False
    ) -> None:
        super().__init__(ruleset)
        self.card_values = card_values
        self._cache = cache
        self._outcomes = Outcomes.of(ruleset)
        self._returns: Returns | None = None

    def __repr__(self) -> str:
        return f"<Solution of {self.ruleset.name}: {self.start_value:.6f}>"

    @property
    def start_value(self) -> float:
        """The expected final score of the optimal player."""
        return float(self.card_values[0, 0, 0])

    @cached_property
    def standard_deviation(self) -> float:
        """The standard deviation of the optimal player's final score; takes some seconds."""
        return math.sqrt(score_variance(self.ruleset, self.card_values))

    @property
    def reachable_cards(self) -> int:
        """How many cards can occur at the start of a turn or the end of a game."""
        return int(np.count_nonzero(~np.isnan(self.card_values)))

    @property
    def reachable_share(self) -> float:
        """The share of all cards that can occur."""
        return float(1.0 - np.isnan(self.card_values).mean())

    def _action_values(self, positions: Positions) -> NDArray[np.float64]:
        return action_values(positions, self._outcomes, self.card_values)

    def returns(self, progress: Callable[[float], None] | None = None) -> Returns:
        """The distributions of all cards, which the methods below use.

        The first call computes them, about 10 seconds of CPU time and 600 MB of memory for the
        official rules, or reads what an earlier process kept.

        Args:
            progress: called now and then with the share of the computation done, 0 to 1.
        """
        if self._returns is None:
            layers = _read_layers(self.ruleset) if self._cache else None
            if layers is None:
                layers = return_layers(self.ruleset, self.card_values, progress)
                if self._cache:
                    kept.write(self.ruleset, [a for layer in layers for a in layer], RETURNS)
            self._returns = Returns(self.ruleset, self.card_values, layers)
        return self._returns

    @cached_property
    def start_distribution(self) -> Distribution:
        """The exact distribution of the optimal player's final score."""
        return self.returns().of_card(0, 0, 0)

    @overload
    def score_distribution(self, position: State) -> Distribution: ...
    @overload
    def score_distribution(self, position: Positions) -> list[Distribution]: ...
    def score_distribution(self, position: State | Positions) -> Distribution | list[Distribution]:
        """The exact distribution of the points to come under optimal play.

        Where actions are equally good the first of them counts, as in `best_action`.

        Raises:
            ValueError: for a state that cannot occur, or games of other rules.
        """
        returns = self.returns()
        found = [returns.of_position(game) for game in self._positions(position).records]
        return found[0] if isinstance(position, State) else found

    @overload
    def return_distributions(self, position: State) -> dict[int, Distribution]: ...
    @overload
    def return_distributions(self, position: Positions) -> list[dict[int, Distribution]]: ...
    def return_distributions(
        self, position: State | Positions
    ) -> dict[int, Distribution] | list[dict[int, Distribution]]:
        """The distribution of the points to come after each legal action, by action code.

        After the action play is optimal. A finished game has no actions.

        Raises:
            ValueError: for a state that cannot occur, or games of other rules.
        """
        returns, positions = self.returns(), self._positions(position)
        found = [
            returns.of_actions(game, np.flatnonzero(mask))
            for game, mask in zip(positions.records, positions.masks(), strict=True)
        ]
        return found[0] if isinstance(position, State) else found


@overload
def solve(
    ruleset: str | Ruleset = "yahtzee", cache: bool | None = None, objective: None = None
) -> Solution: ...
@overload
def solve(
    ruleset: str | Ruleset = "yahtzee",
    cache: bool | None = None,
    *,
    objective: Objective,
    levels: int = DEFAULT_LEVELS,
    progress: Callable[[float], None] | None = None,
) -> ObjectiveSolution: ...
@overload
def solve(
    ruleset: str | Ruleset = "yahtzee", cache: bool | None = None, *, objective: Exponential
) -> ExponentialSolution: ...
def solve(
    ruleset: str | Ruleset = "yahtzee",
    cache: bool | None = None,
    objective: Objective | Exponential | None = None,
    levels: int = DEFAULT_LEVELS,
    progress: Callable[[float], None] | None = None,
) -> Solution | ObjectiveSolution | ExponentialSolution:
    """The exact solution of a rule set, by backward induction over all cards.

    For the expected score, and for an exponential utility, it takes about a second under the
    official rules; for other objectives about a minute and half a gigabyte of memory (see
    docs/distributions.md).

    Args:
        ruleset: a rule set or its name.
        cache: keep the solution in the user's cache folder and read it from there (the
            environment variable ``YAHTZEE_ENV_CACHE`` moves the folder). False does neither. By
            default the solution for the expected score is kept, that for an objective is not.
        objective: what to maximise instead of the expected score (see `solver.objectives`
            and `solver.exponential`).
        levels: how many levels of points an objective is worked out for; one of a table of
            utilities has as many as the table has entries.
        progress: for an objective, called now and then with the share of the work done, 0 to 1.

    Raises:
        ValueError: for an unknown rule set, or an objective that needs more levels.
        MemoryError: if this machine has less memory than the values of an objective take.
    """
    rules = get_ruleset(ruleset)
    if isinstance(objective, Exponential):
        return ExponentialSolution(rules, objective)
    if objective is not None:
        return solve_objective(rules, objective, levels, bool(cache), progress)
    return Solution(rules, _compute(rules)) if cache is False else _solve_once(rules)


@lru_cache(maxsize=8)
def _solve_once(ruleset: Ruleset) -> Solution:
    found = kept.read(ruleset)
    if found is not None and found[0].shape == card_shape(ruleset):
        return Solution(ruleset, found[0], cache=True)
    values = _compute(ruleset)
    kept.write(ruleset, [values])
    return Solution(ruleset, values, cache=True)


def _compute(ruleset: Ruleset) -> NDArray[np.float64]:
    return sweep(ruleset, reachable_cards(ruleset))


def _read_layers(ruleset: Ruleset) -> list[Layer] | None:
    found = kept.read(ruleset, RETURNS)
    if found is None:
        return None
    parts = len(Layer._fields)
    return [Layer(*found[i : i + parts]) for i in range(0, len(found), parts)]
