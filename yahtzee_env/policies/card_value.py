"""Players that look one turn ahead, exactly, by an opinion of what each card is worth then."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.game import Positions
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver import solve
from yahtzee_env.solver.label import best_actions
from yahtzee_env.solver.turn import Outcomes


class CardValuePolicy:
    """Maximises the points of this turn plus `card_values` of the card it leaves.

    With the true values this is optimal play. A worth must not fall when points are added to a
    box: ``points + worth(with them) >= worth(with 0)``.
    """

    name: str
    deterministic = True

    def __init__(self) -> None:
        self._tables = lru_cache(maxsize=8)(self._build)

    def card_values(self, ruleset: Ruleset) -> NDArray[np.float64]:
        """What each card is worth, float64 of `sweep.card_shape`."""
        raise NotImplementedError

    def act(self, positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: the best action of each game, the first of equal ones."""
        return best_actions(positions, *self._tables(positions.ruleset))

    def _build(self, ruleset: Ruleset) -> tuple[Outcomes, NDArray[np.float64]]:
        return Outcomes.of(ruleset), self.card_values(ruleset)


class OptimalPolicy(CardValuePolicy):
    """Plays the exact solution."""

    name = "optimal"

    def card_values(self, ruleset: Ruleset) -> NDArray[np.float64]:
        """The true values."""
        return solve(ruleset).card_values
