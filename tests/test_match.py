"""Matches: turn order, roll-off, totals, winners and payoff, against the plain referee."""

import copy
import pickle
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from helpers import kept, without
from hypothesis import given
from hypothesis import strategies as st
from reference_game import RULESETS
from reference_match import ReferenceMatch, starter_of

from yahtzee_env import get_ruleset
from yahtzee_env.game import State
from yahtzee_env.match import CARD, MAX_PLAYERS, Match, payoffs, public_cards, roll_off, winners

N_HOLDS = 31
TURNS = {"yahtzee": 26, "yacht": 24, "yatzy": 30, "kismet": 30}


def random_action(match: Match, rng: np.random.Generator) -> int:
    """A random legal action of the player to move; boxes are likelier than they are many."""
    actions = np.flatnonzero(match.games[match.seat].masks()[0])
    return int(rng.choice(actions if rng.random() < 0.5 else actions[actions >= N_HOLDS]))


def play_out(match: Match, rng: np.random.Generator) -> list[int]:
    """Random play to the end; the seats that filled a box, in order."""
    order = []
    while match.seat is not None:
        seat, action = match.seat, random_action(match, rng)
        match.play(action)
        if action >= N_HOLDS:
            order.append(seat)
    return order


def referee_match(match: Match, rng: np.random.Generator) -> None:
    """Play a match at random and compare every step with the plain referee."""
    match.start(rng)
    n = match.num_players
    starter = match.starter if match.starter != "roll-off" else starter_of(n, match.roll_off)
    assert match.first == starter
    first_rolls = [game.state().dice for game in match.games]
    referee = ReferenceMatch(match.ruleset.name, first_rolls, starter)
    while not referee.over:
        assert match.seat == referee.to_move
        assert match.winners == ()
        step_both(match, referee, random_action(match, rng))
        assert match.totals.tolist() == referee.totals
    assert match.over
    assert match.seat is None
    assert set(match.winners) == referee.winners
    if n > 1:
        expected = [referee.payoff(seat) for seat in range(n)]
        np.testing.assert_allclose(match.payoffs, np.array(expected, float), atol=1e-12)


def step_both(match: Match, referee: ReferenceMatch, action: int) -> None:
    """One action in the match and with the referee, who is given the dice that fell."""
    seat = match.seat
    game = match.games[seat]
    before = game.state()
    gained = match.play(action)
    after: State = game.state()
    if action < N_HOLDS:
        faces = kept(before.dice, action)
        referee.reroll(seat, faces, without(after.dice, faces))
        assert gained == 0
    else:
        box = match.ruleset.box_names[action - N_HOLDS]
        assert gained == referee.fill(seat, box, None if game.over[0] else after.dice)


@pytest.mark.parametrize("players", range(1, 6))
def test_matches_agree_with_the_referee(ruleset: str, players: int) -> None:
    match = Match(players, ruleset)
    for seed in range(3):
        referee_match(match, np.random.default_rng(seed))


@pytest.mark.slow
@pytest.mark.parametrize("players", range(1, 6))
def test_many_matches_agree_with_the_referee(ruleset: str, players: int) -> None:
    for seed in range(250):
        starter = "roll-off" if seed % 2 else seed // 2 % players
        referee_match(Match(players, ruleset, starter), np.random.default_rng([seed, players]))


@pytest.mark.parametrize(("name", "turns"), TURNS.items())
def test_two_players_have_equal_turns_one_after_the_other(name: str, turns: int) -> None:
    match = Match(2, name, starter=0)
    match.start(np.random.default_rng(0))
    order = play_out(match, np.random.default_rng(1))
    assert order == [0, 1] * (turns // 2)
    assert all(len(game.state().card) == turns // 2 for game in match.games)


def test_play_passes_from_the_starter_in_seat_order() -> None:
    match = Match(4, "yacht", starter=2)
    for seed in range(3):
        match.start(np.random.default_rng(seed))
        assert play_out(match, np.random.default_rng(seed)) == [2, 3, 0, 1] * 12
        assert match.roll_off == ()


def test_equal_totals_share_the_win_whatever_the_seats() -> None:
    assert payoffs(np.array([200, 200])).tolist() == [0.0, 0.0]
    assert winners(np.array([200, 200])).tolist() == [True, True]
    assert payoffs(np.array([[210, 200], [200, 210]])).tolist() == [[1, -1], [-1, 1]]
    assert payoffs(np.array([90, 90, 10])).tolist() == [0.25, 0.25, -0.5]


@given(st.lists(st.integers(0, 4), min_size=2, max_size=10), st.randoms())
def test_the_payoff_is_that_of_the_rules_and_sums_to_zero(totals: list[int], random: Any) -> None:
    n, w = len(totals), totals.count(max(totals))
    expected = [
        Fraction(n - w, w * (n - 1)) if total == max(totals) else Fraction(-1, n - 1)
        for total in totals
    ]
    assert sum(expected) == 0
    earned = payoffs(np.array(totals))
    np.testing.assert_allclose(earned, np.array(expected, float), atol=1e-12)
    order = random.sample(range(n), n)
    np.testing.assert_allclose(payoffs(np.array(totals)[order]), earned[order], atol=1e-12)


def test_one_player_has_no_outcome_but_a_total() -> None:
    match = Match(1, "yacht")
    match.start(np.random.default_rng(0))
    assert play_out(match, np.random.default_rng(0)) == [0] * 12
    assert match.winners == (0,)
    with pytest.raises(ValueError, match="at least two players"):
        payoffs(match.totals)


def test_a_roll_off_is_won_by_everybody_equally_often() -> None:
    rng = np.random.default_rng(3)
    starts = [roll_off(4, rng) for _ in range(4000)]
    counts = Counter(seat for seat, _ in starts)
    assert all(abs(counts[seat] - 1000) < 5 * (4000 * 3 / 16) ** 0.5 for seat in range(4))
    assert all(starter_of(4, rounds) == seat for seat, rounds in starts)


def test_two_players_roll_again_as_often_as_five_dice_have_equal_sums() -> None:
    ways = Counter(map(sum, product(range(1, 7), repeat=5)))
    tie = sum(n * n for n in ways.values()) / 6**10
    rng = np.random.default_rng(5)
    again = sum(len(roll_off(2, rng)[1]) > 1 for _ in range(8000))
    assert abs(again - 8000 * tie) < 5 * (8000 * tie * (1 - tie)) ** 0.5


def test_ten_players_play_and_the_same_generator_gives_the_same_match() -> None:
    results = []
    for _ in range(2):
        match = Match(MAX_PLAYERS, "yacht")
        match.start(np.random.default_rng(9))
        order = play_out(match, np.random.default_rng(9))
        results.append((match.roll_off, order, match.totals.tolist()))
    assert results[0] == results[1]
    assert len(results[0][1]) == 12 * MAX_PLAYERS


def test_a_copy_keeps_the_coming_dice() -> None:
    match = Match(3, "kismet")
    match.start(np.random.default_rng(2))
    rng = np.random.default_rng(4)
    for _ in range(20):
        match.play(random_action(match, rng))
    copies = [match, copy.deepcopy(match), pickle.loads(pickle.dumps(match))]
    ends = []
    for one in copies:
        play_out(one, np.random.default_rng(6))
        ends.append([game.state() for game in one.games])
    assert ends[0] == ends[1] == ends[2]


def test_the_players_dice_are_independent() -> None:
    match = Match(2, "yahtzee", starter=0)
    first, second = [], []
    for seed in range(2000):
        match.start(np.random.default_rng(seed))
        first.append(sum(match.games[0].state().dice))
        second.append(sum(match.games[1].state().dice))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1


def test_opponents_are_the_others_in_turn_order_without_their_dice() -> None:
    match = Match(3, "yacht", starter=1)
    match.start(np.random.default_rng(1))
    for _ in range(3):
        match.play(N_HOLDS + match.seat)  # each seat fills a box of its own number
    assert [card["filled"] for card in match.opponents(0)] == [0b010, 0b100]
    assert [card["filled"] for card in match.opponents(2)] == [0b001, 0b010]
    assert not {"roll", "rolls_left", "rngs"} & set(CARD.names)
    assert match.opponents(0).base is None


def test_public_cards_are_copies() -> None:
    match = Match(2, "yacht", starter=0)
    match.start(np.random.default_rng(1))
    records = match.games[0].records
    cards = public_cards(records)
    match.play(N_HOLDS)
    assert cards["filled"][0] == 0
    assert records["filled"][0] == 1


def test_an_illegal_action_changes_nothing() -> None:
    match = Match(2, "yacht", starter=0)
    with pytest.raises(ValueError, match="call start first"):
        match.play(0)
    match.start(np.random.default_rng(1))
    match.play(N_HOLDS)
    for action in (-1, N_HOLDS + 12):
        with pytest.raises(ValueError, match="an action is a number from 0 to"):
            match.play(action)
    assert match.seat == 1
    match.play(N_HOLDS)
    with pytest.raises(ValueError, match="the box is filled"):
        match.play(N_HOLDS)
    assert match.seat == 0


@pytest.mark.parametrize("number", [0, 11, -1, 2.0, "2", None])
def test_a_wrong_number_of_players_is_refused(number: Any) -> None:
    with pytest.raises(ValueError, match="num_players must be a whole number from 1 to 10, not"):
        Match(number)


@pytest.mark.parametrize("starter", [2, -1, "first", None, 0.0])
def test_an_unknown_starter_is_refused(starter: Any) -> None:
    with pytest.raises(ValueError, match="starter must be 'roll-off' or a seat from 0 to 1, not"):
        Match(2, "yahtzee", starter)


def test_a_match_takes_the_rules_in_every_form() -> None:
    rules = get_ruleset("kismet")
    assert Match(2, rules).ruleset == Match(2, rules.to_dict()).ruleset == rules
    with pytest.raises(ValueError, match="unknown rule set"):
        Match(2, "bridge")
    assert set(RULESETS) >= set(TURNS)
