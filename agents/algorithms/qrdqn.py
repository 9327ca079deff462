"""Maskable QR-DQN with a dueling network of quantiles, a falling learning rate, and redraws."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as F

from agents.algorithms.base import Algorithm
from agents.algorithms.masked_dqn import MaskableSamples, best_legal
from agents.algorithms.masked_qrdqn import (
    MaskableQRDQN,
    MaskableQRDQNPolicy,
    MaskableQuantileNetwork,
    quantile_huber_loss,
)
from agents.algorithms.networks import NetworkSettings, Scorer, mlp, to_layers
from agents.algorithms.quantiles import Forecast, check_quantiles
from agents.algorithms.replay import (
    COUNTERS,
    DuelingPolicy,
    RedrawOffPolicy,
    ReplaySettings,
    check_replay,
    known_points,
    learner_arguments,
    memory,
    restore,
)
from agents.settings import NonNegativeFloat, PositiveFloat, PositiveInt
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.policies.network import NetworkPolicy


class QRDQNSettings(ReplaySettings):
    """Settings of QR-DQN with masks: those of `ReplaySettings` and these."""

    batch_size: PositiveInt = 512
    """Transitions of an update."""
    quantiles: PositiveInt = 24
    """Quantiles of the return that the network estimates for each action."""
    kappa: PositiveFloat = 0.1
    """Errors of quantiles beyond it, in rewards, count linearly, smaller ones squared."""
    mean_coef: NonNegativeFloat = 3.0
    """Weight of the Huber loss of the mean, which alone decides between actions."""


class DuelingQuantileNetwork(MaskableQuantileNetwork):
    """Quantiles of the return: those of the position plus how each action differs from the average.

    The points for filling a box are known, so they shift its quantiles and need not be learned.

    Args:
        *args: as for the base class.
        pays: see `DuelingPolicy`.
        rewards_per_pay: see `DuelingPolicy`.
        layer_norm: normalise each hidden layer before its activation.
        **kwargs: as for the base class.
    """

    body: Any
    features_extractor: Any
    skip: torch.Tensor

    def __init__(
        self,
        *args: Any,
        pays: list[int],
        rewards_per_pay: float,
        layer_norm: bool,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        del self.quantile_net  # the plain head
        width, n_actions = self.net_arch[-1], int(self.action_space.n)
        self.body = mlp(self.features_dim, self.net_arch, self.activation_fn, layer_norm)
        self.value = nn.Linear(width, self.n_quantiles)
        self.advantages = nn.Linear(width, n_actions * self.n_quantiles)
        skip = known_points(self.features_dim, n_actions, pays, rewards_per_pay)
        self.register_buffer("skip", skip, persistent=False)

    def forward(self, observations: Any) -> torch.Tensor:
        """(n, quantiles, actions) float32 from (n, features) float32."""
        seen, hidden = self._hidden(observations)
        advantages = self.advantages(hidden).unflatten(1, (-1, self.n_quantiles))
        advantages = advantages - advantages.mean(dim=1, keepdim=True)
        quantiles = self.value(hidden)[:, None] + advantages + (seen @ self.skip)[:, :, None]
        return quantiles.transpose(1, 2)

    def values(self, observations: torch.Tensor) -> torch.Tensor:
        """(n, actions) float32: the mean of each action's quantiles, by the mean of the weights."""
        seen, hidden = self._hidden(observations)
        weights, biases = self._weights()
        advantages = F.linear(hidden, weights.mean(dim=1), biases.mean(dim=1))
        advantages = advantages - advantages.mean(dim=1, keepdim=True)
        return self.value(hidden).mean(dim=1, keepdim=True) + advantages + seen @ self.skip

    def quantiles_of(self, observations: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """(n, quantiles) float32: the quantiles of one action, (n, 1) int64, in each row.

        Only those are computed, for all rows of one action together.
        """
        seen, hidden = self._hidden(observations)
        weights, biases = self._weights()
        shared = F.linear(
            hidden, self.value.weight - weights.mean(0), self.value.bias - biases.mean(0)
        )
        order = actions[:, 0].argsort()
        counts = torch.bincount(actions[:, 0], minlength=len(weights)).tolist()
        rows = hidden[order].split(counts)
        own = torch.cat([F.linear(*group) for group in zip(rows, weights, biases, strict=True)])
        return shared + own[order.argsort()] + (seen @ self.skip).gather(1, actions)

    @torch.no_grad()
    def mean_advantages(self, begin: float = 0.0, end: float = 1.0) -> nn.Linear:
        """A new layer: each action's mean advantage over the quantiles from one level to another.

        The mean of the lowest quantiles up to a level is the conditional value at risk there.
        """
        weights, biases = self._weights()
        chosen = slice(round(begin * self.n_quantiles), round(end * self.n_quantiles))
        layer = nn.Linear(self.net_arch[-1], len(weights))
        layer.weight.copy_(weights[:, chosen].mean(dim=1))
        layer.bias.copy_(biases[:, chosen].mean(dim=1))
        return layer

    def _hidden(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The features that the network may see, and its last hidden layer."""
        seen = self.extract_features(observations, self.features_extractor)
        return seen, self.body(seen)

    def _weights(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The weights (actions, quantiles, width) and biases (actions, quantiles) of the head."""
        shape = -1, self.n_quantiles
        return self.advantages.weight.unflatten(0, shape), self.advantages.bias.unflatten(0, shape)


class DuelingQRDQNPolicy(DuelingPolicy, MaskableQRDQNPolicy):
    """The policy of maskable QR-DQN on a `DuelingQuantileNetwork`, for the flat observation."""

    def make_quantile_net(self) -> DuelingQuantileNetwork:
        """A network with features of its own."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return DuelingQuantileNetwork(**arguments, **self.dueling).to(self.device)


class RedrawQRDQN(RedrawOffPolicy, MaskableQRDQN):
    """`MaskableQRDQN` with redraws and a loss of the mean.

    Args:
        *args: as for `MaskableQRDQN`.
        mean_coef: weight of the Huber loss of the mean. Quantiles at evenly spaced levels, learned
            with a small kappa, lose the mean of skewed returns, and it decides between actions.
        **kwargs: as for `MaskableQRDQN` and `RedrawOffPolicy`.
    """

    def __init__(self, *args: Any, mean_coef: float = 0.0, **kwargs: Any) -> None:
        self.mean_coef = mean_coef
        super().__init__(*args, **kwargs)

    def loss(self, batch: MaskableSamples) -> torch.Tensor:
        """() float32: the mean loss of the quantiles, plus the weighted loss of their mean."""
        network = self.policy.quantile_net
        quantiles = network.quantiles_of(batch.observations, batch.actions.long())
        targets = self.targets(batch)
        loss = quantile_huber_loss(quantiles, targets, self.kappa) / self.n_quantiles
        if not self.mean_coef:
            return loss
        means = F.smooth_l1_loss(quantiles.mean(dim=1), targets.mean(dim=1))
        return loss + self.mean_coef * means

    @torch.no_grad()
    def targets(self, batch: MaskableSamples) -> torch.Tensor:
        """(batch, throws x quantiles) float32: the quantiles after all throws together."""
        each = super().targets(batch).unflatten(0, (1 + self.redraws, -1))
        return each.transpose(0, 1).flatten(1)


def make(settings: QRDQNSettings, network: NetworkSettings, env: YahtzeeSB3VecEnv) -> RedrawQRDQN:
    """An untrained model for the games of `env`."""
    arguments = learner_arguments(settings, network, env)
    arguments["policy_kwargs"]["n_quantiles"] = settings.quantiles
    return RedrawQRDQN(
        DuelingQRDQNPolicy, kappa=settings.kappa, mean_coef=settings.mean_coef, **arguments
    )


def scorer(model: RedrawQRDQN, begin: float = 0.0, end: float = 1.0) -> Scorer:
    """The mean advantages: the value of the position is the same for every action of a choice."""
    network: Any = model.policy.quantile_net
    modules = [*network.body, network.mean_advantages(begin, end)]
    return Scorer(network.features_extractor, modules, network.skip)


def tail_policy(model: RedrawQRDQN, name: str, begin: float, end: float) -> NetworkPolicy:
    """The player that chooses by the mean of the quantiles from one level to another.

    From 0 to a small level it is averse to risk: it maximises the conditional value at risk of the
    points to come, decision by decision. From a high level to 1 it seeks risk.
    """
    layers, skip = to_layers(scorer(model, begin, end))
    return NetworkPolicy(name, model.env.ruleset, layers, skip)


def forecaster(model: RedrawQRDQN) -> Forecast:
    """The greedy actions of a model, and the quantiles of the points that it expects."""
    network, points_per_reward = model.policy.quantile_net, model.env.points_per_reward

    @torch.no_grad()
    def forecast(
        observations: NDArray[np.float32], masks: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        seen = torch.from_numpy(observations)
        actions = best_legal(network.values(seen), torch.from_numpy(masks))
        quantiles = points_per_reward * network.quantiles_of(seen, actions)
        return actions[:, 0].numpy(), quantiles.numpy()

    return forecast


def diagnose(model: RedrawQRDQN, seed: int) -> dict[str, float]:
    """Distances to the exact distributions of optimal play, and the calibration."""
    return check_quantiles(forecaster(model), model.env.ruleset, seed)


ALGORITHM = Algorithm(
    name="qrdqn",
    title="QR-DQN",
    settings=QRDQNSettings,
    make=make,
    rollout_length=lambda settings: 1,
    check=partial(check_replay, "qrdqn"),
    scorer=scorer,
    redrawn="At each replay of a step",
    counters=COUNTERS,
    memory=memory,
    restore=restore,
    diagnose=diagnose,
)
