"""The strategist: its strength, and how it values cards."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import CUSTOM, OFFICIAL, random_rulesets
from hypothesis import given, settings

from yahtzee_env import get_ruleset, solve
from yahtzee_env.policies.strategist import StrategistPolicy
from yahtzee_env.rules import Ruleset


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


def test_the_value_of_the_last_lower_box_is_that_of_one_turn():
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


def test_more_turns_raise_the_value_of_a_box():
    yacht = get_ruleset("yacht")
    worth = StrategistPolicy().card_values(yacht)[:, 0, 0]
    full = (1 << 12) - 1
    yacht_box, ones = 1 << 10, 1 << 0
    alone = worth[full & ~yacht_box] + worth[full & ~ones]
    assert worth[full & ~yacht_box & ~ones] > alone


def test_the_value_of_the_bonus_is_its_chance_times_its_points():
    worth = StrategistPolicy().card_values(OFFICIAL)[:, 0]
    card = ((1 << 13) - 1) & ~(1 << 5)
    six = 91 / 216
    three_or_more = sum(n * six**k * (1 - six) ** (5 - k) for k, n in ((3, 10), (4, 5), (5, 1)))
    assert worth[card, 45] - worth[card, 0] == pytest.approx(35 * three_or_more)
    assert worth[card, 63] == pytest.approx(worth[card, 0])


def test_values_do_not_depend_on_the_order_of_the_boxes():
    turned = replace(OFFICIAL, name="turned", boxes=OFFICIAL.boxes[::-1])
    worth = StrategistPolicy().card_values(OFFICIAL)
    other = StrategistPolicy().card_values(turned)
    cards = np.arange(1 << 13)
    mirrored = np.array([int(f"{card:013b}"[::-1], 2) for card in cards])
    np.testing.assert_allclose(other[mirrored], worth, atol=1e-9)
