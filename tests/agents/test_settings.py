from typing import Annotated, Literal

import pytest
from pydantic import Field

from agents.settings import (
    AtLeastTwo,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    PositiveInts,
    Settings,
    Share,
    Texts,
    keys,
    read_yaml,
    validated,
)


class Inner(Settings):
    widths: PositiveInts = (8,)
    """Widths."""
    kind: Literal["one", "two"] = "one"
    """Kind."""
    hidden: Texts = ()
    """Hidden."""


class Outer(Settings):
    steps: PositiveInt = 1
    """Steps."""
    least: AtLeastTwo = 2
    """Least."""
    seed: NonNegativeInt = 0
    """Seed."""
    rate: PositiveFloat = 1.0
    """Rate."""
    share: Share = 1.0
    """Share."""
    on: bool = True
    """On."""
    name: str = "a"
    """Name."""
    threads: Annotated[int, Field(ge=1, le=256)] | None = None
    """Threads."""
    inner: Inner = Inner()


def test_settings_not_given_have_their_defaults():
    assert validated(Outer, {}) == Outer()
    assert validated(Outer, {"inner": {"kind": "two"}}).inner == Inner(kind="two")


@pytest.mark.parametrize("value", [1000, 1e3])
def test_a_whole_float_is_a_whole_number(value):
    steps = validated(Outer, {"steps": value}).steps
    assert (steps, type(steps)) == (1000, int)


def test_lists_become_tuples():
    assert validated(Outer, {"inner": {"widths": [3, 4e0]}}).inner.widths == (3, 4)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"steps": 0}, "steps must be a whole number of at least 1, not 0"),
        ({"steps": 1.5}, "steps must be a whole number of at least 1, not 1.5"),
        ({"steps": True}, "steps must be a whole number of at least 1, not true"),
        ({"steps": "x"}, 'steps must be a whole number of at least 1, not "x"'),
        ({"steps": None}, "steps must be a whole number of at least 1, not null"),
        ({"steps": {"a": 1}}, 'steps must be a whole number of at least 1, not {"a": 1}'),
        ({"steps": 10**30}, "steps must be at most 1,000,000,000,000"),
        ({"least": 1}, "least must be a whole number of at least 2, not 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"rate": 0}, "rate must be a number above 0, not 0"),
        ({"rate": float("inf")}, "rate must be a number above 0, not Infinity"),
        ({"share": 2}, "share must be a number from 0 to 1, not 2"),
        ({"on": 1}, "on must be true or false, not 1"),
        ({"name": 3}, "name must be text, not 3"),
        ({"threads": 257}, "threads must be a whole number from 1 to 256 or null, not 257"),
        ({"inner": 3}, "inner must be a mapping of inner.widths, inner.kind, inner.hidden, not 3"),
        ({"inner": {"kind": "six"}}, 'inner.kind must be one of one, two, not "six"'),
        (
            {"inner": {"widths": [0]}},
            "inner.widths must be a list of at least one, each a whole number of at least 1, not 0",
        ),
        (
            {"inner": {"widths": []}},
            "inner.widths must be a list of at least one, each a whole number of at least 1, "
            "not []",
        ),
        (
            {"inner": {"hidden": "a"}},
            'inner.hidden must be a list of any number, each text, not "a"',
        ),
        (
            {"inner": {"width": 3}},
            "unknown key inner.width; known keys are inner.widths, inner.kind, inner.hidden",
        ),
        (
            {"step": 3},
            "unknown key step; known keys are steps, least, seed, rate, share, on, name, threads, "
            "inner.*",
        ),
    ],
)
def test_a_wrong_value_is_refused_with_what_was_given_and_what_is_allowed(values, sentence):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refused:
        validated(Outer, values)
    assert str(refused.value) == sentence


def test_every_key_has_its_description():
    known = keys(Outer)
    assert list(known)[-3:] == ["inner.widths", "inner.kind", "inner.hidden"]
    assert known["inner.kind"]["description"] == "Kind."


def test_yaml_numbers_may_have_exponents_without_a_point_or_sign():
    assert read_yaml("[1e6, 1E-3, -2e+3, 1_000, 2.5e2, 1e6x]") == [
        *(1e6, 1e-3, -2e3, 1000, 250.0),
        "1e6x",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: 1\nb: 2\na: 3", "line 3: the key a is given twice"),
        ("a:\n  b: 1\n  b: 1", "line 3: the key b is given twice"),
        ("a: {b: 1, b: 2}", "line 1: the key b is given twice"),
        ("a: [1", "line 1: "),
        ("a: !!python/object:os.system 1", "line 1: could not determine a constructor"),
        ("\x01", "special characters"),
    ],
)
def test_yaml_that_is_wrong_or_ambiguous_is_refused_in_a_sentence(text, reason):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refused:
        read_yaml(text)
    assert reason in str(refused.value)
