"""Maskable A2C: one optimizer step on each whole rollout.

A2C is PPO with one epoch of one minibatch, without clipping and without normalised advantages: in
the only step of an update the probability ratio is 1, so its gradient is that of the plain policy
gradient (Huang et al. 2022, arXiv 2205.09123). So the model is that of PPO, here with Adam.
"""

from __future__ import annotations

import numpy as np
from stable_baselines3.common.utils import LinearSchedule

from agents.algorithms.base import Algorithm, Shared, check_redraws
from agents.algorithms.networks import NetworkSettings, policy_arguments
from agents.algorithms.ppo import RedrawPPO, TwoNetworksPolicy, scorer
from agents.settings import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Settings,
    Share,
)
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv

NO_CLIPPING = float("inf")


class A2CSettings(Settings):
    """Settings of advantage actor-critic, named as in stable-baselines3."""

    n_steps: PositiveInt = 8
    """Steps of each game between two updates."""
    gamma: Share = 1.0
    """Discount; 1 makes the return the final score."""
    gae_lambda: Share = 0.4
    """How far advantages look past the value network."""
    ent_coef: NonNegativeFloat = 0.02
    """Weight of the entropy bonus at the start; it falls linearly to 0."""
    learning_rate: PositiveFloat = 3e-3
    """Learning rate of the policy network at the start; it falls linearly to 0."""
    value_learning_rate: PositiveFloat = 3e-3
    """Learning rate of the value network at the start; it falls linearly to 0."""
    max_grad_norm: PositiveFloat = 0.5
    """Largest norm of the gradient of an optimizer step."""
    redraws: NonNegativeInt = 3
    """Extra throws of the dice that judge each action (see agents/algorithms/redraws.py)."""


def make(settings: A2CSettings, network: NetworkSettings, env: YahtzeeSB3VecEnv) -> RedrawPPO:
    """An untrained model for the games of `env`."""
    return RedrawPPO(
        TwoNetworksPolicy,
        env,
        learning_rate=LinearSchedule(settings.learning_rate, 0.0, 1.0),
        n_steps=settings.n_steps,
        batch_size=settings.n_steps * env.num_envs,
        n_epochs=1,
        gamma=np.float64(settings.gamma),
        gae_lambda=np.float64(settings.gae_lambda),
        clip_range=NO_CLIPPING,
        normalize_advantage=False,
        ent_coef=settings.ent_coef,
        vf_coef=1.0,
        max_grad_norm=settings.max_grad_norm,
        policy_kwargs={
            **policy_arguments(network, env.ruleset),
            "optimizer_kwargs": {"eps": 1e-5, "fused": True},
            "value_lr_factor": settings.value_learning_rate / settings.learning_rate,
        },
        redraws=settings.redraws,
        device="cpu",
    )


def check(settings: A2CSettings, shared: Shared) -> None:
    """Refuse settings that do not fit the shared ones, with ValueError."""
    check_redraws("a2c.redraws", settings.redraws, shared)


ALGORITHM = Algorithm(
    name="a2c",
    title="A2C",
    settings=A2CSettings,
    make=make,
    rollout_length=lambda settings: settings.n_steps,
    check=check,
    scorer=scorer,
    redrawn="For each step of training",
)
