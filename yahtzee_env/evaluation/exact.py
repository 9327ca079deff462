"""The exact score of a policy, without sampling: its mean, spread and distribution.

The chance of each card is carried forward from the empty one, a turn at a time: the policy is asked
what it does with every roll on every card that it can reach. With the chance go the moments of the
score so far, or all of its distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.compiled import compile_ruleset
from yahtzee_env.dice import N_KEEPS, N_ROLLS, ROLL_PROBABILITIES
from yahtzee_env.evaluation.choices import CARDS_A_BATCH, PolicyChoices
from yahtzee_env.family import get_ruleset
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import REROLLS
from yahtzee_env.policies import as_policy
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.bounds import score_bounds
from yahtzee_env.solver.distribution import Distribution
from yahtzee_env.solver.endings import Endings, carry_choices, next_card
from yahtzee_env.solver.sweep import card_shape, layers


@dataclass(frozen=True)
class PolicyValue:
    """The exact mean and standard deviation of a policy's score, and where the points come from.

    Attributes:
        policy: the name of the policy.
        ruleset: the name of the rule set.
        mean: the expected score.
        std: the standard deviation of the score.
        box_means: the expected points in each box by name.
        cards: how many cards at the start of a turn the policy can reach.
        distribution: the distribution of the score, where it was asked for; else None.
    """

    policy: str
    ruleset: str
    mean: float
    std: float
    box_means: dict[str, float]
    cards: int
    distribution: Distribution | None = None

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain numbers, texts and dictionaries."""
        found = self.distribution
        return {**vars(self), "distribution": None if found is None else found.to_dict()}


def policy_value(
    policy: Any,
    ruleset: str | Ruleset = "yahtzee",
    progress: Callable[[float], None] | None = None,
    distribution: bool = False,
) -> PolicyValue:
    """The exact expected score of a policy.

    Args:
        policy: a `Policy`, or what `evaluate` takes. It must be deterministic or have a method
            `probabilities` (see `policies.StochasticPolicy`), and choose by the position alone:
            what `Positions.observe` shows, and not the score so far.
        ruleset: a rule set or its name.
        progress: called now and then with the share of the work done, about 0 to 1.
        distribution: also compute the distribution of the score, in float64 and with nothing
            left out; takes some hundred megabytes of memory.

    Raises:
        ValueError: for a policy that is neither deterministic nor gives probabilities, an unknown
            name, or an illegal action.
    """
    rules = get_ruleset(ruleset)
    forward = _Forward(PolicyChoices(as_policy(policy), rules), distribution)
    all_filled = 1 << len(rules.boxes)
    begun = 0
    for filled in reversed(layers(len(rules.boxes))):
        for share in forward.play_turn(filled):
            if progress:
                # Sets of filled boxes stand for cards, whose number is known only turn by turn.
                progress((begun + share * len(filled)) / all_filled)
        begun += len(filled)
    return forward.result()


class _Scores(NamedTuple):
    """The joint distribution of the card and the score so far, for two turns.

    Attributes:
        low: the lowest possible score on each card, int32 of `sweep.card_shape`.
        high: the highest one, -1 for cards that cannot occur.
        begin: where the scores of each card begin in the array of its turn, int64.
        now: float64, the chances of the scores from `low` to `high` on the cards of this turn.
        after: those of the next turn.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    begin: NDArray[np.int64]
    now: NDArray[np.float64]
    after: NDArray[np.float64]

    @classmethod
    def at_start(cls, ruleset: Ruleset) -> _Scores:
        low, high = score_bounds(ruleset)
        begin = np.zeros(low.shape, np.int64)
        return cls(low, high, begin, np.empty(0), np.ones(1))

    def next_turn(self, n_filled: int) -> _Scores:
        """Those of the next turn become those of this one; `n_filled` boxes are filled after it."""
        filled = np.arange(len(self.low))
        cards = np.flatnonzero(np.bitwise_count(filled) == n_filled)
        widths = np.where(self.high[cards] >= 0, self.high[cards] - self.low[cards] + 1, 0)
        ends = np.cumsum(widths)
        self.begin[cards] = (ends - widths.ravel()).reshape(widths.shape)
        return self._replace(now=self.after, after=np.zeros(ends[-1]))

    def total(self) -> Distribution:
        """The distribution of the final score."""
        sums = np.zeros(self.high[-1].max() + 1)
        for card in np.argwhere(self.high[-1] >= 0):
            low, high = self.low[-1][tuple(card)], self.high[-1][tuple(card)]
            begin = self.begin[-1][tuple(card)]
            sums[low : high + 1] += self.after[begin : begin + high - low + 1]
        possible = np.flatnonzero(sums)
        return Distribution(int(possible[0]), sums[possible[0] : possible[-1] + 1])


class _Forward:
    """Chances, moments and perhaps distributions of the score so far, by card."""

    def __init__(self, choices: PolicyChoices, distribution: bool) -> None:
        self.choices = choices
        self.ruleset = choices.ruleset
        self.compiled = compile_ruleset(self.ruleset)
        self.endings = Endings.of(self.ruleset)
        # Of each card: its chance, and chance times the mean of the score so far and its square.
        self.moments = np.zeros((*card_shape(self.ruleset), 3))
        self.moments[0, 0, 0, 0] = 1.0
        self.box_means = np.zeros(len(self.ruleset.boxes))
        self.scores = _Scores.at_start(self.ruleset) if distribution else None
        self.cards = 0

    def play_turn(self, filled: NDArray[np.int64]) -> Iterator[float]:
        """Carry the cards with these boxes filled to the next turn; yields the share done."""
        if self.scores is not None:
            self.scores = self.scores.next_turn(int(filled[0]).bit_count() + 1)
        found = np.argwhere(self.moments[filled, :, :, 0] > 0)
        cards = np.column_stack([filled[found[:, 0]], found[:, 1:]])
        self.cards += len(cards)
        batches = np.array_split(cards, -(-len(cards) // CARDS_A_BATCH))
        sums = self.moments, self.box_means, self.scores
        for done, batch in enumerate(batches, start=1):
            _carry(self.compiled, self.endings, batch, self.choices.on(batch), *sums)
            yield done / len(batches)

    def result(self) -> PolicyValue:
        chance, mean, square = self.moments[-1].sum(axis=(0, 1))
        if abs(chance - 1.0) > 1e-9:
            raise ArithmeticError(f"the chances of all final cards sum to {chance}, not to 1")
        return PolicyValue(
            self.choices.policy.name,
            self.ruleset.name,
            float(mean),
            float(np.sqrt(max(square - mean**2, 0.0))),
            dict(zip(self.ruleset.box_names, self.box_means.tolist(), strict=True)),
            self.cards,
            None if self.scores is None else self.scores.total(),
        )


@kernel
def _carry(compiled, endings, cards, choices, moments, box_means, scores):
    rules = compiled[0]
    last = moments.shape[2] - 1
    ended, kept, chances = np.empty(len(endings.box)), np.empty(N_KEEPS), np.empty(N_ROLLS)
    for i in range(len(cards)):
        card = (cards[i, 0], cards[i, 1], cards[i, 2])
        ended[:] = 0.0
        chances[:] = ROLL_PROBABILITIES
        carry_choices(choices[i], REROLLS, chances, kept, endings, ended)
        for ending in range(len(ended)):
            if ended[ending] > 0.0:
                points, gained, after = next_card(rules, endings, ending, card, last)
                _add_moments(moments[card], moments[after], gained, ended[ending])
                box_means[endings.box[ending]] += ended[ending] * moments[card][0] * points
                if scores is not None:
                    _add_scores(scores, card, after, gained, ended[ending])


@kernel
def _add_moments(before, after, gained, chance):
    after[0] += chance * before[0]
    after[1] += chance * (before[1] + gained * before[0])
    after[2] += chance * (before[2] + gained * (2.0 * before[1] + gained * before[0]))


@kernel
def _add_scores(scores, card, after, gained, chance):
    begin, width = scores.begin[card], scores.high[card] - scores.low[card] + 1
    target = scores.begin[after] + scores.low[card] + gained - scores.low[after]
    now, later = scores.now[begin : begin + width], scores.after[target : target + width]
    for i in range(width):
        later[i] += chance * now[i]
