"""The eight rule sets of the family, and rule sets by name or file; see also `docs/rules.md`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from yahtzee_env.dice import COUNTS, roll_index
from yahtzee_env.rules import Box, Counts, Ruleset

# What the boxes pay, as functions of the six face counts.


def _total(counts: Counts) -> int:
    return sum(face * n for face, n in enumerate(counts, start=1))


def _alike(needed: int) -> Callable[[Counts], bool]:
    return lambda counts: max(counts) >= needed


def _five_faces_run(counts: Counts) -> bool:
    return any(all(counts[low : low + 5]) for low in (0, 1))


def _four_faces_run(counts: Counts) -> bool:
    return any(all(counts[low : low + 4]) for low in (0, 1, 2))


def _is_roll(*dice: int) -> Callable[[Counts], bool]:
    wanted = COUNTS[roll_index(dice)].tolist()
    return lambda counts: list(counts) == wanted


def _is_full_house(counts: Counts) -> bool:
    return sorted(counts)[-2:] == [2, 3]


def _is_wide_full_house(counts: Counts) -> bool:
    """A full house that five alike are, too."""
    return _is_full_house(counts) or max(counts) == 5


def _is_one_color(counts: Counts) -> bool:
    """All dice of one Kismet colour: a face and the one on the opposite side of the die."""
    return any(counts[face] + counts[5 - face] == 5 for face in (0, 1, 2))


def _has_two_pairs_of_one_color(counts: Counts) -> bool:
    return any(counts[face] // 2 + counts[5 - face] // 2 >= 2 for face in (0, 1, 2))


def _pays(
    points: int | Callable[[Counts], int], when: Callable[[Counts], bool], plus: int = 0
) -> Callable[[Counts], int]:
    """`points` (a number, or a function of the counts) and `plus` for the rolls that qualify."""

    def score(counts: Counts) -> int:
        if not when(counts):
            return 0
        return plus + (points(counts) if callable(points) else points)

    return score


def _best_alike(needed: int) -> Callable[[Counts], int]:
    """The sum of `needed` equal dice of the highest face that has as many."""
    return lambda counts: max(
        needed * face if n >= needed else 0 for face, n in enumerate(counts, start=1)
    )


def _two_pairs(counts: Counts) -> int:
    pairs = [face for face, n in enumerate(counts, start=1) if n >= 2]
    return 2 * sum(pairs) if len(pairs) == 2 else 0


def _upper_box(name: str, face: int) -> Box:
    return Box.of(name, lambda counts: face * counts[face - 1], face)


def upper_boxes() -> tuple[Box, ...]:
    """The six upper boxes that all games of the family share: the sum of the dice of one face."""
    names = ("ones", "twos", "threes", "fours", "fives", "sixes")
    return tuple(_upper_box(name, face) for face, name in enumerate(names, start=1))


def _yahtzee() -> Ruleset:
    return Ruleset(
        "yahtzee",
        boxes=(
            *upper_boxes(),
            Box.of("three_of_a_kind", _pays(_total, _alike(3))),
            Box.of("four_of_a_kind", _pays(_total, _alike(4))),
            Box.of("full_house", _pays(25, _is_full_house), joker_score=25),
            Box.of("small_straight", _pays(30, _four_faces_run), joker_score=30),
            Box.of("large_straight", _pays(40, _five_faces_run), joker_score=40),
            Box.of("yahtzee", _pays(50, _alike(5))),
            Box.of("chance", _total),
        ),
        bonus_steps=((63, 35),),
        five_alike_box="yahtzee",
        extra_bonus=100,
        joker="forced",
    )


def _yacht() -> Ruleset:
    return Ruleset(
        "yacht",
        boxes=(
            *upper_boxes(),
            Box.of("four_of_a_kind", _pays(_total, _alike(4))),
            Box.of("full_house", _pays(_total, _is_full_house)),
            Box.of("small_straight", _pays(30, _is_roll(1, 2, 3, 4, 5))),
            Box.of("large_straight", _pays(30, _is_roll(2, 3, 4, 5, 6))),
            Box.of("yacht", _pays(50, _alike(5))),
            Box.of("choice", _total),
        ),
    )


def _yatzy() -> Ruleset:
    return Ruleset(
        "yatzy",
        boxes=(
            *upper_boxes(),
            Box.of("one_pair", _best_alike(2)),
            Box.of("two_pairs", _two_pairs),
            Box.of("three_of_a_kind", _best_alike(3)),
            Box.of("four_of_a_kind", _best_alike(4)),
            Box.of("small_straight", _pays(15, _is_roll(1, 2, 3, 4, 5))),
            Box.of("large_straight", _pays(20, _is_roll(2, 3, 4, 5, 6))),
            Box.of("full_house", _pays(_total, _is_full_house)),
            Box.of("chance", _total),
            Box.of("yatzy", _pays(50, _alike(5))),
        ),
        bonus_steps=((63, 50),),
    )


def _kismet() -> Ruleset:
    def is_one_color_full_house(counts: Counts) -> bool:
        return _is_wide_full_house(counts) and _is_one_color(counts)

    return Ruleset(
        "kismet",
        boxes=(
            *upper_boxes(),
            Box.of("two_pair_same_color", _pays(_total, _has_two_pairs_of_one_color)),
            Box.of("three_of_a_kind", _pays(_total, _alike(3))),
            Box.of("straight", _pays(30, _five_faces_run)),
            Box.of("flush", _pays(35, _is_one_color)),
            Box.of("full_house", _pays(_total, _is_wide_full_house, plus=15)),
            Box.of("full_house_same_color", _pays(_total, is_one_color_full_house, plus=20)),
            Box.of("four_of_a_kind", _pays(_total, _alike(4), plus=25)),
            Box.of("yarborough", _total),
            Box.of("kismet", _pays(_total, _alike(5), plus=50)),
        ),
        bonus_steps=((63, 35), (71, 20), (78, 20)),
    )


def _build_rulesets() -> dict[str, Ruleset]:
    official = _yahtzee()
    rulesets = (
        official,
        replace(official, name="yahtzee-free-joker", joker="free"),
        replace(official, name="yahtzee-single", joker="none", extra_bonus=0),
        replace(official, name="yahtzee-upper-first", fill_order="upper_first"),
        replace(official, name="yahtzee-strict", bonus_steps=((64, 35),), joker_after_zero=False),
        _yacht(),
        _yatzy(),
        _kismet(),
    )
    return {rules.name: rules for rules in rulesets}


RULESETS: Mapping[str, Ruleset] = _build_rulesets()
"""The named rule sets, the official one first."""


def get_ruleset(ruleset: str | os.PathLike[str] | Ruleset | Mapping[str, Any]) -> Ruleset:
    """The rule set of a name, of a JSON file, of a dictionary, or a `Ruleset` itself.

    Args:
        ruleset: a key of `RULESETS`; the path of a file, "house.json", that holds the result of
            `Ruleset.to_dict` as JSON; that result itself; or a `Ruleset`.

    Raises:
        ValueError: for an unknown name, or a file or a dictionary that is not a rule set.
        TypeError: for anything else.
    """
    if isinstance(ruleset, Ruleset):
        return ruleset
    if isinstance(ruleset, Mapping):
        return Ruleset.from_dict(ruleset)
    if not isinstance(ruleset, str | os.PathLike):
        raise TypeError(f"a rule set is a name, file, Ruleset or dictionary, not {ruleset!r}")
    if isinstance(ruleset, os.PathLike) or ruleset.endswith(".json"):
        return _read_ruleset(Path(ruleset))
    if ruleset not in RULESETS:
        known = ", ".join(RULESETS)
        raise ValueError(f"unknown rule set {ruleset!r}: choose from {known}, or name a JSON file")
    return RULESETS[ruleset]


def _read_ruleset(path: Path) -> Ruleset:
    try:
        return Ruleset.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ValueError(f"cannot read the rule set {path}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path} is not a rule set: {error}") from None


def score(roll: Sequence[int], box: str, ruleset: str | Ruleset = "yahtzee") -> int:
    """What five dice pay in a box by themselves, without joker and bonuses.

    Args:
        roll: five dice in any order.
        box: the box id.
        ruleset: a rule set or its name.

    Raises:
        ValueError: for wrong dice or an unknown box or rule set.
    """
    rules = get_ruleset(ruleset)
    return rules.boxes[rules.box_index(box)].scores[roll_index(roll)]
