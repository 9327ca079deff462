"""Small environments where not every action is legal."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class CountOnly(gym.Env):
    """Five actions, of which only those up to a counter are legal; the last legal one pays 1."""

    action_space = spaces.Discrete(5)
    observation_space = spaces.Box(0, 1, (5,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count, self.steps = 0, 0
        return self._observe(), {"action_mask": self.action_masks()}

    def step(self, action):
        assert self.action_masks()[action], "an illegal action"
        self.steps += 1
        reward = float(action == self.count)
        self.count = (self.count + 1) % 5
        return (
            self._observe(),
            reward,
            self.steps == 10,
            False,
            {"action_mask": self.action_masks()},
        )

    def action_masks(self):
        return np.arange(5) <= self.count

    def _observe(self):
        return np.eye(5, dtype=np.float32)[self.count]


class CountDict(CountOnly):
    """The same with a dictionary observation."""

    observation_space = spaces.Dict({"count": CountOnly.observation_space})

    def _observe(self):
        return {"count": super()._observe()}


class Lottery(gym.Env):
    """One decision: action 0 pays 3, action 1 pays 0 or 4 equally often, action 2 is illegal."""

    action_space = spaces.Discrete(3)
    observation_space = spaces.Box(0, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.ones(1, np.float32), {}

    def step(self, action):
        assert action < 2, "an illegal action"
        reward = 3.0 if action == 0 else 4.0 * self.np_random.integers(2)
        return np.ones(1, np.float32), reward, True, False, {}

    def action_masks(self):
        return np.array([True, True, False])
