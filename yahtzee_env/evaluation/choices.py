"""What a policy does in every position of some cards: the input of all exact computations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import N_ROLLS
from yahtzee_env.game import Positions
from yahtzee_env.kernels import GAME, REROLLS
from yahtzee_env.policies import Policy, StochasticPolicy
from yahtzee_env.policies.stochastic import check_probabilities_known
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.endings import choice_number

CARDS_A_BATCH = 64
"""Cards that a policy is asked about at once, 756 positions each."""

_TOLERANCE = 1e-6
_EMPTY_CARD = np.zeros((1, 3), np.int64)


class PolicyChoices:
    """Asks a policy about whole cards.

    Raises:
        ValueError: for a policy that is neither deterministic nor gives probabilities, or that
            answers differently when asked twice.
    """

    def __init__(self, policy: Policy, ruleset: Ruleset) -> None:
        check_probabilities_known(policy)
        self.policy = policy
        self.ruleset = ruleset
        if (self.on(_EMPTY_CARD) != self.on(_EMPTY_CARD)).any():
            raise ValueError(
                f"{policy.name} chooses differently when asked twice: it has no exact value"
            )

    def on(self, cards: NDArray[np.int64]) -> NDArray[Any]:
        """The choices on each card, by rolls left and roll.

        Args:
            cards: (n, 3) int64: filled boxes, five-alike box holds points, upper total.

        Returns:
            For a policy that gives probabilities (n, 3, 252, actions) float64; else the choices
            as numbers (see `solver.endings`), (n, 3, 252) int64.

        Raises:
            ValueError: for an illegal action, or probabilities that do not sum to 1.
        """
        positions = positions_on(self.ruleset, cards)
        shape = (len(cards), REROLLS + 1, N_ROLLS)
        if isinstance(self.policy, StochasticPolicy):
            probabilities = self.policy.probabilities(positions)
            self._check(probabilities, positions)
            return probabilities.reshape(*shape, -1)
        actions = self.policy.act(positions, np.random.default_rng(0))
        positions.check_legal(actions)
        return choice_number(positions.records["roll"], actions).reshape(shape)

    def _check(self, probabilities: NDArray[np.float64], positions: Positions) -> None:
        if (probabilities < 0.0).any() or (probabilities[positions.masks() == 0] > 0.0).any():
            raise ValueError(
                f"{self.policy.name} gives a negative probability, or one to an illegal action"
            )
        sums = probabilities.sum(axis=1)
        if not np.allclose(sums, 1.0, rtol=0.0, atol=_TOLERANCE):
            raise ValueError(
                f"the probabilities of {self.policy.name} sum to {sums.min():.6g} in a position, "
                "not to 1"
            )


def positions_on(ruleset: Ruleset, cards: NDArray[np.int64]) -> Positions:
    """All 756 positions of each card: by card, rolls left and roll; the score so far is 0."""
    records = np.zeros((len(cards), REROLLS + 1, N_ROLLS), GAME)
    records["filled"], records["five_scored"], records["upper"] = cards.T[:, :, None, None]
    records["rolls_left"] = np.arange(REROLLS + 1)[:, None]
    records["roll"] = np.arange(N_ROLLS)
    return Positions(ruleset, records.ravel())
