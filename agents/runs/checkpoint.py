"""Checkpoints: everything needed to resume a run exactly, in one file."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from agents.algorithms import Algorithm, Model
from agents.config import TrainConfig, make_config
from agents.runs.folder import write_weights
from agents.runs.history import History
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv

FORMAT = "yahtzee-env checkpoint 3"

COUNTERS = ("num_timesteps", "_n_updates", "_episode_num")
"""Attributes of every model that change in training."""

FREE = ("name", "threads", "total_timesteps")
"""Keys of the configuration that may be changed when a run is resumed."""


class BadCheckpoint(ValueError):
    """A file that is not a checkpoint, or not one of this run."""


def save_checkpoint(path: Path, config: TrainConfig, model: Model, history: History) -> None:
    """Write the state of a run between two updates, all or nothing.

    Raises:
        OSError: if it cannot be written; then the former file stays.
    """
    content = {
        "format": FORMAT,
        "config": config.plain(),
        "model": model_state(config.learner, model),
        "history": history.state(),
        "random": _random_state(),
    }
    write_weights(path, lambda temporary: torch.save(content, temporary))


def load_checkpoint(path: Path, config: TrainConfig, model: Model) -> History:
    """Bring a new model of the same configuration to the state that was saved.

    The file is read without running code in it. The global random states of NumPy and torch, from
    which stable-baselines3 draws, are set too. The configuration may have keys that the saved one
    lacks, as long as they have their default values.

    Raises:
        BadCheckpoint: if the file is not such a checkpoint.
        OSError: if it cannot be read.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        if content["format"] != FORMAT:
            raise ValueError(f"its format is not {FORMAT!r}")
        if changed := _changed_keys(make_config(content["config"]), config):
            raise ValueError(f"its configuration differs in {', '.join(changed)}")
        restore_model(config.learner, model, content["model"])
        _restore_random_state(content["random"])
        return History.of_state(content["history"])
    except Exception as error:
        if isinstance(error, OSError) and error.filename:
            raise  # torch has nameless ones for damaged files
        # The messages of torch have many lines and advise to trust the file.
        what = str(error) if type(error) is ValueError else "damaged, or of another configuration"
        raise BadCheckpoint(f"{path} is not a checkpoint of this run: {what}") from None


def _changed_keys(saved: TrainConfig, config: TrainConfig) -> list[str]:
    """The keys that differ, except those that may."""
    before, now = saved.flat(), config.flat()
    keys = (key for key in {**before, **now} if key not in FREE)
    return [key for key in keys if before.get(key) != now.get(key)]


def model_state(algorithm: Algorithm[Any], model: Model) -> dict[str, Any]:
    """Networks, optimizer, counters, games and experience, as tensors and plain data."""
    return {
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict(),
        "counters": {name: getattr(model, name) for name in (*COUNTERS, *algorithm.counters)},
        "games": _tensors(_games(model).state()),
        "episode_starts": torch.from_numpy(np.asarray(model._last_episode_starts)),
        "recent_episodes": list(model.ep_info_buffer or ()),
        "memory": _tensors(algorithm.memory(model)),
    }


def restore_model(algorithm: Algorithm[Any], model: Model, state: dict[str, Any]) -> None:
    """Bring a new model to the state that `model_state` returned."""
    model.policy.load_state_dict(state["policy"])
    model.policy.optimizer.load_state_dict(state["optimizer"])
    for name, value in state["counters"].items():
        setattr(model, name, value)
    model._last_obs = _games(model).restore(_arrays(state["games"]))
    model._last_episode_starts = state["episode_starts"].numpy()
    model.ep_info_buffer = deque(state["recent_episodes"], model._stats_window_size)
    model.ep_success_buffer = deque(maxlen=model._stats_window_size)
    algorithm.restore(model, _arrays(state["memory"]))


def _games(model: Model) -> YahtzeeSB3VecEnv:
    assert isinstance(model.env, YahtzeeSB3VecEnv)
    return model.env


def _tensors(arrays: dict[str, NDArray[Any]]) -> dict[str, torch.Tensor]:
    # Tensors have no records: those go as their bytes.
    plain = {k: v.view(np.uint8) if v.dtype.fields else v for k, v in arrays.items()}
    return {name: torch.from_numpy(array) for name, array in plain.items()}


def _arrays(tensors: dict[str, torch.Tensor]) -> dict[str, NDArray[Any]]:
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def _random_state() -> dict[str, Any]:
    state: Any = np.random.get_state(legacy=True)  # noqa: NPY002  (stable-baselines3 uses it)
    kind, key, *rest = state
    key = torch.from_numpy(key.astype(np.int64))
    return {"numpy": (kind, key, *rest), "torch": torch.get_rng_state()}


def _restore_random_state(state: dict[str, Any]) -> None:
    kind, key, *rest = state["numpy"]
    np.random.set_state((kind, key.numpy().astype(np.uint32), *rest))  # noqa: NPY002
    torch.set_rng_state(state["torch"])
