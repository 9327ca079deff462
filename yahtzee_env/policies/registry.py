"""Policies by name."""

from __future__ import annotations

from collections.abc import Callable

from yahtzee_env.policies.base import Policy
from yahtzee_env.policies.baselines import GreedyNoRerollPolicy, GreedyTurnPolicy, RandomPolicy
from yahtzee_env.policies.card_value import OptimalPolicy

POLICIES: dict[str, Callable[[], Policy]] = {
    "random": RandomPolicy,
    "greedy-no-reroll": GreedyNoRerollPolicy,
    "greedy-turn": GreedyTurnPolicy,
    "optimal": OptimalPolicy,
}
"""The policies that come with the package, the weakest first."""


def load_policy(name: str) -> Policy:
    """The policy of a name.

    Raises:
        ValueError: for an unknown name, with those there are.
    """
    if name not in POLICIES:
        raise ValueError(f"unknown policy {name!r}; there are {', '.join(POLICIES)}")
    return POLICIES[name]()
