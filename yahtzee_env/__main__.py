"""The commands of the package: ``python -m yahtzee_env solve | advise | evaluate``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

FAILED = 1
INTERRUPTED = 130
CLOSED_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status, 1 where its output cannot be written.

    Raises:
        SystemExit: for wrong arguments, with status 2, after one sentence on stderr.
    """
    if sys.stdout is None:
        return _fail("the standard output is closed")
    try:
        from yahtzee_env.cli import run

        run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return CLOSED_PIPE
    except OSError as error:
        _discard_output()
        return _fail(str(error))
    return 0


def _fail(sentence: str) -> int:
    print(f"yahtzee-env: {sentence}", file=sys.stderr)
    return FAILED


def _discard_output() -> None:
    """Python flushes the standard output once more when it ends; that must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
