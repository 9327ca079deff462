"""The best play for an objective other than the expected score, as a policy."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.game import Positions
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver import solve
from yahtzee_env.solver.exponential import Exponential, ExponentialSolution
from yahtzee_env.solver.objective_solution import EQUAL, ObjectiveSolution
from yahtzee_env.solver.objectives import DEFAULT_LEVELS, AtLeast, CVaR, Objective

Number = TypeVar("Number", int, float)

PREFIX = "optimal:"
"""What the names of these policies begin with."""


class ObjectivePolicy:
    """Plays best for an objective; of equally good actions it takes that of the best mean score.

    Unlike other policies it chooses by the score so far as well, but for an exponential utility:
    with enough points for its goal it plays for the mean, and far behind it takes chances. The
    solution is computed when a rule set is first played, in about a minute for the official rules.

    Args:
        objective: what to maximise.
        levels: how many levels of points the solution is worked out for.
        cache: keep the solution in the user's cache folder and read it from there.
    """

    deterministic = True

    def __init__(
        self, objective: Objective | Exponential, levels: int = DEFAULT_LEVELS, cache: bool = False
    ) -> None:
        self.objective = objective
        self.levels = levels
        self.cache = cache
        self.depends_on_score = not isinstance(objective, Exponential)
        self._solutions: dict[Ruleset, ObjectiveSolution | ExponentialSolution] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_solutions": {}}

    @property
    def name(self) -> str:
        """Such as "optimal:at-least-300"."""
        return f"{PREFIX}{self.objective.name}"

    def solution(self, ruleset: Ruleset) -> ObjectiveSolution | ExponentialSolution:
        """The solution that it plays."""
        if ruleset not in self._solutions:
            if isinstance(self.objective, Exponential):
                self._solutions[ruleset] = solve(ruleset, objective=self.objective)
            else:
                self._solutions[ruleset] = solve(
                    ruleset, self.cache, objective=self.objective, levels=self.levels
                )
        return self._solutions[ruleset]

    def act(self, positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: the best action of each position."""
        values = self.solution(positions.ruleset).action_values(positions)
        best = np.nanmax(values, axis=1, keepdims=True)
        equal = values >= best - EQUAL * np.maximum(abs(best), 1.0)
        means = solve(positions.ruleset).action_values(positions)
        actions: NDArray[np.int64] = np.where(equal, means, -np.inf).argmax(axis=1)
        return actions


def load_objective_policy(name: str) -> ObjectivePolicy:
    """The policy of a name such as "optimal:at-least-300" or "optimal:cvar-0.1".

    Raises:
        ValueError: for another name.
    """
    kind, _, number = name.removeprefix(PREFIX).rpartition("-")
    try:
        if kind == AtLeast.kind:
            return ObjectivePolicy(AtLeast(_number(int, number)))
        if kind == CVaR.kind:
            return ObjectivePolicy(CVaR(_number(float, number)))
        if kind == "exponential":
            return ObjectivePolicy(Exponential(_number(float, number)))
    except ValueError as error:
        raise ValueError(f"unknown policy {name!r}: {error}") from None
    raise ValueError(
        f"unknown policy {name!r}: after {PREFIX!r} write at-least-POINTS, cvar-LEVEL or "
        "exponential-AVERSION, such as optimal:at-least-300"
    )


def _number(kind: type[Number], text: str) -> Number:
    try:
        return kind(text)
    except ValueError:
        whole = "whole " if kind is int else ""
        raise ValueError(f"{text!r} is not a {whole}number") from None
