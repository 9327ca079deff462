"""What an agent observes: a flat vector of named features, each near the unit range.

Features come in groups. A `FeatureGroup` describes one completely: the names of its features, their
bounds, and the kernel that writes them. Everything else follows from that: `FEATURE_SETS` lists the
groups of each named set, and `Layout` places a set under a rule set.

The features of "flat-v1" make the state Markov: all that matters for the rest of a game is in them.
A set never changes once agents are trained on it; a change makes a new set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from yahtzee_env.compiled import compile_ruleset
from yahtzee_env.dice import COUNTS, N_DICE, N_FACES
from yahtzee_env.family import get_ruleset
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import (
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

_ZERO, _ONE = np.float32(0), np.float32(1)


Bound = float | Callable[[Ruleset], ArrayLike]


@dataclass(frozen=True)
class FeatureGroup:
    """Features that are written together.

    Attributes:
        names: the names of the features under a rule set, in order; none where they do not apply.
        write: the kernel that writes them, ``write(rules, games, out, at)``: the features of
            ``games[i]`` (a `kernels.GAME` record) to ``out[i, at:]``, under the compiled `rules`.
            What it writes beyond its own columns is overwritten by the groups that follow.
        low: the lowest value of all features, or of each under a rule set.
        high: the highest value, likewise.
    """

    names: Callable[[Ruleset], Sequence[str]]
    write: Callable[..., None]
    low: Bound = 0.0
    high: Bound = 1.0


# How the kernels are written decides their speed. LLVM turns a short loop into vector moves only
# where little else surrounds it, so each group has a kernel of its own; fields are read into
# variables first, since LLVM cannot know that a write to the output leaves them unchanged. Numba
# computes with 64-bit integers, which convert to float slowly; tests of bits do not. Loops over
# boxes run to a multiple of 8, a whole number of vectors. Columns are unsigned, since a signed one
# might count from the end, which has to be checked.

_BITS = np.left_shift(1, np.arange(MAX_BOXES), dtype=np.int32)
_PER_POINT = np.float32(1 / POINTS_SCALE)


@kernel
def _padded_boxes(rules, out, at):
    """The columns to write for one feature a box; never beyond the end of a row."""
    return min(np.uint64(rules.padded_boxes), np.uint64(out.shape[1]) - at)


@kernel
def _write_open(rules, games, out, at):
    n = _padded_boxes(rules, out, at)
    for i in range(len(games)):
        filled = games[i].filled
        for k in range(n):
            out[i, at + k] = _ZERO if filled & _BITS[k] else _ONE


OPEN = FeatureGroup(
    names=lambda ruleset: [f"open_{box}" for box in ruleset.box_names],
    write=_write_open,
)
"""For each box, whether it is open."""


@kernel
def _write_pays(rules, games, out, at):
    n = _padded_boxes(rules, out, at)
    for i in range(len(games)):
        game = games[i]
        roll, upper = game.roll, game.upper
        legal = legal_boxes(rules, game.filled, game.five_scored, roll)
        joker = pays_as_joker(rules, game.filled, game.five_scored, roll)
        extra = np.float32(extra_bonus(rules, game.five_scored, roll))
        for k in range(n):
            paid = (np.float32(rules.points[joker, roll, k]) + extra) * _PER_POINT
            out[i, at + k] = paid if legal & _BITS[k] else _ZERO
        if upper + rules.upper_most >= next_step(rules, upper):
            for k in range(n):
                if legal & rules.upper_boxes & _BITS[k]:
                    points = rules.points[joker, roll, k]
                    bonus = upper_bonus(rules, upper, upper + points)
                    out[i, at + k] = (np.float32(points + bonus) + extra) * _PER_POINT


def _most_pays(ruleset: Ruleset) -> NDArray[np.float64]:
    rules = compile_ruleset(ruleset)[0]
    most = rules["points"].max(axis=(0, 1))[: len(ruleset.boxes)].astype(np.float64)
    most += ruleset.extra_bonus
    most[rules["upper_face"][: len(most)] > 0] += sum(pays for _, pays in ruleset.bonus_steps)
    scaled: NDArray[np.float64] = most / POINTS_SCALE
    return scaled


PAYS = FeatureGroup(
    names=lambda ruleset: [f"pays_{box}" for box in ruleset.box_names],
    write=_write_pays,
    high=_most_pays,
)
"""For each box, the points that filling it would gain now, bonuses included, over `POINTS_SCALE`; 0
where it is illegal."""


_PAR = 3


@kernel
def _write_upper(rules, games, out, at):
    n = np.uint64(rules.padded_boxes)
    last = rules.step_at[rules.n_steps - 1]
    scale = _ONE / np.float32(last)
    for i in range(len(games)):
        upper, filled = min(games[i].upper, last), games[i].filled
        par = 0
        for k in range(n):
            par += rules.upper_face[k] if filled & _BITS[k] else 0
        above_par = np.float32(upper - _PAR * par) * scale
        out[i, at] = np.float32(last - upper) * scale
        out[i, at + np.uint64(1)] = min(max(above_par, -_ONE), _ONE)
        for step in range(np.uint64(rules.n_steps)):
            out[i, at + np.uint64(2) + step] = np.float32(upper >= rules.step_at[step])


def _upper_names(ruleset: Ruleset) -> list[str]:
    if not ruleset.bonus_steps:
        return []
    reached = [f"upper_{at}_reached" for at, _ in ruleset.bonus_steps]
    return ["upper_missing", "upper_above_par", *reached]


UPPER = FeatureGroup(
    names=_upper_names,
    write=_write_upper,
    low=lambda ruleset: [
        -1.0 if name == "upper_above_par" else 0.0 for name in _upper_names(ruleset)
    ],
)
"""With an upper bonus: the upper total still missing to the last step, over that step's total; the
upper total above or below three dice of the face of each filled box, over the same and clipped to
-1 .. 1; for each step, whether it is reached. An upper total above the last step counts as that
step."""


@kernel
def _write_five_scored(rules, games, out, at):
    for i in range(len(games)):
        out[i, at] = games[i].five_scored


FIVE_SCORED = FeatureGroup(
    names=lambda ruleset: (
        [f"{ruleset.five_alike_box}_holds_points"] if ruleset.tracks_five_alike else []
    ),
    write=_write_five_scored,
)
"""Where that matters, whether the five-alike box holds points."""


@kernel
def _write_joker(rules, games, out, at):
    for i in range(len(games)):
        game = games[i]
        out[i, at] = is_joker(rules, game.filled, game.five_scored, game.roll)


JOKER = FeatureGroup(
    names=lambda ruleset: ["joker"] if ruleset.joker != "none" else [],
    write=_write_joker,
)
"""Under rules with jokers, whether the roll is one."""


@kernel
def _write_rolls_left(rules, games, out, at):
    for i in range(len(games)):
        rolls_left = np.uint64(games[i].rolls_left)
        for n in range(np.uint64(REROLLS + 1)):
            out[i, at + n] = np.float32(rolls_left == n)


ROLLS_LEFT = FeatureGroup(
    names=lambda ruleset: [f"rolls_left_is_{n}" for n in range(REROLLS + 1)],
    write=_write_rolls_left,
)
"""For 0, 1 and 2, whether that many rerolls are left."""

_DICE_FEATURES = np.eye(N_DICE + 1, dtype=np.float32)[COUNTS].reshape(len(COUNTS), -1)
_N_DICE_FEATURES = N_FACES * (N_DICE + 1)


@kernel
def _write_dice(rules, games, out, at):
    for i in range(len(games)):
        roll = games[i].roll
        for feature in range(np.uint64(_N_DICE_FEATURES)):
            out[i, at + feature] = _DICE_FEATURES[roll, feature]


DICE = FeatureGroup(
    names=lambda ruleset: [
        f"count_of_{face}_is_{n}" for face in range(1, N_FACES + 1) for n in range(N_DICE + 1)
    ],
    write=_write_dice,
)
"""For each face 1 to 6 and each count 0 to 5, whether that many dice show the face."""

FEATURE_SETS: dict[str, tuple[FeatureGroup, ...]] = {
    "flat-v1": (
        OPEN,
        PAYS,
        UPPER,
        FIVE_SCORED,
        JOKER,
        ROLLS_LEFT,
        DICE,
    ),
}
"""The named sets of features, each with its groups in order."""

FEATURES = "flat-v1"
"""The set that environments observe."""


@dataclass(frozen=True)
class Layout:
    """A set of features under a rule set.

    Attributes:
        names: the name of each feature, in order.
        low: (features,) float32, the lowest value of each.
        high: (features,) float32, the highest value of each.
        columns: (groups,) int64, the first column of each group; -1 where it has none.
        observe: the kernel ``observe(compiled, games, columns, observations, masks)`` that writes
            the features and the action mask of every game.
    """

    names: tuple[str, ...]
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    columns: NDArray[np.int64]
    observe: Callable[..., None]

    @classmethod
    def of(cls, ruleset: Ruleset, groups: tuple[FeatureGroup, ...]) -> Layout:
        """The layout of some groups."""
        names: list[str] = []
        low: list[float] = []
        high: list[float] = []
        columns = []
        for group in groups:
            own = group.names(ruleset)
            columns.append(len(names) if own else -1)
            names += own
            low += _bound(group.low, ruleset, len(own))
            high += _bound(group.high, ruleset, len(own))
        return cls(
            tuple(names),
            np.array(low, np.float32),
            np.array(high, np.float32),
            np.array(columns, np.int64),
            _observer(groups),
        )


def _bound(bound: Bound, ruleset: Ruleset, n: int) -> list[float]:
    values = bound(ruleset) if callable(bound) else bound
    each: list[float] = np.broadcast_to(values, n).tolist()
    return each


@lru_cache(maxsize=64)
def layouts(ruleset: Ruleset) -> dict[str, Layout]:
    """The layout of every set in `FEATURE_SETS`, by name."""
    return {name: Layout.of(ruleset, groups) for name, groups in FEATURE_SETS.items()}


def observation_names(ruleset: str | Ruleset, features: str = FEATURES) -> tuple[str, ...]:
    """The name of each feature of the flat observation, in order.

    Args:
        ruleset: a rule set or its name.
        features: a key of `FEATURE_SETS`.

    Raises:
        ValueError: for an unknown rule set or set of features.
    """
    return _layout(ruleset, features).names


def observation_bounds(
    ruleset: str | Ruleset, features: str = FEATURES
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The lowest and the highest value of each feature, two float32 vectors.

    Args and errors are those of `observation_names`.
    """
    layout = _layout(ruleset, features)
    return layout.low, layout.high


def _layout(ruleset: str | Ruleset, features: str) -> Layout:
    if features not in FEATURE_SETS:
        raise ValueError(f"features must be one of {', '.join(FEATURE_SETS)}, not {features!r}")
    return layouts(get_ruleset(ruleset))[features]


_BLOCK = 64
"""Games whose features are written together; their rows stay in the processor's first cache."""


@cache
def _observer(groups: tuple[FeatureGroup, ...]) -> Callable[..., None]:
    write = _writer(groups)

    def observe(compiled, games, columns, observations, masks):
        for first in range(0, len(games), _BLOCK):
            block = games[first : first + _BLOCK]
            write(compiled[0], block, observations[first : first + _BLOCK], columns)
            write_masks(compiled, block, masks[first : first + _BLOCK])

    return _named("observe", groups, observe)


def _writer(groups: tuple[FeatureGroup, ...], first: int = 0) -> Callable[..., None]:
    """A kernel that writes the groups from the first on, one after the other."""
    if first == len(groups):
        return _write_nothing
    write, write_others = groups[first].write, _writer(groups, first + 1)

    def write_all(rules, games, out, columns):
        if columns[first] >= 0:
            write(rules, games, out, np.uint64(columns[first]))
        write_others(rules, games, out, columns)

    return _named(f"write_{first}", groups, write_all)


@kernel
def _write_nothing(rules, games, out, columns):
    pass


def _named(verb: str, groups: tuple[FeatureGroup, ...], function: Any) -> Callable[..., None]:
    """The kernel of a function, under a name that is unique in the kernel cache."""
    parts = [group.write.__name__.removeprefix("_write_") for group in groups]
    function.__qualname__ = f"{verb}_{'+'.join(parts)}"
    compiled: Callable[..., None] = kernel(function)
    return compiled
