"""The environments are found by their ids, in new processes and through specifications."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from helpers import IDS, assert_same

import yahtzee_env
from yahtzee_env import Box, Ruleset, YahtzeeEnv, YahtzeeVectorEnv, get_ruleset

NAMES = ("yahtzee", "yacht", "yatzy", "kismet")


def run_python(code):
    """What a new interpreter prints."""
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def house_yacht():
    """Yacht whose Four of a kind pays the four dice only."""
    four = Box.of("four_of_a_kind", lambda counts: 16 * (max(counts) >= 4))
    return get_ruleset("yacht").with_box(four, name="house-yacht")


@pytest.mark.parametrize("name", NAMES)
def test_each_id_makes_the_game_of_its_name(name):
    env = gym.make(IDS[name])
    assert isinstance(env.unwrapped, YahtzeeEnv)
    assert env.unwrapped.ruleset == get_ruleset(name)
    envs = gym.make_vec(IDS[name], num_envs=2)
    assert isinstance(envs, YahtzeeVectorEnv)
    assert envs.ruleset == get_ruleset(name)


def test_the_module_in_the_id_is_imported_in_a_new_interpreter():
    code = "import gymnasium as gym; env = gym.make('yahtzee_env:Yahtzee-v0'); env.reset(seed=1); "
    assert run_python(code + "print(env.unwrapped.ruleset.name)") == ["yahtzee"]


def test_importing_the_package_registers_and_stays_light():
    code = (
        "import sys, gymnasium, yahtzee_env; "
        "print(*[m for m in ('torch', 'numba', 'stable_baselines3', 'matplotlib', 'PIL') "
        "if m in sys.modules]); "
        "print(*[i for i in gymnasium.registry if i in "
        "('Yahtzee-v0', 'Yacht-v0', 'Yatzy-v0', 'Kismet-v0')])"
    )
    assert run_python(code) == ["Yahtzee-v0", "Yacht-v0", "Yatzy-v0", "Kismet-v0"]


def test_all_public_names_are_there():
    for name in yahtzee_env.__all__:
        assert getattr(yahtzee_env, name) is not None
        assert name in dir(yahtzee_env)
    with pytest.raises(AttributeError, match="nothing"):
        _ = yahtzee_env.nothing


@pytest.mark.parametrize("ruleset", ["yahtzee-upper-first", house_yacht()], ids=["name", "object"])
def test_a_specification_travels_through_json(ruleset):
    env = gym.make("yahtzee_env:Yahtzee-v0", ruleset=ruleset, illegal_action="penalty")
    arrived = EnvSpec.from_json(env.spec.to_json())
    twin = gym.make(arrived)
    rules = twin.unwrapped.ruleset
    assert isinstance(rules, Ruleset)
    assert rules == get_ruleset(ruleset)
    assert twin.action_space == env.action_space
    rng = np.random.default_rng(1)
    assert_same(env.reset(seed=1), twin.reset(seed=1))
    ended = False
    while not ended:
        action = rng.integers(env.action_space.n)
        results = env.step(action)
        assert_same(results, twin.step(action))
        ended = results[2] or results[3]


def test_a_vector_specification_makes_the_same_games_again():
    envs = gym.make_vec("Yahtzee-v0", num_envs=3, ruleset=house_yacht(), observation="dict")
    twins = gym.make_vec(envs.spec)
    assert twins.num_envs == 3
    assert twins.ruleset == house_yacht()
    assert_same(envs.reset(seed=1), twins.reset(seed=1))
