"""The best players for objectives other than the mean."""

import pickle

import numpy as np
import pytest
from helpers import FOUR_BOXES, JOKERS, as_games, random_positions

from yahtzee_env import evaluate, load_policy, policy_value, solve
from yahtzee_env.evaluation.play import play
from yahtzee_env.policies import EpsilonGreedyPolicy, ObjectivePolicy, OptimalPolicy
from yahtzee_env.solver.objectives import AtLeast, Beat, CVaR


def played_scores(policy, ruleset, games):
    played = play(policy, solve(ruleset), games, np.random.SeedSequence(3))
    return played.records["score"].astype(np.int64)


@pytest.mark.parametrize("points", [60, 90, 115])
def test_games_reach_the_points_as_often_as_computed(points):
    policy = ObjectivePolicy(AtLeast(points), levels=150)
    expected = policy.solution(FOUR_BOXES).start_value
    found = played_scores(policy, FOUR_BOXES, 20_000) >= points
    assert abs(found.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / 20_000) + 1e-5


def test_games_have_the_cvar_computed():
    policy = ObjectivePolicy(CVaR(0.1), levels=200)
    expected = policy.solution(FOUR_BOXES).start_value
    scores = np.sort(played_scores(policy, FOUR_BOXES, 40_000))
    worst = scores[: len(scores) // 10]
    # Shortfalls below the quantile, of which the CVaR is the mean: see Trindade et al. 2007.
    shortfall = np.maximum(worst[-1] - scores, 0)
    error = shortfall.std() / 0.1 / np.sqrt(len(scores))
    assert abs(worst.mean() - expected) < 4 * error
    optimal = np.sort(played_scores(OptimalPolicy(), FOUR_BOXES, 40_000))
    assert worst.mean() > optimal[: len(scores) // 10].mean()


def test_a_goal_already_reached_or_out_of_reach_is_played_for_the_mean():
    positions = as_games(JOKERS, list(random_positions(JOKERS, 10, seed=4)))
    positions = positions.select(~positions.over)
    best = (
        solve(JOKERS).action_values(positions).max(axis=1, initial=-1, where=positions.masks() > 0)
    )
    for points in (0, 1499):
        policy = ObjectivePolicy(AtLeast(points), levels=1500)
        actions = policy.act(positions, np.random.default_rng(0))
        values = solve(JOKERS).action_values(positions)[np.arange(len(positions)), actions]
        np.testing.assert_allclose(values, best, rtol=0, atol=1e-9)


def test_it_is_evaluated_and_pickled_like_others():
    policy = pickle.loads(pickle.dumps(ObjectivePolicy(AtLeast(100), levels=150)))
    assert policy.name == "optimal:at-least-100"
    result = evaluate(policy, FOUR_BOXES, games=200, seed=1)
    assert result.regret_per_game > 0.01


def test_it_has_no_exact_value():
    policy = ObjectivePolicy(AtLeast(100), levels=150)
    for ask in (lambda: policy_value(policy, FOUR_BOXES), lambda: EpsilonGreedyPolicy(policy, 0.1)):
        with pytest.raises(ValueError, match="optimal:at-least-100 chooses by the score so far"):
            ask()


@pytest.mark.parametrize(
    ("name", "objective"),
    [("optimal:at-least-300", AtLeast(300)), ("optimal:cvar-0.1", CVaR(0.1))],
)
def test_names(name, objective):
    policy = load_policy(name)
    assert (policy.name, policy.objective) == (name, objective)


@pytest.mark.parametrize(
    "name", ["optimal:300", "optimal:at-least-x", "optimal:cvar-2", "optimal:"]
)
def test_unknown_names(name):
    with pytest.raises(ValueError, match=f"unknown policy '{name}': "):
        load_policy(name)


@pytest.mark.slow
@pytest.mark.parametrize("objective", [AtLeast(300), CVaR(0.1)], ids=lambda o: o.name)
def test_the_official_rules_in_many_games(objective):
    policy = ObjectivePolicy(objective)
    expected = policy.solution(solve("yahtzee").ruleset).start_value
    scores = np.sort(played_scores(policy, "yahtzee", 200_000))
    if isinstance(objective, AtLeast):
        found, error = (scores >= 300).mean(), np.sqrt(expected * (1 - expected) / len(scores))
    else:
        worst = scores[: len(scores) // 10]
        found = worst.mean()
        error = np.maximum(worst[-1] - scores, 0).std() / 0.1 / np.sqrt(len(scores))
    assert abs(found - expected) < 3 * error


@pytest.mark.slow
def test_the_best_response_to_perfect_play_in_many_games():
    opponent = solve("yahtzee").start_distribution
    policy = ObjectivePolicy(Beat(opponent))
    expected = policy.solution(solve("yahtzee").ruleset).start_value
    assert 0.5 < expected < 0.55
    scores = played_scores(policy, "yahtzee", 200_000)
    worth = np.array([opponent.cdf(s) + opponent.cdf(s - 1) for s in range(2000)])[scores] / 2
    assert abs(worth.mean() - expected) < 3 * worth.std() / np.sqrt(len(scores))
