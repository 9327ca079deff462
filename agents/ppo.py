"""Maskable PPO whose entropy bonus falls to zero, with a learning rate for each network.

It can judge each action by several throws of the dice: see `agents.redraws`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv

from agents.config import TrainConfig
from agents.networks import NormalizedPolicy, policy_arguments
from agents.redraws import RedrawRolloutBuffer


class PPO(MaskablePPO):
    """sb3-contrib's `MaskablePPO` with small changes.

    `ent_coef` is the entropy coefficient at the start and falls linearly to 0. Parameter groups of
    the optimizer may carry an `lr_factor`. An update is logged at its own step, not at that of the
    next rollout, so the last one is logged too.

    Args:
        *args: those of `MaskablePPO`.
        redraws: how many other throws of the dice also judge each action, see `agents.redraws`.
        **kwargs: likewise.
    """

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


def make_ppo(config: TrainConfig, env: VecEnv) -> PPO:
    """An untrained agent for the games of `env`."""
    ppo = config.ppo
    return PPO(
        NormalizedPolicy,
        env,
        learning_rate=LinearSchedule(ppo.learning_rate, 0.0, 1.0),
        n_steps=ppo.n_steps,
        batch_size=ppo.batch_size,
        n_epochs=ppo.n_epochs,
        # NumPy's numbers make the advantages come out in double precision.
        gamma=np.float64(ppo.gamma),
        gae_lambda=np.float64(ppo.gae_lambda),
        clip_range=ppo.clip_range,
        ent_coef=ppo.ent_coef,
        vf_coef=1.0,  # the networks share nothing, so this would only rescale the value's gradient
        max_grad_norm=ppo.max_grad_norm,
        policy_kwargs={
            **policy_arguments(config),
            "optimizer_kwargs": {"eps": 1e-5, "fused": True},
            "value_lr_factor": ppo.value_learning_rate / ppo.learning_rate,
        },
        redraws=ppo.redraws,
        device="cpu",
    )
