"""Fixtures of the tests."""

import pytest
from hypothesis import settings
from reference_game import RULESETS

# Kernels compile on their first use, so the first example of a property may be slow.
settings.register_profile("tests", deadline=None, derandomize=True)
settings.load_profile("tests")


@pytest.fixture(params=RULESETS)
def ruleset(request: pytest.FixtureRequest) -> str:
    """The name of each rule set in turn."""
    return request.param
