"""Redraws: learning targets that average over several throws of the dice.

The dice decide more about the next position than the action does. So the simulator throws the dice
of each step several more times, and the value of the next position is the mean over all throws.
This keeps every expectation and removes most of the variance of the learning targets. It uses the
rules, which throw the dice, and nothing of the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer

from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.game import Games
from yahtzee_env.kernels import GAME, mixed
from yahtzee_env.rules import Ruleset


def redraw(
    ruleset: Ruleset,
    before: NDArray[np.void],
    rngs: NDArray[np.uint64],
    actions: NDArray[np.int64],
    redraws: int,
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Positions that could have followed the actions, had the dice fallen differently.

    Args:
        ruleset: the rules.
        before: (n,) `GAME` records, the games before the actions.
        rngs: (n,) uint64; the dice depend on these states, but differ from those of the games.
        actions: (n,) int64.
        redraws: how often the dice are thrown for each game.

    Returns:
        Observations and action masks, with a row for each redraw of each game: all games once,
        then again.
    """
    games = Games(ruleset, redraws * len(before))
    games.records[:] = np.tile(before, redraws)
    copy = np.repeat(np.arange(redraws, dtype=np.uint64), len(before))
    games.rngs[:] = mixed(~np.tile(rngs, redraws) + copy)
    games.play(np.tile(actions, redraws))
    return games.observe()


class RedrawRolloutBuffer(MaskableRolloutBuffer):
    """A rollout buffer whose advantages take the mean over several throws for each step.

    Attributes:
        games: the games in which the steps were taken.
        redraws: how many extra throws each step gets.
        values_of: from observations (n, features) to their values (n, 1).
        before: (steps, n_envs) `GAME` records, the games before each step.
        rngs: (steps, n_envs) uint64, their generators at that time.
    """

    games: YahtzeeSB3VecEnv
    redraws: int
    values_of: Callable[[torch.Tensor], torch.Tensor]

    def reset(self) -> None:
        """Forget the steps."""
        self.before = np.zeros((self.buffer_size, self.n_envs), GAME)
        self.rngs = np.zeros((self.buffer_size, self.n_envs), np.uint64)
        super().reset()

    def add(self, *step: Any, **others: Any) -> None:
        """Store the step that the games have just taken."""
        self.before[self.pos] = self.games.before
        self.rngs[self.pos] = self.games.rngs_before
        super().add(*step, **others)

    def compute_returns_and_advantage(
        self, last_values: torch.Tensor, dones: NDArray[np.bool_]
    ) -> None:
        """Generalised advantage estimation (arXiv 1506.02438) on the mean values."""
        followed = np.concatenate([self.values[1:], last_values.numpy().reshape(1, -1)])
        following = (followed + self._redrawn_values().sum(axis=0)) / (1 + self.redraws)
        continues = 1 - np.concatenate([self.episode_starts[1:], dones[None]])
        deltas = self.rewards + self.gamma * continues * following - self.values
        advantage = np.zeros(self.n_envs, np.float32)
        for step in reversed(range(self.buffer_size)):
            advantage = deltas[step] + self.gamma * self.gae_lambda * continues[step] * advantage
            self.advantages[step] = advantage
        self.returns = self.advantages + self.values

    def _redrawn_values(self) -> NDArray[np.float32]:
        """(redraws, steps, n_envs): the values of the redrawn positions after each step."""
        actions = self.actions.astype(np.int64).ravel()
        before, rngs = self.before.ravel(), self.rngs.ravel()
        observations, _ = redraw(self.games.ruleset, before, rngs, actions, self.redraws)
        with torch.no_grad():
            values = self.values_of(torch.from_numpy(observations))
        return values.numpy().reshape(self.redraws, self.buffer_size, self.n_envs)
