"""Rendering as text and as a picture."""

import re
import sys
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled

import yahtzee_env
from yahtzee_env import RULESETS, Box, Ruleset, State, YahtzeeEnv, YahtzeeVectorEnv
from yahtzee_env.dice import N_HOLDS
from yahtzee_env.family import upper_boxes
from yahtzee_env.game import Games
from yahtzee_env.rules import MAX_BOXES

SIXES_REACH_63 = State(
    (1, 2, 6, 6, 6), 1, {"ones": 3, "twos": 6, "threes": 9, "fours": 12, "fives": 15}
)
JOKER = State((5,) * 5, 0, {"fives": 25, "yahtzee": 50, "chance": 22}, 1)

LONG_NAME = Box.of("a_very_long_name_of_a_box" * 4, lambda counts: 7)
SIXTEEN_BOXES = Ruleset(
    "sixteen",
    (
        *upper_boxes(),
        LONG_NAME,
        *(Box.of(f"box_{n}", lambda counts: 1000) for n in range(MAX_BOXES - 7)),
    ),
    bonus_steps=((10, 1), (20, 2)),
)
ONE_LOWER_BOX = Ruleset("one", (Box.of("only", lambda counts: 1),))
MIXED_ORDER = Ruleset(
    "mixed", (Box.of("first", lambda counts: 1), *upper_boxes()[3:], Box.of("l", lambda counts: 2))
)
ALL_RULESETS = [*RULESETS.values(), SIXTEEN_BOXES, ONE_LOWER_BOX, MIXED_ORDER]


def started(ruleset, mode, state=None):
    env = YahtzeeEnv(ruleset, render_mode=mode)
    env.reset(seed=3, options={"state": state})
    return env


def text_of(state, ruleset="yahtzee"):
    env = started(ruleset, "ansi")
    env.set_state(state)
    return env.render()


def picture_of(state, ruleset="yahtzee"):
    env = started(ruleset, "rgb_array")
    env.set_state(state)
    return env.render()


def entry(text, box):
    """What stands behind the name of a box: its points, or what it would pay."""
    label = box.replace("_", " ").capitalize()
    found = re.findall(rf"^ +\d+  {label} +(\+?\d+|not now)$", text, re.MULTILINE)
    assert len(found) == 1, f"{box} is on {len(found)} lines"
    return found[0]


def random_game(env):
    """Play a random game to its end, yielding after each step."""
    rng = np.random.default_rng(4)
    while env.action_masks().any():
        yield env.step(rng.choice(np.flatnonzero(env.action_masks())))


def test_without_a_mode_nothing_is_rendered():
    assert started("yahtzee", None).render() is None
    envs = YahtzeeVectorEnv(2)
    envs.reset(seed=1)
    assert envs.render() is None


@pytest.mark.parametrize("make", [YahtzeeEnv, YahtzeeVectorEnv])
def test_modes_are_those_of_the_metadata_and_no_others(make):
    assert make.metadata["render_modes"] == ["ansi", "rgb_array"]
    with pytest.raises(ValueError, match="render_mode must be one of"):
        make(render_mode="human")


def test_made_by_gymnasium_it_renders():
    for mode, kind in (("ansi", str), ("rgb_array", np.ndarray)):
        env = gym.make("Yahtzee-v0", render_mode=mode)
        env.reset(seed=1)
        assert isinstance(env.render(), kind)


def test_text_shows_dice_score_and_rerolls():
    text = text_of(SIXES_REACH_63)
    assert text.splitlines()[0] == "yahtzee | score 45 | 1 reroll left"
    assert re.search(r"^dice\D+1\D+2\D+6\D+6\D+6$", text, re.MULTILINE)
    assert re.search(r"^position +0 +1 +2 +3 +4$", text, re.MULTILINE)


def test_text_tells_the_way_to_the_bonus():
    text = text_of(SIXES_REACH_63)
    assert re.search(r"Upper total \(18 short of 63\) +45$", text, re.MULTILINE)
    assert re.search(r"Upper bonus \(\+35 at 63\) +0$", text, re.MULTILINE)
    card = {"sixes": 24, "fives": 20, "fours": 20}
    text = text_of(State((1, 2, 3, 4, 5), 2, card), "kismet")
    assert re.search(r"Upper total \(7 short of 71\) +64$", text, re.MULTILINE)
    assert re.search(r"Upper bonus \(\+20 at 71\) +35$", text, re.MULTILINE)


def test_text_tells_no_way_to_a_bonus_out_of_reach():
    card = dict.fromkeys(("ones", "twos", "threes", "fours", "fives", "sixes"), 0)
    assert re.search(r"Upper bonus +0$", text_of(State((1,) * 5, 0, card)), re.MULTILINE)
    assert "Upper bonus" not in text_of(State((1,) * 5), "yacht")


def test_filled_boxes_show_points_and_open_ones_the_reward():
    text = text_of(SIXES_REACH_63)
    assert entry(text, "fives") == "15"
    assert entry(text, "sixes") == "+53"
    assert entry(text, "three_of_a_kind") == "+21"
    assert entry(text, "yahtzee") == "+0"


def test_a_zero_in_a_box_differs_from_a_zero_to_come():
    text = text_of(State((1, 1, 2, 2, 3), 0, {"yahtzee": 0}))
    assert entry(text, "yahtzee") == "0"
    assert entry(text, "large_straight") == "+0"


def test_extra_yahtzee_bonus_is_in_what_a_box_pays():
    text = text_of(State((5,) * 5, 0, {"yahtzee": 50}))
    assert entry(text, "fives") == "+125"
    assert entry(text, "sixes") == "not now"
    assert entry(text, "chance") == "not now"
    assert "JOKER" in text
    assert re.search(r"Extra yahtzee bonus \(1 x 100\) +100$", text_of(JOKER), re.MULTILINE)


def test_joker_is_shown_where_the_rules_have_one():
    text = text_of(JOKER)
    assert "JOKER" in text
    assert entry(text, "large_straight") == "+140"
    assert entry(text, "ones") == "not now"
    single = text_of(replace(JOKER, extra_bonuses=0), "yahtzee-single")
    assert "JOKER" not in single
    assert entry(single, "large_straight") == "+0"
    zero = State((5,) * 5, 0, {"yahtzee": 0})
    assert "JOKER" in text_of(zero)
    assert "JOKER" not in text_of(zero, "yahtzee-strict")


def test_fill_order_is_shown():
    text = text_of(State((1, 2, 3, 4, 5)), "yahtzee-upper-first")
    assert entry(text, "ones") == "+1"
    assert entry(text, "large_straight") == "not now"


@pytest.mark.parametrize("ruleset", ALL_RULESETS, ids=lambda rules: rules.name)
def test_text_of_a_whole_game_agrees_with_its_rewards(ruleset):
    env = started(ruleset, "ansi")
    before = env.render()
    seen = 0
    for _, reward, over, _, info in random_game(env):
        text = env.render()
        assert f"| score {info['score']} |" in text
        assert ("game over" in text) == over
        for name in ruleset.box_names:
            if name in env.state.card:
                assert entry(text, name) == str(env.state.card[name])
            if name in env.state.card and entry(before, name).startswith("+"):
                assert entry(before, name) == f"+{reward:.0f}"
                seen += 1
        before = text
    assert seen == len(ruleset.boxes)


@pytest.mark.parametrize("ruleset", ALL_RULESETS, ids=lambda rules: rules.name)
def test_pictures_of_a_game_have_one_size_and_all_differ(ruleset):
    env = started(ruleset, "rgb_array")
    first = previous = env.render()
    assert first.dtype == np.uint8
    assert first.ndim == 3
    assert first.shape[2] == 3
    for _ in random_game(env):
        picture = env.render()
        assert picture.shape == first.shape
        # A reroll may leave the dice alone, but never the rerolls.
        assert not np.array_equal(picture, previous)
        previous = picture


@pytest.mark.parametrize(
    "other",
    [
        State((1, 1, 6, 6, 6), 1, SIXES_REACH_63.card),
        replace(SIXES_REACH_63, rolls_left=0),
        State(SIXES_REACH_63.dice, 1, {**SIXES_REACH_63.card, "chance": 20}),
        State(SIXES_REACH_63.dice, 1, {**SIXES_REACH_63.card, "fives": 10}),
    ],
)
def test_picture_shows_each_fact(other):
    assert not np.array_equal(picture_of(SIXES_REACH_63), picture_of(other))


def test_picture_is_a_function_of_the_position():
    assert np.array_equal(picture_of(JOKER), picture_of(JOKER))
    assert not np.array_equal(picture_of(JOKER), picture_of(replace(JOKER, extra_bonuses=0)))


def test_long_names_and_line_breaks_fit_into_the_picture():
    short = replace(SIXTEEN_BOXES, name="s")
    long = replace(SIXTEEN_BOXES, name="six\nteen " * 50)
    assert picture_of(State((1,) * 5), long).shape == picture_of(State((1,) * 5), short).shape


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_rendering_changes_nothing(mode):
    watched, unwatched = (started("yahtzee", mode) for _ in range(2))
    before = watched._games.records.copy()
    watched.render()
    assert np.array_equal(watched._games.records, before)
    for step, other in zip(random_game(watched), random_game(unwatched), strict=True):
        watched.render()
        assert step[1] == other[1]
        assert np.array_equal(step[0], other[0])


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_vector_env_renders_a_tuple_of_its_games(mode):
    envs = gym.make_vec(
        "Yatzy-v0", num_envs=3, vectorization_mode="vector_entry_point", render_mode=mode
    )
    envs.reset(seed=3)
    pictures = envs.render()
    assert isinstance(pictures, tuple)
    assert len(pictures) == 3
    single = started("yatzy", mode).render()
    assert np.array_equal(pictures[0], single)
    assert not np.array_equal(pictures[1], single)


def test_without_pillow_the_error_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert isinstance(text_of(JOKER), str)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "yahtzee-env\[render\]"'):
        picture_of(JOKER)


def test_every_action_code_stands_by_its_box():
    games = Games(yahtzee_env.get_ruleset("kismet"), 1)
    text = text_of(State((1, 2, 3, 4, 5)), "kismet")
    codes = re.findall(r"^ +(\d+)  \S", text, re.MULTILINE)
    assert [int(code) for code in codes] == list(range(N_HOLDS, games.n_actions))
