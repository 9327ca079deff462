"""The kernel cache: when kernels are compiled again, and what happens when the cache fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import yahtzee_env
from yahtzee_env.jit import fingerprint

COMPILING, KEPT = "compiling kernels", "kept for the next run"

COUNT_LEGAL_ACTIONS = """
from yahtzee_env import State, get_ruleset
from yahtzee_env.game import Games
games = Games(get_ruleset("yacht"), 1)
games.set_state(State((6, 6, 6, 6, 6)))
print(int(games.masks().sum()))
"""

RUN_SMALL_KERNEL = """
import numpy as np
from yahtzee_env.kernels import below
print(int(below(np.uint64(2**63), np.uint64(6))))
"""

ON_A_FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""


@pytest.fixture
def package(tmp_path):
    """A folder with a copy of the package, in which nothing is compiled yet."""
    shutil.copytree(
        Path(yahtzee_env.__file__).parent,
        tmp_path / "yahtzee_env",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return tmp_path


def run(script: str, folder: Path, **environment: str) -> tuple[int, str]:
    """The number that a script prints, and what it writes to stderr."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout), done.stderr


def edit(file: Path, old: str, new: str) -> None:
    """Replace a text that must be in a file."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_kernels_are_compiled_again_only_after_a_change_of_code(package):
    # Five holds (none to four sixes) and the twelve boxes.
    legal, messages = run(COUNT_LEGAL_ACTIONS, package)
    assert legal == 5 + 12
    assert messages.count(COMPILING) == messages.count(KEPT) == 1

    kernels = package / "yahtzee_env" / "kernels.py"
    docstring = '"""The set of boxes that may be filled'
    edit(kernels, docstring, docstring + " now")
    edit(kernels, "@kernel\n", "# A comment that moves the kernel.\n\n@kernel\n")
    edit(package / "yahtzee_env" / "game.py", "@dataclass", "UNUSED = 0\n\n@dataclass")
    legal, messages = run(COUNT_LEGAL_ACTIONS, package)
    assert legal == 5 + 12
    assert not messages

    rule = ".all_boxes & ~filled"
    edit(kernels, rule, rule + " & 1")
    legal, messages = run(COUNT_LEGAL_ACTIONS, package)
    assert legal == 5 + 1
    assert COMPILING in messages


KERNELS = '''
import numpy as np
from numba import types
from numba.extending import intrinsic
from yahtzee_env.jit import kernel

LIMIT = 10
TABLE = np.array([1, 2, 3])

@intrinsic
def one(typingctx):
    def codegen(context, builder, signature, args):
        return context.get_constant(types.int64, 1)
    return types.int64(), codegen

@kernel
def callee(x):
    """The callee."""
    return x + one()

@kernel
def caller(x):
    """The caller."""
    return callee(min(x, LIMIT)) + TABLE[0]
'''


def fingerprint_of_caller(source: str) -> str:
    names = {"__name__": "yahtzee_env.made_up"}
    exec(compile(source, Path(yahtzee_env.__file__).parent / "kernels.py", "exec"), names)
    return fingerprint(names["caller"])


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ('"""The callee."""', '"""Another docstring."""', False),
        ('    """The caller."""\n', "", False),
        ("\n@kernel\ndef caller", "\n# A comment\n\n@kernel\ndef caller", False),
        ("LIMIT = 10", "UNUSED = 0\nLIMIT = 10", False),
        ("LIMIT = 10", "LIMIT = 11", True),
        ("[1, 2, 3]", "[1, 2, 4]", True),
        ("[1, 2, 3]", "[1.0, 2.0, 3.0]", True),
        ("x + one()", "x - one()", True),
        ("types.int64, 1)", "types.int64, 2)", True),
        ("callee(min(", "callee(max(", True),
    ],
)
def test_fingerprint_depends_on_what_a_kernel_is_made_of(old, new, differs):
    assert old in KERNELS
    changed = fingerprint_of_caller(KERNELS.replace(old, new))
    assert (changed != fingerprint_of_caller(KERNELS)) == differs


def test_damaged_cache_files_are_replaced_with_one_warning(package):
    run(RUN_SMALL_KERNEL, package)
    for suffix in (".nbi", ".nbc"):
        (file,) = (package / "cache").rglob(f"*.below.*{suffix}")
        whole = file.read_bytes()
        for content in (b"garbage", whole[: len(whole) // 2]):
            file.write_bytes(content)
            result, messages = run(RUN_SMALL_KERNEL, package)
            assert result == 3
            assert messages.count("UserWarning") == messages.count("is damaged") == 1
    assert run(RUN_SMALL_KERNEL, package) == (3, "")


def test_full_disk_costs_one_warning(package):
    result, messages = run(ON_A_FULL_DISK + RUN_SMALL_KERNEL, package)
    assert result == 3
    assert messages.count("UserWarning") == messages.count("cannot be kept") == 1
    assert messages.count(KEPT) == 1  # in the warning


def test_folders_that_cannot_be_written_cost_one_warning(package):
    blocked = package / "file"
    for file in (blocked, *(path.parent / "__pycache__" for path in package.rglob("__init__.py"))):
        file.write_text("not a folder")
    places = {"NUMBA_CACHE_DIR": str(blocked), "HOME": str(blocked), "XDG_CACHE_HOME": str(blocked)}
    result, messages = run(RUN_SMALL_KERNEL, package, **places, PYTHONDONTWRITEBYTECODE="1")
    assert result == 3
    assert messages.count("UserWarning") == messages.count("cannot be kept") == 1


def test_without_the_compiler_the_import_fails_with_one_sentence(package):
    done = subprocess.run(
        [sys.executable, "-c", RUN_SMALL_KERNEL],
        cwd=package,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stderr.endswith(
        "ImportError: yahtzee_env needs Numba's compiler: unset NUMBA_DISABLE_JIT\n"
    )
