"""Files written all or nothing."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

PARTIAL = ".partial-"
"""What the names of unfinished files begin with."""


def write_beside(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a file in the same folder, then put it in place of `path`.

    Readers, and writers at the same time, see whole files only; where `write` fails, the old file
    stays.

    Raises:
        OSError: if the folder cannot be written.
    """
    beside = path.with_name(f"{PARTIAL}{uuid.uuid4().hex}-{path.name}")
    try:
        write(beside)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
