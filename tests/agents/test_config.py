import json
from pathlib import Path

import pytest
import yaml
from small_run import SMALL, small

from agents.algorithms import ALGORITHMS
from agents.config import FULL_CONFIG, make_config
from agents.settings import keys, read_yaml
from yahtzee_env.family import RULESETS

CONFIGS = sorted(Path("configs").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_of_the_repository_is_accepted(path):
    assert make_config(read_yaml(path.read_text())).name == path.stem


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_default_settings_are_those_of_the_reference_configuration(algorithm):
    reference = make_config(read_yaml(Path(f"configs/{algorithm}.yaml").read_text()))
    plain = make_config({"algorithm": algorithm})
    assert plain.settings == reference.settings


@pytest.mark.parametrize("algorithm", ["ppo", "dqn", "a2c"])
def test_the_default_network_is_that_of_the_reference_configuration(algorithm):
    reference = make_config(read_yaml(Path(f"configs/{algorithm}.yaml").read_text()))
    assert make_config({}).network == reference.network


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_run_is_named_after_its_algorithm_unless_it_has_a_name(algorithm):
    assert make_config({"algorithm": algorithm}).name == algorithm
    assert make_config({"algorithm": algorithm, "name": "x"}).name == "x"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_yaml_reads_back_the_same_and_holds_the_settings_that_count(algorithm):
    config = small(algorithm=algorithm, threads=2, network={"hidden_features": ["pays_"]})
    text = config.to_yaml()
    assert make_config(read_yaml(text)).plain() == config.plain()
    assert yaml.safe_load(text).keys() & ALGORITHMS.keys() == {algorithm}


def test_the_settings_of_other_algorithms_do_not_count_but_are_checked():
    other = small(dqn={"gamma": 0.5})
    assert (other.plain(), other.flat()) == (SMALL.plain(), SMALL.flat())
    with pytest.raises(ValueError, match=r"dqn\.gamma must be a number from 0 to 1"):
        small(dqn={"gamma": 2})


@pytest.mark.parametrize("ruleset", RULESETS)
def test_a_rule_set_of_the_family_goes_by_its_name(ruleset):
    config = make_config({"ruleset": ruleset})
    assert config.ruleset == RULESETS[ruleset]
    assert config.plain()["ruleset"] == ruleset


def test_every_key_is_described():
    known = keys(FULL_CONFIG)
    assert [key for key, schema in known.items() if not schema.get("description")] == []


def test_rules_of_a_file_are_kept_whole_in_the_run(tmp_path):
    path = tmp_path / "house.json"
    path.write_text(json.dumps(RULESETS["yacht"].to_dict() | {"name": "house"}))
    config = make_config({"ruleset": str(path)})
    path.unlink()
    assert make_config(read_yaml(config.to_yaml())).ruleset.name == "house"


def test_another_rule_set_is_kept_whole():
    rules = RULESETS["yacht"].to_dict() | {"name": "house rules"}
    config = make_config({"ruleset": rules})
    assert config.ruleset.name == "house rules"
    assert make_config(read_yaml(config.to_yaml())).ruleset == config.ruleset


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"name": "a/b"}, "name: must be letters, digits and any of _.-, not 'a/b'"),
        ({"algorithm": "sac"}, 'algorithm must be one of ppo, dqn, qrdqn, a2c, not "sac"'),
        ({"ruleset": "chess"}, "ruleset: unknown rule set 'chess'"),
        ({"ruleset": 3}, "ruleset: a rule set is a name"),
        ({"threads": 0}, "threads must be a whole number from 1 to 256 or null, not 0"),
        (
            {"ppo": {"batch_size": 1000}},
            "ppo.batch_size must divide n_envs x ppo.n_steps = 4096, which 1000 does not",
        ),
        (
            {"network": {"hidden_features": ["pay_"]}},
            "network.hidden_features: no feature begins with 'pay_'",
        ),
        (
            {"network": {"hidden_features": [""]}},
            "network.hidden_features: no feature begins with ''",
        ),
        (
            {"algorithm": "dqn", "total_timesteps": 10000},
            "dqn.learning_starts must be below total_timesteps = 10000, not 10000",
        ),
        (
            {"algorithm": "dqn", "dqn": {"buffer_size": 100}},
            "dqn.buffer_size must be at least n_envs = 512 and dqn.batch_size = 1024, not 100",
        ),
        *(
            (
                {"algorithm": name, "masks": False},
                f"{name}.redraws must be 0 without masks: an illegal action rolls no dice",
            )
            for name in ALGORITHMS
        ),
    ],
)
def test_values_that_do_not_fit_are_refused_in_a_sentence(values, sentence):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refused:
        make_config(values)
    assert str(refused.value).startswith(sentence)


def test_training_ends_with_a_whole_rollout():
    assert small(total_timesteps=2049).whole_timesteps == 2560
    assert SMALL.whole_timesteps == 2048
    assert small(algorithm="dqn", total_timesteps=2049).whole_timesteps == 2064
