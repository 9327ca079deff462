"""Expectations over dice in plain Python, by listing what the dice can show.

Nothing of the package is used, so that its solver and evaluation can be checked against this.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations, product

Roll = tuple[int, ...]
FACES = range(1, 7)


@cache
def throws(n: int) -> dict[Roll, float]:
    """The chance of each result, sorted, of throwing n dice."""
    counts = Counter(tuple(sorted(dice)) for dice in product(FACES, repeat=n))
    return {dice: count / 6**n for dice, count in counts.items()}


ROLLS = list(throws(5))


@cache
def outcomes(keep: Roll) -> dict[Roll, float]:
    """The chance of each roll that a kept set can become."""
    return {tuple(sorted(keep + new)): p for new, p in throws(5 - len(keep)).items()}


@cache
def keeps(roll: Roll) -> list[Roll]:
    """The different sets of dice that can be kept of a roll, all five included."""
    return sorted({kept for size in range(6) for kept in combinations(roll, size)})


def mean(values: Mapping[Roll, float], keep: Roll = ()) -> float:
    """The expectation of a value of rolls after keeping some dice and throwing the others."""
    return sum(p * values[roll] for roll, p in outcomes(keep).items())


def with_reroll(values: Mapping[Roll, float]) -> dict[Roll, float]:
    """The value of each roll with one more reroll than `values` are for."""
    of_keep = {
        keep: mean(values, keep) for keep in {keep for roll in ROLLS for keep in keeps(roll)}
    }
    return {roll: max(of_keep[keep] for keep in keeps(roll)) for roll in ROLLS}


def turn_value(fill_value: Callable[[Roll], float]) -> float:
    """The value of a turn, from the value of filling the best box with each roll."""
    values = {roll: fill_value(roll) for roll in ROLLS}
    return mean(with_reroll(with_reroll(values)))


class SmallGame:
    """A game of few boxes, solved by going through every card.

    `boxes` maps names to scoring functions of the sorted roll; `upper` names the boxes that count
    for the `bonus` steps; five alike earn `extra` while `kind_box` holds points, and then, with
    `forced`, must fill the upper box of their face, else a lower one, if one is open.
    """

    def __init__(
        self,
        boxes: Mapping[str, Callable[[Roll], int]],
        upper: Sequence[str] = (),
        bonus: Mapping[int, int] | None = None,
        kind_box: str = "",
        extra: int = 0,
        upper_first: bool = False,
        forced: Mapping[int, str] | None = None,
    ) -> None:
        self.boxes, self.upper, self.bonus = boxes, upper, bonus or {}
        self.kind_box, self.extra, self.upper_first = kind_box, extra, upper_first
        self.forced = forced or {}
        self.known: dict[tuple[frozenset[str], int, bool], float] = {}

    def start_value(self) -> float:
        """The expected score of the best player."""
        return self.value(frozenset(self.boxes), 0, False)

    def value(self, still_open: frozenset[str], total: int, kind: bool) -> float:
        """The points to come from the start of a turn."""
        card = (still_open, total, kind)
        if still_open and card not in self.known:
            self.known[card] = turn_value(
                lambda roll: max(
                    self.fill_value(roll, box, *card) for box in self.legal(roll, still_open, kind)
                )
            )
        return self.known[card] if still_open else 0.0

    def legal(self, roll: Roll, still_open: frozenset[str], kind: bool) -> frozenset[str]:
        """The boxes that may be filled."""
        upper = still_open & set(self.upper)
        if self.forced and kind and len(set(roll)) == 1:
            return still_open & {self.forced[roll[0]]} or still_open - upper or still_open
        return upper if self.upper_first and upper else still_open

    def fill_value(
        self, roll: Roll, box: str, still_open: frozenset[str], total: int, kind: bool
    ) -> float:
        """The points for filling a box, and those to come."""
        points = self.boxes[box](roll)
        after = total + points if box in self.upper else total
        steps = sum(pays for at, pays in self.bonus.items() if total < at <= after)
        extra = self.extra if kind and len(set(roll)) == 1 else 0
        kind = kind or (box == self.kind_box and points > 0)
        return points + steps + extra + self.value(still_open - {box}, after, kind)
