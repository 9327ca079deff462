"""Playing games for an evaluation."""

import numpy as np
import pytest
from helpers import N_HOLDS, cases

from yahtzee_env import evaluate, solve
from yahtzee_env.dice import KEEPS, N_KEEPS, roll_index
from yahtzee_env.evaluation.play import play
from yahtzee_env.policies import load_policy
from yahtzee_env.solver.endings import choice_number


def test_random_play_scores_the_published_mean():
    case = cases("optimal.json")["random_legal_play_official"]
    played = play(load_policy("random"), solve("yahtzee"), 10_000, np.random.SeedSequence(1))
    scores = played.records["score"]
    assert scores.mean() == pytest.approx(case["mean"], abs=case["tolerance"])
    assert scores.std() == pytest.approx(case["sd"], abs=1)


def test_a_choice_has_the_same_number_whatever_the_dice():
    rolls = np.array([roll_index(dice) for dice in ((1, 2, 2, 5, 6), (2, 2, 2, 2, 2))])
    assert choice_number(rolls, np.array([0b110, 0b11])).tolist() == [KEEPS.index((2, 2))] * 2
    assert choice_number(rolls, np.array([0, 0])).tolist() == [0, 0]
    assert choice_number(rolls, np.array([N_HOLDS, 43])).tolist() == [N_KEEPS, N_KEEPS + 12]


class Returning:
    """A policy whose actions are converted before it returns them."""

    name = "returning"
    deterministic = True

    def __init__(self, convert):
        self.convert = convert

    def act(self, positions, rng):
        return self.convert(positions.masks().argmax(axis=1))


def test_a_policy_may_return_any_whole_numbers_one_per_game():
    expected = evaluate(Returning(np.asarray), "yacht", games=3)
    for convert in (np.ndarray.tolist, np.int8, np.uint16):
        assert evaluate(Returning(convert), "yacht", games=3) == expected
    for convert in (np.float64, lambda actions: actions[1:], lambda _: 3, lambda _: None):
        with pytest.raises(ValueError, match="a policy must return 3 whole numbers, one per game"):
            evaluate(Returning(convert), "yacht", games=3)
