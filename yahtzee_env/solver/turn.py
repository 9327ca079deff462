"""One turn, exactly: from the values of the next turns to the value of every roll and keep.

A block is a table of the 462 keeps (see `dice.KEEPS`) by `LANES` columns. Each column is one card
and is worked on independently of the others, so that the inner loops are vector operations and a
value does not depend on its neighbours.

The recursion over keeps (Felix Dangl's and Jakub Pawlewicz's solvers use the same idea): the value
of a keep is the mean over one more die of the keeps of one die more; and the best keep of a set of
dice is the set itself or the best keep of the set with one die fewer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import FIVE_ALIKE, KEEPS, N_KEEPS, N_PARTIAL_KEEPS, N_ROLLS, ONE_DIE_MORE
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import legal_boxes, placed
from yahtzee_env.rules import Ruleset

LANES = 8
"""Columns of a block: one cache line of float64."""

FIVE_ALIKE_ROLLS = np.flatnonzero(FIVE_ALIKE)
PLAIN_ROLL = int(np.flatnonzero(FIVE_ALIKE == 0)[0])
"""A roll without five alike: the same boxes are legal for all such rolls."""

_ONE_DIE_FEWER = [
    [KEEPS.index((*keep[:i], *keep[i + 1 :])) for i in range(len(keep)) if keep[i] not in keep[:i]]
    for keep in KEEPS
]
_FEWER_START = np.cumsum([0, *map(len, _ONE_DIE_FEWER)])
_FEWER = np.concatenate(_ONE_DIE_FEWER).astype(np.int64)


class Outcomes(NamedTuple):
    """For each box, the rolls without five alike in groups that pay the same points.

    Group g of box k, for g from ``start[k]`` to ``start[k + 1]``, is the rolls
    ``rolls[first[g] : first[g + 1]]``.
    """

    start: NDArray[np.int64]
    first: NDArray[np.int64]
    rolls: NDArray[np.int64]

    @classmethod
    def of(cls, ruleset: Ruleset) -> Outcomes:
        """The groups of a rule set."""
        groups = [
            [np.flatnonzero((FIVE_ALIKE == 0) & (scores == points)) for points in np.unique(scores)]
            for scores in (np.array(box.scores) for box in ruleset.boxes)
        ]
        kept = [[group for group in box if len(group)] for box in groups]
        flat = [group for box in kept for group in box]
        return cls(
            np.cumsum([0, *map(len, kept)]),
            np.cumsum([0, *map(len, flat)]),
            np.concatenate(flat).astype(np.int64),
        )


@kernel
def expect(block):
    """Set the value of each partial keep to the mean over the dice thrown to it."""
    for keep in range(N_PARTIAL_KEEPS - 1, -1, -1):
        a, b, c, d, e, f = ONE_DIE_MORE[keep]
        for lane in range(LANES):
            low = (block[a, lane] + block[b, lane]) + block[c, lane]
            high = (block[d, lane] + block[e, lane]) + block[f, lane]
            block[keep, lane] = (low + high) / 6.0


@kernel
def choose(block, squares):
    """Set the value of each keep to that of the best keep within it; `squares` follow."""
    for keep in range(1, N_KEEPS):
        for index in range(_FEWER_START[keep], _FEWER_START[keep + 1]):
            fewer = _FEWER[index]
            if squares is None:
                for lane in range(LANES):
                    block[keep, lane] = max(block[keep, lane], block[fewer, lane])
            else:
                for lane in range(LANES):
                    better = block[fewer, lane] > block[keep, lane]
                    if better:
                        squares[keep, lane] = squares[fewer, lane]
                        block[keep, lane] = block[fewer, lane]


@kernel
def place_in_lane(tables, outcomes, future, filled, five_scored, upper, block, lane):
    """Set the values of the 252 rolls, no reroll left, in one lane to that of the best box."""
    for roll in range(N_ROLLS):
        block[N_PARTIAL_KEEPS + roll, lane] = -np.inf
    legal = legal_boxes(tables, filled, five_scored, PLAIN_ROLL)
    for box in range(tables.n_boxes):
        if legal >> box & 1 == 0:
            continue
        for group in range(outcomes.start[box], outcomes.start[box + 1]):
            rolls = outcomes.rolls[outcomes.first[group] : outcomes.first[group + 1]]
            value = box_value(tables, future, filled, five_scored, upper, rolls[0], box)
            for roll in rolls:
                at = N_PARTIAL_KEEPS + roll
                block[at, lane] = max(block[at, lane], value)
    place_five_alike(tables, future, None, filled, five_scored, upper, block, None, lane)


@kernel
def box_value(tables, future, filled, five_scored, upper, roll, box):
    """The points gained by filling a box and the value of the card it leaves."""
    _, gained, upper, five_scored = placed(tables, filled, five_scored, upper, roll, box)
    upper = min(upper, future.shape[2] - 1)
    return gained + future[filled | 1 << box, five_scored, upper]


@kernel
def place_five_alike(
    tables, future, future_squares, filled, five_scored, upper, block, squares, lane
):
    """Set the values of the six rolls of five alike in one lane: they may be jokers."""
    for roll in FIVE_ALIKE_ROLLS:
        legal = legal_boxes(tables, filled, five_scored, roll)
        at = N_PARTIAL_KEEPS + roll
        block[at, lane] = -np.inf
        for box in range(tables.n_boxes):
            if legal >> box & 1 == 0:
                continue
            value = box_value(tables, future, filled, five_scored, upper, roll, box)
            if value > block[at, lane]:
                block[at, lane] = value
                if squares is not None:
                    squares[at, lane] = box_square(
                        tables, future, future_squares, filled, five_scored, upper, roll, box
                    )


@kernel
def box_square(tables, future, future_squares, filled, five_scored, upper, roll, box):
    """The expected square of the points from filling this box on."""
    _, gained, upper, five_scored = placed(tables, filled, five_scored, upper, roll, box)
    upper = min(upper, future.shape[2] - 1)
    next_filled = filled | 1 << box
    mean = future[next_filled, five_scored, upper]
    return gained * (gained + 2.0 * mean) + future_squares[next_filled, five_scored, upper]


@kernel
def place_in_block(
    tables, outcomes, future, future_squares, filled, five_scored, uppers, block, squares
):
    """`place_in_lane` for all lanes at once: cards that differ in their upper totals only."""
    values = np.empty(LANES)
    value_squares = np.empty(LANES)
    block[N_PARTIAL_KEEPS:] = -np.inf
    legal = legal_boxes(tables, filled, five_scored, PLAIN_ROLL)
    for box in range(tables.n_boxes):
        if legal >> box & 1 == 0:
            continue
        for group in range(outcomes.start[box], outcomes.start[box + 1]):
            rolls = outcomes.rolls[outcomes.first[group] : outcomes.first[group + 1]]
            for lane in range(LANES):
                values[lane] = box_value(
                    tables, future, filled, five_scored, uppers[lane], rolls[0], box
                )
                if squares is not None:
                    value_squares[lane] = box_square(
                        tables,
                        future,
                        future_squares,
                        filled,
                        five_scored,
                        uppers[lane],
                        rolls[0],
                        box,
                    )
            for roll in rolls:
                at = N_PARTIAL_KEEPS + roll
                for lane in range(LANES):
                    if squares is not None and values[lane] > block[at, lane]:
                        squares[at, lane] = value_squares[lane]
                    block[at, lane] = max(block[at, lane], values[lane])
    for lane in range(LANES):
        place_five_alike(
            tables,
            future,
            future_squares,
            filled,
            five_scored,
            uppers[lane],
            block,
            squares,
            lane,
        )
