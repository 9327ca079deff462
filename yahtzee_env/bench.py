"""A quick look at the speed on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from yahtzee_env.envs import YahtzeeEnv, YahtzeeVectorEnv
from yahtzee_env.family import get_ruleset, upper_boxes
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver.sweep import reachable_cards, sweep

SINGLE_STEPS = 20_000
BATCH, BATCH_STEPS = 1024, 500


@dataclass(frozen=True)
class Speed:
    """A measurement: what, how much, and in which unit."""

    what: str
    figure: float
    unit: str


def measure_speed() -> Iterator[Speed]:
    """The solver on the official rules with one and two threads, and the environments' steps."""
    yield from solver_speed(get_ruleset("yahtzee"))
    yield Speed("steps, single environment", single_steps_a_second(), "a second")
    name = f"steps, vector environment of {BATCH} games"
    yield Speed(name, vector_steps_a_second(), "a second")


def solver_speed(ruleset: Ruleset) -> Iterator[Speed]:
    """Wall and processor seconds of a solution from scratch, compilation left out."""
    tiny = Ruleset("tiny", upper_boxes()[:1])
    sweep(tiny, reachable_cards(tiny))
    for threads in (1, 2):
        wall, processor = time.perf_counter(), time.process_time()
        sweep(ruleset, reachable_cards(ruleset), threads)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        yield Speed(f"solving {ruleset.name}, threads: {threads}", wall, "seconds")
        yield Speed(f"solving {ruleset.name}, threads: {threads}, processor", processor, "seconds")


def single_steps_a_second() -> float:
    """Steps a processor second of the bare environment: observation, mask and resets included."""
    env = YahtzeeEnv()
    rng = np.random.default_rng(0)
    actions: list[int] = []

    def choose() -> int:
        actions.append(int(rng.choice(np.flatnonzero(env.action_masks()))))
        return actions[-1]

    _play(env, choose)
    began = time.process_time()
    _play(env, iter(actions).__next__)
    return SINGLE_STEPS / (time.process_time() - began)


def _play(env: YahtzeeEnv, choose: Callable[[], int]) -> None:
    env.reset(seed=0)
    for _ in range(SINGLE_STEPS):
        if env.step(choose())[2]:
            env.reset()


def vector_steps_a_second() -> float:
    """Steps a processor second of all games together: observations, masks, resets included."""
    envs = YahtzeeVectorEnv(BATCH)
    rng = np.random.default_rng(0)
    _, infos = envs.reset(seed=0)
    actions = []
    for _ in range(BATCH_STEPS):
        actions.append((rng.random(infos["action_mask"].shape) * infos["action_mask"]).argmax(1))
        _, _, _, _, infos = envs.step(actions[-1])
    envs.reset(seed=0)
    began = time.process_time()
    for chosen in actions:
        envs.step(chosen)
    return BATCH * BATCH_STEPS / (time.process_time() - began)
