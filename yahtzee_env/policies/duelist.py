"""The player that maximises its chance to win, one exact turn ahead."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.game import Positions
from yahtzee_env.policies.card_value import OptimalPolicy
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver import solve
from yahtzee_env.solver.winning import WinningChances


class DuelistPolicy(OptimalPolicy):
    """Plays its turn for the chance to win, as if everybody then played on for the mean.

    Without opponents it plays as `optimal`. Its first move takes some seconds, in which the
    distributions of the points to come are computed or read.
    """

    name = "duelist"

    def act_against(
        self, positions: Positions, opponents: NDArray[np.void], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """(n,) int64: the action with the highest chance to win, the first of equal ones."""
        winning = winning_chances(positions.ruleset)
        chances = winning.of_actions(positions, opponents, this_turn=True)
        best: NDArray[np.int64] = np.nanargmax(chances, axis=1)
        return best


@lru_cache(maxsize=2)
def winning_chances(ruleset: Ruleset) -> WinningChances:
    """The winning chances of a rule set; the last two are remembered, some 500 MB each."""
    return WinningChances(solve(ruleset))
