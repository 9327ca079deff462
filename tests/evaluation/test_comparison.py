"""Comparisons of policies on the same dice."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from yahtzee_env import compare, evaluate, solve

GREEDY_TURN = 217.3859
"""The exact expected score of greedy-turn under the official rules."""


def test_a_comparison_pairs_the_games():
    comparison = compare(["greedy-no-reroll", "greedy-turn", "optimal"], "yahtzee", 600, seed=4)
    assert [result.policy for result in comparison.evaluations] == [
        "greedy-no-reroll",
        "greedy-turn",
        "optimal",
    ]
    pairs = {(pair.first, pair.second): pair for pair in comparison.differences}
    assert len(pairs) == len(comparison.differences) == 3
    pair = pairs["greedy-turn", "optimal"]
    one, two = comparison.evaluations[1:]
    difference = one.scores - two.scores
    assert pair.mean == pytest.approx(one.mean - two.mean)
    assert pair.sem == pytest.approx(difference.std(ddof=1) / np.sqrt(600))
    assert pair.luck_adjusted_mean == pytest.approx(one.luck_adjusted_mean - two.luck_adjusted_mean)
    exact = GREEDY_TURN - solve("yahtzee").start_value
    assert pair.luck_adjusted_sem < pair.sem / 2
    assert abs(pair.mean - exact) < 3 * pair.sem
    assert abs(pair.luck_adjusted_mean - exact) < 3 * pair.luck_adjusted_sem
    assert pair.ci95[1] < 0
    assert json.loads(comparison.to_json())["differences"][2]["mean"] == pair.mean
    assert str(pair) in str(comparison)
    np.testing.assert_array_equal(evaluate("greedy-turn", games=600, seed=4).scores, one.scores)


def test_a_policy_does_not_differ_from_itself():
    [pair] = compare(["greedy-turn", "greedy-turn"], "yacht", 20).differences
    assert (pair.mean, pair.sem, pair.luck_adjusted_mean, pair.luck_adjusted_sem) == (0, 0, 0, 0)


@pytest.mark.parametrize("policies", [[], ["random"], "random"])
def test_a_comparison_needs_two_policies(policies):
    with pytest.raises(ValueError, match="at least two policies"):
        compare(policies)


def test_an_executor_changes_no_result():
    policies = ["random", "greedy-turn", "optimal"]
    with ThreadPoolExecutor(2) as executor:
        parallel = compare(policies, "yacht", 20, seed=2, executor=executor)
    assert parallel == compare(policies, "yacht", 20, seed=2)
