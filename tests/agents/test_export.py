import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from small_run import SMALL, small
from some_network import positions, some_network
from stable_baselines3 import DQN
from stable_baselines3.common.monitor import Monitor

from agents.algorithms import ALGORITHMS
from agents.command_line import parse
from agents.export import main, model_card
from agents.runs.loop import train
from agents.runs.result import to_agent
from agents.train import main as train_main
from yahtzee_env import YahtzeeEnv, evaluate, load_policy, observation_names
from yahtzee_env.policies import AGENTS

STATES = 100_000


BLIND = {
    "widths": [32, 16],
    "activation": "relu",
    "layer_norm": False,
    "hidden_features": ["pays_"],
}
KINDS = {
    f"{name}-{kind}": small(algorithm=name, network=network)
    for name in ALGORITHMS
    for kind, network in {"seeing": {}, "blind": BLIND}.items()
}


@pytest.fixture(scope="module", params=KINDS)
def trained(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    config = KINDS[request.param]
    model, _ = train(config, folder)
    return folder, model, config


def test_the_exported_agent_acts_like_the_model_on_100_000_states(trained, tmp_path):
    _, model, config = trained
    to_agent(config, model, {}).save(tmp_path / "small.npz")
    agent = load_policy(tmp_path / "small.npz")
    seen = 0
    for games in positions("yahtzee", n=4000):
        observations, masks = games.observe()
        theirs, _ = model.predict(observations, action_masks=masks, deterministic=True)
        ours = agent.act(games, np.random.default_rng(0))
        rows = np.flatnonzero(ours != theirs)
        outputs = agent.outputs(observations[rows])
        each = np.arange(len(rows))
        assert (outputs[each, ours[rows]] - outputs[each, theirs[rows]] < 1e-4).all()
        seen += len(games)
    assert seen >= STATES


def test_hidden_features_change_nothing(tmp_path):
    model, _ = train(KINDS["ppo-blind"], tmp_path)
    games = next(positions("yahtzee", n=200))
    observations, masks = games.observe()
    names = observation_names("yahtzee")
    changed = observations.copy()
    changed[:, [i for i, name in enumerate(names) if name.startswith("pays_")]] = 0.5
    first, second = (
        model.predict(seen, action_masks=masks, deterministic=True)[0]
        for seen in (observations, changed)
    )
    assert np.array_equal(first, second)


def test_the_exported_agent_plays_where_torch_is_missing(trained, tmp_path):
    _, model, config = trained
    to_agent(config, model, {}).save(tmp_path / "small.npz")
    code = (
        "import sys; sys.modules['torch'] = sys.modules['stable_baselines3'] = None\n"
        "import yahtzee_env\n"
        f"print(yahtzee_env.evaluate({str(tmp_path / 'small.npz')!r}, games=30, seed=5).mean)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(shown.stdout) == evaluate(model, games=30, seed=5).mean


def test_a_finished_run_is_published_with_its_config_and_a_card(tmp_path, capsys):
    run, folder = tmp_path / "run", tmp_path / "agents"
    config = tmp_path / "small.yaml"
    config.write_text(SMALL.to_yaml())
    assert train_main(["--config", str(config), "--run-dir", str(run)]) == 0
    assert main([str(run), str(folder)]) == 0
    path = folder / "ppo-yahtzee.npz"
    assert capsys.readouterr().out.endswith(f"{path}\n")
    published, _ = parse(["--config", str(path.with_suffix(".yaml"))])
    assert published.plain() == SMALL.plain()
    card = path.with_suffix(".md").read_text()
    row = json.loads((run / "result.json").read_text())["scores"][-1]
    assert f"{row['luck_adjusted_mean']:.2f} ± {row['luck_adjusted_mean_sem']:.2f}" in card
    assert "$" not in card
    assert "masked PPO" in card
    assert main([str(run), str(folder)]) == 2
    assert "--force replaces it" in capsys.readouterr().err
    assert main([str(run), str(folder), "--force"]) == 0
    assert load_policy(path).training["config"]["name"] == "small"


@pytest.mark.parametrize("name", AGENTS)
def test_a_card_has_the_upper_bonus_where_the_rules_have_one(name):
    agent = load_policy(name)
    card = model_card(agent)
    assert card == AGENTS[name].with_suffix(".md").read_text(encoding="utf-8")
    assert ("upper bonus" in card) == bool(agent.ruleset.bonus_steps)


def test_what_cannot_be_published_is_refused(tmp_path, capsys):
    assert main([str(tmp_path), str(tmp_path / "agents")]) == 2
    assert "it is not a finished run with masks" in capsys.readouterr().err
    some_network().save(tmp_path / "agent.npz")
    assert main([str(tmp_path), str(tmp_path / "agents")]) == 2
    assert "does not say how it was trained" in capsys.readouterr().err
    assert not (tmp_path / "agents").exists()


def test_a_model_of_stable_baselines3_loads_with_trust_only(trained):
    folder, model, _ = trained
    with pytest.raises(ValueError, match="--trust"):
        load_policy(folder / "last.zip")
    policy = load_policy(folder / "last.zip", trust=True)
    assert policy.name == "last"
    assert evaluate(policy, games=30, seed=5).mean == evaluate(model, games=30, seed=5).mean


def test_models_of_other_algorithms_load_too(tmp_path):
    torch.manual_seed(1)
    model = DQN("MlpPolicy", Monitor(YahtzeeEnv()), device="cpu", buffer_size=10)
    model.save(tmp_path / "dqn.zip")
    settings = {"games": 20, "seed": 5, "on_illegal": "random"}
    loaded = evaluate(load_policy(tmp_path / "dqn.zip", trust=True), **settings)
    assert loaded.mean == evaluate(model, **settings).mean


def test_a_zip_that_is_no_model_is_refused_in_one_sentence(tmp_path):
    path = tmp_path / "some.zip"
    for content in (b"nonsense", b"PK\x05\x06" + bytes(18)):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"^[^\n]*some.zip[^\n]*$"):
            load_policy(path, trust=True)
