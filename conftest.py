"""What holds for tests and notebooks alike: solutions are kept in a folder of the run's own."""

import os
import shutil
import tempfile

import pytest

VARIABLE = "YAHTZEE_ENV_CACHE"


def pytest_configure(config: pytest.Config) -> None:
    """Set the folder; the workers of pytest-xdist inherit it, so that all share solutions."""
    if not hasattr(config, "workerinput"):
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="yahtzee-env-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(VARIABLE), ignore_errors=True)
