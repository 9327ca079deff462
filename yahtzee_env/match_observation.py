"""What a player sees in a match: its own game and total, and the opponents' cards.

The features of `observation`, then the player's total, then for each opponent, whoever moves next
first: the total, the upper total, whether the five-alike box holds points (where that matters),
and for each box whether it is open. Totals are divided by `TOTALS_SCALE`.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.family import get_ruleset
from yahtzee_env.game import Positions
from yahtzee_env.observation import observation_bounds, observation_names
from yahtzee_env.rules import Ruleset

TOTALS_SCALE = 100
"""Totals and upper totals are divided by this in the observation."""


@lru_cache(maxsize=64)
def match_observation_names(ruleset: str | Ruleset, num_players: int = 2) -> tuple[str, ...]:
    """The name of each feature that a player of a match observes, in order.

    The first are `observation_names`; the opponents are numbered from 1, whoever moves next first.

    Raises:
        ValueError: for an unknown rule set.
    """
    ruleset = get_ruleset(ruleset)
    of_card = ["total", "upper_total"]
    if ruleset.tracks_five_alike:
        of_card.append(f"{ruleset.five_alike_box}_holds_points")
    of_card += [f"open_{box}" for box in ruleset.box_names]
    of_opponents = [f"opponent_{i}_{name}" for i in range(1, num_players) for name in of_card]
    return (*observation_names(ruleset), "total", *of_opponents)


def match_observation_bounds(
    ruleset: Ruleset, num_players: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The lowest and the highest value of each feature, two float32 vectors."""
    most = {box.name: max(*box.scores, box.joker_score or 0) for box in ruleset.boxes}
    highest = {
        "total": sum(most.values())
        + sum(pays for _, pays in ruleset.bonus_steps)
        + ruleset.extra_bonus * len(ruleset.boxes),
        "upper_total": sum(most[box.name] for box in ruleset.boxes if box.face),
    }
    own_low, own_high = observation_bounds(ruleset)
    names = match_observation_names(ruleset, num_players)[len(own_low) :]
    scaled = {name: points / TOTALS_SCALE for name, points in highest.items()}
    high = [scaled.get(re.sub(r"^opponent_\d+_", "", name), 1.0) for name in names]
    return (
        np.concatenate([own_low, np.zeros(len(names))], dtype=np.float32),
        np.concatenate([own_high, high], dtype=np.float32),
    )


def observe_match(
    positions: Positions, opponents: NDArray[np.void]
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """New arrays of the observations, (n, features) float32, and action masks, (n, actions) int8.

    Args:
        positions: the own positions of n players to move.
        opponents: (n, players - 1) `match.CARD` records, whoever moves next first.
    """
    own, masks = positions.observe()
    n, ruleset = len(positions), positions.ruleset
    columns = [opponents[name][..., None] / TOTALS_SCALE for name in ("score", "upper")]
    if ruleset.tracks_five_alike:
        columns.append(opponents["five_scored"][..., None])
    columns.append(opponents["filled"][..., None] >> np.arange(len(ruleset.boxes)) & 1 == 0)
    of_opponents = np.concatenate(columns, axis=-1, dtype=np.float32).reshape(n, -1)
    total = positions.records["score"][:, None] / TOTALS_SCALE
    return np.concatenate([own, total, of_opponents], axis=1, dtype=np.float32), masks
