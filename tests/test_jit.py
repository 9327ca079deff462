"""Compiled kernels on disk: found again, and never used after a change of what they call."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import yahtzee_env

PLAY = """
from yahtzee_env import State, get_ruleset
from yahtzee_env.game import Games
games = Games(get_ruleset("yacht"), 1)
games.set_state(State((6, 6, 6, 6, 6)))
print(int(games.observe()[1].sum()))
"""
NOTICE = "compiling"


@pytest.fixture
def package(tmp_path):
    """A copy of the package, with a folder of its own for compiled kernels."""
    shutil.copytree(
        Path(yahtzee_env.__file__).parent,
        tmp_path / "yahtzee_env",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return tmp_path


def play(folder: Path) -> tuple[int, str]:
    """The number of legal actions with five sixes, and what the package said."""
    done = subprocess.run(
        [sys.executable, "-c", PLAY],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "kernels")},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout), done.stderr


def test_kernels_are_kept_and_compiled_anew_after_a_change_of_a_kernel_that_they_call(package):
    # Five holds (none to four sixes) and the twelve boxes.
    legal, said = play(package)
    assert legal == 5 + 12
    assert said.count(NOTICE) == 1
    legal, said = play(package)
    assert legal == 5 + 12
    assert NOTICE not in said
    kernels = package / "yahtzee_env" / "kernels.py"
    rule = "choice = tables.all_boxes & ~filled"
    changed = kernels.read_text().replace(rule, rule + " & 1")
    assert changed != kernels.read_text()
    kernels.write_text(changed)
    legal, said = play(package)
    assert legal == 5 + 1
    assert NOTICE in said
