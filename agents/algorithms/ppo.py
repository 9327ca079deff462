"""Maskable PPO with a falling entropy bonus, two learning rates, and redraws.

Redraws judge each action by several throws of the dice: see `agents.algorithms.redraws`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.utils import LinearSchedule
from torch import nn

from agents.algorithms.base import Algorithm, Shared, check_redraws
from agents.algorithms.masked_categorical import MaskedCategorical
from agents.algorithms.networks import NetworkSettings, Scorer, mlp, policy_arguments
from agents.algorithms.redraws import RedrawRolloutBuffer
from agents.settings import (
    AtLeastTwo,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Settings,
    Share,
)
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv


class PPOSettings(Settings):
    """Settings of proximal policy optimisation, named as in stable-baselines3."""

    n_steps: PositiveInt = 8
    """Steps of each game between two updates."""
    n_epochs: PositiveInt = 3
    """Passes over the collected steps in an update."""
    batch_size: AtLeastTwo = 1024
    """Steps of a minibatch."""
    gamma: Share = 1.0
    """Discount; 1 makes the return the final score."""
    gae_lambda: Share = 0.4
    """How far advantages look past the value network."""
    clip_range: PositiveFloat = 0.2
    """How far one update may move the probability of an action."""
    ent_coef: NonNegativeFloat = 0.2
    """Weight of the entropy bonus at the start; it falls linearly to 0."""
    learning_rate: PositiveFloat = 2e-3
    """Learning rate of the policy network at the start; it falls linearly to 0."""
    value_learning_rate: PositiveFloat = 2e-3
    """Learning rate of the value network at the start; it falls linearly to 0."""
    max_grad_norm: PositiveFloat = 0.5
    """Largest norm of the gradient of an optimizer step."""
    redraws: NonNegativeInt = 3
    """Extra throws of the dice that judge each action (see agents/algorithms/redraws.py)."""


class TwoNetworks(nn.Module):
    """The hidden layers of policy and value, an extractor in the words of stable-baselines3.

    Args:
        n_inputs: features of an observation.
        widths: units of each hidden layer, the same for both networks.
        *layers: the other arguments of `mlp`.
    """

    def __init__(self, n_inputs: int, widths: list[int], *layers: Any) -> None:
        super().__init__()
        self.policy_net = mlp(n_inputs, widths, *layers)
        self.value_net = mlp(n_inputs, widths, *layers)
        self.latent_dim_pi = self.latent_dim_vf = widths[-1]

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Two times (n, width) float32 from (n, features) float32: policy, value."""
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        """The part of `forward` for the policy."""
        return self.policy_net(features)

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        """The part of `forward` for the value."""
        return self.value_net(features)


class TwoNetworksPolicy(MaskableActorCriticPolicy):
    """A maskable policy on `TwoNetworks`, whose value network has its own learning rate.

    Args:
        *args: as for the base class.
        value_lr_factor: the learning rate of the value network over that of the policy network.
        layer_norm: normalise each hidden layer before its activation.
        **kwargs: as for the base class.
    """

    action_space: spaces.Discrete
    mlp_extractor: Any
    net_arch: Any
    optimizer_class: Any

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


class RedrawPPO(MaskablePPO):
    """sb3-contrib's `MaskablePPO` with redraws and small changes.

    `ent_coef` is the entropy coefficient at the start and falls linearly to 0. Parameter groups of
    the optimizer may carry an `lr_factor`. An update is logged at its own step, not at that of the
    next rollout, so the last one is logged too.

    Args:
        *args: as for `MaskablePPO`.
        redraws: extra throws of the dice that judge each action, see `agents.algorithms.redraws`.
        **kwargs: as for `MaskablePPO`.
    """

    policy: Any
    rollout_buffer: Any

    def __init__(self, *args: Any, redraws: int = 0, **kwargs: Any) -> None:
        self.redraws = redraws
        super().__init__(*args, **kwargs)
        self.first_ent_coef = self.ent_coef
        self._iteration = 0

    def _setup_model(self) -> None:
        if self.redraws:
            self.rollout_buffer_class = RedrawRolloutBuffer
        super()._setup_model()
        if self.redraws:
            self.rollout_buffer.games, self.rollout_buffer.redraws = self.env, self.redraws
            self.rollout_buffer.values_of = self.policy.predict_values

    def train(self) -> None:
        """Update the networks from the rollout buffer, then log."""
        self.ent_coef = self.first_ent_coef * max(self._current_progress_remaining, 0.0)
        super().train()
        self.logger.record("train/ent_coef", self.ent_coef)
        super().dump_logs(self._iteration)

    def dump_logs(self, iteration: int = 0) -> None:
        """Keep the log open until the update is done."""
        self._iteration = iteration

    def _update_learning_rate(self, optimizers: Any) -> None:
        super()._update_learning_rate(optimizers)
        for group in self.policy.optimizer.param_groups:
            group["lr"] *= group.get("lr_factor", 1.0)


def make(settings: PPOSettings, network: NetworkSettings, env: YahtzeeSB3VecEnv) -> RedrawPPO:
    """An untrained model for the games of `env`."""
    return RedrawPPO(
        TwoNetworksPolicy,
        env,
        learning_rate=LinearSchedule(settings.learning_rate, 0.0, 1.0),
        n_steps=settings.n_steps,
        batch_size=settings.batch_size,
        n_epochs=settings.n_epochs,
        # NumPy's numbers make the advantages come out in double precision.
        gamma=np.float64(settings.gamma),
        gae_lambda=np.float64(settings.gae_lambda),
        clip_range=settings.clip_range,
        ent_coef=settings.ent_coef,
        vf_coef=1.0,  # the networks share nothing, so this would only rescale the value's gradient
        max_grad_norm=settings.max_grad_norm,
        policy_kwargs={
            **policy_arguments(network, env.ruleset),
            "optimizer_kwargs": {"eps": 1e-5, "fused": True},
            "value_lr_factor": settings.value_learning_rate / settings.learning_rate,
        },
        redraws=settings.redraws,
        device="cpu",
    )


def check(settings: PPOSettings, shared: Shared) -> None:
    """Refuse settings that do not fit the shared ones, with ValueError."""
    check_redraws("ppo.redraws", settings.redraws, shared)
    rollout = shared.n_envs * settings.n_steps
    if rollout % settings.batch_size:
        raise ValueError(
            f"ppo.batch_size must divide n_envs x ppo.n_steps = {rollout}, "
            f"which {settings.batch_size} does not"
        )


def scorer(model: RedrawPPO) -> Scorer:
    """The policy network."""
    policy = model.policy
    modules = [*policy.mlp_extractor.policy_net, policy.action_net]
    return Scorer(policy.features_extractor, modules)


ALGORITHM = Algorithm(
    name="ppo",
    title="PPO",
    settings=PPOSettings,
    make=make,
    rollout_length=lambda settings: settings.n_steps,
    check=check,
    scorer=scorer,
    redrawn="For each step of training",
)
