"""What the pictures share: a canvas, the colours, the dice, and the line above them.

Lengths are in pixels of the picture, which is drawn larger and then reduced, so that all edges are
smooth.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from yahtzee_env.kernels import REROLLS
from yahtzee_env.rendering.facts import Facts, rerolls_in_words

if TYPE_CHECKING:
    from PIL import Image, ImageFont

OVERSAMPLING = 2

WIDTH, MARGIN, GAP = 800, 24, 20
HEADER_HEIGHT = 76
DICE_BAND_HEIGHT = 136
DIE, DIE_GAP, DIE_RADIUS, DIE_TOP = 68, 14, 14, 24
PIP, PIP_OFFSET = 7, 19
SHADOW = 3
TITLE_HEIGHT, ROW_HEIGHT, ROW_INSET, PANEL_PADDING = 40, 32, 3, 12
PANEL_RADIUS, ROW_RADIUS = 14, 8
VALUE_WIDTH, LABEL_GAP = 78, 8
MARKER, MARKER_GAP = 9, 28
BADGE_HEIGHT, BADGE_PADDING = 30, 16

HUGE, LARGE, MEDIUM, SMALL = 36, 28, 17, 14

PAGE = "#e9edf2"
HEADER = "#1f2f46"
HEADER_TEXT = "#ffffff"
HEADER_MUTED = "#a9b8cc"
PANEL = "#ffffff"
FILLED_ROW = "#e3e9f1"
INK = "#1f2f46"
MUTED = "#6b7a90"
FAINT = "#b6c0cd"
OFFER = "#2b9a76"
OFFER_ROW = "#eaf7f2"
RULE = "#d5dce6"
DIE_FACE = "#fdfdfd"
DIE_EDGE = "#bcc6d3"
DIE_SHADOW = "#cbd3de"
JOKER_BADGE = "#d98a00"
OVER_BADGE = "#b3403f"

CORNERS = ((-1, -1), (1, 1)), ((-1, 1), (1, -1))
PIPS: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((0, 0),),
    2: CORNERS[1],
    3: (*CORNERS[1], (0, 0)),
    4: (*CORNERS[0], *CORNERS[1]),
    5: (*CORNERS[0], *CORNERS[1], (0, 0)),
    6: (*CORNERS[0], *CORNERS[1], (-1, 0), (1, 0)),
}
"""Where each face has its pips, in steps to the right and down from the middle."""


class Canvas:
    """A Pillow picture that is drawn in the pixels of its reduced size."""

    def __init__(self, width: int, height: int) -> None:
        try:
            from PIL import Image, ImageDraw
        except ImportError as error:
            raise DependencyNotInstalled(
                'rgb_array needs Pillow: run `pip install "yahtzee-env[render]"`'
            ) from error
        self._image: Image.Image = Image.new(
            "RGB", (width * OVERSAMPLING, height * OVERSAMPLING), PAGE
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
        x0, y0, x1, y1 = (at * OVERSAMPLING for at in corners)
        self._draw.rounded_rectangle(
            (x0, y0, x1 - 1, y1 - 1), radius * OVERSAMPLING, color, edge, OVERSAMPLING
        )

    def dot(self, x: float, y: float, radius: float, color: str, edge: str | None = None) -> None:
        """A filled circle."""
        x0, y0, x1, y1 = (
            at * OVERSAMPLING for at in (x - radius, y - radius, x + radius, y + radius)
        )
        self._draw.ellipse((x0, y0, x1, y1), color, edge, OVERSAMPLING)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        color: str,
        anchor: str = "lm",
        bold: bool = False,
        fit: float = WIDTH,
    ) -> None:
        """One line of text, its end cut off where it is longer than `fit`."""
        font = _font(size * OVERSAMPLING)
        if font.getlength(text) > fit * OVERSAMPLING:
            while text and font.getlength(text + "...") > fit * OVERSAMPLING:
                text = text[:-1]
            text += "..."
        # The bundled font has one weight; an outline in the same colour makes it bolder.
        self._draw.text(
            (x * OVERSAMPLING, y * OVERSAMPLING),
            text,
            color,
            font,
            anchor,
            stroke_width=OVERSAMPLING // 2 if bold else 0,
        )

    def text_width(self, text: str, size: int) -> float:
        """How wide a text is."""
        return _font(size * OVERSAMPLING).getlength(text) / OVERSAMPLING

    def pixels(self) -> NDArray[np.uint8]:
        """The picture at its own size."""
        return np.array(self._image.reduce(OVERSAMPLING), np.uint8)


@lru_cache(maxsize=16)
def _font(size: int) -> ImageFont.FreeTypeFont:
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def draw_header(canvas: Canvas, title: str, label: str, value: str) -> None:
    """The line at the top: the title on the left, a labelled value on the right."""
    middle = HEADER_HEIGHT / 2
    right = WIDTH - MARGIN
    canvas.box(0, 0, WIDTH, HEADER_HEIGHT, HEADER)
    canvas.text(right, middle, value, HUGE, HEADER_TEXT, "rm", bold=True)
    right -= round(canvas.text_width(value, HUGE)) + GAP if value else 0
    canvas.text(right, middle, label, MEDIUM, HEADER_MUTED, "rm")
    right -= round(canvas.text_width(label, MEDIUM)) + GAP
    fit = right - MARGIN
    canvas.text(MARGIN, middle, title, LARGE, HEADER_TEXT, bold=True, fit=fit)


def draw_dice(canvas: Canvas, facts: Facts) -> None:
    """The dice with their positions, and to their right the rerolls left or the end."""
    for position, face in enumerate(facts.dice):
        _draw_die(canvas, position, face)
    _draw_turn(canvas, facts)


def _draw_die(canvas: Canvas, position: int, face: int) -> None:
    left = MARGIN + position * (DIE + DIE_GAP)
    top = HEADER_HEIGHT + DIE_TOP
    x, y = left + DIE / 2, top + DIE / 2
    canvas.box(left, top + SHADOW, DIE, DIE, DIE_SHADOW, DIE_RADIUS)
    canvas.box(left, top, DIE, DIE, DIE_FACE, DIE_RADIUS, DIE_EDGE)
    for right, down in PIPS[face]:
        canvas.dot(x + right * PIP_OFFSET, y + down * PIP_OFFSET, PIP, INK)
    canvas.text(x, top + DIE + GAP, str(position), SMALL, MUTED, "mm")


def _draw_turn(canvas: Canvas, facts: Facts) -> None:
    """To the right of the dice: the rerolls left, and a badge for a joker or the end."""
    right = WIDTH - MARGIN
    y = HEADER_HEIGHT + DIE_TOP + BADGE_HEIGHT / 2
    if facts.over:
        _draw_badge(canvas, right, y, "GAME OVER", OVER_BADGE)
        return
    for n in range(REROLLS):
        color = OFFER if n < facts.rolls_left else PAGE
        edge = OFFER if n < facts.rolls_left else FAINT
        x = right - MARKER - (REROLLS - 1 - n) * MARKER_GAP
        canvas.dot(x, y, MARKER, color, edge)
    text_right = right - REROLLS * MARKER_GAP
    canvas.text(text_right, y, rerolls_in_words(facts).capitalize(), MEDIUM, INK, "rm")
    if facts.joker:
        _draw_badge(canvas, right, y + DIE - BADGE_HEIGHT, "JOKER", JOKER_BADGE)


def _draw_badge(canvas: Canvas, right: float, y: float, text: str, color: str) -> None:
    width = canvas.text_width(text, SMALL) + 2 * BADGE_PADDING
    left, top = right - width, y - BADGE_HEIGHT / 2
    canvas.box(left, top, width, BADGE_HEIGHT, color, BADGE_HEIGHT / 2)
    canvas.text(left + width / 2, y, text, SMALL, HEADER_TEXT, "mm", bold=True)
