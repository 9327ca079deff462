import numpy as np
import pytest
import torch
from masked_games import CountDict, CountOnly
from sb3_contrib.common.envs import InvalidActionEnvDiscrete
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.envs import IdentityEnv
from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3.dqn.policies import DQNPolicy

from agents.algorithms.masked_dqn import MaskableDQN, MaskableReplayBuffer, MaskableSamples
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv

N_ENVS = 4


def make(env, seed=0, **settings):
    usual = {
        "learning_rate": 1e-3,
        "buffer_size": 2000,
        "learning_starts": 200,
        "batch_size": 64,
        "target_update_interval": 100,
        "exploration_fraction": 0.5,
        "device": "cpu",
    }
    return MaskableDQN("MlpPolicy", env, seed=seed, **(usual | settings))


def yahtzee(n_envs=N_ENVS):
    env = YahtzeeSB3VecEnv("yahtzee", n_envs)
    env.seed(1)
    return env


def weights(model):
    return torch.cat([value.flatten() for value in model.policy.state_dict().values()])


def batch(rewards, masks, dones):
    observations = torch.zeros(len(rewards), 70)
    return MaskableSamples(
        observations,
        torch.zeros(len(rewards), 1),
        observations,
        torch.tensor(dones).reshape(-1, 1),
        torch.tensor(rewards).reshape(-1, 1),
        torch.tensor(masks),
    )


def test_the_target_takes_the_best_legal_action_only(monkeypatch):
    model = make(yahtzee(), gamma=1.0)
    values = torch.zeros(1, 44)
    values[0, 3], values[0, 5] = 7.0, 1e6
    for network in (model.q_net, model.q_net_target):
        monkeypatch.setattr(network, "forward", lambda observations: values)
    legal = np.zeros((1, 44), bool)
    legal[0, 3] = True
    assert model.targets(batch([5.0], legal, [0.0])).tolist() == [[12.0]]
    assert model.targets(batch([5.0], legal, [1.0])).tolist() == [[5.0]]
    assert model.targets(batch([5.0], ~legal, [0.0])).tolist() == [[1e6 + 5]]


def test_the_network_chooses_and_the_target_network_values(monkeypatch):
    model = make(yahtzee(), gamma=0.5)
    legal = np.zeros((1, 44), bool)
    legal[0, :2] = True
    online, target = torch.zeros(1, 44), torch.zeros(1, 44)
    online[0, :3] = torch.tensor([1.0, 2.0, 9.0])
    target[0, :3] = torch.tensor([100.0, 8.0, 9.0])
    monkeypatch.setattr(model.q_net, "forward", lambda observations: online)
    monkeypatch.setattr(model.q_net_target, "forward", lambda observations: target)
    assert model.targets(batch([1.0], legal, [0.0])).tolist() == [[5.0]]


def test_a_state_where_nothing_is_legal_adds_nothing():
    model = make(yahtzee())
    nothing = np.zeros((1, 44), bool)
    assert model.targets(batch([3.0], nothing, [0.0])).tolist() == [[3.0]]


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_ten_thousand_actions_are_legal_at_any_exploration_rate(rate):
    env = yahtzee(100)
    model = make(env)
    model.exploration_rate = rate
    observations, seen = env.reset(), set()
    for _ in range(100):
        masks = env.env_method("action_masks")
        actions, _ = model.predict(observations, action_masks=masks)
        assert masks[np.arange(100), actions].all()
        seen |= set(actions.tolist())
        observations, *_ = env.step(actions)
    assert rate < 1 or len(seen) == 44


def test_exploration_is_uniform_and_each_environment_explores_for_itself():
    model = make(yahtzee())
    observations = np.zeros((20_000, 70), np.float32)
    masks = np.zeros((20_000, 44), bool)
    masks[:, [2, 11, 40]] = True
    best = model.predict(observations[:1], action_masks=masks[:1], deterministic=True)[0][0]
    model.exploration_rate = 0.3
    actions, _ = model.predict(observations, action_masks=masks)
    shares = {action: (actions == action).mean() for action in (2, 11, 40)}
    for action, share in shares.items():
        assert share == pytest.approx(0.8 if action == best else 0.1, abs=0.012)


def test_one_observation_gives_one_action():
    model = make(DummyVecEnv([CountOnly]))
    mask = np.array([False, True, False, False, False])
    for deterministic in (True, False):
        action, state = model.predict(np.zeros(5, np.float32), None, None, deterministic, mask)
        assert isinstance(action, np.ndarray)
        assert (int(action), action.shape, state) == (1, (), None)


@pytest.mark.parametrize("kind", [CountOnly, CountDict])
def test_it_learns_where_only_some_actions_are_legal(kind):
    policy = "MultiInputPolicy" if kind is CountDict else "MlpPolicy"
    env = make_vec_env(kind, N_ENVS)
    model = MaskableDQN(
        policy,
        env,
        learning_rate=3e-3,
        learning_starts=200,
        target_update_interval=100,
        gamma=0.0,
        batch_size=64,
        seed=1,
        device="cpu",
    ).learn(4000)
    mean, _ = evaluate_policy(model, env, n_eval_episodes=10, warn=False)
    assert mean == 10.0


def test_it_solves_the_identity_environments():
    def identity():
        return ActionMasker(IdentityEnv(5), lambda _: np.ones(5, bool))

    def some_invalid():
        return InvalidActionEnvDiscrete(dim=20, n_invalid_actions=10)

    for env in (identity, some_invalid):
        games = make_vec_env(env, N_ENVS)
        model = make(games, learning_rate=3e-3, gamma=0.0, exploration_fraction=0.3).learn(8000)
        mean, _ = evaluate_policy(model, games, n_eval_episodes=10, warn=False)
        assert mean > 90


def test_the_buffer_keeps_the_mask_of_the_next_state():
    env = make_vec_env(CountOnly, N_ENVS)
    model = make(env, learning_starts=10_000).learn(400)
    assert isinstance(model.replay_buffer, MaskableReplayBuffer)
    sample = model.replay_buffer.sample(500)
    following = sample.next_observations.argmax(dim=1)
    expected = torch.arange(5)[None, :] <= following[:, None]
    assert torch.equal(sample.next_action_masks, expected)
    assert sample.actions.flatten().tolist() != [0] * 500


def test_one_seed_gives_the_same_weights_and_another_seed_others():
    first, again, other = (make(yahtzee(), seed).learn(600) for seed in (1, 1, 2))
    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))


def test_a_saved_model_plays_and_learns_on(tmp_path):
    model = make(yahtzee()).learn(600)
    model.save(tmp_path / "model")
    model.save_replay_buffer(tmp_path / "buffer")
    loaded = MaskableDQN.load(tmp_path / "model", env=yahtzee(), device="cpu")
    observations = yahtzee().reset()
    masks = np.ones((N_ENVS, 44), bool)
    for each in (model, loaded):
        each.choice, _ = each.predict(observations, action_masks=masks, deterministic=True)
    assert np.array_equal(model.choice, loaded.choice)
    assert loaded.exploration_rate == model.exploration_rate
    with pytest.warns(UserWarning, match="empty replay buffer"):
        loaded.learn(N_ENVS, reset_num_timesteps=False)
    loaded.load_replay_buffer(tmp_path / "buffer")
    assert np.array_equal(
        loaded.replay_buffer.next_action_masks, model.replay_buffer.next_action_masks
    )
    loaded.learn(200, reset_num_timesteps=False)
    assert loaded.num_timesteps >= model.num_timesteps + N_ENVS + 200


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        (np.ones(4, bool), r"of shape \(4, 5\), not \(4, 4\)"),
        (np.ones((1, 5), bool), r"of shape \(4, 5\), not \(4, 1, 5\)"),
        (np.ones(1, bool), r"of shape \(4, 5\), not \(4, 1\)"),
        (None, r"of shape \(4, 5\), not \(4,\)"),
        (np.zeros(5, bool), "no action is legal"),
    ],
)
@pytest.mark.parametrize("learning_starts", [0, 200])
def test_masks_that_fit_no_choice_are_refused_at_once(masks, message, learning_starts):
    env = make_vec_env(lambda: ActionMasker(CountOnly(), lambda _: masks), N_ENVS)
    with pytest.raises(ValueError, match=message):
        make(env, learning_starts=learning_starts).learn(10)


def test_a_wrong_last_mask_of_an_episode_is_refused():
    class Short(CountOnly):
        def step(self, action):
            *step, info = super().step(action)
            return *step, {**info, "action_mask": np.ones(1, bool)}

    with pytest.raises(ValueError, match=r"of shape \(1, 5\), not \(1,\)"):
        make(make_vec_env(Short, 1)).learn(20)


@pytest.mark.parametrize("shape", [(5, 2), (10,), (2, 4)])
@pytest.mark.parametrize("deterministic", [True, False])
def test_predict_takes_a_mask_for_each_observation(shape, deterministic):
    model = make(make_vec_env(CountOnly, N_ENVS))
    with pytest.raises(ValueError, match=r"of shape \(2, 5\)"):
        model.predict(
            np.zeros((2, 5), np.float32),
            deterministic=deterministic,
            action_masks=np.ones(shape, bool),
        )


def test_nothing_of_plain_dqn_is_taken_without_a_word(tmp_path):
    env = make_vec_env(CountOnly, N_ENVS)
    with pytest.raises(ValueError, match="policy must be a MaskableDQNPolicy"):
        MaskableDQN(DQNPolicy, env)
    with pytest.raises(ValueError, match="replay_buffer_class must be a MaskableReplayBuffer"):
        make(env, replay_buffer_class=ReplayBuffer)
    plain = DQN("MlpPolicy", env, buffer_size=100)
    plain.save(tmp_path / "plain")
    with pytest.raises(ValueError, match="must be a Maskable"):
        MaskableDQN.load(tmp_path / "plain", env=env)
    plain.save_replay_buffer(tmp_path / "buffer")
    make(make_vec_env(CountOnly, 2)).save_replay_buffer(tmp_path / "two")
    make(make_vec_env(InvalidActionEnvDiscrete, N_ENVS)).save_replay_buffer(tmp_path / "other")
    model = make(env)
    before = model.replay_buffer
    with pytest.raises(ValueError, match="steps of other spaces"):
        model.load_replay_buffer(tmp_path / "other")
    with pytest.raises(ValueError, match="no replay buffer with masks"):
        model.load_replay_buffer(tmp_path / "buffer")
    with pytest.raises(ValueError, match="of 2 environments, not of 4"):
        model.load_replay_buffer(tmp_path / "two")
    assert model.replay_buffer is before


def test_what_it_does_not_support_is_refused():
    with pytest.raises(ValueError, match="n_steps must be 1"):
        make(yahtzee(), n_steps=3)
    with pytest.raises(ValueError, match="optimize_memory_usage"):
        make(yahtzee(), optimize_memory_usage=True)
    with pytest.raises(ValueError, match="action_masks"):
        make(make_vec_env(lambda: IdentityEnv(5), 1)).learn(10)
