"""What the single and the vector environment have in common: spaces and checked arguments."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, get_args

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from yahtzee_env.dice import N_DICE, N_FACES, N_HOLDS, ROLLS
from yahtzee_env.envs.rendering import RENDERERS
from yahtzee_env.game import Games
from yahtzee_env.kernels import REROLLS
from yahtzee_env.observation import observation_bounds
from yahtzee_env.rules import Ruleset

ObservationKind = Literal["flat", "dict"]
IllegalAction = Literal["ignore", "penalty", "raise"]

MAX_ILLEGAL = 100
"""Illegal actions after which an episode is truncated."""


@dataclass(frozen=True)
class Settings:
    """The checked arguments of an environment.

    Raises:
        ValueError: for an unknown value, with those there are.
    """

    ruleset: Ruleset
    observation: ObservationKind
    illegal_action: IllegalAction
    illegal_reward: float
    render_mode: str | None

    def __post_init__(self) -> None:
        for name, allowed in (
            ("observation", get_args(ObservationKind)),
            ("illegal_action", get_args(IllegalAction)),
            ("render_mode", (None, *RENDERERS)),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}")
        if not isinstance(self.illegal_reward, int | float) or not isfinite(self.illegal_reward):
            raise ValueError(f"illegal_reward must be a finite number, not {self.illegal_reward!r}")

    @property
    def reward_when_illegal(self) -> float:
        """The reward of an illegal action."""
        return float(self.illegal_reward) if self.illegal_action == "penalty" else 0.0

    def action_space(self) -> spaces.Discrete:
        """Hold codes 0 to 30, then the boxes."""
        return spaces.Discrete(N_HOLDS + len(self.ruleset.boxes))

    def observation_space(self) -> spaces.Space[Any]:
        """The space of one game's observation."""
        if self.observation == "flat":
            return flat_space(self.ruleset)
        most = [max(*box.scores, box.joker_score or 0) for box in self.ruleset.boxes]
        high_card = np.array(most, np.int16)
        return spaces.Dict(
            {
                "dice": spaces.Box(1, N_FACES, (N_DICE,), np.int8),
                "rolls_left": spaces.Discrete(REROLLS + 1),
                "card": spaces.Box(np.full_like(high_card, -1), high_card, dtype=np.int16),
            }
        )


def flat_space(ruleset: Ruleset) -> spaces.Box:
    """The space of the flat observation."""
    low, high = observation_bounds(ruleset)
    return spaces.Box(low, high, dtype=np.float32)


def raw_observation(games: Games) -> dict[str, NDArray[Any]]:
    """The raw observation of every game: dice, rolls left, and the card with -1 in open boxes."""
    n_boxes = len(games.ruleset.boxes)
    records = games.records
    filled = records["filled"][:, None] >> np.arange(n_boxes) & 1
    return {
        "dice": ROLLS[records["roll"]],
        "rolls_left": records["rolls_left"].astype(np.int64),
        "card": np.where(filled == 1, records["scores"][:, :n_boxes], -1).astype(np.int16),
    }
