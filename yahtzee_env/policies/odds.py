"""Chances of one throw and of one turn, for heuristics that treat each box by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import (
    KEEP_INDEX,
    N_KEEPS,
    N_PARTIAL_KEEPS,
    N_ROLLS,
    ONE_DIE_MORE,
    ROLL_PROBABILITIES,
)
from yahtzee_env.kernels import REROLLS


def _throw_chances() -> NDArray[np.float64]:
    chances = np.zeros((N_KEEPS, N_ROLLS))
    chances[N_PARTIAL_KEEPS:] = np.eye(N_ROLLS)
    for keep in range(N_PARTIAL_KEEPS - 1, -1, -1):
        chances[keep] = chances[ONE_DIE_MORE[keep]].mean(axis=0)
    return chances


THROW_CHANCES = _throw_chances()
"""(462, 252) float64: the chance of each roll after throwing the dice that are not kept."""


def turn_points(scores: Sequence[int]) -> NDArray[np.float64]:
    """The chances of 0, 1, 2, ... points when one turn maximises the expectation of one box.

    Args:
        scores: what the box pays for each of the 252 rolls.
    """
    points = np.asarray(scores, np.int64)
    value = points.astype(np.float64)
    keeps = []
    for _ in range(REROLLS):
        of_keep = THROW_CHANCES @ value
        best = of_keep[KEEP_INDEX].argmax(axis=1)
        keeps.append(KEEP_INDEX[np.arange(N_ROLLS), best])
        value = of_keep[keeps[-1]]
    chances = np.asarray(ROLL_PROBABILITIES, np.float64)
    for keep in reversed(keeps):
        chances = np.bincount(keep, chances, N_KEEPS) @ THROW_CHANCES
    return np.asarray(np.bincount(points, chances), np.float64)


def best_of(chances: NDArray[np.float64], tries: float) -> NDArray[np.float64]:
    """The chances of 0, 1, 2, ... points in the best of several tries.

    Args:
        chances: of 0, 1, 2, ... points in one try.
        tries: how many, at least 1, not necessarily a whole number.
    """
    at_most = np.cumsum(chances).clip(max=1.0) ** tries
    at_most[-1] = 1.0
    return np.diff(at_most, prepend=0.0)
