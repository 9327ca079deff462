"""The exact solver against published values, another solver, the referee and brute force."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import plain
import pytest
import yatzy_solver
from helpers import (
    N_HOLDS,
    OFFICIAL,
    as_games,
    cases,
    kept,
    random_positions,
    referee_at,
    started,
)
from reference_game import RULESETS, UPPER, ReferenceGame

from yahtzee_env import Box, Ruleset, State, YahtzeeVectorEnv, get_ruleset, solve
from yahtzee_env.dice import ROLLS
from yahtzee_env.evaluation import PolicyValue, policy_value
from yahtzee_env.game import Games
from yahtzee_env.policies import OptimalPolicy
from yahtzee_env.solver import Solution
from yahtzee_env.solver.lanes import LANES
from yahtzee_env.solver.sweep import reachable_cards, sweep

OPTIMAL = cases("optimal.json")
ROLLS_BY_NUMBER = [tuple(roll) for roll in ROLLS.tolist()]


def values_of_rolls(ruleset: str | Ruleset, state: State) -> dict[plain.Roll, float]:
    """The value of the position with each roll in place of its own."""
    rules = get_ruleset(ruleset)
    games = Games(rules, len(ROLLS))
    games.set_state(state)
    games.records[:] = games.records[0]
    games.records["roll"] = np.arange(len(ROLLS))
    return dict(zip(ROLLS_BY_NUMBER, solve(rules).state_value(games).tolist(), strict=True))


def value_of_turn(ruleset: str | Ruleset, card: dict[str, int], extra_bonuses: int = 0) -> float:
    """The value of a card at the start of a turn."""
    return plain.mean(values_of_rolls(ruleset, State((1,) * 5, 2, card, extra_bonuses)))


def card_with_open(*open_boxes: str, **points: int) -> dict[str, int]:
    """A card of the official rules: the least in all boxes but those open, or other points."""
    least = {box.name: min(box.scores) for box in OFFICIAL.boxes}
    return {name: points.get(name, least[name]) for name in least if name not in open_boxes}


# Published values.


@pytest.mark.parametrize(("ruleset", "value"), OPTIMAL["start_value"].items())
def test_expected_score_of_perfect_play(ruleset, value):
    assert solve(ruleset).start_value == pytest.approx(value, abs=1e-6)


def test_standard_deviation_of_perfect_play():
    assert solve("yahtzee").standard_deviation == pytest.approx(59.608, abs=1e-3)


@pytest.mark.parametrize(
    ("box", "value"),
    [
        item
        for item in OPTIMAL["last_box_open_yahtzee_rules_upper_total_0_yahtzee_box_0"].items()
        if item[0] != "note"
    ],
)
def test_value_of_the_last_box(box, value):
    assert value_of_turn("yahtzee", card_with_open(box)) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(("dice", "keep", "value"), OPTIMAL["first_roll_best_keep_official"])
def test_best_keep_of_the_first_roll(dice, keep, value):
    solution, state = solve("yahtzee"), State(tuple(dice))
    best = solution.best_action(state)
    assert kept(tuple(dice), best) == tuple(sorted(keep))
    assert solution.action_values(state)[best] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(("total", "upper"), [(35, (4, 6, 8, 5, 12)), (62, (8, 9, 12, 15, 18))])
def test_which_of_two_boxes_to_cross_out(total, upper):
    assert sum(upper) == total
    points = dict(zip(list(UPPER)[1:], upper, strict=True))
    state = State((5, 6, 6, 6, 6), 0, card_with_open("ones", "yahtzee", **points))
    case = OPTIMAL["cross_out"][f"upper_total_{total}"]
    best = solve("yahtzee").best_action(state)
    assert OFFICIAL.box_names[best - N_HOLDS] == case["best"]
    assert solve("yahtzee").state_value(state) == pytest.approx(case["value"], abs=1e-6)


@pytest.mark.slow
def test_where_the_points_of_perfect_play_come_from():
    exact = policy_value("optimal", "yahtzee")
    check_exact_value(exact, solve("yahtzee"))
    published = dict(OPTIMAL["per_box_mean_under_optimal_play_official"])
    bonuses = published.pop("upper_bonus") + published.pop("extra_yahtzee_bonus")
    assert exact.box_means == pytest.approx(published, abs=1e-4)
    assert exact.mean - sum(exact.box_means.values()) == pytest.approx(bonuses, abs=2e-4)


def five_alike_too(counts):
    return 25 if sorted(counts)[-2:] == [2, 3] or max(counts) == 5 else 0


def four_dice_only(counts):
    return sum(4 * face for face, n in enumerate(counts, start=1) if n >= 4)


def one_pair_too(counts):
    return sum(2 * face for face, n in enumerate(counts, start=1) if n >= 2)


@pytest.mark.parametrize(
    ("ruleset", "box", "value"),
    [
        ("yahtzee-single", Box.of("full_house", five_alike_too), 245.904728),
        ("yacht", Box.of("four_of_a_kind", four_dice_only), 166.955068),
        ("yatzy", Box.of("two_pairs", one_pair_too), 248.632854),
    ],
)
def test_variants_that_others_play_or_play_by_mistake(ruleset, box, value):
    rules = get_ruleset(ruleset).with_box(box, "variant")
    assert solve(rules, cache=False).start_value == pytest.approx(value, abs=1e-6)


# Another solver.


@pytest.mark.parametrize(
    ("variant", "rules"),
    [
        ("american+forced-joker", OFFICIAL),
        pytest.param("american", get_ruleset("yahtzee-free-joker"), marks=pytest.mark.slow),
        pytest.param("american+no-bonus", get_ruleset("yahtzee-single"), marks=pytest.mark.slow),
        pytest.param(
            "american+no-joker",
            replace(OFFICIAL, name="no-joker", joker="none"),
            marks=pytest.mark.slow,
        ),
        pytest.param("yatzy-scandinavian", get_ruleset("yatzy"), marks=pytest.mark.slow),
    ],
)
def test_every_card_agrees_with_another_solver(variant, rules):
    others = yatzy_solver.Variant(variant)
    names = [name.replace("five_of_a_kind", "yahtzee") for name in others.categories]
    assert names == list(rules.box_names)
    values = solve(rules).card_values
    cards = np.argwhere(~np.isnan(values[:-1]))
    filled, five_scored, upper = cards.T
    theirs = yatzy_solver.Solver.build(others).state_values(
        filled.astype(np.uint32), upper.astype(np.uint16), five_scored.astype(bool)
    )
    np.testing.assert_allclose(values[filled, five_scored, upper], theirs, rtol=0, atol=1e-9)


# Brute force.


def total(roll):
    return sum(roll)


def count_of(face):
    return lambda roll: face * roll.count(face)


def sum_if_alike(n):
    return lambda roll: sum(roll) if max(map(roll.count, roll)) >= n else 0


SMALL_GAMES = {
    "upper bonus": {
        "boxes": {"ones": count_of(1), "sixes": count_of(6), "chance": total},
        "upper": ("ones", "sixes"),
        "bonus": {20: 35},
    },
    "steps, two of which one box can cross": {
        "boxes": {"fives": count_of(5), "sixes": count_of(6)},
        "upper": ("fives", "sixes"),
        "bonus": {6: 7, 16: 11, 33: 40},
    },
    "extra bonus": {
        "boxes": {"four": sum_if_alike(4), "kind": sum_if_alike(5), "chance": total},
        "kind_box": "kind",
        "extra": 300,
    },
    "extra bonus after a box that other rolls fill too": {
        "boxes": {"threes": count_of(3), "kind": sum_if_alike(3), "chance": total},
        "upper": ("threes",),
        "bonus": {12: 30},
        "kind_box": "kind",
        "extra": 500,
    },
    "upper boxes first": {
        "boxes": {"twos": count_of(2), "chance": total, "threes": count_of(3)},
        "upper": ("twos", "threes"),
        "bonus": {12: 20},
        "upper_first": True,
    },
}


def small_ruleset(boxes, upper=(), bonus=None, kind_box="", extra=0, upper_first=False) -> Ruleset:
    """The same game as `plain.SmallGame` with these arguments."""
    faces = {"ones": 1, "twos": 2, "threes": 3, "fives": 5, "sixes": 6}
    return Ruleset(
        "small",
        tuple(
            Box(name, tuple(map(score, ROLLS_BY_NUMBER)), faces[name] if name in upper else None)
            for name, score in boxes.items()
        ),
        bonus_steps=tuple((bonus or {}).items()),
        five_alike_box=kind_box or None,
        extra_bonus=extra,
        fill_order="upper_first" if upper_first else "any",
    )


@pytest.mark.parametrize("game", SMALL_GAMES.values(), ids=SMALL_GAMES)
def test_small_games_by_brute_force(game):
    solution = solve(small_ruleset(**game), cache=False)
    assert solution.start_value == pytest.approx(plain.SmallGame(**game).start_value(), abs=1e-9)


def test_points_in_a_box_may_be_worth_less_than_nothing_there():
    """A box that makes jokers of five alike pays for many rolls, and the joker is a burden."""
    lower = {
        "kind": lambda roll: 1 if max(map(roll.count, roll)) >= 2 else 0,
        "five": lambda roll: 900 if roll == (6,) * 5 else 0,
    }
    boxes = {name: count_of(face) for face, name in enumerate(UPPER, start=1)} | lower
    rules = replace(
        OFFICIAL,
        name="burden",
        boxes=(
            *OFFICIAL.boxes[:6],
            *(Box(name, tuple(map(score, ROLLS_BY_NUMBER))) for name, score in lower.items()),
        ),
        five_alike_box="kind",
        bonus_steps=(),
        extra_bonus=0,
        joker_after_zero=False,
    )
    game = plain.SmallGame(boxes, tuple(UPPER), kind_box="kind", forced=dict(enumerate(UPPER, 1)))
    still_open = ("sixes", "kind", "five")
    card = {name: 0 for name in boxes if name not in still_open}
    after = frozenset({"sixes", "five"})
    assert game.value(after, 0, True) + 1 < game.value(after, 0, False)
    expected = game.value(frozenset(still_open), 0, False)
    assert value_of_turn(rules, card) == pytest.approx(expected, abs=1e-9)


class Endgame:
    """The value of the last turns of a game, by the referee and plain lists of dice."""

    def __init__(self) -> None:
        self.known: dict[object, float] = {}

    def value(self, referee: ReferenceGame) -> float:
        """The points to come from the start of a turn."""
        if referee.over:
            return 0.0
        holds = any(referee.card.get(box, 0) for box in ("yahtzee", "kismet"))
        key = (referee.upper_total, holds, frozenset(referee.card))
        if key not in self.known:
            self.known[key] = plain.turn_value(lambda roll: self.best_fill(referee, roll))
        return self.known[key]

    def best_fill(self, referee: ReferenceGame, roll: plain.Roll) -> float:
        """The points for the best box with a roll, and those to come."""
        referee = copy.copy(referee)
        referee.dice = list(roll)
        return max(self.fill(referee, box) for box in referee.legal_boxes())

    def fill(self, referee: ReferenceGame, box: str) -> float:
        """The points for filling a box, and those to come."""
        after = copy.copy(referee)
        after.card = dict(referee.card)
        is_last = len(after.card) + 1 == len(after._rules.boxes)
        return after.fill(box, None if is_last else referee.dice) + self.value(after)


def endgames(ruleset: str, open_boxes: int) -> Iterator[State]:
    """Cards of random games with so many boxes open, jokers among them."""
    boxes = len(get_ruleset(ruleset).boxes)
    for state in random_positions(ruleset, 40, seed=5):
        if len(state.card) == boxes - open_boxes and state.rolls_left == 2:
            yield state


@pytest.mark.parametrize("name", RULESETS)
def test_endgames_by_the_referee(name):
    states = list(endgames(name, 2))
    holding = [state for state in states if any(state.card.get(b) for b in ("yahtzee", "kismet"))]
    chosen = [*holding[:2], *states[:2]]
    for state in chosen:
        expected = Endgame().value(referee_at(name, state))
        assert value_of_turn(name, state.card, state.extra_bonuses) == pytest.approx(
            expected, abs=1e-9
        )


@pytest.mark.parametrize("held", [0, 50])
@pytest.mark.parametrize("name", ["yahtzee", "yahtzee-free-joker", "yahtzee-strict"])
def test_a_joker_endgame_near_the_upper_bonus(name, held):
    points = {"ones": 1, "twos": 8, "threes": 9, "fours": 12, "fives": 15, "yahtzee": held}
    card = card_with_open("sixes", "full_house", **points)
    expected = Endgame().value(referee_at(name, State((1,) * 5, 2, card)))
    assert value_of_turn(name, card) == pytest.approx(expected, abs=1e-9)


# What must hold whatever the rules.


def test_values_do_not_depend_on_the_number_of_threads():
    reached = reachable_cards(OFFICIAL)
    one, two = (sweep(OFFICIAL, reached, threads) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, solve("yahtzee").card_values)


def test_a_free_joker_is_never_worse_than_a_forced_one():
    free, forced = (solve(name).card_values for name in ("yahtzee-free-joker", "yahtzee"))
    both = ~np.isnan(free) & ~np.isnan(forced)
    assert both.sum() == (~np.isnan(forced)).sum()
    assert (free[both] >= forced[both] - 1e-10).all()


def lookahead(ruleset: str, state: State) -> Iterator[tuple[int, float]]:
    """Each legal action with its value one step ahead, the step taken by the referee."""
    referee = referee_at(ruleset, state)
    games = Games(get_ruleset(ruleset), 1)
    games.set_state(state)
    if state.rolls_left > 0:
        values = values_of_rolls(ruleset, replace(state, rolls_left=state.rolls_left - 1))
        for keep in referee.legal_keeps():
            yield games.hold_action(keep), plain.mean(values, keep)
    for box in referee.legal_boxes():
        after = copy.deepcopy(referee)
        is_last = len(after.card) + 1 == len(get_ruleset(ruleset).boxes)
        points = after.fill(box, None if is_last else after.dice)
        to_come = 0.0 if is_last else value_of_turn(ruleset, after.card, after.extra_bonuses)
        yield games.box_action(box), points + to_come


@pytest.mark.parametrize("name", RULESETS)
def test_action_values_are_those_of_a_step_ahead(name):
    states = [state for state in random_positions(name, 12, seed=3) if len(state.card) < 12]
    for state in states[:: len(states) // 25]:
        values = solve(name).action_values(state)
        expected = np.full(len(values), np.nan)
        for action, value in lookahead(name, state):
            expected[action] = value
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)


def test_labels_of_a_batch_are_those_of_each_position(ruleset):
    solution = solve(ruleset)
    states = list(islice(random_positions(ruleset, 30, seed=9), 400))
    # Cards with several dice and all rolls left, which share what is computed for them.
    states += [
        replace(state, rolls_left=rolls_left, dice=dice)
        for state in states[:: len(states) // LANES]
        for rolls_left in (0, 1, 2)
        for dice in ((1, 2, 3, 4, 6), (5, 5, 5, 5, 5), (2, 2, 6, 6, 6))
        if len(state.card) < len(get_ruleset(ruleset).boxes)
    ]
    np.random.default_rng(4).shuffle(states)
    games = as_games(ruleset, states)
    values, state_values = solution.action_values(games), solution.state_value(games)
    np.testing.assert_array_equal(np.isnan(values), games.masks() == 0)
    for i, state in enumerate(states):
        np.testing.assert_array_equal(values[i], solution.action_values(state))
        assert state_values[i] == solution.state_value(state)
    running = games.select(~games.over)
    values = values[~games.over]
    np.testing.assert_array_equal(state_values[~games.over], np.nanmax(values, axis=1))
    np.testing.assert_array_equal(solution.best_action(running), np.nanargmax(values, axis=1))
    actions = OptimalPolicy().act(running, np.random.default_rng(0))
    np.testing.assert_array_equal(actions, solution.best_action(running))


def test_labels_of_a_batch_of_one_card_only():
    card = {"ones": 3, "chance": 22}
    states = [
        State(dice, rolls_left, card)
        for dice in ((1, 2, 3, 4, 6), (2, 2, 6, 6, 6), (5, 5, 5, 5, 5))
        for rolls_left in (1, 0, 2)
    ]
    for batch in (states, states[:2], states[1:3], states[::-1]):
        values = solve("yahtzee").action_values(as_games("yahtzee", batch))
        for state, row in zip(batch, values, strict=True):
            np.testing.assert_array_equal(row, solve("yahtzee").action_values(state))


def test_a_finished_game_has_no_value_left_and_no_best_action():
    full = State((1, 2, 3, 4, 5), 0, card_with_open())
    assert solve("yahtzee").state_value(full) == 0.0
    assert np.isnan(solve("yahtzee").action_values(full)).all()
    with pytest.raises(ValueError, match="finished game"):
        solve("yahtzee").best_action(full)


def test_games_of_other_rules_are_refused():
    with pytest.raises(ValueError, match="solution of yahtzee, the games are of yacht"):
        solve("yahtzee").action_values(started("yacht", 3, seed=0))
    with pytest.raises(ValueError, match="unknown rule set 'yathzee'"):
        solve("yathzee")


def test_memory_and_states_stay_small():
    values = solve("yahtzee").card_values
    assert values.nbytes <= 8 * 2**20
    assert (~np.isnan(values)).sum() == 536_448


@pytest.mark.parametrize("games", [5_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_perfect_play_scores_its_value_in_the_environment(ruleset, games):
    envs = YahtzeeVectorEnv(games, ruleset, illegal_action="raise")
    envs.reset(seed=2)
    policy, rng = OptimalPolicy(), np.random.default_rng(0)
    returns, running = np.zeros(games), np.ones(games, bool)
    while running.any():
        _, rewards, terminated, _, _ = envs.step(policy.act(envs._games, rng))
        returns += np.where(running, rewards, 0.0)
        running &= ~terminated
    error = returns.std() / np.sqrt(games)
    assert abs(returns.mean() - solve(ruleset).start_value) < 3 * error


@pytest.mark.parametrize("name", ["yacht", "yahtzee-upper-first"])
def test_the_exact_value_of_the_optimal_policy_is_that_of_the_solution(name):
    check_exact_value(policy_value("optimal", name), solve(name))


def check_exact_value(exact: PolicyValue, solution: Solution) -> None:
    assert exact.mean == pytest.approx(solution.start_value, abs=1e-10)
    # The spread, unlike the mean, depends on which of two equally good actions is taken: with
    # 1-6-6-6-6 and only Full house open, 1-6-6-6 and 6-6-6 are worth 10/3 each.
    assert exact.std == pytest.approx(solution.standard_deviation, rel=1e-4)
