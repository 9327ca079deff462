"""From a trained model to one small file that plays without torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from agents.ppo import PPO
from yahtzee_env.family import get_ruleset
from yahtzee_env.policies.network import Layer, NetworkPolicy

_ACTIVATIONS = {nn.SiLU: "silu", nn.ReLU: "relu", nn.Tanh: "tanh"}


def to_network(model: PPO, name: str, ruleset: str, training: Mapping[str, Any]) -> NetworkPolicy:
    """The policy network of a model as a player that needs NumPy alone.

    Args:
        model: the trained model.
        name: what the player is called.
        ruleset: the rules that it was trained for.
        training: how it came about, as plain data.
    """
    modules = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
    return NetworkPolicy(name, get_ruleset(ruleset), tuple(map(_layer, modules)), training)


def _layer(module: nn.Module) -> Layer:
    if isinstance(module, nn.Linear):
        return Layer("linear", (_array(module.weight.T), _array(module.bias)))
    if isinstance(module, nn.LayerNorm):
        return Layer("layer_norm", (_array(module.weight), _array(module.bias)))
    return Layer(_ACTIVATIONS[type(module)])


def _array(tensor: torch.Tensor) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.ascontiguousarray(tensor.detach().numpy())
