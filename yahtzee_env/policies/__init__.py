"""Who plays: the protocol, baselines, optimal play, trained agents, adapters, the registry."""

from yahtzee_env.policies.adapters import FunctionPolicy, ModelPolicy
from yahtzee_env.policies.base import MatchPolicy, Policy, StochasticPolicy, act_in_match
from yahtzee_env.policies.baselines import GreedyNoRerollPolicy, GreedyTurnPolicy, RandomPolicy
from yahtzee_env.policies.card_value import CardValuePolicy, OptimalPolicy
from yahtzee_env.policies.duelist import DuelistPolicy
from yahtzee_env.policies.network import NetworkPolicy
from yahtzee_env.policies.objective import ObjectivePolicy
from yahtzee_env.policies.registry import (
    AGENTS,
    MATCH_POLICIES,
    POLICIES,
    as_policy,
    load_policy,
    register_policy,
)
from yahtzee_env.policies.rules_of_thumb import RulesOfThumbPolicy
from yahtzee_env.policies.stochastic import EpsilonGreedyPolicy, MixturePolicy, SoftmaxPolicy
from yahtzee_env.policies.strategist import StrategistPolicy

__all__ = [
    "AGENTS",
    "MATCH_POLICIES",
    "POLICIES",
    "CardValuePolicy",
    "DuelistPolicy",
    "EpsilonGreedyPolicy",
    "FunctionPolicy",
    "GreedyNoRerollPolicy",
    "GreedyTurnPolicy",
    "MatchPolicy",
    "MixturePolicy",
    "ModelPolicy",
    "NetworkPolicy",
    "ObjectivePolicy",
    "OptimalPolicy",
    "Policy",
    "RandomPolicy",
    "RulesOfThumbPolicy",
    "SoftmaxPolicy",
    "StochasticPolicy",
    "StrategistPolicy",
    "act_in_match",
    "as_policy",
    "load_policy",
    "register_policy",
]
