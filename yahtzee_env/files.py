"""Atomic writing of files."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

PARTIAL = ".partial-"
"""The prefix of the names of unfinished files."""


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a temporary file in the same folder, then rename it to `path`.

    Readers and concurrent writers see only whole files; if `write` fails, the old file stays.

    Raises:
        OSError: if the folder cannot be written.
    """
    temporary = path.with_name(f"{PARTIAL}{uuid.uuid4().hex}-{path.name}")
    try:
        write(temporary)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
