import json
import os
import signal
import subprocess
import sys
import time

import pytest
from small_run import small

from agents.command_line import parse
from agents.runs.folder import RESULT
from benchmarks import experiments
from benchmarks.experiments import ROOT, Experiment, Section, main

SCORES = {"reference-1": 250.0, "reference-2": 251.0, "reference-3": 249.0, "entropy-0-1": 240.0}
WORSE = {"width-128-1": 248.0, "width-128-2": 250.0}


@pytest.fixture
def files(tmp_path, monkeypatch):
    for name in ("DATA", "PAGE", "PICTURE"):
        path = getattr(experiments, name)
        monkeypatch.setattr(experiments, name, tmp_path / path.name)
    monkeypatch.setattr(experiments, "RUNS", tmp_path)
    return tmp_path


def a_row(score):
    return {
        "score": score,
        "optimum": 254.5,
        "illegal_a_game": 0.0,
        "illegal_in_training": 0.0,
        "timesteps": 4_000_000,
        "games": 100_000,
        "minutes": 9.0,
        "commit": "0123456789",
        "curve": {"timesteps": [], "luck_adjusted_mean": [], "illegal_share": []},
    }


def test_the_page_is_that_of_the_rows():
    rows = json.loads(experiments.DATA.read_text(encoding="utf-8"))
    assert experiments.page(rows) == experiments.PAGE.read_text(encoding="utf-8")


def test_the_page_has_the_mean_over_seeds_with_students_interval():
    page = experiments.page({key: a_row(score) for key, score in SCORES.items()})
    [line] = [line for line in page.splitlines() if line.startswith("| reference |")]
    # 4.303 is Student's quantile for two degrees of freedom; the standard error is 1 / sqrt(3).
    assert "| 250.00, 251.00, 249.00 | 250.00 ± 2.48 | 98.23 |" in line
    [line] = [line for line in page.splitlines() if line.startswith("| entropy-0 |")]
    assert "| 240.00 | 240.00 | 94.30 |" in line
    assert "lambda-0.95" not in page


def test_the_page_has_the_difference_to_the_reference_with_welchs_interval():
    page = experiments.page({key: a_row(score) for key, score in {**SCORES, **WORSE}.items()})
    [line] = [line for line in page.splitlines() if line.startswith("| width-128 |")]
    # Variances 1 and 2 over 3 and 2 runs: standard error sqrt(1/3 + 1), degrees of freedom
    # (4/3)^2 / ((1/3)^2 / 2 + 1) = 1.684, where Student's quantile is 5.176.
    assert line.endswith("| -1.00 ± 5.98 |")
    [alone] = [line for line in page.splitlines() if line.startswith("| entropy-0 |")]
    assert alone.endswith("|  |")


def test_every_experiment_is_a_configuration():
    for name, experiment in experiments.EXPERIMENTS.items():
        config, _ = parse([*experiment.arguments, *experiments.COMMON])
        assert config.ruleset.name == (
            name if name in experiments.FAMILY.experiments else "yahtzee"
        )
        assert config.masks == (not name.endswith("-unmasked"))


@pytest.mark.slow
def test_runs_are_trained_once_and_put_on_the_page(files, monkeypatch, capsys):
    config = files / "small.yaml"
    config.write_text(small(n_envs=4, total_timesteps=1024).to_yaml())
    run = ("--config", str(config))
    two = {
        "masked": Experiment("m", run),
        "unmasked": Experiment("u", (*run, "--masks", "maybe")),
    }
    masks = Section("Masks", "With and without.", two)
    for name, value in {"MASKS": masks, "SECTIONS": (masks,), "EXPERIMENTS": two}.items():
        monkeypatch.setattr(experiments, name, value)
    monkeypatch.setattr(experiments, "COMMON", ("--threads", "1"))
    assert main(["unmasked", "masked", "--seeds", "1", "1", "--jobs", "1"]) == 1
    assert "unmasked-1.log says why" in capsys.readouterr().err
    rows = json.loads(experiments.DATA.read_text())
    assert list(rows) == ["masked-1"]
    masks.experiments["unmasked"] = Experiment("u", (*run, "--masks", "false"))
    assert main(["masked", "unmasked", "--seeds", "1", "--jobs", "1"]) == 0
    rows = json.loads(experiments.DATA.read_text())
    assert list(rows) == ["masked-1", "unmasked-1"]
    for key, row in rows.items():
        result = json.loads((files / "experiments" / key / RESULT).read_text())
        assert row["score"] == result["scores"][-1]["luck_adjusted_mean"]
        assert (row["illegal_in_training"] > 0) == (key == "unmasked-1")
        assert f"{row['score']:.2f}" in experiments.PAGE.read_text()
    assert experiments.PICTURE.stat().st_size > 1000
    masks.experiments["masked"] = Experiment("m", (*run, "--ppo.gamma", "0.9"))
    assert main(["masked", "--seeds", "1"]) == 1
    assert "masked-1 is a run of another configuration" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_saves_every_run(tmp_path):
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    seeds = ("--seeds", "8", "9", "--jobs", "2")
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.experiments", "reference", *seeds],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    folders = [tmp_path / "runs" / "experiments" / f"reference-{seed}" for seed in (8, 9)]
    limit = time.monotonic() + 300
    try:
        while not all(any(folder.glob("events*")) for folder in folders):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < limit
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
        _, error = process.communicate(timeout=120)
    finally:
        process.terminate()
    assert process.returncode == 1
    assert "the same command resumes" in error
    assert all((folder / "checkpoint.pt").exists() for folder in folders)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["widht-512"], "unknown widht-512; there are ppo_quick, ppo, ppo-10m, dqn, "),
        (["dqn", "--seeds", "-1"], "a seed is a whole number, 0 or more, not '-1'"),
        (["dqn", "--jobs", "0"], "jobs must be a whole number above 0, not '0'"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(files, capsys, arguments, sentence):
    with pytest.raises(SystemExit):
        main(arguments)
    assert sentence in capsys.readouterr().err
    assert not experiments.DATA.exists()
