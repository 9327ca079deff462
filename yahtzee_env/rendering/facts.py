"""What a drawing of a game shows, the same for text and picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from yahtzee_env.dice import N_HOLDS
from yahtzee_env.game import Positions, State


@dataclass(frozen=True)
class Row:
    """One box of the score card.

    Attributes:
        action: the code that fills the box.
        label: its name in words.
        points: the points in it, None while it is open.
        pays: what filling it now would pay, bonuses included; None where that is illegal.
    """

    action: int
    label: str
    points: int | None
    pays: int | None


@dataclass(frozen=True)
class Section:
    """The upper or the lower boxes, and sums that belong to them as pairs (label, points)."""

    title: str
    rows: tuple[Row, ...]
    totals: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Facts:
    """What a drawing of a game shows; bit i of a hold code is `dice[i]`, which are sorted."""

    name: str
    dice: tuple[int, ...]
    rolls_left: int
    score: int
    joker: bool
    over: bool
    sections: tuple[Section, ...]


def gather_facts(games: Positions, i: int) -> Facts:
    """The facts of game `i`, which stays as it is."""
    game = games.select(np.array([i]))
    state, over = game.state(), bool(game.over[0])
    return Facts(
        name=" ".join(game.ruleset.name.split()),
        dice=state.dice,
        rolls_left=state.rolls_left,
        score=int(game.records["score"][0]),
        joker=not over and bool(game.jokers()[0]),
        over=over,
        sections=_sections(game, state),
    )


def _sections(game: Positions, state: State) -> tuple[Section, ...]:
    pays = [None if points < 0 else points for points in game.payments()[0].tolist()]
    upper: list[Row] = []
    lower: list[Row] = []
    for k, box in enumerate(game.ruleset.boxes):
        row = Row(N_HOLDS + k, _in_words(box.name), state.card.get(box.name), pays[k])
        (upper if box.face else lower).append(row)
    sections = (
        Section("Upper boxes", tuple(upper), _upper_totals(game, state, upper)),
        Section("Lower boxes", tuple(lower), _extra_total(game, state)),
    )
    return tuple(section for section in sections if section.rows)


def _upper_totals(game: Positions, state: State, rows: list[Row]) -> tuple[tuple[str, int], ...]:
    """The upper total and bonus, and how far the next bonus step is while it can be reached."""
    steps = game.ruleset.bonus_steps
    total, score = int(game.records["upper"][0]), int(game.records["score"][0])
    if not steps:
        return (("Upper total", total),)
    bonus = score - sum(state.card.values()) - state.extra_bonuses * game.ruleset.extra_bonus
    to_come = [step for step in steps if step[0] > total]
    if not to_come or all(row.points is not None for row in rows):
        return (("Upper total", total), ("Upper bonus", bonus))
    at, pays = to_come[0]
    return (
        (f"Upper total ({at - total} short of {at})", total),
        (f"Upper bonus (+{pays} at {at})", bonus),
    )


def _extra_total(game: Positions, state: State) -> tuple[tuple[str, int], ...]:
    rules = game.ruleset
    if not rules.five_alike_box or not rules.extra_bonus:
        return ()
    name = rules.five_alike_box.replace("_", " ")
    label = f"Extra {name} bonus ({state.extra_bonuses} x {rules.extra_bonus})"
    return ((label, state.extra_bonuses * rules.extra_bonus),)


def _in_words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def rerolls_in_words(facts: Facts) -> str:
    """Such as "1 reroll left", or "game over"."""
    if facts.over:
        return "game over"
    return f"{facts.rolls_left or 'no'} reroll{'' if facts.rolls_left == 1 else 's'} left"


def pays_in_words(row: Row) -> str:
    """Such as "+25", or "not now" for an open box that may not be filled."""
    return "not now" if row.pays is None else f"+{row.pays}"
