"""Matches of several players: who starts, whose turn it is, who wins, and what winning pays.

Each player has a card and dice of their own. The players take turns in seat order until every card
is full, so all have the same number of turns; the highest total wins, and equal totals share the
win. See "Several players" in docs/rules.md.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import N_DICE, N_FACES, N_HOLDS
from yahtzee_env.family import get_ruleset
from yahtzee_env.game import Games
from yahtzee_env.kernels import GAME
from yahtzee_env.rules import Ruleset

MAX_PLAYERS = 10

ROLL_OFF = "roll-off"
"""The starter that is decided by dice."""

PUBLIC = ("score", "filled", "upper", "five_scored", "extra_bonuses", "scores")
"""The fields of a `kernels.GAME` record that opponents see: the card, but no dice."""

CARD = np.dtype([(name, GAME[name]) for name in PUBLIC], align=True)
"""What opponents see of a game."""

RollOff = tuple[Mapping[int, tuple[int, ...]], ...]
"""The rounds of a roll-off: in each, the five dice of every seat that rolled."""


def public_cards(records: NDArray[np.void]) -> NDArray[np.void]:
    """Copies of the public part of `kernels.GAME` records, as `CARD` records of the same shape."""
    cards = np.empty(records.shape, CARD)
    for name in PUBLIC:
        cards[name] = records[name]
    return cards


def winners(totals: NDArray[Any]) -> NDArray[np.bool_]:
    """Who wins, bool of the shape of `totals`, (..., players): all who share the highest total."""
    won: NDArray[np.bool_] = totals == totals.max(axis=-1, keepdims=True)
    return won


def payoffs(totals: NDArray[Any]) -> NDArray[np.float64]:
    """What each player earns by the outcome, float64 of the shape of `totals`, (..., players).

    Of n players with w winners, each winner earns (n/w - 1)/(n - 1) and each loser -1/(n - 1); the
    sum is zero. For two players that is 1, 0 for a tie, and -1.

    Raises:
        ValueError: for fewer than two players.
    """
    n = totals.shape[-1]
    if n < 2:
        raise ValueError("the outcome is defined for at least two players")
    won = winners(totals)
    shares = won / won.sum(axis=-1, keepdims=True)
    earned: NDArray[np.float64] = (n * shares - 1) / (n - 1)
    return earned


def roll_off(num_players: int, rng: np.random.Generator) -> tuple[int, RollOff]:
    """Decide who starts: the highest sum of five dice, and tied leaders roll again.

    Returns:
        The seat that starts, and the rolls of each round.
    """
    leaders = list(range(num_players))
    rounds = []
    while len(leaders) > 1:
        dice = rng.integers(1, N_FACES + 1, (len(leaders), N_DICE)).tolist()
        rolls = {seat: tuple(sorted(roll)) for seat, roll in zip(leaders, dice, strict=True)}
        highest = max(map(sum, rolls.values()))
        leaders = [seat for seat in leaders if sum(rolls[seat]) == highest]
        rounds.append(rolls)
    return leaders[0], tuple(rounds)


class Match:
    """One match, from the roll-off to the payoff.

    The first roll of a turn is thrown when the player's turn before it ends. Others may see
    `public_cards`, which hold no dice.

    Attributes:
        ruleset: the rules.
        num_players: how many play, 1 to 10.
        starter: "roll-off", or the seat that starts every match.
        games: for each seat, `Games` of one game.
        roll_off: the rolls that decided who started; empty where `starter` is a seat.
        first: the seat that started.
        seat: the seat to move; None before the start and after the end.

    Raises:
        ValueError: for an unknown rule set, number of players or starter.
    """

    def __init__(
        self,
        num_players: int = 2,
        ruleset: str | Ruleset | Mapping[str, Any] = "yahtzee",
        starter: int | str = ROLL_OFF,
    ) -> None:
        self.ruleset = get_ruleset(ruleset)
        self.num_players = _checked_players(num_players)
        self.starter = _checked_starter(starter, self.num_players)
        self.games = tuple(Games(self.ruleset, 1) for _ in range(self.num_players))
        self.roll_off: RollOff = ()
        self.first = 0
        self.seat: int | None = None

    def start(self, rng: np.random.Generator) -> None:
        """Begin a match; all its dice follow from `rng`, which is not needed afterwards."""
        if self.starter == ROLL_OFF:
            self.first, self.roll_off = roll_off(self.num_players, rng)
        else:
            self.first = int(self.starter)
        for game in self.games:
            game.seed(rng)
            game.start()
        self.seat = self.first

    def play(self, action: int) -> int:
        """Carry out an action of the player to move; returns the points gained.

        Raises:
            ValueError: if no match is running or the action is illegal; then nothing has changed.
        """
        if self.seat is None:
            raise ValueError("no match is running: call start first")
        gained = self.games[self.seat].play(np.array([action]))
        if action >= N_HOLDS:
            following = (self.seat + 1) % self.num_players
            self.seat = None if self.games[following].over[0] else following
        return int(gained[0])

    @property
    def over(self) -> bool:
        """Whether every card is full."""
        return all(bool(game.over[0]) for game in self.games)

    @property
    def totals(self) -> NDArray[np.int64]:
        """(players,) int64: the points of each seat so far."""
        return np.array([game.records["score"][0] for game in self.games], np.int64)

    @property
    def winners(self) -> tuple[int, ...]:
        """The seats that win or share the win; empty until the match is over."""
        return tuple(np.flatnonzero(winners(self.totals)).tolist()) if self.over else ()

    @property
    def payoffs(self) -> NDArray[np.float64]:
        """(players,) float64: see `payoffs`; zeros until the match is over.

        Raises:
            ValueError: when a match of one player is over.
        """
        return payoffs(self.totals) if self.over else np.zeros(self.num_players)

    def opponents(self, seat: int) -> NDArray[np.void]:
        """(players - 1,) `CARD` records of the others, whoever moves next after `seat` first."""
        order = [(seat + after) % self.num_players for after in range(1, self.num_players)]
        records = np.array([self.games[other].records[0] for other in order], GAME)
        return public_cards(records)


def _checked_players(number: Any) -> int:
    if hasattr(number, "__index__") and 1 <= operator.index(number) <= MAX_PLAYERS:
        return operator.index(number)
    raise ValueError(f"num_players must be a whole number from 1 to {MAX_PLAYERS}, not {number!r}")


def _checked_starter(starter: Any, num_players: int) -> int | str:
    if isinstance(starter, str) and starter == ROLL_OFF:
        return starter
    if hasattr(starter, "__index__") and 0 <= operator.index(starter) < num_players:
        return operator.index(starter)
    raise ValueError(
        f"starter must be {ROLL_OFF!r} or a seat from 0 to {num_players - 1}, not {starter!r}"
    )
