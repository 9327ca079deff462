import torch

from agents.algorithms.dqn import DQNSettings, make
from agents.algorithms.networks import NetworkSettings
from yahtzee_env import observation_names
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv


def learner(redraws):
    settings = DQNSettings(learning_starts=400, buffer_size=4000, redraws=redraws)
    games = YahtzeeSB3VecEnv(n_envs=8, points_per_reward=30.0)
    games.seed(5)
    model = make(settings, NetworkSettings(), games)
    model.learn(400)
    return model


def test_each_sample_of_a_step_has_other_dice():
    model = learner(redraws=3)
    buffer, names = model.replay_buffer, observation_names("yahtzee")
    batch, again = buffer.sample(64), buffer.sample(64)
    assert batch.observations.shape == (64, len(names))
    assert batch.next_observations.shape == (4 * 64, len(names))
    assert not torch.equal(batch.next_observations[64:], again.next_observations[64:])
    dice = [i for i, name in enumerate(names) if name.startswith("count_of_")]
    card = [i for i, name in enumerate(names) if name.startswith(("open_", "upper_"))]
    throws = batch.next_observations.reshape(4, 64, -1)
    for other in throws[1:]:
        assert torch.equal(other[:, card], throws[0][:, card])
        assert not torch.equal(other[:, dice], throws[0][:, dice])


def test_the_target_is_the_mean_over_all_throws():
    model = learner(redraws=3)
    batch = model.replay_buffer.sample(32)
    throws = [
        batch._replace(**{name: getattr(batch, name)[32 * k : 32 * (k + 1)] for name in FOLLOWING})
        for k in range(4)
    ]
    plain = learner(redraws=0)
    plain.policy.load_state_dict(model.policy.state_dict())
    expected = torch.stack([plain.targets(throw) for throw in throws]).mean(dim=0)
    torch.testing.assert_close(model.targets(batch), expected, rtol=1e-4, atol=1e-5)


FOLLOWING = ("next_observations", "next_action_masks", "rewards", "dones")
