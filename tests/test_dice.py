"""The rolls, keeps and throws of five dice, against plain enumeration."""

from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import pytest
from helpers import kept
from hypothesis import given
from hypothesis import strategies as st

from yahtzee_env import dice, kernels

THROWS = {n: list(product(range(1, 7), repeat=n)) for n in range(6)}
ROLLS = sorted({tuple(sorted(throw)) for throw in THROWS[5]})


def keeps_of(roll):
    """All ways to keep zero to four of the dice, as sets of faces."""
    return {keep for size in range(5) for keep in combinations(roll, size)}


def test_the_252_rolls_are_all_sorted_throws():
    assert [tuple(roll) for roll in dice.ROLLS.tolist()] == ROLLS
    assert len(ROLLS) == dice.N_ROLLS == 252


def test_roll_probabilities_are_the_shares_of_the_7776_throws():
    ways = Counter(tuple(sorted(throw)) for throw in THROWS[5])
    expected = [ways[roll] / 6**5 for roll in ROLLS]
    np.testing.assert_allclose(dice.ROLL_PROBABILITIES, expected, rtol=1e-15)
    assert abs(dice.ROLL_PROBABILITIES.sum() - 1) < 1e-12


def test_counts_and_five_alike_describe_each_roll():
    for roll, counts, alike in zip(ROLLS, dice.COUNTS, dice.FIVE_ALIKE, strict=True):
        assert counts.tolist() == [roll.count(face) for face in range(1, 7)]
        assert alike == (roll[0] if len(set(roll)) == 1 else 0)


def test_every_keep_has_one_legal_code_the_smallest():
    for index, roll in enumerate(ROLLS):
        first_code = {}
        for code in range(31):
            first_code.setdefault(kept(roll, code), code)
        legal = np.flatnonzero(dice.HOLD_LEGAL[index]).tolist()
        assert legal == sorted(first_code.values())
        assert set(first_code) == keeps_of(roll)


def test_there_are_462_keeps_of_zero_to_five_dice():
    keeps = {kept(roll, code) for roll in ROLLS for code in range(32)}
    assert len(keeps) == 462


def test_keep_and_throw_codes_give_each_new_roll_as_often_as_the_dice_do():
    seen = set()
    for index, roll in enumerate(ROLLS):
        for hold in range(32):
            keep = kept(roll, hold)
            if keep in seen:
                continue
            seen.add(keep)
            n = 5 - len(keep)
            assert dice.THROWN[hold] == n
            codes = dice.KEEP_CODE[index, hold] + dice.DRAW_CODE[: 6**n]
            got = Counter(dice.ROLL_OF_CODE[codes].tolist())
            expected = Counter(tuple(sorted((*keep, *new))) for new in THROWS[n])
            assert {ROLLS[new]: times for new, times in got.items()} == expected


@given(st.permutations(range(5)), st.integers(0, 251))
def test_roll_index_finds_a_roll_in_any_order(order, index):
    assert dice.roll_index([ROLLS[index][i] for i in order]) == index


@pytest.mark.parametrize(
    "wrong",
    [
        (1, 2, 3, 4),
        (1, 2, 3, 4, 5, 6),
        (0, 1, 2, 3, 4),
        (1, 2, 3, 4, 7),
        (-1, 2, 3, 4, 5),
        (1, 2, 3, 4, 4.5),
        (1, 2, 3, 4, float("nan")),
        (1, 2, 3, 4, float("inf")),
        (1, 2, 3, 4, None),
        (),
        "12345",
        None,
        12345,
    ],
)
def test_roll_index_refuses_all_but_five_dice(wrong):
    with pytest.raises(ValueError, match="five whole numbers from 1 to 6"):
        dice.roll_index(wrong)


def test_hold_code_keeps_the_named_faces_in_any_order():
    for index in (0, 37, 101, 186, 251):
        for keep in keeps_of(ROLLS[index]):
            for order in set(permutations(keep)):
                code = dice.hold_code(index, order)
                assert dice.HOLD_LEGAL[index, code]
                assert kept(ROLLS[index], code) == keep


@pytest.mark.parametrize("keep", [(2,), (1, 1, 1, 1, 1), (6, 6), (1, 1, 1, 1, 6), (0,)])
def test_hold_code_refuses_faces_that_the_roll_lacks_and_all_five_dice(keep):
    with pytest.raises(ValueError, match="keep none to four of these dice"):
        dice.hold_code(dice.roll_index((1, 1, 1, 1, 6)), keep)


def test_generator_gives_the_published_numbers_of_splitmix64():
    state, numbers = 1234567, []
    for _ in range(5):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        numbers.append(int(kernels.mixed(np.uint64(state))))
    assert numbers == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("bound", [1, 6, 36, 216, 1296, 7776])
def test_scaling_a_number_splits_the_range_into_equal_parts(bound):
    for outcome in range(bound):
        first = -(-outcome * 2**64 // bound)
        middle = np.uint64(first + 2**63 // bound)
        assert kernels.below(middle, np.uint64(bound)) == outcome
    assert kernels.below(np.uint64(0), np.uint64(bound)) == 0
    assert kernels.below(np.uint64(2**64 - 1), np.uint64(bound)) == bound - 1
