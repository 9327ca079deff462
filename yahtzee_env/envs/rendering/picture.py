"""A game as a picture, drawn by Pillow without a screen.

Lengths are in pixels of the picture, which is drawn larger and then reduced, so that all edges are
smooth.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from yahtzee_env.envs.rendering.facts import (
    Facts,
    Row,
    Section,
    gather_facts,
    pays_in_words,
    rerolls_in_words,
)
from yahtzee_env.game import Positions
from yahtzee_env.kernels import REROLLS

if TYPE_CHECKING:
    from PIL import Image, ImageFont

_OVERSAMPLING = 2

_WIDTH, _MARGIN, _GAP = 800, 24, 20
_HEADER_HEIGHT = 76
_DICE_BAND_HEIGHT = 136
_DIE, _DIE_GAP, _DIE_RADIUS, _DIE_TOP = 68, 14, 14, 24
_PIP, _PIP_OFFSET = 7, 19
_SHADOW = 3
_TITLE_HEIGHT, _ROW_HEIGHT, _ROW_INSET, _PANEL_PADDING = 40, 32, 3, 12
_PANEL_RADIUS, _ROW_RADIUS = 14, 8
_VALUE_WIDTH, _LABEL_GAP = 78, 8
_MARKER, _MARKER_GAP = 9, 28
_BADGE_HEIGHT, _BADGE_PADDING = 30, 16

_HUGE, _LARGE, _MEDIUM, _SMALL = 36, 28, 17, 14

_PAGE = "#e9edf2"
_HEADER = "#1f2f46"
_HEADER_TEXT = "#ffffff"
_HEADER_MUTED = "#a9b8cc"
_PANEL = "#ffffff"
_FILLED_ROW = "#e3e9f1"
_INK = "#1f2f46"
_MUTED = "#6b7a90"
_FAINT = "#b6c0cd"
_OFFER = "#2b9a76"
_OFFER_ROW = "#eaf7f2"
_RULE = "#d5dce6"
_DIE_FACE = "#fdfdfd"
_DIE_EDGE = "#bcc6d3"
_DIE_SHADOW = "#cbd3de"
_JOKER_BADGE = "#d98a00"
_OVER_BADGE = "#b3403f"

_CORNERS = ((-1, -1), (1, 1)), ((-1, 1), (1, -1))
_PIPS: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((0, 0),),
    2: _CORNERS[1],
    3: (*_CORNERS[1], (0, 0)),
    4: (*_CORNERS[0], *_CORNERS[1]),
    5: (*_CORNERS[0], *_CORNERS[1], (0, 0)),
    6: (*_CORNERS[0], *_CORNERS[1], (-1, 0), (1, 0)),
}
"""Where each face has its pips, in steps to the right and down from the middle."""


def render_rgb(games: Positions, i: int) -> NDArray[np.uint8]:
    """Game `i` as a picture, (height, width, 3); its size depends on the rule set alone.

    Raises:
        DependencyNotInstalled: without Pillow.
    """
    facts = gather_facts(games, i)
    bodies = max(len(section.rows) + len(section.totals) for section in facts.sections)
    panel_height = _TITLE_HEIGHT + bodies * _ROW_HEIGHT + _PANEL_PADDING
    panels_top = _HEADER_HEIGHT + _DICE_BAND_HEIGHT
    canvas = _Canvas(_WIDTH, panels_top + panel_height + _MARGIN)
    _draw_header(canvas, facts)
    for position, face in enumerate(facts.dice):
        _draw_die(canvas, position, face)
    _draw_turn(canvas, facts)
    n = len(facts.sections)
    width = (_WIDTH - 2 * _MARGIN - (n - 1) * _GAP) // n
    for column, section in enumerate(facts.sections):
        left = _MARGIN + column * (width + _GAP)
        _draw_section(canvas, section, left, panels_top, width, panel_height)
    return canvas.pixels()


class _Canvas:
    """A Pillow picture that is drawn in the pixels of its reduced size."""

    def __init__(self, width: int, height: int) -> None:
        try:
            from PIL import Image, ImageDraw
        except ImportError as error:
            raise DependencyNotInstalled(
                'rgb_array needs Pillow: run `pip install "yahtzee-env[render]"`'
            ) from error
        self._image: Image.Image = Image.new(
            "RGB", (width * _OVERSAMPLING, height * _OVERSAMPLING), _PAGE
        )
        self._draw = ImageDraw.Draw(self._image)

    def box(
        self,
        left: float,
        top: float,
        width: float,
        height: float,
        color: str,
        radius: float = 0,
        edge: str | None = None,
    ) -> None:
        """A filled rectangle with round corners."""
        # Pillow counts the last pixel in.
        corners = [left, top, left + width, top + height]
        x0, y0, x1, y1 = (at * _OVERSAMPLING for at in corners)
        self._draw.rounded_rectangle(
            (x0, y0, x1 - 1, y1 - 1), radius * _OVERSAMPLING, color, edge, _OVERSAMPLING
        )

    def dot(self, x: float, y: float, radius: float, color: str, edge: str | None = None) -> None:
        """A filled circle."""
        x0, y0, x1, y1 = (
            at * _OVERSAMPLING for at in (x - radius, y - radius, x + radius, y + radius)
        )
        self._draw.ellipse((x0, y0, x1, y1), color, edge, _OVERSAMPLING)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        color: str,
        anchor: str = "lm",
        bold: bool = False,
        fit: float = _WIDTH,
    ) -> None:
        """One line of text, its end cut off where it is longer than `fit`."""
        font = _font(size * _OVERSAMPLING)
        if font.getlength(text) > fit * _OVERSAMPLING:
            while text and font.getlength(text + "...") > fit * _OVERSAMPLING:
                text = text[:-1]
            text += "..."
        # The bundled font has one weight; an outline in the same colour makes it bolder.
        self._draw.text(
            (x * _OVERSAMPLING, y * _OVERSAMPLING),
            text,
            color,
            font,
            anchor,
            stroke_width=_OVERSAMPLING // 2 if bold else 0,
        )

    def text_width(self, text: str, size: int) -> float:
        """How wide a text is."""
        return _font(size * _OVERSAMPLING).getlength(text) / _OVERSAMPLING

    def pixels(self) -> NDArray[np.uint8]:
        """The picture at its own size."""
        return np.array(self._image.reduce(_OVERSAMPLING), np.uint8)


@lru_cache(maxsize=16)
def _font(size: int) -> ImageFont.FreeTypeFont:
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def _draw_header(canvas: _Canvas, facts: Facts) -> None:
    middle = _HEADER_HEIGHT / 2
    right = _WIDTH - _MARGIN
    score = str(facts.score)
    canvas.box(0, 0, _WIDTH, _HEADER_HEIGHT, _HEADER)
    canvas.text(right, middle, score, _HUGE, _HEADER_TEXT, "rm", bold=True)
    right -= round(canvas.text_width(score, _HUGE)) + _GAP
    label = "Final score" if facts.over else "Score"
    canvas.text(right, middle, label, _MEDIUM, _HEADER_MUTED, "rm")
    right -= round(canvas.text_width(label, _MEDIUM)) + _GAP
    fit = right - _MARGIN
    canvas.text(_MARGIN, middle, facts.name, _LARGE, _HEADER_TEXT, bold=True, fit=fit)


def _draw_die(canvas: _Canvas, position: int, face: int) -> None:
    left = _MARGIN + position * (_DIE + _DIE_GAP)
    top = _HEADER_HEIGHT + _DIE_TOP
    x, y = left + _DIE / 2, top + _DIE / 2
    canvas.box(left, top + _SHADOW, _DIE, _DIE, _DIE_SHADOW, _DIE_RADIUS)
    canvas.box(left, top, _DIE, _DIE, _DIE_FACE, _DIE_RADIUS, _DIE_EDGE)
    for right, down in _PIPS[face]:
        canvas.dot(x + right * _PIP_OFFSET, y + down * _PIP_OFFSET, _PIP, _INK)
    canvas.text(x, top + _DIE + _GAP, str(position), _SMALL, _MUTED, "mm")


def _draw_turn(canvas: _Canvas, facts: Facts) -> None:
    """To the right of the dice: the rerolls left, and a badge for a joker or the end."""
    right = _WIDTH - _MARGIN
    y = _HEADER_HEIGHT + _DIE_TOP + _BADGE_HEIGHT / 2
    if facts.over:
        _draw_badge(canvas, right, y, "GAME OVER", _OVER_BADGE)
        return
    for n in range(REROLLS):
        color = _OFFER if n < facts.rolls_left else _PAGE
        edge = _OFFER if n < facts.rolls_left else _FAINT
        x = right - _MARKER - (REROLLS - 1 - n) * _MARKER_GAP
        canvas.dot(x, y, _MARKER, color, edge)
    text_right = right - REROLLS * _MARKER_GAP
    canvas.text(text_right, y, rerolls_in_words(facts).capitalize(), _MEDIUM, _INK, "rm")
    if facts.joker:
        _draw_badge(canvas, right, y + _DIE - _BADGE_HEIGHT, "JOKER", _JOKER_BADGE)


def _draw_badge(canvas: _Canvas, right: float, y: float, text: str, color: str) -> None:
    width = canvas.text_width(text, _SMALL) + 2 * _BADGE_PADDING
    left, top = right - width, y - _BADGE_HEIGHT / 2
    canvas.box(left, top, width, _BADGE_HEIGHT, color, _BADGE_HEIGHT / 2)
    canvas.text(left + width / 2, y, text, _SMALL, _HEADER_TEXT, "mm", bold=True)


def _draw_section(
    canvas: _Canvas, section: Section, left: int, top: int, width: int, height: int
) -> None:
    canvas.box(left, top, width, height, _PANEL, _PANEL_RADIUS)
    left, width = left + _PANEL_PADDING, width - 2 * _PANEL_PADDING
    y = top + _TITLE_HEIGHT / 2
    canvas.text(left + _PANEL_PADDING, y, section.title, _SMALL, _MUTED)
    for n, row in enumerate(section.rows):
        _draw_row(canvas, row, left, top + _TITLE_HEIGHT + n * _ROW_HEIGHT, width)
    top += height - _PANEL_PADDING - len(section.totals) * _ROW_HEIGHT
    if section.totals:
        canvas.box(left, top, width, 1, _RULE)
    for n, (label, points) in enumerate(section.totals):
        y = top + (n + 0.5) * _ROW_HEIGHT
        _draw_entry(canvas, left, y, width, label, str(points), _MUTED, _INK)


def _draw_row(canvas: _Canvas, row: Row, left: int, top: int, width: int) -> None:
    y, inner = top + _ROW_HEIGHT / 2, _ROW_HEIGHT - 2 * _ROW_INSET
    if row.points is not None:
        canvas.box(left, top + _ROW_INSET, width, inner, _FILLED_ROW, _ROW_RADIUS)
        _draw_entry(canvas, left, y, width, row.label, str(row.points), _INK, _INK)
    elif row.pays is None:
        _draw_entry(canvas, left, y, width, row.label, pays_in_words(row), _FAINT, _FAINT)
    else:
        value_left = left + width - _VALUE_WIDTH
        if row.pays:
            canvas.box(value_left, top + _ROW_INSET, _VALUE_WIDTH, inner, _OFFER_ROW, _ROW_RADIUS)
        color = _OFFER if row.pays else _MUTED
        _draw_entry(canvas, left, y, width, row.label, pays_in_words(row), _INK, color)


def _draw_entry(
    canvas: _Canvas,
    left: int,
    y: float,
    width: int,
    label: str,
    value: str,
    label_color: str,
    value_color: str,
) -> None:
    fit = width - _VALUE_WIDTH - _PANEL_PADDING - _LABEL_GAP
    # Points that are won stand out from offers, which have a sign.
    bold = value.isdecimal()
    canvas.text(left + _PANEL_PADDING, y, label, _MEDIUM, label_color, fit=fit)
    right = left + width - _PANEL_PADDING
    canvas.text(right, y, value, _MEDIUM, value_color, "rm", bold)
