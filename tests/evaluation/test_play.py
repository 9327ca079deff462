"""Playing games for an evaluation."""

import numpy as np
import pytest
from helpers import N_HOLDS, cases

from yahtzee_env import solve
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
