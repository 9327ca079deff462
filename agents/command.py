"""What the commands share: an error is one sentence, and every end has its exit status."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence

from agents.runs.stop import CLOSED_PIPE, SIGNALLED, Stopped

REFUSED = 2
"""The exit status after an error of which the user is told in a sentence."""


def status_of(
    command: Callable[[Sequence[str]], None], arguments: Sequence[str] | None, extra: str
) -> int:
    """Run a command; returns its exit status.

    Args:
        command: what to run, with its arguments. Its ValueError, OSError, MemoryError and missing
            packages end in one sentence; other exceptions are faults and pass.
        arguments: of the command; None for those of the process.
        extra: the extra of the package that the command needs.
    """
    try:
        command(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return 0
    except Stopped as stopped:
        return SIGNALLED + stopped.signal
    except KeyboardInterrupt:
        return SIGNALLED + signal.SIGINT
    except BrokenPipeError:
        return SIGNALLED + CLOSED_PIPE
    except ModuleNotFoundError as error:
        tell(f'error: {error.name} is not installed: pip install -e ".[{extra}]"')
        return REFUSED
    except MemoryError:
        tell("error: not enough memory")
        return REFUSED
    except (OSError, ValueError) as error:
        tell(f"error: {error}")
        return REFUSED
    finally:
        _discard_unwritable_output()


def tell(sentence: str) -> None:
    """Print to stderr, unless that is closed too."""
    with contextlib.suppress(OSError):
        print(sentence, file=sys.stderr, flush=True)


def _discard_unwritable_output() -> None:
    """Python flushes stdout once more when it ends, which must not fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
