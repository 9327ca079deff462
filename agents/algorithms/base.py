"""What the rest of the lab needs from a learning algorithm, gathered in one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm

from agents.algorithms.networks import NetworkSettings, Scorer
from agents.settings import Settings
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv

Model: TypeAlias = BaseAlgorithm
"""An agent of any algorithm while it learns."""

Memory: TypeAlias = dict[str, NDArray[Any]]
S = TypeVar("S", bound=Settings)


class Shared(NamedTuple):
    """The settings of an experiment that every algorithm shares, as far as they limit its own.

    Attributes:
        n_envs: games played in parallel.
        total_timesteps: environment steps of the whole training.
        masks: whether the agent is told which actions are legal.
    """

    n_envs: int
    total_timesteps: int
    masks: bool


def nothing_kept(model: Any) -> Memory:
    """The memory of an algorithm that discards its experience after each update."""
    return {}


def nothing_measured(model: Any, seed: int) -> dict[str, float]:
    """The diagnostics of an algorithm without any."""
    return {}


def nothing_restored(model: Any, memory: Mapping[str, NDArray[Any]]) -> None:
    """The counterpart of `nothing_kept`."""


@dataclass(frozen=True)
class Algorithm(Generic[S]):
    """A learning algorithm.

    Attributes:
        name: its name in a configuration, and the key of its settings there.
        title: its name in text.
        settings: the type of its settings; every field has a default.
        make: an untrained model from the settings, those of the network, and the games.
        rollout_length: steps of each game between two updates.
        check: raises ValueError for settings that do not fit the shared ones.
        scorer: the network of a trained model that scores the actions.
        redrawn: when the dice are thrown again, as the beginning of a sentence.
        counters: attributes of the model that change in training, besides those of every model.
        memory: arrays that a checkpoint keeps besides networks, optimizer and counters.
        restore: puts the saved memory into a new model; raises KeyError if some of it is missing.
        diagnose: figures about what the model has learned, for the log of each evaluation; in
            games with the given seed.
    """

    name: str
    title: str
    settings: type[S]
    make: Callable[[S, NetworkSettings, YahtzeeSB3VecEnv], Model]
    rollout_length: Callable[[S], int]
    check: Callable[[S, Shared], None]
    scorer: Callable[[Any], Scorer]
    redrawn: str
    counters: tuple[str, ...] = ()
    memory: Callable[[Any], Memory] = nothing_kept
    restore: Callable[[Any, Mapping[str, NDArray[Any]]], None] = nothing_restored
    diagnose: Callable[[Any, int], dict[str, float]] = nothing_measured


def check_redraws(key: str, redraws: int, shared: Shared) -> None:
    """Refuse redraws without masks.

    Raises:
        ValueError: naming the key.
    """
    if redraws and not shared.masks:
        raise ValueError(f"{key} must be 0 without masks: an illegal action rolls no dice")
