"""Train an agent and measure it: ``python -m agents.train --config configs/ppo_quick.yaml``.

Every key of the configuration can also be given on the command line, as in
``--ruleset yatzy --ppo.n_epochs 4``. ``--resume runs/ppo-1`` resumes an interrupted run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from agents.command import status_of, tell
from agents.runs.stop import Stopped, StopRequest, ending_early, stopping_at_once


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 where it is refused."""
    return status_of(_train, arguments, extra="learn")


def _train(arguments: Sequence[str]) -> None:
    with ending_early():  # these imports take seconds
        from agents.command_line import parse
        from agents.runs.folder import RESULT, is_complete, open_run_folder, reopen_run_folder
        from agents.runs.loop import train
        from agents.runs.provenance import provenance
        from agents.runs.result import finish
        from yahtzee_env.report.terminal import show, summary

        config, options = parse(arguments)
        if options.resume:
            folder = reopen_run_folder(options.resume)
            if is_complete(folder, config.whole_timesteps):
                print(f"the run in {folder} is complete; {folder / RESULT} holds its result")
                return
        else:
            folder = open_run_folder(config.name, options.run_dir, options.force)
        origin = provenance()  # the code may be changed during the run
    print(f"training in {folder}", flush=True)
    stop = StopRequest()
    try:
        with stop.listening():
            model, history = train(config, folder, stop, show_progress=True)
        with stopping_at_once():
            comparison = finish(config, folder, model, history, origin)
    except RuntimeError as error:
        if "allocate memory" in str(error):  # torch has no class for it
            raise MemoryError from None
        raise
    except Stopped:
        tell(f"stopped; resume with: python -m agents.train --resume {folder}")
        raise
    show([summary(comparison.evaluations)])


if __name__ == "__main__":
    sys.exit(main())
