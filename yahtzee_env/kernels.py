"""The rules at work: legality, dice, filling a box; single games and arrays of games.

A game is one `GAME` record. The small functions take only the parts of a game that they depend on,
so that the environments, the evaluation and the solver share them; functions that change a game
take the record. Actions 0 to 30 are hold codes (see `dice`), action ``31 + k`` fills box k.

Randomness is an argument: what throws dice takes a uniform 64-bit number that decides them. The
games of an array get theirs from generators, see `step_games`.
"""

from __future__ import annotations

import numpy as np

from yahtzee_env.compiled import JOKER_CODES
from yahtzee_env.dice import (
    DRAW_CODE,
    FIVE_ALIKE,
    HOLD_LEGAL,
    KEEP_CODE,
    N_DICE,
    N_FACES,
    N_HOLDS,
    ROLL_OF_CODE,
    THROWN,
)
from yahtzee_env.jit import kernel
from yahtzee_env.rules import MAX_BOXES

GAME = np.dtype(
    [
        ("score", "i4"),  # all points so far
        ("filled", "i4"),  # bit k: box k is filled
        ("upper", "i4"),  # sum of the upper boxes, without bonus
        ("roll", "i2"),  # index in dice.ROLLS
        ("rolls_left", "i1"),
        ("five_scored", "i1"),  # 1 while the five-alike box holds points, where that matters
        ("extra_bonuses", "i2"),  # how often the extra bonus was paid
        ("scores", "i2", (MAX_BOXES,)),  # 0 in open boxes
    ],
    align=True,
)

REROLLS = 2
MAX_UPPER = 2**30
"""Above every upper total."""

NO_JOKER = JOKER_CODES["none"]
_FORCED = JOKER_CODES["forced"]

_N_LEGAL_HOLDS = HOLD_LEGAL.sum(axis=1).astype(np.int8)
_LEGAL_HOLDS = np.argsort(-HOLD_LEGAL, axis=1, kind="stable").astype(np.int8)

# splitmix64 (Steele, Lea, Flood 2014): the state is one uint64, and each number takes one addition
# and three mixing steps.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)
# A 51-bit number times at most 6**5 fits 64 bits; the bias of an outcome is below 4e-12.
_DROP, _BITS = np.uint64(13), np.uint64(51)
_OUTCOMES = np.array([N_FACES**n for n in range(N_DICE + 1)], np.uint64)


@kernel
def mixed(state):
    """The random number of a generator state."""
    z = (state ^ (state >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@kernel
def below(number, bound):
    """A uniform 64-bit number scaled to 0 .. bound - 1, with bound at most 7776."""
    return ((number >> _DROP) * bound) >> _BITS


@kernel
def throw(game, hold, number):
    """Throw the dice that `hold` does not keep, as `number` decides; hold 0 throws all five."""
    drawn = below(number, _OUTCOMES[THROWN[hold]])
    game.roll = ROLL_OF_CODE[KEEP_CODE[game.roll, hold] + DRAW_CODE[drawn]]


@kernel
def is_joker(rules, filled, five_scored, roll):
    """Whether the roll is five alike under the joker rule: the five-alike box is filled."""
    if rules.joker == NO_JOKER or FIVE_ALIKE[roll] == 0:
        return False
    if filled >> rules.five_alike_box & 1 == 0:
        return False
    return five_scored != 0 or rules.joker_after_zero != 0


@kernel
def pays_as_joker(rules, filled, five_scored, roll):
    """1 where the boxes pay their joker scores, else 0."""
    if not is_joker(rules, filled, five_scored, roll):
        return 0
    return filled >> rules.box_of_face[FIVE_ALIKE[roll]] & 1


@kernel
def fillable_boxes(rules, filled):
    """The set of boxes that may be filled with any roll but a joker, as bits."""
    choice = rules.all_boxes & ~filled
    if rules.upper_first and choice & rules.upper_boxes:
        choice &= rules.upper_boxes
    return choice


@kernel
def legal_boxes(rules, filled, five_scored, roll):
    """The set of boxes that may be filled with the roll, as bits."""
    choice = fillable_boxes(rules, filled)
    if rules.joker == _FORCED and is_joker(rules, filled, five_scored, roll):
        matching = 1 << rules.box_of_face[FIVE_ALIKE[roll]]
        if choice & matching:
            return matching
        if choice & ~rules.upper_boxes:
            return choice & ~rules.upper_boxes
    return choice


@kernel
def extra_bonus(rules, five_scored, roll):
    """The extra bonus that five alike earn in whatever box."""
    if five_scored != 0 and FIVE_ALIKE[roll] != 0:
        return rules.extra_bonus
    return 0


@kernel
def upper_bonus(rules, before, after):
    """The bonus for taking the upper total from `before` to `after`."""
    bonus = 0
    for step in range(rules.n_steps):
        if before < rules.step_at[step] <= after:
            bonus += rules.step_pays[step]
    return bonus


@kernel
def next_step(rules, upper):
    """The upper total that the next bonus step asks for; out of reach where there is none."""
    for step in range(rules.n_steps):
        if upper < rules.step_at[step]:
            return rules.step_at[step]
    return np.int32(MAX_UPPER)


@kernel
def start(game, number):
    """Begin a new game; `number` decides the first roll."""
    game.score = 0
    game.filled = 0
    game.upper = 0
    game.five_scored = 0
    game.extra_bonuses = 0
    game.scores[:] = 0
    game.rolls_left = REROLLS
    game.roll = 0
    throw(game, 0, number)


@kernel
def is_over(rules, game):
    """Whether the card is full."""
    return game.filled == rules.all_boxes


@kernel
def is_legal(rules, game, action):
    """Whether the rules allow the action now; any whole number may be asked about."""
    if action < 0 or action >= N_HOLDS + rules.n_boxes:
        return False
    if action < N_HOLDS:
        return game.rolls_left > 0 and HOLD_LEGAL[game.roll, action] != 0
    boxes = legal_boxes(rules, game.filled, game.five_scored, game.roll)
    return boxes >> (action - N_HOLDS) & 1 != 0


@kernel
def placed(rules, filled, five_scored, upper, roll, box):
    """Filling a box: its points, the points gained in all, and upper, five_scored thereafter."""
    points = np.int32(rules.points[pays_as_joker(rules, filled, five_scored, roll), roll, box])
    gained = points + extra_bonus(rules, five_scored, roll)
    if rules.upper_face[box] != 0:
        gained += upper_bonus(rules, upper, upper + points)
        upper += points
    if rules.tracks_five_alike != 0 and box == rules.five_alike_box and points > 0:
        five_scored = 1
    return points, gained, upper, five_scored


@kernel
def fill(rules, game, box, number):
    """Fill a box and begin the next turn, if any; returns the points gained."""
    if extra_bonus(rules, game.five_scored, game.roll) != 0:
        game.extra_bonuses += 1
    points, gained, upper, five_scored = placed(
        rules, game.filled, game.five_scored, game.upper, game.roll, box
    )
    game.upper = upper
    game.five_scored = five_scored
    game.scores[box] = points
    game.filled |= 1 << box
    game.score += gained
    if is_over(rules, game):
        game.rolls_left = 0
    else:
        game.rolls_left = REROLLS
        throw(game, 0, number)
    return gained


@kernel
def apply(rules, game, action, number):
    """Carry out a legal action; returns the points gained."""
    if action >= N_HOLDS:
        return fill(rules, game, action - N_HOLDS, number)
    game.rolls_left -= 1
    throw(game, action, number)
    return 0


# Arrays of games; `rngs` has the generator of each.


@kernel
def start_games(games, rngs):
    """Begin every game."""
    for i in range(len(games)):
        rngs[i] += _GOLDEN
        start(games[i], mixed(rngs[i]))


@kernel
def first_illegal(compiled, games, actions, skip):
    """The index of the first illegal action, -1 for none; games in `skip` are not checked."""
    rules = compiled[0]
    for i in range(len(games)):
        if not skip[i] and not is_legal(rules, games[i], actions[i]):
            return i
    return -1


@kernel
def step_games(compiled, games, rngs, actions, restart, gained, illegal, over):
    """Carry out the legal actions; illegal ones change nothing.

    Games marked in `restart` begin again instead. Writes the points gained, which actions were
    illegal, and which games are over. Returns -1, or the index of the first number outside the
    action space; then nothing has changed.
    """
    rules = compiled[0]
    n_actions = N_HOLDS + rules.n_boxes
    for i in range(len(games)):
        if (actions[i] < 0 or actions[i] >= n_actions) and not restart[i]:
            return i
    for i in range(len(games)):
        game = games[i]
        number = mixed(rngs[i] + _GOLDEN)
        gained[i] = 0.0
        illegal[i] = False
        if restart[i]:
            start(game, number)
        elif is_legal(rules, game, actions[i]):
            gained[i] = apply(rules, game, actions[i], number)
        else:
            illegal[i] = True
        over[i] = is_over(rules, game)
        if not (illegal[i] or over[i]):  # dice were thrown
            rngs[i] += _GOLDEN
    return -1


@kernel
def write_masks(compiled, games, masks):
    """Write each game's action mask, a row of ``31 + n_boxes`` int8; all 0 when it is over."""
    rules = compiled[0]
    n_boxes = rules.n_boxes
    for i in range(len(games)):
        game = games[i]
        # Read before the loops, so that LLVM makes the loops vector moves.
        roll, can_hold = game.roll, np.int8(game.rolls_left > 0)
        legal = legal_boxes(rules, game.filled, game.five_scored, roll)
        for hold in range(N_HOLDS):
            masks[i, hold] = HOLD_LEGAL[roll, hold] & -can_hold
        for k in range(n_boxes):
            masks[i, N_HOLDS + k] = legal >> k & 1


@kernel
def write_payments(compiled, games, payments):
    """Write the points that filling each box would gain; -1 where it is illegal."""
    rules = compiled[0]
    for i in range(len(games)):
        game = games[i]
        legal = legal_boxes(rules, game.filled, game.five_scored, game.roll)
        for box in range(rules.n_boxes):
            payments[i, box] = -1
            if legal >> box & 1:
                card = (game.filled, game.five_scored, game.upper)
                _, payments[i, box], _, _ = placed(rules, *card, game.roll, box)


@kernel
def find_jokers(compiled, games, jokers):
    """Write whether each roll is a joker."""
    for i in range(len(games)):
        game = games[i]
        jokers[i] = is_joker(compiled[0], game.filled, game.five_scored, game.roll)


@kernel
def draw_actions(compiled, games, seed, actions):
    """Write a uniformly random legal action of each game, 0 where it is over."""
    rules = compiled[0]
    state = seed
    for i in range(len(games)):
        game = games[i]
        n_holds = _N_LEGAL_HOLDS[game.roll] if game.rolls_left > 0 else 0
        boxes = legal_boxes(rules, game.filled, game.five_scored, game.roll)
        n_boxes = 0
        rest = boxes
        while rest:
            rest &= rest - 1
            n_boxes += 1
        state += _GOLDEN
        choice = np.int64(below(mixed(state), np.uint64(n_holds + n_boxes)))
        if choice < n_holds:
            actions[i] = _LEGAL_HOLDS[game.roll, choice]
        elif boxes:
            for _ in range(choice - n_holds):
                boxes &= boxes - 1
            box = 0
            while boxes >> box & 1 == 0:
                box += 1
            actions[i] = N_HOLDS + box
        else:
            actions[i] = 0
