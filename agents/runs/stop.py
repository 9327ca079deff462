"""Stopping a run by a signal, or because its output is closed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SIGNALLED = 128
"""The exit status of a process that a signal ended is this plus the number of the signal."""

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
CLOSED_PIPE = 13
"""The number of SIGPIPE, also on systems without that signal."""


class Stopped(Exception):
    """The run was asked to stop; its checkpoint is saved.

    Attributes:
        signal: the number of the signal that asked.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by signal {number}")
        self.signal = number


class StopRequest:
    """Whether the run was asked to stop, by a signal or by a closed output.

    Attributes:
        signal: the number of the signal, 0 while there is none.
    """

    signal = 0

    def ask(self, number: int) -> None:
        """Ask for a stop; the first request counts."""
        self.signal = self.signal or number

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Note the first signal only: the next one ends the process at once."""
        with _handling(self._note) as self._restore:
            yield

    def _note(self, number: int, frame: Any) -> None:
        self.ask(number)
        self._restore()


@contextmanager
def stopping_at_once() -> Iterator[None]:
    """Let a signal raise `Stopped`, where nothing has to be saved first."""

    def stop(number: int, frame: Any) -> None:
        raise Stopped(number)

    with _handling(stop):
        yield


@contextmanager
def ending_early() -> Iterator[None]:
    """Let a signal end the process in one line, where training has not begun.

    An exception would not do: a module that is being imported could swallow or disguise it.
    """

    def end(number: int, frame: Any) -> None:
        os.write(2, b"Stopped before training began.\n")
        os._exit(SIGNALLED + number)

    with _handling(end):
        yield


@contextmanager
def _handling(handler: Callable[[int, Any], None]) -> Iterator[Callable[[], None]]:
    """Handle the signals; yields a function that restores the former handlers."""
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def restore() -> None:
        for number, former in before.items():
            signal.signal(number, former)

    for number, former in before.items():
        if former is not signal.SIG_IGN or number == signal.SIGINT:  # nohup ignores SIGHUP
            signal.signal(number, handler)
    try:
        yield restore
    finally:
        restore()
