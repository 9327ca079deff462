"""Objectives other than the mean: against listing all dice, and by what must hold of them."""

import os
from functools import cache

import numpy as np
import plain
import pytest
from helpers import FOUR_BOXES, JOKERS, as_games, random_positions

from yahtzee_env import Ruleset, State, policy_value, solve
from yahtzee_env.dice import N_ROLLS, ROLLS
from yahtzee_env.solver.distribution import Distribution
from yahtzee_env.solver.objectives import AtLeast, Beat, CVaR, Utility

SHORT = Ruleset(
    "short",
    tuple(box for box in FOUR_BOXES.boxes if box.name in ("fives", "sixes", "full_house")),
    bonus_steps=((20, 35),),
)
LEVELS = 130
"""More than the highest score of the game: 25 + 30 + 25 + 35 = 115."""

KEEPS = sorted({kept for roll in plain.ROLLS for kept in plain.keeps(roll)})
NUMBER = {tuple(roll): i for i, roll in enumerate(ROLLS.tolist())}
BECOMES = np.zeros((len(KEEPS), N_ROLLS))
for i, kept in enumerate(KEEPS):
    for roll, p in plain.outcomes(kept).items():
        BECOMES[i, NUMBER[roll]] = p
OF_ROLL = [[KEEPS.index(kept) for kept in plain.keeps(tuple(roll))] for roll in ROLLS.tolist()]


def pays(box, roll):
    if box == "full_house":
        return 25 if sorted(map(roll.count, set(roll))) == [2, 3] else 0
    face = {"fives": 5, "sixes": 6}[box]
    return face * roll.count(face)


class Brute:
    """The best expected utilities of the short game; the utilities are (scores, kinds)."""

    def __init__(self, utilities):
        self.utilities = utilities
        self.start = cache(self._start)

    def rolls(self, still_open, upper, score):
        """(252, kinds) for 0, 1 and 2 rolls left."""
        stop = np.array(
            [
                np.max(
                    [self.fill(still_open, upper, score, box, roll) for box in still_open], axis=0
                )
                for roll in NUMBER
            ]
        )
        values = [stop]
        for _ in range(2):
            of_keep = BECOMES @ values[-1]
            values.append(np.array([of_keep[keeps].max(axis=0) for keeps in OF_ROLL]))
        return values

    def fill(self, still_open, upper, score, box, roll):
        points = pays(box, roll)
        after = upper if box == "full_house" else upper + points
        bonus = 35 if upper < 20 <= after else 0
        return self.start(still_open - {box}, after, score + points + bonus)

    def _start(self, still_open, upper, score):
        if not still_open:
            return self.utilities[score]
        return BECOMES[KEEPS.index(())] @ self.rolls(still_open, upper, score)[2]


ALL = frozenset(SHORT.box_names)
SCORES = np.arange(LEVELS)


@pytest.fixture(scope="module")
def at_least():
    return solve(SHORT, objective=AtLeast(60), levels=LEVELS)


def test_chances_to_reach_points_by_listing_all_dice(at_least):
    expected = Brute((SCORES[:, None] >= SCORES).astype(float)).start(ALL, 0, 0)
    np.testing.assert_allclose(at_least.start_values, expected, rtol=0, atol=1e-6)
    assert at_least.start_value == at_least.start_values[60]
    assert at_least.for_objective(AtLeast(85)).start_value == at_least.start_values[85]


def test_values_of_positions_by_listing_all_dice(at_least):
    brute = Brute((SCORES[:, None] >= [60]).astype(float))
    card = {"sixes": 24}
    expected = brute.rolls(ALL - set(card), 24, 24 + 35)
    positions = [
        State(tuple(ROLLS[roll].tolist()), rolls_left, card)
        for rolls_left in range(3)
        for roll in range(0, N_ROLLS, 13)
    ]
    values = at_least.state_value(as_games(SHORT, positions))
    wanted = [expected[s.rolls_left][NUMBER[s.dice], 0] for s in positions]
    np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("level", [0.02, 0.1, 0.5, 1])
def test_cvar_by_listing_all_dice(level):
    shortfall = -np.maximum(SCORES[None, :] - SCORES[:, None], 0.0)
    by_goal = SCORES + Brute(shortfall).start(ALL, 0, 0) / level
    found = solve(SHORT, objective=CVaR(level), levels=LEVELS)
    assert found.start_value == pytest.approx(by_goal.max(), abs=1e-4)


def test_tables_of_utilities_by_listing_all_dice():
    rng = np.random.default_rng(5)
    rising, uneven = np.sort(rng.normal(size=LEVELS)), rng.normal(size=LEVELS)
    expected = Brute(np.column_stack([rising, uneven])).start(ALL, 0, 0)
    for utilities, wanted in zip((rising, uneven), expected, strict=True):
        found = solve(SHORT, objective=Utility(utilities))
        assert found.start_value == pytest.approx(wanted, abs=1e-6)


def test_scores_above_a_table_are_worth_its_last_entry():
    short = np.arange(41.0)
    expected = Brute(np.minimum(SCORES, 40.0)[:, None]).start(ALL, 0, 0)[0]
    assert solve(SHORT, objective=Utility(short)).start_value == pytest.approx(expected, abs=1e-5)


def test_a_final_position_is_worth_its_score(at_least):
    over = {"sixes": 6, "fives": 20, "full_house": 0}
    for points, value in ((61, 1), (62, 0)):
        solution = at_least.for_objective(AtLeast(points))
        assert solution.state_value(State((1, 1, 1, 1, 1), 0, over)) == value
    points = solve(SHORT, objective=Utility(SCORES)).state_value(State((1,) * 5, 0, over))
    assert points == 61


# What must hold.


@pytest.fixture(scope="module")
def optimum():
    return solve(JOKERS, cache=False)


def test_no_policy_reaches_points_more_often(optimum):
    chances = solve(JOKERS, objective=AtLeast(0), levels=512).start_values
    mean_optimal = policy_value("optimal", JOKERS, distribution=True).distribution
    by_mean = np.array([mean_optimal.at_least(points) for points in range(512)])
    assert (chances >= by_mean - 1e-6).all()
    assert (np.diff(chances) <= 0).all()
    assert chances[0] == 1
    assert (chances - by_mean).max() > 0.01


def test_best_responses_to_blind_opponents(optimum):
    opponent = optimum.start_distribution
    response = solve(JOKERS, objective=Beat(opponent))
    assert 0.5 <= response.start_value < 0.6
    assert solve(JOKERS, objective=Beat(Distribution(0, np.ones(1)))).start_value > 0.99


def test_a_utility_of_the_points_themselves_is_the_mean(optimum):
    found = solve(JOKERS, objective=Utility(np.arange(1300.0)))
    assert found.start_value == pytest.approx(optimum.start_value, abs=1e-3)
    positions = as_games(JOKERS, list(random_positions(JOKERS, 5, seed=3)))
    values = found.action_values(positions) - positions.records["score"][:, None]
    np.testing.assert_allclose(values, optimum.action_values(positions), rtol=0, atol=2e-3)


def test_cvar_of_all_outcomes_is_the_mean():
    optimum = solve(FOUR_BOXES, cache=False)
    found = solve(FOUR_BOXES, objective=CVaR(1), levels=200)
    assert found.start_value == pytest.approx(optimum.start_value, abs=1e-4)


def test_a_goal_above_the_levels_is_refused(at_least):
    with pytest.raises(ValueError, match="points must be 0 to 129 with 130 levels, not 130"):
        at_least.for_objective(AtLeast(130))
    with pytest.raises(ValueError, match="CVaR at level 1 needs more than 50 levels"):
        solve(SHORT, objective=CVaR(1), levels=50)
    with pytest.raises(ValueError, match="a solution for at-least holds no values for cvar"):
        at_least.for_objective(CVaR(0.1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CVaR(0), "above 0 and at most 1, not 0"),
        (lambda: Utility([1, np.nan]), "finite numbers"),
        (lambda: solve(SHORT, objective=AtLeast(0), levels=1), "at least 2 levels, not 1"),
    ],
)
def test_wrong_objectives(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_more_than_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: 1024, raising=False)
    with pytest.raises(MemoryError, match=r"take 0\.\d GiB and this machine has 0\.0 GiB"):
        solve("yahtzee-single", objective=AtLeast(100), levels=128)


def test_a_solution_is_kept_if_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("YAHTZEE_ENV_CACHE", str(tmp_path))
    first = solve(SHORT, objective=AtLeast(60), levels=LEVELS)
    assert not list(tmp_path.iterdir())
    solve(SHORT, cache=True, objective=AtLeast(60), levels=LEVELS)
    assert len(list(tmp_path.iterdir())) == 1
    shares = []
    again = solve(SHORT, cache=True, objective=AtLeast(50), levels=LEVELS, progress=shares.append)
    assert not shares
    np.testing.assert_array_equal(again.start_values, first.start_values)


def test_progress_rises_to_one():
    shares = []
    solve(SHORT, objective=AtLeast(60), levels=LEVELS, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
