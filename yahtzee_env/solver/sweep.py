"""Backward induction over all cards that can occur at the start of a turn.

A card is (filled boxes, whether the five-alike box holds points, upper total); upper totals above
the last bonus step count as that step, and the second is kept only where it matters.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import N_KEEPS, N_PARTIAL_KEEPS, N_ROLLS, ROLL_PROBABILITIES
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import legal_boxes, placed
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.turn import (
    FIVE_ALIKE_ROLLS,
    LANES,
    PLAIN_ROLL,
    Outcomes,
    choose,
    expect,
    place_in_block,
)
from yahtzee_env.tables import compile_ruleset

CARDS_A_CHUNK = 64


def card_shape(ruleset: Ruleset) -> tuple[int, int, int]:
    """The shape of arrays over cards: filled boxes, five-alike box holds points, upper total."""
    return 1 << len(ruleset.boxes), 1 + ruleset.tracks_five_alike, ruleset.last_step + 1


def reachable_cards(ruleset: Ruleset) -> NDArray[np.bool_]:
    """Which cards can occur at the start of a turn or the end, an array of `card_shape`."""
    reached = np.zeros(card_shape(ruleset), bool)
    reached[0, 0, 0] = True
    _spread(compile_ruleset(ruleset), Outcomes.of(ruleset), reached)
    return reached


@kernel
def _spread(compiled, outcomes, reached):
    tables = compiled[0]
    for filled in range(tables.all_boxes):
        for five_scored in range(reached.shape[1]):
            if not reached[filled, five_scored].any():
                continue
            legal = legal_boxes(tables, filled, five_scored, PLAIN_ROLL)
            for box in range(tables.n_boxes):
                if legal >> box & 1:
                    for group in range(outcomes.start[box], outcomes.start[box + 1]):
                        roll = outcomes.rolls[outcomes.first[group]]
                        _reach(tables, reached, filled, five_scored, roll, box)
            for roll in FIVE_ALIKE_ROLLS:
                legal = legal_boxes(tables, filled, five_scored, roll)
                for box in range(tables.n_boxes):
                    if legal >> box & 1:
                        _reach(tables, reached, filled, five_scored, roll, box)


@kernel
def _reach(tables, reached, filled, five_scored, roll, box):
    last = reached.shape[2] - 1
    _, _, more, five_after = placed(tables, filled, five_scored, 0, roll, box)
    before = reached[filled, five_scored]
    after = reached[filled | 1 << box, five_after]
    for upper in range(last + 1):
        if before[upper]:
            after[min(upper + more, last)] = True


def sweep(
    ruleset: Ruleset, with_squares: bool = False, threads: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """The optimal value of every card, and the expected square of the optimal player's score.

    Args:
        ruleset: the rules.
        with_squares: whether the squares are wanted; the second result is None otherwise.
        threads: how many threads work; all cores by default. The values do not depend on it.

    Returns:
        float64 arrays of `card_shape`: points still to come, and their squares. NaN for cards
        that cannot occur.
    """
    reached = reachable_cards(ruleset)
    values = np.where(reached, 0.0, np.nan)
    squares = values.copy() if with_squares else None
    compiled, outcomes = compile_ruleset(ruleset), Outcomes.of(ruleset)
    cards = np.arange(len(values) - 1)
    n_filled = np.array([card.bit_count() for card in cards.tolist()])
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        # Each layer, cards with equally many boxes filled, depends on the next one only.
        for layer in range(len(ruleset.boxes) - 1, -1, -1):
            members = cards[n_filled == layer]
            chunks = [
                members[i : i + CARDS_A_CHUNK] for i in range(0, len(members), CARDS_A_CHUNK)
            ]
            work = map(repeat, (compiled, outcomes, reached, values, squares))
            list(pool.map(_solve_cards, chunks, *work))
    return values, squares


@kernel
def _solve_cards(cards, compiled, outcomes, reached, values, squares):
    tables = compiled[0]
    block = np.empty((N_KEEPS, LANES))
    block_squares = None if squares is None else np.empty((N_KEEPS, LANES))
    uppers = np.empty(LANES, np.int64)
    for filled in cards:
        for five_scored in range(values.shape[1]):
            totals = np.flatnonzero(reached[filled, five_scored])
            for first in range(0, len(totals), LANES):
                n = min(LANES, len(totals) - first)
                for lane in range(LANES):
                    uppers[lane] = totals[first + min(lane, n - 1)]
                place_in_block(
                    tables,
                    outcomes,
                    values,
                    squares,
                    filled,
                    five_scored,
                    uppers,
                    block,
                    block_squares,
                )
                for _ in range(2):
                    expect(block)
                    if block_squares is not None:
                        expect(block_squares)
                    choose(block, block_squares)
                for lane in range(n):
                    values[filled, five_scored, uppers[lane]] = _first_roll(block, lane)
                    if block_squares is not None and squares is not None:
                        squares[filled, five_scored, uppers[lane]] = _first_roll(
                            block_squares, lane
                        )


@kernel
def _first_roll(block, lane):
    total = 0.0
    for roll in range(N_ROLLS):
        total += ROLL_PROBABILITIES[roll] * block[N_PARTIAL_KEEPS + roll, lane]
    return total
