"""Distributions of the points to come, against lists of all dice and against the values."""

import numpy as np
import plain
import pytest
from helpers import JOKERS, as_games, random_positions

from yahtzee_env import Box, Ruleset, State, get_ruleset, solve
from yahtzee_env.dice import N_ROLLS, ROLLS
from yahtzee_env.evaluation.play import play
from yahtzee_env.game import Games
from yahtzee_env.kernels import REROLLS
from yahtzee_env.policies import OptimalPolicy
from yahtzee_env.solver.endings import choice_number
from yahtzee_env.solver.returns import MOST_LUMPED, _choices_on
from yahtzee_env.solver.turn import Outcomes

NUMBER = {tuple(roll): i for i, roll in enumerate(ROLLS.tolist())}
KEEPS = sorted({kept for roll in plain.ROLLS for kept in plain.keeps(roll)})
BECOMES = np.zeros((len(KEEPS), N_ROLLS))
for i, kept in enumerate(KEEPS):
    for roll, p in plain.outcomes(kept).items():
        BECOMES[i, NUMBER[roll]] = p
OF_ROLL = [np.array([KEEPS.index(kept) for kept in plain.keeps(tuple(r))]) for r in ROLLS.tolist()]

WIDTH = 3000


# Points without any order. No two actions that are best somewhere are equally good, or the
# distributions would depend on which of them is chosen.
POINTS = np.random.default_rng(4).integers(1000, size=(3, N_ROLLS))
UNEVEN = Ruleset("uneven", tuple(Box(f"box_{k}", tuple(row)) for k, row in enumerate(POINTS)))


def start_of_turn(still_open):
    """(WIDTH,): the chance of each number of points to come."""
    if not still_open:
        return np.eye(1, WIDTH)[0]
    of_roll = rolls_of_turn(still_open)[REROLLS]
    return BECOMES[KEEPS.index(())] @ of_roll


def rolls_of_turn(still_open):
    """For each number of rolls left (252, WIDTH): the distributions from each roll."""
    after = {box: start_of_turn(still_open - {box}) for box in still_open}
    stop = np.array(
        [
            max((np.roll(after[box], POINTS[box, roll]) for box in after), key=mean)
            for roll in range(N_ROLLS)
        ]
    )
    by_rolls_left = [stop]
    for _ in range(REROLLS):
        of_keep = BECOMES @ by_rolls_left[-1]
        value = mean(of_keep)
        best = [keeps[np.argmax(value[keeps])] for keeps in OF_ROLL]
        by_rolls_left.append(of_keep[best])
    return by_rolls_left


def mean(distributions):
    return distributions @ np.arange(WIDTH)


def dense(distribution):
    """The probabilities of 0, 1, 2, ... points."""
    padded = np.zeros(WIDTH)
    padded[distribution.values] = distribution.probabilities
    return padded


@pytest.mark.parametrize("filled", [(), (1,)])
def test_distributions_by_listing_all_dice(filled):
    solution = solve(UNEVEN, cache=False)
    card = {f"box_{k}": int(POINTS[k, 0]) for k in filled}
    expected = rolls_of_turn(frozenset(range(3)) - set(filled))
    for rolls_left in range(REROLLS + 1):
        for roll in range(0, N_ROLLS, 17):
            state = State(tuple(ROLLS[roll].tolist()), rolls_left, card)
            found = solution.score_distribution(state)
            np.testing.assert_allclose(dense(found), expected[rolls_left][roll], rtol=0, atol=1e-6)


def test_distributions_agree_with_values_and_with_each_other():
    solution = solve(JOKERS, cache=False)
    positions = list(random_positions(JOKERS, 20, seed=2))[::11]
    games = as_games(JOKERS, positions)
    values, best = solution.action_values(games), solution.score_distribution(games)
    assert len(positions) > 30
    for i, found in enumerate(solution.return_distributions(games)):
        assert list(found) == np.flatnonzero(~np.isnan(values[i])).tolist()
        for action, distribution in found.items():
            assert distribution.mean == pytest.approx(values[i, action], abs=1e-4)
            assert distribution.probabilities.sum() == pytest.approx(1, abs=1e-12)
            assert 0 <= distribution.lumped <= MOST_LUMPED
        if found:
            chosen = found[solution.best_action(positions[i])]
            np.testing.assert_array_equal(chosen.probabilities, best[i].probabilities)
            assert chosen.start == best[i].start
        else:
            assert (best[i].start, best[i].probabilities.tolist()) == (0, [1])


def test_choices_are_the_first_of_equal_best_actions(ruleset):
    rules, solution = get_ruleset(ruleset), solve(ruleset)
    outcomes = Outcomes.of(rules)
    cards = np.argwhere(~np.isnan(solution.card_values[:-1]))
    for card in np.random.default_rng(3).choice(cards, 20):
        games = Games(rules, (REROLLS + 1) * N_ROLLS)
        records = games.records.reshape(REROLLS + 1, N_ROLLS)
        records["filled"], records["five_scored"], records["upper"] = card
        records["rolls_left"] = np.arange(REROLLS + 1)[:, None]
        records["roll"] = np.arange(N_ROLLS)
        expected = choice_number(games.records["roll"], solution.best_action(games))
        found = _choices_on(games.compiled, outcomes, solution.card_values, tuple(card.tolist()))
        np.testing.assert_array_equal(found.reshape(-1), expected)


def test_progress_rises_to_one():
    shares = []
    solve(UNEVEN, cache=False).returns(shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_positions_of_other_rules_are_refused():
    solution = solve(UNEVEN, cache=False)
    for ask in (solution.score_distribution, solution.return_distributions):
        with pytest.raises(ValueError, match="the solution of uneven, the games are of jokers"):
            ask(Games(JOKERS, 1))


@pytest.mark.slow
def test_perfect_play_of_the_official_rules():
    """The published standard deviation, and chances in games that were played."""
    solution = solve("yahtzee")
    score = solution.start_distribution
    assert score.mean == pytest.approx(254.587729, abs=1e-4)
    assert score.std == pytest.approx(59.608, abs=1e-3)
    assert score.lumped <= MOST_LUMPED
    played = play(OptimalPolicy(), solution, 100_000, np.random.SeedSequence(8))
    scores = played.records["score"]
    for points in (150, 200, 250, 300, 400, 500):
        expected = score.at_least(points)
        error = np.sqrt(expected * (1 - expected) / len(scores))
        assert abs((scores >= points).mean() - expected) < 3 * error
