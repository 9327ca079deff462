"""The folder of a run: its place, its files, and the origin of its result."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # on Windows, where nothing keeps a second process out
    fcntl = None

from yahtzee_env.files import PARTIAL, write_beside
from yahtzee_env.policies.network import AGENT_FILE

RUNS = Path("runs")
CONFIG, RESULT, EVALUATIONS = "config.yaml", "result.json", "evaluations.csv"
CHECKPOINT, BEST, LAST, AGENT = "checkpoint.pt", "best.zip", "last.zip", AGENT_FILE
EVENTS = "events.out.tfevents.*"
LEFT_BY_A_RUN = (CONFIG, RESULT, EVALUATIONS, CHECKPOINT, BEST, LAST, AGENT, EVENTS, f"{PARTIAL}*")
CODE = ("agents", "benchmarks", "configs", "yahtzee_env", "pyproject.toml", "constraints.txt")

_taken: set[Path] = set()
"""The folders that are this process's own: open, and so locked, until it ends in whatever way."""


def open_run_folder(name: str, wanted: Path | None, force: bool) -> Path:
    """The folder `wanted`, or else a new one under the run's name; empty of any earlier run.

    Raises:
        ValueError: if the folder holds something and `force` is False, or another process uses it.
    """
    folder = wanted or _free_folder(name)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"run folder {folder} is a file")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise ValueError(
            f"run folder {folder} is not empty; --force overwrites the run in it, "
            "and --resume goes on with it"
        )
    folder.mkdir(parents=True, exist_ok=True)
    _take(folder)
    _remove(folder, *LEFT_BY_A_RUN)
    return folder


def reopen_run_folder(folder: Path) -> Path:
    """The folder of a run that is to go on, free of what a killed process left half-written.

    Raises:
        ValueError: if another process uses it.
    """
    _take(folder)
    _remove(folder, f"{PARTIAL}*")
    return folder


def _take(folder: Path) -> None:
    """Keep other processes out of the folder until this one ends."""
    key = folder.resolve()
    if fcntl is None or key in _taken:
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        raise ValueError(f"run folder {folder} is in use by another process") from None
    except OSError:
        pass  # a network file system that locks no folders
    _taken.add(key)


def is_complete(folder: Path, timesteps: int = 0) -> bool:
    """Whether the run has its result, of so many steps; one that cannot be read is none."""
    try:
        done = json.loads((folder / RESULT).read_text(encoding="utf-8"))["timesteps"]
        return isinstance(done, int) and done >= timesteps
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return False


def _remove(folder: Path, *patterns: str) -> None:
    for pattern in patterns:
        for path in folder.glob(pattern):
            path.unlink()


def _free_folder(name: str) -> Path:
    number = 1
    while (RUNS / f"{name}-{number}").exists():
        number += 1
    return RUNS / f"{name}-{number}"


def write_json(path: Path, content: Any) -> None:
    """Write JSON with two blanks of indentation."""
    text = json.dumps(content, indent=2) + "\n"
    write_beside(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def provenance() -> dict[str, Any]:
    """What a result depends on besides its configuration: commit, versions, kind of machine."""
    packages = ("yahtzee-env", "torch", "stable-baselines3", "sb3-contrib", "gymnasium", "numpy")
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "packages": {package: version(package) for package in packages},
    }


def _commit() -> str | None:
    """The commit of this clone, marked if its code has changed since; None outside of git."""
    try:
        commit = _git("rev-parse", "HEAD").strip()
        return f"{commit}-changed" if _git("diff", "--name-only", "HEAD", "--", *CODE) else commit
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    root = Path(__file__).parents[2]
    command = ["git", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
