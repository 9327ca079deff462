"""A game as text and as a picture, both drawn from the same facts."""

from yahtzee_env.rendering.match_picture import render_match_rgb
from yahtzee_env.rendering.picture import render_rgb
from yahtzee_env.rendering.text import render_ansi, render_match_ansi

RENDERERS = {"ansi": render_ansi, "rgb_array": render_rgb}
"""The render modes, and what draws game i of `Positions` in each."""

MATCH_RENDERERS = {"ansi": render_match_ansi, "rgb_array": render_match_rgb}
"""The render modes of a match, and what draws a `Match` in each."""

__all__ = ["MATCH_RENDERERS", "RENDERERS", "render_ansi", "render_rgb"]
