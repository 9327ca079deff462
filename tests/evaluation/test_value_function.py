"""Exact values of given policies, against listing all dice, the optimum and values forward."""

import numpy as np
import plain
import pytest
from helpers import FOUR_BOXES, JOKERS, N_HOLDS, as_games, random_positions

from yahtzee_env import Ruleset, State, policy_solution, policy_value, solve
from yahtzee_env.policies import EpsilonGreedyPolicy, OptimalPolicy, RandomPolicy, load_policy


def test_the_values_of_perfect_play_are_those_of_the_solution():
    solution = solve(JOKERS, cache=False)
    found = policy_solution("optimal", JOKERS)
    np.testing.assert_allclose(found.card_values, solution.card_values, rtol=0, atol=1e-9)
    positions = as_games(JOKERS, list(random_positions(JOKERS, 20, seed=6)))
    np.testing.assert_allclose(
        found.action_values(positions), solution.action_values(positions), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(
        found.state_value(positions), solution.state_value(positions), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("name", ["random", "greedy-turn", "epsilon"])
def test_the_start_value_is_the_policy_value(name):
    policy = EpsilonGreedyPolicy(OptimalPolicy(), 0.3) if name == "epsilon" else load_policy(name)
    found = policy_solution(policy, FOUR_BOXES)
    assert found.start_value == pytest.approx(policy_value(policy, FOUR_BOXES).mean, abs=1e-9)


@pytest.mark.parametrize("name", ["random", "greedy-turn"])
def test_values_of_states_are_means_over_the_actions_of_the_policy(name):
    policy = load_policy(name)
    found = policy_solution(policy, FOUR_BOXES)
    states = [s for s in random_positions(FOUR_BOXES, 20, seed=6) if len(s.card) < 4]
    positions = as_games(FOUR_BOXES, states)
    values = found.action_values(positions)
    assert (np.isnan(values) == (positions.masks() == 0)).all()
    if name == "random":
        means = np.nanmean(values, axis=1)
    else:
        means = values[np.arange(len(states)), policy.act(positions, np.random.default_rng(0))]
    np.testing.assert_allclose(found.state_value(positions), means, rtol=0, atol=1e-10)
    assert found.state_value(states[0]) == found.state_value(positions)[0]
    assert found.best_action(states[0]) == np.nanargmax(values[0])


def test_random_play_by_listing_all_dice():
    """Sixes and Full house: every different keep of at most four dice, and every open box."""
    scores = {
        "sixes": lambda roll: 6 * roll.count(6),
        "full_house": lambda roll: 25 if sorted(map(roll.count, set(roll))) == [2, 3] else 0,
    }
    boxes = tuple(box for box in FOUR_BOXES.boxes if box.name in scores)
    rules = Ruleset("sixes and full house", boxes)
    found = policy_solution(RandomPolicy(), rules)
    last = {box: by_rolls_left({box: (scores[box], 0.0)}) for box in scores}
    other = {"sixes": "full_house", "full_house": "sixes"}
    start = by_rolls_left({box: (scores[box], plain.mean(last[other[box]][2])) for box in scores})
    for dice in [(1, 1, 2, 6, 6), (6, 6, 6, 6, 6), (2, 2, 3, 3, 3)]:
        for rolls_left in range(3):
            value = found.state_value(State(dice, rolls_left))
            assert value == pytest.approx(start[rolls_left][dice], abs=1e-10)
            value = found.state_value(State(dice, rolls_left, {"sixes": 12}))
            assert value == pytest.approx(last["full_house"][rolls_left][dice], abs=1e-10)
    values = found.action_values(State((1, 1, 2, 6, 6), 1))
    assert values[N_HOLDS] == pytest.approx(12 + plain.mean(last["full_house"][2]), abs=1e-10)
    assert values[0b11000] == pytest.approx(plain.mean(start[0], (6, 6)), abs=1e-10)


def by_rolls_left(boxes):
    """For 0, 1, 2 rolls left the value of each roll; boxes are (score, value to come after it)."""
    values = []
    for rolls_left in range(3):
        of_roll = {}
        for roll in plain.ROLLS:
            options = [score(roll) + to_come for score, to_come in boxes.values()]
            if rolls_left:
                options += [
                    plain.mean(values[-1], kept) for kept in plain.keeps(roll) if len(kept) < 5
                ]
            of_roll[roll] = sum(options) / len(options)
        values.append(of_roll)
    return values


def test_acting_greedily_on_the_values_of_a_policy_improves_it():
    found = policy_solution("greedy-no-reroll", FOUR_BOXES)

    class Improved:
        name, deterministic = "improved", True

        def act(self, positions, rng):
            return found.best_action(positions)

    improved = policy_value(Improved(), FOUR_BOXES).mean
    assert found.start_value + 5 < improved <= solve(FOUR_BOXES).start_value + 1e-9


def test_progress_rises_to_one():
    shares = []
    policy_solution("greedy-no-reroll", FOUR_BOXES, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1
