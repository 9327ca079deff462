"""Parts of the agents' networks: hidden layers, hidden features, and their export to NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from agents.settings import PositiveInts, Settings, Texts
from yahtzee_env.observation import observation_names
from yahtzee_env.policies.network import Floats, Layer
from yahtzee_env.rules import Ruleset

ACTIVATIONS: dict[str, type[nn.Module]] = {"silu": nn.SiLU, "relu": nn.ReLU, "tanh": nn.Tanh}
_ACTIVATION_NAMES = {kind: name for name, kind in ACTIVATIONS.items()}


class NetworkSettings(Settings):
    """The hidden layers of each network of an agent."""

    widths: PositiveInts = (256, 256)
    """Units of each hidden layer."""
    activation: Literal["silu", "relu", "tanh"] = "silu"
    """The function after each hidden layer."""
    layer_norm: bool = True
    """Normalise each hidden layer before its activation."""
    hidden_features: Texts = ()
    """Prefixes of features hidden from the network, such as pays_."""


def check_hidden_features(network: NetworkSettings, ruleset: Ruleset) -> None:
    """Refuse prefixes that hide nothing.

    Raises:
        ValueError: naming the first such prefix.
    """
    names = observation_names(ruleset)
    for prefix in network.hidden_features:
        if not prefix or not any(name.startswith(prefix) for name in names):
            raise ValueError(f"network.hidden_features: no feature begins with {prefix!r}")


def policy_arguments(network: NetworkSettings, ruleset: Ruleset) -> dict[str, Any]:
    """The arguments that the policies of all algorithms share."""
    names, prefixes = observation_names(ruleset), network.hidden_features
    return {
        "net_arch": list(network.widths),
        "activation_fn": ACTIVATIONS[network.activation],
        "layer_norm": network.layer_norm,
        "features_extractor_class": SeenFeatures,
        "features_extractor_kwargs": {
            "hidden": [i for i, name in enumerate(names) if name.startswith(prefixes)]
        },
    }


class SeenFeatures(BaseFeaturesExtractor):
    """The flat observation, with zeros in place of the hidden features.

    Args:
        observation_space: of the flat observation.
        hidden: the indices of the hidden features.
    """

    seen: torch.Tensor

    def __init__(self, observation_space: spaces.Box, hidden: list[int]) -> None:
        super().__init__(observation_space, observation_space.shape[0])
        seen = torch.ones(self.features_dim)
        seen[hidden] = 0.0
        self.hides = bool(hidden)
        self.register_buffer("seen", seen, persistent=False)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """(n, features) float32 from (n, features) float32."""
        return observations * self.seen if self.hides else observations


def mlp(
    n_inputs: int, widths: list[int], activation: type[nn.Module], layer_norm: bool
) -> nn.Sequential:
    """Hidden layers of the given widths, each optionally normalised before its activation."""
    layers: list[nn.Module] = []
    for width in widths:
        norm = [nn.LayerNorm(width)] if layer_norm else []
        layers += [nn.Linear(n_inputs, width), *norm, activation()]
        n_inputs = width
    return nn.Sequential(*layers)


class Scorer(NamedTuple):
    """The part of a model that scores the actions; greedy play takes the legal one scored highest.

    Attributes:
        features: hides what the network must not see.
        modules: from the seen features to one output an action.
        skip: None, or (features, actions) float32: what the features add to the outputs.
    """

    features: SeenFeatures
    modules: Sequence[nn.Module]
    skip: torch.Tensor | None = None


def to_layers(
    scorer: Scorer,
) -> tuple[tuple[Layer, ...], np.ndarray[Any, np.dtype[np.float32]] | None]:
    """The layers of an exported agent, with weights of 0 for hidden features, and its skip."""
    seen = scorer.features.seen[:, None]
    first, *others = map(_layer, scorer.modules)
    weight, bias = first.arrays
    skip = None if scorer.skip is None else _array(scorer.skip * seen)
    return (Layer("linear", (weight * _array(seen), bias)), *others), skip


def _layer(module: nn.Module) -> Layer:
    if isinstance(module, nn.Linear):
        return Layer("linear", (_array(module.weight.T), _array(module.bias)))
    if isinstance(module, nn.LayerNorm):
        return Layer("layer_norm", (_array(module.weight), _array(module.bias)))
    return Layer(_ACTIVATION_NAMES[type(module)])


def _array(tensor: torch.Tensor) -> Floats:
    return np.ascontiguousarray(tensor.detach().numpy())
