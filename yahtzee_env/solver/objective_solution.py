"""The best play for an objective other than the expected score."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.game import Positions
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver import cache as kept
from yahtzee_env.solver.levels import LevelLayer, Span, label_levels, solve_levels
from yahtzee_env.solver.objectives import Objective, Utility
from yahtzee_env.solver.rows import card_rows
from yahtzee_env.solver.turn import Outcomes
from yahtzee_env.solver.values import PositionValues

EQUAL = 1e-6
"""Values that differ by no more than this share of the larger one, or of 1, count as equal."""


class ObjectiveSolution(PositionValues):
    """The best play of one rule set for an objective, right to about 1e-6 of each value.

    The value of a position is the objective's expectation from there, with the score so far taken
    into account: the chance to reach the points, less the expected shortfall below the goal of
    CVaR, or the expected utility.

    Attributes:
        ruleset: the rules.
        objective: what is maximised.
        start_values: (levels,) float64: the values of the empty card at all levels. For `AtLeast`
            the chances of at least 0, 1, 2, ... points, each by the best policy for it.
    """

    def __init__(
        self, ruleset: Ruleset, objective: Objective, levels: int, layers: Sequence[LevelLayer]
    ) -> None:
        super().__init__(ruleset)
        self.objective = objective
        self._levels, self._layers = levels, layers
        start = layers[0]
        at_start = np.arange(levels) - start.first[0]
        inside = at_start.clip(0, len(start.values) - 1)
        beyond = np.maximum(at_start - inside, 0)
        self.start_values = start.values[inside].astype(np.float64) + start.slope * beyond
        self._start_level = objective.start_level(self.start_values)
        self._outcomes = Outcomes.of(ruleset, objective.monotone)

    def __repr__(self) -> str:
        return (
            f"<Solution of {self.ruleset.name} for {self.objective.name}: {self.start_value:.6f}>"
        )

    @property
    def start_value(self) -> float:
        """The best value of the objective at the start of a game."""
        return self.objective.start_value(self.start_values)

    def for_objective(self, objective: Objective) -> ObjectiveSolution:
        """The solution for another objective that the same table serves, such as other points.

        Raises:
            ValueError: for an objective of another kind.
        """
        if objective.kind != self.objective.kind:
            raise ValueError(
                f"a solution for {self.objective.kind} holds no values for {objective.kind}"
            )
        return ObjectiveSolution(self.ruleset, objective, self._levels, self._layers)

    def _action_values(self, positions: Positions) -> NDArray[np.float64]:
        labels = np.full((len(positions), positions.n_actions), np.nan)
        records = positions.records
        levels = np.maximum(self._start_level - records["score"].astype(np.int64), 0)
        n_filled = np.bitwise_count(records["filled"])
        row_of_card = card_rows(self.ruleset).of_card
        for n in range(len(self.ruleset.boxes)):
            which = np.flatnonzero(n_filled == n)
            fixed = positions.compiled, self._outcomes, row_of_card, self._layers[n + 1]
            label_levels(*fixed, records, which, levels, labels)
        return labels

    def _state_values(self, positions: Positions) -> NDArray[np.float64]:
        values = super()._state_values(positions)
        over = positions.over
        final = self._start_level - positions.records["score"][over].astype(np.int64)
        worth = self.objective.final(self._levels)
        values[over] = worth[np.clip(final, 0, len(worth) - 1)]
        return values


def solve_objective(
    ruleset: Ruleset,
    objective: Objective,
    levels: int,
    cache: bool,
    progress: Callable[[float], None] | None = None,
) -> ObjectiveSolution:
    """The solution for an objective, computed or read from the user's cache folder.

    Raises:
        ValueError: for fewer than 2 levels, or an objective that needs more of them.
        MemoryError: if this machine has less memory than the values take.
    """
    if isinstance(objective, Utility):
        levels = len(objective.utilities)
    if levels < 2:
        raise ValueError(f"an objective needs at least 2 levels, not {levels}")
    final = objective.final(levels)
    kind = f"{objective.kind}-{hashlib.sha256(final.tobytes()).hexdigest()[:16]}"
    found = kept.read(ruleset, kind) if cache else None
    if found is None:
        spans = objective.spans(ruleset, levels)
        _check_memory(spans, levels)
        layers = solve_levels(ruleset, final, objective.slope, spans, objective.monotone, progress)
        if cache:
            kept.write(ruleset, [array for layer in layers for array in layer[:3]], kind)
    else:
        parts = zip(found[::3], found[1::3], found[2::3], strict=True)
        layers = [LevelLayer(*part, objective.slope) for part in parts]
    return ObjectiveSolution(ruleset, objective, levels, layers)


def _check_memory(spans: Sequence[Span], levels: int) -> None:
    needed = sum(int(span.width.sum()) for span in spans) * np.dtype(np.float32).itemsize
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # not known on every system
        return
    if needed > there:
        raise MemoryError(
            f"the values at {levels} levels take {needed / 2**30:.1f} GiB and this machine has "
            f"{there / 2**30:.1f} GiB of memory: use fewer levels"
        )
