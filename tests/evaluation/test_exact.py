"""Exact values of policies."""

from collections import Counter
from dataclasses import replace

import numpy as np
import plain
import pytest
from helpers import FOUR_BOXES, JOKERS, N_HOLDS, first_legal

from yahtzee_env import evaluate, policy_value, solve
from yahtzee_env.policies import FunctionPolicy, RandomPolicy
from yahtzee_env.solver.returns import MOST_LUMPED

GREEDY_TURN = 217.3859
"""The exact expected score of greedy-turn under the official rules."""


def always_ones(observations, masks):
    return np.full(len(masks), N_HOLDS)


@pytest.mark.parametrize("policy", ["greedy-no-reroll", "greedy-turn", "optimal", first_legal])
def test_the_exact_value_agrees_with_games(policy):
    exact = policy_value(policy, FOUR_BOXES)
    result = evaluate(policy, FOUR_BOXES, games=4000, seed=1)
    assert abs(result.mean - exact.mean) < 4 * result.sem
    assert abs(result.luck_adjusted_mean - exact.mean) < 4 * result.luck_adjusted_sem + 1e-9
    assert result.std == pytest.approx(exact.std, rel=0.1)
    for name, box in result.cards.boxes.items():
        assert box.mean == pytest.approx(exact.box_means[name], abs=0.6)


def test_the_exact_value_of_perfect_play_is_that_of_the_solution():
    exact, solution = policy_value("optimal", FOUR_BOXES), solve(FOUR_BOXES)
    assert exact.mean == pytest.approx(solution.start_value, abs=1e-10)
    assert exact.std == pytest.approx(solution.standard_deviation, abs=1e-9)


def test_the_exact_value_by_listing_all_dice():
    rules = replace(
        FOUR_BOXES, name="two boxes", boxes=FOUR_BOXES.boxes[1:3], bonus_steps=((18, 35),)
    )
    assert rules.box_names == ("sixes", "full_house")
    expected = Counter()
    for first, p in plain.throws(5).items():
        for second, q in plain.throws(5).items():
            expected[greedy_score(first, second)] += p * q
    mean = sum(p * score for score, p in expected.items())
    square = sum(p * score**2 for score, p in expected.items())
    exact = policy_value("greedy-no-reroll", rules, distribution=True)
    assert exact.mean == pytest.approx(mean, abs=1e-10)
    assert exact.std == pytest.approx(np.sqrt(square - mean**2), abs=1e-9)
    assert exact.cards == 1 + 6 + 1 - 2
    found = zip(exact.distribution.values.tolist(), exact.distribution.probabilities, strict=True)
    assert {score: p for score, p in found if p > 0} == pytest.approx(expected, abs=1e-12)
    assert exact.distribution.lumped == 0


def greedy_score(first, second):
    """Sixes (35 more for 18 and above) and Full house, the better of them first."""

    def pays(roll):
        sixes = 6 * roll.count(6)
        full = 25 if sorted(map(roll.count, set(roll))) == [2, 3] else 0
        return sixes + (35 if sixes >= 18 else 0), full

    sixes, full = pays(first)
    return sixes + pays(second)[1] if sixes >= full else full + pays(second)[0]


@pytest.mark.parametrize(
    ("policy", "ruleset"), [("random", FOUR_BOXES), ("greedy-turn", JOKERS), ("optimal", JOKERS)]
)
def test_the_distribution_has_the_moments_of_the_value(policy, ruleset):
    exact = policy_value(policy, ruleset, distribution=True)
    assert exact.distribution.mean == pytest.approx(exact.mean, abs=1e-9)
    assert exact.distribution.std == pytest.approx(exact.std, abs=1e-9)
    assert exact.distribution.probabilities.sum() == pytest.approx(1, abs=1e-12)


def test_two_ways_to_the_distribution_of_perfect_play():
    forward = policy_value("optimal", JOKERS, distribution=True).distribution
    backward = solve(JOKERS, cache=False).start_distribution
    assert [forward.at_least(t) for t in range(0, 500, 7)] == pytest.approx(
        [backward.at_least(t) for t in range(0, 500, 7)], abs=MOST_LUMPED
    )


def test_the_exact_value_of_a_policy_that_draws_its_actions():
    exact = policy_value("random", FOUR_BOXES)
    result = evaluate("random", FOUR_BOXES, games=4000, seed=1)
    assert abs(result.luck_adjusted_mean - exact.mean) < 4 * result.luck_adjusted_sem
    assert result.std == pytest.approx(exact.std, rel=0.1)


def test_what_has_no_exact_value_is_refused():
    with pytest.raises(ValueError, match="function is neither deterministic nor has a method"):
        policy_value(FunctionPolicy(first_legal, deterministic=False), "yacht")


class Wrong(RandomPolicy):
    """Returns rows that are not probability distributions."""

    name = "wrong"

    def __init__(self, change):
        self.change = change

    def probabilities(self, positions):
        probabilities = super().probabilities(positions)
        return self.change(probabilities)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p / 2, "the probabilities of wrong sum to 0.5 in a position, not to 1"),
        (lambda p: p[:, ::-1], "a negative probability, or one to an illegal action"),
        (lambda p: -p, "a negative probability"),
    ],
)
def test_wrong_probabilities_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        policy_value(Wrong(change), FOUR_BOXES)


def test_an_illegal_action_has_no_exact_value():
    with pytest.raises(ValueError, match="the box is filled"):
        policy_value(always_ones, FOUR_BOXES)


def test_progress_of_an_exact_value_is_reported():
    shares = []
    policy_value("greedy-no-reroll", FOUR_BOXES, progress=shares.append)
    assert len(shares) >= 4
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.9 < shares[-1] <= 1


@pytest.mark.slow
def test_the_exact_value_of_greedy_turn_under_the_official_rules():
    exact = policy_value("greedy-turn")
    assert exact.mean == pytest.approx(GREEDY_TURN, abs=1e-4)
    result = evaluate("greedy-turn", games=20_000, seed=9)
    assert abs(result.mean - exact.mean) < 3 * result.sem
    assert abs(result.luck_adjusted_mean - exact.mean) < 3 * result.luck_adjusted_sem
    assert result.std == pytest.approx(exact.std, rel=0.02)


def test_a_policy_that_chooses_at_random_has_no_exact_value():
    rng = np.random.default_rng(1)
    fickle = FunctionPolicy(lambda _, masks: (masks * rng.random(masks.shape)).argmax(axis=1))
    with pytest.raises(ValueError, match="chooses differently"):
        policy_value(fickle, "yacht")
