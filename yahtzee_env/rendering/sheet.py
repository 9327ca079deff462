"""What a picture of a match shows: all cards next to each other, and the dice of the mover."""

from __future__ import annotations

from dataclasses import dataclass

from yahtzee_env.match import Match
from yahtzee_env.rendering.facts import Facts, Row, gather_facts


@dataclass(frozen=True)
class SheetRow:
    """One line of the sheet.

    Attributes:
        code: the action that fills the box, as text; empty for a sum.
        label: the box or the sum in words.
        cells: one text a player: points, what filling would pay now ("+25"), or nothing.
    """

    code: str
    label: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Sheet:
    """The facts of a match.

    Attributes:
        mover: the facts of the game of the player to move, or of the starter when all is over.
        status: whose turn it is, or who has won.
        sections: upper boxes, lower boxes and totals, each with its sums.
    """

    mover: Facts
    status: str
    sections: tuple[tuple[SheetRow, ...], ...]


def gather_sheet(match: Match) -> Sheet:
    """The facts of a match, without the dice of players who wait."""
    games = [gather_facts(game, 0) for game in match.games]
    mover = games[match.first if match.seat is None else match.seat]
    sections = [_section(match, games, n) for n in range(len(mover.sections))]
    total = SheetRow("", "Total", tuple(str(game.score) for game in games))
    return Sheet(mover, _status(match), (*sections, (total,)))


def _status(match: Match) -> str:
    if match.seat is not None:
        return f"player_{match.seat} to move"
    names = " and ".join(f"player_{seat}" for seat in match.winners)
    if match.num_players == 1 or not names:
        return "match over"
    return f"{names} {'wins' if len(match.winners) == 1 else 'share the win'}"


def _section(match: Match, games: list[Facts], n: int) -> tuple[SheetRow, ...]:
    sections = [game.sections[n] for game in games]
    rows = [
        SheetRow(
            str(rows[0].action),
            rows[0].label,
            tuple(_cell(row, seat == match.seat) for seat, row in enumerate(rows)),
        )
        for rows in zip(*(section.rows for section in sections), strict=True)
    ]
    for totals in zip(*(section.totals for section in sections), strict=True):
        # How far one player is from a bonus step, in brackets, does not hold for all.
        label = totals[0][0].partition(" (")[0]
        rows.append(SheetRow("", label, tuple(str(points) for _, points in totals)))
    return tuple(rows)


def _cell(row: Row, moves: bool) -> str:
    if row.points is not None:
        return str(row.points)
    return f"+{row.pays}" if moves and row.pays is not None else ""
