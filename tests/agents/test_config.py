from dataclasses import is_dataclass
from pathlib import Path

import pytest
import yaml

from agents.algorithms import ALGORITHMS
from agents.config import TrainConfig, parse
from agents.train import main
from yahtzee_env.family import RULESETS

PLAIN = (int, float, str, bool, type(None))
CONFIGS = sorted(Path("configs").glob("*.yaml"))


def refusal(*arguments):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refused:
        parse(arguments)
    return str(refused.value)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_of_the_repository_is_accepted(path):
    config, options = parse(["--config", str(path)])
    assert config.name == path.stem
    assert (options.run_dir, options.force) == (None, False)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_default_settings_are_those_of_the_reference_configuration(algorithm):
    reference, _ = parse(["--config", f"configs/{algorithm}.yaml"])
    assert getattr(TrainConfig(), algorithm) == reference.settings


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_the_default_network_is_that_of_the_reference_configuration(algorithm):
    reference, _ = parse(["--config", f"configs/{algorithm}.yaml"])
    assert TrainConfig().network == reference.network


def test_the_command_line_goes_before_the_file(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("seed: 3\nppo: {n_epochs: 5, batch_size: 4096}\n")
    config, options = parse(
        ["--config", str(path), "--ppo.n_epochs=6", "--run-dir", "x", "--force"]
    )
    assert (config.seed, config.ppo.n_epochs, config.ppo.batch_size) == (3, 6, 4096)
    assert (options.run_dir, options.force) == (Path("x"), True)


def test_the_resolved_config_reads_back_the_same(tmp_path):
    config, _ = parse(["--seed", "7", "--ppo.gamma", "0.99", "--threads", "2"])
    path = tmp_path / "resolved.yaml"
    path.write_text(config.to_yaml())
    assert parse(["--config", str(path)])[0] == config
    assert yaml.safe_load(config.to_yaml())["ppo"]["gamma"] == 0.99


@pytest.mark.parametrize("ruleset", RULESETS)
def test_every_rule_set_can_be_chosen(ruleset):
    assert parse(["--ruleset", ruleset])[0].ruleset == ruleset


@pytest.mark.parametrize(
    ("arguments", "name", "allowed"),
    [
        (["--seed", "-1"], "seed", "a whole number, 0 or more, not -1"),
        (["--seed", "x"], "seed", "a whole number, 0 or more"),
        (["--ruleset", "chess"], "ruleset", "one of yahtzee, yahtzee-free-joker"),
        (["--threads", "0"], "threads", "above 0 or null"),
        (["--algorithm", "a2c"], "algorithm", "one of ppo"),
        (["--ppo.n_steps", "0"], "ppo.n_steps", "a whole number above 0, not 0"),
        (["--ppo.gamma", "1.5"], "ppo.gamma", "a number from 0 to 1"),
        (["--network.widths", "[0]"], "network.widths", "a list of whole numbers above 0"),
        (["--name", "a/b"], "name", "letters, digits"),
        (["--ppo.batch_size", "1000"], "ppo.batch_size", "divide n_envs x ppo.n_steps"),
        (["--network.widths", "[]"], "network.widths", "at least one layer"),
        (["--network.hidden_features", "[pay_]"], "network.hidden_features", "'pay_'"),
        (["--network.hidden_features", "['']"], "network.hidden_features", "''"),
        (["--ppo.batch_size", "1"], "ppo.batch_size", "a whole number, 2 or more"),
        (
            ["--algorithm", "dqn", "--total_timesteps", "10000"],
            "dqn.learning_starts",
            "below total_timesteps = 10000",
        ),
        (["--algorithm", "dqn", "--dqn.buffer_size", "100"], "dqn.buffer_size", "at least n_envs"),
        (["--dqn.buffer_size", "1" + 20 * "0"], "dqn.buffer_size", "at most 1000000000000"),
        (["--seed", "1" + 400 * "0"], "seed", "at most 1000000000000"),
        (["--network.widths", "[64, 1000000000001]"], "network.widths", "at most 1000000000000"),
        (["--masks", "false"], "ppo.redraws", "must be 0 without masks"),
        (["--steps", "3"], "steps", "there are name, algorithm, ruleset"),
        (["--ppo.steps=3"], "ppo.steps", "there are ppo.n_steps"),
        (["--run-dir"], "--run-dir", "expected one argument"),
        (["--resume", "a", "--run-dir", "b"], "--resume", "no other argument"),
        (["--config", "nowhere.yaml"], "nowhere.yaml", "no config file"),
    ],
)
def test_a_bad_argument_is_refused_by_name_with_what_is_allowed(arguments, name, allowed):
    sentence = refusal(*arguments)
    assert name in sentence
    assert allowed in sentence


@pytest.mark.parametrize(
    ("text", "name", "allowed"),
    [
        ("steps: 3", "steps", "total_timesteps"),
        ("ppo: {n_stepz: 3}", "ppo.n_stepz", "ppo.n_steps"),
        ("ppo: 5", "ppo", "map keys to values"),
        ("- 1", "config file", "map keys to values"),
        ("seed: [1", "config", "line 1"),
        ("seed: 1.5", "seed", "a whole number"),
        ("seed: null", "seed", "must not be null"),
        ("dqn: {tau: null}", "dqn.tau", "must not be null"),
        ("force: true", "force", "there are name, algorithm"),
        ("run_dir: runs/a", "run_dir", "there are name, algorithm"),
        ("resume: runs/a", "resume", "there are name, algorithm"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, text, name, allowed):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    sentence = refusal("--config", str(path))
    assert name in sentence
    assert allowed in sentence


ABOVE_0 = "must be a whole number above 0"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--threads", "two"], f"threads {ABOVE_0} or null, not two"),
        (["--threads", "1.5"], f"threads {ABOVE_0} or null, not 1.5"),
        (["--threads", "true"], f"threads {ABOVE_0} or null, not true"),
        (["--threads", ""], f"threads {ABOVE_0} or null, not ''"),
        (["--threads", "[1]"], f"threads {ABOVE_0} or null, not [1]"),
        (["--total_timesteps", "1e6"], f"total_timesteps {ABOVE_0}, not 1e6"),
        (["--n_envs", "[1]"], f"n_envs {ABOVE_0}, not a list"),
        (["--ppo.gamma", "high"], "ppo.gamma must be a number from 0 to 1, not high"),
        (["--algorithm", ""], f"algorithm must be one of {', '.join(ALGORITHMS)}, not ''"),
        (
            ["--evaluation", "3"],
            "evaluation must be a mapping with every, games, final_games, not 3",
        ),
        (["--evaluation={every: x}"], f"evaluation.every {ABOVE_0}, not x"),
    ],
)
def test_a_wrong_type_is_told_with_what_was_given(arguments, sentence):
    assert refusal(*arguments) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("threads: two", f"threads {ABOVE_0} or null, not two"),
        ("threads: true", f"threads {ABOVE_0} or null, not True"),
        ("n_envs: 2.5", f"n_envs {ABOVE_0}, not 2.5"),
        ("n_envs: true", f"n_envs {ABOVE_0}, not True"),
        ("n_envs: {a: 1}", f"n_envs {ABOVE_0}, not a dict"),
        ("name: 3", "name must be a text, not 3"),
    ],
)
def test_a_wrong_type_in_a_file_is_told_with_what_was_given(tmp_path, text, sentence):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    assert refusal("--config", str(path)) == sentence


def test_the_command_ends_with_code_2_and_one_line(capsys):
    assert main(["--seed", "-1"]) == 2
    output = capsys.readouterr()
    assert output.err == "error: seed must be a whole number, 0 or more, not -1\n"
    assert output.out == ""


def test_values_are_plain_however_they_were_given():
    given = parse(["--ppo.gamma", "0.5", "--dqn.tau", "0.1", "--n_envs", "256", "--seed", "3"])[0]
    for config in (TrainConfig(), given):
        for group in (config, config.network, config.ppo, config.dqn, config.evaluation):
            for value in vars(group).values():
                assert isinstance(value, list) or is_dataclass(value) or type(value) in PLAIN


def test_defaults_make_a_valid_experiment():
    assert TrainConfig() == parse([])[0]
