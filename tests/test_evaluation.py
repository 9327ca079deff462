"""Evaluation: what a policy scores, what its decisions cost, and how sure that is."""

import io
import json
import re
import sys
from dataclasses import replace

import numpy as np
import plain
import pytest
from helpers import N_HOLDS, cases
from rich.console import Console

from yahtzee_env import compare, evaluate, get_ruleset, policy_value, solve
from yahtzee_env.dice import KEEPS, N_KEEPS, ROLLS
from yahtzee_env.evaluation import evaluation_table, measure, seed_summary, summary_table
from yahtzee_env.evaluation.play import BATCH, choice_number, play
from yahtzee_env.game import Games
from yahtzee_env.policies import POLICIES, FunctionPolicy, load_policy
from yahtzee_env.rules import Box, Ruleset

ROLLS_BY_NUMBER = [tuple(roll) for roll in ROLLS.tolist()]
GREEDY_TURN = 217.3859
"""The exact expected score of greedy-turn under the official rules."""

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


def first_legal(observations, masks):
    return masks.argmax(axis=1)


def fill_first_box(observations, masks):
    return N_HOLDS + masks[:, N_HOLDS:].argmax(axis=1)


def always_ones(observations, masks):
    return np.full(len(masks), N_HOLDS)


# The identity: score = optimum + luck - regret.


class Rerolling:
    """Uses every reroll, at random, and notes each position and action; all games end together."""

    name = "rerolling"
    deterministic = False

    def __init__(self):
        self.turns = []

    def act(self, games, rng):
        masks = games.masks().astype(float)
        masks[games.records["rolls_left"] > 0, N_HOLDS:] = 0
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        self.turns.append((games.select(np.arange(len(games))), actions))
        return actions


def values_of_rolls(ruleset, record, rolls_left):
    """The value of a game's card with each roll."""
    games = Games(get_ruleset(ruleset), len(ROLLS))
    games.records[:] = record
    games.records["roll"] = np.arange(len(ROLLS))
    games.records["rolls_left"] = rolls_left
    return dict(zip(ROLLS_BY_NUMBER, solve(ruleset).state_value(games).tolist(), strict=True))


def luck_of_game(ruleset, turns, i):
    """What the dice of game i gave above their expectation, throw by throw."""
    luck, keep = 0.0, ()
    for games, actions in turns:
        record, action = games.records[i], int(actions[i])
        roll = ROLLS_BY_NUMBER[record["roll"]]
        values = values_of_rolls(ruleset, record, record["rolls_left"])
        luck += values[roll] - plain.mean(values, keep)
        kept = tuple(die for k, die in enumerate(roll) if action >> k & 1)
        keep = kept if action < N_HOLDS else ()
    return luck


@pytest.mark.parametrize("ruleset", ["yahtzee", "kismet"])
def test_score_is_optimum_plus_luck_less_regret(ruleset):
    policy = Rerolling()
    result = evaluate(policy, ruleset, games=3, seed=5)
    turns = policy.turns[: 3 * len(get_ruleset(ruleset).boxes)]
    assert all(len(games) == 3 for games, _ in turns)
    for i in range(3):
        luck = luck_of_game(ruleset, turns, i)
        assert result.luck[i] == pytest.approx(luck, abs=1e-8)
        regret = result.regret[i].sum()
        assert result.scores[i] == pytest.approx(result.optimum + luck - regret, abs=1e-8)


def test_perfect_play_has_no_regret_in_any_game(ruleset):
    result = evaluate("optimal", ruleset, games=200)
    assert (result.regret == 0).all()
    assert result.mistakes == ()
    assert result.adjusted_scores == pytest.approx(result.optimum, abs=1e-9)
    assert result.luck_adjusted_mean == pytest.approx(solve(ruleset).start_value, abs=1e-9)
    assert result.pct_of_optimal == pytest.approx(100)
    assert result.cards == result.optimal_cards


def test_regret_is_never_negative_and_its_parts_are_the_whole():
    result = evaluate("greedy-turn", games=200)
    assert (result.regret >= 0).all()
    assert sum(result.regret_by_decision.values()) == pytest.approx(result.regret_per_game)
    assert sum(result.regret_by_turn) == pytest.approx(result.regret_per_game)
    assert len(result.regret_by_turn) == 13
    assert result.regret_by_turn[-1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("ruleset", ["yahtzee", "yacht", "kismet"])
@pytest.mark.parametrize("name", POLICIES)
def test_raw_and_adjusted_means_agree(name, ruleset):
    result = evaluate(name, ruleset, games=600)
    shift = result.coefficient * result.luck
    error = shift.std(ddof=1) / np.sqrt(result.games)
    assert abs(result.mean - result.luck_adjusted_mean) < 4 * error
    assert result.luck_adjusted_sem <= 1.02 * result.sem


def test_random_play_scores_what_others_measured():
    case = cases("optimal.json")["random_legal_play_official"]
    played = play(load_policy("random"), solve("yahtzee"), 10_000, np.random.SeedSequence(1))
    scores = played.records["score"]
    assert scores.mean() == pytest.approx(case["mean"], abs=case["tolerance"])
    assert scores.std() == pytest.approx(case["sd"], abs=1)


# Games and seeds.


@pytest.mark.parametrize("games", [2, 7, BATCH + 1])
def test_exactly_the_games_asked_for(games):
    result = evaluate(fill_first_box, "yacht", games=games)
    assert result.games == games
    assert result.scores.shape == (games,)
    assert result.regret.shape == (games, 3, 12)
    assert (result.scores > 0).all()


@pytest.mark.parametrize("name", POLICIES)
def test_the_same_seed_gives_the_same_result(name):
    one, two, other = (evaluate(name, "yacht", 50, seed).to_json() for seed in (3, 3, 4))
    assert one == two
    assert one != other


def test_game_i_does_not_depend_on_the_number_of_games():
    few, many = (evaluate("greedy-turn", games=games) for games in (20, 45))
    np.testing.assert_array_equal(few.scores, many.scores[:20])
    np.testing.assert_array_equal(few.regret, many.regret[:20])


def test_game_i_has_the_same_dice_for_every_policy():
    first_rolls = []
    for function in (first_legal, fill_first_box):
        seen = []

        def noted(observations, masks, function=function, seen=seen):
            seen.append(observations)
            return function(observations, masks)

        evaluate(noted, games=30)
        first_rolls.append(seen[0])
    np.testing.assert_array_equal(*first_rolls)


def test_results_do_not_change_global_random_state():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    evaluate("random", "yacht", games=10)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# What the figures are.


def test_figures_of_a_game_that_can_be_worked_out_by_hand():
    result = evaluate(fill_first_box, "yacht", games=4000, seed=2)
    box_means = {name: box.mean for name, box in result.cards.boxes.items()}
    for face, name in enumerate(("ones", "twos", "threes", "fours", "fives", "sixes"), start=1):
        assert box_means[name] == pytest.approx(face * 5 / 6, rel=0.1)
        assert result.cards.boxes[name].zero_rate == pytest.approx((5 / 6) ** 5, abs=0.04)
    assert box_means["choice"] == pytest.approx(17.5, abs=0.3)
    assert sum(box_means.values()) == pytest.approx(result.mean)
    assert result.cards.upper_bonus_rate is None
    assert result.five_alike_rate is None
    low, high = result.ci95
    assert high - low == pytest.approx(2 * 1.96 * result.std / np.sqrt(4000), rel=1e-3)
    assert list(result.quantiles.values()) == sorted(result.quantiles.values())


def test_boxes_and_bonuses_add_up_to_the_score():
    result = evaluate("optimal", games=2000)
    cards = result.cards
    boxes = sum(box.mean for box in cards.boxes.values())
    total = boxes + cards.upper_bonus_mean + cards.extra_bonus_mean
    assert total == pytest.approx(result.mean)
    assert cards.upper_bonus_mean == pytest.approx(35 * cards.upper_bonus_rate)
    assert cards.upper_bonus_rate == pytest.approx(23.8428 / 35, abs=0.05)
    published = cases("optimal.json")["per_box_mean_under_optimal_play_official"]
    assert cards.five_alike_rate == pytest.approx(published["yahtzee"] / 50, abs=0.05)
    assert cards.boxes["yahtzee"].zero_rate == pytest.approx(1 - cards.five_alike_rate)


def test_mistakes_are_named_in_words_with_what_they_cost():
    result = evaluate(fill_first_box, games=50)
    assert len(result.mistakes) == 10
    lost = [mistake.lost_per_game for mistake in result.mistakes]
    assert lost == sorted(lost, reverse=True)
    assert sum(lost) <= result.regret_per_game
    assert all(mistake.decision == "first reroll" for mistake in result.mistakes)
    words = (
        r"first reroll: filled \w+ instead of (keeping [1-6-]+|\w+): lost [\d.]+ a time, .* a game"
    )
    assert all(re.fullmatch(words, str(mistake)) for mistake in result.mistakes)


def test_a_few_lucky_games_are_no_fault():
    results = [evaluate("greedy-turn", "yacht", games=2, seed=seed) for seed in range(20)]
    assert any(result.mean - 5 * result.sem > result.optimum for result in results)


def test_a_choice_has_one_number_whatever_the_dice():
    rolls = np.array([ROLLS_BY_NUMBER.index(dice) for dice in ((1, 2, 2, 5, 6), (2, 2, 2, 2, 2))])
    assert choice_number(rolls, np.array([0b110, 0b11])).tolist() == [KEEPS.index((2, 2))] * 2
    assert choice_number(rolls, np.array([0, 0])).tolist() == [0, 0]
    assert choice_number(rolls, np.array([N_HOLDS, 43])).tolist() == [N_KEEPS, N_KEEPS + 12]


def test_a_result_goes_through_json_and_into_words():
    result = evaluate("greedy-turn", "yahtzee-strict", games=20)
    data = json.loads(result.to_json())
    assert data["mean"] == result.mean
    assert data["cards"]["boxes"]["chance"]["mean"] == result.cards.boxes["chance"].mean
    assert str(result).startswith("greedy-turn on yahtzee-strict: ")


def test_numbers_of_numpy_go_through_json_too():
    result = evaluate("greedy-turn", games=np.int64(5), seed=np.int32(3))
    assert json.loads(result.to_json())["seed"] == 3


def test_rules_that_pay_nothing_are_played_perfectly():
    boxes = tuple(Box(f"nothing_{k}", (0,) * len(ROLLS)) for k in range(2))
    result = evaluate("random", Ruleset("nothing", boxes), games=5)
    assert result.pct_of_optimal == 100


# Illegal actions and impossible results.


def test_illegal_actions_are_refused_unless_told_otherwise():
    with pytest.raises(ValueError, match=r"action 31 \(fill ones\) is illegal: the box is filled"):
        evaluate(always_ones, games=10)
    result = evaluate(always_ones, games=10, on_illegal="random")
    assert result.illegal_actions >= 10 * 12
    assert result.cards.boxes["ones"].mean < 3
    assert evaluate(first_legal, games=10, on_illegal="random").illegal_actions == 0


@pytest.mark.parametrize("action", [-1, 44, 10**6])
def test_numbers_that_are_no_actions_are_illegal(action):
    def wrong(observations, masks):
        return np.full(len(masks), action)

    with pytest.raises(ValueError, match="an action is a number from 0 to 43"):
        evaluate(wrong, games=2)
    assert evaluate(wrong, games=2, on_illegal="random").illegal_actions >= 2 * 13


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"games": 1}, "games must be at least 2, not 1"),
        ({"games": 2.5}, "games and seed must be whole numbers, not 2.5 and 0"),
        ({"seed": None}, "games and seed must be whole numbers, not 1000 and None"),
        ({"on_illegal": "ignore"}, "on_illegal must be one of"),
        ({"ruleset": "yathzee"}, "unknown rule set 'yathzee'"),
        ({"policy": "best"}, "unknown policy 'best'"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        evaluate(**{"policy": "random", **arguments})


@pytest.mark.parametrize(("points", "refused"), [(0, False), (2, False), (50, True)])
def test_a_result_above_the_optimum_is_refused(points, refused, monkeypatch):
    def cheating(*arguments):
        played = play(*arguments)
        played.records["score"] += points
        return played

    monkeypatch.setattr(measure, "play", cheating)
    if refused:
        with pytest.raises(RuntimeError, match=r"above the optimum 254\.59: no policy can"):
            evaluate("optimal", games=500)
    else:
        assert evaluate("optimal", games=500).mean == pytest.approx(254.6 + points, abs=8)


# Exact values.


@pytest.mark.parametrize("policy", ["greedy-no-reroll", "greedy-turn", "optimal", first_legal])
def test_the_exact_value_agrees_with_games(policy):
    exact = policy_value(policy, FOUR_BOXES)
    result = evaluate(policy, FOUR_BOXES, games=4000, seed=1)
    assert abs(result.mean - exact.mean) < 4 * result.sem
    assert abs(result.luck_adjusted_mean - exact.mean) < 4 * result.luck_adjusted_sem + 1e-9
    assert result.std == pytest.approx(exact.std, rel=0.1)
    for name, box in result.cards.boxes.items():
        assert box.mean == pytest.approx(exact.box_means[name], abs=0.6)


def test_the_exact_value_of_perfect_play_is_that_of_the_solution():
    exact, solution = policy_value("optimal", FOUR_BOXES), solve(FOUR_BOXES)
    assert exact.mean == pytest.approx(solution.start_value, abs=1e-10)
    assert exact.std == pytest.approx(solution.standard_deviation, abs=1e-9)


def test_the_exact_value_by_listing_all_dice():
    rules = replace(
        FOUR_BOXES, name="two boxes", boxes=FOUR_BOXES.boxes[1:3], bonus_steps=((18, 35),)
    )
    assert rules.box_names == ("sixes", "full_house")
    mean = square = 0.0
    for first, p in plain.throws(5).items():
        for second, q in plain.throws(5).items():
            score = greedy_score(first, second)
            mean += p * q * score
            square += p * q * score**2
    exact = policy_value("greedy-no-reroll", rules)
    assert exact.mean == pytest.approx(mean, abs=1e-10)
    assert exact.std == pytest.approx(np.sqrt(square - mean**2), abs=1e-9)
    assert exact.cards == 1 + 6 + 1 - 2


def greedy_score(first, second):
    """Sixes (35 more for 18 and above) and Full house, the better of them first."""

    def pays(roll):
        sixes = 6 * roll.count(6)
        full = 25 if sorted(map(roll.count, set(roll))) == [2, 3] else 0
        return sixes + (35 if sixes >= 18 else 0), full

    sixes, full = pays(first)
    return sixes + pays(second)[1] if sixes >= full else full + pays(second)[0]


def test_only_deterministic_policies_have_exact_values():
    with pytest.raises(ValueError, match="random is not deterministic"):
        policy_value("random", "yacht")
    with pytest.raises(ValueError, match="not deterministic"):
        policy_value(FunctionPolicy(first_legal, deterministic=False), "yacht")


def test_an_illegal_action_has_no_exact_value():
    with pytest.raises(ValueError, match="the box is filled"):
        policy_value(always_ones, FOUR_BOXES)


def test_progress_of_an_exact_value_is_told():
    told = []
    policy_value("greedy-no-reroll", FOUR_BOXES, progress=told.append)
    assert len(told) >= 4
    assert told == sorted(told)
    assert 0 < told[0] < 0.9 < told[-1] <= 1


@pytest.mark.slow
def test_the_exact_value_of_greedy_turn_under_the_official_rules():
    exact = policy_value("greedy-turn")
    assert exact.mean == pytest.approx(GREEDY_TURN, abs=1e-4)
    result = evaluate("greedy-turn", games=20_000, seed=9)
    assert abs(result.mean - exact.mean) < 3 * result.sem
    assert abs(result.luck_adjusted_mean - exact.mean) < 3 * result.luck_adjusted_sem
    assert result.std == pytest.approx(exact.std, rel=0.02)


# Comparisons.


def test_a_comparison_pairs_the_games():
    comparison = compare(["greedy-no-reroll", "greedy-turn", "optimal"], "yahtzee", 600, seed=4)
    assert [result.policy for result in comparison.evaluations] == [
        "greedy-no-reroll",
        "greedy-turn",
        "optimal",
    ]
    pairs = {(pair.first, pair.second): pair for pair in comparison.differences}
    assert len(pairs) == len(comparison.differences) == 3
    pair = pairs["greedy-turn", "optimal"]
    one, two = comparison.evaluations[1:]
    difference = one.scores - two.scores
    assert pair.mean == pytest.approx(one.mean - two.mean)
    assert pair.sem == pytest.approx(difference.std(ddof=1) / np.sqrt(600))
    assert pair.luck_adjusted_mean == pytest.approx(one.luck_adjusted_mean - two.luck_adjusted_mean)
    exact = GREEDY_TURN - solve("yahtzee").start_value
    assert pair.luck_adjusted_sem < pair.sem / 2
    assert abs(pair.mean - exact) < 3 * pair.sem
    assert abs(pair.luck_adjusted_mean - exact) < 3 * pair.luck_adjusted_sem
    assert pair.ci95[1] < 0
    assert json.loads(comparison.to_json())["differences"][2]["mean"] == pair.mean
    assert str(pair) in str(comparison)
    np.testing.assert_array_equal(evaluate("greedy-turn", games=600, seed=4).scores, one.scores)


def test_a_policy_does_not_differ_from_itself():
    [pair] = compare(["greedy-turn", "greedy-turn"], "yacht", 20).differences
    assert (pair.mean, pair.sem, pair.luck_adjusted_mean, pair.luck_adjusted_sem) == (0, 0, 0, 0)


@pytest.mark.parametrize("policies", [[], ["random"], "random"])
def test_a_comparison_needs_two_policies(policies):
    with pytest.raises(ValueError, match="at least two policies"):
        compare(policies)


def test_the_mean_over_seeds_has_an_interval_by_student():
    summary = seed_summary([200, 210, 190, 205, 195])
    assert summary.mean == 200
    # Standard error sqrt(62.5 / 5), 0.975-quantile of Student's t with 4 degrees 2.776445.
    assert summary.half_width == pytest.approx(2.776445 * np.sqrt(62.5 / 5), abs=1e-5)
    assert str(summary) == "200.0 +- 9.8"
    with pytest.raises(ValueError, match="at least two trained seeds, not 1"):
        seed_summary([200])


def test_the_interval_over_seeds_needs_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(ImportError, match=r'pip install "yahtzee-env\[learn\]"'):
        seed_summary([1, 2])


# Tables.


def printed(renderable):
    """What a terminal of 100 columns shows, line by line."""
    console = Console(width=100, file=io.StringIO())
    console.print(renderable)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


@pytest.mark.parametrize("name", ["random", "greedy-turn", "optimal"])
def test_the_table_of_a_result(name, ruleset):
    result = evaluate(name, ruleset, games=50)
    lines = printed(result)
    text = "\n".join(lines)
    assert "…" not in text
    rows = [line.split() for line in lines]
    for box, summary in result.cards.boxes.items():
        [row] = [row for row in rows if row[:1] == [box] and "%" in row]
        assert row[1] == f"{summary.mean:.2f}"
        assert row[2] == f"{result.optimal_cards.boxes[box].mean:.2f}"
        assert row[3] == f"{100 * summary.zero_rate:.1f}"
    assert f"{result.mean:.2f} ± {result.sem:.2f}" in text
    assert f"{result.luck_adjusted_mean:.2f} ± {result.luck_adjusted_sem:.2f}" in text
    assert all(mistake.best in text for mistake in result.mistakes)
    rules = get_ruleset(ruleset)
    assert ("upper bonus" in text) == bool(rules.bonus_steps)
    assert rules.extra_bonus or "extra bonus" not in text
    summary = "\n".join(printed(summary_table([result], references=[("a record", 1.0)])))
    assert ("bonus %" in summary) == bool(rules.bonus_steps)


def test_the_table_of_several_results_ends_with_the_optimum():
    results = [evaluate(name, games=50) for name in ("greedy-no-reroll", "greedy-turn")]
    lines = printed(summary_table(results, references=[("a record", 241.78)]))
    rows = [line.split() for line in lines if line]
    assert rows[-1][:3] == ["optimum", "exact", "254.59"]
    assert rows[-2] == ["a", "record", "241.78", "95.0"]
    assert rows[-3][:3] == ["greedy-turn", "50", f"{results[1].mean:.2f}"]
    assert "…" not in "\n".join(lines)


def test_a_table_is_of_one_rule_set():
    results = [evaluate("random", ruleset, games=2) for ruleset in ("yacht", "yahtzee")]
    for wrong in (results, []):
        with pytest.raises(ValueError, match="one rule set"):
            summary_table(wrong)


def test_the_table_of_a_comparison():
    comparison = compare(["greedy-no-reroll", "greedy-turn", "optimal"], "kismet", 30)
    text = "\n".join(printed(comparison))
    assert "…" not in text
    for pair in comparison.differences:
        assert f"{pair.mean:+.2f} ± {pair.sem:.2f}" in text


def test_names_with_brackets_are_shown():
    policy = FunctionPolicy(first_legal, name="mine [bold]")
    assert "mine [bold]" in "\n".join(printed(evaluate(policy, "yacht", games=2)))


def test_tables_need_rich(monkeypatch):
    result = evaluate("greedy-turn", "yacht", games=2)
    monkeypatch.setitem(sys.modules, "rich.table", None)
    for table in (evaluation_table, lambda one: summary_table([one])):
        with pytest.raises(ImportError, match=r'pip install "yahtzee-env\[cli\]"'):
            table(result)


def test_a_policy_that_changes_its_mind_has_no_exact_value():
    rng = np.random.default_rng(1)
    fickle = FunctionPolicy(lambda _, masks: (masks * rng.random(masks.shape)).argmax(axis=1))
    with pytest.raises(ValueError, match="chooses differently"):
        policy_value(fickle, "yacht")
