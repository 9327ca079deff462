"""A game or a match as text."""

from __future__ import annotations

from collections.abc import Sequence

from yahtzee_env.dice import N_DICE
from yahtzee_env.game import Positions
from yahtzee_env.match import Match
from yahtzee_env.rendering.facts import (
    Facts,
    Row,
    gather_facts,
    pays_in_words,
    rerolls_in_words,
)
from yahtzee_env.rendering.sheet import gather_sheet

_FACES = " ⚀⚁⚂⚃⚄⚅"
_MIN_LABEL, _CODE, _POINTS, _PAYS = 28, 6, 8, 10
_PLAYER = 10


def render_ansi(games: Positions, i: int) -> str:
    """Game `i` as plain text: the dice, the score card, and what each open box would pay now."""
    facts = gather_facts(games, i)
    labels = [row.label for section in facts.sections for row in section.rows]
    labels += [label for section in facts.sections for label, _ in section.totals]
    width = max(_MIN_LABEL, *map(len, labels))
    lines = [
        *_head_lines(facts, f"score {facts.score}"),
        "",
        _line("action", "box", "points", "pays now", width),
    ]
    for section in facts.sections:
        lines.append("-" * (_CODE + 2 + width + _POINTS + _PAYS))
        lines += [_row_line(row, width) for row in section.rows]
        lines += [_line("", label, str(points), "", width) for label, points in section.totals]
    return "\n".join(lines) + "\n"


def render_match_ansi(match: Match) -> str:
    """A match as plain text: the dice of the player to move and everybody's score card.

    In the column of the player to move, "+25" is what filling an open box would pay now.
    """
    sheet = gather_sheet(match)
    width = max(_MIN_LABEL, *(len(row.label) for rows in sheet.sections for row in rows))
    seats = [f"player_{seat}" for seat in range(match.num_players)]
    lines = [*_head_lines(sheet.mover, sheet.status), "", _cells("action", "box", seats, width)]
    for rows in sheet.sections:
        lines.append("-" * (_CODE + 2 + width + _PLAYER * match.num_players))
        lines += [_cells(row.code, row.label, row.cells, width) for row in rows]
    return "\n".join(lines) + "\n"


def _cells(code: str, label: str, cells: Sequence[str], width: int) -> str:
    columns = "".join(f"{cell:>{_PLAYER}}" for cell in cells)
    return f"{code:>{_CODE}}  {label:<{width}}{columns}".rstrip()


def _head_lines(facts: Facts, status: str) -> list[str]:
    facts_in_words = [facts.name, status, rerolls_in_words(facts)]
    if facts.joker:
        facts_in_words.append("JOKER")
    return [
        " | ".join(facts_in_words),
        "",
        "dice      " + "   ".join(f"{_FACES[face]} {face}" for face in facts.dice),
        "position  " + "   ".join(f"  {position}" for position in range(N_DICE)),
    ]


def _row_line(row: Row, width: int) -> str:
    if row.points is not None:
        return _line(str(row.action), row.label, str(row.points), "", width)
    return _line(str(row.action), row.label, "", pays_in_words(row), width)


def _line(code: str, label: str, points: str, pays: str, width: int) -> str:
    return f"{code:>{_CODE}}  {label:<{width}}{points:>{_POINTS}}{pays:>{_PAYS}}".rstrip()
