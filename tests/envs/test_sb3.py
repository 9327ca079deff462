"""The vector environment for stable-baselines3."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

import yahtzee_env  # noqa: F401  (registers the environments)
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.family import RULESETS

N = 8


def started(ruleset="yahtzee", n_envs=N, seed=5, **settings):
    env = YahtzeeSB3VecEnv(ruleset, n_envs, **settings)
    env.seed(seed)
    return env, env.reset()


def some_legal(masks, step):
    """A legal action of each row that varies from step to step."""
    return np.array([np.flatnonzero(row)[step * 7 % row.sum()] for row in masks])


@pytest.mark.parametrize("ruleset", RULESETS)
def test_games_are_those_of_the_single_environment(ruleset):
    env, observations = started(ruleset, seed=5)
    singles = [gym.make("Yahtzee-v0", ruleset=ruleset) for _ in range(N)]
    firsts = [single.reset(seed=5 + i) for i, single in enumerate(singles)]
    assert np.array_equal(observations, [first for first, _ in firsts])
    returns = np.zeros(N)
    for step in range(90):
        actions = some_legal(get_action_masks(env), step)
        observations, rewards, dones, infos = env.step(actions)
        masks = get_action_masks(env)
        for i, single in enumerate(singles):
            observation, reward, terminated, truncated, info = single.step(actions[i])
            returns[i] += reward
            assert (rewards[i], dones[i]) == (np.float32(reward), terminated or truncated)
            if dones[i]:
                assert infos[i]["episode"]["r"] == returns[i] == info["score"]
                assert np.array_equal(infos[i]["terminal_observation"], observation)
                returns[i] = 0
                observation, info = single.reset()
            assert np.array_equal(observations[i], observation)
            assert np.array_equal(masks[i], info["action_mask"])


def test_full_card_terminates_without_truncation_and_counts_the_length():
    env, _ = started()
    boxes_only = 31
    for episode in range(3):
        for step in range(1, 14):
            masks = get_action_masks(env)
            masks[:, :boxes_only] = False
            _, _, dones, infos = env.step(masks.argmax(axis=1))
            assert dones.all() == dones.any() == (step == 13), episode
        assert all(info["TimeLimit.truncated"] is False for info in infos)
        assert all(info["episode"]["l"] == 13 for info in infos)


def test_rewards_are_scaled_for_the_learner_only():
    env, _ = started(points_per_reward=30.0)
    returns = np.zeros(N)
    for step in range(200):
        _, rewards, dones, infos = env.step(some_legal(get_action_masks(env), step))
        assert rewards.dtype == np.float32
        returns += rewards * 30.0
        for i in np.flatnonzero(dones):
            assert infos[i]["episode"]["r"] == pytest.approx(returns[i], abs=1e-3)
            returns[i] = 0.0


def test_first_rolls_differ():
    _, observations = started()
    assert len({row[-36:].tobytes() for row in observations}) >= N - 1


def test_reset_gives_new_dice_unless_seeded_again():
    env, first = started()
    second = env.reset()
    env.seed(5)
    assert not np.array_equal(first, second)
    assert np.array_equal(first, env.reset())


def test_illegal_action_raises_and_changes_nothing():
    env, _ = started()
    masks = get_action_masks(env).copy()
    actions = masks.argmax(axis=1)
    actions[3] = np.flatnonzero(~masks[3])[0]
    with pytest.raises(ValueError, match="is illegal"):
        env.step(actions)
    assert np.array_equal(get_action_masks(env), masks)


def test_masks_are_one_array():
    env, _ = started("yatzy")
    assert is_masking_supported(env)
    masks = env.env_method("action_masks")
    assert (masks.shape, masks.dtype) == ((N, 46), bool)
    assert np.array_equal(env.env_method("action_masks", indices=[2]), masks[2:3])
    with pytest.raises(AttributeError, match="no method"):
        env.env_method("render")


def test_evaluate_policy_of_sb3_contrib_works_without_warnings(recwarn):
    env, _ = started(points_per_reward=30.0)
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=64, device="cpu")
    scores, lengths = evaluate_policy(model, env, n_eval_episodes=16, return_episode_rewards=True)
    assert len(scores) == 16
    assert all(
        score == int(score) and 13 <= n <= 39 for score, n in zip(scores, lengths, strict=True)
    )
    assert not recwarn.list


def make_single():
    return gym.make("Yahtzee-v0", illegal_action="raise")


@pytest.mark.parametrize("kind", [DummyVecEnv, SubprocVecEnv])
def test_masks_of_the_single_env_pass_through_the_vec_envs_of_stable_baselines3(kind):
    settings = {"start_method": "spawn"} if kind is SubprocVecEnv else {}
    env = make_vec_env(make_single, 2, seed=3, vec_env_cls=kind, vec_env_kwargs=settings)
    env.reset()
    infos = env.reset_infos
    for step in range(5):
        masks = np.stack(env.env_method("action_masks"))
        assert (masks.shape, masks.dtype) == ((2, 44), bool)
        assert np.array_equal(masks, [info["action_mask"] for info in infos])
        _, _, _, infos = env.step(some_legal(masks, step))
    model = MaskablePPO("MlpPolicy", env, n_steps=256, batch_size=128, device="cpu")
    assert model.learn(512).num_timesteps == 512
    env.close()


def test_subprocesses_play_the_same_games_as_one_process():
    played = []
    for kind, settings in ((DummyVecEnv, {}), (SubprocVecEnv, {"start_method": "spawn"})):
        env = make_vec_env(make_single, 2, seed=3, vec_env_cls=kind, vec_env_kwargs=settings)
        steps = [env.reset()]
        for step in range(60):
            masks = np.stack(env.env_method("action_masks"))
            observations, rewards, dones, _ = env.step(some_legal(masks, step))
            steps += [observations, rewards, dones]
        played.append(steps)
        env.close()
    assert any(dones.any() for dones in played[0][3::3])
    for one, other in zip(*played, strict=True):
        assert np.array_equal(one, other)


def test_without_masks_games_are_those_of_the_single_env_with_a_penalty():
    env, _ = started(n_envs=3, masks=False)
    assert np.array_equal(get_action_masks(env), np.ones((3, 44), bool))
    singles = [gym.make("Yahtzee-v0", illegal_action="penalty") for _ in range(3)]
    for i, single in enumerate(singles):
        single.reset(seed=5 + i)
    rng, illegal, cut = np.random.default_rng(2), 0, 0
    for step in range(700):
        # The first box is never filled, so that the games end by illegal actions.
        actions = rng.integers(32, 44, size=3) if step % 2 else rng.integers(31, size=3)
        observations, rewards, dones, infos = env.step(actions)
        for i, single in enumerate(singles):
            observation, reward, terminated, truncated, info = single.step(actions[i])
            illegal += info.get("illegal_action", False)
            cut += truncated
            assert (rewards[i], dones[i]) == (reward, terminated or truncated)
            if dones[i]:
                assert infos[i]["TimeLimit.truncated"] == (truncated and not terminated)
                assert np.array_equal(infos[i]["terminal_observation"], observation)
                observation, _ = single.reset()
            assert np.array_equal(observations[i], observation)
    assert env.illegal_actions == illegal > 0
    assert cut > 0


def test_without_stable_baselines3_one_sentence_names_the_extra():
    script = "import sys; sys.modules['stable_baselines3'] = None; import yahtzee_env.envs.sb3"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.endswith(
        "ImportError: yahtzee_env.envs.sb3 needs stable-baselines3: "
        'pip install "yahtzee-env[learn]"\n'
    )
