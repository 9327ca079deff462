"""The cache of solutions: keys, damaged files, and folders that cannot be written."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from yahtzee_env import Ruleset, State, get_ruleset, solve
from yahtzee_env.family import upper_boxes
from yahtzee_env.solver import solution as solver
from yahtzee_env.solver.cache import FOLDER_VARIABLE, cache_file, cache_folder, read, write

SMALL = Ruleset("small", upper_boxes()[3:], bonus_steps=((40, 35),))
START = State((1, 2, 3, 5, 6))
VALUE = solve(SMALL, cache=False).start_value


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """An empty cache folder, and nothing remembered by this process."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    solver._solve_once.cache_clear()
    yield tmp_path / "cache"
    solver._solve_once.cache_clear()


@pytest.fixture
def computed(monkeypatch) -> list[str]:
    """The names of the rule sets that are computed from now on."""
    names = []
    compute = solver._compute

    def noted(ruleset):
        names.append(ruleset.name)
        return compute(ruleset)

    monkeypatch.setattr(solver, "_compute", noted)
    return names


def solve_again(ruleset=SMALL):
    """The solution for a process that remembers none."""
    solver._solve_once.cache_clear()
    return solve(ruleset)


def test_a_solution_is_computed_once_and_then_read(folder, computed):
    first = solve(SMALL)
    second = solve_again()
    assert computed == ["small"]
    np.testing.assert_array_equal(first.card_values, second.card_values)
    assert [path.name for path in folder.iterdir()] == [cache_file(SMALL).name]


def test_one_process_reads_it_once(computed):
    assert solve(SMALL) is solve(SMALL)
    assert computed == ["small"]


@pytest.mark.parametrize(
    "other",
    [
        replace(SMALL, bonus_steps=((40, 36),)),
        replace(SMALL, bonus_steps=((41, 35),)),
        replace(SMALL, boxes=SMALL.boxes[::-1]),
        replace(SMALL, five_alike_box="sixes", extra_bonus=1),
        SMALL.with_box(replace(SMALL.boxes[0], scores=(*SMALL.boxes[0].scores[:-1], 1)), "small"),
    ],
)
def test_other_rules_have_another_file(other, computed):
    solve(SMALL)
    assert cache_file(other) != cache_file(SMALL)
    solve_again(other)
    assert len(computed) == 2


def test_same_rules_under_another_name_share_the_file(computed):
    solve(SMALL)
    assert solve(replace(SMALL, name="alias")).ruleset.name == "alias"
    assert computed == ["small"]


def test_named_rule_sets_have_files_of_their_own(ruleset):
    others = {cache_file(get_ruleset(name)) for name in ("yahtzee", "yatzy", "kismet")}
    assert (cache_file(get_ruleset(ruleset)) in others) == (
        ruleset in ("yahtzee", "yatzy", "kismet")
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: content[:-4] + bytes([content[-4] ^ 1]) + content[-3:],
        lambda content: bytes([content[0] ^ 1]) + content[1:],
        lambda content: b"not a solution" * 1000,
    ],
)
def test_a_damaged_file_is_noticed_and_replaced(damage, computed):
    whole = solve(SMALL).card_values
    content = cache_file(SMALL).read_bytes()
    cache_file(SMALL).write_bytes(damage(content))
    assert read(SMALL) is None
    np.testing.assert_array_equal(solve_again().card_values, whole)
    assert computed == ["small"] * 2
    assert cache_file(SMALL).read_bytes() == content


def test_a_solution_of_another_shape_is_noticed(computed):
    write(SMALL, [np.zeros((8, 1, 42))])
    assert solve(SMALL).start_value == VALUE
    assert computed == ["small"]


def test_distributions_are_computed_once_and_then_read(folder, monkeypatch):
    first = solve(SMALL).score_distribution(START)
    assert cache_file(SMALL, solver.RETURNS).exists()
    monkeypatch.setattr(solver, "return_layers", None)
    second = solve_again().score_distribution(START)
    assert second.start == first.start
    np.testing.assert_array_equal(second.probabilities, first.probabilities)


def test_damaged_distributions_are_computed_again():
    first = solve(SMALL).score_distribution(START)
    path = cache_file(SMALL, solver.RETURNS)
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    second = solve_again().score_distribution(START)
    np.testing.assert_array_equal(second.probabilities, first.probabilities)
    assert path.read_bytes() == content


def test_without_cache_nothing_is_read_or_written(folder, computed):
    assert solve(SMALL, cache=False).start_value == VALUE
    assert not folder.exists()
    solve(SMALL)
    cache_file(SMALL).write_bytes(b"")
    assert solve(SMALL, cache=False).start_value == VALUE
    assert computed == ["small"] * 3
    assert cache_file(SMALL).read_bytes() == b""


def test_unwritable_folder_costs_only_a_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder can be made below a file")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="could not be kept: "):
        assert solve_again().start_value == VALUE


def test_home_of_an_unknown_user_costs_only_a_warning(monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, "~nobody-of-this-name/x")
    with pytest.warns(UserWarning, match="could not be kept: YAHTZEE_ENV_CACHE='~nobody"):
        assert solve_again().start_value == VALUE


def test_environment_variable_sets_the_folder(tmp_path, monkeypatch):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv(FOLDER_VARIABLE)
    assert "yahtzee-env" in str(cache_folder())


def test_two_processes_at_once(folder):
    code = "import yahtzee_env; print(yahtzee_env.solve('yacht').start_value)"
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = {process.communicate()[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    assert printed == {f"{solve('yacht', cache=False).start_value}\n"}
    assert [path.name for path in folder.iterdir()] == [cache_file(get_ruleset("yacht")).name]
