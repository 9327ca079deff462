"""Solutions on disk: in the user's cache folder, found by the rules and checked when read."""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray

from yahtzee_env.files import write_beside
from yahtzee_env.rules import Ruleset

FOLDER_VARIABLE = "YAHTZEE_ENV_CACHE"
"""The environment variable that moves the cache folder."""

FORMAT = 1
"""Changes when files of an earlier version must not be read."""

_DIGEST_SIZE = hashlib.sha256().digest_size


def cache_folder() -> Path:
    """Where solutions are kept."""
    wanted = os.environ.get(FOLDER_VARIABLE) or platformdirs.user_cache_dir("yahtzee-env")
    return Path(wanted).expanduser()


def cache_file(ruleset: Ruleset) -> Path:
    """The file of a rule set; rule sets that differ in their name only share it."""
    rules = {**ruleset.to_dict(), "name": "", "format": FORMAT}
    key = hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()
    return cache_folder() / f"{key[:32]}.solution"


def read(ruleset: Ruleset, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """The kept values, or None where there are none or the file is damaged."""
    try:
        content = cache_file(ruleset).read_bytes()
    except OSError:
        return None
    digest, body = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
    if hashlib.sha256(body).digest() != digest:
        return None
    values: NDArray[np.float64] = np.load(io.BytesIO(body), allow_pickle=False)
    return values if values.shape == shape else None


def write(ruleset: Ruleset, values: NDArray[np.float64]) -> None:
    """Keep the values; a folder that cannot be written costs a warning only."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    body = buffer.getvalue()
    content = hashlib.sha256(body).digest() + body
    target = cache_file(ruleset)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_beside(target, lambda path: path.write_bytes(content))
    except OSError as error:
        warnings.warn(f"the solution could not be kept in {target.parent}: {error}", stacklevel=3)
