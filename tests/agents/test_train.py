import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from helpers import CLONE
from small_run import SMALL, small

from agents.algorithms.ppo import RedrawPPO
from agents.command_line import parse
from agents.runs.loop import spawn_seeds
from agents.train import main
from yahtzee_env import evaluate, load_policy
from yahtzee_env.policies import POLICIES

COMMAND = [
    *("-m", "agents.train", "--config", "configs/ppo_quick.yaml", "--threads", "1"),
    *("--total_timesteps", "1e6", "--n_envs", "16", "--ppo.batch_size", "128"),
    *("--network.widths", "[32]", "--checkpoint_every", "512"),
    *("--evaluation.games", "20", "--evaluation.final_games", "20"),
]
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def start(folder, *arguments, **settings):
    command = [sys.executable, *COMMAND, "--run_dir", str(folder), *arguments]
    return subprocess.Popen(command, cwd=CLONE, stderr=subprocess.PIPE, text=True, **settings)


def wait_for(path, process):
    limit = time.monotonic() + 300
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < limit
        time.sleep(0.1)


def test_the_command_leaves_a_folder_that_explains_itself(tmp_path, capsys):
    folder = tmp_path / "run"
    arguments = (
        "--config configs/ppo_quick.yaml --ruleset yatzy --threads 1 --total_timesteps 2048 "
        "--n_envs 16 --ppo.batch_size 128 --evaluation.final_games 20 --evaluation.games 20"
    )
    command = [*arguments.split(), "--run_dir", str(folder)]
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
    assert (resolved.ruleset.name, resolved.ppo.batch_size) == ("yatzy", 128)
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


def test_a_finished_run_is_resumed_once_it_gets_more_steps(tmp_path, capsys):
    config, folder = tmp_path / "small.yaml", tmp_path / "run"
    config.write_text(SMALL.to_yaml())
    assert main(["--config", str(config), "--run_dir", str(folder)]) == 0
    begun = (folder / "evaluations.csv").read_text()
    capsys.readouterr()
    assert main(["--resume", str(folder)]) == 0
    assert "is complete" in capsys.readouterr().out
    (folder / "config.yaml").write_text(small(total_timesteps=3000).to_yaml())
    assert main(["--resume", str(folder)]) == 0
    assert json.loads((folder / "result.json").read_text())["timesteps"] == 3072
    assert (folder / "evaluations.csv").read_text().startswith(begun)


def test_a_run_is_resumed_without_the_files_that_only_people_read(tmp_path):
    config, folder = tmp_path / "small.yaml", tmp_path / "run"
    config.write_text(SMALL.to_yaml())
    assert main(["--config", str(config), "--run_dir", str(folder)]) == 0
    before = (folder / "evaluations.csv").read_text()
    for name in ("best.zip", "last.zip", "evaluations.csv", "result.json"):
        (folder / name).unlink()
    assert main(["--resume", str(folder)]) == 0
    assert (folder / "evaluations.csv").read_text() == before
    assert (folder / "best.zip").exists()


def test_a_result_that_cannot_be_read_is_measured_again(tmp_path):
    config, folder = tmp_path / "small.yaml", tmp_path / "run"
    config.write_text(SMALL.to_yaml())
    assert main(["--config", str(config), "--run_dir", str(folder)]) == 0
    path = folder / "result.json"
    result = json.loads(path.read_text())
    path.write_text(path.read_text()[:100])
    assert main(["--resume", str(folder)]) == 0
    assert json.loads(path.read_text())["scores"] == result["scores"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads", "100000"], "threads must be a whole number from 1 to 256 or null"),
        (["--ppo.learning_rate", ".inf"], "ppo.learning_rate must be a number above 0"),
        (["--config", "."], "Is a directory"),
        (["--run_dir", "/dev/null/run"], "/dev/null"),
        (["--resume", "nowhere/"], "no run to resume in nowhere"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_sentence(arguments, message, capsys):
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert output.err.startswith("error: ")
    assert output.err.count("\n") == 1
    assert message in output.err
    assert output.out == ""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_saves_the_run_and_says_how_to_resume_it(tmp_path, number):
    folder = tmp_path / "run"
    process = start(folder)
    wait_for(folder / "checkpoint.pt", process)
    process.send_signal(number)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert error == f"stopped; resume with: python -m agents.train --resume {folder}\n"
    assert (folder / "last.zip").exists()


def test_a_run_whose_output_is_closed_saves_and_says_how_to_resume_it(tmp_path):
    folder = tmp_path / "run"
    process = start(folder, "--evaluation.every", "2048", stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    _, error = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGPIPE
    assert error == f"stopped; resume with: python -m agents.train --resume {folder}\n"
    assert (folder / "checkpoint.pt").exists()


def test_ctrl_c_in_a_pipeline_saves_the_run(tmp_path):
    folder = tmp_path / "run"
    command = subprocess.list2cmdline([sys.executable, *COMMAND, "--run_dir", str(folder)])
    shell = f"set -o pipefail; {command} --evaluation.every 2048 | tee {tmp_path / 'log'}"
    process = subprocess.Popen(
        ["bash", "-c", shell],
        cwd=CLONE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(folder / "checkpoint.pt", process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    _, error = process.communicate(timeout=120)
    assert f"stopped; resume with: python -m agents.train --resume {folder}\n" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_before_training_ends_in_one_line(tmp_path, number):
    command = [sys.executable, "-X", "importtime", *COMMAND, "--run_dir", str(tmp_path)]
    process = subprocess.Popen(command, cwd=CLONE, stderr=subprocess.PIPE, text=True)
    while "numpy" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(number)
    *imports, last = process.stderr.read().splitlines()
    assert process.wait() == 128 + number
    assert last == "Stopped before training began."
    assert all(line.startswith("import time:") for line in imports)


def test_a_killed_run_is_resumed_from_its_last_checkpoint(tmp_path):
    folder = tmp_path / "run"
    process = start(folder)
    wait_for(folder / "checkpoint.pt", process)
    time.sleep(0.5)
    process.kill()
    process.communicate()
    (folder / ".partial-1-checkpoint.pt").write_bytes(b"half")
    done = torch.load(folder / "checkpoint.pt", weights_only=True)["model"]["counters"]
    steps = done["num_timesteps"]
    assert steps >= 512
    config = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(config.replace("1000000", str(steps + 512)))
    assert main(["--resume", str(folder)]) == 0
    assert (folder / "result.json").exists()
    assert not list(folder.glob(".partial-*"))


def test_without_the_extra_its_name_is_in_the_sentence():
    code = (
        "import sys; sys.modules['torch'] = None; from agents.train import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=CLONE, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == 'error: torch is not installed: pip install -e ".[learn]"\n'
