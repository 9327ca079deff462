"""Backward induction where a value depends on the points so far: one vector of levels a card.

A level is the number of points that are still missing, or that could still count. Gaining points
lowers it, and below 0 it stays at 0; when the card is full, the objective says what each level is
worth. A card's values at all levels are worked out side by side, as those of all upper totals are
in `sweep`: filling a box reads the vector of the next card, shifted by the points gained.

Values are float32. A turn rounds them some ten times, half of it upwards, so that a value at the
start is right to about 1e-6 of its size.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.compiled import compile_ruleset
from yahtzee_env.dice import (
    FIVE_ALIKE,
    HOLD_LEGAL,
    KEEP_INDEX,
    N_HOLDS,
    N_KEEPS,
    N_PARTIAL_KEEPS,
    N_ROLLS,
    ONE_DIE_MORE,
)
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import REROLLS, legal_boxes, placed
from yahtzee_env.rules import MAX_BOXES, Ruleset
from yahtzee_env.solver.lanes import LANES32, add, larger, load, load_at, scale, store
from yahtzee_env.solver.rows import card_rows
from yahtzee_env.solver.turn import FIVE_ALIKE_ROLLS, PLAIN_ROLL, Outcomes, choose

CARDS_A_CHUNK = 64
_PLAIN_ROWS = (N_PARTIAL_KEEPS + np.flatnonzero(FIVE_ALIKE == 0)).astype(np.uint64)
_MORE = ONE_DIE_MORE.astype(np.uint64)
_NEARER = float(np.float32(1 / 6))
_OTHER = float(np.nextafter(np.float32(1 / 6), np.float32(0)))


class LevelLayer(NamedTuple):
    """Values at all levels of the cards with equally many filled boxes, one row a kind of card.

    Attributes:
        first: (rows,) int32: the level that the first value of a row is for.
        begin: (rows + 1,) int64: where each row begins in `values`.
        values: float32, row after row.
        slope: how the values change from level to level above the last one of a row.
    """

    first: NDArray[np.int32]
    begin: NDArray[np.int64]
    values: NDArray[np.float32]
    slope: float


class Span(NamedTuple):
    """The levels that a table holds for each row of a layer: from `first`, `width` of them."""

    first: NDArray[np.int32]
    width: NDArray[np.int64]


def solve_levels(
    ruleset: Ruleset,
    final: NDArray[np.float64],
    slope: float,
    spans: Sequence[Span],
    monotone: bool = True,
    progress: Callable[[float], None] | None = None,
) -> list[LevelLayer]:
    """The best expected worth of the final level, from the start of a turn, for every card.

    Args:
        ruleset: the rules.
        final: (levels,) float64: what each level is worth when the card is full.
        slope: how a value changes from level to level above the highest of a card's span.
        spans: the levels to be computed, by number of filled boxes.
        monotone: whether no level is worth more than the one below it.
        progress: called now and then with the share of the work done, 0 to 1.

    Returns:
        One layer for each number of filled boxes.
    """
    rows = card_rows(ruleset)
    fixed = compile_ruleset(ruleset), Outcomes.of(ruleset, monotone), rows.of_card
    layers = [_full_cards(final, slope, spans[-1])]
    todo, done = sum(int(span.width.sum()) for span in spans[:-1]), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for cards, span in zip(rows.layers[-2::-1], spans[-2::-1], strict=True):
            begin = np.concatenate([[0], np.cumsum(span.width)])
            layer = LevelLayer(span.first, begin, np.empty(begin[-1], np.float32), slope)
            chunks = np.array_split(np.arange(len(cards)), -(-len(cards) // CARDS_A_CHUNK))
            work = map(repeat, (cards, *fixed, layers[-1], layer))
            for chunk, _ in zip(chunks, pool.map(_solve_rows, chunks, *work), strict=True):
                done += int(span.width[chunk].sum())
                if progress:
                    progress(done / todo)
            layers.append(layer)
    return layers[::-1]


def _full_cards(final: NDArray[np.float64], slope: float, span: Span) -> LevelLayer:
    begin = np.concatenate([[0], np.cumsum(span.width)])
    values = [final[first : first + width] for first, width in zip(*span, strict=True)]
    return LevelLayer(span.first, begin, np.concatenate(values).astype(np.float32), slope)


@kernel
def _solve_rows(rows, cards, compiled, outcomes, row_of_card, after, layer):
    block = np.empty((N_KEEPS, LANES32), np.float32)
    plan = new_plan()
    for row in rows:
        card = (cards[row, 0], cards[row, 1], cards[row, 2])
        plan_card(compiled[0], outcomes, row_of_card, after, card, plan)
        begin, width = layer.begin[row], layer.begin[row + 1] - layer.begin[row]
        for i in range(0, width, LANES32):
            place_levels(plan, after, layer.first[row] + i, block)
            for _ in range(REROLLS):
                expect_levels(block)
                choose(block)
            # The first roll is what keeping no die can become.
            expect_levels(block)
            for lane in range(min(LANES32, width - i)):
                layer.values[begin + i + lane] = block[0, lane]


class Plan(NamedTuple):
    """How the values of filled boxes get to the rolls of one card, whatever the level.

    Attributes:
        sizes: (3,) int64: how many sources, limits and pairs the card has.
        source: (3, sources) int64: where the row of the next card begins, the level there at level
            0 less the first one of that row, and the width of the row. Source 0 is not used.
        limits: the sources that are a lower limit for all rolls but those of five alike.
        pairs: (2, pairs) uint64: the row of a roll in a block, and a source for it.
        table: (sources, `LANES32`) float32: the values of the sources at some levels.
    """

    sizes: NDArray[np.int64]
    source: NDArray[np.int64]
    limits: NDArray[np.uint64]
    pairs: NDArray[np.uint64]
    table: NDArray[np.float32]


@kernel
def new_plan():
    """A plan with room for any card."""
    n_sources = 1 + MAX_BOXES * (N_ROLLS + 1)
    return Plan(
        np.zeros(3, np.int64),
        np.empty((3, n_sources), np.int64),
        np.empty(MAX_BOXES, np.uint64),
        np.empty((2, n_sources), np.uint64),
        np.empty((n_sources, LANES32), np.float32),
    )


@kernel
def plan_card(rules, outcomes, row_of_card, after, card, plan):
    """Write the plan of a card."""
    plan.sizes[:] = 1, 0, 0
    legal = legal_boxes(rules, card[0], card[1], PLAIN_ROLL)
    for box in range(rules.n_boxes):
        if legal >> box & 1:
            if outcomes.zero[box] >= 0:
                plan.limits[plan.sizes[1]] = plan.sizes[0]
                plan.sizes[1] += 1
                _add_source(rules, row_of_card, after, card, outcomes.zero[box], box, plan)
            for group in range(outcomes.start[box], outcomes.start[box + 1]):
                rolls = outcomes.rolls[outcomes.first[group] : outcomes.first[group + 1]]
                for roll in rolls:
                    _add_pair(roll, plan)
                _add_source(rules, row_of_card, after, card, rolls[0], box, plan)
    for roll in FIVE_ALIKE_ROLLS:
        legal = legal_boxes(rules, card[0], card[1], roll)
        for box in range(rules.n_boxes):
            if legal >> box & 1:
                _add_pair(roll, plan)
                _add_source(rules, row_of_card, after, card, roll, box, plan)


@kernel
def _add_pair(roll, plan):
    plan.pairs[0, plan.sizes[2]] = N_PARTIAL_KEEPS + roll
    plan.pairs[1, plan.sizes[2]] = plan.sizes[0]
    plan.sizes[2] += 1


@kernel
def _add_source(rules, row_of_card, after, card, roll, box, plan):
    filled, five_scored, upper = card
    _, gained, upper, five_scored = placed(rules, filled, five_scored, upper, roll, box)
    row = row_of_card[filled | 1 << box, five_scored, min(upper, row_of_card.shape[2] - 1)]
    source = plan.sizes[0]
    plan.source[0, source] = after.begin[row]
    plan.source[1, source] = -gained - after.first[row]
    plan.source[2, source] = after.begin[row + 1] - after.begin[row]
    plan.sizes[0] += 1


@kernel
def expect_levels(block):
    """`turn.expect` for float32.

    One sixth lies between two float32 numbers, at a third of their distance. Four faces are given
    the nearer number and two the other one, so that errors do not add up from die to die.
    """
    for keep in range(N_PARTIAL_KEEPS - 1, -1, -1):
        a, b, c, d, e, f = _MORE[keep]
        outer = add(add(load(block, a), load(block, b)), add(load(block, e), load(block, f)))
        inner = add(load(block, c), load(block, d))
        store(block, keep, add(scale(outer, _NEARER), scale(inner, _OTHER)))


@kernel
def place_levels(plan, after, level, block):
    """Set the values of the 252 rolls, no reroll left, at the levels from `level` on."""
    n_sources, n_limits, n_pairs = plan.sizes
    for source in range(1, n_sources):
        begin, start = plan.source[0, source], plan.source[1, source] + level
        if start >= 0 and start + LANES32 <= plan.source[2, source]:
            store(plan.table, np.uint64(source), load_at(after.values, begin + start))
        else:
            for lane in range(LANES32):
                plan.table[source, lane] = _source_value(plan, after, source, level + lane)
    plan.table[0] = -np.inf
    for roll in FIVE_ALIKE_ROLLS:
        store(block, np.uint64(N_PARTIAL_KEEPS + roll), load(plan.table, 0))
    for i in range(n_limits):
        store(plan.table, 0, larger(load(plan.table, 0), load(plan.table, plan.limits[i])))
    for i in range(len(_PLAIN_ROWS)):
        store(block, _PLAIN_ROWS[i], load(plan.table, 0))
    for i in range(n_pairs):
        at, source = plan.pairs[0, i], plan.pairs[1, i]
        store(block, at, larger(load(block, at), load(plan.table, source)))


@kernel
def label_levels(compiled, outcomes, row_of_card, after, games, which, levels, labels):
    """Write the values of the legal actions of some games, all with equally many filled boxes.

    `levels` holds the level of each game, `after` the values of the cards with one more box filled.
    """
    rules = compiled[0]
    block = np.empty((N_KEEPS, LANES32), np.float32)
    plan = new_plan()
    for index in which:
        game, level = games[index], levels[index]
        card = (game.filled, game.five_scored, min(game.upper, row_of_card.shape[2] - 1))
        legal = legal_boxes(rules, card[0], card[1], game.roll)
        for box in range(rules.n_boxes):
            if legal >> box & 1:
                plan.sizes[0] = 0
                _add_source(rules, row_of_card, after, card, game.roll, box, plan)
                labels[index, N_HOLDS + box] = _source_value(plan, after, 0, level)
        if game.rolls_left == 0:
            continue
        plan_card(rules, outcomes, row_of_card, after, card, plan)
        place_levels(plan, after, level, block)
        expect_levels(block)
        for _ in range(game.rolls_left - 1):
            choose(block)
            expect_levels(block)
        for hold in range(N_HOLDS):
            if HOLD_LEGAL[game.roll, hold]:
                labels[index, hold] = block[KEEP_INDEX[game.roll, hold], 0]


@kernel
def _source_value(plan, after, source, level):
    """The value of a source at one level: that of level 0 below it, sloped above the last one."""
    at = max(plan.source[1, source] + level, 0)
    beyond = max(at + 1 - plan.source[2, source], 0)
    return after.values[plan.source[0, source] + at - beyond] + np.float32(after.slope * beyond)
