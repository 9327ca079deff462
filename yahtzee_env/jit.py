"""Numba compilation for every kernel of the package: cached on disk, with one notice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile `function` on first use and keep the machine code in Numba's cache folder."""
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


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
