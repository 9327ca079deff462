"""Stopping a run by a signal: it saves a checkpoint first."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Stopped(Exception):
    """The run was asked to stop, and its checkpoint is written."""


class StopRequest:
    """Whether the process was asked to stop, by Ctrl-C or SIGTERM.

    Attributes:
        signal: the number of the signal, 0 while there was none.
    """

    signal = 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take note of the first signal only: the next one ends the process at once."""
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def note(number: int, frame: Any) -> None:
            self.signal = number
            restore()

        def restore() -> None:
            for number, handler in before.items():
                signal.signal(number, handler)

        for number in before:
            signal.signal(number, note)
        try:
            yield
        finally:
            restore()
