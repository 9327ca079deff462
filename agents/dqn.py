"""Maskable DQN as the experiments use it: a dueling network, falling learning rate, steady logs."""

from __future__ import annotations

from typing import Any

import torch
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv

from agents.config import TrainConfig
from agents.masked_dqn import MaskableDQN, MaskableSamples
from agents.networks import DuelingPolicy, policy_arguments
from agents.redraws import RedrawReplayBuffer
from yahtzee_env.observation import POINTS_SCALE, observation_names

LOG_EVERY = 50
"""Updates between two entries of the log."""


class DQN(MaskableDQN):
    """`MaskableDQN` with small changes.

    It logs every so many updates, not episodes: games end by hundreds.

    Args:
        *args: those of `MaskableDQN`.
        redraws: how many other throws of the dice also judge each action, see `agents.redraws`.
        **kwargs: likewise.
    """

    def __init__(self, *args: Any, redraws: int = 0, **kwargs: Any) -> None:
        self.redraws = redraws
        super().__init__(*args, **kwargs)

    def _setup_model(self) -> None:
        if self.redraws:
            self.replay_buffer_class = RedrawReplayBuffer
            self.replay_buffer_kwargs = {"redraws": self.redraws}
        super()._setup_model()
        if self.redraws:
            self.replay_buffer.games = self.env

    @torch.no_grad()
    def targets(self, batch: MaskableSamples) -> torch.Tensor:
        """(batch, 1) float32: the mean of the targets of all throws."""
        return super().targets(batch).reshape(1 + self.redraws, -1, 1).mean(dim=0)

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Update the network, and now and then log."""
        super().train(gradient_steps, batch_size)
        if self._n_updates % LOG_EVERY == 0:
            super().dump_logs()

    def dump_logs(self) -> None:
        """Left to `train`."""


def make_dqn(config: TrainConfig, env: VecEnv) -> DQN:
    """An untrained agent for the games of `env`."""
    dqn, names = config.dqn, observation_names(config.ruleset)
    network: dict[str, Any] = {
        **policy_arguments(config),
        "pays": [i for i, name in enumerate(names) if name.startswith("pays_")],
        "rewards_per_pay": POINTS_SCALE / config.points_per_reward,
        "optimizer_kwargs": {"fused": True},
    }
    return DQN(
        DuelingPolicy,
        env,
        learning_rate=LinearSchedule(dqn.learning_rate, 0.0, 1.0),
        buffer_size=dqn.buffer_size,
        learning_starts=dqn.learning_starts,
        batch_size=dqn.batch_size,
        tau=dqn.tau,
        gamma=dqn.gamma,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=config.n_envs,  # at each step of all games
        exploration_initial_eps=dqn.exploration_initial_eps,
        exploration_final_eps=dqn.exploration_final_eps,
        exploration_fraction=dqn.exploration_fraction,
        max_grad_norm=dqn.max_grad_norm,
        policy_kwargs=network,
        redraws=dqn.redraws,
        device="cpu",
    )
