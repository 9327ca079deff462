"""Five unordered dice: the 252 rolls, the keeps of each, and how new dice complete a keep.

The code of a set of at most five dice is the sum of one weight per die: face 1 weighs 0, and faces
2 to 6 weigh 1, 6, 36, 216 and 1296. The code of the kept dice plus the code of the dice thrown is
then the code of the new roll in any order, and the code of five dice identifies the roll.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import factorial

import numpy as np

N_DICE = 5
N_FACES = 6
N_HOLDS = 31
"""Hold codes 0..30: bit i set keeps die i of the sorted dice; keeping all five is not an action."""

FACE_WEIGHTS = np.array([0, 1, 6, 36, 216, 1296])

ROLLS = np.array(list(combinations_with_replacement(range(1, N_FACES + 1), N_DICE)), np.int8)
"""(252, 5) int8: every roll, its dice ascending, in lexicographic order."""

N_ROLLS = len(ROLLS)

COUNTS = (ROLLS[:, :, None] == np.arange(1, N_FACES + 1)).sum(axis=1).astype(np.int8)
"""(252, 6) int8: how many dice of each roll show each face."""

ROLL_PROBABILITIES = (
    factorial(N_DICE)
    / np.array([np.prod([factorial(n) for n in row]) for row in COUNTS.tolist()])
    / N_FACES**N_DICE
)
"""(252,) float64: the probability of each roll when all five dice are thrown."""

FIVE_ALIKE = np.where(COUNTS.max(axis=1) == N_DICE, COUNTS.argmax(axis=1) + 1, 0).astype(np.int8)
"""(252,) int8: the face of a roll of five alike, 0 for all other rolls."""

ROLL_OF_CODE = np.full(N_FACES**N_DICE, -1, np.int16)
"""(7776,) int16: the index of the roll with each code, -1 for codes of no five dice."""
ROLL_OF_CODE[(COUNTS * FACE_WEIGHTS).sum(axis=1)] = np.arange(N_ROLLS)

_HELD = (np.arange(N_HOLDS + 1)[:, None] >> np.arange(N_DICE)) & 1

KEEP_CODE = (FACE_WEIGHTS[ROLLS - 1] @ _HELD.T).astype(np.int16)
"""(252, 32) int16: the code of the dice that each hold keeps."""

THROWN = (N_DICE - _HELD.sum(axis=1)).astype(np.int8)
"""(32,) int8: the number of dice that each hold throws."""

_KEPT = (_HELD[None, :, :, None] * (ROLLS[:, None, :, None] == np.arange(1, N_FACES + 1))).sum(2)
_KEPT_KEY = _KEPT @ (N_DICE + 1) ** np.arange(N_FACES)

HOLD_LEGAL = np.array(
    [
        [key not in row[:hold] for hold, key in enumerate(row[:N_HOLDS])]
        for row in _KEPT_KEY.tolist()
    ],
    np.int8,
)
"""(252, 31) int8: 1 for legal holds, the smallest of the hold codes that keep the same faces."""

DRAW_CODE = sum(FACE_WEIGHTS[np.arange(N_FACES**N_DICE) // N_FACES**i % N_FACES] for i in range(5))
"""(7776,) int16: the code of the dice thrown, for each of the 6**n equally likely throws of n dice.

A throw of fewer than five dice has leading zero digits, which weigh nothing, as face 1.
"""
DRAW_CODE = DRAW_CODE.astype(np.int16)

KEEPS = [
    dice
    for size in range(N_DICE + 1)
    for dice in combinations_with_replacement(range(1, N_FACES + 1), size)
]
"""The 462 sets of at most five dice, by size; the last 252 are the rolls in order."""

N_KEEPS = len(KEEPS)
N_PARTIAL_KEEPS = N_KEEPS - N_ROLLS

_KEEP_INDEX = {keep: index for index, keep in enumerate(KEEPS)}

ONE_DIE_MORE = np.array(
    [
        [_KEEP_INDEX[tuple(sorted((*keep, face)))] for face in range(1, N_FACES + 1)]
        for keep in KEEPS[:N_PARTIAL_KEEPS]
    ],
    np.int16,
)
"""(210, 6) int16: the index of each keep of at most four dice after adding one die of each face."""

KEEP_INDEX = np.array(
    [
        [
            _KEEP_INDEX[tuple(die for i, die in enumerate(dice) if hold >> i & 1)]
            for hold in range(N_HOLDS + 1)
        ]
        for dice in ROLLS.tolist()
    ],
    np.int16,
)
"""(252, 32) int16: the index in `KEEPS` of the dice that each hold keeps."""

_ROLL_INDEX = {tuple(dice): index for index, dice in enumerate(ROLLS.tolist())}


def roll_index(dice: Sequence[int]) -> int:
    """The index in `ROLLS` of five dice in any order.

    Raises:
        ValueError: if `dice` is not five whole numbers from 1 to 6.
    """
    try:
        return _ROLL_INDEX[tuple(sorted(int(die) for die in dice if die == int(die)))]
    except (KeyError, OverflowError, TypeError, ValueError):
        raise ValueError(f"dice must be five whole numbers from 1 to 6, not {dice!r}") from None


def hold_code(roll: int, keep: Sequence[int]) -> int:
    """The legal hold code that keeps the faces `keep` of roll number `roll`.

    Raises:
        ValueError: if the roll does not show these faces, or if they are all five dice.
    """
    dice = ROLLS[roll].tolist()
    wanted = sorted(keep)
    for code in np.flatnonzero(HOLD_LEGAL[roll]).tolist():
        if kept_faces(roll, code) == wanted:
            return code
    raise ValueError(f"cannot keep {wanted} of {dice}: keep none to four of these dice")


def kept_faces(roll: int, hold: int) -> list[int]:
    """The faces, ascending, that hold code `hold` keeps of roll number `roll`."""
    return [face for i, face in enumerate(ROLLS[roll].tolist()) if hold >> i & 1]
