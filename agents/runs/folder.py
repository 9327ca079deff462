"""The folder of a run: its place, its files, and the lock that keeps other processes out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if sys.platform != "win32":  # where nothing keeps a second process out
    import fcntl

from yahtzee_env.files import PARTIAL, write_atomically
from yahtzee_env.policies.network import AGENT_FILE

RUNS = Path("runs")
CONFIG, RESULT, EVALUATIONS = "config.yaml", "result.json", "evaluations.csv"
CHECKPOINT, BEST, LAST, AGENT = "checkpoint.pt", "best.zip", "last.zip", AGENT_FILE
EVENTS = "events.out.tfevents.*"
LEFT_BY_A_RUN = (CONFIG, RESULT, EVALUATIONS, CHECKPOINT, BEST, LAST, AGENT, EVENTS, f"{PARTIAL}*")

_taken: set[Path] = set()
"""The folders that this process holds open, and so keeps locked until it ends."""


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
            "and --resume continues it"
        )
    folder.mkdir(parents=True, exist_ok=True)
    _take(folder)
    _remove(folder, *LEFT_BY_A_RUN)
    return folder


def reopen_run_folder(folder: Path) -> Path:
    """The folder of a run to resume, without the unfinished files of a killed process.

    Raises:
        ValueError: if another process uses it.
    """
    _take(folder)
    _remove(folder, f"{PARTIAL}*")
    return folder


def _take(folder: Path) -> None:
    """Keep other processes out of the folder until this one ends."""
    key = folder.resolve()
    if sys.platform == "win32" or key in _taken:
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
    """Whether the folder holds a readable result of at least so many steps."""
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
    """Write indented JSON, all or nothing."""
    text = json.dumps(content, indent=2) + "\n"
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_weights(path: Path, write: Callable[[Path], Any]) -> None:
    """Let torch write a file, all or nothing.

    Raises:
        OSError: if it cannot be written; then the former file stays.
    """

    def write_or_explain(temporary: Path) -> None:
        try:
            write(temporary)
        except RuntimeError as error:  # what torch makes of a full disk
            raise OSError(f"{path} cannot be written; is the disk full?") from error

    write_atomically(path, write_or_explain)
