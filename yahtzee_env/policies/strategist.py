"""A strong heuristic: the value of an open box is that of the best of a few tries at it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import FIVE_ALIKE
from yahtzee_env.policies.card_value import CardValuePolicy
from yahtzee_env.policies.odds import best_of, turn_points
from yahtzee_env.rules import Box, Ruleset
from yahtzee_env.solver.sweep import card_shape

UPPER_TRIES = 0.15
"""Further tries at an upper box that each turn beyond the first counts for."""

LOWER_TRIES = 0.2
"""The same for a lower box."""

FIVE_ALIKE_TRIES = 0.5
"""The same for a box in which only five of a kind scores: collecting any face is a try at it."""


class StrategistPolicy(CardValuePolicy):
    """Plays the current turn exactly, and values the card that it leaves by three rules.

    - The value of the last open box is that of a turn played for it alone. With more turns left, a
      box can wait for a good one: its value is the best of ``1 + rate * (turns - 1)`` such turns.
    - The upper total is the sum of the upper boxes, each the best of its tries. The value of a
      bonus step is its points times the chance that the upper total reaches it.
    - Five of a kind comes as often as tries at it succeed, and each after the first earns the extra
      bonus.

    It uses no optimal values. Only the three rates are set by hand: round numbers, chosen by the
    points lost against perfect play in a few thousand games, mainly of the official rules. Its
    exact `policy_value` is 253.35 of 254.59 under the official rules, and at least 99 % of the
    optimum under each of the others.
    """

    name = "strategist"

    def card_values(self, ruleset: Ruleset) -> NDArray[np.float64]:
        """The value of the open boxes, of the remaining bonus steps, and of extra bonuses."""
        is_open = _open_boxes(ruleset)
        turns = _turns(ruleset, is_open)
        worth = np.zeros(card_shape(ruleset))
        worth += _box_worth(ruleset, is_open, turns)[:, None, None]
        worth += _step_worth(ruleset, is_open, turns)[:, None, :]
        if ruleset.extra_bonus:
            worth += _extra_worth(ruleset, is_open, turns)[:, :, None]
        return worth


def _open_boxes(ruleset: Ruleset) -> NDArray[np.int64]:
    """(cards, boxes): 1 for each open box, by the set of filled boxes."""
    n_boxes = len(ruleset.boxes)
    filled = np.arange(1 << n_boxes)[:, None]
    is_open: NDArray[np.int64] = np.bitwise_and(~filled >> np.arange(n_boxes), 1)
    return is_open


def _turns(ruleset: Ruleset, is_open: NDArray[np.int64]) -> NDArray[np.int64]:
    """(cards, boxes): the turns left that could fill each box if it were open; at least 1."""
    groups = np.zeros(len(ruleset.boxes), np.int64)
    if ruleset.fill_order == "upper_first":
        groups[:] = [box.face is None for box in ruleset.boxes]
    same_group = (groups[:, None] == groups).astype(np.int64)
    turns: NDArray[np.int64] = np.maximum(is_open @ same_group, 1)
    return turns


def _rate(box: Box) -> float:
    """The further tries at a box that each turn beyond the first counts for."""
    if all(FIVE_ALIKE[np.flatnonzero(box.scores)]):
        return FIVE_ALIKE_TRIES
    return UPPER_TRIES if box.face else LOWER_TRIES


def _tries(rate: float, turns: NDArray[np.int64]) -> NDArray[np.float64]:
    """The number of tries that some turns, at least 1, count for."""
    return 1.0 + rate * (turns.astype(np.float64) - 1.0)


def _by_turns(ruleset: Ruleset, box: Box) -> list[NDArray[np.float64]]:
    """For 0 (taken as 1), 1, 2, ... turns, the chances of 0, 1, 2, ... points in a box."""
    chances = turn_points(box.scores)
    turns = np.arange(len(ruleset.boxes) + 1).clip(min=1)
    return [best_of(chances, tries) for tries in _tries(_rate(box), turns).tolist()]


def _box_worth(
    ruleset: Ruleset, is_open: NDArray[np.int64], turns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(cards,): the points to come in the open boxes."""
    worth = np.zeros(len(is_open))
    for k, box in enumerate(ruleset.boxes):
        means = np.array([chances @ np.arange(len(chances)) for chances in _by_turns(ruleset, box)])
        worth += is_open[:, k] * means[turns[:, k]]
    return worth


def _step_worth(
    ruleset: Ruleset, is_open: NDArray[np.int64], turns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(cards, upper totals): the upper bonus to come."""
    if not ruleset.bonus_steps:
        return np.zeros((len(is_open), 1))
    upper = [k for k, box in enumerate(ruleset.boxes) if box.face]
    points = [_by_turns(ruleset, ruleset.boxes[k]) for k in upper]
    # For each number of turns and each set of open upper boxes, the last box at the highest bit.
    worth = np.zeros((len(ruleset.boxes) + 1, 1 << len(upper), ruleset.last_step + 1))
    for n_turns in range(len(worth)):
        sums = [np.ones(1)]
        for of_box in points:
            sums += [np.convolve(chances, of_box[n_turns]) for chances in sums]
        worth[n_turns] = [_bonus_to_come(ruleset, chances) for chances in sums]
    which: NDArray[np.int64] = is_open[:, upper] @ (1 << np.arange(len(upper)))
    return worth[turns[:, upper[0]], which]


def _bonus_to_come(ruleset: Ruleset, chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """(upper totals,): the mean bonus when 0, 1, 2, ... more upper points have these chances."""
    last = ruleset.last_step
    at_least = np.zeros(last + 1)
    reached = np.cumsum(chances[::-1])[::-1].clip(max=1.0)[: last + 1]
    at_least[: len(reached)] = reached
    bonus = np.zeros(last + 1)
    for at, pays in ruleset.bonus_steps:
        bonus[:at] += pays * at_least[at:0:-1]
    return bonus


def _extra_worth(
    ruleset: Ruleset, is_open: NDArray[np.int64], turns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(cards, 2): the extra bonuses to come, without and with points in the five-alike box."""
    box = ruleset.box_index(ruleset.five_alike_box or "")
    chance = 1.0 - float(turn_points((FIVE_ALIKE > 0).tolist())[0])
    tries = _tries(FIVE_ALIKE_TRIES, turns[:, box])
    after_first = is_open[:, box] * (chance * tries - (1.0 - (1.0 - chance) ** tries))
    left = is_open.sum(axis=1)
    all_of_them = chance * np.where(left > 0, _tries(FIVE_ALIKE_TRIES, left), 0.0)
    return ruleset.extra_bonus * np.stack([after_first, all_of_them], axis=1)
