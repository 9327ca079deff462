"""Policies made of other policies, which say how likely each action is."""

import numpy as np
import pytest
from helpers import FOUR_BOXES, as_games, first_legal, random_positions

from yahtzee_env import load_policy, policy_value
from yahtzee_env.policies import (
    EpsilonGreedyPolicy,
    FunctionPolicy,
    MixturePolicy,
    OptimalPolicy,
    RandomPolicy,
    SoftmaxPolicy,
)
from yahtzee_env.policies.stochastic import action_probabilities


def positions(ruleset):
    """Positions of games that are not over."""
    games = as_games(ruleset, list(random_positions(ruleset, 10, seed=1)))
    return games.select(~games.over)


@pytest.fixture(scope="module")
def network():
    return load_policy("ppo-yahtzee")


def made_of(network):
    return [
        RandomPolicy(),
        EpsilonGreedyPolicy(network, 0.1),
        SoftmaxPolicy(network),
        MixturePolicy([network, RandomPolicy(), OptimalPolicy()], [1, 2, 1]),
    ]


def test_probabilities_are_of_legal_actions_and_actions_are_drawn_by_them(network):
    some = positions(network.ruleset).select(np.repeat(np.arange(3) * 40, 5000))
    for policy in made_of(network):
        assert not policy.deterministic
        probabilities = policy.probabilities(some)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        assert (probabilities[some.masks() == 0] == 0).all()
        actions = policy.act(some, np.random.default_rng(2))
        for first in range(0, 15_000, 5000):
            expected = probabilities[first]
            found = np.bincount(actions[first : first + 5000], minlength=len(expected)) / 5000
            errors = np.sqrt(expected * (1 - expected) / 5000)
            assert (abs(found - expected) <= 4.5 * errors + 1e-12).all()


def test_a_cold_softmax_is_greedy(network):
    some = positions(network.ruleset)
    greedy = action_probabilities(network, some)
    np.testing.assert_allclose(SoftmaxPolicy(network, 1e-6).probabilities(some), greedy, atol=1e-3)
    even = SoftmaxPolicy(network, 1e9).probabilities(some)
    np.testing.assert_allclose(even, RandomPolicy().probabilities(some), atol=1e-6)


def test_the_ends_of_epsilon():
    for epsilon, plain in ((0, OptimalPolicy()), (1, RandomPolicy())):
        mixed = EpsilonGreedyPolicy(OptimalPolicy(), epsilon)
        expected = policy_value(plain, FOUR_BOXES).mean
        assert policy_value(mixed, FOUR_BOXES).mean == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EpsilonGreedyPolicy(RandomPolicy(), 1.5), "epsilon must be from 0 to 1, not 1.5"),
        (lambda: SoftmaxPolicy(load_policy("ppo-yahtzee"), 0), "temperature must be above 0"),
        (lambda: MixturePolicy([RandomPolicy()], [1, 2]), "as many weights of at least 0"),
        (lambda: MixturePolicy([RandomPolicy()], [0]), "as many weights of at least 0"),
        (
            lambda: EpsilonGreedyPolicy(FunctionPolicy(first_legal, deterministic=False), 0.1),
            "neither deterministic nor has a method `probabilities`",
        ),
    ],
)
def test_what_cannot_be_mixed(make, message):
    with pytest.raises(ValueError, match=message):
        make()
