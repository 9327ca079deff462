"""Policies by name or by file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from yahtzee_env.policies.adapters import FunctionPolicy, ModelPolicy, load_sb3_model
from yahtzee_env.policies.base import Policy
from yahtzee_env.policies.baselines import GreedyNoRerollPolicy, GreedyTurnPolicy, RandomPolicy
from yahtzee_env.policies.card_value import OptimalPolicy
from yahtzee_env.policies.network import AGENT_FILE, load_network
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
"""The policies that play every rule set, the weakest under the official rules first."""

AGENTS = {path.stem: path for path in sorted(Path(__file__).parent.glob("agents/*.npz"))}
"""The files of the trained agents that come with the package, by name."""


def load_policy(name_or_path: str | os.PathLike[str], trust: bool = False) -> Policy:
    """The policy of a name or of a file.

    Args:
        name_or_path: a key of `POLICIES`; a trained agent of the package, such as "ppo-yahtzee";
            the file of an exported agent or the folder of the run that made it; or the zip file of
            a stable-baselines3 model.
        trust: let a stable-baselines3 file run the code in it, which loading it does. Exported
            agents hold no code and need no trust.

    Raises:
        ValueError: for an unknown name, with those there are, or for a file that is no agent.
        OSError: if the file cannot be read.
    """
    name, path = os.fspath(name_or_path), Path(name_or_path)
    if name in POLICIES:
        return POLICIES[name]()
    if name in AGENTS:
        return load_network(AGENTS[name])
    if not path.exists():
        known = ", ".join([*POLICIES, *AGENTS])
        raise ValueError(f"unknown policy {name!r}; there are {known}, and the files of agents")
    if path.is_dir():
        if not (path / AGENT_FILE).is_file():
            raise ValueError(f"the folder {path} holds no {AGENT_FILE}")
        return load_network(path / AGENT_FILE)
    if path.suffix == ".zip":
        return load_sb3_model(path, trust)
    return load_network(path)


def as_policy(policy: Any) -> Policy:
    """A policy itself, or made of a name, a file, a model with `predict`, or a plain function.

    Raises:
        ValueError: for an unknown name, or a file that is no agent.
        TypeError: for anything else.
    """
    if isinstance(policy, str | os.PathLike):
        return load_policy(policy)
    if isinstance(policy, Policy):
        return policy
    if hasattr(policy, "predict"):
        return ModelPolicy(policy, type(policy).__name__)
    if callable(policy):
        return FunctionPolicy(policy, getattr(policy, "__name__", "function"))
    raise TypeError(f"a policy is a Policy, a name, a file, a model or a function, not {policy!r}")
