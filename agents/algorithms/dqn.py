"""Maskable DQN with a dueling network, a falling learning rate, and redraws."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.dqn.policies import QNetwork
from torch import nn

from agents.algorithms.base import Algorithm
from agents.algorithms.masked_dqn import MaskableDQN, MaskableDQNPolicy, MaskableSamples
from agents.algorithms.networks import NetworkSettings, Scorer, mlp
from agents.algorithms.replay import (
    COUNTERS,
    DuelingPolicy,
    RedrawOffPolicy,
    ReplaySettings,
    check_replay,
    known_points,
    learner_arguments,
    memory,
    restore,
)
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv


class DQNSettings(ReplaySettings):
    """Settings of double deep Q-learning with masks: those of `ReplaySettings`."""


class DuelingNetwork(nn.Module):
    """Action values: the value of the position plus what each action is worth above the average.

    The points for filling a box are known, so they are added to the output and need not be learned.

    Args:
        n_inputs: features of an observation.
        n_actions: actions, those that fill a box last.
        pays: see `DuelingPolicy`.
        rewards_per_pay: see `DuelingPolicy`.
        widths: units of each hidden layer.
        *layers: the other arguments of `mlp`.
    """

    skip: torch.Tensor

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
        skip = known_points(n_inputs, n_actions, pays, rewards_per_pay)
        self.register_buffer("skip", skip, persistent=False)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """(n, actions) float32 from (n, features) float32."""
        hidden = self.body(observations)
        advantages = self.advantages(hidden)
        values = self.value(hidden) + advantages - advantages.mean(dim=1, keepdim=True)
        return values + observations @ self.skip


class DuelingDQNPolicy(DuelingPolicy, MaskableDQNPolicy):
    """The policy of maskable DQN on a `DuelingNetwork`, for the flat observation."""

    action_space: spaces.Discrete
    net_arch: list[int]

    def make_q_net(self) -> QNetwork:
        network: Any = super().make_q_net()
        network.q_net = DuelingNetwork(
            network.features_dim,
            int(self.action_space.n),
            self.dueling["pays"],
            self.dueling["rewards_per_pay"],
            self.net_arch,
            self.activation_fn,
            self.dueling["layer_norm"],
        )
        return network.to(self.device)


class RedrawDQN(RedrawOffPolicy, MaskableDQN):
    """`MaskableDQN` with redraws."""

    @torch.no_grad()
    def targets(self, batch: MaskableSamples) -> torch.Tensor:
        """(batch, 1) float32: the mean of the targets of all throws."""
        return super().targets(batch).reshape(1 + self.redraws, -1, 1).mean(dim=0)


def make(settings: DQNSettings, network: NetworkSettings, env: YahtzeeSB3VecEnv) -> RedrawDQN:
    """An untrained model for the games of `env`."""
    return RedrawDQN(DuelingDQNPolicy, **learner_arguments(settings, network, env))


def scorer(model: RedrawDQN) -> Scorer:
    """The advantages: the value of the position is the same for every action of a choice."""
    features: Any = model.q_net.features_extractor
    network: Any = model.q_net.q_net
    return Scorer(features, [*network.body, network.advantages], network.skip)


ALGORITHM = Algorithm(
    name="dqn",
    title="DQN",
    settings=DQNSettings,
    make=make,
    rollout_length=lambda settings: 1,
    check=partial(check_replay, "dqn"),
    scorer=scorer,
    redrawn="At each replay of a step",
    counters=COUNTERS,
    memory=memory,
    restore=restore,
)
