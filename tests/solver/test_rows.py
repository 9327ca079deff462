"""Cards that share a row have the same future."""

import numpy as np
import pytest

from yahtzee_env import get_ruleset, solve
from yahtzee_env.solver.rows import card_rows, lowest_equal_totals
from yahtzee_env.solver.sweep import reachable_cards


@pytest.mark.parametrize("name", ["yahtzee", "yahtzee-strict", "yatzy", "kismet", "yacht"])
def test_cards_of_one_row_have_the_same_value(name):
    ruleset = get_ruleset(name)
    rows, values = card_rows(ruleset), solve(name).card_values
    reached = reachable_cards(ruleset)
    assert ((rows.of_card >= 0) == reached).all()
    cards = np.argwhere(reached)
    row = rows.of_card[tuple(cards.T)]
    for n, layer in enumerate(rows.layers):
        here = np.bitwise_count(cards[:, 0]) == n
        standing = layer[row[here]]
        assert (standing[:, :2] == cards[here, :2]).all()
        np.testing.assert_array_equal(values[tuple(standing.T)], values[tuple(cards[here].T)])
        np.testing.assert_array_equal(rows.of_card[tuple(layer.T)], np.arange(len(layer)))


def test_totals_that_need_equally_many_sixes():
    ruleset = get_ruleset("yahtzee")
    only_sixes_open = (1 << len(ruleset.boxes)) - 1 - (1 << ruleset.box_index("sixes"))
    lowest = lowest_equal_totals(ruleset)[only_sixes_open]
    # From 63 - 6 n on n sixes are enough. With 32 or less, and with 63, no bonus is ahead.
    expected = [max([0, *(63 - 6 * n for n in range(6) if 63 - 6 * n <= u)]) for u in range(63)]
    assert lowest.tolist() == [*expected, 0]
