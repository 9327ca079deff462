"""Players that look one turn ahead exactly, given a value of each card at the end of the turn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.game import Positions
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver import solve
from yahtzee_env.solver.label import best_actions
from yahtzee_env.solver.turn import Outcomes


class CardValuePolicy:
    """Maximises the points of this turn plus `card_values` of the resulting card.

    With the true values this is optimal play. Points must not make a card worse:
    ``points + value(with them) >= value(with 0)``.
    """

    name: str
    deterministic = True

    def __init__(self) -> None:
        self._prepared: dict[Ruleset, tuple[Outcomes, NDArray[np.float64]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_prepared": {}}

    def card_values(self, ruleset: Ruleset) -> NDArray[np.float64]:
        """The value of each card, float64 of `sweep.card_shape`."""
        raise NotImplementedError

    def act(self, positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: the best action of each game, the first of equal ones."""
        ruleset = positions.ruleset
        if ruleset not in self._prepared:
            self._prepared[ruleset] = Outcomes.of(ruleset), self.card_values(ruleset)
        return best_actions(positions, *self._prepared[ruleset])


class OptimalPolicy(CardValuePolicy):
    """Plays the exact solution."""

    name = "optimal"

    def card_values(self, ruleset: Ruleset) -> NDArray[np.float64]:
        """The true values."""
        return solve(ruleset).card_values
