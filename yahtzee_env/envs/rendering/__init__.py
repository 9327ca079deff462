"""A game as text and as a picture, both drawn from the same facts."""

from yahtzee_env.envs.rendering.picture import render_rgb
from yahtzee_env.envs.rendering.text import render_ansi

RENDERERS = {"ansi": render_ansi, "rgb_array": render_rgb}
"""The render modes, and what draws game i of `Positions` in each."""

__all__ = ["RENDERERS", "render_ansi", "render_rgb"]
