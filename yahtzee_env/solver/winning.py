"""The chance to win a match, if after this action everybody plays optimally for the mean.

Such players ignore each other, so their final scores are independent and their distributions are
known (see `returns`); the chance to win with a card is that its points to come beat the best of
the opponents' final scores, ties counted half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.compiled import compile_ruleset
from yahtzee_env.dice import (
    FIVE_ALIKE,
    HOLD_LEGAL,
    KEEP_INDEX,
    N_HOLDS,
    N_KEEPS,
    N_PARTIAL_KEEPS,
    N_ROLLS,
)
from yahtzee_env.game import Positions
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import REROLLS, is_over, legal_boxes
from yahtzee_env.solver.endings import Endings, expect_lane, next_card, optimal_choices
from yahtzee_env.solver.rows import card_rows
from yahtzee_env.solver.solution import Solution
from yahtzee_env.solver.turn import PAIRS, PLAIN_ROLL, Outcomes


class WinningChances:
    """The chance to win of every action in a match.

    Args:
        solution: of the rules; its distributions are computed now if they are not kept.
    """

    def __init__(self, solution: Solution) -> None:
        self._compiled = compile_ruleset(solution.ruleset)
        self._tables = (
            Outcomes.of(solution.ruleset),
            Endings.of(solution.ruleset),
            solution.card_values,
            card_rows(solution.ruleset).of_card,
            tuple(solution.returns().layers),
        )

    def of_actions(
        self, positions: Positions, opponents: NDArray[np.void], this_turn: bool
    ) -> NDArray[np.float64]:
        """(n, actions) float64: the chance to win after each action; NaN where it is illegal.

        Against several opponents a tie for the first place counts half, however many share it.

        Args:
            positions: of n players to move.
            opponents: (n, opponents) `match.CARD` records, at least one opponent.
            this_turn: whether the rest of this turn is played for the chance to win. Otherwise it
                is played for the mean, as are all later turns and those of the opponents.
        """
        chances = np.full((len(positions), positions.n_actions), np.nan)
        _write_chances(
            self._compiled, *self._tables, positions.records, opponents, this_turn, chances
        )
        return chances


@kernel
def _write_chances(
    compiled, outcomes, endings, values, row_of_card, layers, games, opponents, this_turn, chances
):
    rules = compiled[0]
    last = values.shape[2] - 1
    ended = np.empty(len(endings.box))
    block, means = np.empty((N_KEEPS, 1)), np.empty((N_KEEPS, 1))
    best, boxes = np.empty(N_KEEPS, np.int64), np.empty(N_ROLLS, np.int64)
    choices = np.empty((REROLLS + 1, N_ROLLS), np.int64)
    for i in range(len(games)):
        game = games[i]
        if is_over(rules, game):
            continue
        low, wins = _wins_by_total(opponents[i], row_of_card, layers, last)
        card = (game.filled, game.five_scored, min(game.upper, last))
        after = layers[_count(game.filled) + 1]
        ahead = game.score - low
        _end(rules, endings, row_of_card, after, game, card, ahead, wins, ended)
        legal = legal_boxes(rules, game.filled, game.five_scored, game.roll)
        for box in range(rules.n_boxes):
            if legal >> box & 1:
                chances[i, N_HOLDS + box] = ended[endings.number[box, game.roll]]
        if game.rolls_left == 0:
            continue
        if this_turn:
            _fill_best(rules, endings, game, ended, block)
        else:
            optimal_choices(rules, outcomes, values, card, means, best, boxes, choices)
            _follow(choices[0], endings, ended, block)
        for rolls_left in range(1, game.rolls_left + 1):
            expect_lane(block)
            if rolls_left < game.rolls_left and this_turn:
                _keep_best(block)
            elif rolls_left < game.rolls_left:
                _follow(choices[rolls_left], endings, ended, block)
        for hold in range(N_HOLDS):
            if HOLD_LEGAL[game.roll, hold]:
                chances[i, hold] = block[KEEP_INDEX[game.roll, hold], 0]


@kernel
def _count(bits):
    n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n


@kernel
def _wins_by_total(opponents, row_of_card, layers, last):
    """The chance that a final score wins: the first score, and the chances from it on.

    Below the first score it is 0, beyond the last one it is 1.
    """
    low, high = 0, 0
    for opponent in opponents:
        layer = layers[_count(opponent.filled)]
        row = row_of_card[opponent.filled, opponent.five_scored, min(opponent.upper, last)]
        start = opponent.score + layer.first[row]
        low = max(low, start)
        high = max(high, start + layer.begin[row + 1] - layer.begin[row])
    below, at_most = np.ones(high - low), np.ones(high - low)
    for opponent in opponents:
        layer = layers[_count(opponent.filled)]
        row = row_of_card[opponent.filled, opponent.five_scored, min(opponent.upper, last)]
        mass = layer.probabilities[layer.begin[row] : layer.begin[row + 1]]
        skipped = low - opponent.score - layer.first[row]
        scale = 1.0 / mass.sum()
        cumulative = mass[:skipped].sum() * scale
        for score in range(high - low):
            below[score] *= cumulative
            if skipped + score < len(mass):
                cumulative += mass[skipped + score] * scale
            at_most[score] *= cumulative
    return low, (below + at_most) / 2.0


@kernel
def _end(rules, endings, row_of_card, after, game, card, ahead, wins, ended):
    """Write the chance to win of each ending of the turn that may be needed."""
    for ending in range(len(ended)):
        box = endings.box[ending]
        ended[ending] = 0.0
        if game.filled >> box & 1:
            continue
        if game.rolls_left == 0 and endings.number[box, game.roll] != ending:
            continue
        _, gained, next_one = next_card(rules, endings, ending, card, row_of_card.shape[2] - 1)
        row = row_of_card[next_one]
        # A box that the rules never allow with this roll may lead to a card that cannot occur.
        if row >= 0:
            mass = after.probabilities[after.begin[row] : after.begin[row + 1]]
            ended[ending] = _chance(mass, ahead + gained + after.first[row], wins)


@kernel
def _chance(mass, start, wins):
    """The chance to win when the first probability is for number `start` of `wins`."""
    begin = min(max(-start, 0), len(mass))
    end = min(max(len(wins) - start, begin), len(mass))
    won, total = 0.0, 0.0
    for i in range(begin):
        total += mass[i]
    # Four sums at once, since each addition waits for the one before it.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, f, g, h = 0.0, 0.0, 0.0, 0.0
    fours = begin + (end - begin) // 4 * 4
    for i in range(begin, fours, 4):
        at = start + i
        a += mass[i] * wins[at]
        b += mass[i + 1] * wins[at + 1]
        c += mass[i + 2] * wins[at + 2]
        d += mass[i + 3] * wins[at + 3]
        e += mass[i]
        f += mass[i + 1]
        g += mass[i + 2]
        h += mass[i + 3]
    won += a + b + c + d
    total += e + f + g + h
    for i in range(fours, end):
        won += mass[i] * wins[start + i]
        total += mass[i]
    for i in range(end, len(mass)):
        won += mass[i]
        total += mass[i]
    return won / total


@kernel
def _fill_best(rules, endings, game, ended, block):
    """Set each roll, with no reroll left, to the best box."""
    plain = legal_boxes(rules, game.filled, game.five_scored, PLAIN_ROLL)
    for roll in range(N_ROLLS):
        legal = plain
        if FIVE_ALIKE[roll]:
            legal = legal_boxes(rules, game.filled, game.five_scored, roll)
        most = 0.0
        for box in range(rules.n_boxes):
            if legal >> box & 1:
                most = max(most, ended[endings.number[box, roll]])
        block[N_PARTIAL_KEEPS + roll, 0] = most


@kernel
def _keep_best(block):
    """Set each roll, with one more reroll, to the best keep within it."""
    for pair in range(len(PAIRS[0])):
        keep, fewer = PAIRS[0, pair], PAIRS[1, pair]
        block[keep, 0] = max(block[keep, 0], block[fewer, 0])


@kernel
def _follow(choices, endings, ended, block):
    """Set each roll to the value of its choice: a box, or a keep in `block`."""
    for roll in range(N_ROLLS):
        choice = choices[roll]
        if choice < N_KEEPS:
            block[N_PARTIAL_KEEPS + roll, 0] = block[choice, 0]
        else:
            block[N_PARTIAL_KEEPS + roll, 0] = ended[endings.number[choice - N_KEEPS, roll]]
