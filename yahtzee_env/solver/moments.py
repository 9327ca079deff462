"""The spread of the optimal player's score."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.compiled import compile_ruleset
from yahtzee_env.dice import (
    N_KEEPS,
    N_PARTIAL_KEEPS,
    N_ROLLS,
    ONE_DIE_MORE,
    ROLL_PROBABILITIES,
)
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import REROLLS, placed
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.sweep import CARDS_A_CHUNK, layers
from yahtzee_env.solver.turn import PAIRS, Outcomes, place_in_lane


def score_variance(ruleset: Ruleset, values: NDArray[np.float64]) -> float:
    """The variance of the score under optimal play, exactly, from the values of all cards.

    Carries the expected square of the points to come back through the decisions of the optimal
    player. Where two actions are equally good one of them counts.
    """
    squares = np.zeros_like(values)
    work = (compile_ruleset(ruleset), Outcomes.of(ruleset), values, squares)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for layer in layers(len(ruleset.boxes)):
            chunks = np.array_split(layer, -(-len(layer) // CARDS_A_CHUNK))
            list(pool.map(_square_cards, chunks, *map(repeat, work)))
    return float(squares[0, 0, 0] - values[0, 0, 0] ** 2)


@kernel
def _square_cards(cards, compiled, outcomes, values, squares):
    rules = compiled[0]
    means, seconds = np.empty((N_KEEPS, 1)), np.empty(N_KEEPS)
    boxes = np.empty(N_ROLLS, np.int64)
    for filled in cards:
        for five_scored in range(values.shape[1]):
            for upper in range(values.shape[2]):
                if np.isnan(values[filled, five_scored, upper]):
                    continue
                card = (filled, five_scored, upper)
                place_in_lane(rules, outcomes, values, *card, means, 0, boxes)
                for roll in range(N_ROLLS):
                    seconds[N_PARTIAL_KEEPS + roll] = _square(
                        rules, values, squares, *card, roll, boxes[roll]
                    )
                for _ in range(REROLLS):
                    _expect(means, seconds)
                    _choose(means, seconds)
                squares[card] = (ROLL_PROBABILITIES * seconds[N_PARTIAL_KEEPS:]).sum()


@kernel
def _square(rules, values, squares, filled, five_scored, upper, roll, box):
    _, gained, upper, five_scored = placed(rules, filled, five_scored, upper, roll, box)
    after = (filled | 1 << box, five_scored, min(upper, values.shape[2] - 1))
    return gained * (gained + 2.0 * values[after]) + squares[after]


@kernel
def _expect(means, seconds):
    for keep in range(N_PARTIAL_KEEPS - 1, -1, -1):
        mean, second = 0.0, 0.0
        for more in ONE_DIE_MORE[keep]:
            mean += means[more, 0]
            second += seconds[more]
        means[keep, 0] = mean / 6.0
        seconds[keep] = second / 6.0


@kernel
def _choose(means, seconds):
    for pair in range(len(PAIRS[0])):
        keep, fewer = PAIRS[0, pair], PAIRS[1, pair]
        if means[fewer, 0] > means[keep, 0]:
            means[keep, 0] = means[fewer, 0]
            seconds[keep] = seconds[fewer]
