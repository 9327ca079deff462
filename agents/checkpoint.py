"""Checkpoints: all that a run needs to go on as if it had never stopped, in one file."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents.history import History
from agents.ppo import PPO
from agents.sb3_vec_env import GamesVecEnv
from yahtzee_env.files import write_beside

FORMAT = "yahtzee-env checkpoint 1"


class BadCheckpoint(ValueError):
    """A file that is no checkpoint, or not one of this run."""


def save_checkpoint(path: Path, model: PPO, history: History) -> None:
    """Write the state of a run between two updates, all or nothing."""
    content = {
        "format": FORMAT,
        "model": model_state(model),
        "history": history.state(),
        "random": _random_state(),
    }
    write_beside(path, lambda beside: torch.save(content, beside))


def load_checkpoint(path: Path, model: PPO) -> History:
    """Bring a new model of the same configuration to the state that was saved.

    The file is read without running code in it. The global random states of NumPy and torch, from
    which stable-baselines3 draws, are set too.

    Raises:
        BadCheckpoint: if the file is no such checkpoint.
        OSError: if it cannot be read.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        if content["format"] != FORMAT:
            raise ValueError(f"its format is not {FORMAT!r}")
        restore_model(model, content["model"])
        _restore_random_state(content["random"])
        return History.of_state(content["history"])
    except OSError:
        raise
    except Exception as error:
        what = str(error).split("\n")[0]
        raise BadCheckpoint(f"{path} is no checkpoint of this run: {what}") from None


def model_state(model: PPO) -> dict[str, Any]:
    """Networks, optimiser, counters and games of a model, as tensors and plain data."""
    return {
        "timesteps": model.num_timesteps,
        "updates": model._n_updates,
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict(),
        "games": {name: torch.from_numpy(value) for name, value in _games(model).state().items()},
        "episode_starts": torch.from_numpy(np.asarray(model._last_episode_starts)),
        "recent_episodes": list(model.ep_info_buffer or ()),
    }


def restore_model(model: PPO, state: dict[str, Any]) -> None:
    """Bring a new model to the state that `model_state` took."""
    model.policy.load_state_dict(state["policy"])
    model.policy.optimizer.load_state_dict(state["optimizer"])
    model.num_timesteps, model._n_updates = state["timesteps"], state["updates"]
    games = {name: value.numpy() for name, value in state["games"].items()}
    model._last_obs = _games(model).restore(games)
    model._last_episode_starts = state["episode_starts"].numpy()
    model.ep_info_buffer = deque(state["recent_episodes"], model._stats_window_size)
    model.ep_success_buffer = deque(maxlen=model._stats_window_size)


def _games(model: PPO) -> GamesVecEnv:
    assert isinstance(model.env, GamesVecEnv)
    return model.env


def _random_state() -> dict[str, Any]:
    kind, key, *rest = np.random.get_state(legacy=True)  # noqa: NPY002  (stable-baselines3 uses it)
    key = torch.from_numpy(key.astype(np.int64))
    return {"numpy": (kind, key, *rest), "torch": torch.get_rng_state()}


def _restore_random_state(state: dict[str, Any]) -> None:
    kind, key, *rest = state["numpy"]
    np.random.set_state((kind, key.numpy().astype(np.uint32), *rest))  # noqa: NPY002
    torch.set_rng_state(state["torch"])
