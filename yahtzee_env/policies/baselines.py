"""Simple baselines, the weakest first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import N_HOLDS
from yahtzee_env.game import Positions
from yahtzee_env.policies.card_value import CardValuePolicy
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.sweep import card_shape


class RandomPolicy:
    """A uniformly random legal action."""

    name = "random"
    deterministic = False

    def act(self, positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: a random legal action for each position."""
        return positions.random_actions(rng)

    def probabilities(self, positions: Positions) -> NDArray[np.float64]:
        """(n, actions) float64: equal shares for the legal actions."""
        masks = positions.masks()
        shares: NDArray[np.float64] = masks / masks.sum(axis=1, keepdims=True)
        return shares


class GreedyNoRerollPolicy:
    """Never rerolls: fills the box that pays most now, the first of equal ones."""

    name = "greedy-no-reroll"
    deterministic = True

    def act(self, positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: the box action for each position."""
        boxes: NDArray[np.int64] = np.argmax(positions.payments(), axis=1)
        return N_HOLDS + boxes


class GreedyTurnPolicy(CardValuePolicy):
    """Maximises the expected points of the current turn exactly, and ignores later turns."""

    name = "greedy-turn"

    def card_values(self, ruleset: Ruleset) -> NDArray[np.float64]:
        """Zeros: no card has a value after this turn."""
        return np.zeros(card_shape(ruleset))
