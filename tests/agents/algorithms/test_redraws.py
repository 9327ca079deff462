import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer

from agents.algorithms.redraws import RedrawRolloutBuffer, redraw
from yahtzee_env import observation_names
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv

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


def with_redrawn_values(seed, redrawn):
    """The same of a buffer that has the values (redraws, steps, n_envs) of other throws."""
    buffer, last, dones = filled(ReadyMade, np.random.default_rng(seed))
    buffer.redraws, buffer.redrawn = len(redrawn), redrawn
    return buffer, last, dones


class ReadyMade(RedrawRolloutBuffer):
    games = YahtzeeSB3VecEnv("yahtzee", N_ENVS)

    def _redrawn_values(self):
        return self.redrawn


def test_where_all_throws_give_the_same_the_advantages_are_those_of_stable_baselines3():
    plain, last, dones = filled(MaskableRolloutBuffer, np.random.default_rng(1))
    followed = np.concatenate([plain.values[1:], last.numpy().reshape(1, -1)])
    plain.compute_returns_and_advantage(last, dones)
    ours, last, dones = with_redrawn_values(1, np.stack([followed] * 3))
    ours.compute_returns_and_advantage(last, dones)
    np.testing.assert_allclose(ours.advantages, plain.advantages, atol=1e-5)
    np.testing.assert_allclose(ours.returns, plain.returns, atol=1e-5)


def test_one_step_takes_the_mean_over_all_throws():
    redrawn = np.random.default_rng(3).normal(size=(3, STEPS, N_ENVS)).astype(np.float32)
    buffer, last, dones = with_redrawn_values(2, redrawn)
    buffer.compute_returns_and_advantage(last, dones)
    for i in range(N_ENVS):
        mean = (last[i, 0].item() + redrawn[:, -1, i].sum()) / 4
        expected = buffer.rewards[-1, i] + 0.9 * (not dones[i]) * mean - buffer.values[-1, i]
        assert buffer.advantages[-1, i] == pytest.approx(expected, abs=1e-5)


def test_redrawn_dice_fall_like_all_dice():
    env = YahtzeeSB3VecEnv("yahtzee", 2000)
    env.seed(1)
    env.reset()
    actions = np.zeros(2000, np.int64)
    observations, *_ = env.step(actions)
    redrawn, masks = redraw(env.ruleset, env.before, env.rngs_before, actions, 3)
    names = observation_names("yahtzee")
    assert redrawn.shape == (3 * 2000, len(names))
    assert masks.shape == (3 * 2000, env.action_space.n)
    sixes = names.index("count_of_6_is_0")
    for throws in (observations, redrawn):
        counts = throws[:, sixes : sixes + 6] @ np.arange(6)
        assert counts.mean() == pytest.approx(5 / 6, abs=0.06)
    rolls = {row.tobytes() for row in redrawn[::2000]} | {observations[0].tobytes()}
    assert len(rolls) >= 3


def test_redrawing_leaves_the_games_as_they_are():
    plays = []
    for redraws in (0, 2):
        env = YahtzeeSB3VecEnv("yatzy", 8)
        env.seed(4)
        env.reset()
        play = []
        for _ in range(50):
            actions = env.env_method("action_masks").argmax(axis=1)
            observations, rewards, *_ = env.step(actions)
            if redraws:
                redraw(env.ruleset, env.before, env.rngs_before, actions, redraws)
            play.append((observations.tobytes(), rewards.tobytes()))
        plays.append(play)
    assert plays[0] == plays[1]
