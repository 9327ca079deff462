"""The exact expected score of a deterministic policy, without sampling.

The chance of each card is carried forward from the empty one, a turn at a time: the policy is asked
what it does with every roll that can come up on every card that it can reach. Every roll is a sum
over dice, so that a kept set spreads its chance over the rolls one die at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.compiled import compile_ruleset
from yahtzee_env.dice import (
    KEEP_INDEX,
    N_HOLDS,
    N_KEEPS,
    N_PARTIAL_KEEPS,
    N_ROLLS,
    ONE_DIE_MORE,
    ROLL_PROBABILITIES,
)
from yahtzee_env.family import get_ruleset
from yahtzee_env.game import Positions
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import GAME, REROLLS, placed
from yahtzee_env.policies import Policy, as_policy
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.sweep import card_shape, layers

CARDS_A_BATCH = 64
POSITIONS = (REROLLS + 1) * N_ROLLS
"""Positions within a turn: rolls left 0, 1, 2, and the 252 rolls of each."""


@dataclass(frozen=True)
class PolicyValue:
    """The exact score distribution's mean and standard deviation, and where the points come from.

    Attributes:
        policy: the name of the policy.
        ruleset: the name of the rule set.
        mean: the expected score.
        std: the standard deviation of the score.
        box_means: the expected points in each box by name.
        cards: how many cards at the start of a turn the policy can reach.
    """

    policy: str
    ruleset: str
    mean: float
    std: float
    box_means: dict[str, float]
    cards: int


def policy_value(
    policy: Any,
    ruleset: str | Ruleset = "yahtzee",
    progress: Callable[[float], None] | None = None,
) -> PolicyValue:
    """The exact expected score of a deterministic policy.

    Args:
        policy: a `Policy`, or what `evaluate` takes. It must choose by the position alone: what
            `Positions.observe` shows, and not the score so far.
        ruleset: a rule set or its name.
        progress: called now and then with the share of the work done, about 0 to 1.

    Raises:
        ValueError: for a policy that is not deterministic, an unknown name, or an illegal action.
    """
    player = as_policy(policy)
    if not player.deterministic:
        raise ValueError(f"{player.name} is not deterministic: only such a policy has exact values")
    rules = get_ruleset(ruleset)
    forward = _Forward(player, rules)
    empty = np.zeros((1, 3), np.int64)
    if (forward.ask(empty) != forward.ask(empty)).any():
        raise ValueError(
            f"{player.name} chooses differently when asked twice: it has no exact value"
        )
    all_filled = 1 << len(rules.boxes)
    begun = 0
    for filled in reversed(layers(len(rules.boxes))):
        for share in forward.play_turn(filled):
            if progress:
                # Sets of filled boxes stand for cards, whose number is known only turn by turn.
                progress((begun + share * len(filled)) / all_filled)
        begun += len(filled)
    return forward.result()


class _Forward:
    """Chances and moments of the score so far, by card."""

    def __init__(self, policy: Policy, ruleset: Ruleset) -> None:
        self.policy = policy
        self.ruleset = ruleset
        self.compiled = compile_ruleset(ruleset)
        # Of each card: its chance, and chance times the mean of the score so far and its square.
        self.moments = np.zeros((*card_shape(ruleset), 3))
        self.moments[0, 0, 0, 0] = 1.0
        self.box_means = np.zeros(len(ruleset.boxes))
        self.cards = 0

    def play_turn(self, filled: NDArray[np.int64]) -> Iterator[float]:
        """Carry the cards with these boxes filled on to the next turn; tells the share done."""
        found = np.argwhere(self.moments[filled, :, :, 0] > 0)
        cards = np.column_stack([filled[found[:, 0]], found[:, 1:]])
        self.cards += len(cards)
        batches = np.array_split(cards, -(-len(cards) // CARDS_A_BATCH))
        for done, batch in enumerate(batches, start=1):
            _carry(self.compiled, batch, self.ask(batch), self.moments, self.box_means)
            yield done / len(batches)

    def ask(self, cards: NDArray[np.int64]) -> NDArray[np.int64]:
        """(cards, 3, 252) int64: the policy's action on each card, by rolls left and roll."""
        records = np.zeros((len(cards), REROLLS + 1, N_ROLLS), GAME)
        records["filled"] = cards[:, 0, None, None]
        records["five_scored"] = cards[:, 1, None, None]
        records["upper"] = cards[:, 2, None, None]
        records["rolls_left"] = np.arange(REROLLS + 1)[:, None]
        records["roll"] = np.arange(N_ROLLS)
        positions = Positions(self.ruleset, records.ravel())
        actions = self.policy.act(positions, np.random.default_rng(0))
        positions.check_legal(actions)
        return actions.reshape(records.shape)

    def result(self) -> PolicyValue:
        chance, mean, square = self.moments[-1].sum(axis=(0, 1))
        if abs(chance - 1.0) > 1e-9:
            raise ArithmeticError(f"the chances of all final cards sum to {chance}, not to 1")
        return PolicyValue(
            self.policy.name,
            self.ruleset.name,
            float(mean),
            float(np.sqrt(max(square - mean**2, 0.0))),
            dict(zip(self.ruleset.box_names, self.box_means.tolist(), strict=True)),
            self.cards,
        )


@kernel
def _carry(compiled, cards, actions, moments, box_means):
    rules = compiled[0]
    chances = np.empty((REROLLS + 1, N_ROLLS))
    kept = np.empty(N_KEEPS)
    for i in range(len(cards)):
        filled, five_scored, upper = cards[i]
        chances[:] = 0.0
        chances[REROLLS] = ROLL_PROBABILITIES
        for rolls_left in range(REROLLS, -1, -1):
            kept[:] = 0.0
            for roll in range(N_ROLLS):
                chance = chances[rolls_left, roll]
                action = actions[i, rolls_left, roll]
                if chance == 0.0:
                    continue
                if action < N_HOLDS:
                    kept[KEEP_INDEX[roll, action]] += chance
                else:
                    card = (filled, five_scored, upper)
                    _fill(rules, moments, box_means, card, roll, action - N_HOLDS, chance)
            if rolls_left > 0:
                _throw(kept)
                chances[rolls_left - 1] = kept[N_PARTIAL_KEEPS:]


@kernel
def _throw(kept):
    """Spread the chance of each kept set over the rolls that it can become."""
    for keep in range(N_PARTIAL_KEEPS):
        part = kept[keep] / 6.0
        if part != 0.0:
            for more in ONE_DIE_MORE[keep]:
                kept[more] += part


@kernel
def _fill(rules, moments, box_means, card, roll, box, chance):
    filled, five_scored, upper = card
    points, gained, upper_after, five_after = placed(rules, filled, five_scored, upper, roll, box)
    upper_after = min(upper_after, moments.shape[2] - 1)
    before = moments[filled, five_scored, upper]
    after = moments[filled | 1 << box, five_after, upper_after]
    after[0] += chance * before[0]
    after[1] += chance * (before[1] + gained * before[0])
    after[2] += chance * (before[2] + gained * (2.0 * before[1] + gained * before[0]))
    box_means[box] += chance * before[0] * points
