"""What can be asked of exact values, whatever they are the values of."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.game import Positions, State
from yahtzee_env.rules import Ruleset


class PositionValues:
    """The value of every action in every position of one rule set.

    The methods take one `State`, or `Positions` (such as `Games`) and then return arrays with a
    row or value for each.

    Attributes:
        ruleset: the rules.
    """

    def __init__(self, ruleset: Ruleset) -> None:
        self.ruleset = ruleset

    @overload
    def action_values(self, position: State) -> NDArray[np.float64]: ...
    @overload
    def action_values(self, position: Positions) -> NDArray[np.float64]: ...
    def action_values(self, position: State | Positions) -> NDArray[np.float64]:
        """The value of each action.

        Returns:
            float64, one value for each action code, (actions,) or (n, actions); NaN where illegal.

        Raises:
            ValueError: for a state that cannot occur, or positions of other rules.
        """
        values = self._action_values(self._positions(position))
        return values[0] if isinstance(position, State) else values

    @overload
    def state_value(self, position: State) -> float: ...
    @overload
    def state_value(self, position: Positions) -> NDArray[np.float64]: ...
    def state_value(self, position: State | Positions) -> float | NDArray[np.float64]:
        """The value of each position.

        Raises:
            ValueError: for a state that cannot occur, or positions of other rules.
        """
        values = self._state_values(self._positions(position))
        return float(values[0]) if isinstance(position, State) else values

    @overload
    def best_action(self, position: State) -> int: ...
    @overload
    def best_action(self, position: Positions) -> NDArray[np.int64]: ...
    def best_action(self, position: State | Positions) -> int | NDArray[np.int64]:
        """The action with the highest value, the first of equal ones.

        Raises:
            ValueError: for a state that cannot occur or a finished game, or positions of other
                rules.
        """
        positions = self._positions(position)
        if positions.over.any():
            raise ValueError("a finished game has no best action")
        best: NDArray[np.int64] = np.nanargmax(self._action_values(positions), axis=1)
        return int(best[0]) if isinstance(position, State) else best

    def _action_values(self, positions: Positions) -> NDArray[np.float64]:
        raise NotImplementedError

    def _state_values(self, positions: Positions) -> NDArray[np.float64]:
        """By default those of the best action, and 0 for a finished game."""
        values = np.zeros(len(positions))
        running = ~positions.over
        if running.any():
            values[running] = np.nanmax(self._action_values(positions)[running], axis=1)
        return values

    def _positions(self, position: State | Positions) -> Positions:
        """The position or positions as an array, of the right rules."""
        if isinstance(position, State):
            return Positions.of(self.ruleset, position)
        if position.ruleset != self.ruleset:
            raise ValueError(
                f"this is the solution of {self.ruleset.name}, the games are of "
                f"{position.ruleset.name}"
            )
        return position
