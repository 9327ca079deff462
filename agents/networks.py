"""The networks of the agents: layers that are normalised before their activation.

PPO has two, for the policy and for the value; DQN has one with two heads.
"""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.dqn.policies import QNetwork
from torch import nn

from agents.config import TrainConfig
from agents.masked_categorical import MaskedCategorical
from agents.masked_dqn import MaskableDQNPolicy
from yahtzee_env.observation import observation_names

ACTIVATIONS: dict[str, type[nn.Module]] = {"silu": nn.SiLU, "relu": nn.ReLU, "tanh": nn.Tanh}


def policy_arguments(config: TrainConfig) -> dict[str, Any]:
    """What the policies of both algorithms take of an experiment."""
    network, names = config.network, observation_names(config.ruleset)
    beginnings = tuple(network.hidden_features)
    return {
        "net_arch": list(network.widths),
        "activation_fn": ACTIVATIONS[network.activation],
        "layer_norm": network.layer_norm,
        "features_extractor_class": SeenFeatures,
        "features_extractor_kwargs": {
            "hidden": [i for i, name in enumerate(names) if name.startswith(beginnings)]
        },
    }


class SeenFeatures(BaseFeaturesExtractor):
    """The observation, with zeros in the features that are hidden.

    Args:
        observation_space: of the flat observation.
        hidden: the indices of the hidden features.
    """

    def __init__(self, observation_space: spaces.Box, hidden: list[int]) -> None:
        super().__init__(observation_space, observation_space.shape[0])
        seen = torch.ones(self.features_dim)
        seen[hidden] = 0.0
        self.hides = bool(hidden)
        self.register_buffer("seen", seen, persistent=False)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return observations * self.seen if self.hides else observations


def mlp(
    n_inputs: int, widths: list[int], activation: type[nn.Module], layer_norm: bool
) -> nn.Sequential:
    """Layers of the given widths, each normalised before its activation if so wanted."""
    layers: list[nn.Module] = []
    for width in widths:
        norm = [nn.LayerNorm(width)] if layer_norm else []
        layers += [nn.Linear(n_inputs, width), *norm, activation()]
        n_inputs = width
    return nn.Sequential(*layers)


class TwoNetworks(nn.Module):
    """What stable-baselines3 calls an extractor: the hidden layers of policy and value."""

    def __init__(self, n_inputs: int, widths: list[int], *layers: Any) -> None:
        super().__init__()
        self.policy_net = mlp(n_inputs, widths, *layers)
        self.value_net = mlp(n_inputs, widths, *layers)
        self.latent_dim_pi = self.latent_dim_vf = widths[-1]

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        return self.policy_net(features)

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        return self.value_net(features)


class NormalizedPolicy(MaskableActorCriticPolicy):
    """A maskable policy on `TwoNetworks`, whose value network learns at a speed of its own.

    Args:
        *args: those of the class above.
        value_lr_factor: the learning rate of the value network over that of the policy network.
        layer_norm: normalise before each activation.
        **kwargs: likewise.
    """

    def __init__(
        self, *args: Any, value_lr_factor: float = 1.0, layer_norm: bool = True, **kwargs: Any
    ) -> None:
        self.value_lr_factor, self.layer_norm = value_lr_factor, layer_norm
        super().__init__(*args, **kwargs)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = TwoNetworks(
            self.features_dim, self.net_arch, self.activation_fn, self.layer_norm
        )

    def _build(self, lr_schedule: Any) -> None:
        self.action_dist = MaskedCategorical(int(self.action_space.n))
        super()._build(lr_schedule)
        value = [*self.mlp_extractor.value_net.parameters(), *self.value_net.parameters()]
        policy = [*self.mlp_extractor.policy_net.parameters(), *self.action_net.parameters()]
        groups = [{"params": policy}, {"params": value, "lr_factor": self.value_lr_factor}]
        self.optimizer = self.optimizer_class(groups, lr=lr_schedule(1), **self.optimizer_kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        own = {"value_lr_factor": self.value_lr_factor, "layer_norm": self.layer_norm}
        return super()._get_constructor_parameters() | own


class DuelingNetwork(nn.Module):
    """Action values: what the position is worth, and how actions differ from their average.

    The reward of filling a box is known, so that it is added and not learned.

    Args:
        n_inputs: features of an observation.
        n_actions: actions, those that fill a box last.
        pays: the feature of each box that tells what filling it pays now.
        rewards_per_pay: what these features are in rewards.
        widths: units of each hidden layer.
        *layers: what else `mlp` takes.
    """

    def __init__(
        self,
        n_inputs: int,
        n_actions: int,
        pays: list[int],
        rewards_per_pay: float,
        widths: list[int],
        *layers: Any,
    ) -> None:
        super().__init__()
        self.body = mlp(n_inputs, widths, *layers)
        self.value = nn.Linear(widths[-1], 1)
        self.advantages = nn.Linear(widths[-1], n_actions)
        skip = torch.zeros(n_inputs, n_actions)
        skip[pays, torch.arange(n_actions - len(pays), n_actions)] = rewards_per_pay
        self.register_buffer("skip", skip, persistent=False)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        hidden = self.body(observations)
        advantages = self.advantages(hidden)
        values = self.value(hidden) + advantages - advantages.mean(dim=1, keepdim=True)
        return values + observations @ self.skip


class DuelingPolicy(MaskableDQNPolicy):
    """The policy of maskable DQN on a `DuelingNetwork`, for the flat observation.

    Args:
        *args: those of the class above.
        pays: see `DuelingNetwork`.
        rewards_per_pay: likewise.
        layer_norm: normalise before each activation.
        **kwargs: likewise.
    """

    def __init__(
        self,
        *args: Any,
        pays: list[int],
        rewards_per_pay: float,
        layer_norm: bool = True,
        **kwargs: Any,
    ) -> None:
        self.pays, self.rewards_per_pay, self.layer_norm = pays, rewards_per_pay, layer_norm
        super().__init__(*args, **kwargs)

    def make_q_net(self) -> QNetwork:
        network = super().make_q_net()
        network.q_net = DuelingNetwork(
            network.features_dim,
            int(self.action_space.n),
            self.pays,
            self.rewards_per_pay,
            self.net_arch,
            self.activation_fn,
            self.layer_norm,
        )
        return network.to(self.device)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        own = {
            "pays": self.pays,
            "rewards_per_pay": self.rewards_per_pay,
            "layer_norm": self.layer_norm,
        }
        return super()._get_constructor_parameters() | own
