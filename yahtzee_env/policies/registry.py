"""Policies by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from yahtzee_env.policies.adapters import FunctionPolicy, ModelPolicy
from yahtzee_env.policies.base import Policy
from yahtzee_env.policies.baselines import GreedyNoRerollPolicy, GreedyTurnPolicy, RandomPolicy
from yahtzee_env.policies.card_value import OptimalPolicy
from yahtzee_env.policies.rules_of_thumb import RulesOfThumbPolicy
from yahtzee_env.policies.strategist import StrategistPolicy

POLICIES: dict[str, Callable[[], Policy]] = {
    "random": RandomPolicy,
    "greedy-no-reroll": GreedyNoRerollPolicy,
    "greedy-turn": GreedyTurnPolicy,
    "rules-of-thumb": RulesOfThumbPolicy,
    "strategist": StrategistPolicy,
    "optimal": OptimalPolicy,
}
"""The policies that come with the package, the weakest under the official rules first."""


def load_policy(name: str) -> Policy:
    """The policy of a name.

    Raises:
        ValueError: for an unknown name, with those there are.
    """
    if name not in POLICIES:
        raise ValueError(f"unknown policy {name!r}; there are {', '.join(POLICIES)}")
    return POLICIES[name]()


def as_policy(policy: Any) -> Policy:
    """A policy itself, or made of a name, a model with `predict`, or a plain function.

    Raises:
        ValueError: for an unknown name.
        TypeError: for anything else.
    """
    if isinstance(policy, str):
        return load_policy(policy)
    if isinstance(policy, Policy):
        return policy
    if hasattr(policy, "predict"):
        return ModelPolicy(policy, type(policy).__name__)
    if callable(policy):
        return FunctionPolicy(policy, getattr(policy, "__name__", "function"))
    raise TypeError(f"a policy is a Policy, a name, a model or a function, not {policy!r}")
