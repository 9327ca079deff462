"""A fast vector environment for stable-baselines3: all games in one array."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from yahtzee_env.envs.settings import MAX_ILLEGAL, flat_space
from yahtzee_env.family import get_ruleset
from yahtzee_env.game import Games
from yahtzee_env.rules import Ruleset

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn
except ImportError as error:
    raise ImportError(
        'yahtzee_env.envs.sb3 needs stable-baselines3: pip install "yahtzee-env[learn]"'
    ) from error

ILLEGAL_POINTS = -1.0
"""The points of an illegal action for a learner without masks."""


class YahtzeeSB3VecEnv(VecEnv):
    """Many games as one stable-baselines3 `VecEnv`, with action masks for sb3-contrib.

    Game i is the game of `Yahtzee-v0` reset with `seed + i`. Observations are (n_envs, features)
    float32, action masks (n_envs, actions) bool. Rewards are points divided by
    `points_per_reward`. The info of a finished game has `episode` (as written by `Monitor`, with
    the final score in points), `terminal_observation` and `TimeLimit.truncated`; all other infos
    are empty.

    An illegal action raises an error. Without masks it costs one point instead and changes
    nothing, and the hundredth of a game truncates it, as in `Yahtzee-v0` with
    `illegal_action="penalty"`.

    Args:
        ruleset: a rule set, its name, or its dictionary.
        n_envs: the number of games.
        points_per_reward: the points that make a reward of 1.
        masks: whether the learner gets action masks; otherwise they are all True.

    Attributes:
        ruleset: the rules.
        before: (n_envs,) `GAME` records, the games before the latest step.
        rngs_before: (n_envs,) uint64, their generators before the latest step.
        finished_games: the number of games that have ended.
        illegal_actions: the number of illegal actions.

    It works with `MaskablePPO` of sb3-contrib as it is:

    ```python
    >>> from sb3_contrib import MaskablePPO
    >>> from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
    >>> env = YahtzeeSB3VecEnv("yahtzee", n_envs=64, points_per_reward=30.0)
    >>> model = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=256, seed=1, device="cpu")
    >>> model.learn(total_timesteps=1024).num_timesteps
    1024

    ```
    """

    def __init__(
        self,
        ruleset: str | Ruleset | Mapping[str, Any] = "yahtzee",
        n_envs: int = 1024,
        points_per_reward: float = 1.0,
        masks: bool = True,
    ) -> None:
        self.ruleset = get_ruleset(ruleset)
        self.render_mode = None
        self.points_per_reward = points_per_reward
        self.masks = masks
        self._games = Games(self.ruleset, n_envs)
        self.before = self._games.records.copy()
        self.rngs_before = self._games.rngs.copy()
        self._masks = np.zeros((n_envs, self._games.n_actions), bool)
        self._lengths = np.zeros(n_envs, np.int64)
        self._illegal = np.zeros(n_envs, np.int64)
        self.finished_games = self.illegal_actions = 0
        self._actions = np.zeros(n_envs, np.int64)
        self._seeded = False
        self._created = time.time()
        super().__init__(
            n_envs,
            flat_space(self.ruleset),
            spaces.Discrete(self._games.n_actions),
        )

    def reset(self) -> NDArray[np.float32]:
        """Begin every game, with the seeds given to `seed` if any; returns the observations."""
        self._seed_games()
        self._games.start()
        self._lengths[:] = self._illegal[:] = 0
        return self._observe()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Store the actions, (n_envs,), for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Carry out the actions; a game that ends is followed by a new one.

        Raises:
            ValueError: if an action is illegal and there are masks, or for a number outside the
                action space; then nothing has changed.
        """
        if self.masks:
            self._games.check_legal(self._actions)
        self.before[:] = self._games.records
        self.rngs_before[:] = self._games.rngs
        points, illegal, over = self._games.step(self._actions)
        points[illegal] = ILLEGAL_POINTS
        self._lengths += 1
        self._illegal += illegal
        self.illegal_actions += int(illegal.sum())
        truncated = self._illegal >= MAX_ILLEGAL
        dones = over | truncated
        # The algorithms only read infos, so all running games can share one empty dictionary.
        infos: list[dict[str, Any]] = [{}] * self.num_envs
        if dones.any():
            self._end(dones, truncated, infos)
        rewards = (points / self.points_per_reward).astype(np.float32)
        return self._observe(), rewards, dones, infos

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of everything that the coming steps depend on, to be passed to `restore`."""
        return {
            "records": self._games.records.view(np.uint8).copy(),
            "rngs": self._games.rngs.copy(),
            "lengths": self._lengths.copy(),
            "illegal": self._illegal.copy(),
            "counts": np.array([self.finished_games, self.illegal_actions]),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Return to a `state` of the same number of games; returns the observations.

        Raises:
            ValueError: for another number of games.
        """
        if len(state["lengths"]) != self.num_envs:
            raise ValueError(f"the state is of {len(state['lengths'])} games, not {self.num_envs}")
        self._games.records[:] = state["records"].view(self._games.records.dtype)
        self._games.rngs[:] = state["rngs"]
        self._lengths[:] = state["lengths"]
        self._illegal[:] = state["illegal"]
        self.finished_games, self.illegal_actions = state["counts"].tolist()
        self._seeded = True
        return self._observe()

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> Any:
        """The action masks, (n_envs, actions) bool: the only method of the games.

        sb3-contrib stacks a list of masks; one array passes through unchanged.
        """
        if method_name != "action_masks":
            raise AttributeError(f"the games have no method {method_name!r}, only 'action_masks'")
        return self._masks if indices is None else self._masks[list(self._get_indices(indices))]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute, the same for every game."""
        if attr_name == "action_masks":
            return [self.env_method] * len(list(self._get_indices(indices)))
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Always an error: the games are rows of one array and share their attributes."""
        raise AttributeError(f"cannot set {attr_name!r}: the games share their attributes")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """True for `Monitor`, whose report of finished games the infos contain."""
        return [wrapper_class is Monitor] * len(list(self._get_indices(indices)))

    def close(self) -> None:
        """Does nothing; there is nothing to release."""

    def _seed_games(self) -> None:
        for i, seed in enumerate(self._seeds):
            if seed is not None or not self._seeded:
                self._games.seed(seeding.np_random(seed)[0], i)
        self._seeded = True
        self._reset_seeds()

    def _observe(self) -> NDArray[np.float32]:
        observations, masks = self._games.observe()
        self._masks = masks.view(bool) if self.masks else np.ones_like(masks, bool)
        return observations

    def _end(
        self,
        dones: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        infos: list[dict[str, Any]],
    ) -> None:
        """Write the infos of the games that ended, and begin new ones."""
        self.finished_games += int(dones.sum())
        ended = self._games.select(dones)
        last, _ = ended.observe()
        elapsed = round(time.time() - self._created, 6)
        for row, i in enumerate(np.flatnonzero(dones).tolist()):
            score, length = float(ended.records["score"][row]), int(self._lengths[i])
            infos[i] = {
                "episode": {"r": score, "l": length, "t": elapsed},
                "terminal_observation": last[row],
                "TimeLimit.truncated": bool(truncated[i]),
            }
        ended.start()
        self._games.records[dones], self._games.rngs[dones] = ended.records, ended.rngs
        self._lengths[dones] = self._illegal[dones] = 0
