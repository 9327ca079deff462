import json
import subprocess
import sys

import pytest

from agents.runs import folder as run_folder
from agents.runs.folder import (
    is_complete,
    open_run_folder,
    reopen_run_folder,
    write_json,
)
from yahtzee_env.files import write_atomically


@pytest.fixture(autouse=True)
def _runs_in_a_folder_of_the_test(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "RUNS", tmp_path / "runs")


def test_runs_of_one_name_are_numbered(tmp_path):
    names = [open_run_folder("quick", None, force=False).name for _ in range(3)]
    assert names == ["quick-1", "quick-2", "quick-3"]


def test_a_folder_with_something_in_it_is_refused_and_left_alone(tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("mine")
    with pytest.raises(ValueError, match="is not empty; --force"):
        open_run_folder("quick", tmp_path, force=False)
    with pytest.raises(ValueError, match="is a file"):
        open_run_folder("quick", note, force=True)
    assert note.read_text() == "mine"


def test_force_removes_an_earlier_run_and_nothing_else(tmp_path):
    for name in ("note.txt", "last.zip", "result.json", "events.out.tfevents.1"):
        (tmp_path / name).write_text("old")
    assert open_run_folder("quick", tmp_path, force=True) == tmp_path
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["note.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs locks of folders")
def test_a_folder_is_of_one_process_until_that_is_killed(tmp_path):
    code = (
        "import sys, pathlib; from agents.runs.folder import open_run_folder\n"
        "open_run_folder('live', pathlib.Path(sys.argv[1]), force=True); print(); input()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    live = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    live.stdout.readline()
    for name in ("last.zip", ".partial-1-last.zip"):
        (tmp_path / name).write_text("live")
    with pytest.raises(ValueError, match="in use by another process"):
        open_run_folder("quick", tmp_path, force=True)
    with pytest.raises(ValueError, match="in use by another process"):
        reopen_run_folder(tmp_path)
    assert len(list(tmp_path.glob("*last.zip"))) == 2
    live.kill()
    live.communicate()
    for _ in range(2):
        assert reopen_run_folder(tmp_path) == tmp_path
    assert [path.name for path in tmp_path.glob("*last.zip")] == ["last.zip"]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "result.json"
    write_json(path, {"mean": 1})

    def fail(temporary):
        temporary.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, fail)
    assert json.loads(path.read_text()) == {"mean": 1}


def test_a_run_is_complete_once_its_result_can_be_read(tmp_path):
    assert not is_complete(tmp_path)
    path = tmp_path / "result.json"
    write_json(path, {"timesteps": 2048})
    assert is_complete(tmp_path)
    assert is_complete(tmp_path, 2048)
    assert not is_complete(tmp_path, 2049)
    for content in (b"", path.read_bytes()[:-3], b"\xff", b"null", b"{}"):
        path.write_bytes(content)
        assert not is_complete(tmp_path)
