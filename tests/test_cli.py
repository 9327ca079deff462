"""The commands: what they print, and how they fail."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import CLONE, kept

import yahtzee_env
from yahtzee_env import State, evaluate, get_ruleset, solve
from yahtzee_env.__main__ import main

DICE = ["--dice", "1", "3", "3", "4", "6"]


def report(capsys, *arguments):
    """What a command prints with --json."""
    assert main([*arguments, "--json"]) == 0
    printed = capsys.readouterr()
    return json.loads(printed.out)


def text(capsys, *arguments):
    """What a command prints for people."""
    assert main(arguments) == 0
    return capsys.readouterr().out


def run_python(*arguments, stdout=subprocess.PIPE, **environment):
    """A Python process of its own."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=CLONE,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )


def test_solve_prints_the_value_of_perfect_play(capsys):
    data = report(capsys, "solve")
    assert data["ruleset"] == "yahtzee"
    assert data["start_value"] == pytest.approx(254.587729, abs=1e-6)
    assert data["standard_deviation"] == pytest.approx(59.608, abs=1e-3)
    assert data["reachable_share"] == pytest.approx(536_448 / 2**20)
    assert data["seconds"] > 0
    assert "254.587729" in text(capsys, "solve")


def test_solve_prints_the_distribution_of_the_score(capsys):
    data = report(capsys, "solve", "--ruleset", "yacht", "--distribution")
    expected = solve("yacht").start_distribution
    assert data["distribution"]["quantiles"]["0.5"] == expected.quantile(0.5)
    assert data["distribution"]["at_least"]["150"] == expected.at_least(150)
    assert "P(score >= 150)" in text(capsys, "solve", "--ruleset", "yacht", "--distribution")


def test_evaluate_prints_the_exact_distribution(capsys):
    arguments = ("evaluate", "greedy-no-reroll", "--ruleset", "yacht", "--distribution")
    data = report(capsys, *arguments, "--games", "5")
    [exact] = data["exact"]
    assert exact["distribution"]["mean"] == pytest.approx(exact["mean"], abs=1e-9)
    assert "mean of the worst 5%" in text(capsys, *arguments, "--games", "5")


def test_solve_without_the_cache(capsys):
    data = report(capsys, "solve", "--ruleset", "yacht", "--no-cache")
    assert data["start_value"] == solve("yacht").start_value


def test_advice_is_that_of_the_solution(capsys):
    data = report(capsys, "advise", *DICE, "--filled", "chance=22", "ones=2", "--top", "99")
    values = solve("yahtzee").action_values(State((1, 3, 3, 4, 6), 2, {"chance": 22, "ones": 2}))
    actions = data["actions"]
    assert len(actions) == (~np.isnan(values)).sum()
    assert actions[0]["cost"] == 0
    for action in actions:
        assert action["value"] == values[action["action"]]
        assert action["expected_total"] == pytest.approx(24 + action["value"])
        assert action["cost"] == pytest.approx(np.nanmax(values) - action["value"])
        if action["action"] < 31:
            words = "-".join(map(str, kept((1, 3, 3, 4, 6), action["action"])))
            expected = f"keep {words}" if words else "roll all five dice again"
        else:
            expected = f"fill {get_ruleset('yahtzee').box_names[action['action'] - 31]}"
        assert action["description"] == expected
    assert [one["value"] for one in actions] == sorted(one["value"] for one in actions)[::-1]


def test_advice_in_words(capsys):
    lines = text(capsys, "advise", *DICE, "--filled", "chance=22", "--top", "3").splitlines()
    assert "1-3-3-4-6, 2 rolls left, 22 points so far" in lines[0]
    assert lines[-3].split() == ["keep", "3-3", "216.792", "238.792", "0.000"]


def test_advice_with_extra_bonuses_and_rolls_left(capsys):
    filled = ["yahtzee=50", "sixes=30"]
    position = ["advise", "--dice", *"66666", "--rolls-left", "0", "--filled", *filled]
    data = report(capsys, *position, "--extra-bonuses", "1")
    assert data["score"] == 50 + 30 + 100
    assert {action["description"] for action in data["actions"]} == {
        f"fill {box}" for box in get_ruleset("yahtzee").box_names[6:] if box != "yahtzee"
    }


def test_advice_under_other_rules(capsys):
    data = report(capsys, "advise", "--dice", *"12345", "--ruleset", "yacht", "--top", "1")
    assert data["actions"][0]["description"] == "fill small_straight"


def test_evaluate_one_policy(capsys):
    arguments = ["evaluate", "greedy-turn", "--games", "50", "--seed", "3", "--ruleset", "yacht"]
    expected = evaluate("greedy-turn", "yacht", games=50, seed=3)
    assert report(capsys, *arguments) == json.loads(expected.to_json())
    printed = text(capsys, *arguments)
    assert f"{expected.mean:.2f} ± {expected.sem:.2f}" in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_evaluate_several_policies(capsys):
    arguments = ["evaluate", "random", "greedy-turn", "--games", "20", "--ruleset", "yacht"]
    data = report(capsys, *arguments)
    assert [one["policy"] for one in data["evaluations"]] == ["random", "greedy-turn"]
    assert data["differences"][0]["first"] == "random"
    printed = text(capsys, *arguments)
    assert "optimum" in printed
    assert "random - greedy-turn" in printed


def test_evaluate_with_exact_values(capsys, monkeypatch):
    from yahtzee_env import cli
    from yahtzee_env.evaluation import PolicyValue

    monkeypatch.setattr(cli, "policy_value", lambda *_: PolicyValue("p", "r", 1.5, 2.5, {}, 3))
    arguments = ["evaluate", "greedy-turn", "--games", "20", "--ruleset", "yacht", "--exact"]
    assert report(capsys, *arguments)["exact"][0]["mean"] == 1.5
    assert "p on r: exact expected score 1.5000" in text(capsys, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("advise --dice 1 3 3 4", "dice must be five whole numbers from 1 to 6"),
        ("advise --dice 1 3 3 4 7", "dice must be five whole numbers from 1 to 6"),
        ("advise --dice 1 3 3 4 0", "dice must be five whole numbers from 1 to 6"),
        ("advise --dice 1 3 3 4 x", "--dice"),
        ("advise", "required: --dice"),
        ("advise --dice 3 3 3 3 1 --filled zzz=3", "'zzz' is not a box of yahtzee"),
        ("advise --dice 3 3 3 3 1 --filled =3", "'' is not a box of yahtzee"),
        ("advise --dice 3 3 3 3 1 --filled chance", "'chance' is not of the form BOX=POINTS"),
        ("advise --dice 3 3 3 3 1 --filled ones=-1", "is not of the form BOX=POINTS"),
        ("advise --dice 3 3 3 3 1 --filled ones=7", "ones cannot hold 7; possible are 0, 1, 2"),
        ("advise --dice 3 3 3 3 1 --filled ones=1 ones=1", "a box can be filled only once"),
        ("advise --dice 3 3 3 3 1 --rolls-left 3", "rolls_left must be 0 to 2, not 3"),
        ("advise --dice 3 3 3 3 1 --extra-bonuses 1", "extra_bonuses must be 0"),
        ("advise --dice 3 3 3 3 1 --filled yacht=50", "'yacht' is not a box of yahtzee"),
        ("advise --dice 3 3 3 3 1 --ruleset yahtzee-upper-first --filled chance=9", "while ones"),
        ("advise --dice 3 3 3 3 1 --top 0", "'0' is not a whole number of at least 1"),
        ("solve --ruleset yathzee", "unknown rule set 'yathzee': choose from yahtzee, "),
        ("solve --ruleset no.json", "cannot read the rule set no.json: No such file"),
        ("evaluate best", "unknown policy 'best': choose from random, "),
        ("evaluate random --games 1", "'1' is not a whole number of at least 2"),
        ("evaluate random --seed -1", "'-1' is not a whole number of at least 0"),
        ("evaluate random --games 1000000000000000", "games do not fit in memory"),
        ("evaluate pyproject.toml", "pyproject.toml is not an agent file"),
        ("evaluate .", "the folder . holds no agent.npz"),
        ("evaluate", "required: POLICY"),
        ("play", "invalid choice: 'play'"),
        ("", "required: solve | advise | evaluate"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_wrong_arguments_are_one_sentence(arguments, message, form, capsys):
    words = arguments.split()
    with pytest.raises(SystemExit) as exit:
        main([*words, *(form if words and words[0] != "play" else [])])
    assert exit.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_a_full_card_needs_no_advice(capsys):
    rules = get_ruleset("yacht")
    filled = [f"{box.name}={max(box.scores)}" for box in rules.boxes]
    with pytest.raises(SystemExit) as exit:
        main(["advise", *DICE, "--ruleset", "yacht", "--rolls-left", "0", "--filled", *filled])
    assert exit.value.code == 2
    assert "the card is full" in capsys.readouterr().err


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_advice_is_whole_in_any_width(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    words = text(capsys, "advise", *DICE, "--filled", "chance=22", "--top", "3").split()
    for word in ("keep", "3-3", "3-3-4", "216.792", "238.792", "0.000", "1.418"):
        assert word in words


@pytest.mark.parametrize("encoding", ["ascii", "cp866", "iso8859-2"])
def test_commands_print_in_any_encoding(encoding):
    command = ["evaluate", "random", "greedy-turn", "--games", "2", "--ruleset", "yacht"]
    process = run_python("-m", "yahtzee_env", *command, PYTHONIOENCODING=encoding)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "greedy-turn" in out.decode(encoding)
    assert " +- " in out.decode(encoding)


def test_the_version(capsys):
    with pytest.raises(SystemExit) as exit:
        main(["--version"])
    assert exit.value.code == 0
    assert capsys.readouterr().out == f"yahtzee-env {yahtzee_env.__version__}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_full_disk_is_one_sentence(form):
    with open("/dev/full", "w") as full:
        process = run_python("-m", "yahtzee_env", "solve", *form, stdout=full)
        errors = process.communicate(timeout=300)[1].decode()
    assert process.returncode == 1
    assert errors == "yahtzee-env: [Errno 28] No space left on device\n"


def test_a_closed_output_is_one_sentence():
    command = [sys.executable, "-m", "yahtzee_env", "solve"]
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
    done = subprocess.run(closed, cwd=CLONE, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert done.stderr == "yahtzee-env: the standard output is closed\n"


def test_a_closed_pipe_ends_quietly():
    process = run_python("-m", "yahtzee_env", "solve", "--ruleset", "yacht", "--json")
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == b""


EVALUATE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from yahtzee_env.__main__ import main
print("ready", flush=True)
sys.exit(main(["evaluate", "random", "--games", "3000000"]))
"""


def test_an_interruption_ends_quietly():
    process = run_python("-c", EVALUATE)
    assert process.stdout.readline() == b"ready\n"
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert process.stderr.read() == b""


def test_an_interruption_is_no_traceback(monkeypatch):
    from yahtzee_env import cli

    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run", interrupted)
    assert main(["solve"]) == 130
