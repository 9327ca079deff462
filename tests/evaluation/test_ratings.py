"""Bradley-Terry ratings against cases solved by hand."""

from math import log, log10

import numpy as np
import pytest

from yahtzee_env.evaluation.ratings import bradley_terry


def test_two_players_differ_by_the_logarithm_of_their_odds() -> None:
    points = np.zeros((400, 2, 2))
    points[:300, 0, 1] = 1
    points[300:, 1, 0] = 1
    ratings = bradley_terry(points)
    assert ratings.values.sum() == pytest.approx(0)
    assert ratings.values[0] - ratings.values[1] == pytest.approx(400 * log10(3))
    # The log odds have variance 1/(n p q), and each rating is half of their difference.
    error = 400 / log(10) / 2 / (400 * 0.75 * 0.25) ** 0.5
    np.testing.assert_allclose(ratings.sems, error, rtol=0.01)


def test_consistent_odds_of_three_players_are_found_exactly() -> None:
    points = np.zeros((2, 3, 3))
    for i, j, ahead, behind in ((0, 1, 2, 1), (1, 2, 3, 1), (0, 2, 6, 1)):
        points[:, i, j], points[:, j, i] = ahead, behind
    first, second, third = bradley_terry(points).values
    assert first - second == pytest.approx(400 * log10(2))
    assert second - third == pytest.approx(400 * log10(3))


def test_ties_are_half_a_win_of_each() -> None:
    points = np.full((5, 2, 2), 0.5)
    assert bradley_terry(points).values.tolist() == pytest.approx([0, 0])


def test_whoever_never_wins_has_a_finite_rating_without_an_error_bound() -> None:
    points = np.zeros((50, 3, 3))
    points[:, 0, 1] = points[:, 1, 0] = 1
    points[:, 0, 2] = points[:, 1, 2] = 2
    ratings = bradley_terry(points)
    assert np.isfinite(ratings.values).all()
    assert ratings.values.argmin() == 2
    assert np.isinf(ratings.sems).tolist() == [False, False, True]


def test_intervals_cover_the_true_difference() -> None:
    rng = np.random.default_rng(1)
    true, covered = 400 * log10(0.6 / 0.4), 0
    for _ in range(200):
        ahead = rng.binomial(2, 0.6, 300)  # two matches a set
        points = np.zeros((300, 2, 2))
        points[:, 0, 1], points[:, 1, 0] = ahead, 2 - ahead
        ratings = bradley_terry(points)
        covered += abs(ratings.values[0] - true / 2) < 1.96 * ratings.sems[0]
    assert 180 <= covered <= 199


def test_too_little_is_refused() -> None:
    for shape in ((1, 3, 3), (5, 1, 1)):
        with pytest.raises(ValueError, match="at least two players and two sets"):
            bradley_terry(np.zeros(shape))
