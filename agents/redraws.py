"""Advantages with less luck in them: each action is judged by several throws of the dice.

What follows an action depends on the dice far more than on the action. So the simulator throws them
several times more for each step, and the value of what follows is the mean over all throws. That
leaves every expectation as it is and takes most of the noise out of advantages and value targets.
It uses the rules, which throw the dice, and nothing of the solution.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer


class RedrawBuffer(MaskableRolloutBuffer):
    """A rollout buffer whose advantages take the mean over several throws for each step.

    Attributes:
        redrawn_values: tells at the end of a rollout the values of what else could have followed,
            (steps, redraws, n_envs) float32.
    """

    redrawn_values: Callable[[], NDArray[np.float32]]

    def compute_returns_and_advantage(
        self, last_values: torch.Tensor, dones: NDArray[np.bool_]
    ) -> None:
        """Generalised advantage estimation (arXiv 1506.02438) on the mean values."""
        followed = np.concatenate([self.values[1:], last_values.numpy().reshape(1, -1)])
        redrawn = self.redrawn_values()
        following = (followed + redrawn.sum(axis=1)) / (1 + redrawn.shape[1])
        goes_on = 1 - np.concatenate([self.episode_starts[1:], dones[None]])
        deltas = self.rewards + self.gamma * goes_on * following - self.values
        advantage = np.zeros(self.n_envs, np.float32)
        for step in reversed(range(self.buffer_size)):
            advantage = deltas[step] + self.gamma * self.gae_lambda * goes_on[step] * advantage
            self.advantages[step] = advantage
        self.returns = self.advantages + self.values
