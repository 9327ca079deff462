"""A game as a picture, drawn by Pillow without a screen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.game import Positions
from yahtzee_env.rendering.canvas import (
    DICE_BAND_HEIGHT,
    FAINT,
    FILLED_ROW,
    GAP,
    HEADER_HEIGHT,
    INK,
    LABEL_GAP,
    MARGIN,
    MEDIUM,
    MUTED,
    OFFER,
    OFFER_ROW,
    PANEL,
    PANEL_PADDING,
    PANEL_RADIUS,
    ROW_HEIGHT,
    ROW_INSET,
    ROW_RADIUS,
    RULE,
    SMALL,
    TITLE_HEIGHT,
    VALUE_WIDTH,
    WIDTH,
    Canvas,
    draw_dice,
    draw_header,
)
from yahtzee_env.rendering.facts import Row, Section, gather_facts, pays_in_words


def render_rgb(games: Positions, i: int) -> NDArray[np.uint8]:
    """Game `i` as a picture, (height, width, 3); its size depends on the rule set alone.

    Raises:
        DependencyNotInstalled: without Pillow.
    """
    facts = gather_facts(games, i)
    bodies = max(len(section.rows) + len(section.totals) for section in facts.sections)
    panel_height = TITLE_HEIGHT + bodies * ROW_HEIGHT + PANEL_PADDING
    panels_top = HEADER_HEIGHT + DICE_BAND_HEIGHT
    canvas = Canvas(WIDTH, panels_top + panel_height + MARGIN)
    draw_header(canvas, facts.name, "Final score" if facts.over else "Score", str(facts.score))
    draw_dice(canvas, facts)
    n = len(facts.sections)
    width = (WIDTH - 2 * MARGIN - (n - 1) * GAP) // n
    for column, section in enumerate(facts.sections):
        left = MARGIN + column * (width + GAP)
        _draw_section(canvas, section, left, panels_top, width, panel_height)
    return canvas.pixels()


def _draw_section(
    canvas: Canvas, section: Section, left: int, top: int, width: int, height: int
) -> None:
    canvas.box(left, top, width, height, PANEL, PANEL_RADIUS)
    left, width = left + PANEL_PADDING, width - 2 * PANEL_PADDING
    y = top + TITLE_HEIGHT / 2
    canvas.text(left + PANEL_PADDING, y, section.title, SMALL, MUTED)
    for n, row in enumerate(section.rows):
        _draw_row(canvas, row, left, top + TITLE_HEIGHT + n * ROW_HEIGHT, width)
    top += height - PANEL_PADDING - len(section.totals) * ROW_HEIGHT
    if section.totals:
        canvas.box(left, top, width, 1, RULE)
    for n, (label, points) in enumerate(section.totals):
        y = top + (n + 0.5) * ROW_HEIGHT
        _draw_entry(canvas, left, y, width, label, str(points), MUTED, INK)


def _draw_row(canvas: Canvas, row: Row, left: int, top: int, width: int) -> None:
    y, inner = top + ROW_HEIGHT / 2, ROW_HEIGHT - 2 * ROW_INSET
    if row.points is not None:
        canvas.box(left, top + ROW_INSET, width, inner, FILLED_ROW, ROW_RADIUS)
        _draw_entry(canvas, left, y, width, row.label, str(row.points), INK, INK)
    elif row.pays is None:
        _draw_entry(canvas, left, y, width, row.label, pays_in_words(row), FAINT, FAINT)
    else:
        value_left = left + width - VALUE_WIDTH
        if row.pays:
            canvas.box(value_left, top + ROW_INSET, VALUE_WIDTH, inner, OFFER_ROW, ROW_RADIUS)
        color = OFFER if row.pays else MUTED
        _draw_entry(canvas, left, y, width, row.label, pays_in_words(row), INK, color)


def _draw_entry(
    canvas: Canvas,
    left: int,
    y: float,
    width: int,
    label: str,
    value: str,
    label_color: str,
    value_color: str,
) -> None:
    fit = width - VALUE_WIDTH - PANEL_PADDING - LABEL_GAP
    # Points that are won stand out from offers, which have a sign.
    bold = value.isdecimal()
    canvas.text(left + PANEL_PADDING, y, label, MEDIUM, label_color, fit=fit)
    right = left + width - PANEL_PADDING
    canvas.text(right, y, value, MEDIUM, value_color, "rm", bold)
