"""How a turn ends under given choices: the chance of each box with each roll in it.

A choice is one number: a keep (see `dice.KEEPS`), or ``N_KEEPS`` + box. Chances are carried through
a turn one die at a time, since every roll is a kept set plus dice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import (
    FIVE_ALIKE,
    KEEP_INDEX,
    KEEPS,
    N_FACES,
    N_HOLDS,
    N_KEEPS,
    N_PARTIAL_KEEPS,
    N_ROLLS,
    ONE_DIE_MORE,
)
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import REROLLS, placed
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.turn import PAIRS, place_in_lane

_HOLD_ORDER = np.array(
    [sum(keep.count(face) * 6 ** (face - 1) for face in range(1, N_FACES + 1)) for keep in KEEPS]
)
"""(462,): orders the keeps of any roll as their hold codes are; the roll itself comes last."""

_SIXTH = 1.0 / 6.0


class Endings(NamedTuple):
    """The ways to end a turn: pairs of a box and a roll, those alike on every card as one.

    Attributes:
        number: (boxes, 252) int32: the ending that filling a box with a roll is.
        box: (endings,) int64: the box of each ending.
        roll: (endings,) int64: one of its rolls.
    """

    number: NDArray[np.int32]
    box: NDArray[np.int64]
    roll: NDArray[np.int64]

    @classmethod
    def of(cls, ruleset: Ruleset) -> Endings:
        """The endings of a rule set: rolls with the same points, and each five alike alone."""
        number = np.empty((len(ruleset.boxes), N_ROLLS), np.int32)
        boxes: list[int] = []
        rolls: list[int] = []
        for k, box in enumerate(ruleset.boxes):
            kind = np.where(FIVE_ALIKE > 0, -FIVE_ALIKE.astype(np.int64), box.scores)
            _, first, same = np.unique(kind, return_index=True, return_inverse=True)
            number[k] = len(rolls) + same.reshape(-1)
            boxes += [k] * len(first)
            rolls += first.tolist()
        return cls(number, np.array(boxes), np.array(rolls))


def choice_number(rolls: NDArray[np.int16], actions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Actions with some rolls as choices, which mean the same with any dice."""
    keep = KEEP_INDEX[rolls, np.minimum(actions, N_HOLDS)].astype(np.int64)
    return np.where(actions < N_HOLDS, keep, N_KEEPS + actions - N_HOLDS)


@kernel
def optimal_choices(rules, outcomes, future, card, block, best, boxes, choices):
    """Write the optimal choice of each roll, (3, 252) by rolls left: the first of equal actions.

    `block` is a (462, 1) float64 scratch table, `best` holds 462 and `boxes` 252 int64.
    """
    filled, five_scored, upper = card
    place_in_lane(rules, outcomes, future, filled, five_scored, upper, block, 0, boxes)
    choices[0] = N_KEEPS + boxes
    for rolls_left in range(1, REROLLS + 1):
        expect_lane(block)
        _choose_lane(block, best)
        for roll in range(N_ROLLS):
            choice = best[N_PARTIAL_KEEPS + roll]
            choices[rolls_left, roll] = choice if choice < N_PARTIAL_KEEPS else choices[0, roll]


@kernel
def expect_lane(block):
    """`turn.expect` for one lane, with the additions in the same order."""
    for keep in range(N_PARTIAL_KEEPS - 1, -1, -1):
        more = ONE_DIE_MORE[keep]
        low = block[more[0], 0] + block[more[1], 0] + block[more[2], 0]
        high = block[more[3], 0] + block[more[4], 0] + block[more[5], 0]
        block[keep, 0] = (low + high) * _SIXTH


@kernel
def _choose_lane(block, best):
    """`turn.choose` for one lane; also writes which keep is best, the first of equal ones."""
    for keep in range(N_KEEPS):
        best[keep] = keep
    for pair in range(len(PAIRS[0])):
        keep, fewer = PAIRS[0, pair], PAIRS[1, pair]
        ahead = block[fewer, 0] - block[keep, 0]
        if ahead > 0.0 or (ahead == 0.0 and _HOLD_ORDER[best[fewer]] < _HOLD_ORDER[best[keep]]):
            block[keep, 0] = block[fewer, 0]
            best[keep] = best[fewer]


@kernel
def carry_choices(choices, rolls_left, chances, kept, endings, ended):
    """Carry the chances of the rolls, (252,), through the choices to the end of the turn.

    `choices` holds one choice for each number of rolls left and each roll, (3, 252) int64, or the
    probability of each action, (3, 252, actions) float64. Adds the chance of each ending to
    `ended`; `chances` is used up, `kept` is scratch of 462.
    """
    for left in range(rolls_left, -1, -1):
        kept[:] = 0.0
        for roll in range(N_ROLLS):
            if chances[roll] > 0.0:
                _choose_with(choices, left, roll, chances[roll], kept, endings, ended)
        if left > 0:
            throw(kept, chances)


@kernel
def _choose_with(choices, rolls_left, roll, chance, kept, endings, ended):
    # The branch is decided when the kernel is compiled.
    if choices.ndim == 2:
        choice = choices[rolls_left, roll]
        if choice < N_KEEPS:
            kept[choice] += chance
        else:
            ended[endings.number[choice - N_KEEPS, roll]] += chance
    else:
        probabilities = choices[rolls_left, roll]
        for hold in range(N_HOLDS):
            kept[KEEP_INDEX[roll, hold]] += chance * probabilities[hold]
        for box in range(len(probabilities) - N_HOLDS):
            ended[endings.number[box, roll]] += chance * probabilities[N_HOLDS + box]


@kernel
def end_after(choices, roll, rolls_left, choice, endings):
    """The chance of each ending after a choice in one position and the given choices thereafter."""
    ended, kept, chances = np.zeros(len(endings.box)), np.zeros(N_KEEPS), np.empty(N_ROLLS)
    if choice >= N_KEEPS:
        ended[endings.number[choice - N_KEEPS, roll]] = 1.0
    else:
        kept[choice] = 1.0
        throw(kept, chances)
        carry_choices(choices, rolls_left - 1, chances, kept, endings, ended)
    return ended


@kernel
def throw(kept, chances):
    """Write the chance of each roll, (252,), from the chances of the kept sets."""
    for keep in range(N_PARTIAL_KEEPS):
        part = kept[keep] * _SIXTH
        if part != 0.0:
            for more in ONE_DIE_MORE[keep]:
                kept[more] += part
    chances[:] = kept[N_PARTIAL_KEEPS:]


@kernel
def next_card(rules, endings, ending, card, last):
    """What an ending does on a card: points in the box, points gained in all, the next card.

    `last` is the upper total from which on all are alike.
    """
    filled, five_scored, upper = card
    roll, box = endings.roll[ending], endings.box[ending]
    points, gained, upper, five_scored = placed(rules, filled, five_scored, upper, roll, box)
    return points, gained, (filled | 1 << box, five_scored, min(upper, last))
