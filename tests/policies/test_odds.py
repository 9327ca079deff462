"""Chances of throws and of turns, against plain counting."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from helpers import OFFICIAL

from yahtzee_env.dice import FIVE_ALIKE, KEEPS, ROLLS
from yahtzee_env.policies.odds import THROW_CHANCES, best_of, turn_points


def test_chances_of_a_throw():
    keep = KEEPS.index((2, 2, 5))
    counted = np.zeros(len(ROLLS))
    rolls = [tuple(dice) for dice in ROLLS.tolist()]
    for thrown in product(range(1, 7), repeat=2):
        counted[rolls.index(tuple(sorted((2, 2, 5, *thrown))))] += 1 / 36
    np.testing.assert_allclose(THROW_CHANCES[keep], counted, atol=1e-15)
    np.testing.assert_allclose(THROW_CHANCES.sum(axis=1), 1.0)


def test_turns_played_for_one_box():
    of_sixes = turn_points(OFFICIAL.boxes[5].scores)
    six = Fraction(91, 216)
    assert of_sixes[30] == pytest.approx(float(six**5))
    assert of_sixes[0] == pytest.approx(float((1 - six) ** 5))
    assert of_sixes @ np.arange(31) == pytest.approx(float(30 * six))
    # The well-known chance of five alike in a turn.
    assert turn_points((FIVE_ALIKE > 0).tolist())[1] == pytest.approx(0.0460286, abs=1e-7)


def test_the_best_of_some_tries():
    chances = np.array([0.5, 0.25, 0.25])
    np.testing.assert_allclose(best_of(chances, 1), chances)
    np.testing.assert_allclose(best_of(chances, 2), [0.25, 0.3125, 0.4375])
    assert best_of(chances, 1.5).sum() == pytest.approx(1.0)
