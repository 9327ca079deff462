"""A reinforcement-learning lab for the Yahtzee family of dice games, with exact ground truth.

Importing the package registers its environments: ``Yahtzee-v0``, ``Yacht-v0``, ``Yatzy-v0`` and
``Kismet-v0``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import register

if TYPE_CHECKING:
    from yahtzee_env.envs import YahtzeeEnv as YahtzeeEnv
    from yahtzee_env.envs import YahtzeeVectorEnv as YahtzeeVectorEnv
    from yahtzee_env.evaluation import compare as compare
    from yahtzee_env.evaluation import duel as duel
    from yahtzee_env.evaluation import evaluate as evaluate
    from yahtzee_env.evaluation import policy_solution as policy_solution
    from yahtzee_env.evaluation import policy_value as policy_value
    from yahtzee_env.evaluation import tournament as tournament
    from yahtzee_env.family import RULESETS as RULESETS
    from yahtzee_env.family import get_ruleset as get_ruleset
    from yahtzee_env.family import score as score
    from yahtzee_env.game import State as State
    from yahtzee_env.observation import observation_names as observation_names
    from yahtzee_env.policies import load_policy as load_policy
    from yahtzee_env.policies import register_policy as register_policy
    from yahtzee_env.rules import Box as Box
    from yahtzee_env.rules import Ruleset as Ruleset
    from yahtzee_env.solver import solve as solve

__version__ = "0.1.0"

_HOMES = {
    "YahtzeeEnv": "envs",
    "YahtzeeVectorEnv": "envs",
    "State": "game",
    "observation_names": "observation",
    "RULESETS": "family",
    "Box": "rules",
    "Ruleset": "rules",
    "get_ruleset": "family",
    "score": "family",
    "solve": "solver",
    "load_policy": "policies",
    "register_policy": "policies",
    "evaluate": "evaluation",
    "policy_solution": "evaluation",
    "policy_value": "evaluation",
    "compare": "evaluation",
    "duel": "evaluation",
    "tournament": "evaluation",
}
"""The module of each public name; imported on first use, so that registering stays quick."""

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


# An agent that reaches 95 % of the optimum (see docs/rules.md) counts as having solved the game.
for _name, _threshold in {
    "yahtzee": 241.9,
    "yacht": 161.3,
    "yatzy": 236.0,
    "kismet": 299.4,
}.items():
    register(
        id=f"{_name.capitalize()}-v0",
        entry_point="yahtzee_env.envs:YahtzeeEnv",
        vector_entry_point="yahtzee_env.envs:YahtzeeVectorEnv",
        reward_threshold=_threshold,
        kwargs={"ruleset": _name},
    )
