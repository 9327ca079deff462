"""The heuristic of simple rules."""

import numpy as np
import pytest
from helpers import OFFICIAL, as_games

from yahtzee_env import State, load_policy
from yahtzee_env.dice import COUNTS, N_HOLDS, ROLLS

RNG = np.random.default_rng(0)


def chosen(name: str, dice: tuple[int, ...], rolls_left: int, open_boxes: str = "") -> str:
    """The choice on the official card in words; all boxes are open if none is named."""
    still_open = open_boxes.split() or OFFICIAL.box_names
    card = {box.name: max(box.scores) for box in OFFICIAL.boxes if box.name not in still_open}
    games = as_games(OFFICIAL, [State(dice, rolls_left, card)])
    return games.describe(int(load_policy(name).act(games, RNG)[0]))


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
    card = {"full_house": 25, "small_straight": 0, "large_straight": 0}
    games = as_games(OFFICIAL, [State(tuple(dice), 2, card) for dice in ROLLS.tolist()])
    actions = load_policy("rules-of-thumb").act(games, RNG)
    for i in np.flatnonzero(actions < N_HOLDS):
        kept = [face for d, face in enumerate(ROLLS[i].tolist()) if actions[i] >> d & 1]
        assert all(kept.count(face) == COUNTS[i, face - 1] for face in kept)
