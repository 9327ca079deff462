"""What several test modules share: play against the referee, and positions found by play."""

import copy
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from hypothesis import strategies as st
from reference_game import RULESETS, ReferenceGame

from yahtzee_env import Box, Ruleset, State, YahtzeeEnv, get_ruleset
from yahtzee_env.dice import roll_index
from yahtzee_env.game import Games

CASES = Path(__file__).parent / "cases"
CLONE = Path(__file__).parent.parent
N_HOLDS = 31
OFFICIAL = get_ruleset("yahtzee")

# Every environment id and every rule set.
IDS = {name: f"{name.capitalize() if '-' not in name else 'Yahtzee'}-v0" for name in RULESETS}

JOKERS = replace(
    OFFICIAL,
    name="jokers",
    boxes=tuple(box for box in OFFICIAL.boxes if box.face or box.name in ("full_house", "yahtzee")),
)
"""A short game with jokers, extra bonuses and an upper bonus."""

FOUR_BOXES = replace(
    get_ruleset("yahtzee-single"),
    name="four boxes",
    boxes=tuple(
        box
        for box in get_ruleset("yahtzee-single").boxes
        if box.name in ("fives", "sixes", "full_house", "chance")
    ),
    bonus_steps=((30, 35),),
    five_alike_box=None,
)
"""A very short game."""

JOKER_RULESETS = ("yahtzee", "yahtzee-free-joker", "yahtzee-upper-first", "yahtzee-strict")


# Rule sets unlike those of the package: without upper boxes, and with three of them.
HANDS_ONLY = Ruleset(
    "hands-only",
    (
        Box.of("all_odd", lambda counts: 25 if counts[0] + counts[2] + counts[4] == 5 else 0),
        Box.of("low", lambda counts: 30 - sum(f * n for f, n in enumerate(counts, start=1))),
        Box.of("nothing", lambda counts: 0),
    ),
)
FEW_UPPER = Ruleset(
    "few-upper",
    (*OFFICIAL.boxes[3:6], *OFFICIAL.boxes[8:12]),
    bonus_steps=((20, 10), (45, 60)),
    five_alike_box="yahtzee",
    extra_bonus=30,
    fill_order="upper_first",
)
CUSTOM = (HANDS_ONLY, FEW_UPPER)


def cases(file: str) -> dict[str, Any]:
    """The content of a case file."""
    return json.loads((CASES / file).read_text())


def make(ruleset: str = "yahtzee", **arguments: Any) -> YahtzeeEnv:
    """The bare environment of a named rule set."""
    return gym.make(IDS[ruleset], ruleset=ruleset, **arguments).unwrapped


def make_at(state: State, ruleset: str = "yahtzee", **arguments: Any) -> YahtzeeEnv:
    """An environment in a position."""
    env = make(ruleset, **arguments)
    env.reset(seed=0, options={"state": state})
    return env


def started(ruleset: str | Ruleset, n: int, seed: int) -> Games:
    """Games after their first rolls."""
    games = Games(get_ruleset(ruleset), n)
    games.seed(np.random.default_rng(seed))
    games.start()
    return games


def as_games(ruleset: str | Ruleset, states: list[State]) -> Games:
    """Games in these positions."""
    games = Games(get_ruleset(ruleset), len(states))
    for i, state in enumerate(states):
        games.set_state(state, i)
    return games


def random_action(env: YahtzeeEnv, rng: np.random.Generator) -> int:
    """A uniformly random legal action."""
    return int(rng.choice(np.flatnonzero(env.action_masks())))


def play(env: YahtzeeEnv, rng: np.random.Generator, steps: int = 10_000) -> list[Any]:
    """Random legal play until the game ends; the results of each step."""
    results = []
    while len(results) < steps and not (results and results[-1][2]):
        results.append(env.step(random_action(env, rng)))
    return results


def play_games(env: YahtzeeEnv, games: int = 5, seed: int = 7) -> list[Any]:
    """Everything that an environment returns in some games, the first of them seeded."""
    rng = np.random.default_rng(seed)
    return [(env.reset(seed=seed if i == 0 else None), play(env, rng)) for i in range(games)]


def next_dice(env: YahtzeeEnv, n: int = 8) -> list[State]:
    """The positions of the coming steps, without a change of the environment itself."""
    env = copy.deepcopy(env)
    rng = np.random.default_rng(0)
    states = []
    for _ in range(n):
        env.step(random_action(env, rng))
        states.append(env.state)
    return states


@cache
def kept(dice: tuple[int, ...], hold: int) -> tuple[int, ...]:
    """The faces that a hold code keeps: bit i is die i of the sorted dice."""
    return tuple(die for i, die in enumerate(sorted(dice)) if hold >> i & 1)


def without(dice: tuple[int, ...], faces: tuple[int, ...]) -> list[int]:
    """The dice that are left when `faces` are taken away, all of which must be there."""
    rest = Counter(dice)
    rest.subtract(faces)
    assert min(rest.values()) >= 0, f"{faces} are not all among {dice}"
    return list(rest.elements())


def referee_at(ruleset: str, state: State) -> ReferenceGame:
    """The referee in a position."""
    referee = ReferenceGame(ruleset, state.dice)
    referee.rolls_left = state.rolls_left
    referee.card = dict(state.card)
    referee.extra_bonuses = state.extra_bonuses
    return referee


def random_choices(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A uniformly random legal action for each row of masks."""
    return np.where(masks, rng.random(masks.shape), -1).argmax(axis=1)


def make_five_alike(games: Games, rng: np.random.Generator, chance: float) -> list[int]:
    """Let the dice of some running games, drawn by chance, show five alike; returns which."""
    changed = np.flatnonzero((rng.random(len(games)) < chance) & ~games.over).tolist()
    for i in changed:
        # Only the roll: setting the whole state would hide a wrong record of the rest.
        games.records["roll"][i] = roll_index((int(rng.integers(1, 7)),) * 5)
    return changed


def random_positions(ruleset: str | Ruleset, games: int, seed: int) -> Iterator[State]:
    """Positions of random games, ends included; a third of them with five alike."""
    rng = np.random.default_rng(seed)
    batch = started(ruleset, games, seed)
    while not batch.over.all():
        make_five_alike(batch, rng, 0.3)
        for i in np.flatnonzero(~batch.over):
            yield batch.state(i)
        batch.play(random_choices(batch.masks(), rng))
    for i in range(games):
        yield batch.state(i)


def first_legal(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """A policy function: the first legal action of each game."""
    return masks.argmax(axis=1)


def fill_first_box(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """A policy function: never rerolls, and fills the boxes in order."""
    return N_HOLDS + masks[:, N_HOLDS:].argmax(axis=1)


def _scorer(a: int, b: int, m: int) -> Callable[[Sequence[int]], int]:
    """Some box: points that depend on the roll in no regular way."""
    return lambda counts: (a * sum(i * i * n for i, n in enumerate(counts)) + b * max(counts)) % m


@st.composite
def random_rulesets(draw: st.DrawFn) -> Ruleset:
    """Rule sets that can be played, of all kinds."""
    has_joker = draw(st.booleans())
    faces = range(1, 7) if has_joker else draw(st.sets(st.integers(1, 6)))
    points = st.builds(_scorer, st.integers(0, 99), st.integers(0, 99), st.integers(1, 1001))
    joker_score = st.none() | st.integers(0, 1000)
    upper = [
        Box.of(f"upper_{face}", draw(points), face, draw(joker_score))
        if draw(st.booleans())
        else OFFICIAL.boxes[face - 1]
        for face in faces
    ]
    lower = [
        Box.of(f"lower_{k}", draw(points), None, draw(joker_score))
        for k in range(draw(st.integers(0 if upper else 1, 4)))
    ]
    boxes = draw(st.permutations(upper + lower))
    totals = draw(st.sets(st.integers(1, 300), max_size=4)) if upper else ()
    named = draw(st.sampled_from([box.name for box in boxes]))
    return Ruleset(
        "random",
        boxes,
        tuple((at, draw(st.integers(0, 1000))) for at in sorted(totals)),
        five_alike_box=named if has_joker or draw(st.booleans()) else None,
        extra_bonus=draw(st.integers(0, 1000)) if has_joker else 0,
        joker=draw(st.sampled_from(["forced", "free"])) if has_joker else "none",
        joker_after_zero=draw(st.booleans()),
        fill_order=draw(st.sampled_from(["any", "upper_first"])),
    )


def assert_same(one: Any, other: Any, where: str = "result") -> None:
    """Two results of an environment are equal in values, types and shapes."""
    assert type(one) is type(other), f"{where}: {type(one)} and {type(other)}"
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where}[{key!r}]")
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), where
        for i, parts in enumerate(zip(one, other, strict=True)):
            assert_same(*parts, f"{where}[{i}]")
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        if one.dtype == object:
            assert_same(list(one), list(other), where)
        else:
            np.testing.assert_array_equal(one, other, where)
    else:
        assert one == other, where
