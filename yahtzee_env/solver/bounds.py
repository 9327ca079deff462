"""The lowest and highest points that the rules allow, so far and to come."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.compiled import compile_ruleset
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import legal_boxes
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.endings import Endings, next_card
from yahtzee_env.solver.rows import card_rows
from yahtzee_env.solver.sweep import card_shape

_MOST = 2**30


def most_to_come(ruleset: Ruleset) -> list[NDArray[np.int64]]:
    """For the cards of each row, by number of filled boxes: the most points that can come."""
    rows, endings = card_rows(ruleset), Endings.of(ruleset)
    compiled = compile_ruleset(ruleset)
    most = [np.zeros(len(rows.layers[-1]), np.int64)]
    for cards in rows.layers[-2::-1]:
        most.append(_most_to_come(compiled, endings, cards, rows.of_card, most[-1]))
    return most[::-1]


def scores_so_far(ruleset: Ruleset) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The lowest and the highest score with which the cards of each row can occur."""
    rows = card_rows(ruleset)
    low, high = score_bounds(ruleset)
    found = []
    n_filled = np.bitwise_count(np.arange(len(low)))
    for n, cards in enumerate(rows.layers):
        here = rows.of_card[n_filled == n]
        reached = here >= 0
        lowest = np.full(len(cards), np.iinfo(np.int64).max)
        highest = np.zeros(len(cards), np.int64)
        np.minimum.at(lowest, here[reached], low[n_filled == n][reached])
        np.maximum.at(highest, here[reached], high[n_filled == n][reached])
        found.append((lowest, highest))
    return found


def score_bounds(ruleset: Ruleset) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The lowest and the highest score with which each card can occur.

    Returns:
        Two int32 arrays of `sweep.card_shape`; the highest is -1 for cards that cannot occur.
    """
    shape = card_shape(ruleset)
    low, high = np.full(shape, _MOST, np.int32), np.full(shape, -1, np.int32)
    low[0, 0, 0] = high[0, 0, 0] = 0
    _bound_scores(compile_ruleset(ruleset), Endings.of(ruleset), low, high)
    return low, high


@kernel
def _bound_scores(compiled, endings, low, high):
    rules = compiled[0]
    last = low.shape[2] - 1
    for filled in range(rules.all_boxes):
        for five_scored in range(low.shape[1]):
            for upper in range(last + 1):
                card = (filled, five_scored, upper)
                if high[card] < 0:
                    continue
                for ending in range(len(endings.box)):
                    legal = legal_boxes(rules, filled, five_scored, endings.roll[ending])
                    if legal >> endings.box[ending] & 1:
                        _, gained, after = next_card(rules, endings, ending, card, last)
                        low[after] = min(low[after], low[card] + gained)
                        high[after] = max(high[after], high[card] + gained)


@kernel
def _most_to_come(compiled, endings, cards, row_of_card, after):
    rules = compiled[0]
    most = np.zeros(len(cards), np.int64)
    for i in range(len(cards)):
        card = (cards[i, 0], cards[i, 1], cards[i, 2])
        for ending in range(len(endings.box)):
            legal = legal_boxes(rules, card[0], card[1], endings.roll[ending])
            if legal >> endings.box[ending] & 1:
                last = row_of_card.shape[2] - 1
                _, gained, next_one = next_card(rules, endings, ending, card, last)
                most[i] = max(most[i], gained + after[row_of_card[next_one]])
    return most
