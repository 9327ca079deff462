import pytest
from small_run import SMALL
from stable_baselines3.common.logger import Logger

from agents.algorithms.ppo import make
from yahtzee_env import evaluate
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.policies import ModelPolicy


def untrained():
    return make(SMALL.ppo, SMALL.network, YahtzeeSB3VecEnv("yahtzee", SMALL.n_envs))


def test_an_untrained_agent_plays_1000_games_without_an_illegal_action():
    result = evaluate(ModelPolicy(untrained()), games=1000, seed=1, on_illegal="raise")
    assert (result.games, result.illegal_actions) == (1000, 0)


def test_policy_and_value_have_their_own_falling_learning_rates():
    model = untrained()
    policy, value = model.policy.optimizer.param_groups
    parameters = [*policy["params"], *value["params"]]
    assert len(parameters) == len(list(model.policy.parameters()))
    model.set_logger(Logger(None, []))
    for remaining in (1.0, 0.5, 0.25):
        model._current_progress_remaining = remaining
        model._update_learning_rate(model.policy.optimizer)
        rates = [group["lr"] for group in model.policy.optimizer.param_groups]
        assert rates == pytest.approx([6e-4 * remaining, 1e-3 * remaining])
