import csv
import os
import pickle
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from small_run import SMALL, fingerprint, small
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from agents.command_line import parse
from agents.config import make_config
from agents.runs.checkpoint import BadCheckpoint
from agents.runs.loop import train
from agents.runs.stop import Stopped, StopRequest
from agents.train import main
from yahtzee_env.envs.sb3 import YahtzeeSB3VecEnv


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


RUNS = [("ppo", 0), ("dqn", 0), ("ppo", 2), ("dqn", 2), ("qrdqn", 2), ("a2c", 2)]


@pytest.fixture(scope="module", params=RUNS, ids=str)
def uninterrupted(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    algorithm, redraws = request.param
    config = small(algorithm=algorithm, **{algorithm: {"redraws": redraws}})
    model, _ = train(config, folder)
    return folder, model, config


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_resumed_run_ends_exactly_like_one_that_never_stopped(uninterrupted, tmp_path, share):
    folder, model, config = uninterrupted
    updates = config.total_timesteps // config.rollout_steps
    with pytest.raises(Stopped):
        train(config, tmp_path, StopAfter(1 + int(share * updates)))
    np.random.seed(99)  # noqa: NPY002
    torch.manual_seed(99)
    resumed, history = train(config, tmp_path)
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
    config.write_text(small(algorithm="dqn").to_yaml())
    settings, _ = parse(["--config", str(config)])
    prints = []
    for stops in (None, StopAfter(120)):
        folder = tmp_path / f"stops-{stops is not None}"
        folder.mkdir()
        if stops:
            with pytest.raises(Stopped):
                train(settings, folder, stops)
            settings, _ = parse(["--resume", str(folder)])
        prints.append(fingerprint(train(settings, folder)[0]))
    assert prints[0] == prints[1]


def test_a_stop_in_the_last_update_is_not_swallowed(tmp_path):
    updates = SMALL.whole_timesteps // SMALL.rollout_steps
    with pytest.raises(Stopped):
        train(SMALL, tmp_path, StopAfter(updates + 1))
    model, _ = train(SMALL, tmp_path)
    assert model.num_timesteps == SMALL.whole_timesteps


def test_a_run_is_not_resumed_with_another_configuration(uninterrupted, tmp_path, capsys):
    _, _, config = uninterrupted
    with pytest.raises(Stopped):
        train(config, tmp_path, StopAfter(3))
    other = make_config(config.plain() | {"ruleset": "yahtzee-strict"})
    (tmp_path / "config.yaml").write_text(other.to_yaml())
    assert main(["--resume", str(tmp_path)]) == 2
    assert "its configuration differs in ruleset" in capsys.readouterr().err


def test_a_run_that_lost_its_checkpoint_is_not_begun_again_unasked(tmp_path, capsys):
    with pytest.raises(Stopped):
        train(SMALL, tmp_path, StopAfter(3))
    (tmp_path / "checkpoint.pt").unlink()
    before = (tmp_path / "last.zip").read_bytes()
    assert main(["--resume", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert "checkpoint.pt is missing" in message
    assert (tmp_path / "last.zip").read_bytes() == before
    assert main(message.strip().rpartition("again: ")[2].split()) == 0


def test_a_resumed_log_has_every_step_once(uninterrupted, tmp_path):
    folder, _, config = uninterrupted
    with pytest.raises(Stopped):
        train(config, tmp_path, StopAfter(3))
    time.sleep(1)  # TensorBoard reads files in the order of their names, which tell the second
    train(config, tmp_path)

    def points(folder, tag):
        events = EventAccumulator(str(folder)).Reload().Scalars(tag)
        return [(event.step, event.value) for event in events]

    for tag in ("train/loss", "rollout/ep_rew_mean", "eval/luck_adjusted_mean"):
        assert points(tmp_path, tag) == points(folder, tag)


def test_games_continue_from_a_saved_state():
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


def test_a_checkpoint_of_another_run_or_a_hostile_one_is_refused(tmp_path, capsys):
    class Hostile:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    with pytest.raises(Stopped):
        train(SMALL, tmp_path, StopAfter(1))
    with pytest.raises(BadCheckpoint, match="is not a checkpoint of this run"):
        train(small(n_envs=4), tmp_path)
    checkpoint = tmp_path / "checkpoint.pt"
    whole = checkpoint.read_bytes()
    parts = [whole[:size] for size in (0, 1000, 5000, len(whole) // 2, len(whole) - 10)]
    for content in (*parts, b"nonsense", pickle.dumps(Hostile())):
        checkpoint.write_bytes(content)
        assert main(["--resume", str(tmp_path)]) == 2
        assert "is not a checkpoint of this run" in capsys.readouterr().err
    torch.save(Hostile(), checkpoint)
    assert main(["--resume", str(tmp_path)]) == 2
    assert not (tmp_path / "ran").exists()


def test_a_setting_that_a_later_version_adds_has_its_default_in_older_checkpoints(tmp_path):
    with pytest.raises(Stopped):
        train(SMALL, tmp_path, StopAfter(3))
    path = tmp_path / "checkpoint.pt"
    content = torch.load(path, weights_only=True)
    assert content["config"]["ppo"].pop("gamma") == 1.0
    assert content["config"]["network"].pop("activation") == "silu"
    torch.save(content, path)
    model, _ = train(SMALL, tmp_path)
    assert model.num_timesteps == SMALL.whole_timesteps
    with pytest.raises(BadCheckpoint, match=r"differs in ppo\.gamma$"):
        train(small(ppo={"gamma": 0.9}), tmp_path)


def test_the_settings_of_another_algorithm_do_not_matter(tmp_path):
    with pytest.raises(Stopped):
        train(SMALL, tmp_path, StopAfter(3))
    model, _ = train(small(dqn={"gamma": 0.5}), tmp_path)
    assert model.num_timesteps == SMALL.whole_timesteps


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_a_full_disk_keeps_the_last_checkpoint_and_is_one_sentence(
    algorithm, tmp_path, monkeypatch, capsys
):
    config = small(algorithm=algorithm)
    with pytest.raises(Stopped):
        train(config, tmp_path, StopAfter(3))
    before = (tmp_path / "checkpoint.pt").read_bytes()

    def fail(content, file):
        if isinstance(file, Path):
            file.write_bytes(b"half")
        raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0")

    monkeypatch.setattr(torch, "save", fail)
    assert main(["--resume", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {tmp_path}")
    assert error.endswith(" cannot be written; is the disk full?\n")
    assert (tmp_path / "checkpoint.pt").read_bytes() == before
    assert not list(tmp_path.glob(".partial-*"))
