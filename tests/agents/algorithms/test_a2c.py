import copy

import pytest
import torch
from stable_baselines3.common.logger import Logger

from agents.algorithms.a2c import A2CSettings, make
from agents.algorithms.networks import NetworkSettings
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv

N_ENVS, N_STEPS = 8, 4


@pytest.mark.parametrize("redraws", [0, 2])
def test_an_update_follows_the_gradient_of_the_actor_critic_loss(redraws):
    torch.manual_seed(1)
    env = YahtzeeSB3VecEnv("yahtzee", N_ENVS, points_per_reward=30.0)
    env.seed(1)
    settings = A2CSettings(n_steps=N_STEPS, ent_coef=0.1, max_grad_norm=1e9, redraws=redraws)
    model = make(settings, NetworkSettings(widths=(16,)), env)
    model.set_logger(Logger(None, []))
    _, callback = model._setup_learn(1000)
    for _ in range(3):
        model.collect_rollouts(env, callback, model.rollout_buffer, N_STEPS)
        policy = copy.deepcopy(model.policy)
        model.train()
        [batch] = model.rollout_buffer.get(N_ENVS * N_STEPS)
        values, log_prob, entropy = policy.evaluate_actions(
            batch.observations, batch.actions.flatten(), action_masks=batch.action_masks
        )
        loss = (
            -(batch.advantages * log_prob).mean()
            + (batch.returns - values.flatten()).square().mean()
            - 0.1 * entropy.mean()
        )
        loss.backward()
        for ours, expected in zip(model.policy.parameters(), policy.parameters(), strict=True):
            torch.testing.assert_close(ours.grad, expected.grad, rtol=1e-3, atol=1e-6)


def test_it_makes_one_step_of_the_optimizer_for_each_rollout():
    env = YahtzeeSB3VecEnv("yahtzee", N_ENVS)
    model = make(A2CSettings(n_steps=N_STEPS), NetworkSettings(widths=(16,)), env)
    model.learn(5 * N_ENVS * N_STEPS)
    steps = {float(state["step"]) for state in model.policy.optimizer.state.values()}
    assert steps == {5.0}
