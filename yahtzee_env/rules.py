"""Rule sets as data: the scores of each box, and the bonus, joker and fill-order rules.

The eight rule sets of the family are in `family`; custom ones are built in the same way::

    from yahtzee_env import Box, get_ruleset

    def four_dice_only(counts):
        return sum(4 * face for face, n in enumerate(counts, start=1) if n >= 4)

    house_yacht = get_ruleset("yacht").with_box(
        Box.of("four_of_a_kind", four_dice_only), name="yacht-four-dice"
    )
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Literal, get_args

from yahtzee_env.dice import COUNTS, N_FACES, N_ROLLS

Counts = Sequence[int]
Joker = Literal["none", "forced", "free"]
FillOrder = Literal["any", "upper_first"]

MAX_BOXES = 16
MAX_STEPS = 8
MAX_POINTS = 1000


@dataclass(frozen=True)
class Box:
    """One box of the score card.

    Attributes:
        name: the box id, a lower-case identifier such as ``"full_house"``.
        scores: the points for each of the 252 rolls, in the order of ``dice.ROLLS``.
        face: for an upper box its face, 1 to 6; None for a lower box.
        joker_score: the points of five alike as a joker; None if they are the usual ones.
    """

    name: str
    scores: tuple[int, ...]
    face: int | None = None
    joker_score: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise ValueError(
                f"a box name must be lower-case letters, digits and _, not {self.name!r}"
            )
        object.__setattr__(self, "scores", tuple(self._whole(s) for s in self.scores))
        if len(self.scores) != N_ROLLS:
            raise ValueError(
                f"box {self.name!r} must have {N_ROLLS} scores, one a roll, not {len(self.scores)}"
            )
        if self.face is not None and self.face not in range(1, N_FACES + 1):
            raise ValueError(
                f"box {self.name!r}: face must be 1 to {N_FACES} or None, not {self.face!r}"
            )
        if self.joker_score is not None:
            object.__setattr__(self, "joker_score", self._whole(self.joker_score))

    def _whole(self, points: Any) -> int:
        try:
            whole = int(points)
        except (TypeError, ValueError, OverflowError):
            whole = -1
        if whole != points or not 0 <= whole <= MAX_POINTS:
            raise ValueError(
                f"box {self.name!r}: a score must be a whole number from 0 to {MAX_POINTS}, "
                f"not {points!r}"
            )
        return whole

    @classmethod
    def of(
        cls,
        name: str,
        function: Callable[[Counts], int],
        face: int | None = None,
        joker_score: int | None = None,
    ) -> Box:
        """A box that pays ``function(counts)``, with counts the six face counts of the roll.

        The function is called once for each of the 252 rolls and not stored.
        """
        scores = tuple(function(tuple(counts)) for counts in COUNTS.tolist())
        return cls(name, scores, face, joker_score)


@dataclass(frozen=True)
class Ruleset:
    """The rules of one game of the family; compares, hashes, pickles and converts to JSON.

    Attributes:
        name: the name of the rule set in results.
        boxes: the boxes in order; action ``31 + k`` fills the k-th.
        bonus_steps: pairs (upper total, points): the points are paid once, when the sum of the
            upper boxes first reaches the total.
        five_alike_box: the box that must be filled before the extra bonus and the joker apply.
        extra_bonus: points for each five alike rolled while `five_alike_box` holds points.
        joker: "none"; "forced": five alike go to the matching upper box if open, else to a lower
            box, else to any; "free": to any open box. Only where the matching upper box is filled
            do the boxes pay their `joker_score`.
        joker_after_zero: whether five alike are also a joker if `five_alike_box` holds 0.
        fill_order: "any", or "upper_first": no lower box before all upper boxes are filled.

    Raises:
        ValueError: for a rule set that cannot be played, with what is wrong and what is allowed.
    """

    name: str
    boxes: tuple[Box, ...]
    bonus_steps: tuple[tuple[int, int], ...] = ()
    five_alike_box: str | None = None
    extra_bonus: int = 0
    joker: Joker = "none"
    joker_after_zero: bool = True
    fill_order: FillOrder = "any"

    def __post_init__(self) -> None:
        object.__setattr__(self, "boxes", tuple(self.boxes))
        object.__setattr__(self, "bonus_steps", tuple(map(_pair, self.bonus_steps)))
        object.__setattr__(self, "extra_bonus", _plain(self.extra_bonus))
        for check in (_check_boxes, _check_choices, _check_bonus_steps, _check_five_alike):
            check(self)

    @property
    def box_names(self) -> tuple[str, ...]:
        """The box ids in order."""
        return tuple(box.name for box in self.boxes)

    @property
    def tracks_five_alike(self) -> bool:
        """Whether the rest of a game depends on `five_alike_box` holding points rather than 0."""
        strict_joker = self.joker != "none" and not self.joker_after_zero
        return self.extra_bonus > 0 or strict_joker

    @property
    def last_step(self) -> int:
        """The upper total of the last bonus step; 0 without steps."""
        return self.bonus_steps[-1][0] if self.bonus_steps else 0

    def box_index(self, name: str) -> int:
        """The position of the box called `name`.

        Raises:
            ValueError: for an unknown box, with the known ones.
        """
        if name not in self.box_names:
            raise ValueError(
                f"{name!r} is not a box of {self.name}; its boxes are {', '.join(self.box_names)}"
            )
        return self.box_names.index(name)

    def with_box(self, box: Box, name: str) -> Ruleset:
        """The same rules under another `name`, with `box` in place of the box of its name."""
        boxes = list(self.boxes)
        boxes[self.box_index(box.name)] = box
        return replace(self, name=name, boxes=tuple(boxes))

    def to_dict(self) -> dict[str, Any]:
        """The rules as plain lists, numbers and strings, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Ruleset:
        """The rule set of a dictionary written by `to_dict`, directly or through JSON.

        Raises:
            ValueError: if `data` is not a rule set.
        """
        try:
            boxes = tuple(Box(**box) for box in data["boxes"])
            return cls(**{**data, "boxes": boxes})
        except (KeyError, TypeError) as error:
            raise ValueError(f"not the dictionary of a rule set: {error}") from None


def _pair(step: Any) -> tuple[int, int]:
    try:
        at, pays = step
    except (TypeError, ValueError):
        raise ValueError(f"bonus_steps must be pairs (upper total, points), not {step!r}") from None
    return _plain(at), _plain(pays)


def _plain(number: Any) -> Any:
    """An integer of another library as an int, for JSON; anything else unchanged."""
    return operator.index(number) if hasattr(number, "__index__") else number


def _check_boxes(rules: Ruleset) -> None:
    for box in rules.boxes:
        if not isinstance(box, Box):
            raise ValueError(f"boxes must be Box objects, not {box!r}")
    names = rules.box_names
    if not isinstance(rules.name, str) or not rules.name:
        raise ValueError(f"a rule set's name must be a text, not {rules.name!r}")
    if not 1 <= len(names) <= MAX_BOXES:
        raise ValueError(f"a rule set must have 1 to {MAX_BOXES} boxes, not {len(names)}")
    if doubles := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"box names must differ, but {sorted(doubles)} occur more than once")
    faces = [box.face for box in rules.boxes if box.face is not None]
    if len(set(faces)) < len(faces):
        raise ValueError(f"upper boxes must collect different faces, not {faces}")


def _check_bonus_steps(rules: Ruleset) -> None:
    steps = rules.bonus_steps
    totals = [0, *(at for at, _ in steps)]
    if len(steps) > MAX_STEPS or any(
        not _is_whole(at, MAX_POINTS) or not _is_whole(pays, MAX_POINTS) for at, pays in steps
    ):
        raise ValueError(
            f"bonus_steps must be at most {MAX_STEPS} pairs of whole numbers from 0 to "
            f"{MAX_POINTS}, not {steps}"
        )
    if any(low >= high for low, high in pairwise(totals)):
        raise ValueError(f"the upper totals of bonus_steps must be above 0 and rise, not {steps}")
    if steps and not any(box.face for box in rules.boxes):
        raise ValueError("bonus_steps need at least one upper box")


def _check_five_alike(rules: Ruleset) -> None:
    if not _is_whole(rules.extra_bonus, MAX_POINTS):
        raise ValueError(
            f"extra_bonus must be a whole number from 0 to {MAX_POINTS}, not {rules.extra_bonus!r}"
        )
    if rules.five_alike_box is not None:
        rules.box_index(rules.five_alike_box)
    elif rules.extra_bonus or rules.joker != "none":
        raise ValueError("a joker or an extra_bonus needs the name of the five_alike_box")
    if rules.joker != "none" and sum(box.face is not None for box in rules.boxes) < N_FACES:
        raise ValueError(f"joker {rules.joker!r} needs all six upper boxes")


def _check_choices(rules: Ruleset) -> None:
    if not isinstance(rules.joker_after_zero, bool):
        raise ValueError(f"joker_after_zero must be True or False, not {rules.joker_after_zero!r}")
    for field, choices in (("joker", get_args(Joker)), ("fill_order", get_args(FillOrder))):
        if getattr(rules, field) not in choices:
            raise ValueError(
                f"{field} must be one of {', '.join(choices)}, not {getattr(rules, field)!r}"
            )


def _is_whole(value: Any, limit: int) -> bool:
    return isinstance(value, int) and 0 <= value <= limit
