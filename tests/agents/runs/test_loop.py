import math
from itertools import count

import numpy as np
import pytest
from small_run import SMALL, fingerprint, small
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from agents.algorithms import ALGORITHMS
from agents.algorithms.ppo import RedrawPPO
from agents.runs import loop
from agents.runs.callbacks import Diverged
from agents.runs.loop import spawn_seeds, train
from agents.runs.result import finish, to_agent
from yahtzee_env import evaluate
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.evaluation import METRICS
from yahtzee_env.policies import ModelPolicy


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small run: its folder, its model, and the scores of its training games in order."""
    folder, scores = tmp_path_factory.mktemp("small"), []
    totals, play = np.zeros(SMALL.n_envs), YahtzeeSB3VecEnv.step_wait

    def recorded(env):
        step = _, rewards, dones, _ = play(env)
        if env.num_envs == SMALL.n_envs:
            totals[:] += rewards * env.points_per_reward
            scores.extend(totals[dones].tolist())
            totals[dones] = 0
        return step

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(YahtzeeSB3VecEnv, "step_wait", recorded)
        model, _ = train(SMALL, folder)
    return folder, model, scores


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("redraws", [0, 2])
def test_one_seed_gives_the_same_weights_and_another_seed_others(tmp_path, algorithm, redraws):
    prints = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        config = small(algorithm=algorithm, seed=seed, **{algorithm: {"redraws": redraws}})
        prints.append(fingerprint(train(config, tmp_path / name)[0]))
    assert prints[0] == prints[1] != prints[2]


def test_tensorboard_gets_the_usual_scalars(trained):
    folder, model, scores = trained
    events = EventAccumulator(str(folder)).Reload()
    for tag in (
        "rollout/ep_rew_mean",
        "rollout/ep_len_mean",
        "train/loss",
        "train/value_loss",
        "train/ent_coef",
        *(f"eval/{metric.key}" for metric in METRICS),
        "time/evaluation_share",
        "time/fps",
    ):
        points = events.Scalars(tag)
        steps = [point.step for point in points]
        assert all(math.isfinite(point.value) for point in points), tag
        assert steps == sorted(set(steps)), tag
        assert steps[-1] == model.num_timesteps == 2048, tag
    assert events.PluginTagToContent("hparams")
    last = events.Scalars("rollout/ep_rew_mean")[-1].value
    assert last == pytest.approx(np.mean(scores[-100:]), rel=1e-5)
    assert 13 <= events.Scalars("rollout/ep_len_mean")[-1].value <= 39


def test_the_model_file_plays_like_the_model(trained):
    folder, model, _ = trained
    loaded = RedrawPPO.load(folder / "last.zip", device="cpu")
    first, second = (evaluate(ModelPolicy(m), games=50, seed=3) for m in (model, loaded))
    assert np.array_equal(first.scores, second.scores)


def test_seeds_of_learner_and_games_differ():
    seeds = {value for seed in range(50) for value in spawn_seeds(seed).values()}
    assert len(seeds) == 200


def test_games_of_the_first_runs_never_share_a_seed():
    most_games = 8192
    numbers = []
    for seed in range(5):
        seeds = spawn_seeds(seed)
        first = seeds.pop("training_games")
        numbers += [*range(first, first + most_games), *seeds.values()]
    assert len(set(numbers)) == len(numbers) == 5 * (most_games + 3)


def test_training_and_evaluation_games_have_different_dice():
    seeds = spawn_seeds(SMALL.seed)
    first_rolls = []
    for use in ("training_games", "evaluation_games", "final_games"):
        env = YahtzeeSB3VecEnv("yahtzee", 64)
        env.seed(seeds[use])
        first_rolls.append(env.reset().tobytes())
    assert len(set(first_rolls)) == 3


def test_compiling_is_not_counted_as_training_time(tmp_path, monkeypatch):
    clock = count()
    hour = 3600

    def compile_slowly(ruleset):
        for _ in range(hour):
            next(clock)

    monkeypatch.setattr("agents.runs.history.monotonic", lambda: next(clock))
    monkeypatch.setattr(loop, "compile_kernels", compile_slowly)
    _, history = train(small(total_timesteps=512), tmp_path)
    assert history.seconds < hour < next(clock)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_training_that_diverges_is_stopped_and_leaves_no_agent(algorithm, tmp_path):
    config = small(algorithm=algorithm, **{algorithm: {"learning_rate": 1e30}})
    with pytest.raises(Diverged, match="the training diverged"):
        train(config, tmp_path)
    assert not any((tmp_path / name).exists() for name in ("best.zip", "checkpoint.pt"))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_without_masks_illegal_actions_are_tried_counted_and_replaced(algorithm, tmp_path):
    config = small(algorithm=algorithm, masks=False)
    comparison = finish(config, tmp_path, *train(config, tmp_path), {})
    events = EventAccumulator(str(tmp_path)).Reload()
    shares = [event.value for event in events.Scalars("rollout/illegal_share")]
    assert 0.1 < shares[-1] < 0.99
    assert comparison.evaluations[-1].illegal_actions > 0
    assert not (tmp_path / "agent.npz").exists()


def test_a_rule_set_of_ones_own_is_trained_and_exported(tmp_path):
    rules = SMALL.ruleset.to_dict() | {"name": "house rules", "extra_bonus": 50}
    config = small(ruleset=rules)
    model, _ = train(config, tmp_path)
    agent = to_agent(config, model, {})
    assert (agent.name, agent.ruleset) == ("ppo-house-rules", config.ruleset)
