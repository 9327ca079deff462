"""Speed of the engine and the solver, compared with other packages in one process.

    python -m benchmarks.speed [--rounds 5]

Each row has the median of several rounds. A round measures every row of a group once, so ratios
within a group hold on a noisy machine too. Times are CPU times of this process, except for the
import.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pyspiel
import yatzy_solver

from yahtzee_env.family import get_ruleset
from yahtzee_env.game import Games
from yahtzee_env.policies import OptimalPolicy
from yahtzee_env.report.layout import Table
from yahtzee_env.report.terminal import show
from yahtzee_env.solver import solve
from yahtzee_env.solver.sweep import reachable_cards, sweep

Measure = Callable[[], float]
"""Runs once and returns a rate (more is better) or a time in seconds (less is better)."""

VECTOR_STEPS = 1_000_000
SINGLE_STEPS = 30_000
SPIEL_STEPS = 20_000
LABELS = 16_384
OPTIMAL_GAMES = 8_192


def vector_steps(num_envs: int, count_drawing: bool) -> float:
    """Steps per second of the native vector env under random legal actions."""
    envs: Any = gym.make_vec(
        "Yahtzee-v0", num_envs=num_envs, vectorization_mode="vector_entry_point"
    )
    rng = np.random.default_rng(1)
    envs.reset(seed=1)
    spent = 0.0
    for _ in range(VECTOR_STEPS // num_envs):
        before_drawing = time.process_time()
        actions = envs.unwrapped.random_actions(rng)
        before_step = time.process_time()
        envs.step(actions)
        spent += time.process_time() - (before_drawing if count_drawing else before_step)
    return VECTOR_STEPS // num_envs * num_envs / spent


def open_spiel_steps() -> float:
    """Random legal moves per second of OpenSpiel's yacht, with an observation and a mask each."""
    game = pyspiel.load_game("yacht")
    state, moves, last_move = game.new_initial_state(), 0, None
    chooser = random.Random(1)
    # Listing 7,776 outcomes is slow; they are equally likely, and the last move gives their number.
    n_outcomes: dict[int | None, int] = {}
    start = time.process_time()
    while moves < SPIEL_STEPS:
        if state.is_terminal():
            state, last_move = game.new_initial_state(), None
        elif state.is_chance_node():
            if last_move not in n_outcomes:
                n_outcomes[last_move] = len(state.chance_outcomes())
            state.apply_action(chooser.randrange(n_outcomes[last_move]))
        else:
            state.observation_tensor()
            state.legal_actions_mask()
            last_move = chooser.choice(state.legal_actions())
            state.apply_action(last_move)
            moves += 1
    return moves / (time.process_time() - start)


def single_steps(env_id: str) -> float:
    """Steps per second of one env through `gym.make`, with the first legal action."""
    env = gym.make(env_id)
    _, info = env.reset(seed=1)
    start = time.process_time()
    for _ in range(SINGLE_STEPS):
        action = int(info["action_mask"].argmax()) if "action_mask" in info else 1
        _, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            _, info = env.reset()
    return SINGLE_STEPS / (time.process_time() - start)


def import_seconds() -> float:
    """Wall time of `import yahtzee_env` in a fresh interpreter."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import yahtzee_env"], check=True)
    return time.perf_counter() - start


def solve_seconds(name: str) -> float:
    """CPU seconds of our solver, without its cache."""
    rules = get_ruleset(name)
    start = time.process_time()
    sweep(rules, reachable_cards(rules))
    return time.process_time() - start


def yatzy_solver_seconds() -> float:
    """CPU seconds of yatzy-solver for the official rules."""
    start = time.process_time()
    yatzy_solver.Solver.build(yatzy_solver.Variant("american"))
    return time.process_time() - start


def _positions() -> Games:
    games = Games(get_ruleset("yahtzee"), LABELS)
    rng = np.random.default_rng(1)
    games.seed(rng)
    games.start()
    for _ in range(15):
        games.play(games.random_actions(rng))
    return games.select(~games.over)


def labels_a_second() -> float:
    """Decisions per CPU second labelled with the values of all actions, on different cards."""
    solution, games = solve("yahtzee"), _positions()
    start = time.process_time()
    solution.action_values(games)
    return len(games) / (time.process_time() - start)


def optimal_games() -> float:
    """Games of optimal play per CPU second."""
    policy, rng = OptimalPolicy(), np.random.default_rng(1)
    games = Games(get_ruleset("yahtzee"), OPTIMAL_GAMES)
    games.seed(rng)
    games.start()
    start = time.process_time()
    while len(games):
        games.play(policy.act(games.positions(), rng))
        games = games.select(~games.over)
    return OPTIMAL_GAMES / (time.process_time() - start)


def yatzy_solver_games(solver: yatzy_solver.Solver) -> float:
    """Games of yatzy-solver's optimal player per CPU second."""
    start = time.process_time()
    solver.simulate(OPTIMAL_GAMES, seed=1)
    return OPTIMAL_GAMES / (time.process_time() - start)


def groups() -> dict[str, dict[str, Measure]]:
    """The rows of each table, by its unit."""
    other = yatzy_solver.Solver.build(yatzy_solver.Variant("american"))
    return {
        "steps per second, one core": {
            **{
                f"vector env, {n} games{', drawing the actions included' * drawn}": (
                    partial(vector_steps, n, drawn)
                )
                for n in (1024, 4096, 8192)
                for drawn in (False, True)
            },
            "OpenSpiel yacht": open_spiel_steps,
        },
        "steps per second, gym.make": {
            "Yahtzee-v0": lambda: single_steps("Yahtzee-v0"),
            "FrozenLake-v1": lambda: single_steps("FrozenLake-v1"),
        },
        "seconds": {"import yahtzee_env": import_seconds},
        "CPU seconds to solve": {
            "yahtzee": lambda: solve_seconds("yahtzee"),
            "kismet": lambda: solve_seconds("kismet"),
            "yatzy-solver, official rules": yatzy_solver_seconds,
        },
        "per CPU second": {
            "decisions labelled": labels_a_second,
            "games of optimal play": optimal_games,
            "games of yatzy-solver's optimal play": lambda: yatzy_solver_games(other),
        },
    }


def medians(lines: dict[str, Measure], rounds: int) -> list[tuple[str, ...]]:
    """Median, lowest and highest figure of each line, as texts."""
    for measure in lines.values():
        measure()  # compiles, loads and fills caches
    found: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(rounds):
        for name, measure in lines.items():
            found[name].append(measure())
    rows = []
    for name, values in found.items():
        figures = (statistics.median(values), min(values), max(values))
        rows.append((name, *(f"{figure:,.{0 if figure > 100 else 2}f}" for figure in figures)))
    return rows


def main() -> None:
    """Measure and print a table for each group."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds per group (default: 5)")
    rounds = parser.parse_args().rounds
    for unit, lines in groups().items():
        columns = ("", "median", "lowest", "highest")
        show([Table(f"{unit}, {rounds} rounds", columns, medians(lines, rounds), essential=4), ""])


if __name__ == "__main__":
    main()
