import subprocess
import sys

import pytest

from agents.command import status_of
from agents.runs.stop import Stopped


def raising(error):
    def command(arguments):
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (ValueError("seed must be 1"), 2, "error: seed must be 1\n"),
        (OSError(28, "No space left on device"), 2, "error: [Errno 28] No space left on device\n"),
        (MemoryError(), 2, "error: not enough memory\n"),
        (
            ModuleNotFoundError("", name="torch"),
            2,
            'error: torch is not installed: pip install -e ".[learn]"\n',
        ),
        (Stopped(15), 143, ""),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_every_end_has_a_status_and_at_most_a_sentence(error, status, sentence, capsys):
    assert status_of(raising(error), [], extra="learn") == status
    assert capsys.readouterr().err == sentence


def test_a_command_that_ends_well_gets_its_arguments_and_status_0():
    seen = []
    assert status_of(seen.append, ["a"], extra="learn") == 0
    assert seen == [["a"]]


def test_a_fault_of_the_program_is_not_hidden():
    with pytest.raises(KeyError):
        status_of(raising(KeyError("x")), [], extra="learn")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell with pipes")
@pytest.mark.parametrize(
    ("output", "status", "sentence"),
    [("| true", "141", ""), ("> /dev/full", "2", "error: [Errno 28] No space left on device")],
)
def test_output_that_cannot_be_written_ends_without_a_traceback(output, status, sentence):
    code = (
        "import sys, time; from agents.command import status_of; "
        "sys.exit(status_of(lambda _: (time.sleep(0.5), print('x')), [], 'learn'))"
    )
    shell = f'("{sys.executable}" -c "{code}"; echo $? >&2) {output}'
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60)
    assert [*filter(None, [sentence]), status] == done.stderr.splitlines()
