"""One turn, exactly: from the values of the next turns to the value of every roll and keep.

A block is a table of the 462 keeps (see `dice.KEEPS`) by `LANES` columns. Each column is one card
and is worked on independently of the others, so that the inner loops are vector operations and a
value does not depend on its neighbours.

The value of a keep is the mean over one more die of the keeps of one die more, and the best keep
of a set of dice is the set itself or the best keep of the set with one die fewer: that takes a
fifth of the work of going through the 31 holds of each roll and the outcomes of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import (
    FIVE_ALIKE,
    KEEPS,
    N_FACES,
    N_KEEPS,
    N_PARTIAL_KEEPS,
    N_ROLLS,
    ONE_DIE_MORE,
    ROLL_PROBABILITIES,
)
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import legal_boxes, placed, upper_bonus
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.lanes import LANES, add, larger, load, scale, store

FIVE_ALIKE_ROLLS = np.flatnonzero(FIVE_ALIKE)
PLAIN_ROLL = int(np.flatnonzero(FIVE_ALIKE == 0)[0])
"""A roll without five alike: the same boxes are legal for all such rolls."""


def _with_one_less(face: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for keep in KEEPS:
        if face in keep:
            at = keep.index(face)
            yield keep, keep[:at] + keep[at + 1 :]


# Flat, so that a loop over the pairs has no inner branch; unsigned, since Numba checks signed
# indices for negative ones.
PAIRS = np.array(
    [
        (KEEPS.index(keep), KEEPS.index(fewer))
        for face in range(1, N_FACES + 1)
        for keep, fewer in _with_one_less(face)
    ],
    np.uint64,
).T.copy()
"""(2, pairs) uint64: keeps, and the keep of one die fewer, face by face.

After the pairs of a face each keep has seen all keeps within it that lack dice of the faces so far.
"""
_MORE = ONE_DIE_MORE.astype(np.uint64)
_SIXTH = 1.0 / 6.0


class Outcomes(NamedTuple):
    """For each box, the rolls without five alike in groups that pay the same points.

    Group g of box k, for g from ``start[k]`` to ``start[k + 1]``, is the rolls
    ``rolls[first[g] : first[g + 1]]``. The group that pays nothing is left out where it can be:
    a box is worth no less with points in it than with 0, so a roll of that group, ``zero[k]``,
    gives a lower limit for all rolls. That may fail only for a five-alike box that is tracked and
    pays for other rolls as well; its ``zero`` is -1.
    """

    zero: NDArray[np.int64]
    start: NDArray[np.int64]
    first: NDArray[np.int64]
    rolls: NDArray[np.int64]

    @classmethod
    def of(cls, ruleset: Ruleset, monotone: bool = True) -> Outcomes:
        """The groups of a rule set; where points are not always welcome, without any left out."""
        zero, groups = [], []
        for box in ruleset.boxes:
            scores = np.where(FIVE_ALIKE > 0, -1, box.scores)
            paying = [np.flatnonzero(scores == points) for points in np.unique(scores[scores > 0])]
            nothing = np.flatnonzero(scores == 0)
            tracked = ruleset.tracks_five_alike and box.name == ruleset.five_alike_box
            if (tracked and paying) or not monotone:
                paying.append(nothing)
                nothing = nothing[:0]
            zero.append(nothing[0] if len(nothing) else -1)
            groups.append([group for group in paying if len(group)])
        flat = [group for box in groups for group in box]
        return cls(
            np.array(zero, np.int64),
            np.cumsum([0, *map(len, groups)]),
            np.cumsum([0, *map(len, flat)]),
            np.concatenate([np.empty(0, np.int64), *flat]),
        )


@kernel
def expect(block):
    """Set the value of each partial keep to the mean over the dice thrown to it."""
    for keep in range(N_PARTIAL_KEEPS - 1, -1, -1):
        a, b, c, d, e, f = _MORE[keep]
        low = add(add(load(block, a), load(block, b)), load(block, c))
        high = add(add(load(block, d), load(block, e)), load(block, f))
        store(block, keep, scale(add(low, high), _SIXTH))


@kernel
def choose(block):
    """Set the value of each keep to that of the best keep within it."""
    for pair in range(len(PAIRS[0])):
        keep, fewer = PAIRS[0, pair], PAIRS[1, pair]
        store(block, keep, larger(load(block, keep), load(block, fewer)))


@kernel
def to_utility(block, aversion):
    """Replace the values of the rolls by their exponential utilities; see `exponential`."""
    for roll in range(N_PARTIAL_KEEPS, N_KEEPS):
        for lane in range(block.shape[1]):
            block[roll, lane] = -np.exp(-aversion * block[roll, lane]) / aversion


@kernel
def certainty_equivalent(utility, aversion):
    """The points whose exponential utility is given."""
    return -np.log(-aversion * utility) / aversion


@kernel
def first_roll(block, means):
    """Write the mean over the first roll of a turn, one row."""
    store(means, 0, scale(load(block, N_PARTIAL_KEEPS), ROLL_PROBABILITIES[0]))
    for roll in range(1, N_ROLLS):
        part = scale(load(block, N_PARTIAL_KEEPS + roll), ROLL_PROBABILITIES[roll])
        store(means, 0, add(load(means, 0), part))


@kernel
def box_value(rules, future, filled, five_scored, upper, roll, box):
    """The points gained by filling a box and the value of the card it leaves."""
    _, gained, upper, five_scored = placed(rules, filled, five_scored, upper, roll, box)
    upper = min(upper, future.shape[2] - 1)
    return gained + future[filled | 1 << box, five_scored, upper]


@kernel
def place_in_lane(rules, outcomes, future, filled, five_scored, upper, block, lane, boxes):
    """Set the values of the 252 rolls, no reroll left, in one lane to that of the best box.

    The best box of each roll, the first of equal ones, is written to `boxes` where that is not
    None.
    """
    legal = legal_boxes(rules, filled, five_scored, PLAIN_ROLL)
    limit, limit_box = -np.inf, -1
    for box in range(rules.n_boxes):
        if legal >> box & 1 and outcomes.zero[box] >= 0:
            roll = outcomes.zero[box]
            value = box_value(rules, future, filled, five_scored, upper, roll, box)
            if value > limit:
                limit, limit_box = value, box
    block[N_PARTIAL_KEEPS:, lane] = limit
    if boxes is not None:
        boxes[:] = limit_box
    for box in range(rules.n_boxes):
        if legal >> box & 1:
            for group in range(outcomes.start[box], outcomes.start[box + 1]):
                rolls = outcomes.rolls[outcomes.first[group] : outcomes.first[group + 1]]
                value = box_value(rules, future, filled, five_scored, upper, rolls[0], box)
                for roll in rolls:
                    at = N_PARTIAL_KEEPS + roll
                    if boxes is not None and (
                        value > block[at, lane] or (value == block[at, lane] and box < boxes[roll])
                    ):
                        boxes[roll] = box
                    block[at, lane] = max(block[at, lane], value)
    place_five_alike(rules, future, filled, five_scored, upper, block, lane, boxes)


@kernel
def place_five_alike(rules, future, filled, five_scored, upper, block, lane, boxes):
    """The part of `place_in_lane` for the six rolls of five alike: they may be jokers."""
    for roll in FIVE_ALIKE_ROLLS:
        legal = legal_boxes(rules, filled, five_scored, roll)
        best = -np.inf
        for box in range(rules.n_boxes):
            if legal >> box & 1:
                value = box_value(rules, future, filled, five_scored, upper, roll, box)
                if boxes is not None and value > best:
                    boxes[roll] = box
                best = max(best, value)
        block[N_PARTIAL_KEEPS + roll, lane] = best


@kernel
def place_in_block(rules, outcomes, future, filled, five_scored, uppers, block):
    """`place_in_lane` for all lanes at once: cards that differ in their upper totals only."""
    card = (filled, five_scored, uppers)
    values = np.empty((1, LANES))
    limits = np.full((1, LANES), -np.inf)
    legal = legal_boxes(rules, filled, five_scored, PLAIN_ROLL)
    for box in range(rules.n_boxes):
        if legal >> box & 1 and outcomes.zero[box] >= 0:
            _value_lanes(rules, future, *card, outcomes.zero[box], box, values[0])
            store(limits, 0, larger(load(limits, 0), load(values, 0)))
    for at in range(N_PARTIAL_KEEPS, N_KEEPS):
        store(block, at, load(limits, 0))
    for box in range(rules.n_boxes):
        if legal >> box & 1:
            for group in range(outcomes.start[box], outcomes.start[box + 1]):
                rolls = outcomes.rolls[outcomes.first[group] : outcomes.first[group + 1]]
                _value_lanes(rules, future, *card, rolls[0], box, values[0])
                for roll in rolls:
                    row = np.uint64(N_PARTIAL_KEEPS + roll)
                    store(block, row, larger(load(block, row), load(values, 0)))
    for roll in FIVE_ALIKE_ROLLS:
        legal = legal_boxes(rules, filled, five_scored, roll)
        limits[:] = -np.inf
        for box in range(rules.n_boxes):
            if legal >> box & 1:
                _value_lanes(rules, future, *card, roll, box, values[0])
                store(limits, 0, larger(load(limits, 0), load(values, 0)))
        store(block, np.uint64(N_PARTIAL_KEEPS + roll), load(limits, 0))


@kernel
def _value_lanes(rules, future, filled, five_scored, uppers, roll, box, values):
    """`box_value` for cards that differ in their upper totals only."""
    last = future.shape[2] - 1
    # With the last step behind, no bonus is in the points gained; it is added lane by lane.
    points, gained, _, five_after = placed(rules, filled, five_scored, last, roll, box)
    card = future[filled | 1 << box, five_after]
    if rules.upper_face[box] == 0:
        for lane in range(LANES):
            values[lane] = gained + card[np.uint64(uppers[lane])]
    else:
        for lane in range(LANES):
            upper = uppers[lane]
            bonus = upper_bonus(rules, upper, upper + points)
            values[lane] = gained + bonus + card[np.uint64(min(upper + points, last))]
