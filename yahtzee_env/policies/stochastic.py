"""Policies that draw their actions with known probabilities, made of other policies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.game import Positions
from yahtzee_env.policies.base import Policy, StochasticPolicy
from yahtzee_env.policies.baselines import RandomPolicy
from yahtzee_env.policies.network import NetworkPolicy


class SamplingPolicy:
    """Draws each action by `probabilities`, which subclasses give."""

    name: str
    deterministic = False

    def probabilities(self, positions: Positions) -> NDArray[np.float64]:
        """(n, actions) float64: the probability of each action, 0 for illegal ones."""
        raise NotImplementedError

    def act(self, positions: Positions, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: an action of each position, drawn by its probability."""
        cumulative = self.probabilities(positions).cumsum(axis=1)
        drawn = rng.random(len(positions)) * cumulative[:, -1]
        actions: NDArray[np.int64] = (cumulative > drawn[:, None]).argmax(axis=1)
        return actions


class SoftmaxPolicy(SamplingPolicy):
    """A network that draws among the legal actions by the softmax of its outputs.

    For an agent trained with PPO at temperature 1 this is the policy that the training improved.

    Args:
        network: the network.
        temperature: what the outputs are divided by; the higher, the more even the choice.

    Raises:
        ValueError: for a temperature that is not above 0.
    """

    def __init__(self, network: NetworkPolicy, temperature: float = 1.0) -> None:
        if not temperature > 0.0:
            raise ValueError(f"the temperature must be above 0, not {temperature}")
        self.network = network
        self.temperature = temperature
        self.name = f"{network.name}-softmax"

    def probabilities(self, positions: Positions) -> NDArray[np.float64]:
        """(n, actions) float64: the softmax over the legal outputs.

        Raises:
            ValueError: for positions of another rule set than the network's.
        """
        outputs = self.network.legal_outputs(positions).astype(np.float64) / self.temperature
        weights = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        shares: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return shares


class MixturePolicy(SamplingPolicy):
    """Draws one of several policies for each decision, and takes its action.

    Args:
        policies: the policies.
        weights: how likely each of them is; they are scaled to sum to 1.

    Raises:
        ValueError: for weights that are negative, all 0 or not one a policy, or for a policy
            without probabilities.
    """

    def __init__(self, policies: Sequence[Policy], weights: Sequence[float]) -> None:
        if len(weights) != len(policies) or min(weights, default=-1) < 0 or sum(weights) <= 0:
            raise ValueError(
                f"a mixture of {len(policies)} policies needs as many weights of at least 0, "
                f"not {list(weights)}"
            )
        for policy in policies:
            check_probabilities_known(policy)
        self.policies = tuple(policies)
        self.weights = tuple(weight / sum(weights) for weight in weights)
        self.name = "+".join(policy.name for policy in policies)

    def probabilities(self, positions: Positions) -> NDArray[np.float64]:
        """(n, actions) float64: the weighted mean of the policies' probabilities."""
        mixed = np.zeros((len(positions), positions.n_actions))
        for policy, weight in zip(self.policies, self.weights, strict=True):
            mixed += weight * action_probabilities(policy, positions)
        return mixed


class EpsilonGreedyPolicy(MixturePolicy):
    """A uniformly random legal action with probability epsilon, else the action of a policy.

    Raises:
        ValueError: for an epsilon that is not from 0 to 1, or a policy without probabilities.
    """

    def __init__(self, policy: Policy, epsilon: float) -> None:
        if not 0.0 <= epsilon <= 1.0:
            raise ValueError(f"epsilon must be from 0 to 1, not {epsilon}")
        super().__init__([RandomPolicy(), policy], [epsilon, 1.0 - epsilon])
        self.name = f"{policy.name}-epsilon-{epsilon:g}"


def action_probabilities(policy: Policy, positions: Positions) -> NDArray[np.float64]:
    """(n, actions) float64: the probability that a policy takes each action.

    Raises:
        ValueError: for a policy that is not deterministic and gives no probabilities.
    """
    if isinstance(policy, StochasticPolicy):
        return policy.probabilities(positions)
    check_probabilities_known(policy)
    certain = np.zeros((len(positions), positions.n_actions))
    certain[np.arange(len(positions)), policy.act(positions, np.random.default_rng(0))] = 1.0
    return certain


def check_probabilities_known(policy: Policy) -> None:
    """Refuse a policy that is neither deterministic nor gives its probabilities.

    Raises:
        ValueError: naming the policy; also for one that chooses by the score so far.
    """
    if getattr(policy, "depends_on_score", False):
        raise ValueError(
            f"{policy.name} chooses by the score so far: exact values are computed only for "
            "policies that do not"
        )
    if not policy.deterministic and not isinstance(policy, StochasticPolicy):
        raise ValueError(
            f"{policy.name} is neither deterministic nor has a method `probabilities`: "
            "only such policies have exact values"
        )
