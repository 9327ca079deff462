"""What an agent sees of a game: a flat vector of named features, each near the unit range.

The features make the state Markov: whatever of the card still matters is in them. Their order:

- for each box, whether it is open;
- for each box, the points that filling it would pay now, bonuses included, over 50 (0 where it
  may not be filled);
- with an upper bonus: the upper total still missing to its last step, over that step's total; the
  upper total above or below three dice of each face filled, over the same (limited to -1 .. 1);
  for each step, whether it is reached; an upper total above the last step counts as that step;
- where it matters, whether the five-alike box holds points; where there are jokers, whether the
  roll is one;
- for 0, 1 and 2, whether that many rerolls are left;
- for each face 1 to 6 and each count 0 to 5, whether that many dice show the face.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.compiled import compile_ruleset
from yahtzee_env.dice import COUNTS, N_DICE, N_FACES
from yahtzee_env.family import get_ruleset
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import (
    NO_JOKER,
    REROLLS,
    extra_bonus,
    is_joker,
    legal_boxes,
    next_step,
    pays_as_joker,
    upper_bonus,
    write_masks,
)
from yahtzee_env.rules import MAX_BOXES, Ruleset

POINTS_SCALE = 50
"""Points are divided by this in the observation."""

_DICE_FEATURES = np.eye(N_DICE + 1, dtype=np.float32)[COUNTS].reshape(len(COUNTS), -1)
_N_DICE_FEATURES = N_FACES * (N_DICE + 1)
_PAR = 3
_ZERO, _ONE = np.float32(0), np.float32(1)
_BITS = np.left_shift(1, np.arange(MAX_BOXES), dtype=np.int32)
_PER_POINT = np.float32(1 / POINTS_SCALE)


@lru_cache(maxsize=64)
def observation_names(ruleset: str | Ruleset) -> tuple[str, ...]:
    """The name of each feature of the flat observation, in order.

    Raises:
        ValueError: for an unknown rule set.
    """
    ruleset = get_ruleset(ruleset)
    faces, counts = range(1, N_FACES + 1), range(N_DICE + 1)
    names = [f"open_{box}" for box in ruleset.box_names]
    names += [f"pays_{box}" for box in ruleset.box_names]
    if ruleset.bonus_steps:
        names += ["upper_missing", "upper_above_par"]
        names += [f"upper_{at}_reached" for at, _ in ruleset.bonus_steps]
    if ruleset.tracks_five_alike:
        names.append(f"{ruleset.five_alike_box}_holds_points")
    if ruleset.joker != "none":
        names.append("joker")
    names += [f"rolls_left_is_{n}" for n in range(REROLLS + 1)]
    names += [f"count_of_{face}_is_{n}" for face in faces for n in counts]
    return tuple(names)


def observation_bounds(ruleset: Ruleset) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The lowest and the highest value of each feature, two float32 vectors."""
    names = observation_names(ruleset)
    low = np.array([-1.0 if name == "upper_above_par" else 0.0 for name in names], np.float32)
    high = np.ones(len(names), np.float32)
    rules = compile_ruleset(ruleset)[0]
    most = rules["points"].max(axis=(0, 1))[: len(ruleset.boxes)].astype(float)
    most += ruleset.extra_bonus
    most[rules["upper_face"][: len(most)] > 0] += sum(pays for _, pays in ruleset.bonus_steps)
    start = names.index(f"pays_{ruleset.box_names[0]}")
    high[start : start + len(most)] = most / POINTS_SCALE
    return low, high


# How the kernels below are written decides their speed. LLVM turns a short loop into vector moves
# only where little else surrounds it, so each group of features has a kernel of its own; fields are
# read into variables first, since a write to the output might change them for all that LLVM knows.
# Numba computes with 64-bit integers, which convert to float slowly; tests of bits do not. Loops
# over boxes go on to a multiple of 8, a whole number of vectors: what they write beyond the real
# boxes is written over by the features that follow. Columns are unsigned, since a signed one might
# count from the end, which has to be checked.

_BLOCK = 64
"""Games whose features are written together; their rows stay in the processor's first cache."""


@kernel
def observe_games(compiled, games, observations, masks):
    """Write the features and the action mask of every game."""
    rules = compiled[0]
    for first in range(0, len(games), _BLOCK):
        block = games[first : first + _BLOCK]
        out = observations[first : first + _BLOCK]
        _write_open(rules, block, out)
        at = np.uint64(rules.n_boxes)
        _write_payments(rules, block, out, at)
        at += np.uint64(rules.n_boxes)
        if rules.n_steps > 0:
            _write_upper(rules, block, out, at)
            at += np.uint64(2 + rules.n_steps)
        if rules.tracks_five_alike != 0:
            _write_five_scored(block, out, at)
            at += np.uint64(1)
        if rules.joker != NO_JOKER:
            _write_joker(rules, block, out, at)
            at += np.uint64(1)
        _write_rolls_left(block, out, at)
        at += np.uint64(REROLLS + 1)
        _write_dice(block, out, at)
        write_masks(compiled, block, masks[first : first + _BLOCK])


@kernel
def _write_open(rules, games, out):
    padded_boxes = np.uint64(rules.padded_boxes)
    for i in range(len(games)):
        filled = games[i].filled
        for k in range(padded_boxes):
            out[i, k] = _ZERO if filled & _BITS[k] else _ONE


@kernel
def _write_payments(rules, games, out, at):
    padded_boxes = np.uint64(rules.padded_boxes)
    for i in range(len(games)):
        game = games[i]
        roll, upper = game.roll, game.upper
        legal = legal_boxes(rules, game.filled, game.five_scored, roll)
        joker = pays_as_joker(rules, game.filled, game.five_scored, roll)
        extra = np.float32(extra_bonus(rules, game.five_scored, roll))
        for k in range(padded_boxes):
            paid = (np.float32(rules.points[joker, roll, k]) + extra) * _PER_POINT
            out[i, at + k] = paid if legal & _BITS[k] else _ZERO
        if upper + rules.upper_most >= next_step(rules, upper):
            for k in range(padded_boxes):
                if legal & rules.upper_boxes & _BITS[k]:
                    points = rules.points[joker, roll, k]
                    bonus = upper_bonus(rules, upper, upper + points)
                    out[i, at + k] = (np.float32(points + bonus) + extra) * _PER_POINT


@kernel
def _write_upper(rules, games, out, at):
    padded_boxes = np.uint64(rules.padded_boxes)
    last = rules.step_at[rules.n_steps - 1]
    scale = _ONE / np.float32(last)
    for i in range(len(games)):
        upper, filled = min(games[i].upper, last), games[i].filled
        par = 0
        for k in range(padded_boxes):
            par += rules.upper_face[k] if filled & _BITS[k] else 0
        above_par = np.float32(upper - _PAR * par) * scale
        out[i, at] = np.float32(last - upper) * scale
        out[i, at + np.uint64(1)] = min(max(above_par, -_ONE), _ONE)
        for step in range(np.uint64(rules.n_steps)):
            out[i, at + np.uint64(2) + step] = np.float32(upper >= rules.step_at[step])


@kernel
def _write_five_scored(games, out, at):
    for i in range(len(games)):
        out[i, at] = games[i].five_scored


@kernel
def _write_joker(rules, games, out, at):
    for i in range(len(games)):
        game = games[i]
        out[i, at] = is_joker(rules, game.filled, game.five_scored, game.roll)


@kernel
def _write_rolls_left(games, out, at):
    for i in range(len(games)):
        rolls_left = np.uint64(games[i].rolls_left)
        for n in range(np.uint64(REROLLS + 1)):
            out[i, at + n] = np.float32(rolls_left == n)


@kernel
def _write_dice(games, out, at):
    for i in range(len(games)):
        roll = games[i].roll
        for feature in range(np.uint64(_N_DICE_FEATURES)):
            out[i, at + feature] = _DICE_FEATURES[roll, feature]
