"""A heuristic of simple rules, as a sensible person plays without computing expectations."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import (
    COUNTS,
    FIVE_ALIKE,
    HOLD_LEGAL,
    KEEP_INDEX,
    N_DICE,
    N_FACES,
    N_HOLDS,
    ROLL_PROBABILITIES,
    ROLLS,
)
from yahtzee_env.game import Positions
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import fillable_boxes
from yahtzee_env.policies.odds import THROW_CHANCES
from yahtzee_env.rules import Box, Ruleset

PAR_DICE = 3
"""Dice of its face that are a good result in an upper box."""

USUAL_DICE = 2
"""Dice of its face that are a usual result in an upper box."""

GOOD_HAND = 0.75
"""The quantile of the points above 0 of a lower box that counts as a good hand in it."""

WITHIN_REACH = 1 / 3
"""The least chance of one throw at which to try for a hand: two faces of one die."""

HIGH_FACE = 4
"""The lowest face worth keeping for a box that every roll fills."""

_TINY = 1e-9
"""Chances that differ by less count as equal."""


class RulesOfThumbPolicy:
    """Compares boxes with their usual points, and keeps dice by what one throw can make.

    It fills the box whose points are furthest above its usual points. The usual points of an upper
    box are two of its face. Three or more add their share of the upper bonus; fewer subtract the
    share of the missing ones. The usual points of a lower box are those of a good hand times its
    chance in three throws, taken as the cube root of the chance in one throw. So a poor roll goes
    where little is lost: to the ones, or as a zero to a box that is rarely made.

    While rerolls are left, it keeps dice by the first rule that applies:

    1. A made hand that a throw could break: it fills the box. The same with five of a kind that
       pays more than usual.
    2. Three or more of a face that an open box collects: these dice.
    3. A hand that one throw makes with a chance of at least one in three, such as an open straight
       with four dice or a full house with two pairs: the dice for the best such hand.
    4. The most frequent face that an open box collects; on equal counts that of an open upper box,
       then the higher face.
    5. The dice that most likely make a hand with one throw; if no hand is open, the high dice.
    """

    name = "rules-of-thumb"
    deterministic = True

    def act(self, positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: an action for each position."""
        actions = np.empty(len(positions), np.int64)
        thumb = _thumb(positions.ruleset)
        _choose(positions.compiled, thumb, positions.records, positions.payments(), actions)
        return actions


class _Thumb(NamedTuple):
    """What the heuristic precomputes for a rule set.

    Attributes:
        usual: (boxes,) float64, the usual points of a box.
        gain: (boxes,) float64, the points of a good hand above that; -inf for upper boxes, and
            for boxes in which every roll scores.
        share: (252, boxes) float64, the share of the upper bonus that a roll adds or subtracts.
        breaks: (252, boxes) bool, whether the box's hand is made and every throw could break it.
        reach: (252, boxes) float64, the best chance of the box's hand by one throw.
        reach_hold: (252, boxes) int64, the hold with that chance.
        alike_hold: (252, 6) int64, the hold that keeps all dice of a face.
        high_hold: (252,) int64, the hold that keeps the high dice.
        collectors: (6,) int64, the bit set of boxes that collect a face.
    """

    usual: NDArray[np.float64]
    gain: NDArray[np.float64]
    share: NDArray[np.float64]
    breaks: NDArray[np.bool_]
    reach: NDArray[np.float64]
    reach_hold: NDArray[np.int64]
    alike_hold: NDArray[np.int64]
    high_hold: NDArray[np.int64]
    collectors: NDArray[np.int64]


@lru_cache(maxsize=8)
def _thumb(ruleset: Ruleset) -> _Thumb:
    boxes = ruleset.boxes
    scores = np.array([box.scores for box in boxes])
    is_upper = np.array([box.face is not None for box in boxes])
    often = (scores > 0) @ ROLL_PROBABILITIES
    is_hand = ~is_upper & (often < 1 - _TINY)
    good = np.array([_good_points(box) for box in boxes])
    usual = np.where(is_upper, good * USUAL_DICE / PAR_DICE, good * np.cbrt(often))
    reach, reach_hold = _reach(scores)
    own = np.array([[box.face or 0] for box in boxes]) == np.arange(1, N_FACES + 1)
    pays_alike = scores[:, np.flatnonzero(FIVE_ALIKE)] > 0
    return _Thumb(
        usual=usual,
        gain=np.where(is_hand, good - usual, -np.inf),
        share=np.where(is_upper, _bonus_share(ruleset, scores.T, good), 0.0),
        breaks=(is_hand & (scores.T > 0) & (reach < 1 - _TINY)) | (FIVE_ALIKE > 0)[:, None],
        reach=reach,
        reach_hold=reach_hold,
        alike_hold=_holds_of(ROLLS[:, None, :] == np.arange(1, N_FACES + 1)[:, None]),
        high_hold=_holds_of(ROLLS >= HIGH_FACE),
        collectors=(1 << np.arange(len(boxes))) @ (pays_alike & is_hand[:, None] | own),
    )


def _good_points(box: Box) -> float:
    """Three of its face for an upper box; the points of a good hand for a lower one."""
    if box.face:
        return float(PAR_DICE * box.face)
    return float(np.quantile([points for points in box.scores if points] or [0], GOOD_HAND))


def _bonus_share(
    ruleset: Ruleset, points: NDArray[np.int64], par: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The share of the bonus that points of at least par add, and lower points subtract."""
    bonus = sum(pays for _, pays in ruleset.bonus_steps) / max(ruleset.last_step, 1)
    return bonus * np.where(points >= par, points, points - par)


def _reach(scores: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(252, boxes) each: the best chance to score after one throw, and the hold with that chance.

    Of equal holds it is the one that keeps the highest dice.
    """
    pips = ROLLS.astype(np.int64) @ (np.arange(N_HOLDS) >> np.arange(N_DICE)[:, None] & 1)
    paid = (THROW_CHANCES @ (scores > 0).T)[KEEP_INDEX[:, :N_HOLDS]]
    paid[HOLD_LEGAL == 0] = -1.0
    best = paid + _TINY * pips[:, :, None]
    hold: NDArray[np.int64] = best.argmax(axis=1)
    return np.take_along_axis(paid, hold[:, None], axis=1)[:, 0], hold


def _holds_of(kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The hold codes that keep the marked dice (the last axis); 31 for all of them.

    All dice of a face are marked alike, so the code is the legal one.
    """
    codes: NDArray[np.int64] = kept @ (1 << np.arange(kept.shape[-1]))
    return codes


@kernel
def _choose(compiled, thumb, games, payments, actions):
    rules = compiled[0]
    for i in range(len(games)):
        roll = games[i].roll
        box, above = _best_box(thumb, roll, payments[i])
        actions[i] = N_HOLDS + box
        made = thumb.breaks[roll, box] and above > 0
        if games[i].rolls_left > 0 and not made:
            hold = _hold(rules, thumb, roll, fillable_boxes(rules, games[i].filled))
            if hold < N_HOLDS:
                actions[i] = hold


@kernel
def _best_box(thumb, roll, payments):
    """The box whose points are furthest above its usual points, and by how much."""
    best, most = 0, -np.inf
    for box in range(len(payments)):
        above = payments[box] + thumb.share[roll, box] - thumb.usual[box]
        if payments[box] >= 0 and above > most:
            best, most = box, above
    return best, most


@kernel
def _hold(rules, thumb, roll, fillable):
    """The hold by rules 2 to 5; 31 to keep all dice."""
    face, alike = _face_to_collect(rules, thumb, roll, fillable)
    near_box, likely_box = _hands_to_throw_for(thumb, roll, fillable)
    if alike >= PAR_DICE:
        return thumb.alike_hold[roll, face]
    if near_box >= 0:
        return thumb.reach_hold[roll, near_box]
    if alike > 0:
        return thumb.alike_hold[roll, face]
    if likely_box >= 0:
        return thumb.reach_hold[roll, likely_box]
    return thumb.high_hold[roll]


@kernel
def _face_to_collect(rules, thumb, roll, fillable):
    """The face of rules 2 and 4, from 0, and how many dice show it; 0 dice for none."""
    best, most = 0, 0
    for face in range(N_FACES):
        count = COUNTS[roll, face]
        if count > 0 and thumb.collectors[face] & fillable:
            own_box = rules.box_of_face[face + 1]
            own_open = own_box >= 0 and fillable >> own_box & 1
            if 2 * count + own_open >= most:
                best, most = face, 2 * count + own_open
    return best, most // 2


@kernel
def _hands_to_throw_for(thumb, roll, fillable):
    """The boxes of rules 3 and 5; -1 if there is none."""
    near_box, likely_box, gain, reach = -1, -1, -np.inf, 0.0
    for box in range(len(thumb.gain)):
        if fillable >> box & 1 and thumb.gain[box] > -np.inf:
            chance = thumb.reach[roll, box]
            if chance > WITHIN_REACH - _TINY and thumb.gain[box] > gain:
                near_box, gain = box, thumb.gain[box]
            if chance > reach:
                likely_box, reach = box, chance
    return near_box, likely_box
