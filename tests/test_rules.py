"""Rule sets: what each box pays, which rule sets are refused, and how they travel."""

import json
import pickle
from dataclasses import replace
from itertools import product

import gymnasium as gym
import numpy as np
import pytest
import reference_game as referee
from helpers import cases

from yahtzee_env import RULESETS, Box, Ruleset, evaluate, get_ruleset, score
from yahtzee_env.__main__ import main
from yahtzee_env.dice import ROLLS

THROWS = list(product(range(1, 7), repeat=5))


def upper_boxes():
    return get_ruleset("yahtzee").boxes[:6]


def chance(name="chance"):
    return Box.of(name, lambda counts: sum(f * n for f, n in enumerate(counts, start=1)))


def sum_of_alike(counts, n):
    return max(n * face if have >= n else 0 for face, have in enumerate(counts, start=1))


# What the boxes pay.


def test_the_eight_rule_sets_have_the_boxes_of_the_rules(ruleset):
    assert tuple(RULESETS) == referee.RULESETS
    assert get_ruleset(ruleset).box_names == referee.boxes(ruleset)
    assert get_ruleset(ruleset).name == ruleset


def test_every_throw_pays_in_every_box_what_the_referee_says(ruleset):
    for box in referee.boxes(ruleset):
        expected = {tuple(roll): referee.score(ruleset, box, roll) for roll in ROLLS.tolist()}
        assert len(expected) == 252
        for dice in THROWS:
            assert score(dice, box, ruleset) == expected[tuple(sorted(dice))], (box, dice)


@pytest.mark.parametrize("case", cases("rules.json")["scores"], ids=str)
def test_case_file_scores(case):
    assert score(case["dice"], case["box"], case["ruleset"]) == case["score"]


@pytest.mark.parametrize(
    ("ruleset", "box", "dice", "points"),
    [
        # Full house: three must differ from the pair; order of the dice is no matter.
        ("yacht", "full_house", (1, 4, 4, 4, 4), 0),
        ("yatzy", "full_house", (1, 4, 4, 4, 4), 0),
        ("yacht", "full_house", (1, 1, 4, 4, 4), 14),
        ("yatzy", "full_house", (4, 1, 4, 1, 4), 14),
        ("yatzy", "full_house", (3, 3, 3, 3, 3), 0),
        ("yahtzee", "four_of_a_kind", (3, 5, 5, 5, 5), 23),
        ("yacht", "four_of_a_kind", (3, 5, 5, 5, 5), 23),
        # Five alike in Yacht.
        ("yacht", "threes", (3, 3, 3, 3, 3), 15),
        ("yacht", "four_of_a_kind", (3, 3, 3, 3, 3), 15),
        ("yacht", "yacht", (3, 3, 3, 3, 3), 50),
        ("yacht", "choice", (3, 3, 3, 3, 3), 15),
        # Straights are runs, not five or four different faces.
        ("yahtzee", "small_straight", (1, 1, 2, 3, 5), 0),
        ("yahtzee", "small_straight", (1, 2, 3, 4, 6), 30),
        ("yahtzee", "small_straight", (2, 3, 4, 5, 3), 30),
        ("yatzy", "small_straight", (2, 3, 4, 5, 6), 0),
        ("yatzy", "large_straight", (1, 2, 3, 4, 5), 0),
        ("yacht", "large_straight", (1, 2, 3, 4, 5), 0),
        ("yacht", "small_straight", (1, 3, 4, 5, 6), 0),
        ("yacht", "large_straight", (1, 3, 4, 5, 6), 0),
        ("kismet", "straight", (1, 2, 3, 4, 6), 0),
        # Two pairs are of different faces in Yatzy, of one colour in Kismet.
        ("yatzy", "two_pairs", (2, 2, 5, 5, 6), 14),
        ("yatzy", "two_pairs", (2, 2, 2, 5, 5), 14),
        ("yatzy", "two_pairs", (4, 4, 4, 4, 1), 0),
        ("yatzy", "two_pairs", (4, 4, 1, 2, 3), 0),
        ("kismet", "two_pair_same_color", (1, 1, 6, 6, 2), 16),
        ("kismet", "two_pair_same_color", (1, 1, 2, 2, 6), 0),
        ("kismet", "two_pair_same_color", (3, 3, 3, 3, 6), 18),
        ("kismet", "two_pair_same_color", (3, 3, 3, 4, 6), 0),
        # Five alike in Kismet: a full house of one face and colour, but no straight.
        ("kismet", "full_house", (2, 2, 2, 2, 2), 25),
        ("kismet", "full_house_same_color", (2, 2, 2, 2, 2), 30),
        ("kismet", "four_of_a_kind", (2, 2, 2, 2, 2), 35),
        ("kismet", "flush", (2, 2, 2, 2, 2), 35),
        ("kismet", "straight", (2, 2, 2, 2, 2), 0),
        # Fixed scores.
        ("yahtzee", "large_straight", (1, 2, 3, 4, 5), 40),
        ("yahtzee", "yahtzee", (1, 1, 1, 1, 1), 50),
        ("yahtzee-single", "full_house", (6, 6, 5, 5, 5), 25),
        ("yatzy", "yatzy", (1, 1, 1, 1, 1), 50),
        ("yatzy", "three_of_a_kind", (5, 5, 5, 5, 1), 15),
    ],
)
def test_golden_scores(ruleset, box, dice, points):
    assert score(dice, box, ruleset) == points


@pytest.mark.parametrize(
    "dice", [(1, 2, 3, 4), (0, 1, 2, 3, 4), (1, 2, 3, 4, 7), (1, 2, 3, 4, 5, 6)]
)
def test_score_refuses_wrong_dice(dice):
    with pytest.raises(ValueError, match="five whole numbers from 1 to 6"):
        score(dice, "chance")


@pytest.mark.parametrize("box", ["", "zzz", "Chance", "yacht"])
def test_score_refuses_unknown_boxes_and_names_those_there_are(box):
    with pytest.raises(ValueError, match=f"'{box}' is not a box of yahtzee; .*large_straight"):
        score((3, 3, 3, 3, 1), box)


def test_unknown_rule_sets_are_refused_with_the_known_names():
    with pytest.raises(ValueError, match=r"'yahtze': choose from yahtzee, .*kismet"):
        get_ruleset("yahtze")
    with pytest.raises(TypeError, match="a name, file, Ruleset or dictionary, not 3"):
        get_ruleset(3)


# A user's own rules.


def test_a_house_yacht_pays_only_the_four_dice_and_leaves_yacht_alone():
    before = get_ruleset("yacht").to_dict()
    house = get_ruleset("yacht").with_box(
        Box.of("four_of_a_kind", lambda counts: sum_of_alike(counts, 4)), name="yacht-four-dice"
    )
    assert score((4, 4, 4, 4, 1), "four_of_a_kind", house) == 16
    assert score((6, 6, 6, 6, 6), "four_of_a_kind", house) == 24
    assert score((4, 4, 4, 1, 1), "four_of_a_kind", house) == 0
    assert house.box_names == get_ruleset("yacht").box_names
    for box in set(house.box_names) - {"four_of_a_kind"}:
        for roll in ROLLS.tolist():
            assert score(roll, box, house) == referee.score("yacht", box, roll)
    assert get_ruleset("yacht").to_dict() == before
    assert score((4, 4, 4, 4, 1), "four_of_a_kind", "yacht") == 17


def test_with_box_refuses_a_box_that_the_rules_do_not_have():
    with pytest.raises(ValueError, match="'chance' is not a box of yacht"):
        get_ruleset("yacht").with_box(chance(), name="mine")


def test_box_of_calls_the_function_once_for_each_roll_and_does_not_keep_it():
    seen = []
    box = Box.of("mine", lambda counts: seen.append(counts) or 1)
    assert len(seen) == len(set(seen)) == 252
    assert all(len(counts) == 6 and sum(counts) == 5 for counts in seen)
    pickle.dumps(box)
    assert len(seen) == 252


@pytest.mark.parametrize("points", [-1, 1001, 2.5, float("nan"), float("inf"), "7", None])
def test_boxes_refuse_scores_that_are_not_whole_numbers_from_0_to_1000(points):
    with pytest.raises(ValueError, match="score must be a whole number from 0 to 1000"):
        Box.of("mine", lambda counts: points)
    if points is not None:
        with pytest.raises(ValueError, match="score must be a whole number from 0 to 1000"):
            Box.of("mine", lambda counts: 0, joker_score=points)


@pytest.mark.parametrize("n", [0, 251, 253])
def test_boxes_refuse_another_number_of_scores(n):
    with pytest.raises(ValueError, match="252 scores"):
        Box("mine", (1,) * n)


@pytest.mark.parametrize("name", ["", "Mine", "my box", "1st", "a-b", None])
def test_boxes_refuse_names_that_are_no_identifiers(name):
    with pytest.raises(ValueError, match="a box name must be"):
        Box.of(name, lambda counts: 0)


@pytest.mark.parametrize("face", [0, 7, -1, "1", 1.5])
def test_boxes_refuse_faces_that_no_die_has(face):
    with pytest.raises(ValueError, match="face must be 1 to 6 or None"):
        Box.of("mine", lambda counts: 0, face=face)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"boxes": ()}, "1 to 16 boxes, not 0"),
        ({"boxes": [chance(f"box_{i}") for i in range(17)]}, "1 to 16 boxes, not 17"),
        ({"boxes": [chance("twice"), chance("twice")]}, "names must differ.*twice"),
        ({"boxes": [replace(upper_boxes()[0], name=n) for n in ("a", "b")]}, "different faces"),
        ({"boxes": ("chance",)}, "box"),
        ({"name": ""}, "name must be a text"),
        ({"name": None}, "name must be a text"),
        ({"bonus_steps": ((63, 35), (63, 20))}, "above 0 and rise"),
        ({"bonus_steps": ((63, 35), (50, 20))}, "above 0 and rise"),
        ({"bonus_steps": ((0, 35),)}, "above 0 and rise"),
        ({"bonus_steps": ((63, -35),)}, "whole numbers from 0 to 1000"),
        ({"bonus_steps": ((63, 35.5),)}, "whole numbers from 0 to 1000"),
        ({"bonus_steps": ((63, 1001),)}, "whole numbers from 0 to 1000"),
        ({"bonus_steps": tuple((i, 1) for i in range(1, 10))}, "at most 8"),
        ({"bonus_steps": (63, 35)}, "pairs"),
        ({"boxes": (chance(),), "bonus_steps": ((63, 35),)}, "at least one upper box"),
        ({"extra_bonus": -100, "five_alike_box": "chance"}, "extra_bonus must be a whole number"),
        ({"extra_bonus": 1001, "five_alike_box": "chance"}, "extra_bonus must be a whole number"),
        ({"extra_bonus": 0.5, "five_alike_box": "chance"}, "extra_bonus must be a whole number"),
        ({"extra_bonus": 100}, "needs the name of the five_alike_box"),
        ({"joker": "forced"}, "needs the name of the five_alike_box"),
        ({"five_alike_box": "kismet"}, "'kismet' is not a box"),
        ({"joker": "sometimes", "five_alike_box": "chance"}, "joker must be one of none, forced"),
        (
            {"boxes": (*upper_boxes()[1:], chance()), "joker": "free", "five_alike_box": "chance"},
            "'free' needs all six upper boxes",
        ),
        ({"fill_order": "random"}, "fill_order must be one of any, upper_first"),
        ({"joker_after_zero": "no"}, "joker_after_zero"),
    ],
    ids=lambda value: value if isinstance(value, str) else ",".join(value),
)
def test_rule_sets_that_cannot_be_played_are_refused_in_one_sentence(change, message):
    with pytest.raises(ValueError, match=message) as error:
        Ruleset(**{"name": "mine", "boxes": (*upper_boxes(), chance()), **change})
    assert "\n" not in str(error.value)


def test_whole_numbers_of_numpy_are_whole_numbers():
    ours = Box("mine", np.arange(252))
    assert ours == Box("mine", tuple(range(252)))
    json.dumps(ours.scores)


# Equality and travel.


def custom() -> Ruleset:
    """A rule set that uses every field."""
    return Ruleset(
        "mine",
        (*upper_boxes(), chance(), Box.of("five", lambda counts: 40 * (max(counts) == 5), None, 7)),
        bonus_steps=((40, 10), (50, 20)),
        five_alike_box="five",
        extra_bonus=60,
        joker="free",
        joker_after_zero=False,
        fill_order="upper_first",
    )


ALL_RULES = [*RULESETS.values(), custom()]


@pytest.mark.parametrize("rules", ALL_RULES, ids=lambda rules: rules.name)
@pytest.mark.parametrize(
    "travel",
    [
        lambda rules: pickle.loads(pickle.dumps(rules)),
        lambda rules: Ruleset.from_dict(rules.to_dict()),
        lambda rules: Ruleset.from_dict(json.loads(json.dumps(rules.to_dict()))),
        lambda rules: get_ruleset(json.loads(json.dumps(rules.to_dict()))),
    ],
    ids=["pickle", "dict", "json", "get_ruleset"],
)
def test_rule_sets_travel_unchanged(rules, travel):
    arrived = travel(rules)
    assert arrived is not rules
    assert arrived == rules
    assert hash(arrived) == hash(rules)
    assert repr(arrived) == repr(rules)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"boxes": (*upper_boxes(), *custom().boxes[:5:-1])},
        {"bonus_steps": ((40, 10), (51, 20))},
        {"five_alike_box": "chance"},
        {"extra_bonus": 61},
        {"joker": "forced"},
        {"joker_after_zero": True},
        {"fill_order": "any"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_rule_sets_that_differ_in_any_field_are_not_equal(change):
    assert replace(custom(), **change) != custom()


def test_the_named_rule_sets_all_differ():
    assert len(set(RULESETS.values())) == 8


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"name": "mine"},
        {"name": "mine", "boxes": [3]},
        {"name": "mine", "boxes": [{"name": "a"}]},
        {**custom().to_dict(), "colour": "red"},
        {**custom().to_dict(), "joker": "sometimes"},
    ],
    ids=lambda data: ",".join(data),
)
def test_dictionaries_that_are_no_rule_sets_are_refused(data):
    with pytest.raises(ValueError, match=r"rule set|joker must be one of"):
        Ruleset.from_dict(data)


# Files.


@pytest.fixture
def house_file(tmp_path):
    """A rule set of a user, in a JSON file."""
    path = tmp_path / "house.json"
    house = replace(get_ruleset("yacht"), name="house")
    path.write_text(json.dumps(house.to_dict()), encoding="utf-8")
    return path


def test_a_json_file_goes_wherever_a_name_goes(house_file, capsys):
    expected = replace(get_ruleset("yacht"), name="house")
    for file in (house_file, str(house_file)):
        assert get_ruleset(file) == expected
    assert gym.make("Yacht-v0", ruleset=str(house_file)).unwrapped.action_space.n == 31 + 12
    assert evaluate("greedy-turn", str(house_file), games=2).ruleset == "house"
    assert main(["evaluate", "greedy-turn", "--games", "2", "--ruleset", str(house_file)]) == 0
    assert "greedy-turn on house" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a rule set: Expecting value"),
        ("{", "is not a rule set: Expecting property name"),
        ("[1]", "is not a rule set: not the dictionary of a rule set"),
        ("{}", "is not a rule set: not the dictionary of a rule set: 'boxes'"),
        ('{"name": "x", "boxes": []}', "is not a rule set: a rule set must have 1 to 16 boxes"),
        ("\xff", "is not a rule set: 'utf-8' codec can't decode"),
    ],
)
def test_a_file_that_is_not_a_rule_set_is_one_sentence(text, message, tmp_path):
    path = tmp_path / "house.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=message) as error:
        get_ruleset(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"cannot read the rule set .*no\.json: No such file"):
        get_ruleset(tmp_path / "no.json")
    with pytest.raises(ValueError, match=r"cannot read the rule set .*: Is a directory"):
        get_ruleset(tmp_path)
