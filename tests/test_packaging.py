"""The wheel: what it holds, and that it alone, installed elsewhere, plays a game."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from helpers import CLONE

GAME = """
import importlib.util, sys
assert importlib.util.find_spec("torch") is None
import yahtzee_env
import gymnasium as gym
env = gym.make("Yahtzee-v0")
_, info = env.reset(seed=1)
terminated = False
while not terminated:
    action = env.action_space.sample(mask=info["action_mask"])
    _, _, terminated, _, info = env.step(action)
assert info["score"] == sum(env.unwrapped.state.card.values())
agents = ("ppo-yahtzee", "yahtzee"), ("ppo-yacht", "yacht")
assert all(yahtzee_env.evaluate(*agent, games=50).pct_of_optimal > 95 for agent in agents)
print(yahtzee_env.__file__)
"""


def run(*command, cwd):
    """Run a command of the test, showing what it said if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this clone."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), ".", cwd=CLONE)
    [built] = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_alone(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"yahtzee_env"}
    assert "yahtzee_env/py.typed" in names
    modules = {str(p.relative_to(CLONE)) for p in (CLONE / "yahtzee_env").rglob("*.py")}
    assert modules == {name for name in names if name.endswith(".py")}


def test_the_wheel_plays_a_game_in_an_empty_environment(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(next((tmp_path / "venv").glob("[bS]*/python*")))
    constraints = ["--constraint", str(CLONE / "constraints.txt")]
    run(python, "-m", "pip", "install", "--quiet", *constraints, str(wheel), cwd=tmp_path)
    where = run(python, "-W", "error", "-c", GAME, cwd=tmp_path).strip()
    assert Path(where).is_relative_to(tmp_path)
