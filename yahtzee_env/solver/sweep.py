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

from yahtzee_env.compiled import compile_ruleset
from yahtzee_env.dice import N_KEEPS
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import REROLLS, legal_boxes, placed
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.lanes import LANES
from yahtzee_env.solver.turn import (
    FIVE_ALIKE_ROLLS,
    PLAIN_ROLL,
    Outcomes,
    certainty_equivalent,
    choose,
    expect,
    first_roll,
    place_in_block,
    to_utility,
)

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
    rules = compiled[0]
    for filled in range(rules.all_boxes):
        for five_scored in range(reached.shape[1]):
            if not reached[filled, five_scored].any():
                continue
            legal = legal_boxes(rules, filled, five_scored, PLAIN_ROLL)
            for box in range(rules.n_boxes):
                if legal >> box & 1:
                    if outcomes.zero[box] >= 0:
                        _reach(rules, reached, filled, five_scored, outcomes.zero[box], box)
                    for group in range(outcomes.start[box], outcomes.start[box + 1]):
                        roll = outcomes.rolls[outcomes.first[group]]
                        _reach(rules, reached, filled, five_scored, roll, box)
            for roll in FIVE_ALIKE_ROLLS:
                legal = legal_boxes(rules, filled, five_scored, roll)
                for box in range(rules.n_boxes):
                    if legal >> box & 1:
                        _reach(rules, reached, filled, five_scored, roll, box)


@kernel
def _reach(rules, reached, filled, five_scored, roll, box):
    last = reached.shape[2] - 1
    _, _, more, five_after = placed(rules, filled, five_scored, 0, roll, box)
    before = reached[filled, five_scored]
    after = reached[filled | 1 << box, five_after]
    for upper in range(last + 1):
        if before[upper]:
            after[min(upper + more, last)] = True


def sweep(
    ruleset: Ruleset,
    reached: NDArray[np.bool_],
    threads: int | None = None,
    aversion: float = 0.0,
) -> NDArray[np.float64]:
    """The points still to come under optimal play from the start of a turn, for every card.

    Args:
        ruleset: the rules.
        reached: the cards that can occur, from `reachable_cards`.
        threads: how many threads work; all cores by default. The values do not depend on it.
        aversion: other than 0, play is optimal for the exponential utility with this risk aversion,
            and the values are certainty equivalents.

    Returns:
        A float64 array of `card_shape`; NaN for cards that cannot occur.
    """
    values = np.where(reached, 0.0, np.nan)
    compiled, outcomes = compile_ruleset(ruleset), Outcomes.of(ruleset)
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        for layer in layers(len(ruleset.boxes)):
            chunks = np.array_split(layer, -(-len(layer) // CARDS_A_CHUNK))
            work = map(repeat, (compiled, outcomes, reached, aversion, values))
            list(pool.map(_solve_cards, chunks, *work))
    return values


def layers(n_boxes: int) -> list[NDArray[np.int64]]:
    """The sets of filled boxes but the full one, those with the most boxes first.

    The cards of a layer depend on those of the layer before it only.
    """
    filled = np.arange((1 << n_boxes) - 1)
    n_filled = np.array([boxes.bit_count() for boxes in filled.tolist()])
    return [filled[n_filled == n] for n in range(n_boxes - 1, -1, -1)]


@kernel
def _solve_cards(cards, compiled, outcomes, reached, aversion, values):
    rules = compiled[0]
    block = np.empty((N_KEEPS, LANES))
    uppers = np.empty(LANES, np.int64)
    means = np.empty((1, LANES))
    for filled in cards:
        for five_scored in range(values.shape[1]):
            totals = np.flatnonzero(reached[filled, five_scored])
            for first in range(0, len(totals), LANES):
                n = min(LANES, len(totals) - first)
                for lane in range(LANES):
                    uppers[lane] = totals[first + min(lane, n - 1)]
                place_in_block(rules, outcomes, values, filled, five_scored, uppers, block)
                if aversion != 0.0:
                    to_utility(block, aversion)
                for _ in range(REROLLS):
                    expect(block)
                    choose(block)
                first_roll(block, means)
                for lane in range(n):
                    value = means[0, lane]
                    if aversion != 0.0:
                        value = certainty_equivalent(value, aversion)
                    values[filled, five_scored, uppers[lane]] = value
