"""How well predicted quantiles of the return fit: exact distributions, and the agent's own games.

The exact distributions are those of optimal play, so an agent that plays worse keeps a distance to
them even with perfect predictions. The calibration compares with the agent's own returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import ROLL_PROBABILITIES, ROLLS
from yahtzee_env.game import Games, Positions, State
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver import solve
from yahtzee_env.solver.distribution import Distribution

Forecast: TypeAlias = Callable[
    [NDArray[np.float32], NDArray[np.bool_]], tuple[NDArray[np.int64], NDArray[np.float32]]
]
"""From observations (n, features) and masks (n, actions) to the greedy actions (n,) and the
quantiles (n, quantiles) of the points to come after them, the i-th of m at level (i + 1/2) / m."""

GAMES = 200
"""Games of a check of the calibration."""

POSITIONS = 200
"""Positions of these games whose exact distributions are compared."""


class Played(NamedTuple):
    """The decisions of whole games.

    Attributes:
        positions: the positions, of n decisions.
        quantiles: (n, quantiles) float32: the predicted points to come.
        returns: (n,) float64: the points that came.
    """

    positions: Positions
    quantiles: NDArray[np.float32]
    returns: NDArray[np.float64]


def play(forecast: Forecast, ruleset: Ruleset, n: int, rng: np.random.Generator) -> Played:
    """Play `n` greedy games and record what was predicted at every decision."""
    games, ids = Games(ruleset, n), np.arange(n)
    games.seed(rng)
    games.start()
    scores = np.zeros(n)
    records, quantiles, players = [], [], []
    while len(games):
        observations, masks = games.observe()
        actions, predicted = forecast(observations, masks.view(bool))
        records.append(games.records.copy())
        quantiles.append(predicted)
        players.append(ids)
        scores[ids] += games.play(actions)
        games, ids = games.select(~games.over), ids[~games.over]
    positions = Positions(ruleset, np.concatenate(records))
    returns = scores[np.concatenate(players)] - positions.records["score"]
    return Played(positions, np.concatenate(quantiles), returns)


def calibration(
    quantiles: NDArray[np.float32], returns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(quantiles,) float64: the share of returns, (n,), at or below each quantile, (n, quantiles).

    Returns are whole points; each counts as spread evenly over half a point on both sides.
    """
    shares: NDArray[np.float64] = np.clip(quantiles - returns[:, None] + 0.5, 0, 1).mean(axis=0)
    return shares


def levels(n: int) -> NDArray[np.float64]:
    """(n,) float64: the levels that n quantiles stand for."""
    return (np.arange(n) + 0.5) / n


def wasserstein(
    atoms: NDArray[np.floating], weights: NDArray[np.floating], distribution: Distribution
) -> float:
    """The Wasserstein-1 distance between weighted atoms and a distribution, in points.

    It is the area between the two distribution functions. Evenly weighted atoms keep a distance to
    any distribution of more values.

    Args:
        atoms: (n,) points.
        weights: (n,), which sum to 1.
        distribution: the exact distribution.
    """
    points = np.concatenate([atoms, distribution.values])
    steps = np.concatenate([weights, -distribution.probabilities])
    order = points.argsort()
    gaps = np.abs(steps[order].cumsum()[:-1])
    return float(gaps @ np.diff(points[order]))


def first_rolls(ruleset: Ruleset) -> Positions:
    """The positions after each first roll of a game, in the order of `dice.ROLLS`."""
    return Positions.of(ruleset, *(State(tuple(roll)) for roll in ROLLS.tolist()))


def predicted(forecast: Forecast, positions: Positions) -> NDArray[np.float32]:
    """(n, quantiles) float32: the quantiles of the points to come under greedy play."""
    observations, masks = positions.observe()
    return forecast(observations, masks.view(bool))[1]


def start_distance(forecast: Forecast, ruleset: Ruleset) -> float:
    """The Wasserstein-1 distance at the start of a game, the first roll still to come."""
    quantiles = predicted(forecast, first_rolls(ruleset))
    n = quantiles.shape[1]
    weights = np.repeat(ROLL_PROBABILITIES / n, n)
    return wasserstein(quantiles.ravel(), weights, solve(ruleset).start_distribution)


def distances(
    quantiles: NDArray[np.float32], distributions: Sequence[Distribution]
) -> NDArray[np.float64]:
    """(n,) float64: the Wasserstein-1 distance of each row of quantiles to its distribution."""
    weights = np.full(quantiles.shape[1], 1 / quantiles.shape[1])
    pairs = zip(quantiles, distributions, strict=True)
    return np.array([wasserstein(row, weights, exact) for row, exact in pairs])


def check_quantiles(forecast: Forecast, ruleset: Ruleset, seed: int) -> dict[str, float]:
    """Figures for the log, of `GAMES` greedy games.

    Returns:
        `wasserstein_start` and `wasserstein_positions`, distances to the exact distributions of
        optimal play in points; `calibration_error`, the mean distance between the share of returns
        below a quantile and its level; and `share_below_LEVEL`, that share for each quantile.
    """
    rng = np.random.default_rng(seed)
    played = play(forecast, ruleset, GAMES, rng)
    chosen = rng.choice(len(played.returns), POSITIONS, replace=False)
    exact = solve(ruleset).score_distribution(played.positions.select(chosen))
    shares = calibration(played.quantiles, played.returns)
    wanted = levels(len(shares))
    return {
        "wasserstein_start": start_distance(forecast, ruleset),
        "wasserstein_positions": float(distances(played.quantiles[chosen], exact).mean()),
        "calibration_error": float(np.abs(shares - wanted).mean()),
        **{f"share_below_{level:.3f}": float(shares[i]) for i, level in enumerate(wanted)},
    }
