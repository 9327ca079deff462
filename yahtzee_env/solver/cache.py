"""Tables of the solver on disk: in the user's cache folder, found by the rules, checked if read."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import platformdirs
from numpy.typing import NDArray

from yahtzee_env.files import write_atomically
from yahtzee_env.rules import Ruleset

FOLDER_VARIABLE = "YAHTZEE_ENV_CACHE"
"""The environment variable that moves the cache folder."""

FORMAT = 2
"""Changes when files of an earlier version must not be read."""

_DIGEST_SIZE = hashlib.sha256().digest_size


def cache_folder() -> Path:
    """The folder of the tables.

    Raises:
        OSError: if the variable names the home of an unknown user.
    """
    folder = os.environ.get(FOLDER_VARIABLE) or platformdirs.user_cache_dir("yahtzee-env")
    try:
        return Path(folder).expanduser()
    except RuntimeError:
        raise OSError(f"{FOLDER_VARIABLE}={folder!r} names an unknown user") from None


def cache_file(ruleset: Ruleset, kind: str = "solution") -> Path:
    """The file of a kind of table; rule sets that differ only in their name share it."""
    rules = {**ruleset.to_dict(), "name": "", "format": FORMAT}
    key = hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()
    return cache_folder() / f"{key[:32]}.{kind}"


def read(ruleset: Ruleset, kind: str = "solution") -> list[NDArray[Any]] | None:
    """The arrays in the cache, or None if the file is missing or damaged."""
    try:
        with cache_file(ruleset, kind).open("rb") as file:
            if file.read(_DIGEST_SIZE) != hashlib.file_digest(file, "sha256").digest():
                return None
            size = file.tell()
            file.seek(_DIGEST_SIZE)
            arrays = []
            while file.tell() < size:
                arrays.append(np.load(file, allow_pickle=False))
            return arrays
    except OSError:
        return None


def write(ruleset: Ruleset, arrays: Sequence[NDArray[Any]], kind: str = "solution") -> None:
    """Keep arrays; if the folder cannot be written, warn."""

    def write_arrays(path: Path) -> None:
        with path.open("wb") as file:
            file.write(bytes(_DIGEST_SIZE))
            hashed = _Hashed(file)
            for array in arrays:
                np.save(hashed, array, allow_pickle=False)
            file.seek(0)
            file.write(hashed.digest.digest())

    try:
        target = cache_file(ruleset, kind)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, write_arrays)
    except OSError as error:
        warnings.warn(f"the {kind} could not be kept: {error}", stacklevel=3)


class _Hashed:
    """A file that takes the digest of what is written, so that no copy of it is needed."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self.file.write(data)
