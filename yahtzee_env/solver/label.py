"""The exact value of every action in any position, from the values of the cards."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import HOLD_LEGAL, KEEP_INDEX, N_HOLDS, N_KEEPS
from yahtzee_env.game import Positions
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import is_over, legal_boxes
from yahtzee_env.solver.lanes import LANES
from yahtzee_env.solver.turn import (
    Outcomes,
    box_value,
    certainty_equivalent,
    choose,
    expect,
    place_in_lane,
    to_utility,
)

GAMES_A_THREAD = 16_384
"""Fewer games are not worth another thread."""


def action_values(
    positions: Positions,
    outcomes: Outcomes,
    values: NDArray[np.float64],
    aversion: float = 0.0,
) -> NDArray[np.float64]:
    """(n, actions) float64: the points to come after each action; NaN where it is illegal.

    With a risk aversion other than 0 these are certainty equivalents (see `exponential`), as the
    values must be.
    """
    labels = np.full((len(positions), positions.n_actions), np.nan)
    _share_out(positions, outcomes, values, aversion, labels, None)
    if aversion != 0.0:
        labels[:, :N_HOLDS] = certainty_equivalent(labels[:, :N_HOLDS], aversion)
    return labels


def best_actions(
    positions: Positions, outcomes: Outcomes, values: NDArray[np.float64]
) -> NDArray[np.int64]:
    """(n,) int64: the action of the highest value, the first of equal ones; 0 for games over."""
    best = np.zeros(len(positions), np.int64)
    _share_out(positions, outcomes, values, 0.0, None, best)
    return best


def _share_out(
    positions: Positions,
    outcomes: Outcomes,
    values: NDArray[np.float64],
    aversion: float,
    labels: NDArray[np.float64] | None,
    best: NDArray[np.int64] | None,
) -> None:
    """Label the games in several threads where there are many."""
    records = positions.records
    # Games of one card, and games with equally many rolls left, meet in this order.
    order = np.lexsort((records["upper"], records["filled"], records["rolls_left"]))
    shares = max(1, min(os.cpu_count() or 1, len(order) // GAMES_A_THREAD))

    def label(part: NDArray[np.int64]) -> None:
        _label(positions.compiled, outcomes, values, aversion, records, part, labels, best)

    if shares == 1:
        label(order)
        return
    with ThreadPoolExecutor(shares) as pool:
        list(pool.map(label, np.array_split(order, shares)))


@kernel
def _label(compiled, outcomes, values, aversion, games, order, labels, best):
    """Write the labels of all actions, or the best action, whichever array is not None."""
    rules = compiled[0]
    block = np.empty((N_KEEPS, LANES))
    ends = np.empty(LANES + 1, np.int64)
    ends[0] = 0
    while ends[0] < len(order):
        n_lanes = _place_next_cards(rules, outcomes, values, games, order, block, ends)
        if aversion != 0.0:
            to_utility(block, aversion)
        for rolls_left in range(games[order[ends[n_lanes] - 1]].rolls_left + 1):
            if rolls_left > 0:
                expect(block)
            for lane in range(n_lanes):
                for index in order[ends[lane] : ends[lane + 1]]:
                    game = games[index]
                    if game.rolls_left == rolls_left and not is_over(rules, game):
                        if labels is not None:
                            _label_boxes(rules, values, game, labels[index, N_HOLDS:])
                            if rolls_left > 0:
                                _label_holds(game, block, lane, labels[index])
                        if best is not None:
                            best[index] = _best_action(rules, values, game, block, lane)
            if rolls_left > 0:
                choose(block)
        ends[0] = ends[n_lanes]


@kernel
def _place_next_cards(rules, outcomes, values, games, order, block, ends):
    """Fill the lanes with the next cards; lane i is for the games ends[i] to ends[i + 1]."""
    lane, end = 0, ends[0]
    while lane < LANES and end < len(order):
        game = games[order[end]]
        if game.rolls_left > 0:
            upper = min(game.upper, values.shape[2] - 1)
            card = (game.filled, game.five_scored, upper)
            place_in_lane(rules, outcomes, values, *card, block, lane, None)
        while end < len(order) and _share_lane(games[order[end]], game):
            end += 1
        lane += 1
        ends[lane] = end
    return lane


@kernel
def _share_lane(a, b):
    same_card = a.filled == b.filled and a.upper == b.upper and a.five_scored == b.five_scored
    return same_card and a.rolls_left == b.rolls_left


@kernel
def _label_boxes(rules, values, game, row):
    card = (game.filled, game.five_scored, game.upper)
    legal = legal_boxes(rules, game.filled, game.five_scored, game.roll)
    for box in range(rules.n_boxes):
        if legal >> box & 1:
            row[box] = box_value(rules, values, *card, game.roll, box)


@kernel
def _label_holds(game, block, lane, row):
    for hold in range(N_HOLDS):
        if HOLD_LEGAL[game.roll, hold]:
            row[hold] = block[KEEP_INDEX[game.roll, hold], lane]


@kernel
def _best_action(rules, values, game, block, lane):
    best, most = 0, -np.inf
    if game.rolls_left > 0:
        for hold in range(N_HOLDS):
            value = block[KEEP_INDEX[game.roll, hold], lane]
            if HOLD_LEGAL[game.roll, hold] and value > most:
                best, most = hold, value
    card = (game.filled, game.five_scored, game.upper)
    legal = legal_boxes(rules, game.filled, game.five_scored, game.roll)
    for box in range(rules.n_boxes):
        if legal >> box & 1:
            value = box_value(rules, values, *card, game.roll, box)
            if value > most:
                best, most = N_HOLDS + box, value
    return best
