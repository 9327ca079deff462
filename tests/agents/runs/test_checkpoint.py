import csv
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from small_run import SMALL, fingerprint
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from agents.config import parse
from agents.runs.checkpoint import BadCheckpoint
from agents.runs.loop import train
from agents.runs.stop import Stopped, StopRequest
from agents.train import main
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv

ROOT = Path(__file__).parents[3]


class StopAfter(StopRequest):
    """Asks for a stop at the n-th time it is looked at."""

    def __init__(self, n):
        self.left = n

    @property
    def signal(self):
        self.left -= 1
        return 0 if self.left > 0 else signal.SIGTERM


def rows(folder):
    """The evaluations of a run, without the times that they took place."""
    with (folder / "evaluations.csv").open() as file:
        return [{**row, "seconds": 0} for row in csv.DictReader(file)]


RUNS = [("ppo", 0), ("dqn", 0), ("ppo", 2), ("dqn", 2), ("qrdqn", 2)]


@pytest.fixture(scope="module", params=RUNS, ids=str)
def uninterrupted(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    algorithm, redraws = request.param
    group = replace(getattr(SMALL, algorithm), redraws=redraws)
    config = replace(SMALL, algorithm=algorithm, **{algorithm: group})
    model, _ = train(config, folder, show_progress=False)
    return folder, model, config


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_resumed_run_ends_exactly_like_one_that_never_stopped(uninterrupted, tmp_path, share):
    folder, model, config = uninterrupted
    updates = config.total_timesteps // config.rollout_steps
    with pytest.raises(Stopped):
        train(config, tmp_path, StopAfter(1 + int(share * updates)), show_progress=False)
    np.random.seed(99)  # noqa: NPY002
    torch.manual_seed(99)
    resumed, history = train(config, tmp_path, show_progress=False)
    assert fingerprint(resumed) == fingerprint(model)
    assert (resumed.num_timesteps, resumed._n_updates) == (2048, model._n_updates)
    assert rows(tmp_path) == rows(folder)
    assert history.evaluations[-1]["timesteps"] == 2048
    assert list(resumed.ep_info_buffer)[-1]["r"] == list(model.ep_info_buffer)[-1]["r"]
    if config.algorithm in ("dqn", "qrdqn"):
        assert resumed.exploration_rate == model.exploration_rate
        for name in ("observations", "actions", "rewards", "next_action_masks", "pos", "full"):
            ours, theirs = getattr(resumed.replay_buffer, name), getattr(model.replay_buffer, name)
            assert np.array_equal(ours, theirs), name


def test_a_run_of_the_command_is_resumed_exactly_near_its_end(tmp_path):
    config = tmp_path / "small.yaml"
    config.write_text(replace(SMALL, algorithm="dqn").to_yaml())
    settings, _ = parse(["--config", str(config)])
    prints = []
    for stops in (None, StopAfter(120)):
        folder = tmp_path / f"stops-{stops is not None}"
        folder.mkdir()
        if stops:
            with pytest.raises(Stopped):
                train(settings, folder, stops, show_progress=False)
            settings, _ = parse(["--resume", str(folder)])
        prints.append(fingerprint(train(settings, folder, show_progress=False)[0]))
    assert prints[0] == prints[1]


def test_a_stop_in_the_last_update_is_not_swallowed(tmp_path):
    updates = SMALL.whole_timesteps // SMALL.rollout_steps
    with pytest.raises(Stopped):
        train(SMALL, tmp_path, StopAfter(updates + 1), show_progress=False)
    model, _ = train(SMALL, tmp_path, show_progress=False)
    assert model.num_timesteps == SMALL.whole_timesteps


def test_a_run_goes_on_without_the_files_that_only_people_read(tmp_path):
    config = tmp_path / "small.yaml"
    config.write_text(SMALL.to_yaml())
    folder = tmp_path / "run"
    assert main(["--config", str(config), "--run-dir", str(folder)]) == 0
    before = rows(folder)
    for name in ("best.zip", "last.zip", "evaluations.csv", "result.json"):
        (folder / name).unlink()
    assert main(["--resume", str(folder)]) == 0
    assert rows(folder) == before
    assert (folder / "best.zip").exists()


def test_a_finished_run_goes_on_once_it_is_to_have_more_steps(tmp_path, capsys):
    config = tmp_path / "small.yaml"
    config.write_text(SMALL.to_yaml())
    folder = tmp_path / "run"
    assert main(["--config", str(config), "--run-dir", str(folder)]) == 0
    begun = rows(folder)
    capsys.readouterr()
    assert main(["--resume", str(folder)]) == 0
    assert "is complete" in capsys.readouterr().out
    (folder / "config.yaml").write_text(replace(SMALL, total_timesteps=3000).to_yaml())
    assert main(["--resume", str(folder)]) == 0
    assert json.loads((folder / "result.json").read_text())["timesteps"] == 3072
    assert rows(folder)[: len(begun)] == begun
    assert rows(folder)[-1]["timesteps"] == "3072"


def test_a_run_does_not_go_on_with_another_configuration(uninterrupted, tmp_path, capsys):
    _, _, config = uninterrupted
    with pytest.raises(Stopped):
        train(config, tmp_path, StopAfter(3), show_progress=False)
    other = replace(config, ruleset="yahtzee-strict")
    (tmp_path / "config.yaml").write_text(other.to_yaml())
    assert main(["--resume", str(tmp_path)]) == 2
    assert "made with another configuration" in capsys.readouterr().err


def test_a_run_that_lost_its_checkpoint_does_not_begin_again_unasked(tmp_path, capsys):
    with pytest.raises(Stopped):
        train(SMALL, tmp_path, StopAfter(3), show_progress=False)
    (tmp_path / "checkpoint.pt").unlink()
    before = (tmp_path / "last.zip").read_bytes()
    assert main(["--resume", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert "checkpoint.pt is missing" in message
    assert (tmp_path / "last.zip").read_bytes() == before
    assert main(message.strip().rpartition("again: ")[2].split()) == 0


def test_a_result_that_cannot_be_read_is_measured_again(tmp_path):
    config = tmp_path / "small.yaml"
    config.write_text(SMALL.to_yaml())
    folder = tmp_path / "run"
    assert main(["--config", str(config), "--run-dir", str(folder)]) == 0
    path = folder / "result.json"
    result = json.loads(path.read_text())
    path.write_text(path.read_text()[:100])
    assert main(["--resume", str(folder)]) == 0
    assert json.loads(path.read_text())["scores"] == result["scores"]


def test_a_resumed_log_has_every_step_once(uninterrupted, tmp_path):
    folder, _, config = uninterrupted
    with pytest.raises(Stopped):
        train(config, tmp_path, StopAfter(3), show_progress=False)
    time.sleep(1)  # TensorBoard reads files in the order of their names, which tell the second
    train(config, tmp_path, show_progress=False)

    def points(folder, tag):
        events = EventAccumulator(str(folder)).Reload().Scalars(tag)
        return [(event.step, event.value) for event in events]

    for tag in ("train/loss", "rollout/ep_rew_mean", "eval/luck_adjusted_mean"):
        assert points(tmp_path, tag) == points(folder, tag)


def test_games_go_on_from_a_saved_state():
    def play(env, n):
        seen = []
        for _ in range(n):
            observations, rewards, dones, _ = env.step(env.env_method("action_masks").argmax(1))
            seen.append((observations.copy(), rewards, dones))
        return seen

    env = YahtzeeSB3VecEnv("kismet", 5)
    env.seed(3)
    env.reset()
    play(env, 20)
    state = env.state()
    expected = play(env, 40)
    other = YahtzeeSB3VecEnv("kismet", 5)
    other.restore(state)
    for ours, theirs in zip(play(other, 40), expected, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert np.array_equal(a, b)
    assert other.finished_games == env.finished_games > 0
    with pytest.raises(ValueError, match="of 5 games, not 4"):
        YahtzeeSB3VecEnv("kismet", 4).restore(state)


COMMAND = [
    *("-m", "agents.train", "--config", "configs/ppo_quick.yaml", "--threads", "1"),
    *("--total_timesteps", "1000000", "--n_envs", "16", "--ppo.batch_size", "128"),
    *("--network.widths", "[32]", "--checkpoint_every", "512"),
    *("--evaluation.games", "20", "--evaluation.final_games", "20"),
]


def start(folder):
    command = [sys.executable, *COMMAND, "--run-dir", str(folder)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def wait_for(path, process):
    limit = time.monotonic() + 300
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < limit
        time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_the_run_and_tells_how_to_go_on(tmp_path, number):
    folder = tmp_path / "run"
    process = start(folder)
    wait_for(folder / "checkpoint.pt", process)
    process.send_signal(number)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert f"--resume {folder}" in error
    assert (folder / "last.zip").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_training_ends_in_one_line(tmp_path, number):
    command = [sys.executable, "-X", "importtime", *COMMAND, "--run-dir", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    while "numpy" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(number)
    *imports, last = process.stderr.read().splitlines()
    assert process.wait() == 128 + number
    assert last == "Stopped before training began."
    assert all(line.startswith("import time:") for line in imports)


def test_a_killed_run_goes_on_from_its_last_checkpoint(tmp_path):
    folder = tmp_path / "run"
    process = start(folder)
    wait_for(folder / "checkpoint.pt", process)
    time.sleep(0.5)
    process.kill()
    process.communicate()
    (folder / ".partial-1-checkpoint.pt").write_bytes(b"half")
    done = torch.load(folder / "checkpoint.pt", weights_only=True)["model"]["counters"]
    done = done["num_timesteps"]
    assert done >= 512
    config = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(config.replace("1000000", str(done + 512)))
    assert main(["--resume", str(folder)]) == 0
    assert (folder / "result.json").exists()
    assert not list(folder.glob(".partial-*"))
    assert main(["--resume", str(folder)]) == 0


def test_a_checkpoint_of_another_run_or_a_hostile_one_is_refused(tmp_path, capsys):
    class Hostile:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    with pytest.raises(Stopped):
        train(SMALL, tmp_path, StopAfter(1), show_progress=False)
    with pytest.raises(BadCheckpoint, match="is no checkpoint of this run"):
        train(replace(SMALL, n_envs=4), tmp_path, show_progress=False)
    checkpoint = tmp_path / "checkpoint.pt"
    whole = checkpoint.read_bytes()
    parts = [whole[:size] for size in (0, 1000, 5000, len(whole) // 2, len(whole) - 10)]
    for content in (*parts, b"nonsense", pickle.dumps(Hostile())):
        checkpoint.write_bytes(content)
        assert main(["--resume", str(tmp_path)]) == 2
        assert "is no checkpoint of this run" in capsys.readouterr().err
    torch.save(Hostile(), checkpoint)
    assert main(["--resume", str(tmp_path)]) == 2
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume", "nowhere"], "no run to resume in nowhere"),
        (["--resume", "nowhere/"], "no run to resume in nowhere"),
        (["--resume=nowhere/"], "no run to resume in nowhere"),
        (["--resume=nowhere", "--force"], "no other argument"),
        (["--resume", "nowhere", "--seed", "2"], "no other argument"),
    ],
)
def test_what_cannot_be_resumed_is_refused(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
