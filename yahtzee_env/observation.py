"""What an agent sees of a game: a flat vector of named features, each near the unit range.

The features make the state Markov: whatever of the card still matters is in them. Their order:

- for each face 1 to 6 and each count 0 to 5, whether that many dice show the face;
- for 0, 1 and 2, whether that many rerolls are left;
- for each box, whether it is open;
- for each box, the points that filling it would pay now, bonuses included, over 50 (0 where it
  may not be filled);
- with an upper bonus: the upper total still missing to its last step, over that step's total; the
  upper total above or below three dice of each face filled, over the same (limited to -1 .. 1);
  for each step, whether it is reached; an upper total above the last step counts as that step;
- where it matters, whether the five-alike box holds points; where there are jokers, whether the
  roll is one.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import COUNTS, N_DICE, N_FACES
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
    write_mask,
)
from yahtzee_env.rules import Ruleset
from yahtzee_env.tables import compile_ruleset

POINTS_SCALE = 50
"""Points are divided by this in the observation."""

_DICE_FEATURES = np.eye(N_DICE + 1, dtype=np.float32)[COUNTS].reshape(len(COUNTS), -1)
_N_DICE_FEATURES = N_FACES * (N_DICE + 1)
_PAR = 3
_PER_POINT = np.float32(1 / POINTS_SCALE)


@lru_cache(maxsize=64)
def observation_names(ruleset: Ruleset) -> tuple[str, ...]:
    """The name of each feature of the flat observation, in order."""
    faces, counts = range(1, N_FACES + 1), range(N_DICE + 1)
    names = [f"count_of_{face}_is_{n}" for face in faces for n in counts]
    names += [f"rolls_left_is_{n}" for n in range(REROLLS + 1)]
    names += [f"open_{box}" for box in ruleset.box_names]
    names += [f"pays_{box}" for box in ruleset.box_names]
    if ruleset.bonus_steps:
        names += ["upper_missing", "upper_above_par"]
        names += [f"upper_{at}_reached" for at, _ in ruleset.bonus_steps]
    if ruleset.tracks_five_alike:
        names.append(f"{ruleset.five_alike_box}_holds_points")
    if ruleset.joker != "none":
        names.append("joker")
    return tuple(names)


def observation_bounds(ruleset: Ruleset) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The lowest and the highest value of each feature, two float32 vectors."""
    names = observation_names(ruleset)
    low = np.array([-1.0 if name == "upper_above_par" else 0.0 for name in names], np.float32)
    high = np.ones(len(names), np.float32)
    tables = compile_ruleset(ruleset)[0]
    most = tables["points"].max(axis=(0, 1))[: len(ruleset.boxes)].astype(float)
    most += ruleset.extra_bonus
    most[tables["upper_face"][: len(most)] > 0] += sum(pays for _, pays in ruleset.bonus_steps)
    start = names.index(f"pays_{ruleset.box_names[0]}")
    high[start : start + len(most)] = most / POINTS_SCALE
    return low, high


# In the kernels below fields are read into variables before each loop: LLVM cannot know that a
# write to the output leaves the fields alone, and turns only loops without such reads into vector
# moves.


@kernel
def write_observation(tables, game, legal, out):
    """Write one game's features to the float32 vector `out`; `legal` is its set of legal boxes."""
    roll, rolls_left, filled = game.roll, game.rolls_left, np.int32(game.filled)
    n_boxes = tables.n_boxes
    for feature in range(_N_DICE_FEATURES):
        out[feature] = _DICE_FEATURES[roll, feature]
    at = _N_DICE_FEATURES
    for n in range(REROLLS + 1):
        out[at + n] = np.float32(rolls_left == n)
    at += REROLLS + 1
    for k in range(n_boxes):
        out[at + k] = np.float32(np.int32(1) - (filled >> np.int32(k) & np.int32(1)))
    at += n_boxes
    _write_payments(tables, game, legal, out[at : at + n_boxes])
    at += n_boxes
    if tables.n_steps > 0:
        _write_upper(tables, game, out[at:])
        at += 2 + tables.n_steps
    if tables.tracks_five_alike != 0:
        out[at] = game.five_scored
        at += 1
    if tables.joker != NO_JOKER:
        out[at] = is_joker(tables, filled, game.five_scored, roll)


@kernel
def _write_payments(tables, game, legal, out):
    roll, upper, bits = game.roll, game.upper, np.int32(legal)
    joker = pays_as_joker(tables, game.filled, game.five_scored, roll)
    extra = np.int32(extra_bonus(tables, game.five_scored, roll))
    points = tables.points[joker, roll]
    for k in range(len(out)):
        paid = (np.int32(points[k]) + extra) * (bits >> np.int32(k) & np.int32(1))
        out[k] = np.float32(paid) * _PER_POINT
    if upper + tables.upper_most >= next_step(tables, upper):
        for k in range(len(out)):
            if tables.upper_face[k] != 0 and bits >> k & 1:
                bonus = upper_bonus(tables, upper, upper + points[k])
                out[k] = np.float32(points[k] + extra + bonus) * _PER_POINT


@kernel
def _write_upper(tables, game, out):
    last = tables.step_at[tables.n_steps - 1]
    upper, filled = min(game.upper, last), np.int32(game.filled)
    par = np.int32(0)
    for k in range(tables.n_boxes):
        par += tables.upper_face[k] * (filled >> np.int32(k) & np.int32(1))
    scale = np.float32(1.0) / np.float32(last)
    out[0] = np.float32(last - upper) * scale
    out[1] = min(max(np.float32(upper - _PAR * par) * scale, np.float32(-1)), np.float32(1))
    for step in range(tables.n_steps):
        out[2 + step] = np.float32(upper >= tables.step_at[step])


@kernel
def observe_games(compiled, games, observations, masks):
    """Write the features and the action mask of every game."""
    tables = compiled[0]
    for i in range(len(games)):
        game = games[i]
        legal = legal_boxes(tables, game.filled, game.five_scored, game.roll)
        write_observation(tables, game, legal, observations[i])
        write_mask(tables, game, legal, masks[i])
