"""Confidence intervals: Student's t against SciPy, and how often they cover the truth."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, t

from yahtzee_env import evaluate
from yahtzee_env.evaluation import Difference, SampleMean
from yahtzee_env.evaluation.intervals import student_t

EXACT_NO_REROLL = 111.1658
"""The exact expected score of greedy-no-reroll under the official rules."""


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 10, 99, 1000, 99_999, 10**6])
def test_the_quantile_of_student(freedom):
    assert student_t(freedom) == pytest.approx(t.ppf(0.975, freedom), rel=1e-8)


def test_the_interval_of_a_mean():
    mean = SampleMean.of([200, 210, 190, 205, 195])
    assert mean.mean == 200
    # Standard error sqrt(62.5 / 5), 0.975 quantile of Student's t with 4 degrees 2.776445.
    assert mean.half_width == pytest.approx(2.776445 * np.sqrt(62.5 / 5), abs=1e-5)
    assert mean.ci95 == (200 - mean.half_width, 200 + mean.half_width)
    with pytest.raises(ValueError, match="at least two values, not 1"):
        SampleMean.of([200])


@pytest.mark.parametrize("n", [2, 5, 10])
def test_the_interval_covers_the_mean_of_normal_samples_95_times_of_100(n):
    samples = np.random.default_rng(5).normal(3.0, 2.0, (2000, n))
    covered = sum(low <= 3.0 <= high for low, high in (SampleMean.of(s).ci95 for s in samples))
    assert binomtest(covered, 2000, 0.95).pvalue > 0.001


@pytest.mark.parametrize("games", [2, 5, 10])
def test_intervals_of_few_games_cover_the_exact_score_about_95_times_of_100(games):
    """Scores are not quite normal, so the coverage may be a little off; by normal quantiles it
    would be 70, 88 and 92 %."""
    whole = evaluate("greedy-no-reroll", games=10_000, seed=6)
    parts = [
        replace(whole, games=games, scores=scores, regret=regret)
        for scores, regret in zip(
            np.split(whole.scores[: 900 * games], 900),
            np.split(whole.regret[: 900 * games], 900),
            strict=True,
        )
    ]
    for intervals in ([p.ci95 for p in parts], [p.luck_adjusted_ci95 for p in parts]):
        covered = sum(low <= EXACT_NO_REROLL <= high for low, high in intervals)
        assert 0.93 <= covered / 900 <= 0.97


def test_the_interval_of_a_difference():
    one, two = (evaluate(name, "yacht", games=4, seed=1) for name in ("random", "greedy-turn"))
    pair = Difference.of(one, two)
    low, high = pair.ci95
    half = t.ppf(0.975, 3) * np.std(one.scores - two.scores, ddof=1) / 2
    assert (low, high) == pytest.approx((pair.mean - half, pair.mean + half))
