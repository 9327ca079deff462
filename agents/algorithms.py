"""The learning algorithms by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from stable_baselines3.common.vec_env import VecEnv

from agents.config import TrainConfig
from agents.dqn import DQN, make_dqn
from agents.ppo import PPO, make_ppo

Model: TypeAlias = PPO | DQN

ALGORITHMS: dict[str, Callable[[TrainConfig, VecEnv], Model]] = {"ppo": make_ppo, "dqn": make_dqn}
"""What makes an untrained agent for the games of an environment, as configured."""
