"""Observations: each feature by its name, derived from the position by the referee."""

import numpy as np
import pytest
from helpers import (
    N_HOLDS,
    make,
    make_five_alike,
    random_choices,
    random_positions,
    random_rulesets,
    referee_at,
)
from hypothesis import given
from hypothesis import strategies as st
from reference_game import RULESETS

from yahtzee_env import State, get_ruleset, observation_names
from yahtzee_env.game import Games, Positions
from yahtzee_env.observation import FEATURE_SETS, Layout, layouts

UPPER = ("ones", "twos", "threes", "fours", "fives", "sixes")
LAST_STEP = dict.fromkeys(RULESETS, 63) | {"yahtzee-strict": 64, "kismet": 78}


def meaning(name, ruleset, state):
    """The value of the feature called `name`, from the referee and the words of its name."""
    referee = referee_at(ruleset, state)
    match name.split("_"):
        case ["count", "of", face, "is", n]:
            return state.dice.count(int(face)) == int(n)
        case ["rolls", "left", "is", n]:
            return state.rolls_left == int(n)
        case ["open", *box]:
            return "_".join(box) not in state.card
        case ["pays", *box]:
            box = "_".join(box)
            legal = not referee.over and box in referee.legal_boxes()
            return referee.reward(box) / 50 if legal else 0
        case ["upper", "missing"]:
            last = LAST_STEP[ruleset]
            return max(last - referee.upper_total, 0) / last
        case ["upper", "above", "par"]:
            par = sum(3 * face for face, box in enumerate(UPPER, start=1) if box in state.card)
            total = min(referee.upper_total, LAST_STEP[ruleset])
            return max(-1, min(1, (total - par) / LAST_STEP[ruleset]))
        case ["upper", at, "reached"]:
            return referee.upper_total >= int(at)
        case [box, "holds", "points"]:
            return state.card.get(box, 0) > 0
        case ["joker"]:
            return referee.is_joker()
    raise AssertionError(f"{name} has no known meaning")


def observed(rules, states):
    """The observations of positions."""
    return Positions.of(rules, *states).observe()


def test_unknown_feature_set_is_refused():
    with pytest.raises(ValueError, match=r"features must be one of flat-v1, not 'flat'"):
        observation_names("yahtzee", "flat")


def test_groups_can_be_listed_in_another_order(ruleset):
    rules = get_ruleset(ruleset)
    standard = layouts(rules)["flat-v1"]
    layout = Layout.of(rules, FEATURE_SETS["flat-v1"][::-1])
    positions = Positions.of(rules, *random_positions(ruleset, 5, seed=4))
    expected, expected_masks = positions.observe()
    observations, masks = np.full_like(expected, np.nan), np.empty_like(expected_masks)
    layout.observe(positions.compiled, positions.records, layout.columns, observations, masks)
    columns = [standard.names.index(name) for name in layout.names]
    np.testing.assert_array_equal(masks, expected_masks)
    np.testing.assert_array_equal(observations, expected[:, columns])
    np.testing.assert_array_equal(layout.low, standard.low[columns])
    np.testing.assert_array_equal(layout.high, standard.high[columns])


def test_names_are_unique_and_match_the_space(ruleset):
    names = observation_names(get_ruleset(ruleset))
    assert len(set(names)) == len(names)
    assert make(ruleset).observation_space.shape == (len(names),)


def test_each_feature_has_the_value_that_its_name_says(ruleset):
    rules = get_ruleset(ruleset)
    names = observation_names(rules)
    states = list(random_positions(ruleset, 12, seed=1))
    observations, _ = observed(rules, states)
    assert observations.dtype == np.float32
    for state, observation in zip(states, observations, strict=True):
        expected = [meaning(name, ruleset, state) for name in names]
        np.testing.assert_allclose(observation, expected, rtol=1e-5, atol=1e-7, err_msg=str(state))


def test_upper_features_change_exactly_at_the_bonus_steps(ruleset):
    rules = get_ruleset(ruleset)
    names = observation_names(rules)
    cards = [
        {"ones": ones, "twos": 4, "threes": 12, "fours": 12, "fives": fives, "sixes": 18}
        for ones in range(6)
        for fives in (15, 20, 25)
    ]
    assert {sum(card.values()) for card in cards} == {*range(61, 77)}
    cards += [{**card, "fours": 16} for card in cards]
    states = [State((1, 2, 3, 4, 6), 1, card) for card in cards]
    for state, observation in zip(states, observed(rules, states)[0], strict=True):
        for name, value in zip(names, observation, strict=True):
            if name.startswith("upper"):
                expected = float(meaning(name, ruleset, state))
                assert value == pytest.approx(expected, abs=1e-6), name


def test_equivalent_positions_have_equal_observations_and_others_do_not():
    rules = get_ruleset("yahtzee")
    dice = (2, 3, 3, 5, 6)
    base = State(dice, 1, {"yahtzee": 50, "chance": 20, "sixes": 18})
    (first, other_points, *different), _ = observed(
        rules,
        [
            base,
            State(dice, 1, {"yahtzee": 50, "chance": 9, "sixes": 18}),
            State(dice, 0, {"yahtzee": 50, "chance": 20, "sixes": 18}),
            State(dice, 1, {"yahtzee": 0, "chance": 20, "sixes": 18}),
            State(dice, 1, {"yahtzee": 50, "chance": 20, "sixes": 12}),
            State(dice, 1, {"yahtzee": 50, "chance": 20, "fives": 15}),
            State((2, 3, 3, 5, 5), 1, {"yahtzee": 50, "chance": 20, "sixes": 18}),
        ],
    )
    np.testing.assert_array_equal(first, other_points)
    for observation in different:
        assert (observation != first).any()


@pytest.mark.parametrize("observation", ["flat", "dict"])
def test_observations_are_in_their_space_in_every_position(ruleset, observation):
    env = make(ruleset, observation=observation)
    for state in random_positions(ruleset, 12, seed=2):
        if len(state.card) < len(env.ruleset.boxes):
            seen, _ = env.reset(options={"state": state})
            assert seen in env.observation_space


def test_dict_observation_has_dice_rolls_left_and_card(ruleset):
    env = make(ruleset, observation="dict")
    boxes = get_ruleset(ruleset).box_names
    for state in random_positions(ruleset, 5, seed=3):
        if len(state.card) == len(boxes):
            continue
        seen, _ = env.reset(options={"state": state})
        assert seen["dice"].tolist() == sorted(state.dice)
        assert seen["rolls_left"] == state.rolls_left
        assert seen["card"].tolist() == [state.card.get(box, -1) for box in boxes]
        spaces = env.observation_space.spaces
        assert {name: part.dtype for name, part in seen.items()} == {
            name: space.dtype for name, space in spaces.items()
        }


@given(random_rulesets(), st.integers(0, 2**32))
def test_payments_and_bounds_hold_for_any_rules(rules, seed):
    rng = np.random.default_rng(seed)
    games = Games(rules, 20)
    games.seed(rng)
    games.start()
    layout = layouts(rules)["flat-v1"]
    pays = [observation_names(rules).index(f"pays_{box}") for box in rules.box_names]
    for _ in range(3 * len(rules.boxes)):
        make_five_alike(games, rng, 0.3)
        observations, masks = games.observe()
        assert (layout.low <= observations).all()
        assert (observations <= layout.high).all()
        for box, column in enumerate(pays):
            legal = masks[:, N_HOLDS + box] == 1
            copies = games.select(legal)
            gained = copies.play(np.full(len(copies), N_HOLDS + box))
            np.testing.assert_allclose(observations[legal, column] * 50, gained, rtol=1e-5)
            assert (observations[~legal, column] == 0).all()
        games.play(random_choices(masks, rng))
