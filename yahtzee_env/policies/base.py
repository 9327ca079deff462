"""What a policy is: something that chooses legal actions for many games at once."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.game import Positions


@runtime_checkable
class Policy(Protocol):
    """Chooses actions by positions alone: any object with `act`, `name` and `deterministic`.

    A policy keeps no memory of earlier calls: finished games leave the batch, so the rows of two
    calls are different games. Positions that differ only in the score so far get the same choice,
    unless the policy says otherwise by an attribute `depends_on_score`; then it has no exact value.

    A policy does not see the generators of the dice. To look ahead it can throw dice of its own,
    `positions.branches(n, rng)`.
    """

    @property
    def name(self) -> str:
        """What the policy is called in results."""
        ...

    @property
    def deterministic(self) -> bool:
        """Whether it always makes the same choice, without the generator."""
        ...

    def act(self, positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: a legal action for each of n positions, none of them a finished game."""
        ...


@runtime_checkable
class StochasticPolicy(Policy, Protocol):
    """A policy that draws its actions and says with which probabilities.

    Whoever gives the probabilities has exact values, as deterministic policies have.
    """

    def probabilities(self, positions: Positions) -> NDArray[np.float64]:
        """(n, actions) float64: the probability of each action, 0 for illegal ones."""
        ...


@runtime_checkable
class MatchPolicy(Policy, Protocol):
    """A policy that looks at its opponents' cards.

    Any `Policy` plays in matches; one that has `act_against` is asked by it there, and by `act`
    only where it plays alone.
    """

    def act_against(
        self, positions: Positions, opponents: NDArray[np.void], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """(n,) int64: a legal action for each of n positions.

        Args:
            positions: the own positions, none of them a finished game.
            opponents: (n, opponents) `match.CARD` records, whoever moves next first.
            rng: for random choices.
        """
        ...


def act_in_match(
    policy: Policy, positions: Positions, opponents: NDArray[np.void], rng: np.random.Generator
) -> NDArray[np.int64]:
    """(n,) int64: what a policy of either kind does in n matches; see `MatchPolicy`."""
    if isinstance(policy, MatchPolicy) and opponents.shape[1]:
        return policy.act_against(positions, opponents, rng)
    return policy.act(positions, rng)
