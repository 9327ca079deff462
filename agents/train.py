"""Train an agent and measure it: ``python -m agents.train --config configs/ppo_quick.yaml``.

Every key of `agents.config.TrainConfig` can also be given on the command line, as in
``--ruleset yatzy --ppo.n_epochs 4``. ``--resume runs/NAME-1`` resumes an interrupted run.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from agents.early_stop import SIGNALLED, stop_as_usual, stop_early

if __name__ == "__main__":
    stop_early()  # the imports below take seconds

from agents.config import parse
from agents.runs.callbacks import Diverged
from agents.runs.checkpoint import BadCheckpoint
from agents.runs.folder import (
    RESULT,
    is_complete,
    open_run_folder,
    provenance,
    reopen_run_folder,
)
from agents.runs.loop import finish, train
from agents.runs.stop import Stopped, StopRequest
from yahtzee_env.report.terminal import show, summary


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code, 2 for a configuration that is refused."""
    try:
        config, options = parse(sys.argv[1:] if arguments is None else arguments)
        if options.resume:
            folder = reopen_run_folder(options.run_dir)
            if is_complete(folder, config.whole_timesteps):
                print(f"the run in {folder} is complete; {folder / RESULT} holds its result")
                return 0
        else:
            folder = open_run_folder(config.name, options.run_dir, options.force)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    stop_as_usual()
    stop, origin = StopRequest(), provenance()  # the code may be changed while it runs
    try:
        with stop.listening():
            model, history = train(config, folder, stop)
        show([summary(finish(config, folder, model, history, origin).evaluations)])
    except (BadCheckpoint, Diverged, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        print("error: not enough memory for this configuration", file=sys.stderr)
        return 2
    except (Stopped, KeyboardInterrupt):
        how = f"python -m agents.train --resume {folder}"
        print(f"stopped; the agent so far is in {folder}, and this goes on: {how}", file=sys.stderr)
        return SIGNALLED + (stop.signal or signal.SIGINT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
