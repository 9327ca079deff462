"""Tables with a row for each kind of card: cards with the same future share one.

The upper total of a card matters only for the bonuses that can still be reached. With just the
sixes open, for instance, the totals 46 to 51 all need two more sixes for a bonus at 63. A table of
long rows, such as one of distributions, is a third to a half smaller without the repetitions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.sweep import reachable_cards


class Rows(NamedTuple):
    """Which row of its layer belongs to each card; layer n has the cards with n filled boxes.

    Attributes:
        of_card: int32 of `sweep.card_shape`: the row of each card, -1 where it cannot occur.
        layers: for each number of filled boxes, (rows, 3) int64: the card of each row (filled
            boxes, five-alike box holds points, upper total), the lowest total standing for all.
    """

    of_card: NDArray[np.int32]
    layers: tuple[NDArray[np.int64], ...]


@lru_cache(maxsize=8)
def card_rows(ruleset: Ruleset) -> Rows:
    """The rows of a rule set."""
    reached = reachable_cards(ruleset)
    cards = np.argwhere(reached)
    lowest = lowest_equal_totals(ruleset)[cards[:, 0], cards[:, 2]]
    kinds = np.ravel_multi_index((*cards[:, :2].T, lowest), reached.shape)
    _, first, kind = np.unique(kinds, return_index=True, return_inverse=True)
    standing = cards[first]
    n_filled = np.bitwise_count(standing[:, 0])
    layers = tuple(standing[n_filled == n] for n in range(len(ruleset.boxes) + 1))
    row = np.empty(len(standing), np.int32)
    for n, layer in enumerate(layers):
        row[n_filled == n] = np.arange(len(layer))
    of_card = np.full(reached.shape, -1, np.int32)
    of_card[reached] = row[kind]
    return Rows(of_card, layers)


def lowest_equal_totals(ruleset: Ruleset) -> NDArray[np.int64]:
    """(sets of filled boxes, upper totals) int64: the lowest total with the same bonuses ahead.

    Two totals are equal where every sum of points that the open upper boxes can still pay brings
    the same bonus.
    """
    last = ruleset.last_step
    paid = np.zeros(last + 1, np.int64)
    for at, pays in ruleset.bonus_steps:
        paid[at:] += pays
    upper_boxes = [k for k, box in enumerate(ruleset.boxes) if box.face is not None]
    filled = np.arange(1 << len(ruleset.boxes))[:, None]
    still_open: NDArray[np.int64] = (~filled >> np.array(upper_boxes, np.int64)) & 1
    which = still_open @ (1 << np.arange(len(upper_boxes)))
    totals = np.arange(last + 1)
    lowest = np.empty((1 << len(upper_boxes), last + 1), np.int64)
    sums = [np.zeros(1, np.int64)]
    for k in upper_boxes:
        box = ruleset.boxes[k]
        points = np.unique([*box.scores, box.joker_score or 0])
        sums += [np.unique(np.add.outer(one, points).clip(max=last)) for one in sums]
    for boxes, more in enumerate(sums):
        bonuses = paid[np.add.outer(totals, more).clip(max=last)] - paid[:, None]
        _, first, kind = np.unique(bonuses, axis=0, return_index=True, return_inverse=True)
        lowest[boxes] = first[kind.reshape(-1)]
    return lowest[which]
