"""The exact value function of a given policy: policy evaluation by backward induction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.compiled import compile_ruleset
from yahtzee_env.dice import (
    HOLD_LEGAL,
    KEEP_INDEX,
    N_HOLDS,
    N_KEEPS,
    N_PARTIAL_KEEPS,
    N_ROLLS,
    ROLL_PROBABILITIES,
)
from yahtzee_env.evaluation.choices import CARDS_A_BATCH, PolicyChoices
from yahtzee_env.family import get_ruleset
from yahtzee_env.game import Positions
from yahtzee_env.jit import kernel
from yahtzee_env.kernels import REROLLS, legal_boxes
from yahtzee_env.policies import as_policy
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.endings import Endings, expect_lane, next_card
from yahtzee_env.solver.sweep import layers, reachable_cards
from yahtzee_env.solver.values import PositionValues


class PolicySolution(PositionValues):
    """V and Q of one policy in every position, exact to float64 rounding.

    The value of an action is the expectation of the points still to come when the policy plays
    after it: the truth for a critic, for off-policy evaluation and for advantage estimators.
    `best_action` is the greedy improvement of the policy.

    Attributes:
        ruleset: the rules.
        card_values: float64 over cards at the start of a turn, as in `solver.Solution`.
    """

    def __init__(self, choices: PolicyChoices, card_values: NDArray[np.float64]) -> None:
        super().__init__(choices.ruleset)
        self.card_values = card_values
        self._choices = choices
        self._endings = Endings.of(choices.ruleset)

    def __repr__(self) -> str:
        name = self._choices.policy.name
        return f"<PolicySolution of {name} on {self.ruleset.name}: {self.start_value:.6f}>"

    @property
    def start_value(self) -> float:
        """The expected final score of the policy."""
        return float(self.card_values[0, 0, 0])

    def _action_values(self, positions: Positions) -> NDArray[np.float64]:
        return self._label(positions)[0]

    def _state_values(self, positions: Positions) -> NDArray[np.float64]:
        return self._label(positions)[1]

    def _label(self, positions: Positions) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Q, (n, actions), NaN where illegal; and V, (n,), 0 for finished games."""
        action_values = np.full((len(positions), positions.n_actions), np.nan)
        state_values = np.zeros(len(positions))
        records = positions.records
        running = np.flatnonzero(~positions.over)
        upper = np.minimum(records["upper"], self.card_values.shape[2] - 1)
        cards = np.column_stack([records["filled"], records["five_scored"], upper])[running]
        cards, card_of = np.unique(cards, axis=0, return_inverse=True)
        order = np.argsort(card_of.reshape(-1), kind="stable")
        ends = np.searchsorted(card_of.reshape(-1)[order], np.arange(len(cards) + 1))
        for first in range(0, len(cards), CARDS_A_BATCH):
            batch = cards[first : first + CARDS_A_BATCH].astype(np.int64)
            _label_cards(
                positions.compiled,
                self._endings,
                self.card_values,
                batch,
                self._choices.on(batch),
                records,
                running[order],
                ends[first:],
                action_values,
                state_values,
            )
        return action_values, state_values


def policy_solution(
    policy: Any,
    ruleset: str | Ruleset = "yahtzee",
    progress: Callable[[float], None] | None = None,
) -> PolicySolution:
    """The exact values of a given policy in every position that the rules allow.

    Args:
        policy: as for `policy_value`: deterministic, or with a method `probabilities`.
        ruleset: a rule set or its name.
        progress: called now and then with the share of the work done, 0 to 1.

    Raises:
        ValueError: for a policy that is neither deterministic nor gives probabilities, an unknown
            name, or an illegal action.
    """
    rules = get_ruleset(ruleset)
    choices = PolicyChoices(as_policy(policy), rules)
    compiled, endings = compile_ruleset(rules), Endings.of(rules)
    reached = reachable_cards(rules)
    values = np.where(reached, 0.0, np.nan)
    done, todo = 0, int(reached[:-1].sum())
    for filled in layers(len(rules.boxes)):
        found = np.argwhere(reached[filled])
        cards = np.column_stack([filled[found[:, 0]], found[:, 1:]])
        for first in range(0, len(cards), CARDS_A_BATCH):
            batch = cards[first : first + CARDS_A_BATCH]
            _solve_cards(compiled, endings, batch, choices.on(batch), values)
            done += len(batch)
            if progress:
                progress(done / todo)
    return PolicySolution(choices, values)


@kernel
def _solve_cards(compiled, endings, cards, choices, values):
    worth = np.empty(len(endings.box))
    block = np.empty((N_KEEPS, 1))
    for i in range(len(cards)):
        card = (cards[i, 0], cards[i, 1], cards[i, 2])
        _value_endings(compiled[0], endings, values, card, worth)
        for rolls_left in range(REROLLS + 1):
            if rolls_left > 0:
                expect_lane(block)
            _value_rolls(choices[i], rolls_left, endings, worth, block)
        values[card] = (ROLL_PROBABILITIES * block[N_PARTIAL_KEEPS:, 0]).sum()


@kernel
def _label_cards(
    compiled, endings, values, cards, choices, games, order, ends, action_values, state_values
):
    """Write Q and V of the games ``order[ends[i] : ends[i + 1]]``, which are on card i."""
    rules = compiled[0]
    worth = np.empty(len(endings.box))
    block = np.empty((N_KEEPS, 1))
    for i in range(len(cards)):
        card = (cards[i, 0], cards[i, 1], cards[i, 2])
        _value_endings(rules, endings, values, card, worth)
        for rolls_left in range(REROLLS + 1):
            if rolls_left > 0:
                expect_lane(block)
            for index in order[ends[i] : ends[i + 1]]:
                if games[index].rolls_left == rolls_left:
                    _label(rules, endings, games[index], worth, block, action_values[index])
            _value_rolls(choices[i], rolls_left, endings, worth, block)
            for index in order[ends[i] : ends[i + 1]]:
                if games[index].rolls_left == rolls_left:
                    state_values[index] = block[N_PARTIAL_KEEPS + games[index].roll, 0]


@kernel
def _value_endings(rules, endings, values, card, worth):
    """Write the points gained by each ending and the value of the card that it leaves."""
    last = values.shape[2] - 1
    for ending in range(len(worth)):
        worth[ending] = np.nan
        if card[0] >> endings.box[ending] & 1 == 0:
            _, gained, after = next_card(rules, endings, ending, card, last)
            worth[ending] = gained + values[after]


@kernel
def _value_rolls(choices, rolls_left, endings, worth, block):
    """Set the values of the rolls to those under the choices, from the values of the keeps."""
    for roll in range(N_ROLLS):
        # The branch is decided when the kernel is compiled.
        if choices.ndim == 2:
            choice = choices[rolls_left, roll]
            if choice < N_KEEPS:
                value = block[choice, 0]
            else:
                value = worth[endings.number[choice - N_KEEPS, roll]]
        else:
            value = 0.0
            for action in range(choices.shape[2]):
                chance = choices[rolls_left, roll, action]
                if chance > 0.0 and action < N_HOLDS:
                    value += chance * block[KEEP_INDEX[roll, action], 0]
                elif chance > 0.0:
                    value += chance * worth[endings.number[action - N_HOLDS, roll]]
        block[N_PARTIAL_KEEPS + roll, 0] = value


@kernel
def _label(rules, endings, game, worth, block, row):
    if game.rolls_left > 0:
        for hold in range(N_HOLDS):
            if HOLD_LEGAL[game.roll, hold]:
                row[hold] = block[KEEP_INDEX[game.roll, hold], 0]
    legal = legal_boxes(rules, game.filled, game.five_scored, game.roll)
    for box in range(rules.n_boxes):
        if legal >> box & 1:
            row[N_HOLDS + box] = worth[endings.number[box, game.roll]]
