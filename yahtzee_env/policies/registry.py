"""Policies by name or by file, and the registration of new ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from yahtzee_env.policies.adapters import FunctionPolicy, ModelPolicy, load_sb3_model
from yahtzee_env.policies.base import Policy
from yahtzee_env.policies.baselines import GreedyNoRerollPolicy, GreedyTurnPolicy, RandomPolicy
from yahtzee_env.policies.card_value import OptimalPolicy
from yahtzee_env.policies.duelist import DuelistPolicy
from yahtzee_env.policies.network import AGENT_FILE, load_network
from yahtzee_env.policies.objective import PREFIX, load_objective_policy
from yahtzee_env.policies.rules_of_thumb import RulesOfThumbPolicy
from yahtzee_env.policies.strategist import StrategistPolicy

ENTRY_POINTS = "yahtzee_env.policies"
"""The group of entry points by which other packages register their policies."""

POLICIES: dict[str, Callable[[], Policy]] = {
    "random": RandomPolicy,
    "greedy-no-reroll": GreedyNoRerollPolicy,
    "greedy-turn": GreedyTurnPolicy,
    "rules-of-thumb": RulesOfThumbPolicy,
    "strategist": StrategistPolicy,
    "optimal": OptimalPolicy,
}
"""The policies that play every rule set, by name, the weakest first; registered ones follow."""

MATCH_POLICIES: dict[str, Callable[[], Policy]] = {"duelist": DuelistPolicy}
"""The policies that look at their opponents; alone they play as others do."""

AGENTS = {path.stem: path for path in sorted(Path(__file__).parent.glob("agents/*.npz"))}
"""The files of the trained agents that come with the package, by name."""


def register_policy(name: str, factory: Callable[[], Policy]) -> None:
    """Make a policy available by name in `load_policy` and in every command.

    A package registers its policies for all programs with an entry point of the group
    "yahtzee_env.policies", whose name is that of the policy and whose object is the factory.

    Args:
        name: a new name.
        factory: makes the policy, such as its class; it must play every rule set.

    Raises:
        ValueError: if the name is taken.
    """
    if name in (*POLICIES, *MATCH_POLICIES, *AGENTS):
        raise ValueError(f"there is a policy called {name!r} already")
    POLICIES[name] = factory


def _factory(point: EntryPoint) -> Callable[[], Policy]:
    """Imports the other package only when its policy is asked for."""
    return lambda: point.load()()


def load_policy(name_or_path: str | os.PathLike[str], trust: bool = False) -> Policy:
    """The policy of a name or of a file.

    Args:
        name_or_path: a key of `POLICIES` or `MATCH_POLICIES`; a trained agent ("ppo-yahtzee");
            the best play for another objective, such as "optimal:at-least-300" (the chance of at
            least 300 points) or "optimal:cvar-0.1" (the mean of the worst tenth of all scores);
            the file of an exported agent or the folder of its training run; or the zip file of a
            stable-baselines3 model.
        trust: load a stable-baselines3 file, which can run any code in it. Exported agents hold no
            code and need no trust.

    Raises:
        ValueError: for an unknown name, or a file that is not an agent.
        ImportError: for a zip file without stable-baselines3.
        OSError: if the file cannot be read.
    """
    name, path = os.fspath(name_or_path), Path(name_or_path)
    if name in POLICIES:
        return POLICIES[name]()
    if name in MATCH_POLICIES:
        return MATCH_POLICIES[name]()
    if name in AGENTS:
        return load_network(AGENTS[name])
    if name.startswith(PREFIX):
        return load_objective_policy(name)
    if not path.exists():
        known = ", ".join([*POLICIES, *MATCH_POLICIES, *AGENTS])
        raise ValueError(f"unknown policy {name!r}: choose from {known}, or name an agent's file")
    if path.is_dir():
        if not (path / AGENT_FILE).is_file():
            raise ValueError(f"the folder {path} holds no {AGENT_FILE}")
        return load_network(path / AGENT_FILE)
    if path.suffix == ".zip":
        return load_sb3_model(path, trust)
    return load_network(path)


def as_policy(policy: Any) -> Policy:
    """A policy itself, or one made of a name, a file, a model with `predict`, or a function.

    Raises:
        ValueError: for an unknown name, or a file that is not an agent.
        TypeError: for anything else; for an object with `act`, naming what it lacks.
    """
    if isinstance(policy, str | os.PathLike):
        return load_policy(policy)
    if isinstance(policy, Policy):
        return policy
    if hasattr(policy, "act"):
        missing = [name for name in ("name", "deterministic") if not hasattr(policy, name)]
        raise TypeError(
            f"a policy has act, name and deterministic, but {policy!r} has no "
            f"{' and no '.join(missing)}"
        )
    if hasattr(policy, "predict"):
        return ModelPolicy(policy, type(policy).__name__)
    if callable(policy):
        return FunctionPolicy(policy, getattr(policy, "__name__", "function"))
    raise TypeError(f"a policy is a Policy, a name, a file, a model or a function, not {policy!r}")


for _point in entry_points(group=ENTRY_POINTS):
    register_policy(_point.name, _factory(_point))
