"""Where a result comes from: commit, versions, kind of machine."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from yahtzee_env import __version__

CODE = ("agents", "benchmarks", "configs", "yahtzee_env", "pyproject.toml", "constraints.txt")
PACKAGES = ("torch", "stable-baselines3", "sb3-contrib", "gymnasium", "numpy")


def provenance() -> dict[str, Any]:
    """What a result depends on besides its configuration."""
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "packages": {
            "yahtzee-env": __version__,
            **{package: version(package) for package in PACKAGES},
        },
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
