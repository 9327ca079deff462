"""Evaluation: what a policy scores, what its decisions cost, and what is refused."""

import numpy as np
import plain
import pytest
from helpers import N_HOLDS, fill_first_box, first_legal

from yahtzee_env import evaluate, get_ruleset, solve
from yahtzee_env.dice import ROLLS
from yahtzee_env.evaluation import measure
from yahtzee_env.evaluation.play import BATCH, play
from yahtzee_env.game import Games
from yahtzee_env.policies import POLICIES

ROLLS_BY_NUMBER = [tuple(roll) for roll in ROLLS.tolist()]


def always_ones(observations, masks):
    return np.full(len(masks), N_HOLDS)


class Rerolling:
    """Uses every reroll, at random, and records positions and actions; all games end together."""

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
def test_score_is_optimum_plus_luck_minus_regret(ruleset):
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


def test_regret_is_never_negative_and_its_parts_add_up():
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


def test_a_few_lucky_games_above_the_optimum_are_accepted():
    results = [evaluate("greedy-turn", "yacht", games=2, seed=seed) for seed in range(20)]
    assert any(result.mean - 5 * result.sem > result.optimum for result in results)


def test_illegal_actions_are_refused_by_default_or_replaced_and_counted():
    with pytest.raises(ValueError, match=r"action 31 \(fill ones\) is illegal: the box is filled"):
        evaluate(always_ones, games=10)
    result = evaluate(always_ones, games=10, on_illegal="random")
    assert result.illegal_actions >= 10 * 12
    assert result.cards.boxes["ones"].mean < 3
    assert evaluate(first_legal, games=10, on_illegal="random").illegal_actions == 0


@pytest.mark.parametrize("action", [-1, 44, 10**6])
def test_numbers_outside_the_action_space_are_illegal(action):
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
