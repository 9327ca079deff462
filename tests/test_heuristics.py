"""The hand-made players: their odds against plain counting, legality, strength, worth of cards."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from helpers import OFFICIAL, random_rulesets
from hypothesis import given, settings

from yahtzee_env import Box, Ruleset, State, get_ruleset, load_policy, solve
from yahtzee_env.dice import COUNTS, FIVE_ALIKE, KEEPS, N_HOLDS, ROLLS
from yahtzee_env.evaluation.exact import policy_value
from yahtzee_env.evaluation.play import play
from yahtzee_env.game import Games
from yahtzee_env.policies.odds import THROW_CHANCES, best_of, turn_points
from yahtzee_env.policies.strategist import StrategistPolicy

HEURISTICS = ("rules-of-thumb", "strategist")
RNG = np.random.default_rng(0)

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


@cache
def regret_per_game(name: str, ruleset: str, games: int) -> float:
    """The points that the player's decisions lose, a game."""
    played = play(load_policy(name), solve(ruleset), games, np.random.SeedSequence(11))
    return float(played.regret.sum(axis=(1, 2)).mean())


def play_to_the_end(name: str, ruleset: Ruleset, games: int) -> np.ndarray:
    """The actions of some games, which `Games.play` refuses where they are illegal."""
    batch = Games(ruleset, games)
    batch.seed(np.random.default_rng(5))
    batch.start()
    policy = load_policy(name)
    steps = []
    while not batch.over.all():
        steps.append(policy.act(batch, RNG))
        batch.play(steps[-1])
    return np.array(steps)


def with_dice(ruleset: str | Ruleset, card: dict[str, int], rolls_left: int) -> Games:
    """A game for each of the 252 rolls, with one card."""
    games = Games(get_ruleset(ruleset), len(ROLLS))
    for i, dice in enumerate(ROLLS.tolist()):
        games.set_state(State(tuple(dice), rolls_left, card), i)
    return games


def chosen(name: str, dice: tuple[int, ...], rolls_left: int, open_boxes: str = "") -> str:
    """What a player does on the official card, in words; all boxes are open where none is named."""
    still_open = open_boxes.split() or OFFICIAL.box_names
    card = {box.name: max(box.scores) for box in OFFICIAL.boxes if box.name not in still_open}
    games = Games(OFFICIAL, 1)
    games.set_state(State(dice, rolls_left, card))
    return games.describe(int(load_policy(name).act(games, RNG)[0]))


# Odds.


def test_chances_of_a_throw():
    keep = KEEPS.index((2, 2, 5))
    counted = np.zeros(len(ROLLS))
    rolls = [tuple(dice) for dice in ROLLS.tolist()]
    for thrown in product(range(1, 7), repeat=2):
        counted[rolls.index(tuple(sorted((2, 2, 5, *thrown))))] += 1 / 36
    np.testing.assert_allclose(THROW_CHANCES[keep], counted, atol=1e-15)
    np.testing.assert_allclose(THROW_CHANCES.sum(axis=1), 1.0)


def test_turns_played_for_one_box():
    of_sixes = turn_points(OFFICIAL.boxes[5].scores)
    six = Fraction(91, 216)
    assert of_sixes[30] == pytest.approx(float(six**5))
    assert of_sixes[0] == pytest.approx(float((1 - six) ** 5))
    assert of_sixes @ np.arange(31) == pytest.approx(float(30 * six))
    # The well-known chance of five alike in a turn.
    assert turn_points((FIVE_ALIKE > 0).tolist())[1] == pytest.approx(0.0460286, abs=1e-7)


def test_the_best_of_some_tries():
    chances = np.array([0.5, 0.25, 0.25])
    np.testing.assert_allclose(best_of(chances, 1), chances)
    np.testing.assert_allclose(best_of(chances, 2), [0.25, 0.3125, 0.4375])
    assert best_of(chances, 1.5).sum() == pytest.approx(1.0)


# Legality and determinism.


@pytest.mark.parametrize("name", HEURISTICS)
def test_plays_every_rule_set_alike_each_time(name, ruleset):
    actions = play_to_the_end(name, get_ruleset(ruleset), 100)
    np.testing.assert_array_equal(play_to_the_end(name, get_ruleset(ruleset), 100), actions)


@pytest.mark.parametrize("name", HEURISTICS)
@pytest.mark.parametrize("rules", CUSTOM, ids=lambda rules: rules.name)
def test_plays_custom_rule_sets(name, rules):
    play_to_the_end(name, rules, 200)


@pytest.mark.parametrize("name", HEURISTICS)
@settings(max_examples=15)
@given(random_rulesets())
def test_plays_whatever_can_be_played(name, rules):
    play_to_the_end(name, rules, 20)


@pytest.mark.parametrize("name", HEURISTICS)
@pytest.mark.parametrize("rules", CUSTOM, ids=lambda rules: rules.name)
def test_the_last_box_of_custom_rule_sets(name, rules):
    names = rules.box_names
    last_may_be = [box.name for box in rules.boxes if rules.fill_order == "any" or box.face is None]
    for last in last_may_be:
        card = {box: 0 for box in names if box != last}
        if "low" in card:
            card["low"] = 10
        for rolls_left in range(3):
            games = with_dice(rules, card, rolls_left)
            actions = load_policy(name).act(games, RNG)
            games.check_legal(actions, games.over)
            if not rolls_left:
                assert (actions == N_HOLDS + names.index(last)).all()


# Strength.


def test_order_of_strength():
    names = ("random", "greedy-no-reroll", "greedy-turn", "rules-of-thumb", "strategist")
    lost = [regret_per_game(name, "yahtzee", 3000) for name in names]
    assert all(worse > better + 5 for worse, better in pairwise(lost)), lost
    assert 0.5 < lost[-1] < 2


def test_strategist_comes_close_in_every_rule_set(ruleset):
    assert regret_per_game("strategist", ruleset, 300) < 0.015 * solve(ruleset).start_value


def test_rules_of_thumb_beat_no_reroll_in_every_rule_set(ruleset):
    lost = {n: regret_per_game(n, ruleset, 300) for n in ("greedy-no-reroll", "rules-of-thumb")}
    assert lost["rules-of-thumb"] < lost["greedy-no-reroll"] - 20


@pytest.mark.slow
def test_exact_strength_under_the_official_rules():
    assert policy_value("strategist").mean > 253
    assert policy_value("rules-of-thumb").mean > 230


# The worth of cards.


def check_worth(rules: Ruleset) -> None:
    """Points never make a card worse: neither upper points nor those in the five-alike box."""
    worth = StrategistPolicy().card_values(rules)
    assert np.isfinite(worth).all()
    assert (worth >= -1e-9).all()
    np.testing.assert_allclose(worth[-1], 0.0, atol=1e-9)
    paid = np.zeros(worth.shape[2])
    for at, pays in rules.bonus_steps:
        paid[at:] += pays
    assert (np.diff(worth + paid) >= -1e-9).all()
    if worth.shape[1] == 2:
        filled = np.arange(len(worth)) >> rules.box_index(rules.five_alike_box) & 1 == 1
        assert (worth[filled, 1] >= worth[filled, 0] - 1e-9).all()


@pytest.mark.parametrize("rules", CUSTOM, ids=lambda rules: rules.name)
def test_points_never_make_a_custom_card_worse(rules):
    check_worth(rules)


def test_points_never_make_a_card_worse(ruleset):
    check_worth(get_ruleset(ruleset))


@settings(max_examples=15)
@given(random_rulesets())
def test_points_never_make_any_card_worse(rules):
    check_worth(rules)


def test_the_last_lower_box_is_worth_one_turn():
    worth = StrategistPolicy().card_values(OFFICIAL)
    exact = solve(OFFICIAL).card_values
    for k in range(6, 13):
        card = ((1 << 13) - 1) & ~(1 << k)
        # Five alike as a joker are beyond its reckoning: a tenth of a point or two.
        assert worth[card, 0, 0] == pytest.approx(exact[card, 0, 0], abs=0.6)
    single = get_ruleset("yahtzee-single")
    card = 1 << 12 | ((1 << 12) - 1) & ~(1 << 8)
    assert StrategistPolicy().card_values(single)[card, 0, 0] == pytest.approx(
        solve(single).card_values[card, 0, 0]
    )


def test_more_turns_make_a_box_worth_more():
    yacht = get_ruleset("yacht")
    worth = StrategistPolicy().card_values(yacht)[:, 0, 0]
    full = (1 << 12) - 1
    yacht_box, ones = 1 << 10, 1 << 0
    alone = worth[full & ~yacht_box] + worth[full & ~ones]
    assert worth[full & ~yacht_box & ~ones] > alone


def test_the_bonus_is_worth_its_chance():
    worth = StrategistPolicy().card_values(OFFICIAL)[:, 0]
    card = ((1 << 13) - 1) & ~(1 << 5)
    six = 91 / 216
    three_or_more = sum(n * six**k * (1 - six) ** (5 - k) for k, n in ((3, 10), (4, 5), (5, 1)))
    assert worth[card, 45] - worth[card, 0] == pytest.approx(35 * three_or_more)
    assert worth[card, 63] == pytest.approx(worth[card, 0])


def test_the_worth_does_not_depend_on_the_order_of_the_boxes():
    turned = replace(OFFICIAL, name="turned", boxes=OFFICIAL.boxes[::-1])
    worth = StrategistPolicy().card_values(OFFICIAL)
    other = StrategistPolicy().card_values(turned)
    cards = np.arange(1 << 13)
    mirrored = np.array([int(f"{card:013b}"[::-1], 2) for card in cards])
    np.testing.assert_allclose(other[mirrored], worth, atol=1e-9)


# Rules of thumb.


@pytest.mark.parametrize(
    ("dice", "rolls_left", "open_boxes", "does"),
    [
        ((2, 2, 2, 3, 3), 2, "", "fill full_house"),
        ((1, 2, 3, 4, 5), 2, "", "fill large_straight"),
        ((6, 6, 6, 6, 6), 2, "", "fill yahtzee"),
        ((1, 5, 5, 5, 6), 2, "", "keep 5-5-5"),
        ((2, 3, 4, 5, 5), 2, "", "keep 2-3-4-5"),
        ((2, 2, 3, 3, 6), 1, "full_house ones chance", "keep 2-2-3-3"),
        ((1, 2, 4, 4, 6), 2, "ones fours yahtzee", "keep 4-4"),
        ((1, 1, 4, 4, 6), 2, "ones yahtzee", "keep 1-1"),
        ((1, 2, 3, 5, 6), 2, "chance", "keep 5-6"),
        ((6, 6, 6, 2, 3), 0, "", "fill sixes"),
        ((1, 2, 2, 4, 6), 0, "ones fours sixes large_straight", "fill ones"),
        ((2, 3, 4, 4, 6), 0, "fives sixes large_straight yahtzee", "fill yahtzee"),
    ],
)
def test_what_rules_of_thumb_say(dice, rolls_left, open_boxes, does):
    assert chosen("rules-of-thumb", dice, rolls_left, open_boxes) == does


def test_rules_of_thumb_keep_all_dice_of_a_face_or_none():
    games = with_dice("yahtzee", {"full_house": 25, "small_straight": 0, "large_straight": 0}, 2)
    actions = load_policy("rules-of-thumb").act(games, RNG)
    for i in np.flatnonzero(actions < N_HOLDS):
        kept = [face for d, face in enumerate(ROLLS[i].tolist()) if actions[i] >> d & 1]
        assert all(kept.count(face) == COUNTS[i, face - 1] for face in kept)
