"""A plain referee of matches, from docs/rules.md alone: turn order, totals, winners, payoff."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from reference_game import ReferenceGame

Dice = Sequence[int]


def starter_of(players: int, rounds: Sequence[Mapping[int, Dice]]) -> int:
    """Who starts after these rounds of a roll-off; refuses rounds that the rules do not have."""
    rolling = set(range(players))
    for rolls in rounds:
        assert len(rolling) > 1, "nobody is tied any more"
        assert set(rolls) == rolling, "all tied leaders roll, and nobody else"
        sums = {seat: sum(dice) for seat, dice in rolls.items()}
        rolling = {seat for seat in sums if sums[seat] == max(sums.values())}
    assert len(rolling) == 1, "leaders are still tied"
    return rolling.pop()


class ReferenceMatch:
    """Several players' games; the caller rolls the dice and says who does what."""

    def __init__(self, ruleset: str, first_rolls: Sequence[Dice], starter: int) -> None:
        """Start a match in which the seats' first turns begin with `first_rolls`."""
        self.games = [ReferenceGame(ruleset, dice) for dice in first_rolls]
        self.to_move = starter

    @property
    def over(self) -> bool:
        """Tell whether every card is full."""
        return all(game.over for game in self.games)

    def reroll(self, seat: int, keep: Dice, new: Dice) -> None:
        """Let a player keep some dice and roll the others again."""
        self._check_turn(seat)
        self.games[seat].reroll(keep, new)

    def fill(self, seat: int, box: str, next_dice: Dice | None) -> int:
        """Let a player fill a box, which ends the turn; return the points gained."""
        self._check_turn(seat)
        points = self.games[seat].fill(box, next_dice)
        self.to_move = seat + 1 if seat + 1 < len(self.games) else 0
        return points

    def _check_turn(self, seat: int) -> None:
        assert not self.over, "the match is over"
        assert seat == self.to_move, f"it is the turn of seat {self.to_move}, not of {seat}"

    @property
    def totals(self) -> list[int]:
        """Sum each player's points."""
        return [game.total for game in self.games]

    @property
    def winners(self) -> set[int]:
        """Return everybody with the highest total."""
        return {seat for seat, total in enumerate(self.totals) if total == max(self.totals)}

    def payoff(self, seat: int) -> Fraction:
        """Return what a player earns by the outcome."""
        n, w = len(self.games), len(self.winners)
        if seat in self.winners:
            return (Fraction(n, w) - 1) / (n - 1)
        return Fraction(-1, n - 1)
