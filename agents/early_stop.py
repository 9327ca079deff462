"""Ctrl-C and SIGTERM before training begins, most likely while torch is imported."""

from __future__ import annotations

import os
import signal
from typing import Any

SIGNALLED = 128
"""A process that a signal ended has this and the number of the signal as its exit status."""

_usual: dict[int, Any] = {}


def stop_early() -> None:
    """From now on a signal ends the process at once, in one line: there is nothing to save."""
    for number in (signal.SIGINT, signal.SIGTERM):
        _usual[number] = signal.signal(number, _end)


def stop_as_usual() -> None:
    """Take `stop_early` back."""
    while _usual:
        signal.signal(*_usual.popitem())


def _end(number: int, frame: Any) -> None:
    # An exception could be lost in, or disguised by, a module that is being imported.
    os.write(2, b"Stopped before training began.\n")
    os._exit(SIGNALLED + number)
