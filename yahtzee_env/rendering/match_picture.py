"""A match as a picture: the dice of the player to move, and everybody's card."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.match import Match
from yahtzee_env.rendering.canvas import (
    DICE_BAND_HEIGHT,
    FAINT,
    FILLED_ROW,
    HEADER_HEIGHT,
    INK,
    MARGIN,
    MEDIUM,
    MUTED,
    OFFER,
    PANEL,
    PANEL_PADDING,
    PANEL_RADIUS,
    RULE,
    SMALL,
    WIDTH,
    Canvas,
    draw_dice,
    draw_header,
)
from yahtzee_env.rendering.sheet import SheetRow, gather_sheet

_ROW_HEIGHT = 26
_LABEL_WIDTH = 200


def render_match_rgb(match: Match) -> NDArray[np.uint8]:
    """A match as a picture, (height, width, 3); its size depends on the rule set alone.

    Raises:
        DependencyNotInstalled: without Pillow.
    """
    sheet = gather_sheet(match)
    n_rows = 1 + sum(map(len, sheet.sections))
    top = HEADER_HEIGHT + DICE_BAND_HEIGHT
    height = n_rows * _ROW_HEIGHT + 2 * PANEL_PADDING
    canvas = Canvas(WIDTH, top + height + MARGIN)
    draw_header(canvas, sheet.mover.name, sheet.status, "")
    draw_dice(canvas, sheet.mover)
    canvas.box(MARGIN, top, WIDTH - 2 * MARGIN, height, PANEL, PANEL_RADIUS)
    y = top + PANEL_PADDING
    seats = tuple(f"P{seat}" for seat in range(match.num_players))
    _mark_column(canvas, match, y, height - 2 * PANEL_PADDING)
    _draw_row(canvas, SheetRow("", "", seats), y)
    y += _ROW_HEIGHT
    for section in sheet.sections:
        canvas.box(MARGIN + PANEL_PADDING, y, WIDTH - 2 * (MARGIN + PANEL_PADDING), 1, RULE)
        for row in section:
            _draw_row(canvas, row, y)
            y += _ROW_HEIGHT
    return canvas.pixels()


def _column(seat: int, players: int) -> tuple[float, float]:
    """Where the column of a player begins, and its width."""
    left = MARGIN + PANEL_PADDING + _LABEL_WIDTH
    width = (WIDTH - MARGIN - PANEL_PADDING - left) / players
    return left + seat * width, width


def _mark_column(canvas: Canvas, match: Match, top: float, height: float) -> None:
    """Shade the column of the player to move."""
    if match.seat is not None:
        left, width = _column(match.seat, match.num_players)
        canvas.box(left, top, width, height, FILLED_ROW)


def _draw_row(canvas: Canvas, row: SheetRow, top: float) -> None:
    y = top + _ROW_HEIGHT / 2
    is_sum = not row.code
    canvas.text(MARGIN + 2 * PANEL_PADDING, y, row.label, MEDIUM, MUTED if is_sum else INK)
    for seat, cell in enumerate(row.cells):
        left, width = _column(seat, len(row.cells))
        color = OFFER if cell.startswith("+") else INK
        color = FAINT if cell == "+0" else color
        bold = cell.isdecimal()
        size = MEDIUM if width > 2 * _ROW_HEIGHT else SMALL
        canvas.text(left + width - PANEL_PADDING, y, cell, size, color, "rm", bold)
