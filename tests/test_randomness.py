"""Seeds, copies and dice: what is random, what is reproducible, and what a policy can know."""

import copy
import pickle
import random
import sys
from collections import Counter

import gymnasium as gym
import numpy as np
import pytest
from helpers import (
    IDS,
    assert_same,
    make,
    make_at,
    next_dice,
    play_games,
    random_action,
    random_choices,
    started,
    without,
)

from yahtzee_env import State, evaluate
from yahtzee_env.game import Games


def test_one_seed_gives_the_same_games_with_plain_resets_between(ruleset):
    one, other = play_games(make(ruleset)), play_games(make(ruleset))
    assert_same(one, other)
    first_rolls = {tuple(info["action_mask"]) for (_, info), _ in one}
    assert len(first_rolls) > 1


def test_different_seeds_give_different_games():
    env = make()
    first = set()
    for seed in range(300):
        env.reset(seed=seed)
        first.add(env.state.dice)
    # 300 throws show 252 - sum of (1 - p)^300 = 140 different rolls on average.
    assert len(first) > 110


def test_unseeded_environments_differ():
    games = []
    for _ in range(3):
        env = make()
        env.reset()
        assert next_dice(env) not in games
        games.append(next_dice(env))


def test_global_random_state_is_neither_read_nor_changed():
    expected = play_games(make())
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
    env = make()
    rng = np.random.default_rng(7)
    games = []
    for i in range(5):
        reset, steps = env.reset(seed=7 if i == 0 else None), []
        while not (steps and steps[-1][2]):
            steps.append(env.step(random_action(env, rng)))
            assert random.getstate() == state
            assert_same(np.random.get_state(), numpy_state)  # noqa: NPY002
            random.random()
            np.random.random()  # noqa: NPY002
            random.seed(0)
            np.random.seed(0)  # noqa: NPY002
        games.append((reset, steps))
    assert_same(games, expected)


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["copy", "pickle"],
)
@pytest.mark.parametrize("bare", [True, False])
def test_copy_mid_turn_has_the_same_coming_dice_and_is_independent(ruleset, duplicate, bare):
    env = gym.make(IDS[ruleset], ruleset=ruleset)
    env.reset(seed=4)
    env.step(0)
    if bare:
        env = env.unwrapped
    twin = duplicate(env)
    state, rng = env.unwrapped.state, env.unwrapped.np_random.bit_generator.state
    ends = [play_from_here(twin)]
    assert env.unwrapped.state == state
    assert env.unwrapped.np_random.bit_generator.state == rng
    ends.append(play_from_here(env))
    assert_same(*ends)


def play_from_here(env):
    """All results of random play to the end, and of the next game."""
    rng = np.random.default_rng(1)
    results = []
    for _ in range(2):
        terminated = False
        while not terminated:
            results.append(env.step(random_action(env.unwrapped, rng)))
            terminated = results[-1][2]
        results.append(env.reset())
    return results


def assert_uniform(faces):
    """60,000 dice, each face 10,000 times up to four standard deviations."""
    times = Counter(faces)
    assert sum(times.values()) == 60_000
    assert set(times) == {1, 2, 3, 4, 5, 6}
    assert all(abs(n - 10_000) <= 400 for n in times.values()), times


def test_first_rolls_are_uniform():
    env = make()
    env.reset(seed=0)
    faces = []
    for _ in range(12_000):
        env.reset()
        faces += env.state.dice
    assert_uniform(faces)


def test_first_rolls_are_uniform_over_seeds():
    env = make()
    faces = []
    for seed in range(12_000):
        env.reset(seed=seed)
        faces += env.state.dice
    assert_uniform(faces)


@pytest.mark.parametrize("keep", [(), (3,), (1, 6), (2, 2, 2)])
def test_rerolled_dice_are_uniform(keep):
    n = 5 - len(keep)
    state = State((*keep, *range(1, 1 + n)))
    env = make_at(state)
    action = env.hold_action(keep)
    faces = []
    for _ in range(60_000 // n):
        env.set_state(state)
        env.step(action)
        faces += without(env.state.dice, keep)
    assert_uniform(faces)


def test_random_legal_play_scores_the_published_average():
    games = started("yahtzee", 10_000, seed=1)
    rng = np.random.default_rng(1)
    steps = 0
    while not games.over.all():
        games.play(random_choices(games.masks(), rng))
        steps += 1
    assert steps <= 39
    assert abs(games.records["score"].mean() - 46.55) <= 0.75


# What a policy can know.


def arrays_in(thing, seen):
    """All arrays that can be reached from an object by attributes and `base`."""
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        yield thing
        yield from arrays_in(thing.base, seen)
    for value in getattr(thing, "__dict__", {}).values():
        yield from arrays_in(value, seen)


def test_positions_contain_nothing_of_the_generators():
    games = started("yahtzee", 50, seed=3)
    positions = games.positions()
    for view in (
        positions,
        positions.select(np.arange(50)),
        copy.deepcopy(positions),
        pickle.loads(pickle.dumps(positions)),
    ):
        assert not isinstance(view, Games)
        for array in arrays_in(view, {}):
            assert not np.shares_memory(array, games.rngs)
            assert not np.shares_memory(array, games.records)
        content = pickle.dumps(view)
        assert not any(int(rng).to_bytes(8, sys.byteorder) in content for rng in games.rngs)


def test_changing_positions_changes_no_game():
    games = started("yahtzee", 5, seed=3)
    before = games.records.copy()
    games.positions().records["score"] = 1000
    np.testing.assert_array_equal(games.records, before)


def test_branches_depend_only_on_the_positions_and_the_generator_passed():
    games = started("yahtzee", 20, seed=3)
    other = started("yahtzee", 20, seed=4)
    other.records[:] = games.records
    rolls = [
        played(positions.branches(30, np.random.default_rng(seed)))
        for positions, seed in ((games, 1), (games.positions(), 1), (other, 1), (games, 2))
    ]
    np.testing.assert_array_equal(rolls[0], rolls[1])
    np.testing.assert_array_equal(rolls[0], rolls[2])
    assert (rolls[0] != rolls[3]).mean() > 0.9
    # The game itself goes the way of a branch only by chance.
    assert (rolls[0].reshape(30, 20) == played(games)).mean() < 0.1


def played(games):
    """The rolls after throwing all dice again."""
    games.play(np.zeros(len(games), np.int64))
    return games.records["roll"]


class BranchingPolicy:
    """Tries each box by one branch with random dice; shows what it is given to `seen`."""

    name = "branching"
    deterministic = False

    def __init__(self):
        self.seen = []

    def act(self, positions, rng):
        self.seen.append((positions, rng.bit_generator.seed_seq))
        branches = positions.branches(1, rng)
        branches.play(branches.random_actions(rng))
        actions = positions.random_actions(rng)
        return np.where(branches.payments().max(axis=1) > 20, actions, masked_last(positions))


def masked_last(positions):
    """The last legal action of each position."""
    masks = positions.masks()
    return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)


def test_evaluation_of_a_policy_that_branches_is_reproducible():
    results = [evaluate(BranchingPolicy(), games=50, seed=seed) for seed in (5, 5, 6)]
    np.testing.assert_array_equal(results[0].scores, results[1].scores)
    assert (results[0].scores != results[2].scores).any()


def test_evaluation_gives_a_policy_neither_games_nor_the_seed_of_the_dice():
    policies = BranchingPolicy(), BranchingPolicy()
    for seed, policy in enumerate(policies):
        evaluate(policy, games=20, seed=seed)
        assert not any(isinstance(positions, Games) for positions, _ in policy.seen)
    (_, one), (_, other) = (policy.seen[0] for policy in policies)
    assert (one.entropy, one.spawn_key) == (other.entropy, other.spawn_key)
