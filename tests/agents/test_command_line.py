from itertools import permutations
from pathlib import Path

import pytest

from agents.command_line import Options, parse


def refusal(*arguments):
    with pytest.raises((ValueError, OSError), match=r"^[^\n]+$") as refused:
        parse(arguments)
    return str(refused.value)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("seed: 3\nppo: {n_epochs: 5, batch_size: 4096}\n")
    return str(path)


def test_the_command_line_overrides_the_file_in_any_order(file):
    pairs = [("--config", file), ("--ppo.n_epochs", "6"), ("--n_envs", "1024")]
    for order in permutations(pairs):
        config, options = parse([text for pair in order for text in pair])
        assert (config.seed, config.n_envs) == (3, 1024)
        assert (config.ppo.n_epochs, config.ppo.batch_size) == (6, 4096)
        assert options == Options()


def test_names_may_have_hyphens_for_underscores_and_values_an_equals_sign():
    spellings = [
        ["--run_dir", "a_b-c", "--total_timesteps", "5", "--ppo.n_epochs", "2"],
        ["--run-dir=a_b-c", "--total-timesteps=5", "--ppo.n-epochs=2"],
    ]
    for arguments in spellings:
        config, options = parse(arguments)
        assert (config.total_timesteps, config.ppo.n_epochs) == (5, 2)
        assert options.run_dir == Path("a_b-c")


@pytest.mark.parametrize("number", ["1e6", "1000000", "1_000_000", "1.0e6"])
def test_numbers_are_written_alike_on_the_command_line_and_in_a_file(tmp_path, number):
    path = tmp_path / "a.yaml"
    path.write_text(f"total_timesteps: {number}\n")
    for arguments in (["--config", str(path)], ["--total_timesteps", number]):
        assert parse(arguments)[0].total_timesteps == 1_000_000


def test_values_are_yaml_except_where_text_is_wanted():
    config, _ = parse(["--name", "007", "--network.widths", "[64, 32]", "--threads", "null"])
    assert (config.name, config.network.widths, config.threads) == ("007", (64, 32), None)
    assert parse(["--ppo.learning_rate", "1e-3", "--masks", "true"])[0].ppo.learning_rate == 0.001


def test_a_run_is_resumed_with_its_own_configuration(tmp_path):
    (tmp_path / "config.yaml").write_text("seed: 5\n")
    config, options = parse(["--resume", str(tmp_path)])
    assert (config.seed, options) == (5, Options(resume=tmp_path))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--seed", "-1"], "seed must be a whole number of at least 0, not -1"),
        (["--seed", "x"], 'seed must be a whole number of at least 0, not "x"'),
        (["--algorithm", ""], 'algorithm must be one of ppo, dqn, qrdqn, a2c, not ""'),
        (["--total_timesteps", "1.5"], "total_timesteps must be a whole number"),
        (["--n_envs", "[1]"], "n_envs must be a whole number of at least 1, not [1]"),
        (["--seed", "[1"], "seed: '[1' is not a YAML value"),
        (["--seed"], "--seed needs a value"),
        (["--steps", "3"], "unknown key steps; known keys are algorithm, name, "),
        (["--ppo.steps=3"], "unknown key ppo.steps; known keys are ppo.n_steps, "),
        (["--a.b.c", "3"], "unknown key a.b; known keys are algorithm, name, "),
        (["train"], "unexpected argument 'train'; a key is given as --key value"),
        (["--run_dir"], "argument --run_dir: expected one argument"),
        (["--resume", "a", "--run_dir", "b"], "--resume takes the folder of a run and no other"),
        (["--resume=a", "--force"], "--resume takes the folder of a run and no other"),
        (["--resume=a", "--seed", "2"], "--resume takes the folder of a run and no other"),
        (["--resume", "nowhere"], "there is no run to resume in nowhere: it has no config.yaml"),
        (["--config", "nowhere.yaml"], "[Errno 2] No such file or directory: 'nowhere.yaml'"),
        (["--config", "."], "[Errno 21] Is a directory: '.'"),
    ],
)
def test_a_wrong_command_line_is_refused_in_a_sentence(arguments, sentence):
    assert refusal(*arguments).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("steps: 3", "unknown key steps; "),
        ("ppo: {n_stepz: 3}", "unknown key ppo.n_stepz; "),
        ("ppo: 5", "ppo must be a mapping of ppo.n_steps, "),
        ("- 1", "{} is not a configuration: it must map keys to values"),
        ("1: 2", "{} is not a configuration: it must map keys to values"),
        ("", "{} is not a configuration: it must map keys to values"),
        ("seed: [1", "{} is not a configuration: line 1: "),
        ("seed: 1\nseed: 2", "{} is not a configuration: line 2: the key seed is given twice"),
        ("force: true", "unknown key force; "),
        ("run_dir: runs/a", "unknown key run_dir; "),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(tmp_path, text, sentence):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    assert refusal("--config", str(path), "--ppo.n_epochs", "2").startswith(sentence.format(path))


def test_a_file_that_is_not_text_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    assert f"{path} is not a configuration" in refusal("--config", str(path))


def test_help_lists_every_key(capsys):
    with pytest.raises(SystemExit) as ended:
        parse(["--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "--a2c.redraws" in printed
    assert "Passes over the collected steps in an update." in printed
