"""Train an agent and measure it: ``python -m agents.train --config configs/ppo_quick.yaml``.

Every key of `agents.config.TrainConfig` can also be given on the command line, as in
``--ruleset yatzy --ppo.n_epochs 4``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import set_random_seed

from agents.callbacks import GreedyEvaluation, ProgressBar
from agents.config import TrainConfig, parse
from agents.ppo import PPO, make_ppo
from agents.report import compare, print_comparison
from agents.run_folder import (
    CONFIG,
    MODEL,
    RESULT,
    open_run_folder,
    provenance,
    write_beside,
    write_json,
)
from agents.sb3_vec_env import GamesVecEnv
from yahtzee_env.policies import ModelPolicy

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


def whole_rollouts(config: TrainConfig) -> int:
    """The environment steps of a run: `total_timesteps` and what completes the last rollout."""
    rollout = config.n_envs * config.ppo.n_steps
    return -(-config.total_timesteps // rollout) * rollout


def train(config: TrainConfig, folder: Path, show_progress: bool = True) -> PPO:
    """Train an agent as configured; logs and model go to the folder."""
    write_beside(folder / CONFIG, lambda path: path.write_text(config.to_yaml(), encoding="utf-8"))
    seeds = spawn_seeds(config.seed)
    torch.set_num_threads(config.threads or default_threads())
    set_random_seed(seeds["learner"])
    games = GamesVecEnv(config.ruleset, config.n_envs, config.points_per_reward)
    games.seed(seeds["training_games"])
    model = make_ppo(config, games)
    model.set_logger(configure(str(folder), ["csv", "tensorboard"]))
    evaluation = GreedyEvaluation(
        config.ruleset,
        config.evaluation.games,
        config.evaluation.every,
        seeds["evaluation_games"],
    )
    bar = ProgressBar(evaluation, visible=show_progress)
    try:
        model.learn(whole_rollouts(config), [evaluation, bar])
    finally:
        bar.close()
        # A run that is stopped keeps what it has learned.
        write_beside(folder / MODEL, model.save)
    return model


def run(config: TrainConfig, folder: Path) -> dict[str, Any]:
    """Train, then compare the agent with the baselines; returns what `result.json` holds."""
    begun = time.monotonic()
    model = train(config, folder)
    seconds = time.monotonic() - begun
    rows = compare(
        [ModelPolicy(model, name=config.algorithm)],
        config.ruleset,
        config.evaluation.final_games,
        spawn_seeds(config.seed)["final_games"],
    )
    result = {
        "ruleset": config.ruleset,
        "seed": config.seed,
        "timesteps": model.num_timesteps,
        "training_seconds": round(seconds, 1),
        "threads": torch.get_num_threads(),
        "deterministic": True,
        "scores": rows,
        "provenance": provenance(),
    }
    write_json(folder / RESULT, result)
    print_comparison(rows, config.ruleset)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code, 2 for a configuration that is refused."""
    try:
        config, options = parse(sys.argv[1:] if arguments is None else arguments)
        folder = open_run_folder(config.name, options.run_dir, options.force)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        run(config, folder)
    except KeyboardInterrupt:
        print(f"stopped; the agent and the logs so far are in {folder}", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
