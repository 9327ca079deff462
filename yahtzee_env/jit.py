"""Numba compilation for every kernel of the package: cached on disk, with one notice."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])


def _fingerprint() -> str:
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


_FINGERPRINT = _fingerprint()


def kernel(function: Function) -> Function:
    """Compile `function` on first use and keep the machine code in Numba's cache folder.

    It is compiled anew when any source file of the package has changed. Numba by itself looks at
    the file of the function alone, not at those of the kernels that it calls.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        compiled: Any = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return cast(Function, numba.njit(**options)(function))
    # A private part of Numba, which it lacks when compilation is switched off.
    with contextlib.suppress(AttributeError):
        compiled._cache._cache_file._source_stamp = _FINGERPRINT
    return cast(Function, compiled)


class _CompileNotice(event.Listener):
    """Says once that a wait is a compilation; Numba raises the event on cache misses only."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: event.Event) -> None:
        # Other people's functions, which the event tells of too, may have no module.
        module = event.data["dispatcher"].py_func.__module__ or ""
        if not self.said and module.startswith("yahtzee_env."):
            self.said = True
            print("yahtzee_env: compiling kernels (once; kept for the next run)", file=sys.stderr)

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _CompileNotice())
