"""Train an agent and measure it: ``python -m agents.train --config configs/ppo_quick.yaml``.

Every key of `agents.config.TrainConfig` can also be given on the command line, as in
``--ruleset yatzy --ppo.n_epochs 4``. A run that was stopped or killed goes on with
``--resume runs/NAME-1``.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.early_stop import SIGNALLED, stop_as_usual, stop_early

if __name__ == "__main__":
    stop_early()  # the imports below take seconds

import numpy as np
import torch
import yaml
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from stable_baselines3.common.utils import set_random_seed
from torch.utils.tensorboard import SummaryWriter

from agents.algorithms import ALGORITHMS, Model
from agents.callbacks import (
    Checkpoints,
    Diverged,
    DivergenceCheck,
    GreedyEvaluation,
    HyperParameters,
    ProgressBar,
    Stopped,
    StopRequest,
)
from agents.checkpoint import BadCheckpoint, load_checkpoint, save_checkpoint
from agents.config import TrainConfig, flat, parse
from agents.export import to_network
from agents.history import History
from agents.report import compare, greedy_policy, print_comparison
from agents.run_folder import (
    AGENT,
    BEST,
    CHECKPOINT,
    CONFIG,
    EVALUATIONS,
    LAST,
    RESULT,
    is_complete,
    open_run_folder,
    provenance,
    reopen_run_folder,
    write_json,
)
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.files import write_beside

MAX_THREADS = 4
"""More processor threads do not speed up networks of this size."""


def spawn_seeds(seed: int) -> dict[str, int]:
    """Independent seeds for the learner, its games, and the games that measure it."""
    uses = ("learner", "training_games", "evaluation_games", "final_games")
    children = np.random.SeedSequence(seed).spawn(len(uses))
    return {use: int(child.generate_state(1)[0]) for use, child in zip(uses, children, strict=True)}


def default_threads() -> int:
    """All cores that this process may use, at most `MAX_THREADS`."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    return min(len(allowed) if allowed else os.cpu_count() or 1, MAX_THREADS)


class EventLog(TensorBoardOutputFormat):
    """TensorBoard's log of a run; takes back what was logged after step `begun` before."""

    def __init__(self, folder: Path, begun: int) -> None:
        self.writer = SummaryWriter(str(folder), purge_step=begun + 1 if begun else None)
        self._is_closed = False


def train(
    config: TrainConfig,
    folder: Path,
    stop: StopRequest | None = None,
    show_progress: bool = True,
) -> tuple[Model, History]:
    """Train an agent as configured, from the checkpoint in the folder if there is one.

    Returns the model after the last update, and the run's history.

    Raises:
        Stopped: once `stop` asks for it, when the checkpoint is written.
        BadCheckpoint: if the folder holds the checkpoint of another run, or a damaged one, or has
            lost it.
    """
    write_beside(folder / CONFIG, lambda path: path.write_text(config.to_yaml(), encoding="utf-8"))
    seeds = spawn_seeds(config.seed)
    torch.set_num_threads(config.threads or default_threads())
    set_random_seed(seeds["learner"])
    games = YahtzeeSB3VecEnv(config.ruleset, config.n_envs, config.points_per_reward, config.masks)
    games.seed(seeds["training_games"])
    model = ALGORITHMS[config.algorithm](config, games)
    checkpoint = folder / CHECKPOINT
    known = checkpoint.exists()
    if not known and (folder / LAST).exists():
        again = f"--config {folder / CONFIG} --run-dir {folder} --force"
        raise BadCheckpoint(f"{checkpoint} is missing; to begin the run again: {again}")
    history = load_checkpoint(checkpoint, config, model) if known else History()
    if history.evaluations:
        history.write(folder / EVALUATIONS)
    model.set_logger(Logger(str(folder), [EventLog(folder, model.num_timesteps)]))

    def save() -> None:
        save_checkpoint(checkpoint, config, model, history)
        write_beside(folder / LAST, model.save)

    bar = ProgressBar(history, visible=show_progress)
    callbacks = [
        HyperParameters(flat(config)),
        DivergenceCheck(),
        GreedyEvaluation(config, seeds["evaluation_games"], history, folder),
        bar,
        Checkpoints(save, config.checkpoint_every, stop or StopRequest()),
    ]
    remaining = config.whole_timesteps - model.num_timesteps
    try:
        model.learn(remaining, callbacks, reset_num_timesteps=model.num_timesteps == 0)
    finally:
        bar.close()
    return model, history


def run(config: TrainConfig, folder: Path, stop: StopRequest) -> dict[str, Any]:
    """Train, then measure the best agent in fresh games; returns what `result.json` holds."""
    origin = provenance()  # the code may be changed while it runs
    with stop.listening():
        model, history = train(config, folder, stop)
    seconds = history.seconds
    model.policy.load_state_dict(history.best_weights)
    write_beside(folder / BEST, model.save)
    rows = compare(
        [greedy_policy(model, config.algorithm, config.masks)],
        config.ruleset,
        config.evaluation.final_games,
        spawn_seeds(config.seed)["final_games"],
    )
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
        _export(model, config, {**result, "scores": rows[-1:]}, folder)
    write_json(folder / RESULT, result)
    print_comparison(rows, config.ruleset)
    return result


def _export(model: Model, config: TrainConfig, result: dict[str, Any], folder: Path) -> None:
    """Write the agent as a player that needs NumPy alone."""
    settings = yaml.safe_load(config.to_yaml())
    training = {"algorithm": config.algorithm, "config": settings, "result": result}
    name = f"{config.algorithm}-{config.ruleset}"
    to_network(model, name, config.ruleset, training).save(folder / AGENT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code, 2 for a configuration that is refused."""
    try:
        config, options = parse(sys.argv[1:] if arguments is None else arguments)
        if options.resume:
            folder = reopen_run_folder(options.run_dir)
            if is_complete(folder, config.whole_timesteps):
                print(f"the run in {folder} is complete; {folder / RESULT} holds its result")
                return 0
        else:
            folder = open_run_folder(config.name, options.run_dir, options.force)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    stop_as_usual()
    stop = StopRequest()
    try:
        run(config, folder, stop)
    except (BadCheckpoint, Diverged, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        print("error: not enough memory for this configuration", file=sys.stderr)
        return 2
    except (Stopped, KeyboardInterrupt):
        how = f"python -m agents.train --resume {folder}"
        print(f"stopped; the agent so far is in {folder}, and this goes on: {how}", file=sys.stderr)
        return SIGNALLED + (stop.signal or signal.SIGINT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
