"""Learning from replayed steps with redraws: what DQN and QR-DQN share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecNormalize

from agents.algorithms.base import Memory, Shared, check_redraws
from agents.algorithms.masked_dqn import (
    MaskableOffPolicy,
    MaskablePolicy,
    MaskableReplayBuffer,
    MaskableSamples,
)
from agents.algorithms.networks import NetworkSettings, policy_arguments
from agents.algorithms.redraws import redraw
from agents.settings import NonNegativeInt, PositiveFloat, PositiveInt, Settings, Share
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.kernels import GAME
from yahtzee_env.observation import POINTS_SCALE, observation_names

LOG_EVERY = 50
"""Updates between two entries of the log."""

BUFFER = (
    "observations",
    "next_observations",
    "next_action_masks",
    "actions",
    "rewards",
    "dones",
    "timeouts",
)
"""The arrays of a replay buffer; one with redraws has `before` too."""


class ReplaySettings(Settings):
    """Settings of algorithms that learn from replayed steps, named as in stable-baselines3.

    The network is trained once for each step of all games.
    """

    buffer_size: PositiveInt = 400_000
    """Transitions to learn from, the latest ones."""
    learning_starts: PositiveInt = 10_000
    """Steps of random play before the first update."""
    batch_size: PositiveInt = 1024
    """Transitions of an update."""
    tau: Share = 0.02
    """How far the target network follows at each step of all games."""
    gamma: Share = 1.0
    """Discount; 1 makes the return the final score."""
    learning_rate: PositiveFloat = 2e-3
    """Learning rate at the start; it falls linearly to 0."""
    exploration_initial_eps: Share = 0.1
    """Share of random actions at the start."""
    exploration_final_eps: Share = 0.01
    """Share of random actions at the end."""
    exploration_fraction: Share = 0.67
    """Share of the training in which the share of random actions falls, linearly."""
    max_grad_norm: PositiveFloat = 10.0
    """Largest norm of the gradient of an optimizer step."""
    redraws: NonNegativeInt = 3
    """Extra throws of the dice that judge each action (see agents/algorithms/redraws.py)."""


class RedrawReplayBuffer(MaskableReplayBuffer):
    """A replay buffer that throws the dice of each step again whenever it is sampled.

    In its samples the next states, their masks, rewards and ends have a row for each throw of each
    step: first all steps as the dice fell in play, then all steps for each redraw.

    Attributes:
        games: the games in which the steps were taken.
        redraws: how many extra throws each step gets.
        before: (size, n_envs) `GAME` records, the games before each step.
    """

    games: YahtzeeSB3VecEnv

    def __init__(self, *args: Any, redraws: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.redraws = redraws
        self.before = np.zeros((self.buffer_size, self.n_envs), GAME)

    def add(self, *step: Any) -> None:
        """Store the step that the games have just taken."""
        self.before[self.pos] = self.games.before
        super().add(*step)

    def _samples_at(self, at: Any, env: VecNormalize | None) -> MaskableSamples:
        batch = super()._samples_at(at, env)
        before = self.before[at]
        rngs = np.random.randint(2**63, size=len(before), dtype=np.uint64)  # noqa: NPY002
        actions = self.actions[at][:, 0].astype(np.int64)
        observations, masks = redraw(self.games.ruleset, before, rngs, actions, self.redraws)
        throws = 1 + self.redraws
        return batch._replace(
            next_observations=torch.cat([batch.next_observations, torch.from_numpy(observations)]),
            next_action_masks=torch.cat([batch.next_action_masks, torch.from_numpy(masks) > 0]),
            rewards=batch.rewards.repeat(throws, 1),
            dones=batch.dones.repeat(throws, 1),
        )


class RedrawOffPolicy(MaskableOffPolicy):
    """Adds redraws to a maskable algorithm, and logs at a fixed number of updates.

    stable-baselines3 logs at ends of episodes, but here hundreds of games end together.

    Args:
        *args: as for the base class.
        redraws: extra throws of the dice that judge each action, see `agents.algorithms.redraws`.
        **kwargs: as for the base class.
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

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Update the network; log every `LOG_EVERY` updates."""
        super().train(gradient_steps, batch_size)
        if self._n_updates % LOG_EVERY == 0:
            super().dump_logs()

    def dump_logs(self) -> None:
        """Left to `train`."""


class DuelingPolicy(MaskablePolicy):
    """A policy for the flat observation whose network knows the points for filling a box.

    Args:
        *args: as for the base class.
        pays: for each box, the feature that holds what filling it pays now.
        rewards_per_pay: the reward that a value of 1 in these features stands for.
        layer_norm: normalise each hidden layer before its activation.
        **kwargs: as for the base class.
    """

    def __init__(
        self,
        *args: Any,
        pays: list[int],
        rewards_per_pay: float,
        layer_norm: bool = True,
        **kwargs: Any,
    ) -> None:
        self.dueling: dict[str, Any] = {
            "pays": pays,
            "rewards_per_pay": rewards_per_pay,
            "layer_norm": layer_norm,
        }
        super().__init__(*args, **kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | self.dueling


def known_points(
    n_inputs: int, n_actions: int, pays: list[int], rewards_per_pay: float
) -> torch.Tensor:
    """(features, actions) float32 that turns observations into the rewards of filling boxes.

    Args:
        n_inputs: features of an observation.
        n_actions: actions, those that fill a box last.
        pays: see `DuelingPolicy`.
        rewards_per_pay: see `DuelingPolicy`.
    """
    points = torch.zeros(n_inputs, n_actions)
    points[pays, torch.arange(n_actions - len(pays), n_actions)] = rewards_per_pay
    return points


def learner_arguments(
    settings: ReplaySettings, network: NetworkSettings, env: YahtzeeSB3VecEnv
) -> dict[str, Any]:
    """The arguments of a `RedrawOffPolicy` with a `DuelingPolicy`, for the games of `env`."""
    names = observation_names(env.ruleset)
    return {
        "env": env,
        "learning_rate": LinearSchedule(settings.learning_rate, 0.0, 1.0),
        "buffer_size": settings.buffer_size,
        "learning_starts": settings.learning_starts,
        "batch_size": settings.batch_size,
        "tau": settings.tau,
        "gamma": settings.gamma,
        "train_freq": 1,
        "gradient_steps": 1,
        "target_update_interval": env.num_envs,  # at each step of all games
        "exploration_initial_eps": settings.exploration_initial_eps,
        "exploration_final_eps": settings.exploration_final_eps,
        "exploration_fraction": settings.exploration_fraction,
        "max_grad_norm": settings.max_grad_norm,
        "policy_kwargs": {
            **policy_arguments(network, env.ruleset),
            "pays": [i for i, name in enumerate(names) if name.startswith("pays_")],
            "rewards_per_pay": POINTS_SCALE / env.points_per_reward,
            "optimizer_class": torch.optim.Adam,
            "optimizer_kwargs": {"fused": True},
        },
        "redraws": settings.redraws,
        "device": "cpu",
    }


def check_replay(key: str, settings: ReplaySettings, shared: Shared) -> None:
    """Refuse settings that do not fit the shared ones.

    Raises:
        ValueError: naming the setting in the group `key`.
    """
    check_redraws(f"{key}.redraws", settings.redraws, shared)
    if settings.learning_starts >= shared.total_timesteps:
        raise ValueError(
            f"{key}.learning_starts must be below total_timesteps = {shared.total_timesteps}, "
            f"not {settings.learning_starts}"
        )
    if settings.buffer_size < max(shared.n_envs, settings.batch_size):
        raise ValueError(
            f"{key}.buffer_size must be at least n_envs = {shared.n_envs} and {key}.batch_size = "
            f"{settings.batch_size}, not {settings.buffer_size}"
        )


COUNTERS = ("_n_calls", "exploration_rate")
"""Attributes that change in training, besides those of every model."""


def memory(model: RedrawOffPolicy) -> Memory:
    """The filled part of the replay buffer, and where it is written next."""
    buffer, size = model.replay_buffer, model.replay_buffer.size()
    names = [*BUFFER, "before"] if model.redraws else BUFFER
    return {name: getattr(buffer, name)[:size] for name in names} | {"pos": np.array(buffer.pos)}


def restore(model: RedrawOffPolicy, memory: Mapping[str, NDArray[Any]]) -> None:
    """Fill the replay buffer as it was."""
    buffer, size = model.replay_buffer, len(memory["dones"])
    for name in [*BUFFER, "before"] if model.redraws else BUFFER:
        array = getattr(buffer, name)
        array[:size] = memory[name].view(array.dtype)
    buffer.full = size == buffer.buffer_size
    buffer.pos = int(memory["pos"])
