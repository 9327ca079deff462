"""Best play for exponential utilities, against other ways to the same numbers."""

import numpy as np
import pytest
from helpers import FOUR_BOXES, JOKERS, as_games, random_positions

from yahtzee_env import policy_value, solve
from yahtzee_env.policies import ObjectivePolicy
from yahtzee_env.solver import Exponential, Utility


def equivalent(distribution, aversion):
    """The certainty equivalent of a score with this distribution."""
    mean = distribution.probabilities @ np.exp(-aversion * distribution.values)
    return -np.log(mean) / aversion


@pytest.mark.parametrize("aversion", [-0.05, 0.002, 0.1])
def test_its_distribution_has_the_certainty_equivalent_and_no_better_one_is_known(aversion):
    solution = solve(FOUR_BOXES, objective=Exponential(aversion))
    policy = ObjectivePolicy(Exponential(aversion))
    found = policy_value(policy, FOUR_BOXES, distribution=True).distribution
    assert equivalent(found, aversion) == pytest.approx(solution.start_value, abs=1e-8)
    by_mean = policy_value("optimal", FOUR_BOXES, distribution=True).distribution
    assert equivalent(by_mean, aversion) < solution.start_value


def test_it_is_the_utility_of_a_table():
    aversion = 0.03
    table = Utility(-np.exp(-aversion * np.arange(200.0)))
    found = solve(FOUR_BOXES, objective=table).start_value
    expected = solve(FOUR_BOXES, objective=Exponential(aversion)).start_value
    assert -np.log(-found) / aversion == pytest.approx(expected, abs=1e-4)


def test_hardly_any_aversion_is_the_mean():
    positions = as_games(JOKERS, list(random_positions(JOKERS, 10, seed=3)))
    means = solve(JOKERS).action_values(positions)
    values = solve(JOKERS, objective=Exponential(1e-7)).action_values(positions)
    np.testing.assert_allclose(values, means, rtol=0, atol=0.01)
    assert (values[~np.isnan(values)] <= means[~np.isnan(means)] + 1e-4).all()


@pytest.mark.parametrize("aversion", [0, 0.5, -1])
def test_wrong_aversions(aversion):
    with pytest.raises(ValueError, match=r"from -0\.3 to 0\.3 and not 0"):
        Exponential(aversion)
