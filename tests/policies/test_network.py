"""Exported agents: playing, saving, loading, and files that must be refused."""

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from some_network import positions, some_network

from yahtzee_env import evaluate, load_policy, observation, observation_names, policy_value
from yahtzee_env.family import RULESETS, get_ruleset
from yahtzee_env.game import Games
from yahtzee_env.jit import kernel
from yahtzee_env.observation import FeatureGroup, layouts
from yahtzee_env.policies import AGENTS, NetworkPolicy
from yahtzee_env.policies.network import Layer
from yahtzee_env.rules import Box, Ruleset


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "some.npz"
    some_network().save(path)
    return path


@pytest.mark.parametrize("activation", ["silu", "relu", "tanh"])
def test_outputs_follow_the_formula(activation):
    network = some_network(activation=activation, skips=True)
    (w1, b1), (scale, shift), _, (w2, b2) = (layer.arrays for layer in network.layers)
    observation, _ = next(positions("yahtzee", 3)).observe()
    function = {"silu": lambda v: v / (1 + np.exp(-v)), "relu": lambda v: v * (v > 0)}
    for row, outputs in zip(observation, network.outputs(observation), strict=True):
        hidden = np.array([sum(row * w1[:, j]) for j in range(16)], np.float64) + b1
        hidden = (hidden - hidden.mean()) / np.sqrt(hidden.var() + 1e-5) * scale + shift
        hidden = function.get(activation, np.tanh)(hidden)
        assert outputs == pytest.approx(hidden @ w2 + b2 + row @ network.skip, abs=1e-4)


@pytest.mark.parametrize("ruleset", RULESETS)
def test_networks_play_every_rule_set_legally(ruleset):
    result = evaluate(some_network(ruleset), ruleset, games=20)
    assert (result.games, result.illegal_actions) == (20, 0)


@pytest.mark.parametrize("skips", [False, True])
def test_saved_agent_plays_the_same_and_keeps_its_record(tmp_path, skips):
    network, path = some_network(skips=skips), tmp_path / "some.npz"
    network.save(path)
    loaded = load_policy(path)
    assert (loaded.name, loaded.training) == ("some", {"seed": 0})
    for games in positions("yahtzee"):
        rng = np.random.default_rng(0)
        assert np.array_equal(loaded.act(games, rng), network.act(games, rng))


def test_custom_rule_set_is_saved_with_the_agent(tmp_path):
    rules = Ruleset(
        "mine", (Box.of("sum", lambda counts: sum(counts)), get_ruleset("yacht").boxes[0])
    )
    some_network(rules).save(tmp_path / "mine.npz")
    loaded = load_policy(str(tmp_path / "mine.npz"))
    assert loaded.ruleset == rules
    exact, sampled = policy_value(loaded, rules).mean, evaluate(loaded, rules, games=2000)
    assert abs(exact - sampled.mean) < 4 * sampled.sem


def test_agent_refuses_other_rules(saved):
    with pytest.raises(ValueError, match="trained for the rule set 'yahtzee' and cannot play"):
        evaluate(load_policy(saved), "yahtzee-free-joker", games=2)


def test_failed_save_leaves_the_old_file(saved):
    before = saved.read_bytes()
    network = NetworkPolicy(
        "other", get_ruleset("yahtzee"), some_network().layers, training={"x": object()}
    )
    with pytest.raises(TypeError):
        network.save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def arrays_of(path):
    with np.load(path) as file:
        return dict(file)


def with_header(path, **changes):
    arrays = arrays_of(path)
    header = json.loads(arrays["header"].tobytes()) | changes
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, **arrays)


def with_array(path, name, array):
    np.savez(path, **(arrays_of(path) | {name: array}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "its format is 'other'"),
        ({"features": ["a", "b"]}, "features that this version does not observe"),
        ({"layers": ["linear", "eval"]}, "unknown layer 'eval'"),
        ({"layers": ["linear"]}, "16 outputs for 44 actions"),
        ({"layers": ["silu", "silu"]}, "70 outputs for 44 actions"),
        ({"layers": 5}, "is not an agent file"),
        ({"ruleset": {}}, "not the dictionary of a rule set"),
        ({"ruleset": get_ruleset("yatzy").to_dict()}, "version does not observe: 'joker'"),
        ({"name": 5}, "is not an agent file"),
        ({"name": "../../escaped"}, "its name must be"),
        ({"name": "\x1b[31mred"}, "its name must be"),
        ({"training": []}, "its training"),
    ],
)
def test_wrong_header_is_refused(saved, changes, message):
    with_header(saved, **changes)
    with pytest.raises(ValueError, match=message) as refused:
        load_policy(saved)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("0.weight", np.zeros((70, 15), np.float32)),
        ("0.weight", np.zeros((70, 16))),
        ("0.weight", np.full((70, 16), np.nan, np.float32)),
        ("0.bias", np.zeros((), np.float32)),
        ("1.scale", np.zeros((16, 16), np.float32)),
        ("3.bias", np.zeros(43, np.float32)),
        ("skip", np.zeros((70, 43), np.float32)),
        ("header", np.zeros(5, np.uint8)),
    ],
)
def test_wrong_weights_are_refused(saved, name, array):
    with_array(saved, name, array)
    with pytest.raises(ValueError, match="is not an agent file"):
        load_policy(saved)


class Hostile:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def hostile_files(path, target):
    """Files that would run code if a pickle in them were loaded."""
    payload = pickle.dumps(Hostile(target))
    yield payload
    objects = io.BytesIO()
    np.save(objects, np.array([Hostile(target)], dtype=object), allow_pickle=True)
    yield objects.getvalue()
    arrays = arrays_of(path)
    for name in ("header", "0.weight"):
        packed = io.BytesIO()
        np.savez(packed, **(arrays | {name: np.array([Hostile(target)], dtype=object)}))
        yield packed.getvalue()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for other in arrays:
                archive.writestr(f"{other}.npy", payload)
        yield packed.getvalue()


def test_loading_runs_no_code(saved, tmp_path):
    target = tmp_path / "ran"
    for suffix in ("npz", "zip", "pkl"):
        path = tmp_path / f"hostile.{suffix}"
        for content in hostile_files(saved, target):
            path.write_bytes(content)
            with pytest.raises(ValueError, match=r"not an agent file|--trust"):
                load_policy(path)
    assert not target.exists()


def test_damaged_files_are_refused(saved):
    whole = saved.read_bytes()
    for content in (b"", whole[:100], whole[: len(whole) // 2], whole[:-1]):
        saved.write_bytes(content)
        with pytest.raises(ValueError, match="is not an agent file"):
            load_policy(saved)


def test_file_that_unpacks_to_too_much_is_refused(saved, tmp_path):
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(3):
            archive.writestr(f"{i}.npy", bytes(100 * 2**20))
    with pytest.raises(ValueError, match="unpacks to"):
        load_policy(saved)


def test_array_that_claims_to_be_huge_is_refused(saved):
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }"
    npy = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("9.weight.npy", npy)
    with pytest.raises(ValueError, match="is not an agent file"):
        load_policy(saved)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown policy 'nobody': choose from random, .*optimal"):
        load_policy("nobody")
    with pytest.raises(ValueError, match=r"holds no agent.npz"):
        load_policy("tests")


def test_run_folder_loads_its_agent(saved):
    saved.rename(saved.with_name("agent.npz"))
    assert load_policy(saved.parent).name == "some"


@kernel
def write_score(rules, games, out, at):
    for i in range(len(games)):
        out[i, at] = games[i].score


SCORE = FeatureGroup(names=lambda ruleset: ["score"], write=write_score, high=2000.0)


@pytest.fixture
def feature_sets(monkeypatch):
    """The feature sets, to be changed by a test."""
    with monkeypatch.context() as patch:
        patch.setattr(observation, "FEATURE_SETS", dict(observation.FEATURE_SETS))
        layouts.cache_clear()
        yield observation.FEATURE_SETS
    layouts.cache_clear()


def test_feature_added_in_front_changes_no_shipped_agent(feature_sets):
    plays = {name: played_by(name) for name in AGENTS}
    feature_sets["flat-v1"] = (SCORE, *feature_sets["flat-v1"])
    layouts.cache_clear()
    assert observation_names("yahtzee")[0] == "score"
    assert {name: played_by(name) for name in AGENTS} == plays


def played_by(name):
    """The final records of ten games of a shipped agent."""
    agent = load_policy(name)
    games = Games(agent.ruleset, 10)
    games.seed(np.random.default_rng(1))
    games.start()
    while not games.over.all():
        games.play(agent.act(games.positions(), np.random.default_rng(0)))
    return games.records.tobytes()


def test_features_are_selected_by_name(tmp_path):
    network = some_network()
    (weight, bias), *_ = (layer.arrays for layer in network.layers)
    order = np.random.default_rng(3).permutation(len(network.features))
    shuffled = NetworkPolicy(
        "shuffled",
        network.ruleset,
        (Layer("linear", (weight[order], bias)), *network.layers[1:]),
        features=[network.features[i] for i in order],
    )
    shuffled.save(tmp_path / "shuffled.npz")
    rng = np.random.default_rng(0)
    for games in positions("yahtzee", 20):
        for policy in (shuffled, load_policy(tmp_path / "shuffled.npz")):
            assert np.array_equal(policy.act(games, rng), network.act(games, rng))


@pytest.mark.parametrize("name", AGENTS)
def test_shipped_agents_are_small_and_documented(name):
    agent = load_policy(name)
    assert AGENTS[name].stat().st_size < 2 * 2**20
    assert agent.name == name
    assert AGENTS[name].with_suffix(".md").is_file()
    assert AGENTS[name].with_suffix(".yaml").is_file()
    [row] = agent.training["result"]["scores"]
    result = evaluate(agent, agent.ruleset, games=300, seed=12)
    spread = np.hypot(result.luck_adjusted_sem, row["luck_adjusted_mean_sem"])
    assert abs(result.luck_adjusted_mean - row["luck_adjusted_mean"]) < 4 * spread
