"""A slow referee of the Yahtzee-family games, in plain Python.

It follows the written rules sentence by sentence and shares nothing with the engine, so the two
can be tested against each other.  Clarity comes first; speed does not matter here.

A rule set is a dictionary from box to scoring function, with a few explicit flags for whatever
goes beyond scoring: bonus steps, extra Yahtzees, the joker and the order of filling.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

Dice = Sequence[int]
Test = Callable[[Dice], bool]
Scorer = Callable[[Dice], int]

FACES = (1, 2, 3, 4, 5, 6)
COLORS = {"black": (1, 6), "red": (2, 5), "green": (3, 4)}
DICE_PER_ROLL = 5
REROLLS_PER_TURN = 2

# --- What a roll may show ---------------------------------------------------------------------


def anything(dice: Dice) -> bool:
    """Hold for every roll."""
    return True


def alike(count: int) -> Test:
    """Hold for at least `count` equal dice."""
    return lambda dice: any(dice.count(face) >= count for face in FACES)


def full_house(dice: Dice) -> bool:
    """Hold for three of one face and two of another; five alike is not one."""
    return sorted(dice.count(face) for face in set(dice)) == [2, 3]


def straight(length: int) -> Test:
    """Hold for `length` consecutive faces, whatever the other dice."""
    return lambda dice: any(
        all(face in dice for face in range(lowest, lowest + length)) for lowest in FACES
    )


def exactly(*faces: int) -> Test:
    """Hold for these five faces and no others."""
    return lambda dice: sorted(dice) == sorted(faces)


def flush(dice: Dice) -> bool:
    """Hold for five dice of one colour."""
    return any(all(die in faces for die in dice) for faces in COLORS.values())


def two_pair_same_color(dice: Dice) -> bool:
    """Hold for two pairs of one colour; the pairs share a face only if four are alike."""
    both_faces_paired = any(
        all(dice.count(face) >= 2 for face in faces) for faces in COLORS.values()
    )
    return both_faces_paired or alike(4)(dice)


def kismet_full_house(dice: Dice) -> bool:
    """Hold for a full house, which may be of one face."""
    return full_house(dice) or alike(5)(dice)


def kismet_full_house_same_color(dice: Dice) -> bool:
    """Hold for a full house, which may be of one face, with all dice of one colour."""
    return kismet_full_house(dice) and flush(dice)


# --- What a box scores ------------------------------------------------------------------------


def sum_of_face(face: int) -> Scorer:
    """Score the dice showing `face`."""
    return lambda dice: face * dice.count(face)


def fixed(points: int, test: Test) -> Scorer:
    """Score `points` if the roll qualifies."""
    return lambda dice: points if test(dice) else 0


def sum_of_all(test: Test, plus: int = 0) -> Scorer:
    """Score the sum of all five dice, and `plus` on top, if the roll qualifies."""
    return lambda dice: sum(dice) + plus if test(dice) else 0


def sum_of_alike(count: int) -> Scorer:
    """Score `count` equal dice alone, of the highest face that shows so many."""
    return lambda dice: max(count * face if dice.count(face) >= count else 0 for face in FACES)


def sum_of_two_pairs(dice: Dice) -> int:
    """Score the four dice of two different pairs."""
    paired = [face for face in FACES if dice.count(face) >= 2]
    return 2 * sum(paired) if len(paired) == 2 else 0


# --- The rule sets ----------------------------------------------------------------------------

UPPER: dict[str, Scorer] = {
    "ones": sum_of_face(1),
    "twos": sum_of_face(2),
    "threes": sum_of_face(3),
    "fours": sum_of_face(4),
    "fives": sum_of_face(5),
    "sixes": sum_of_face(6),
}
MATCHING_UPPER = {1: "ones", 2: "twos", 3: "threes", 4: "fours", 5: "fives", 6: "sixes"}

YAHTZEE_BOXES: dict[str, Scorer] = {
    **UPPER,
    "three_of_a_kind": sum_of_all(alike(3)),
    "four_of_a_kind": sum_of_all(alike(4)),
    "full_house": fixed(25, full_house),
    "small_straight": fixed(30, straight(4)),
    "large_straight": fixed(40, straight(5)),
    "yahtzee": fixed(50, alike(5)),
    "chance": sum_of_all(anything),
}

YACHT_BOXES: dict[str, Scorer] = {
    **UPPER,
    "four_of_a_kind": sum_of_all(alike(4)),
    "full_house": sum_of_all(full_house),
    "small_straight": fixed(30, exactly(1, 2, 3, 4, 5)),
    "large_straight": fixed(30, exactly(2, 3, 4, 5, 6)),
    "yacht": fixed(50, alike(5)),
    "choice": sum_of_all(anything),
}

YATZY_BOXES: dict[str, Scorer] = {
    **UPPER,
    "one_pair": sum_of_alike(2),
    "two_pairs": sum_of_two_pairs,
    "three_of_a_kind": sum_of_alike(3),
    "four_of_a_kind": sum_of_alike(4),
    "small_straight": fixed(15, exactly(1, 2, 3, 4, 5)),
    "large_straight": fixed(20, exactly(2, 3, 4, 5, 6)),
    "full_house": sum_of_all(full_house),
    "chance": sum_of_all(anything),
    "yatzy": fixed(50, alike(5)),
}

KISMET_BOXES: dict[str, Scorer] = {
    **UPPER,
    "two_pair_same_color": sum_of_all(two_pair_same_color),
    "three_of_a_kind": sum_of_all(alike(3)),
    "straight": fixed(30, straight(5)),
    "flush": fixed(35, flush),
    "full_house": sum_of_all(kismet_full_house, plus=15),
    "full_house_same_color": sum_of_all(kismet_full_house_same_color, plus=20),
    "four_of_a_kind": sum_of_all(alike(4), plus=25),
    "yarborough": sum_of_all(anything),
    "kismet": sum_of_all(alike(5), plus=50),
}

YAHTZEE_POINTS = 50
EXTRA_YAHTZEE = 100
JOKER_POINTS = {"full_house": 25, "small_straight": 30, "large_straight": 40}


@dataclass(frozen=True)
class Rules:
    """The boxes of a game and whatever goes beyond scoring them."""

    boxes: dict[str, Scorer]
    bonus_steps: dict[int, int]  # upper total to reach -> points this adds
    extra_yahtzees: bool = False  # +100 and the joker
    joker_needs_50: bool = False  # no joker over a 0 in the Yahtzee box
    joker_is_free: bool = False  # a joker may fill any open box
    upper_first: bool = False  # no lower box before the six upper ones


_YAHTZEE = Rules(YAHTZEE_BOXES, bonus_steps={63: 35}, extra_yahtzees=True)

_RULES: dict[str, Rules] = {
    "yahtzee": _YAHTZEE,
    "yahtzee-free-joker": replace(_YAHTZEE, joker_is_free=True),
    "yahtzee-single": replace(_YAHTZEE, extra_yahtzees=False),
    "yahtzee-upper-first": replace(_YAHTZEE, upper_first=True),
    "yahtzee-strict": replace(_YAHTZEE, bonus_steps={64: 35}, joker_needs_50=True),
    "yacht": Rules(YACHT_BOXES, bonus_steps={}),
    "yatzy": Rules(YATZY_BOXES, bonus_steps={63: 50}),
    "kismet": Rules(KISMET_BOXES, bonus_steps={63: 35, 71: 20, 78: 20}),
}

RULESETS: tuple[str, ...] = tuple(_RULES)


def _rules(ruleset: str) -> Rules:
    """Return the rules called `ruleset`."""
    if ruleset not in _RULES:
        raise ValueError(f"unknown rule set: {ruleset!r}")
    return _RULES[ruleset]


def _checked_roll(dice: Dice) -> list[int]:
    """Return the dice sorted; refuse anything but five dice showing 1 to 6."""
    if len(dice) != DICE_PER_ROLL or any(die not in FACES for die in dice):
        raise ValueError(f"not five dice showing 1 to 6: {dice!r}")
    return sorted(int(die) for die in dice)


def boxes(ruleset: str) -> tuple[str, ...]:
    """Return the boxes of a rule set in order, the upper six first."""
    return tuple(_rules(ruleset).boxes)


def score(ruleset: str, box: str, dice: Sequence[int]) -> int:
    """Return the ordinary points of five dice in a box: no joker, no bonuses."""
    if box not in boxes(ruleset):
        raise ValueError(f"no box {box!r} in {ruleset}")
    return _rules(ruleset).boxes[box](_checked_roll(dice))


# --- The game ---------------------------------------------------------------------------------


class ReferenceGame:
    """One player's game; the caller rolls the dice."""

    def __init__(self, ruleset: str, dice: Sequence[int]) -> None:
        """Start a game whose first roll is `dice`."""
        self._rules = _rules(ruleset)
        self.ruleset = ruleset
        self.dice = _checked_roll(dice)
        self.rolls_left = REROLLS_PER_TURN
        self.card: dict[str, int] = {}
        self.extra_bonuses = 0

    # Totals

    @property
    def over(self) -> bool:
        """Tell whether the card is full."""
        return len(self.card) == len(self._rules.boxes)

    @property
    def upper_total(self) -> int:
        """Sum the upper boxes, without the bonus."""
        return sum(points for box, points in self.card.items() if box in UPPER)

    @property
    def upper_bonus(self) -> int:
        """Return the upper bonus paid so far."""
        return self._upper_bonus_at(self.upper_total)

    @property
    def total(self) -> int:
        """Sum the card, the upper bonus and the extra Yahtzees."""
        return sum(self.card.values()) + self.upper_bonus + EXTRA_YAHTZEE * self.extra_bonuses

    def _upper_bonus_at(self, upper_total: int) -> int:
        """Return the whole bonus that belongs to an upper total."""
        steps = self._rules.bonus_steps.items()
        return sum(points for threshold, points in steps if upper_total >= threshold)

    # Five alike

    def is_joker(self) -> bool:
        """Tell whether the dice are five alike while the Yahtzee box is filled.

        Always false without extra Yahtzees; a strict rule set wants a 50 in the box.
        """
        if self._rules.joker_needs_50:
            return self._is_extra_yahtzee()
        return self._rules.extra_yahtzees and self._five_alike() and "yahtzee" in self.card

    def _is_extra_yahtzee(self) -> bool:
        """Tell whether the dice are five alike while the Yahtzee box already holds 50."""
        holds_50 = self.card.get("yahtzee") == YAHTZEE_POINTS
        return self._rules.extra_yahtzees and self._five_alike() and holds_50

    def _five_alike(self) -> bool:
        """Tell whether all five dice are equal."""
        return alike(5)(self.dice)

    # Boxes

    def legal_boxes(self) -> list[str]:
        """Return the boxes that may be filled now, in box order."""
        allowed = [box for box in self._rules.boxes if box not in self.card]
        open_upper = [box for box in allowed if box in UPPER]
        if self._rules.upper_first and open_upper:
            allowed = open_upper
        if self.is_joker() and not self._rules.joker_is_free:
            allowed = self._forced_joker_boxes(allowed)
        return allowed

    def _forced_joker_boxes(self, allowed: list[str]) -> list[str]:
        """Return the matching upper box, else the lower boxes, else the upper ones."""
        matching = MATCHING_UPPER[self.dice[0]]
        if matching in allowed:
            return [matching]
        lower = [box for box in allowed if box not in UPPER]
        return lower or allowed

    def box_points(self, box: str) -> int:
        """Return what the box itself would get now, the joker considered."""
        self._check_box(box)
        matching_is_filled = MATCHING_UPPER[self.dice[0]] in self.card
        if self.is_joker() and matching_is_filled and box in JOKER_POINTS:
            return JOKER_POINTS[box]
        return score(self.ruleset, box, self.dice)

    def reward(self, box: str) -> int:
        """Return the increase of the total if the box were filled now."""
        points = self.box_points(box)
        added_to_upper = points if box in UPPER else 0
        upper_bonus = self._upper_bonus_at(self.upper_total + added_to_upper) - self.upper_bonus
        extra = EXTRA_YAHTZEE if self._is_extra_yahtzee() else 0
        return points + upper_bonus + extra

    def fill(self, box: str, next_dice: Sequence[int] | None) -> int:
        """Fill a box, start the next turn with `next_dice` and return the reward.

        `next_dice` is None exactly when this was the last open box.
        """
        self._check_box(box)
        is_last = len(self.card) + 1 == len(self._rules.boxes)
        if is_last != (next_dice is None):
            raise ValueError("the next roll must be None after the last box, and only then")
        next_roll = self.dice if next_dice is None else _checked_roll(next_dice)

        reward, points = self.reward(box), self.box_points(box)
        if self._is_extra_yahtzee():
            self.extra_bonuses += 1
        self.card[box] = points
        self.dice = next_roll
        self.rolls_left = 0 if is_last else REROLLS_PER_TURN
        return reward

    def _check_box(self, box: str) -> None:
        """Refuse a box that may not be filled now."""
        if box not in self.legal_boxes():
            raise ValueError(f"box {box!r} may not be filled now")

    # Rerolls

    def legal_keeps(self) -> set[tuple[int, ...]]:
        """Return the sorted faces that may be kept for a reroll of at least one die."""
        if self.over or self.rolls_left == 0:
            return set()
        return {kept for size in range(DICE_PER_ROLL) for kept in combinations(self.dice, size)}

    def reroll(self, keep: Sequence[int], new: Sequence[int]) -> None:
        """Keep these faces and let the other dice become `new`."""
        kept = tuple(sorted(keep))
        if kept not in self.legal_keeps():
            raise ValueError(f"may not keep {kept} of {self.dice}, {self.rolls_left} rolls left")
        self.dice = _checked_roll([*kept, *new])
        self.rolls_left -= 1
