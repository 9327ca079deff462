"""Best play for an exponential utility of the final score.

The utility of a score s is ``-exp(-a s) / a`` with the risk aversion a: above 0 for who shuns risk,
below 0 for who seeks it. A certain x has the same utility as the score to come where x is its
certainty equivalent, ``-log(E[exp(-a s)]) / a``, about the mean less a / 2 times the variance.
Points so far multiply all utilities alike, so that the best play does not depend on them: a card
has one value, its certainty equivalent, as it has one expected score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.game import Positions
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.label import action_values
from yahtzee_env.solver.sweep import reachable_cards, sweep
from yahtzee_env.solver.turn import Outcomes
from yahtzee_env.solver.values import PositionValues

MOST_AVERSION = 0.3
"""Beyond it the utilities of possible scores may leave the range of float64."""


@dataclass(frozen=True)
class Exponential:
    """The exponential utility of the final score.

    Args:
        aversion: the risk aversion, per point; below 0 for who seeks risk.

    Raises:
        ValueError: for 0, which is the expected score, or a number beyond 0.3 or -0.3.
    """

    aversion: float

    def __post_init__(self) -> None:
        if not 0.0 < abs(self.aversion) <= MOST_AVERSION:
            raise ValueError(
                f"the risk aversion must be from -{MOST_AVERSION} to {MOST_AVERSION} and not 0, "
                f"not {self.aversion}"
            )

    @property
    def name(self) -> str:
        """Such as "exponential-0.01"."""
        return f"exponential-{self.aversion:g}"


class ExponentialSolution(PositionValues):
    """The best play of one rule set for an exponential utility, exact to float64 rounding.

    The values are certainty equivalents of the points to come.

    Attributes:
        ruleset: the rules.
        objective: the utility.
        card_values: float64 over cards at the start of a turn, as in `solver.Solution`.
    """

    def __init__(self, ruleset: Ruleset, objective: Exponential) -> None:
        super().__init__(ruleset)
        self.objective = objective
        self.card_values = sweep(ruleset, reachable_cards(ruleset), aversion=objective.aversion)
        self._outcomes = Outcomes.of(ruleset)

    def __repr__(self) -> str:
        name = self.objective.name
        return f"<ExponentialSolution of {self.ruleset.name}, {name}: {self.start_value:.6f}>"

    @property
    def start_value(self) -> float:
        """The certainty equivalent of the final score."""
        return float(self.card_values[0, 0, 0])

    def _action_values(self, positions: Positions) -> NDArray[np.float64]:
        return action_values(positions, self._outcomes, self.card_values, self.objective.aversion)
