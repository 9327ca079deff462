import numpy as np
import pytest
import torch
from masked_games import CountDict, CountOnly, Lottery
from sb3_contrib import QRDQN
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.utils import quantile_huber_loss as reference_loss
from sb3_contrib.qrdqn.policies import QRDQNPolicy
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.envs import IdentityEnv

from agents.algorithms.masked_dqn import MaskableReplayBuffer, MaskableSamples
from agents.algorithms.masked_qrdqn import MaskableQRDQN, quantile_huber_loss

N_ENVS, QUANTILES, ACTIONS = 4, 8, 5


def make(env=CountOnly, seed=0, n_envs=N_ENVS, policy="MlpPolicy", **settings):
    usual = {
        "learning_rate": 3e-3,
        "buffer_size": 2000,
        "learning_starts": 200,
        "batch_size": 64,
        "target_update_interval": 100,
        "exploration_fraction": 0.5,
        "policy_kwargs": {"n_quantiles": QUANTILES},
        "device": "cpu",
    }
    return MaskableQRDQN(policy, make_vec_env(env, n_envs), seed=seed, **(usual | settings))


def weights(model):
    return torch.cat([value.flatten() for value in model.policy.state_dict().values()])


def batch(rewards, masks, dones):
    observations = torch.zeros(len(rewards), ACTIONS)
    return MaskableSamples(
        observations,
        torch.zeros(len(rewards), 1),
        observations,
        torch.tensor(dones).reshape(-1, 1),
        torch.tensor(rewards).reshape(-1, 1),
        torch.tensor(masks),
    )


def answer(monkeypatch, network, means):
    """Let a network give each action quantiles spread evenly around a mean."""
    quantiles = torch.tensor(means) + torch.linspace(-1, 1, QUANTILES)[:, None]
    monkeypatch.setattr(network, "forward", lambda obs: quantiles.expand(len(obs), -1, -1))


def test_the_loss_is_that_of_sb3_contrib_at_kappa_one():
    generator = torch.Generator().manual_seed(1)
    quantiles = torch.randn(6, 8, generator=generator, dtype=torch.float64, requires_grad=True)
    targets = 2 * torch.randn(6, 24, generator=generator, dtype=torch.float64)
    expected, ours = reference_loss(quantiles, targets), quantile_huber_loss(quantiles, targets, 1)
    torch.testing.assert_close(ours, expected)
    gradients = [torch.autograd.grad(2 * loss, quantiles)[0] for loss in (expected, ours)]
    torch.testing.assert_close(gradients[1], gradients[0])


@pytest.mark.parametrize("kappa", [0.1, 0.5, 3.0])
def test_kappa_scales_the_loss(kappa):
    generator = torch.Generator().manual_seed(2)
    quantiles = torch.randn(6, 8, generator=generator)
    targets = torch.randn(6, 8, generator=generator)
    expected = kappa * reference_loss(quantiles / kappa, targets / kappa)
    torch.testing.assert_close(quantile_huber_loss(quantiles, targets, kappa), expected)


def test_a_small_kappa_fits_the_quantiles_of_a_distribution():
    draws = np.random.default_rng(3).exponential(size=4000)
    quantiles = torch.zeros(1, 4, requires_grad=True)
    optimizer = torch.optim.Adam([quantiles], 0.03)
    targets = torch.tensor(draws, dtype=torch.float32)[None]
    for _ in range(300):
        optimizer.zero_grad()
        quantile_huber_loss(quantiles, targets, 0.01).backward()
        optimizer.step()
    expected = np.quantile(draws, [0.125, 0.375, 0.625, 0.875])
    np.testing.assert_allclose(quantiles.detach().numpy()[0], expected, atol=0.03)


def test_the_target_takes_the_best_legal_action_only(monkeypatch):
    model = make(gamma=1.0)
    for network in (model.quantile_net, model.quantile_net_target):
        answer(monkeypatch, network, [0.0, 7.0, 5.0, 1e6, 0.0])
    legal = np.array([[True, True, True, False, False]])
    spread = torch.linspace(-1, 1, QUANTILES)[None]
    torch.testing.assert_close(model.targets(batch([5.0], legal, [0.0])), 12 + spread)
    for masks, done in ((legal, 1.0), (np.zeros_like(legal), 0.0)):
        targets = model.targets(batch([5.0], masks, [done]))
        assert targets.tolist() == [[5.0] * QUANTILES]


def test_the_network_chooses_and_the_target_network_gives_the_quantiles(monkeypatch):
    model = make(gamma=0.5)
    answer(monkeypatch, model.quantile_net, [1.0, 2.0, 9.0, 0.0, 0.0])
    answer(monkeypatch, model.quantile_net_target, [100.0, 8.0, 9.0, 0.0, 0.0])
    legal = np.array([[True, True, False, False, False]])
    spread = torch.linspace(-1, 1, QUANTILES)[None]
    targets = model.targets(batch([1.0], legal, [0.0]))
    torch.testing.assert_close(targets, 5 + spread / 2)


def test_its_network_answers_alike_for_all_actions_and_for_one():
    network = make().quantile_net
    observations = torch.eye(ACTIONS)
    actions = torch.tensor([[3], [0], [4], [4], [1]])
    every = network(observations)
    torch.testing.assert_close(network.values(observations), every.mean(dim=1))
    own = torch.stack([every[i, :, a] for i, [a] in enumerate(actions.tolist())])
    torch.testing.assert_close(network.quantiles_of(observations, actions), own)


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_every_action_is_legal_at_any_exploration_rate(rate):
    model = make()
    model.exploration_rate = rate
    observations = np.tile(np.eye(ACTIONS, dtype=np.float32), (200, 1))
    masks = np.tile(np.tri(ACTIONS, dtype=bool), (200, 1))
    actions, _ = model.predict(observations, action_masks=masks)
    assert masks[np.arange(len(masks)), actions].all()
    assert rate < 1 or set(actions) == set(range(ACTIONS))


@pytest.mark.parametrize(
    ("env", "policy"), [(CountOnly, "MlpPolicy"), (CountDict, "MultiInputPolicy")]
)
def test_it_learns_where_only_some_actions_are_legal(env, policy):
    model = make(env, 1, policy=policy, gamma=0.0, learning_rate=1e-2).learn(1500)
    assert isinstance(model.replay_buffer.next_action_masks, np.ndarray)
    mean, _ = evaluate_policy(model, model.env, n_eval_episodes=10, warn=False)
    assert mean == 10.0


def test_it_learns_the_distribution_of_each_action():
    model = make(
        Lottery,
        exploration_final_eps=1.0,
        exploration_initial_eps=1.0,
        kappa=0.05,
        learning_rate=1e-2,
    )
    model.learn(3000)
    quantiles = model.quantile_net(torch.ones(1, 1))[0].detach().numpy()
    np.testing.assert_allclose(quantiles[:, 0], 3, atol=0.3)
    np.testing.assert_allclose(quantiles[:3, 1], 0, atol=0.3)
    np.testing.assert_allclose(quantiles[-3:, 1], 4, atol=0.3)
    mask = np.array([True, True, False])
    action, _ = model.predict(np.ones(1, np.float32), deterministic=True, action_masks=mask)
    assert action == 0


def test_one_seed_gives_the_same_weights_and_another_seed_others():
    first, again, other = (make(seed=seed).learn(600) for seed in (1, 1, 2))
    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))


def test_a_saved_model_plays_and_learns_on(tmp_path):
    model = make(kappa=0.3).learn(600)
    model.save(tmp_path / "model")
    model.save_replay_buffer(tmp_path / "buffer")
    loaded = MaskableQRDQN.load(tmp_path / "model", env=make_vec_env(CountOnly, N_ENVS))
    assert (loaded.kappa, loaded.n_quantiles) == (0.3, QUANTILES)
    assert torch.equal(weights(loaded), weights(model))
    with pytest.warns(UserWarning, match="empty replay buffer"):
        loaded.learn(N_ENVS, reset_num_timesteps=False)
    loaded.load_replay_buffer(tmp_path / "buffer")
    assert isinstance(loaded.replay_buffer, MaskableReplayBuffer)
    loaded.learn(200, reset_num_timesteps=False)
    assert loaded.num_timesteps >= model.num_timesteps + N_ENVS + 200


def test_what_does_not_fit_is_refused(tmp_path):
    env = make_vec_env(CountOnly, N_ENVS)
    with pytest.raises(ValueError, match="policy must be a MaskableQRDQNPolicy"):
        MaskableQRDQN(QRDQNPolicy, env)
    with pytest.raises(ValueError, match="replay_buffer_class must be a MaskableReplayBuffer"):
        make(replay_buffer_class=ReplayBuffer)
    plain = QRDQN("MlpPolicy", env, buffer_size=100)
    plain.save(tmp_path / "plain")
    with pytest.raises(ValueError, match="must be a Maskable"):
        MaskableQRDQN.load(tmp_path / "plain", env=env)
    plain.save_replay_buffer(tmp_path / "buffer")
    with pytest.raises(ValueError, match="no replay buffer with masks"):
        make().load_replay_buffer(tmp_path / "buffer")
    with pytest.raises(ValueError, match="n_steps must be 1"):
        make(n_steps=3)
    with pytest.raises(ValueError, match="optimize_memory_usage"):
        make(optimize_memory_usage=True)
    with pytest.raises(ValueError, match="kappa must be a finite number above 0, not 0"):
        make(kappa=0)
    with pytest.raises(ValueError, match="action_masks"):
        make(lambda: IdentityEnv(5), n_envs=1).learn(10)


@pytest.mark.parametrize("learning_starts", [0, 200])
def test_masks_of_a_wrong_shape_are_refused(learning_starts):
    class Narrow(CountOnly):
        def action_masks(self):
            return np.ones(4, bool)

    with pytest.raises(ValueError, match=r"of shape \(4, 5\), not \(4, 4\)"):
        make(Narrow, learning_starts=learning_starts).learn(10)
