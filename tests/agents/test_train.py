import json
import math
from dataclasses import replace

import numpy as np
import pytest
from small_run import SMALL, fingerprint
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from agents.algorithms import ppo
from agents.algorithms.ppo import RedrawPPO
from agents.config import parse
from agents.runs.loop import spawn_seeds, train
from agents.train import main
from yahtzee_env import evaluate, load_policy
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv
from yahtzee_env.evaluation import METRICS
from yahtzee_env.policies import POLICIES, ModelPolicy


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small run: its folder, its model, and the scores of its training games in order."""
    folder, scores = tmp_path_factory.mktemp("small"), []
    totals, play = np.zeros(SMALL.n_envs), YahtzeeSB3VecEnv.step_wait

    def recorded(env):
        step = _, rewards, dones, _ = play(env)
        totals[:] += rewards * env.points_per_reward
        scores.extend(totals[dones].tolist())
        totals[dones] = 0
        return step

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(YahtzeeSB3VecEnv, "step_wait", recorded)
        model, _ = train(SMALL, folder, show_progress=False)
    return folder, model, scores


def test_two_runs_of_one_seed_on_one_thread_are_equal(trained, tmp_path):
    _, model, _ = trained
    again, _ = train(SMALL, tmp_path, show_progress=False)
    assert fingerprint(again) == fingerprint(model)


def test_another_seed_is_another_run(trained, tmp_path):
    _, model, _ = trained
    other, _ = train(replace(SMALL, seed=2), tmp_path, show_progress=False)
    assert fingerprint(other) != fingerprint(model)


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


def test_an_untrained_agent_plays_1000_games_without_an_illegal_action():
    model = ppo.make(SMALL.ppo, SMALL.network, YahtzeeSB3VecEnv("yahtzee", SMALL.n_envs))
    result = evaluate(ModelPolicy(model), games=1000, seed=1, on_illegal="raise")
    assert (result.games, result.illegal_actions) == (1000, 0)


def test_value_and_policy_learn_at_their_own_falling_speeds(trained):
    _, model, _ = trained
    policy, value = model.policy.optimizer.param_groups
    assert sum(len(group["params"]) for group in (policy, value)) == len(
        list(model.policy.parameters())
    )
    fresh = ppo.make(SMALL.ppo, SMALL.network, YahtzeeSB3VecEnv("yahtzee", SMALL.n_envs))
    fresh._current_progress_remaining = 0.5
    fresh.set_logger(model.logger)
    fresh._update_learning_rate(fresh.policy.optimizer)
    speeds = [group["lr"] for group in fresh.policy.optimizer.param_groups]
    assert speeds == pytest.approx([3e-4, 5e-4])


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


def test_training_ends_with_a_whole_rollout():
    assert replace(SMALL, total_timesteps=2049).whole_timesteps == 2560
    assert SMALL.whole_timesteps == 2048
    assert replace(SMALL, algorithm="dqn", total_timesteps=2049).whole_timesteps == 2064


def test_the_command_leaves_a_folder_that_explains_itself(tmp_path, capsys):
    folder = tmp_path / "run"
    arguments = (
        "--config configs/ppo_quick.yaml --ruleset yatzy --threads 1 --total_timesteps 2048 "
        "--n_envs 16 --ppo.batch_size 128 --evaluation.final_games 20 --evaluation.games 20"
    )
    command = [*arguments.split(), "--run-dir", str(folder)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    players = [*(name for name in POLICIES if name != "optimal"), "ppo"]
    assert all(player in printed for player in players)
    result = json.loads((folder / "result.json").read_text())
    assert (result["ruleset"], result["threads"], result["timesteps"]) == ("yatzy", 1, 2048)
    assert result["chosen_after_timesteps"] == 2048
    assert [row["player"] for row in result["scores"]] == players
    assert {row["games"] for row in result["scores"]} == {20}
    resolved, _ = parse(["--config", str(folder / "config.yaml")])
    assert (resolved.ruleset, resolved.ppo.batch_size) == ("yatzy", 128)
    assert RedrawPPO.load(folder / "last.zip", device="cpu").action_space.n == 46
    agent = load_policy(folder / "agent.npz")
    assert agent.name == "ppo-yatzy"
    [score] = agent.training["result"]["scores"]
    assert score == result["scores"][-1]
    again = evaluate(agent, "yatzy", games=20, seed=spawn_seeds(1)["final_games"])
    assert again.mean == score["mean"]
    assert main(command) == 2
    assert "not empty" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_a_training_that_diverges_is_told_in_a_line_and_leaves_no_agent(
    algorithm, tmp_path, capsys
):
    config, folder = tmp_path / "small.yaml", tmp_path / "run"
    group = replace(getattr(SMALL, algorithm), learning_rate=1e30)
    config.write_text(replace(SMALL, algorithm=algorithm, **{algorithm: group}).to_yaml())
    assert main(["--config", str(config), "--run-dir", str(folder)]) == 2
    assert "error: the training diverged" in capsys.readouterr().err
    assert not any((folder / name).exists() for name in ("best.zip", "checkpoint.pt", "agent.npz"))


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_without_masks_illegal_actions_are_tried_counted_and_replaced(algorithm, tmp_path):
    config = tmp_path / "small.yaml"
    config.write_text(replace(SMALL, algorithm=algorithm, masks=False).to_yaml())
    assert main(["--config", str(config), "--run-dir", str(tmp_path / "run")]) == 0
    events = EventAccumulator(str(tmp_path / "run")).Reload()
    shares = [event.value for event in events.Scalars("rollout/illegal_share")]
    assert 0.1 < shares[-1] < 0.99
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["scores"][-1]["illegal_actions"] > 0
    assert not (tmp_path / "run" / "agent.npz").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads", "100000"], "threads must be null or 1 to 256"),
        (["--ppo.learning_rate", "inf"], "ppo.learning_rate must be a finite number"),
        (["--config", "."], "--config must name a YAML file"),
        (["--run-dir", "/dev/null/run"], "/dev/null"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_sentence(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
