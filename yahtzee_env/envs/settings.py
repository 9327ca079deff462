"""The arguments that the single and the vector environment share, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from yahtzee_env.dice import N_DICE, N_FACES, N_HOLDS, ROLLS
from yahtzee_env.family import get_ruleset
from yahtzee_env.game import Games, Positions
from yahtzee_env.kernels import REROLLS
from yahtzee_env.observation import observation_bounds
from yahtzee_env.rendering import RENDERERS
from yahtzee_env.rules import Ruleset

ObservationKind = Literal["flat", "dict"]
IllegalAction = Literal["ignore", "penalty", "raise"]
MaskDtype = Literal["int8", "bool"]

MAX_ILLEGAL = 100
"""Illegal actions after which an episode is truncated."""


@dataclass(frozen=True)
class Settings:
    """The checked arguments of an environment; see `YahtzeeEnv`.

    Raises:
        ValueError: for a value that is not allowed, with those that are.
    """

    ruleset: Ruleset
    observation: ObservationKind
    mask_key: str | None
    observation_key: str
    mask_dtype: MaskDtype
    illegal_action: IllegalAction
    illegal_reward: float
    render_mode: str | None

    def __post_init__(self) -> None:
        for name, allowed in (
            ("observation", get_args(ObservationKind)),
            ("mask_dtype", get_args(MaskDtype)),
            ("illegal_action", get_args(IllegalAction)),
            ("render_mode", (None, *RENDERERS)),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}")
        if self.mask_key == self.observation_key:
            raise ValueError(f"mask_key and observation_key must differ, not {self.mask_key!r}")
        if not isinstance(self.illegal_reward, Real) or not isfinite(self.illegal_reward):
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
        space = flat_space if self.observation == "flat" else raw_space
        if self.mask_key is None:
            return space(self.ruleset)
        n_actions = int(self.action_space().n)
        mask_space = spaces.Box(0, 1, (n_actions,), np.dtype(self.mask_dtype).type)
        return spaces.Dict({self.observation_key: space(self.ruleset), self.mask_key: mask_space})

    def observe(self, games: Games) -> tuple[Any, NDArray[np.int8]]:
        """The observations of all games, and the action masks, (n, actions) int8."""
        features, masks = games.observe()
        observations = features if self.observation == "flat" else raw_observation(games)
        if self.mask_key is None:
            return observations, masks
        return {
            self.observation_key: observations,
            self.mask_key: masks.astype(self.mask_dtype),
        }, masks


def env_ruleset(ruleset: str | Ruleset | Mapping[str, Any], env: str) -> Ruleset:
    """The rule set of an environment's argument.

    Raises:
        ValueError: for an unknown rule set, or for a dictionary of all arguments, which RLlib
            passes to a class.
    """
    if isinstance(ruleset, Mapping) and "boxes" not in ruleset:
        raise ValueError(
            f"{env} takes keyword arguments, not {dict(ruleset)!r}: write {env}(**config); "
            'for RLlib, .environment("yahtzee_env:Yahtzee-v0", env_config=config)'
        )
    return get_ruleset(ruleset)


def flat_space(ruleset: Ruleset) -> spaces.Box:
    """The space of the flat observation."""
    low, high = observation_bounds(ruleset)
    return spaces.Box(low, high, dtype=np.float32)


def raw_space(ruleset: Ruleset) -> spaces.Dict:
    """The space of the raw observation."""
    most = [max(*box.scores, box.joker_score or 0) for box in ruleset.boxes]
    high_card = np.array(most, np.int16)
    return spaces.Dict(
        {
            "dice": spaces.Box(1, N_FACES, (N_DICE,), np.int8),
            "rolls_left": spaces.Discrete(REROLLS + 1),
            "card": spaces.Box(np.full_like(high_card, -1), high_card, dtype=np.int16),
        }
    )


def raw_observation(positions: Positions) -> dict[str, NDArray[Any]]:
    """The raw observations: dice, rolls left, and the card with -1 in open boxes."""
    n_boxes = len(positions.ruleset.boxes)
    records = positions.records
    filled = records["filled"][:, None] >> np.arange(n_boxes) & 1
    return {
        "dice": ROLLS[records["roll"]],
        "rolls_left": records["rolls_left"].astype(np.int64),
        "card": np.where(filled == 1, records["scores"][:, :n_boxes], -1).astype(np.int16),
    }


def row(observations: Any, i: int) -> Any:
    """The observation of game `i` from those of all games."""
    if isinstance(observations, dict):
        return {name: row(values, i) for name, values in observations.items()}
    return observations[i]
