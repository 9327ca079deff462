import numpy as np
import pytest
import torch
from small_run import SMALL, small

from agents.algorithms import qrdqn
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.game import Positions
from yahtzee_env.kernels import GAME

QUANTILES, ACTIONS, POINTS_PER_REWARD = 8, 44, 30.0
FOLLOWING = ("next_observations", "next_action_masks", "rewards", "dones")


@pytest.fixture
def env():
    env = YahtzeeSB3VecEnv("yahtzee", SMALL.n_envs, POINTS_PER_REWARD)
    env.seed(5)
    return env


def learner(env, **settings):
    torch.manual_seed(1)
    return qrdqn.make(small(qrdqn=settings).qrdqn, SMALL.network, env)


@pytest.fixture
def positions(env):
    """Observations after some random steps, and their masks."""
    observations = env.reset()
    for _ in range(10):
        masks = env.env_method("action_masks")
        observations, *_ = env.step(
            np.where(masks, np.random.default_rng(1).random(44), -1).argmax(1)
        )
    return torch.from_numpy(observations), torch.from_numpy(env.env_method("action_masks"))


def test_the_network_answers_alike_for_all_actions_for_one_and_for_the_means(env, positions):
    network = learner(env).policy.quantile_net
    observations, _ = positions
    every = network(observations)
    assert every.shape == (SMALL.n_envs, QUANTILES, ACTIONS)
    torch.testing.assert_close(network.values(observations), every.mean(dim=1))
    actions = torch.arange(SMALL.n_envs)[:, None] * 7 % ACTIONS
    expected = torch.stack([every[i, :, a] for i, [a] in enumerate(actions.tolist())])
    torch.testing.assert_close(network.quantiles_of(observations, actions), expected)


def test_the_points_for_filling_a_box_shift_all_its_quantiles(env, positions):
    network = learner(env).policy.quantile_net
    for parameter in [*network.value.parameters(), *network.advantages.parameters()]:
        torch.nn.init.zeros_(parameter)
    quantiles = network(positions[0]) * POINTS_PER_REWARD
    masks = positions[1].numpy()
    for game, row in enumerate(quantiles.detach().numpy()):
        assert (row[:, :31] == 0).all()
        for action in np.flatnonzero(masks[game, 31:]) + 31:
            copy = YahtzeeSB3VecEnv("yahtzee", SMALL.n_envs)
            copy.restore(env.state())
            played = np.where(masks.any(axis=1), masks.argmax(axis=1), 0)
            played[game] = action
            _, points, _, _ = copy.step(played)
            np.testing.assert_allclose(row[:, action], points[game], atol=1e-4)


def test_the_gradient_reaches_every_part_of_the_network(env, positions):
    network = learner(env).policy.quantile_net
    actions = torch.full((SMALL.n_envs, 1), 40)
    network.quantiles_of(positions[0], actions).square().sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in network.parameters())


def test_the_target_is_the_union_of_the_quantiles_of_all_throws(env):
    model = learner(env, redraws=3, learning_starts=256)
    model.learn(512)
    batch = model.replay_buffer.sample(32)
    plain = learner(env, redraws=0)
    plain.policy.load_state_dict(model.policy.state_dict())
    throws = [
        plain.targets(
            batch._replace(
                **{name: getattr(batch, name)[32 * k : 32 * (k + 1)] for name in FOLLOWING}
            )
        )
        for k in range(4)
    ]
    targets = model.targets(batch)
    assert targets.shape == (32, 4 * QUANTILES)
    torch.testing.assert_close(targets.sort().values, torch.cat(throws, dim=1).sort().values)


def test_the_loss_of_the_mean_can_be_weighted(env):
    models = {weight: learner(env, mean_coef=weight) for weight in (0.0, 1.0, 3.0)}
    models[0.0].learn(256)
    batch, state = models[0.0].replay_buffer.sample(32), models[0.0].policy.state_dict()
    losses = {}
    for weight, model in models.items():
        model.policy.load_state_dict(state)
        losses[weight] = model.loss(batch).item()
    assert losses[3.0] - losses[0.0] == pytest.approx(3 * (losses[1.0] - losses[0.0]), rel=1e-4)
    assert losses[1.0] > losses[0.0] > 0


@pytest.mark.parametrize(("begin", "end"), [(0.0, 0.25), (0.75, 1.0), (0.0, 1.0)])
def test_a_player_by_a_tail_takes_the_best_mean_of_those_quantiles(env, positions, begin, end):
    model = learner(env)
    observations, masks = positions
    every = model.policy.quantile_net(observations).detach()
    tail = every[:, int(begin * QUANTILES) : int(end * QUANTILES)].mean(dim=1)
    player = qrdqn.tail_policy(model, "some", begin, end)
    games = Positions(env.ruleset, np.frombuffer(env.state()["records"].tobytes(), GAME))
    actions = torch.from_numpy(player.act(games, np.random.default_rng(0)))[:, None]
    assert masks.gather(1, actions).all()
    best = torch.where(masks, tail, -torch.inf).max(dim=1).values
    torch.testing.assert_close(tail.gather(1, actions)[:, 0], best, atol=1e-4, rtol=0)
