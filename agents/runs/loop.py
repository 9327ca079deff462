"""The training loop."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import numpy as np
import torch
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from stable_baselines3.common.utils import set_random_seed
from torch.utils.tensorboard import SummaryWriter

from agents.algorithms import Model
from agents.algorithms.redraws import redraw
from agents.config import TrainConfig
from agents.runs.callbacks import (
    Checkpoints,
    DivergenceCheck,
    GreedyEvaluation,
    HyperParameters,
    ProgressBar,
)
from agents.runs.checkpoint import BadCheckpoint, load_checkpoint, save_checkpoint
from agents.runs.folder import CHECKPOINT, CONFIG, EVALUATIONS, LAST, write_weights
from agents.runs.history import History
from agents.runs.stop import StopRequest
from yahtzee_env import evaluate
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.files import write_atomically
from yahtzee_env.rules import Ruleset

MAX_THREADS = 4
"""More processor threads do not speed up networks of this size."""


def spawn_seeds(seed: int) -> dict[str, int]:
    """Independent seeds for the learner, its games, and the games of the evaluations."""
    uses = ("learner", "training_games", "evaluation_games", "final_games")
    children = np.random.SeedSequence(seed).spawn(len(uses))
    return {use: int(child.generate_state(1)[0]) for use, child in zip(uses, children, strict=True)}


def default_threads() -> int:
    """All cores that this process may use, at most `MAX_THREADS`."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    return min(len(allowed) if allowed else os.cpu_count() or 1, MAX_THREADS)


class EventLog(TensorBoardOutputFormat):
    """TensorBoard's log of a run; drops what an interrupted process logged after step `begun`."""

    def __init__(self, folder: Path, begun: int) -> None:
        self.writer = SummaryWriter(str(folder), purge_step=begun + 1 if begun else None)
        self._is_closed = False


def train(
    config: TrainConfig,
    folder: Path,
    stop: StopRequest | None = None,
    show_progress: bool = False,
) -> tuple[Model, History]:
    """Train an agent, from the checkpoint in the folder if there is one.

    Returns the model after the last update, and the run's history.

    Raises:
        Stopped: once `stop` asks for it, after the checkpoint is written.
        Diverged: when the weights are no longer finite.
        BadCheckpoint: if the checkpoint in the folder is of another run, damaged or missing.
        OSError: if the folder cannot be written.
    """
    write_atomically(
        folder / CONFIG, lambda path: path.write_text(config.to_yaml(), encoding="utf-8")
    )
    compile_kernels(config.ruleset)
    stop = stop or StopRequest()
    seeds = spawn_seeds(config.seed)
    torch.set_num_threads(config.threads or default_threads())
    set_random_seed(seeds["learner"])
    games = YahtzeeSB3VecEnv(config.ruleset, config.n_envs, config.points_per_reward, config.masks)
    games.seed(seeds["training_games"])
    model = config.learner.make(config.settings, config.network, games)
    history = _history(config, folder, model)
    model.set_logger(Logger(str(folder), [EventLog(folder, model.num_timesteps)]))

    def save() -> None:
        save_checkpoint(folder / CHECKPOINT, config, model, history)
        write_weights(folder / LAST, model.save)

    bar = ProgressBar(history, stop)
    callbacks = [
        HyperParameters({**config.flat(), "ruleset": config.ruleset.name}),
        DivergenceCheck(),
        GreedyEvaluation(
            config.learner,
            config.evaluation.every,
            config.evaluation.games,
            seeds["evaluation_games"],
            history,
            folder,
        ),
        *([bar] if show_progress else []),
        Checkpoints(save, config.checkpoint_every, stop),
    ]
    remaining = config.whole_timesteps - model.num_timesteps
    with closing(bar):
        model.learn(remaining, callbacks, reset_num_timesteps=model.num_timesteps == 0)
    return model, history


def compile_kernels(ruleset: Ruleset) -> None:
    """Compile and solve what training uses, so that its time is not counted as training time."""
    evaluate("random", ruleset, games=2)
    games = YahtzeeSB3VecEnv(ruleset, n_envs=2)
    games.seed(0)
    games.reset()
    actions = games.env_method("action_masks").argmax(axis=1)
    games.step(actions)
    redraw(games.ruleset, games.before, games.rngs_before, actions, redraws=1)


def _history(config: TrainConfig, folder: Path, model: Model) -> History:
    """The history of the run so far, whose checkpoint is loaded into the model if there is one."""
    checkpoint = folder / CHECKPOINT
    if not checkpoint.exists():
        if (folder / LAST).exists():
            again = f"--config {folder / CONFIG} --run_dir {folder} --force"
            raise BadCheckpoint(f"{checkpoint} is missing; to begin the run again: {again}")
        return History()
    history = load_checkpoint(checkpoint, config, model)
    if history.evaluations:
        history.write(folder / EVALUATIONS)
    return history
