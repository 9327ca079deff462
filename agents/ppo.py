"""Maskable PPO with an entropy bonus that falls to zero and a learning rate for each network."""

from __future__ import annotations

from typing import Any

from sb3_contrib import MaskablePPO


class PPO(MaskablePPO):
    """sb3-contrib's `MaskablePPO`; only what is held constant there falls linearly here.

    `ent_coef` is the entropy coefficient at the start of training; at the end it is 0. Parameter
    groups of the optimizer may carry an `lr_factor` (see `networks.NormalizedPolicy`).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.first_ent_coef = self.ent_coef

    def train(self) -> None:
        """Update the networks from the rollout buffer."""
        self.ent_coef = self.first_ent_coef * self._current_progress_remaining
        super().train()
        self.logger.record("train/ent_coef", self.ent_coef)

    def _update_learning_rate(self, optimizers: Any) -> None:
        super()._update_learning_rate(optimizers)
        for group in self.policy.optimizer.param_groups:
            group["lr"] *= group.get("lr_factor", 1.0)
