from dataclasses import replace

import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from small_run import SMALL, fingerprint

from agents.redraws import RedrawBuffer
from agents.sb3_vec_env import GamesVecEnv
from agents.train import train
from yahtzee_env import observation_names

STEPS, N_ENVS = 6, 5


def filled(kind, rng, **settings):
    """A buffer after a rollout of random rewards, values and ends."""
    space = spaces.Box(0, 1, (3,), np.float32), spaces.Discrete(4)
    buffer = kind(STEPS, *space, gamma=0.9, gae_lambda=0.4, n_envs=N_ENVS, **settings)
    buffer.reset()
    for _ in range(STEPS):
        buffer.add(
            rng.random((N_ENVS, 3)),
            rng.integers(4, size=(N_ENVS, 1)),
            rng.normal(size=N_ENVS),
            rng.random(N_ENVS) < 0.2,
            torch.from_numpy(rng.normal(size=N_ENVS)),
            torch.from_numpy(rng.normal(size=N_ENVS)),
        )
    return buffer, torch.from_numpy(rng.normal(size=(N_ENVS, 1))), rng.random(N_ENVS) < 0.5


def test_where_all_throws_give_the_same_the_advantages_are_those_of_stable_baselines3():
    plain, last, dones = filled(MaskableRolloutBuffer, np.random.default_rng(1))
    plain.compute_returns_and_advantage(last, dones)
    ours, last, dones = filled(RedrawBuffer, np.random.default_rng(1))
    followed = np.concatenate([ours.values[1:], last.numpy().reshape(1, -1)])
    ours.redrawn_values = lambda: np.repeat(followed[:, None], 3, axis=1)
    ours.compute_returns_and_advantage(last, dones)
    np.testing.assert_allclose(ours.advantages, plain.advantages, atol=1e-5)
    np.testing.assert_allclose(ours.returns, plain.returns, atol=1e-5)


def test_one_step_takes_the_mean_over_all_throws():
    buffer, last, dones = filled(RedrawBuffer, np.random.default_rng(2))
    redrawn = np.random.default_rng(3).normal(size=(STEPS, 3, N_ENVS)).astype(np.float32)
    buffer.redrawn_values = lambda: redrawn
    buffer.compute_returns_and_advantage(last, dones)
    for i in range(N_ENVS):
        mean = (last[i, 0].item() + redrawn[-1, :, i].sum()) / 4
        expected = buffer.rewards[-1, i] + 0.9 * (not dones[i]) * mean - buffer.values[-1, i]
        assert buffer.advantages[-1, i] == pytest.approx(expected, abs=1e-5)


def test_redrawn_dice_fall_like_all_dice():
    env = GamesVecEnv("yahtzee", 2000, redraws=3)
    env.seed(1)
    env.reset()
    observations, *_ = env.step(np.zeros(2000, np.int64))
    redrawn = env.take_redrawn()
    names = observation_names("yahtzee")
    assert redrawn.shape == (1, 3, 2000, len(names))
    sixes = names.index("count_of_6_is_0")
    for throws in (observations[None], redrawn[0]):
        counts = throws[..., sixes : sixes + 6] @ np.arange(6)
        assert counts.mean() == pytest.approx(5 / 6, abs=0.06)
    rolls = {row.tobytes() for row in redrawn[0, :, 0]} | {observations[0].tobytes()}
    assert len(rolls) >= 3


def test_redrawing_leaves_the_games_as_they_are():
    plays = []
    for redraws in (0, 2):
        env = GamesVecEnv("yatzy", 8, redraws=redraws)
        env.seed(4)
        env.reset()
        steps = [env.step(env.env_method("action_masks").argmax(axis=1)) for _ in range(50)]
        plays.append([(step[0].tobytes(), step[1].tobytes()) for step in steps])
    assert plays[0] == plays[1]


def test_a_run_with_redraws_can_be_repeated(tmp_path):
    config = replace(SMALL, ppo=replace(SMALL.ppo, redraws=2))
    prints = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        model, _ = train(config, tmp_path / name, show_progress=False)
        prints.add(fingerprint(model))
    assert len(prints) == 1
