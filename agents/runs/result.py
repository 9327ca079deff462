"""The result of a training run: its best agent, measured in fresh games and exported."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

from agents.algorithms import Model
from agents.algorithms.networks import to_layers
from agents.config import TrainConfig
from agents.runs.folder import AGENT, BEST, RESULT, write_json, write_weights
from agents.runs.history import History
from agents.runs.loop import spawn_seeds
from yahtzee_env.evaluation import Comparison, Evaluation, compare, measurements
from yahtzee_env.policies import POLICIES, ModelPolicy
from yahtzee_env.policies.network import NetworkPolicy


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
    write_weights(folder / BEST, model.save)
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
        "ruleset": config.ruleset.name,
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
        training = {
            "algorithm": config.algorithm,
            "config": config.plain(),
            "result": {**result, "scores": rows[-1:]},
        }
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
    rules = re.sub(r"[^\w.-]", "-", config.ruleset.name)
    return NetworkPolicy(f"{config.algorithm}-{rules}", config.ruleset, layers, skip, training)
