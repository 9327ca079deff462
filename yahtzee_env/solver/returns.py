"""The distribution of the points to come under optimal play, for every card.

The choices of the optimal player give the chance of each ending of the turn (see `endings`); an
ending adds its points to the distribution of the card that it leaves. Rows are kept as float32 and
added up as float64. Values so far out that their probability is negligible are left out of a row;
their probability is moved to the first or the last value that is kept, and noted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.compiled import compile_ruleset
from yahtzee_env.dice import N_KEEPS, N_ROLLS, ROLL_PROBABILITIES
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import REROLLS, is_over
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.distribution import Distribution
from yahtzee_env.solver.endings import (
    Endings,
    carry_choices,
    choice_number,
    end_after,
    next_card,
    optimal_choices,
)
from yahtzee_env.solver.rows import card_rows
from yahtzee_env.solver.turn import Outcomes

MOST_LUMPED = 1e-6
"""The probability moved to the ends of a row, at most, that of the rows it is made of included."""

CARDS_A_CHUNK = 64
CHUNKS_A_THREAD = 8
"""Chunks that a thread does before all results so far are joined."""


class Layer(NamedTuple):
    """Distributions of the cards with equally many filled boxes, one row a kind of card.

    Attributes:
        first: (rows,) int32: the points that the first probability of a row is for.
        begin: (rows + 1,) int64: where each row begins in `probabilities`.
        lumped: (rows,) float32: the probability moved to the ends, in this turn and the later ones.
        probabilities: float32, row after row.
    """

    first: NDArray[np.int32]
    begin: NDArray[np.int64]
    lumped: NDArray[np.float32]
    probabilities: NDArray[np.float32]


class Returns:
    """The distribution of the points to come under optimal play, in any position.

    Probabilities are exact but for their storage as float32, about 1e-7 of each, and for what was
    moved to the ends of a distribution, at most `MOST_LUMPED`.

    Attributes:
        layers: the rows of all cards, by number of filled boxes.
    """

    def __init__(
        self, ruleset: Ruleset, values: NDArray[np.float64], layers: Sequence[Layer]
    ) -> None:
        self._values = values
        self.layers = layers
        self._row_of_card = card_rows(ruleset).of_card
        self._compiled = compile_ruleset(ruleset)
        self._outcomes, self._endings = Outcomes.of(ruleset), Endings.of(ruleset)

    def of_position(self, game: np.void) -> Distribution:
        """The points to come from the position of a `kernels.GAME` record."""
        if is_over(self._compiled[0], game):
            return Distribution(0, np.ones(1))
        choices = self._choices(game)
        return self._of_choice(game, choices, choices[game["rolls_left"], game["roll"]])

    def of_card(self, filled: int, five_scored: int, upper: int) -> Distribution:
        """The points to come on a card at the start of a turn, before its first roll."""
        layer = self.layers[filled.bit_count()]
        row = self._row_of_card[filled, five_scored, upper]
        mixed = layer.probabilities[layer.begin[row] : layer.begin[row + 1]].astype(np.float64)
        return Distribution(int(layer.first[row]), mixed / mixed.sum(), float(layer.lumped[row]))

    def of_actions(self, game: np.void, legal: NDArray[np.int64]) -> dict[int, Distribution]:
        """The points to come after each of the legal actions."""
        choices = self._choices(game)
        numbers = choice_number(np.full(len(legal), game["roll"]), legal)
        return {
            action: self._of_choice(game, choices, number)
            for action, number in zip(legal.tolist(), numbers, strict=True)
        }

    def _choices(self, game: np.void) -> NDArray[np.int64]:
        card = self._card(game)
        choices: NDArray[np.int64]
        choices = _choices_on(self._compiled, self._outcomes, self._values, card)
        return choices

    def _of_choice(
        self, game: np.void, choices: NDArray[np.int64], choice: np.int64
    ) -> Distribution:
        ended = end_after(choices, game["roll"], game["rolls_left"], choice, self._endings)
        card = self._card(game)
        after = self.layers[int(game["filled"]).bit_count() + 1]
        first, mixed, lumped = mix_endings(
            self._compiled[0], self._endings, ended, card, self._row_of_card, after
        )
        kept = np.flatnonzero(mixed)
        return Distribution(first + int(kept[0]), mixed[kept[0] : kept[-1] + 1], lumped)

    def _card(self, game: np.void) -> tuple[int, int, int]:
        upper = min(int(game["upper"]), self._values.shape[2] - 1)
        return int(game["filled"]), int(game["five_scored"]), upper


def return_layers(
    ruleset: Ruleset,
    values: NDArray[np.float64],
    progress: Callable[[float], None] | None = None,
) -> list[Layer]:
    """The distributions of all cards, by number of filled boxes.

    Args:
        ruleset: the rules.
        values: the values of all cards, from `sweep.sweep`.
        progress: called now and then with the share of the work done, 0 to 1.
    """
    rows = card_rows(ruleset)
    n_over = len(rows.layers[-1])
    ends = np.zeros(n_over, np.int32), np.arange(n_over + 1), np.zeros(n_over, np.float32)
    layers = [Layer(*ends, np.ones(n_over, np.float32))]
    fixed = compile_ruleset(ruleset), Outcomes.of(ruleset), Endings.of(ruleset), values
    todo, done = sum(map(len, rows.layers)), n_over
    threads = os.cpu_count() or 1
    with ThreadPoolExecutor(threads) as pool:
        for cards in rows.layers[-2::-1]:
            chunks = np.array_split(cards, -(-len(cards) // CARDS_A_CHUNK))
            # In proportion to the rows of a layer: that takes the least memory.
            negligible = MOST_LUMPED / 2 * len(cards) / todo
            work = (*fixed, rows.of_card, layers[-1], negligible)
            joining = _Joining()
            for i in range(0, len(chunks), CHUNKS_A_THREAD * threads):
                some = chunks[i : i + CHUNKS_A_THREAD * threads]
                for part in pool.map(_mix_chunk, some, *map(repeat, work)):
                    joining.add(part)
                    done += len(part.first)
                if progress:
                    progress(done / todo)
            layers.append(joining.layer())
    return layers[::-1]


class _Joining:
    """A layer that grows in place, so that its long array is never held twice."""

    def __init__(self) -> None:
        self.first: list[NDArray[np.int32]] = []
        self.widths: list[NDArray[np.int64]] = []
        self.lumped: list[NDArray[np.float32]] = []
        self.size = 0
        self.probabilities = np.empty(0, np.float32)

    def add(self, part: Layer) -> None:
        begin, self.size = self.size, self.size + len(part.probabilities)
        if self.size > len(self.probabilities):
            self.probabilities.resize(self.size + self.size // 8, refcheck=False)
        self.probabilities[begin : self.size] = part.probabilities
        self.first.append(part.first)
        self.widths.append(np.diff(part.begin))
        self.lumped.append(part.lumped)

    def layer(self) -> Layer:
        self.probabilities.resize(self.size, refcheck=False)
        begin = np.concatenate([[0], *self.widths]).cumsum()
        first, lumped = np.concatenate(self.first), np.concatenate(self.lumped)
        return Layer(first, begin, lumped, self.probabilities)


def _mix_chunk(
    cards: NDArray[np.int64],
    compiled: NDArray[np.void],
    outcomes: Outcomes,
    endings: Endings,
    values: NDArray[np.float64],
    row_of_card: NDArray[np.int32],
    after: Layer,
    negligible: float,
) -> Layer:
    """The rows of some cards of one layer."""
    # The same size for every chunk of a layer, so that memory that was freed fits the next one.
    widest = int(np.diff(after.begin).max()) + most_gained(compiled)
    part = Layer(
        np.empty(len(cards), np.int32),
        np.zeros(len(cards) + 1, np.int64),
        np.empty(len(cards), np.float32),
        np.empty(CARDS_A_CHUNK * widest, np.float32),
    )
    _mix_cards(cards, compiled, outcomes, endings, values, row_of_card, after, negligible, part)
    return part._replace(probabilities=part.probabilities[: part.begin[-1]])


def most_gained(compiled: NDArray[np.void]) -> int:
    """The most points that one turn can gain."""
    rules = compiled[0]
    return int(rules["points"].max() + rules["step_pays"].sum() + rules["extra_bonus"])


@kernel
def _choices_on(compiled, outcomes, values, card):
    """The optimal choices of a turn, (3, 252) int64."""
    block, best = np.empty((N_KEEPS, 1)), np.empty(N_KEEPS, np.int64)
    boxes, choices = np.empty(N_ROLLS, np.int64), np.empty((REROLLS + 1, N_ROLLS), np.int64)
    optimal_choices(compiled[0], outcomes, values, card, block, best, boxes, choices)
    return choices


@kernel
def _mix_cards(cards, compiled, outcomes, endings, values, row_of_card, after, negligible, part):
    rules = compiled[0]
    block, kept = np.empty((N_KEEPS, 1)), np.empty(N_KEEPS)
    best, boxes = np.empty(N_KEEPS, np.int64), np.empty(N_ROLLS, np.int64)
    choices = np.empty((REROLLS + 1, N_ROLLS), np.int64)
    ended = np.empty(len(endings.box))
    chances = np.empty(N_ROLLS)
    for i in range(len(cards)):
        card = (cards[i, 0], cards[i, 1], cards[i, 2])
        optimal_choices(rules, outcomes, values, card, block, best, boxes, choices)
        ended[:] = 0.0
        chances[:] = ROLL_PROBABILITIES
        carry_choices(choices, REROLLS, chances, kept, endings, ended)
        start, mixed, moved = mix_endings(rules, endings, ended, card, row_of_card, after)
        low, high, trimmed = trim(mixed, negligible)
        end = part.begin[i] + high - low
        part.probabilities[part.begin[i] : end] = mixed[low:high]
        part.first[i] = start + low
        part.lumped[i] = moved + trimmed
        part.begin[i + 1] = end


@kernel
def mix_endings(rules, endings, ended, card, row_of_card, after):
    """The distribution of the points to come from the chances of the endings of a turn.

    Returns the first point value, float64 probabilities that sum to 1, and the lumped probability
    of the distributions in `after`.
    """
    last = row_of_card.shape[2] - 1
    low, high = np.int64(2**40), np.int64(-1)
    for ending in range(len(ended)):
        if ended[ending] > 0.0:
            _, gained, next_one = next_card(rules, endings, ending, card, last)
            row = row_of_card[next_one]
            start = after.first[row] + gained
            low = min(low, start)
            high = max(high, start + after.begin[row + 1] - after.begin[row])
    mixed = np.zeros(high - low)
    moved = 0.0
    for ending in range(len(ended)):
        chance = ended[ending]
        if chance > 0.0:
            _, gained, next_one = next_card(rules, endings, ending, card, last)
            row = row_of_card[next_one]
            start = after.first[row] + gained - low
            _add(
                mixed[start:], chance, after.probabilities[after.begin[row] : after.begin[row + 1]]
            )
            moved += chance * after.lumped[row]
    mixed /= mixed.sum()
    return low, mixed, moved


@kernel
def _add(mixed, chance, row):
    for i in range(len(row)):
        mixed[i] += chance * row[i]


@kernel
def trim(mixed, negligible):
    """Move less than the negligible probability from each end to the values next to it.

    Returns the range of values that is left, and the probability moved.
    """
    low, high = 0, len(mixed)
    below, above = 0.0, 0.0
    while below + mixed[low] < negligible:
        below += mixed[low]
        low += 1
    mixed[low] += below
    while above + mixed[high - 1] < negligible:
        above += mixed[high - 1]
        high -= 1
    mixed[high - 1] += above
    return low, high, below + above
