import numpy as np
import pytest
from helpers import FOUR_BOXES

from agents.algorithms.quantiles import (
    calibration,
    check_quantiles,
    distances,
    first_rolls,
    levels,
    play,
    start_distance,
    wasserstein,
)
from yahtzee_env import solve
from yahtzee_env.dice import ROLL_PROBABILITIES
from yahtzee_env.game import Games, Positions
from yahtzee_env.solver.distribution import Distribution

QUANTILES = 100


def exact_quantiles(distribution):
    return [distribution.quantile(level) for level in levels(QUANTILES)]


@pytest.fixture
def perfect(monkeypatch):
    """A forecast of optimal play with the exact quantiles."""
    solution, seen = solve(FOUR_BOXES), []
    observe = Positions.observe

    def remember(positions):
        seen[:] = [positions]
        return observe(positions)

    monkeypatch.setattr(Positions, "observe", remember)

    def forecast(observations, masks):
        [positions] = seen
        actions = np.nanargmax(solution.action_values(positions), axis=1)
        rows = [exact_quantiles(each) for each in solution.score_distribution(positions)]
        return actions, np.array(rows, np.float32)

    return forecast


def first_legal(observations, masks):
    """Fills a box at once, and predicts 0, 1, 2 points."""
    boxes = masks[:, 31:].argmax(axis=1) + 31
    return boxes, np.tile(np.arange(3, dtype=np.float32), (len(masks), 1))


@pytest.mark.parametrize("shift", [0, -7, 30])
def test_a_shift_by_some_points_is_their_distance(shift):
    distribution = Distribution(10, np.array([0.25, 0.0, 0.5, 0.25]))
    atoms, weights = distribution.values + shift, distribution.probabilities
    assert wasserstein(atoms, weights, distribution) == pytest.approx(abs(shift), abs=1e-12)


def test_the_distance_is_the_mean_difference_of_the_quantile_functions():
    rng = np.random.default_rng(1)
    probabilities = rng.dirichlet(np.ones(30))
    distribution, atoms = Distribution(-5, probabilities), np.sort(rng.normal(8, 9, size=16))
    grid = levels(160_000)
    exact = distribution.values[np.searchsorted(probabilities.cumsum(), grid)]
    expected = np.abs(exact - atoms[(grid * 16).astype(int)]).mean()
    assert wasserstein(atoms, np.full(16, 1 / 16), distribution) == pytest.approx(
        expected, rel=1e-3
    )


def test_quantiles_of_the_true_distribution_are_calibrated():
    returns = np.random.default_rng(2).normal(200, 40, size=50_000).round()
    wanted = levels(20)
    quantiles = np.tile(np.quantile(returns, wanted), (len(returns), 1))
    np.testing.assert_allclose(calibration(quantiles, returns), wanted, atol=0.01)
    assert (calibration(quantiles - 20, returns) < wanted).all()


def test_the_returns_of_a_decision_are_the_points_that_follow():
    played = play(first_legal, FOUR_BOXES, 50, np.random.default_rng(3))
    assert len(played.positions) == len(played.returns) == 4 * 50
    games = Games(FOUR_BOXES, 50)
    games.seed(np.random.default_rng(3))
    games.start()
    gained = []
    while not games.over.all():
        gained.append(games.play(first_legal(*games.observe())[0]))
    following = np.array(gained)[::-1].cumsum(axis=0)[::-1]
    np.testing.assert_array_equal(played.returns, following.ravel())


def test_exact_quantiles_of_optimal_play_are_close_and_calibrated(perfect):
    figures = check_quantiles(perfect, FOUR_BOXES, seed=4)
    assert figures["wasserstein_start"] < 0.5
    assert figures["wasserstein_positions"] < 0.5
    assert figures["calibration_error"] < 0.06  # few values, each with much of the chance
    shares = [value for key, value in figures.items() if key.startswith("share_below_")]
    np.testing.assert_allclose(shares, levels(QUANTILES), atol=0.12)


def test_a_forecast_that_is_off_by_ten_points_shows_it(perfect):
    def optimist(observations, masks):
        actions, quantiles = perfect(observations, masks)
        return actions, quantiles + 10

    figures = check_quantiles(optimist, FOUR_BOXES, seed=4)
    assert figures["wasserstein_start"] == pytest.approx(10, abs=0.5)
    assert figures["wasserstein_positions"] == pytest.approx(10, abs=0.5)
    assert figures["calibration_error"] > 0.1


def test_the_start_weighs_every_first_roll_by_its_chance(perfect):
    solution = solve(FOUR_BOXES)
    positions = first_rolls(FOUR_BOXES)
    means = np.array([each.mean for each in solution.score_distribution(positions)])
    assert means @ ROLL_PROBABILITIES == pytest.approx(solution.start_value, abs=1e-4)
    assert start_distance(perfect, FOUR_BOXES) < 0.5
    rows = np.array([exact_quantiles(each) for each in solution.score_distribution(positions)])
    assert distances(rows, solution.score_distribution(positions)).max() < 1
