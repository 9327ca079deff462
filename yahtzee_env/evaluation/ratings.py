"""Ratings of players from the results of pairs, on the Elo scale."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ELO = 400 / math.log(10)
"""Points of a rating for a factor e in the odds of winning."""

_STEPS, _SMALL = 100, 1e-12


class Ratings(NamedTuple):
    """Ratings whose mean is 0.

    Attributes:
        values: (players,) float64.
        sems: (players,) float64, the standard errors.
    """

    values: NDArray[np.float64]
    sems: NDArray[np.float64]


def bradley_terry(points: NDArray[np.float64]) -> Ratings:
    """The maximum-likelihood ratings of the Bradley-Terry model.

    The odds that i is ahead of j are ``10 ** ((rating i - rating j) / 400)``; a tie is half a win
    of each. Where ratings would be infinite, since some were never ahead of the others, half a win
    is added on both sides of each pair that met; whoever was never ahead, or never behind, then
    has an infinite standard error. The others are those of the sandwich estimator, by independent
    sets of matches (Huber 1967).

    Args:
        points: (sets, players, players) float64: how often i was ahead of j in each set.

    Raises:
        ValueError: for fewer than two sets or players.
    """
    n_sets, n, _ = points.shape
    if min(n_sets, n) < 2:
        raise ValueError("ratings need at least two players and two sets of matches")
    wins = points.sum(axis=0)
    one_sided = (wins.sum(axis=0) == 0) | (wins.sum(axis=1) == 0)
    if not _comparable(wins):
        wins = wins + 0.5 * (wins + wins.T > 0)
    strength = np.zeros(n)
    for _ in range(_STEPS):
        expected = _expected(strength)
        games = wins + wins.T
        gradient = (wins - games * expected).sum(axis=1)
        step = np.linalg.pinv(_information(games, expected)) @ gradient
        strength += np.clip(step, -1, 1)
        if np.abs(step).max() < _SMALL:
            break
    strength -= strength.mean()
    expected = _expected(strength)
    scores = (points - (points + points.transpose(0, 2, 1)) * expected).sum(axis=2)
    scores -= scores.mean(axis=0)
    inverse = np.linalg.pinv(_information(wins + wins.T, expected))
    covariance = inverse @ (scores.T @ scores) @ inverse * n_sets / (n_sets - 1)
    sems = np.where(one_sided, np.inf, np.sqrt(np.diag(covariance)))
    return Ratings(ELO * strength, ELO * sems)


def _expected(strength: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(strength[None, :] - strength[:, None]))


def _information(games: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = games * expected * (1 - expected)
    information: NDArray[np.float64] = np.diag(weights.sum(axis=1)) - weights
    return information


def _comparable(wins: NDArray[np.float64]) -> bool:
    """Whether a chain of wins leads from everybody to everybody."""
    reached = (wins > 0) | np.eye(len(wins), dtype=bool)
    for _ in range(len(wins)):
        reached = reached @ reached
    return bool(reached.all())
