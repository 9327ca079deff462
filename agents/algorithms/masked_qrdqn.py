"""QR-DQN with action masks: sb3-contrib's `QRDQN` for discrete actions, not all legal.

The network estimates quantiles of the return of each action (Dabney et al. 2018, arXiv 1710.10044)
instead of its mean alone. Masks are used as in `masked_dqn.py`, the only neighbour that this file
needs besides stable-baselines3 and sb3-contrib, 2.7 or newer; docs/masked_qrdqn.md shows how to use
it with other environments.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch as th
from sb3_contrib import QRDQN
from sb3_contrib.qrdqn.policies import (
    CnnPolicy,
    MultiInputPolicy,
    QRDQNPolicy,
    QuantileNetwork,
)
from stable_baselines3.common.policies import BasePolicy

from agents.algorithms.masked_dqn import (
    MaskableOffPolicy,
    MaskablePolicy,
    MaskableSamples,
    best_legal,
    continues,
)


class MaskableQuantileNetwork(QuantileNetwork):
    """sb3-contrib's quantile network, asked for no more than an update needs.

    A subclass may answer both questions without computing every quantile of every action.
    """

    def values(self, observations: Any) -> th.Tensor:
        """(n, actions) float32: the mean of each action's quantiles."""
        values: th.Tensor = self(observations).mean(dim=1)
        return values

    def quantiles_of(self, observations: Any, actions: th.Tensor) -> th.Tensor:
        """(n, quantiles) float32: the quantiles of one action, (n, 1) int64, in each row."""
        index = actions[:, :, None].expand(-1, self.n_quantiles, -1)
        quantiles: th.Tensor = self(observations).gather(2, index).squeeze(2)
        return quantiles


class MaskableQRDQNPolicy(MaskablePolicy, QRDQNPolicy):
    """sb3-contrib's policy of QR-DQN, greedy among the legal actions by mean return."""

    quantile_net: MaskableQuantileNetwork
    quantile_net_target: MaskableQuantileNetwork

    def make_quantile_net(self) -> MaskableQuantileNetwork:
        """A network with features of its own."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return MaskableQuantileNetwork(**arguments).to(self.device)

    def action_values(self, observations: Any) -> th.Tensor:
        """(n, actions) float32: the mean of each action's quantiles."""
        return self.quantile_net.values(observations)


class MaskableQRDQNCnnPolicy(MaskableQRDQNPolicy, CnnPolicy):
    """The same for images."""


class MaskableQRDQNMultiInputPolicy(MaskableQRDQNPolicy, MultiInputPolicy):
    """The same for dictionary observations."""


class MaskableQRDQN(MaskableOffPolicy, QRDQN):
    """QR-DQN on legal actions only, with the target of double DQN.

    Arguments, saving and loading are those of `QRDQN`. Unlike `QRDQN` it explores in each
    environment independently.

    Args:
        *args: those of `QRDQN`.
        kappa: errors of quantiles beyond it count linearly, smaller ones by their square. Towards 0
            the outputs become true quantiles; a large one draws them towards the mean.
        **kwargs: those of `QRDQN`.

    Raises:
        ValueError: for a `kappa` that is not above 0, and see `MaskableOffPolicy`.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": MaskableQRDQNPolicy,
        "CnnPolicy": MaskableQRDQNCnnPolicy,
        "MultiInputPolicy": MaskableQRDQNMultiInputPolicy,
    }
    policy: MaskableQRDQNPolicy

    def __init__(self, *args: Any, kappa: float = 1.0, **kwargs: Any) -> None:
        if not (math.isfinite(kappa) and kappa > 0):
            raise ValueError(f"kappa must be a finite number above 0, not {kappa}")
        self.kappa = kappa
        super().__init__(*args, **kwargs)

    def loss(self, batch: MaskableSamples) -> th.Tensor:
        """() float32: the quantile Huber loss between the actions' quantiles and their targets."""
        network = self.policy.quantile_net
        quantiles = network.quantiles_of(batch.observations, batch.actions.long())
        return quantile_huber_loss(quantiles, self.targets(batch), self.kappa)

    @th.no_grad()
    def targets(self, batch: MaskableSamples) -> th.Tensor:
        """(batch, quantiles) float32: the reward, and quantiles after the best legal next action.

        The network chooses that action and the target network gives its quantiles (double DQN).
        Where an episode has ended, or nothing is legal, nothing is added.
        """
        following = batch.next_observations
        choices = best_legal(self.policy.quantile_net.values(following), batch.next_action_masks)
        quantiles = self.policy.quantile_net_target.quantiles_of(following, choices)
        return batch.rewards + th.where(continues(batch), self.gamma * quantiles, 0.0)


def quantile_huber_loss(quantiles: th.Tensor, targets: th.Tensor, kappa: float) -> th.Tensor:
    """The quantile Huber loss, equations 9 and 10 of arXiv 1710.10044, mean over the batch.

    Args:
        quantiles: (batch, n) float32, quantile i at the level (i + 1/2) / n.
        targets: (batch, m) float32, equally likely values.
        kappa: above 0, where the loss turns from quadratic to linear.

    Returns:
        () float32: summed over the n quantiles, divided by kappa.
    """
    loss: th.Tensor = _QuantileHuber.apply(quantiles, targets, kappa)  # type: ignore[no-untyped-call]
    return loss


class _QuantileHuber(th.autograd.Function):
    """The loss with its gradient computed by hand, several times faster than by autograd."""

    @staticmethod
    def forward(ctx: Any, quantiles: th.Tensor, targets: th.Tensor, kappa: float) -> th.Tensor:
        size, n = quantiles.shape
        gradient, loss = th.empty_like(quantiles), quantiles.new_zeros(())
        for i in range(n):  # the pairs of one quantile fit the cache, all pairs would not
            level = (i + 0.5) / n
            errors = targets - quantiles[:, i : i + 1]
            slopes = errors.clamp(-kappa, kappa)
            errors.sub_(slopes, alpha=0.5)  # a Huber loss is its slope times this
            weighted = level * slopes + (1 - 2 * level) * slopes.clamp_max(0)
            gradient[:, i] = weighted.mean(dim=1)
            loss += weighted.mul_(errors).mean()
        ctx.save_for_backward(gradient.div_(-size * kappa))
        return loss / kappa

    @staticmethod
    def backward(ctx: Any, *gradients: th.Tensor) -> tuple[th.Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradients[0] * gradient, None, None
