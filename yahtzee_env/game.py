"""Games of one rule set: single positions (`State`) and arrays of them (`Positions`, `Games`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from yahtzee_env import kernels
from yahtzee_env.compiled import compile_ruleset
from yahtzee_env.dice import FIVE_ALIKE, N_HOLDS, ROLLS, hold_code, kept_faces, roll_index
from yahtzee_env.kernels import GAME, REROLLS
from yahtzee_env.observation import FEATURES, layouts
from yahtzee_env.rules import Box, Ruleset

Kind = TypeVar("Kind", bound="Positions")

_OF_THE_RULES = ("ruleset", "compiled", "n_actions", "layouts")


@dataclass(frozen=True)
class State:
    """One position in readable form: the dice, the rerolls left this turn, and the score card.

    Attributes:
        dice: five faces, in any order.
        rolls_left: 2 after the first roll of a turn, 0 after the last.
        card: the filled boxes and the points in them; boxes not named are open.
        extra_bonuses: how often the extra five-alike bonus has been paid.
    """

    dice: tuple[int, ...]
    rolls_left: int = REROLLS
    card: Mapping[str, int] = field(default_factory=dict)
    extra_bonuses: int = 0

    def __hash__(self) -> int:
        return hash((self.dice, self.rolls_left, frozenset(self.card.items()), self.extra_bonuses))


class Positions:
    """Positions of games of one rule set: everything that a policy may know of them.

    The generators that throw the dice are not part of it; see `Games`.

    Args:
        ruleset: the rules.
        records: the positions, (n,) `kernels.GAME` records; the array is not copied.

    Attributes:
        ruleset: the rules.
        compiled: the rules as the kernels read them, an array of one `compiled.RULES` record.
        records: the positions, (n,) `kernels.GAME` records.
        n_actions: the number of actions.
        layouts: the layout of each set of features, by name.
    """

    def __init__(self, ruleset: Ruleset, records: NDArray[np.void]) -> None:
        self.ruleset = ruleset
        self.compiled = compile_ruleset(ruleset)
        self.records = records
        self.n_actions = N_HOLDS + len(ruleset.boxes)
        self.layouts = layouts(ruleset)

    @staticmethod
    def of(ruleset: Ruleset, *states: State) -> Positions:
        """The positions that states describe.

        Raises:
            ValueError: if a state cannot occur under the rules.
        """
        return Positions(ruleset, np.array([_record(ruleset, state) for state in states], GAME))

    def __getstate__(self) -> dict[str, Any]:
        derived = ("compiled", "layouts")
        return {name: value for name, value in vars(self).items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        ruleset = state["ruleset"]
        vars(self).update(state, compiled=compile_ruleset(ruleset), layouts=layouts(ruleset))

    def __len__(self) -> int:
        return len(self.records)

    def select(self, which: NDArray[Any]) -> Positions:
        """Copies of some of the positions, by bool mask or by indices."""
        return self._with(Positions, self.records[which])

    def branches(self, n: int, rng: np.random.Generator) -> Games:
        """Games that continue each position n times: all positions once, then again.

        Their dice are drawn from `rng`, independent of the dice of any other games.
        """
        branches = self._with(Games, np.tile(self.records, n))
        branches.rngs = np.empty(len(branches), np.uint64)
        branches.seed(rng)
        return branches

    def _with(self, kind: type[Kind], records: NDArray[np.void]) -> Kind:
        """Positions or games of the same rules, without looking up what depends on these."""
        others = kind.__new__(kind)
        shared = {name: vars(self)[name] for name in _OF_THE_RULES}
        vars(others).update(shared, records=records)
        return others

    @property
    def over(self) -> NDArray[np.bool_]:
        """(n,) bool: whether each card is full."""
        over: NDArray[np.bool_] = self.records["filled"] == self.compiled["all_boxes"]
        return over

    def observe(self, features: str = FEATURES) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """New arrays of observations, (n, features) float32, and action masks, (n, actions)."""
        layout, n = self.layouts[features], len(self.records)
        observations = np.empty((n, len(layout.names)), np.float32)
        masks = np.empty((n, self.n_actions), np.int8)
        layout.observe(self.compiled, self.records, layout.columns, observations, masks)
        return observations, masks

    def masks(self) -> NDArray[np.int8]:
        """(n, actions) int8: 1 for each legal action; all 0 when the game is over."""
        masks = np.empty((len(self), self.n_actions), np.int8)
        kernels.write_masks(self.compiled, self.records, masks)
        return masks

    def payments(self) -> NDArray[np.int32]:
        """(n, boxes) int32: the points that filling each box would gain now; -1 where illegal."""
        payments = np.empty((len(self), len(self.ruleset.boxes)), np.int32)
        kernels.write_payments(self.compiled, self.records, payments)
        return payments

    def jokers(self) -> NDArray[np.bool_]:
        """(n,) bool: whether each roll is five alike under the joker rule."""
        jokers = np.empty(len(self), np.bool_)
        kernels.find_jokers(self.compiled, self.records, jokers)
        return jokers

    def random_actions(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """(n,) int64: a uniformly random legal action of each game, 0 where it is over."""
        actions = np.empty(len(self), np.int64)
        seed = rng.integers(2**64, dtype=np.uint64)
        kernels.draw_actions(self.compiled, self.records, seed, actions)
        return actions

    def check_legal(
        self, actions: NDArray[np.int64], skip: NDArray[np.bool_] | None = None
    ) -> None:
        """Refuse illegal actions.

        Args:
            actions: (n,) int64.
            skip: (n,) bool, the games whose actions are not checked; by default the finished ones.

        Raises:
            ValueError: naming the first illegal action and why it is illegal.
        """
        skip = self.over if skip is None else skip
        i = kernels.first_illegal(self.compiled, self.records, actions, skip)
        if i >= 0:
            raise ValueError(self.why_illegal(int(actions[i]), i))

    def state(self, i: int = 0) -> State:
        """Position `i` in readable form."""
        record = self.records[i]
        card = {
            name: int(record["scores"][k])
            for k, name in enumerate(self.ruleset.box_names)
            if record["filled"] >> k & 1
        }
        dice = tuple(ROLLS[record["roll"]].tolist())
        return State(dice, int(record["rolls_left"]), card, int(record["extra_bonuses"]))

    def hold_action(self, keep: Sequence[int], i: int = 0) -> int:
        """The action of game `i` that keeps these faces and rolls the other dice again.

        Raises:
            ValueError: if the dice of the game do not show these faces.
        """
        return hold_code(self.records["roll"][i], keep)

    def box_action(self, box: str) -> int:
        """The action that fills a box.

        Raises:
            ValueError: for an unknown box.
        """
        return N_HOLDS + self.ruleset.box_index(box)

    def describe(self, action: int, i: int = 0) -> str:
        """What an action does in game `i`, in words.

        Raises:
            ValueError: for a number outside the action space.
        """
        if not 0 <= action < self.n_actions:
            raise ValueError(f"an action is a number from 0 to {self.n_actions - 1}, not {action}")
        if action >= N_HOLDS:
            return f"fill {self.ruleset.box_names[action - N_HOLDS]}"
        kept = kept_faces(self.records["roll"][i], action)
        return f"keep {'-'.join(map(str, kept))}" if kept else "roll all five dice again"

    def why_illegal(self, action: int, i: int = 0) -> str:
        """One sentence that says why an action is illegal in game `i`."""
        game = self.records[i]
        text = f"action {action} ({self.describe(action, i)}) is illegal: "
        if action < N_HOLDS and game["rolls_left"] == 0:
            return text + "no rerolls are left"
        if action < N_HOLDS:
            same = hold_code(game["roll"], kept_faces(game["roll"], action))
            return text + f"action {same} keeps the same faces and is the legal one of them"
        if game["filled"] >> (action - N_HOLDS) & 1:
            return text + "the box is filled"
        legal = [self.ruleset.box_names[k] for k in np.flatnonzero(self.masks()[i, N_HOLDS:])]
        return text + f"the rules allow only {', '.join(legal)} now"


class Games(Positions):
    """Games of one rule set with the generators of their dice.

    All environments and evaluations play on it. To a policy they pass `positions()`, which does
    not reveal the coming dice.

    Args:
        ruleset: the rules.
        n: the number of games.

    Attributes:
        rngs: (n,) uint64, the state of each game's generator.
    """

    def __init__(self, ruleset: Ruleset, n: int) -> None:
        super().__init__(ruleset, np.zeros(n, GAME))
        self.rngs = np.zeros(n, np.uint64)

    def positions(self) -> Positions:
        """A copy of the positions, without the generators."""
        return self._with(Positions, self.records.copy())

    def select(self, which: NDArray[Any]) -> Games:
        """Copies of some of the games, by bool mask or by indices."""
        games = self._with(Games, self.records[which])
        games.rngs = self.rngs[which]
        return games

    def seed(self, rng: np.random.Generator, i: int | None = None) -> None:
        """Draw the generator state of game `i`, or of every game, from `rng`."""
        rngs = self.rngs if i is None else self.rngs[i : i + 1]
        rngs[:] = rng.integers(2**64, size=len(rngs), dtype=np.uint64)

    def start(self) -> None:
        """Begin every game with its first roll."""
        kernels.start_games(self.records, self.rngs)

    def step(
        self, actions: NDArray[np.int64], restart: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Carry out the legal actions; an illegal one changes nothing.

        Args:
            actions: (n,) int64.
            restart: (n,) bool, the games that begin again instead; none by default.

        Returns:
            (n,) float64, the points gained; (n,) bool, which actions were illegal (all of a
            finished game are); (n,) bool, which games are over now.

        Raises:
            ValueError: for a number outside the action space; then nothing has changed.
        """
        n = len(self.records)
        gained, illegal, over = np.empty(n), np.empty(n, bool), np.empty(n, bool)
        restart = np.zeros(n, bool) if restart is None else restart
        i = kernels.step_games(
            self.compiled, self.records, self.rngs, actions, restart, gained, illegal, over
        )
        if i >= 0:
            raise ValueError(f"an action is 0 to {self.n_actions - 1}, not {actions[i]}")
        return gained, illegal, over

    def play(self, actions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Carry out an action in every unfinished game; returns the points gained, (n,) float64.

        Raises:
            ValueError: if an action is illegal; then nothing has changed.
        """
        self.check_legal(actions)
        return self.step(actions)[0]

    def set_state(self, state: State, i: int = 0) -> None:
        """Put game `i` into a position; its generator stays as it is.

        Raises:
            ValueError: if the state cannot occur under the rules; then nothing has changed.
        """
        self.records[i] = _record(self.ruleset, state)


def _record(ruleset: Ruleset, state: State) -> np.void:
    """The `GAME` record of a state."""
    check_state(ruleset, state)
    record = np.zeros(1, GAME)[0]
    record["roll"] = roll_index(state.dice)
    record["rolls_left"] = state.rolls_left
    record["extra_bonuses"] = state.extra_bonuses
    for name, points in state.card.items():
        k = ruleset.box_index(name)
        record["filled"] |= 1 << k
        record["scores"][k] = points
        record["upper"] += points if ruleset.boxes[k].face else 0
    holds_points = state.card.get(ruleset.five_alike_box or "", 0) > 0
    record["five_scored"] = ruleset.tracks_five_alike and holds_points
    record["score"] = (
        record["scores"].sum()
        + sum(pays for at, pays in ruleset.bonus_steps if record["upper"] >= at)
        + state.extra_bonuses * ruleset.extra_bonus
    )
    return cast(np.void, record)


def check_state(ruleset: Ruleset, state: State) -> None:
    """Refuse a position that the rules cannot lead to.

    Looks at the dice, each box, the fill order and the number of extra bonuses; not for an order of
    turns that leads there.

    Raises:
        ValueError: naming what is wrong and what is allowed.
    """
    if not isinstance(state, State) or not isinstance(state.card, Mapping):
        raise ValueError(f"a position must be a State with a card of box names, not {state!r}")
    roll_index(state.dice)
    if state.rolls_left not in range(REROLLS + 1):
        raise ValueError(f"rolls_left must be 0 to {REROLLS}, not {state.rolls_left!r}")
    for name, points in state.card.items():
        box = ruleset.boxes[ruleset.box_index(name)]
        possible = _possible_points(ruleset, box)
        if points not in possible:
            raise ValueError(
                f"{name} cannot hold {points!r}; possible are {', '.join(map(str, possible))}"
            )
    if len(state.card) == len(ruleset.boxes) and state.rolls_left:
        raise ValueError("rolls_left must be 0 when the card is full")
    _check_fill_order(ruleset, state)
    _check_extra_bonuses(ruleset, state)


def check_start(ruleset: Ruleset, state: State) -> None:
    """Refuse a position in which no episode can begin.

    Raises:
        ValueError: for a position that cannot occur, and for a finished game.
    """
    check_state(ruleset, state)
    if len(state.card) == len(ruleset.boxes):
        raise ValueError("an episode cannot begin with a full card")


def _possible_points(ruleset: Ruleset, box: Box) -> list[int]:
    possible = set(box.scores)
    if ruleset.joker != "none" and box.joker_score is not None:
        possible.add(box.joker_score)
    return sorted(possible)


def _check_fill_order(ruleset: Ruleset, state: State) -> None:
    if ruleset.fill_order == "any":
        return
    open_upper = [box.name for box in ruleset.boxes if box.face and box.name not in state.card]
    lower = [box.name for box in ruleset.boxes if not box.face and box.name in state.card]
    if open_upper and lower:
        raise ValueError(f"{lower[0]} cannot be filled while {open_upper[0]} is open")


def _check_extra_bonuses(ruleset: Ruleset, state: State) -> None:
    """Each extra bonus was paid for five alike that went to another box."""
    box_name = ruleset.five_alike_box
    most = 0
    if box_name is not None and ruleset.extra_bonus and state.card.get(box_name, 0) > 0:
        most = sum(
            points in _five_alike_points(ruleset, ruleset.boxes[ruleset.box_index(name)])
            for name, points in state.card.items()
            if name != box_name
        )
    if state.extra_bonuses not in range(most + 1):
        raise ValueError(
            f"extra_bonuses must be 0 to {most} with this card, not {state.extra_bonuses!r}"
        )


def _five_alike_points(ruleset: Ruleset, box: Box) -> set[int]:
    points = {box.scores[roll] for roll in np.flatnonzero(FIVE_ALIKE)}
    if ruleset.joker != "none" and box.joker_score is not None:
        points.add(box.joker_score)
    return points
