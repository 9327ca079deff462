"""Games: legal actions, rewards, bonuses, jokers and positions."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from helpers import (
    JOKER_RULESETS,
    N_HOLDS,
    cases,
    kept,
    make_five_alike,
    random_choices,
    random_positions,
    random_rulesets,
    referee_at,
    started,
    without,
)
from hypothesis import given
from hypothesis import strategies as st
from reference_game import RULESETS

from yahtzee_env import Box, State, get_ruleset
from yahtzee_env.game import Games

# What the rules say of the upper bonus: the total reached, and all that is paid by then.
UPPER_BONUS = {ruleset: {63: 35} for ruleset in RULESETS} | {
    "yahtzee-strict": {64: 35},
    "yacht": {},
    "yatzy": {63: 50},
    "kismet": {63: 35, 71: 55, 78: 75},
}
UPPER = ("ones", "twos", "threes", "fours", "fives", "sixes")


def game_at(ruleset, state, seed=0):
    """One game in a position."""
    games = started(ruleset, 1, seed)
    games.set_state(state)
    return games


def legal_boxes(games, i=0):
    """The boxes that the engine lets a game fill."""
    boxes = games.ruleset.box_names
    return [boxes[k] for k in np.flatnonzero(games.masks()[i, N_HOLDS:])]


def rewards(games, i=0):
    """What filling each legal box pays, by trying all on copies."""
    boxes = legal_boxes(games, i)
    copies = games.select(np.full(len(boxes), i))
    gained = copies.play(np.array([games.box_action(box) for box in boxes], np.int64))
    return dict(zip(boxes, gained.tolist(), strict=True))


# Against the referee.


def assert_agree(games, states, masks, referees):
    """The engine and the referee see the same positions and legal actions."""
    names = games.ruleset.box_names
    totals = games.records[["score", "upper"]].tolist()
    for i, referee in referees.items():
        state = states[i]
        assert (list(state.dice), state.rolls_left) == (referee.dice, referee.rolls_left)
        assert (state.card, state.extra_bonuses) == (referee.card, referee.extra_bonuses)
        assert totals[i] == (referee.total, referee.upper_total)
        legal = np.flatnonzero(masks[i]).tolist()
        keeps = [kept(state.dice, code) for code in legal if code < N_HOLDS]
        assert sorted(keeps) == sorted(referee.legal_keeps())
        boxes = [names[code - N_HOLDS] for code in legal if code >= N_HOLDS]
        assert boxes == ([] if referee.over else referee.legal_boxes())


def follow(referee, action, box_names, dice):
    """Let the referee do what the engine did, with the dice that the engine rolled."""
    if action < N_HOLDS:
        keep = kept(tuple(referee.dice), action)
        referee.reroll(keep, without(dice, keep))
        return 0
    is_last = len(referee.card) + 1 == len(box_names)
    return referee.fill(box_names[action - N_HOLDS], None if is_last else dice)


def compare_games(ruleset, n, seed, five_alike=0.0):
    """Play random games on both, some dice replaced by five alike; counts jokers by box."""
    rng = np.random.default_rng(seed)
    games = started(ruleset, n, seed)
    states = {i: games.state(i) for i in range(n)}
    referees = {i: referee_at(ruleset, state) for i, state in states.items()}
    jokers = Counter()
    while referees:
        for i in make_five_alike(games, rng, five_alike):
            states[i] = games.state(i)
            referees[i].dice = list(states[i].dice)
            expected = {box: referees[i].reward(box) for box in referees[i].legal_boxes()}
            assert rewards(games, i) == expected
            if referees[i].is_joker():
                jokers.update(referees[i].box_points(box) and box for box in expected)
        masks = games.masks()
        assert_agree(games, states, masks, referees)
        actions = random_choices(masks, rng)
        gained = games.play(actions)
        states = {i: games.state(i) for i in referees}
        for i, referee in referees.items():
            rewarded = follow(referee, actions[i], games.ruleset.box_names, states[i].dice)
            assert gained[i] == rewarded
        ended = {i: referee for i, referee in referees.items() if referee.over}
        assert np.flatnonzero(games.over).tolist() == sorted({*range(n)} - {*referees} | {*ended})
        assert_agree(games, states, games.masks(), ended)
        referees = {i: referee for i, referee in referees.items() if i not in ended}
    return jokers


def test_random_games_go_as_the_referee_says(ruleset):
    compare_games(ruleset, 1000, seed=1)


@pytest.mark.slow
def test_many_random_games_go_as_the_referee_says(ruleset):
    for seed in range(2, 22):
        compare_games(ruleset, 1000, seed)


def test_games_rich_in_five_alike_go_as_the_referee_says(ruleset):
    jokers = compare_games(ruleset, 200, seed=1, five_alike=0.4)
    if ruleset in JOKER_RULESETS:
        # Jokers scored in matching upper boxes and in each lower box, and zeros elsewhere.
        seen = {"full_house", "small_straight", "large_straight", "four_of_a_kind", "chance"}
        if ruleset != "yahtzee-upper-first":
            seen |= {*UPPER, 0}
        assert {box for box, times in jokers.items() if times >= 5} >= seen
    else:
        assert not jokers


# The shared cases, and the faults they stand for.


@pytest.mark.parametrize("case", cases("rules.json")["situations"], ids=lambda case: case["why"])
def test_case_file_situations(case):
    games = game_at(case["ruleset"], State(tuple(case["dice"]), 2, case["filled"]))
    if "legal" in case:
        assert legal_boxes(games) == case["legal"]
    assert rewards(games).items() >= case["reward"].items()


@given(st.sampled_from(RULESETS), st.permutations(range(6)), st.tuples(*[st.integers(0, 4)] * 6))
def test_upper_bonus_is_paid_once_when_its_total_is_reached(ruleset, order, counts):
    games = game_at(ruleset, State((1, 2, 3, 4, 5)))
    total = 0
    for face in (k + 1 for k in order):
        n = counts[face - 1]
        rest = [other for other in (1, 2, 3, 4, 5, 6) if other != face]
        games.set_state(replace(games.state(), dice=(*[face] * n, *rest[: 5 - n])))
        before = total
        total += n * face
        steps = UPPER_BONUS[ruleset]
        paid = [max([0, *(p for at, p in steps.items() if t >= at)]) for t in (before, total)]
        gained = games.play(np.array([games.box_action(UPPER[face - 1])]))
        assert gained[0] == n * face + paid[1] - paid[0]
        assert games.records["score"][0] == total + paid[1]
    copy = game_at(ruleset, games.state())
    assert copy.records["score"][0] == games.records["score"][0]


@pytest.mark.parametrize(
    ("ruleset", "total", "bonus"),
    [
        *(("yahtzee", 62, 0), ("yahtzee", 63, 35), ("yahtzee-strict", 63, 0)),
        *(("yahtzee-strict", 64, 35), ("yatzy", 62, 0), ("yatzy", 63, 50), ("yacht", 75, 0)),
        *(("kismet", 62, 0), ("kismet", 63, 35), ("kismet", 70, 35), ("kismet", 71, 55)),
        *(("kismet", 77, 55), ("kismet", 78, 75), ("kismet", 84, 75)),
    ],
)
def test_upper_bonus_by_total(ruleset, total, bonus):
    # Fives and Sixes hold four dice each, and the others make up the rest.
    rest = next(
        (a, b, c, d)
        for a in range(5)
        for b in range(0, 10, 2)
        for c in range(0, 15, 3)
        for d in range(0, 20, 4)
        if a + b + c + d + 20 + 24 == total
    )
    card = dict(zip(UPPER, (*rest, 20, 24), strict=True))
    games = game_at(ruleset, State((1, 2, 3, 4, 6), 0, card))
    assert games.records["score"][0] == total + bonus


def test_upper_bonus_is_not_paid_again_by_a_later_upper_box():
    card = {"twos": 6, "threes": 9, "fours": 16, "fives": 20, "sixes": 12}
    games = game_at("yahtzee", State((1, 2, 3, 4, 6), 0, card))
    assert games.records["score"][0] == 63 + 35
    assert rewards(games)["ones"] == 1


@pytest.mark.parametrize("ruleset", JOKER_RULESETS)
def test_extra_yahtzees_pay_only_over_a_50_and_never_count_toward_the_upper_bonus(ruleset):
    card = dict(zip(UPPER[:5], (1, 2, 3, 4, 5), strict=True))
    if ruleset == "yahtzee-upper-first":
        # There the Yahtzee box is filled only after the upper ones.
        card |= {"sixes": 6}
    for held, extra in ((50, 100), (0, 0)):
        games = game_at(ruleset, State((6,) * 5, 2, {**card, "yahtzee": held}))
        box = "chance" if "sixes" in card else "sixes"
        assert rewards(games)[box] == 30 + extra
        before = games.records["upper"][0]
        games.play(np.array([games.box_action(box)]))
        assert games.records["upper"][0] == before + (30 if box == "sixes" else 0)
        assert games.state().extra_bonuses == (extra > 0)


def test_looking_at_five_alike_pays_nothing_and_each_filling_pays_once():
    games = game_at("yahtzee", State((4,) * 5, 2, {"yahtzee": 50}))
    keep_four = games.hold_action([4, 4, 4, 4])
    assert games.play(np.array([keep_four]))[0] == 0
    games.set_state(replace(games.state(), dice=(4,) * 5))
    assert games.play(np.array([games.box_action("fours")]))[0] == 120
    assert games.records["score"][0] == 170


@pytest.mark.parametrize("held", [0, 50])
def test_forced_joker_goes_to_its_upper_box_then_lower_then_any(held):
    lower = get_ruleset("yahtzee").box_names[6:]
    matching_open = State((3,) * 5, 2, {"yahtzee": held})
    assert legal_boxes(game_at("yahtzee", matching_open)) == ["threes"]

    lower_open = State((3,) * 5, 2, {"yahtzee": held, "threes": 9})
    bonus = 100 if held else 0
    expected = {"three_of_a_kind": 15, "four_of_a_kind": 15, "full_house": 25}
    expected |= {"small_straight": 30, "large_straight": 40, "chance": 15}
    paid = rewards(game_at("yahtzee", lower_open))
    assert paid == {box: points + bonus for box, points in expected.items()}

    card = {**dict.fromkeys(lower, 0), "chance": 8, "yahtzee": held, "threes": 9}
    only_upper_open = State((3,) * 5, 2, card)
    paid = rewards(game_at("yahtzee", only_upper_open))
    assert paid == dict.fromkeys(("ones", "twos", "fours", "fives", "sixes"), float(bonus))


def test_free_joker_pays_in_full_house_only_once_the_upper_box_is_used():
    early = rewards(game_at("yahtzee-free-joker", State((3,) * 5, 2, {"yahtzee": 50})))
    assert (early["full_house"], early["large_straight"], early["chance"]) == (100, 100, 115)
    card = {"yahtzee": 50, "threes": 6}
    late = rewards(game_at("yahtzee-free-joker", State((3,) * 5, 2, card)))
    assert (late["full_house"], late["large_straight"], late["chance"]) == (125, 140, 115)
    assert late["ones"] == 100


def test_strict_rules_give_no_joker_over_a_zero():
    zero = rewards(game_at("yahtzee-strict", State((3,) * 5, 2, {"yahtzee": 0, "threes": 6})))
    assert (zero["full_house"], zero["large_straight"], zero["ones"]) == (0, 0, 0)
    fifty = rewards(game_at("yahtzee-strict", State((3,) * 5, 2, {"yahtzee": 50, "threes": 6})))
    assert (fifty["full_house"], fifty["large_straight"]) == (125, 140)
    assert "ones" not in fifty


def test_five_alike_with_the_yahtzee_box_open_is_no_joker():
    paid = rewards(game_at("yahtzee", State((3,) * 5, 2, {"threes": 6})))
    assert len(paid) == 12
    assert (paid["full_house"], paid["yahtzee"], paid["chance"]) == (0, 50, 15)


def test_upper_first_opens_the_lower_boxes_after_the_six_upper_ones():
    card = dict.fromkeys(UPPER, 0)
    for box in UPPER:
        open_one = {name: points for name, points in card.items() if name != box}
        games = game_at("yahtzee-upper-first", State((2, 3, 4, 5, 6), 2, open_one))
        assert legal_boxes(games) == [box]
    games = game_at("yahtzee-upper-first", State((2, 3, 4, 5, 6), 2, card))
    assert len(legal_boxes(games)) == 7


def test_turns_have_at_most_two_rerolls_and_dice_stay_in_range(ruleset):
    games = started(ruleset, 50, seed=5)
    for turn in range(len(games.ruleset.boxes)):
        for rolls_left in (2, 1, 0):
            assert (games.records["rolls_left"] == rolls_left).all()
            assert all(1 <= die <= 6 for i in range(50) for die in games.state(i).dice)
            holds = games.masks()[:, :N_HOLDS]
            assert holds.any(axis=1).all() == (rolls_left > 0)
            if rolls_left:
                games.play(random_choices(holds, np.random.default_rng(turn)))
        boxes = games.masks()[:, N_HOLDS:]
        games.play(N_HOLDS + boxes.argmax(axis=1))
    assert games.over.all()


# Play with wrong actions, and descriptions.


def test_play_refuses_illegal_actions_and_changes_no_game():
    games = started("yahtzee", 3, seed=4)
    games.set_state(State((1, 1, 1, 1, 6), 0, {"ones": 3}), 1)
    before = games.records.copy()
    for action, why in ((31, "the box is filled"), (0, "no rerolls are left")):
        with pytest.raises(ValueError, match=rf"action {action} .*is illegal: {why}"):
            games.play(np.array([32, action, 32]))
    games.set_state(State((1, 1, 1, 1, 6), 1, {"ones": 3}), 1)
    before = games.records.copy()
    with pytest.raises(ValueError, match=r"action 2 \(keep 1\).*action 1 keeps the same faces"):
        games.play(np.array([32, 2, 32]))
    games.set_state(State((4, 4, 4, 4, 4), 1, {"yahtzee": 0}), 1)
    before = games.records.copy()
    with pytest.raises(ValueError, match="allow only fours now"):
        games.play(np.array([32, games.box_action("chance"), 32]))
    np.testing.assert_array_equal(games.records, before)


def test_actions_are_found_and_described_in_words():
    games = game_at("yahtzee", State((6, 1, 1, 1, 1)))
    assert games.hold_action([6]) == 16
    assert games.hold_action([]) == 0
    assert games.hold_action([6, 1]) == 17
    assert games.hold_action([1, 1, 1, 1]) == 15
    assert [games.box_action(box) for box in games.ruleset.box_names] == list(range(31, 44))
    assert games.describe(16) == "keep 6"
    assert games.describe(17) == "keep 1-6"
    assert games.describe(43) == "fill chance"
    assert "all five" in games.describe(0)
    for wrong in (-1, 44):
        with pytest.raises(ValueError, match="0 to 43"):
            games.describe(wrong)
    for wrong in ("", "zzz"):
        with pytest.raises(ValueError, match="is not a box of yahtzee"):
            games.box_action(wrong)
    with pytest.raises(ValueError, match="cannot keep"):
        games.hold_action([2])


# Positions.


def test_every_position_of_random_games_can_be_set_and_is_kept(ruleset):
    games = Games(get_ruleset(ruleset), 1)
    for state in random_positions(ruleset, 40, seed=3):
        games.set_state(state)
        assert games.state() == state
        referee = referee_at(ruleset, state)
        assert games.records["score"][0] == referee.total


def test_set_position_continues_like_a_played_one(ruleset):
    games = started(ruleset, 60, seed=8)
    rng = np.random.default_rng(8)
    copies = started(ruleset, 60, seed=9)
    for _ in range(60):
        make_five_alike(games, rng, 0.3)
        copies.rngs[:] = games.rngs
        for i in range(60):
            copies.set_state(games.state(i), i)
        np.testing.assert_array_equal(copies.records, games.records)
        games.play(random_choices(games.masks(), rng))
    assert games.over.any()


DICE = (1, 2, 3, 4, 6)
YACHT = get_ruleset("yacht").box_names


@pytest.mark.parametrize(
    ("ruleset", "state", "message"),
    [
        ("yahtzee", State((1, 2, 3, 4)), "five whole numbers from 1 to 6"),
        ("yahtzee", State((1, 2, 3, 4, 7)), "five whole numbers from 1 to 6"),
        ("yahtzee", State(DICE, 3), "rolls_left must be 0 to 2, not 3"),
        ("yahtzee", State(DICE, -1), "rolls_left must be 0 to 2, not -1"),
        ("yahtzee", State(DICE, 2, {"yacht": 50}), "'yacht' is not a box of yahtzee"),
        ("yahtzee", State(DICE, 2, {"ones": 6}), "ones cannot hold 6; possible are 0, 1, 2"),
        ("yahtzee", State(DICE, 2, {"ones": -1}), "ones cannot hold -1"),
        ("yahtzee", State(DICE, 2, {"full_house": 30}), "full_house cannot hold 30"),
        ("yahtzee", State(DICE, 2, {"four_of_a_kind": 4}), "four_of_a_kind cannot hold 4"),
        ("yahtzee", State(DICE, 2, {"chance": 31}), "chance cannot hold 31"),
        ("yahtzee", State(DICE, 2, {"yahtzee": 150}), "yahtzee cannot hold 150"),
        ("yatzy", State(DICE, 2, {"two_pairs": 4}), "two_pairs cannot hold 4"),
        ("yahtzee", State(DICE, 2, {"yahtzee": 0, "ones": 5}, 1), "must be 0 to 0 with this card"),
        ("yahtzee", State(DICE, 2, {"ones": 5}, 1), "must be 0 to 0 with this card"),
        ("yahtzee", State(DICE, 2, {"yahtzee": 50, "ones": 4}, 1), "must be 0 to 0"),
        ("yahtzee", State(DICE, 2, {"yahtzee": 50, "ones": 5}, 2), "must be 0 to 1"),
        ("yahtzee", State(DICE, 2, {"yahtzee": 50, "ones": 5}, -1), "must be 0 to 1"),
        ("yahtzee-single", State(DICE, 2, {"yahtzee": 50, "ones": 5}, 1), "must be 0 to 0"),
        ("kismet", State(DICE, 2, {"kismet": 55, "ones": 5}, 1), "must be 0 to 0"),
        ("yahtzee-upper-first", State(DICE, 2, {"chance": 16}), "chance cannot be filled while"),
        ("yacht", State(DICE, 1, dict.fromkeys(YACHT, 0) | {"choice": 8}), "must be 0 when"),
    ],
)
def test_impossible_positions_are_refused_and_change_nothing(ruleset, state, message):
    games = started(ruleset, 2, seed=1)
    before = games.records.copy()
    with pytest.raises(ValueError, match=message):
        games.set_state(state, 1)
    np.testing.assert_array_equal(games.records, before)


def test_joker_points_are_possible_in_the_card_only_under_a_joker_rule():
    paying = Box.of("lucky", lambda counts: 10 * (counts[0] == 2), joker_score=33)
    boxes = (*get_ruleset("yahtzee").boxes, paying)
    with_joker = replace(get_ruleset("yahtzee"), name="lucky", boxes=boxes)
    without_joker = replace(with_joker, joker="none")
    state = State(DICE, 2, {"lucky": 33, "yahtzee": 0, "ones": 3})
    games = Games(with_joker, 1)
    games.set_state(state)
    assert games.state() == replace(state, dice=DICE)
    with pytest.raises(ValueError, match="lucky cannot hold 33"):
        Games(without_joker, 1).set_state(state)


# Random play of `random_actions`.


def test_random_actions_are_legal_and_uniform():
    games = game_at("yahtzee", State((2, 2, 2, 5, 5), 1, {"chance": 16, "ones": 3}))
    legal = np.flatnonzero(games.masks()[0])
    many = games.select(np.zeros(40_000, int))
    times = Counter(many.random_actions(np.random.default_rng(1)).tolist())
    assert sorted(times) == legal.tolist()
    mean = 40_000 / len(legal)
    assert all(abs(n - mean) < 4.5 * mean**0.5 for n in times.values())


def test_random_actions_depend_only_on_the_generator_passed():
    games = started("yahtzee", 30, seed=2)
    first, again, other = (games.random_actions(np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


# A user's own rules.


@given(random_rulesets(), st.integers(0, 2**32))
def test_games_of_any_rules_end_and_returns_match_the_card(rules, seed):
    rng = np.random.default_rng(seed)
    games = Games(rules, 20)
    games.seed(rng)
    games.start()
    returns = np.zeros(20)
    for _ in range(3 * len(rules.boxes)):
        make_five_alike(games, rng, 0.3)
        masks = games.masks()
        assert (masks.any(axis=1) == ~games.over).all()
        returns += games.play(random_choices(masks, rng))
    assert games.over.all()
    np.testing.assert_array_equal(games.records["score"], returns)
    for i in range(20):
        state = games.state(i)
        upper = sum(state.card[box.name] for box in rules.boxes if box.face)
        bonus = sum(pays for at, pays in rules.bonus_steps if upper >= at)
        extra = rules.extra_bonus * state.extra_bonuses
        assert sum(state.card.values()) + bonus + extra == returns[i]
        games.set_state(state, i)
        assert games.state(i) == state
