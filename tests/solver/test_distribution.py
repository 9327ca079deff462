"""Distributions of points: figures that can be worked out by hand."""

import numpy as np
import pytest

from yahtzee_env.solver.distribution import Distribution

DIE = Distribution(1, np.full(6, 1 / 6))


def test_moments():
    assert DIE.mean == pytest.approx(3.5)
    assert DIE.std == pytest.approx(np.sqrt(35 / 12))
    assert DIE.values.tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("points", "below_or_at"), [(-5, 0), (0, 0), (1, 1), (4, 4), (6, 6), (9, 6)]
)
def test_chances(points, below_or_at):
    assert DIE.cdf(points) == pytest.approx(below_or_at / 6)
    assert DIE.at_least(points + 1) == pytest.approx(1 - below_or_at / 6)


@pytest.mark.parametrize(
    ("q", "value"), [(0, 1), (0.1, 1), (1 / 6, 1), (0.17, 2), (0.5, 3), (1, 6)]
)
def test_quantiles(q, value):
    assert DIE.quantile(q) == value


@pytest.mark.parametrize(
    ("level", "mean"), [(1, 3.5), (0.5, 2), (1 / 6, 1), (0.01, 1), (0.25, (1 / 6 + 2 / 12) / 0.25)]
)
def test_the_mean_of_the_worst_outcomes(level, mean):
    assert DIE.cvar(level) == pytest.approx(mean)


def test_shifted():
    assert DIE.shifted(10).mean == pytest.approx(13.5)
    assert DIE.shifted(10).at_least(16) == pytest.approx(1 / 6)


def test_gaps_in_the_support():
    coin = Distribution(0, np.array([0.5, 0, 0, 0.5]))
    assert (coin.quantile(0.5), coin.quantile(0.51)) == (0, 3)
    assert coin.cvar(0.75) == pytest.approx(1)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: DIE.quantile(1.5), "from 0 to 1, not 1.5"),
        (lambda: DIE.cvar(0), "above 0 and at most 1, not 0"),
        (lambda: DIE.cvar(1.01), "above 0 and at most 1, not 1.01"),
    ],
)
def test_wrong_levels(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
