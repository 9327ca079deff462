"""The commands of the package: ``python -m yahtzee_env solve | advise | evaluate | bench``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130
CLOSED_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status, 0 or that of an interruption.

    Raises:
        SystemExit: for wrong arguments, with status 2, after one sentence on stderr.
    """
    try:
        from yahtzee_env.cli import run

        run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout once more when it ends; that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    return 0


if __name__ == "__main__":
    sys.exit(main())
