"""The training loop: `train` an agent in a run folder, then `finish` the run with its result."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from stable_baselines3.common.utils import set_random_seed
from torch.utils.tensorboard import SummaryWriter

from agents.algorithms import Model
from agents.config import TrainConfig
from agents.networks import to_layers
from agents.runs.callbacks import (
    Checkpoints,
    DivergenceCheck,
    GreedyEvaluation,
    HyperParameters,
    ProgressBar,
)
from agents.runs.checkpoint import BadCheckpoint, load_checkpoint, save_checkpoint
from agents.runs.folder import (
    AGENT,
    BEST,
    CHECKPOINT,
    CONFIG,
    EVALUATIONS,
    LAST,
    RESULT,
    write_json,
)
from agents.runs.history import History
from agents.runs.stop import StopRequest
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.evaluation import Comparison, Evaluation, compare, measurements
from yahtzee_env.family import get_ruleset
from yahtzee_env.files import write_beside
from yahtzee_env.policies import POLICIES, ModelPolicy
from yahtzee_env.policies.network import NetworkPolicy

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
    show_progress: bool = True,
) -> tuple[Model, History]:
    """Train an agent, from the checkpoint in the folder if there is one.

    Returns the model after the last update, and the run's history.

    Raises:
        Stopped: once `stop` asks for it, after the checkpoint is written.
        Diverged: when the weights are no longer finite.
        BadCheckpoint: if the checkpoint in the folder is of another run, damaged or missing.
    """
    write_beside(folder / CONFIG, lambda path: path.write_text(config.to_yaml(), encoding="utf-8"))
    seeds = spawn_seeds(config.seed)
    torch.set_num_threads(config.threads or default_threads())
    set_random_seed(seeds["learner"])
    games = YahtzeeSB3VecEnv(config.ruleset, config.n_envs, config.points_per_reward, config.masks)
    games.seed(seeds["training_games"])
    model = config.learner.make(config.settings, config.network, games)
    checkpoint = folder / CHECKPOINT
    history = _history(config, folder, model)
    model.set_logger(Logger(str(folder), [EventLog(folder, model.num_timesteps)]))

    def save() -> None:
        save_checkpoint(checkpoint, config, model, history)
        write_beside(folder / LAST, model.save)

    bar = ProgressBar(history, visible=show_progress)
    measured = config.evaluation
    callbacks = [
        HyperParameters(config.flat()),
        DivergenceCheck(),
        GreedyEvaluation(
            config.learner,
            measured.every,
            measured.games,
            seeds["evaluation_games"],
            history,
            folder,
        ),
        bar,
        Checkpoints(save, config.checkpoint_every, stop or StopRequest()),
    ]
    remaining = config.whole_timesteps - model.num_timesteps
    try:
        model.learn(remaining, callbacks, reset_num_timesteps=model.num_timesteps == 0)
    finally:
        bar.close()
    return model, history


def _history(config: TrainConfig, folder: Path, model: Model) -> History:
    """The history of the run so far, whose checkpoint is loaded into the model if there is one."""
    checkpoint = folder / CHECKPOINT
    if not checkpoint.exists():
        if (folder / LAST).exists():
            again = f"--config {folder / CONFIG} --run-dir {folder} --force"
            raise BadCheckpoint(f"{checkpoint} is missing; to begin the run again: {again}")
        return History()
    history = load_checkpoint(checkpoint, config, model)
    if history.evaluations:
        history.write(folder / EVALUATIONS)
    return history


def finish(
    config: TrainConfig, folder: Path, model: Model, history: History, origin: dict[str, Any]
) -> Comparison:
    """Compare the best agent of a run with the baselines in fresh games.

    Writes `best.zip`, `result.json` and, unless it learned without masks, `agent.npz`.

    Args:
        config: the experiment.
        folder: the run folder.
        model: the trained model; it gets the weights of the best evaluation.
        history: the run's history.
        origin: what `provenance` returned when the run began.
    """
    seconds = history.seconds
    model.policy.load_state_dict(history.best_weights)
    write_beside(folder / BEST, model.save)
    agent = ModelPolicy(model, config.algorithm, use_masks=config.masks)
    comparison = compare(
        [*(name for name in POLICIES if name != "optimal"), agent],
        config.ruleset,
        config.evaluation.final_games,
        spawn_seeds(config.seed)["final_games"],
        on_illegal="random",  # which masks never need
    )
    rows = [_score(evaluation) for evaluation in comparison.evaluations]
    result = {
        "ruleset": config.ruleset,
        "seed": config.seed,
        "timesteps": model.num_timesteps,
        "training_seconds": round(seconds, 1),
        "evaluation_share": round(history.evaluating / seconds, 4),
        "threads": torch.get_num_threads(),
        "deterministic": True,
        "chosen_after_timesteps": history.best["timesteps"],
        "scores": rows,
        "provenance": origin,
    }
    if config.masks:
        settings = yaml.safe_load(config.to_yaml())
        agent_result = {**result, "scores": rows[-1:]}
        training = {"algorithm": config.algorithm, "config": settings, "result": agent_result}
        to_agent(config, model, training).save(folder / AGENT)
    write_json(folder / RESULT, result)
    return comparison


def _score(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "player": evaluation.policy,
        "games": evaluation.games,
        "optimum": evaluation.optimum,
        **measurements(evaluation),
        "illegal_actions": evaluation.illegal_actions,
    }


def to_agent(config: TrainConfig, model: Model, training: dict[str, Any]) -> NetworkPolicy:
    """The greedy player of a model, needing NumPy alone."""
    layers, skip = to_layers(config.learner.scorer(model))
    name = f"{config.algorithm}-{config.ruleset}"
    return NetworkPolicy(name, get_ruleset(config.ruleset), layers, skip, training)
