"""DQN with action masks, in one file: stable-baselines3's `DQN` where not every action is legal.

The masks come from the environments as sb3-contrib's `MaskablePPO` takes them: from a method
`action_masks()`. They are used wherever an action is chosen: in exploration, in greedy play and in
the maximum of the learning target, for which the replay buffer keeps the mask of each next state.
Everything but the loss is shared with other value-based algorithms, see `MaskableOffPolicy`.
It needs stable-baselines3 and sb3-contrib, 2.7 or newer; docs/masked_dqn.md shows how to use it
with other environments.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch as th
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecNormalize
from stable_baselines3.dqn.policies import CnnPolicy, DQNPolicy, MultiInputPolicy
from torch.nn import functional as F


class MaskableSamples(NamedTuple):
    """A batch of transitions; `next_action_masks` is (batch, actions) bool."""

    observations: Any
    actions: th.Tensor
    next_observations: Any
    dones: th.Tensor
    rewards: th.Tensor
    next_action_masks: th.Tensor


class _KeepsMasks(ReplayBuffer):
    """Adds the action mask of each next state to a replay buffer.

    Attributes:
        next_action_masks: (size, n_envs, actions) bool.
    """

    action_space: spaces.Discrete

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        shape = (self.buffer_size, self.n_envs, int(self.action_space.n))
        self.next_action_masks = np.ones(shape, dtype=bool)

    def set_masks(self, next_action_masks: NDArray[np.bool_]) -> None:
        """Store the masks, (n_envs, actions), of the next states that `add` stores next."""
        self.next_action_masks[self.pos] = next_action_masks

    def _get_samples(self, batch_inds: NDArray[Any], env: VecNormalize | None = None) -> Any:
        env_inds = np.random.randint(0, self.n_envs, size=len(batch_inds))  # noqa: NPY002
        return self._samples_at((batch_inds, env_inds), env)

    def _samples_at(self, at: Any, env: VecNormalize | None) -> MaskableSamples:
        ends = self.dones[at] * (1 - self.timeouts[at])
        rewards = self._normalize_reward(self.rewards[at].reshape(-1, 1), env)
        return MaskableSamples(
            self._rows(self.observations, at, env),
            self.to_torch(self.actions[at]),
            self._rows(self.next_observations, at, env),
            self.to_torch(ends.reshape(-1, 1)),
            self.to_torch(rewards),
            self.to_torch(self.next_action_masks[at]),
        )

    def _rows(self, kept: Any, at: Any, env: VecNormalize | None) -> Any:
        if not isinstance(kept, Mapping):
            row: Any = self._normalize_obs(kept[at], env)
            return self.to_torch(row)
        rows: Any = self._normalize_obs({name: array[at] for name, array in kept.items()}, env)
        return {name: self.to_torch(array) for name, array in rows.items()}


class MaskableReplayBuffer(_KeepsMasks):
    """stable-baselines3's replay buffer with the masks of the next states."""


class MaskableDictReplayBuffer(_KeepsMasks, DictReplayBuffer):
    """The same for dictionary observations."""


class MaskablePolicy(BasePolicy):
    """A policy that is greedy among the legal actions."""

    def action_values(self, observations: Any) -> th.Tensor:
        """(n, actions) float32: the estimated value of each action."""
        raise NotImplementedError

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[Any] | None = None,
        deterministic: bool = True,
        action_masks: NDArray[Any] | None = None,
    ) -> tuple[NDArray[Any], tuple[NDArray[Any], ...] | None]:
        """The legal action of the highest value for one observation or many.

        `state` is returned as it is; `episode_start` and `deterministic` are ignored. Without
        `action_masks`, (actions,) or (n, actions), every action is legal.

        Raises:
            ValueError: for masks of another shape, and where nothing is legal.
        """
        if isinstance(observation, tuple):
            raise ValueError("predict takes an observation, not what reset returns with its info")
        self.set_training_mode(False)
        tensor, many = self.obs_to_tensor(observation)
        with th.no_grad():
            values = self.action_values(tensor)
        if action_masks is not None:
            masks = _with_choice(_as_masks(action_masks, tuple(values.shape)))
            values = th.where(th.as_tensor(masks, device=values.device), values, -th.inf)
        actions = values.argmax(dim=1).cpu().numpy()
        return (actions if many else actions.squeeze(axis=0)), state


class MaskableDQNPolicy(MaskablePolicy, DQNPolicy):
    """stable-baselines3's policy of DQN, greedy among the legal actions."""

    def action_values(self, observations: Any) -> th.Tensor:
        """(n, actions) float32: the outputs of the network."""
        values: th.Tensor = self.q_net(observations)
        return values


class MaskableCnnPolicy(MaskableDQNPolicy, CnnPolicy):
    """The same for images."""


class MaskableMultiInputPolicy(MaskableDQNPolicy, MultiInputPolicy):
    """The same for dictionary observations."""


class MaskableOffPolicy(OffPolicyAlgorithm):
    """What value-based algorithms of stable-baselines3 need for masks; a base before theirs.

    It explores in each environment independently. Subclasses define `loss`; the policy named
    "MlpPolicy" in their `policy_aliases` is the base of all that they accept.

    Raises:
        ValueError: for policies and replay buffers without masks, and for `n_steps` above 1 or
            `optimize_memory_usage`, which are not supported.
    """

    action_space: spaces.Discrete
    env: Any
    exploration_rate: float
    max_grad_norm: Any
    policy: Any
    replay_buffer: Any

    def loss(self, batch: MaskableSamples) -> th.Tensor:
        """() float32: what an update lowers, for a batch from the replay buffer."""
        raise NotImplementedError

    def _setup_model(self) -> None:
        if self.n_steps != 1:
            raise ValueError(f"n_steps must be 1, not {self.n_steps}")
        if self.optimize_memory_usage:
            raise ValueError("optimize_memory_usage must be False")
        if self.replay_buffer_class is None:
            dictionary = isinstance(self.observation_space, spaces.Dict)
            self.replay_buffer_class = (
                MaskableDictReplayBuffer if dictionary else MaskableReplayBuffer
            )
        maskable = self.policy_aliases["MlpPolicy"]
        if not issubclass(self.policy_class, maskable):
            raise ValueError(f"policy must be a {maskable.__name__}, not {self.policy_class}")
        if not issubclass(self.replay_buffer_class, _KeepsMasks):
            raise ValueError(
                "replay_buffer_class must be a MaskableReplayBuffer or MaskableDictReplayBuffer, "
                f"not {self.replay_buffer_class}"
            )
        super()._setup_model()

    def load_replay_buffer(self, path: Any, truncate_last_traj: bool = True) -> None:
        """Take a saved replay buffer to learn from.

        Raises:
            ValueError: for a buffer without masks, of other spaces or of another `n_envs`.
        """
        before = self.replay_buffer
        try:
            super().load_replay_buffer(path, truncate_last_traj)
        finally:
            loaded, self.replay_buffer = self.replay_buffer, before
        if not isinstance(loaded, _KeepsMasks):
            raise ValueError(f"{path} holds no replay buffer with masks")
        if loaded.n_envs != self.n_envs:
            raise ValueError(
                f"{path} holds the steps of {loaded.n_envs} environments, not of {self.n_envs}"
            )
        ours = self.observation_space, self.action_space
        if (loaded.observation_space, loaded.action_space) != ours:
            raise ValueError(f"{path} holds steps of other spaces than {ours}")
        self.replay_buffer = loaded

    def learn(
        self,
        total_timesteps: int,
        callback: Any = None,
        log_interval: int = 4,
        tb_log_name: str | None = None,
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Learn as the base class does; warns if it resumes without the replay buffer it had.

        `tb_log_name` is the name of the class by default.

        Raises:
            ValueError: for environments without `action_masks`, masks of a wrong shape, and where
                nothing is legal.
        """
        assert self.env is not None, "set an environment before learning"
        if not is_masking_supported(self.env):
            raise ValueError("the environments need a method action_masks(), one bool an action")
        resumes = not reset_num_timesteps and self.num_timesteps > 0
        if resumes and self.replay_buffer.size() == 0:
            warnings.warn(
                f"learning resumes after {self.num_timesteps} steps with an empty replay buffer; "
                "load_replay_buffer restores a saved one",
                stacklevel=2,
            )
        name = tb_log_name or type(self).__name__
        super().learn(
            total_timesteps, callback, log_interval, name, reset_num_timesteps, progress_bar
        )
        return self

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Update the network by the gradient of `loss`, in batches from the replay buffer."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        losses = []
        for _ in range(gradient_steps):
            loss = self.loss(self.replay_buffer.sample(batch_size, env=self._vec_normalize_env))
            losses.append(loss.detach())
            self.policy.optimizer.zero_grad()
            loss.backward()
            if self.max_grad_norm is not None:
                th.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
            self.policy.optimizer.step()
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", th.stack(losses).mean().item())

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[Any] | None = None,
        deterministic: bool = False,
        action_masks: NDArray[Any] | None = None,
    ) -> tuple[NDArray[Any], tuple[NDArray[Any], ...] | None]:
        """The best legal actions, or random legal ones at the current exploration rate.

        Args:
            observation: one observation or many.
            state: returned as it is; only recurrent policies have one.
            episode_start: ignored, as by every policy that is not recurrent.
            deterministic: never explore.
            action_masks: what is legal, (actions,) or (n, actions); None if everything is.

        Raises:
            ValueError: for masks of another shape, and where nothing is legal.
        """
        actions, state = self.policy.predict(
            observation, state, episode_start, action_masks=action_masks
        )
        if not deterministic:
            shape = *np.shape(actions), int(self.action_space.n)
            legal = np.ones(shape, bool)
            if action_masks is not None:
                legal = np.asarray(action_masks).reshape(shape)
            explores = np.random.random(shape[:-1]) < self.exploration_rate  # noqa: NPY002
            actions = np.where(explores, _random_actions(legal), actions)
        return actions, state

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        masks = self._masks()
        if self.num_timesteps < learning_starts:
            actions = _random_actions(_with_choice(masks))
        else:
            actions, _ = self.predict(self._last_obs, action_masks=masks)
        return actions, actions

    def _store_transition(
        self,
        replay_buffer: Any,
        buffer_action: NDArray[Any],
        new_obs: Any,
        reward: NDArray[Any],
        dones: NDArray[Any],
        infos: list[dict[str, Any]],
    ) -> None:
        masks = self._masks()
        for i in np.flatnonzero(dones):
            # The environment has restarted: only its info may hold the mask of its last state.
            mask = infos[i].get("action_mask")
            masks[i] = True if mask is None else _as_masks(mask, (1, masks.shape[1]))
        replay_buffer.set_masks(masks)
        super()._store_transition(replay_buffer, buffer_action, new_obs, reward, dones, infos)

    def _masks(self) -> NDArray[np.bool_]:
        """(n_envs, actions) bool: what is legal now."""
        shape = self.n_envs, int(self.action_space.n)
        return _as_masks(get_action_masks(self.env), shape)


class MaskableDQN(MaskableOffPolicy, DQN):
    """Double DQN on legal actions only; arguments, saving and loading are those of `DQN`.

    Unlike `DQN` it explores in each environment independently.

    Raises:
        ValueError: see `MaskableOffPolicy`.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": MaskableDQNPolicy,
        "CnnPolicy": MaskableCnnPolicy,
        "MultiInputPolicy": MaskableMultiInputPolicy,
    }

    def loss(self, batch: MaskableSamples) -> th.Tensor:
        """() float32: the mean Huber loss between the values of the actions and their targets."""
        values = self.q_net(batch.observations).gather(1, batch.actions.long())
        return F.smooth_l1_loss(values, self.targets(batch))

    @th.no_grad()
    def targets(self, batch: MaskableSamples) -> th.Tensor:
        """(batch, 1) float32: the reward, and what the best legal next action is worth.

        The network chooses that action and the target network values it (double DQN). Where an
        episode has ended, or nothing is legal, nothing is added.
        """
        choices = best_legal(self.q_net(batch.next_observations), batch.next_action_masks)
        following = self.q_net_target(batch.next_observations).gather(1, choices)
        return batch.rewards + th.where(continues(batch), self.gamma * following, 0.0)


def best_legal(values: th.Tensor, masks: th.Tensor) -> th.Tensor:
    """(n, 1) int64: the legal action of the highest value in each row of (n, actions)."""
    return th.where(masks, values, -th.inf).argmax(dim=1, keepdim=True)


def continues(batch: MaskableSamples) -> th.Tensor:
    """(batch, 1) bool: whether the episode continues after the step, with an action to choose."""
    return batch.next_action_masks.any(dim=1, keepdim=True) & (batch.dones == 0)


def _as_masks(masks: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """A copy of the masks as (n, actions) bool; a single mask may be (actions,)."""
    array = np.asarray(masks)
    if array.shape != shape and (1, *array.shape) != shape:
        raise ValueError(f"action masks must be of shape {shape}, not {array.shape}")
    return array.reshape(shape).astype(bool)


def _with_choice(masks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The masks, each of which must allow an action."""
    if not masks.any(axis=1).all():
        raise ValueError("no action is legal, so none can be chosen")
    return masks


def _random_actions(masks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """A uniformly random legal action for each mask, along the last axis."""
    draws = np.random.random(masks.shape)  # noqa: NPY002
    actions: NDArray[np.int64] = np.where(masks, draws, -1.0).argmax(axis=-1)
    return actions
