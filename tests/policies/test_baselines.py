"""The simple baselines, against the referee."""

from dataclasses import replace

import numpy as np
import plain
import pytest
from helpers import N_HOLDS, as_games, random_positions, referee_at
from reference_game import boxes

from yahtzee_env import State, load_policy

RNG = np.random.default_rng(0)


def test_greedy_no_reroll_takes_what_pays_most_now(ruleset):
    states = [s for s in random_positions(ruleset, 15, seed=6) if len(s.card) < len(boxes(ruleset))]
    games = as_games(ruleset, states)
    for state, action in zip(states, load_policy("greedy-no-reroll").act(games, RNG), strict=True):
        referee = referee_at(ruleset, state)
        pays = {box: referee.reward(box) for box in referee.legal_boxes()}
        assert boxes(ruleset)[action - N_HOLDS] == max(pays, key=pays.get)


def test_greedy_turn_takes_the_most_that_a_turn_can_pay(ruleset):
    states = [s for s in random_positions(ruleset, 15, seed=8) if len(s.card) < len(boxes(ruleset))]
    for state in [s for s in states if s.rolls_left == 2][:3]:
        values = {}
        for roll in plain.ROLLS:
            referee = referee_at(ruleset, replace(state, dice=roll))
            values[roll] = max(map(referee.reward, referee.legal_boxes()))
        of_roll = plain.with_reroll(values)
        keep_value = {keep: plain.mean(of_roll, keep) for keep in plain.keeps(tuple(state.dice))}
        games = as_games(ruleset, [state])
        action = int(load_policy("greedy-turn").act(games, RNG)[0])
        taken = (
            referee_at(ruleset, state).reward(boxes(ruleset)[action - N_HOLDS])
            if action >= N_HOLDS
            else keep_value[tuple(d for i, d in enumerate(sorted(state.dice)) if action >> i & 1)]
        )
        best = max(values[tuple(sorted(state.dice))], *keep_value.values())
        assert taken == pytest.approx(best, abs=1e-9)


def test_a_random_policy_takes_every_legal_action_alike():
    games = as_games("yahtzee", [State((1, 2, 2, 5, 6), 1, {"ones": 3})] * 20_000)
    legal = np.flatnonzero(games.masks()[0])
    times = np.bincount(load_policy("random").act(games, RNG), minlength=games.n_actions)
    assert times[legal].sum() == len(games)
    expected = len(games) / len(legal)
    assert (abs(times[legal] - expected) < 5 * np.sqrt(expected)).all()
