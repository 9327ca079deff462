"""Tables that fit a width."""

import pytest

from yahtzee_env.report.layout import Table, lines

TABLE = Table(
    "Some players and what they score",
    ("player", "luck-adjusted score", "regret"),
    [("greedy-turn", "217.42 ± 0.04", "37.17"), ("ppo-yahtzee", "252.95 ± 0.01", "1.64")],
)
WORDS = [word for row in TABLE.rows for cell in row for word in cell.split()]


def test_a_wide_table_has_every_column():
    assert list(lines(TABLE, 80)) == [
        "Some players and what they score",
        "             luck-adjusted",
        "player               score  regret",
        "-----------  -------------  ------",
        "greedy-turn  217.42 ± 0.04   37.17",
        "ppo-yahtzee  252.95 ± 0.01    1.64",
    ]


def test_a_narrower_table_leaves_out_the_last_columns():
    text = "\n".join(lines(TABLE, 30))
    assert "252.95 ± 0.01" in text
    assert "regret" not in text


def test_without_room_for_the_essential_columns_each_row_is_a_list():
    assert list(lines(TABLE, 20))[2:] == [
        "greedy-turn",
        "  luck-adjusted",
        "    score: 217.42 ±",
        "    0.04",
        "  regret: 37.17",
        "ppo-yahtzee",
        "  luck-adjusted",
        "    score: 252.95 ±",
        "    0.01",
        "  regret: 1.64",
    ]


@pytest.mark.parametrize("width", range(1, 60))
def test_words_and_numbers_are_never_cut(width):
    text = list(lines(TABLE, width))
    words = " ".join(text).split()
    kept = WORDS if "regret" in words or "regret:" in words else WORDS[:4]
    assert all(word in words for word in kept)
    assert all(len(line) <= width or len(line.split()) == 1 for line in text)
