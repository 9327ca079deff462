"""What a policy is: something that chooses legal actions for many games at once."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.game import Games


@runtime_checkable
class Policy(Protocol):
    """Chooses actions; the same for positions that differ in nothing but the score so far."""

    @property
    def name(self) -> str:
        """What the policy is called in results."""
        ...

    @property
    def deterministic(self) -> bool:
        """Whether it ignores the generator and always chooses alike."""
        ...

    def act(self, games: Games, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: a legal action for each of n running games."""
        ...
