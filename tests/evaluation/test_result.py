"""The figures of an evaluation, and what they are converted to."""

import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers import cases, fill_first_box

from yahtzee_env import evaluate
from yahtzee_env.dice import ROLLS
from yahtzee_env.rules import Box, Ruleset


def test_figures_of_a_policy_with_known_expectations():
    result = evaluate(fill_first_box, "yacht", games=4000, seed=2)
    box_means = {name: box.mean for name, box in result.cards.boxes.items()}
    for face, name in enumerate(("ones", "twos", "threes", "fours", "fives", "sixes"), start=1):
        assert box_means[name] == pytest.approx(face * 5 / 6, rel=0.1)
        assert result.cards.boxes[name].zero_rate == pytest.approx((5 / 6) ** 5, abs=0.04)
    assert box_means["choice"] == pytest.approx(17.5, abs=0.3)
    assert sum(box_means.values()) == pytest.approx(result.mean)
    assert result.cards.upper_bonus_rate is None
    assert result.five_alike_rate is None
    low, high = result.ci95
    assert high - low == pytest.approx(2 * 1.96 * result.std / np.sqrt(4000), rel=1e-3)
    assert list(result.quantiles.values()) == sorted(result.quantiles.values())


def test_boxes_and_bonuses_add_up_to_the_score():
    result = evaluate("optimal", games=2000)
    cards = result.cards
    boxes = sum(box.mean for box in cards.boxes.values())
    total = boxes + cards.upper_bonus_mean + cards.extra_bonus_mean
    assert total == pytest.approx(result.mean)
    assert cards.upper_bonus_mean == pytest.approx(35 * cards.upper_bonus_rate)
    assert cards.upper_bonus_rate == pytest.approx(23.8428 / 35, abs=0.05)
    published = cases("optimal.json")["per_box_mean_under_optimal_play_official"]
    assert cards.five_alike_rate == pytest.approx(published["yahtzee"] / 50, abs=0.05)
    assert cards.boxes["yahtzee"].zero_rate == pytest.approx(1 - cards.five_alike_rate)


def test_mistakes_are_described_with_their_cost():
    result = evaluate(fill_first_box, games=50)
    assert len(result.mistakes) == 10
    lost = [mistake.lost_per_game for mistake in result.mistakes]
    assert lost == sorted(lost, reverse=True)
    assert sum(lost) <= result.regret_per_game
    assert all(mistake.decision == "first reroll" for mistake in result.mistakes)
    what = r"first reroll: filled \w+ instead of (keeping [1-6-]+|\w+)"
    words = what + r": lost [\d.]+ each time, [\d.]+ per game"
    assert all(re.fullmatch(words, str(mistake)) for mistake in result.mistakes)


def test_a_result_as_json_and_as_a_sentence():
    result = evaluate("greedy-turn", "yahtzee-strict", games=20)
    data = json.loads(result.to_json())
    assert data["mean"] == result.mean
    assert data["cards"]["boxes"]["chance"]["mean"] == result.cards.boxes["chance"].mean
    assert str(result).startswith("greedy-turn on yahtzee-strict: ")


def test_numpy_arguments_do_not_break_json():
    result = evaluate("greedy-turn", games=np.int64(5), seed=np.int32(3))
    assert json.loads(result.to_json())["seed"] == 3


def test_rules_that_pay_nothing_are_played_perfectly():
    boxes = tuple(Box(f"nothing_{k}", (0,) * len(ROLLS)) for k in range(2))
    result = evaluate("random", Ruleset("nothing", boxes), games=5)
    assert result.pct_of_optimal == 100


def test_results_are_equal_if_every_figure_is():
    one, two = (evaluate("greedy-turn", "yacht", games=5, seed=3) for _ in range(2))
    assert one == two
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != evaluate("greedy-turn", "yacht", games=5, seed=4)
    assert one != evaluate("greedy-turn", "yacht", games=6, seed=3)
    assert one != replace(one, scores=one.scores + 1)
    assert one != "greedy-turn"
