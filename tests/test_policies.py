"""Policies: legal everywhere, what each promises, and other people's players as policies."""

from dataclasses import replace

import numpy as np
import plain
import pytest
from gymnasium import spaces
from helpers import (
    N_HOLDS,
    random_choices,
    random_positions,
    referee_at,
    started,
)
from reference_game import boxes

from yahtzee_env import State, get_ruleset, load_policy, solve
from yahtzee_env.evaluation.play import play
from yahtzee_env.game import Games
from yahtzee_env.policies import POLICIES, FunctionPolicy, ModelPolicy, Policy, as_policy

DETERMINISTIC = [name for name in POLICIES if load_policy(name).deterministic]
RNG = np.random.default_rng(0)


def as_games(ruleset: str, states: list[State]) -> Games:
    """Games in these positions."""
    games = Games(get_ruleset(ruleset), len(states))
    for i, state in enumerate(states):
        games.set_state(state, i)
    return games


@pytest.mark.parametrize("name", POLICIES)
def test_games_to_the_end_without_an_illegal_action(name, ruleset):
    played = play(load_policy(name), solve(ruleset), 300, np.random.SeedSequence(1))
    assert (played.records["filled"] == (1 << len(boxes(ruleset))) - 1).all()
    assert played.illegal == 0


@pytest.mark.parametrize("name", POLICIES)
def test_one_box_left(name, ruleset):
    full = [state for state in random_positions(ruleset, 30, seed=2) if not state.rolls_left]
    full = [state for state in full if len(state.card) == len(boxes(ruleset))]
    lower_first = get_ruleset(ruleset).fill_order == "any"
    states = [
        State(state.dice, rolls_left, {b: p for b, p in state.card.items() if b != box})
        for state, rolls_left in zip(full, (0, 1, 2) * 10, strict=True)
        for box in boxes(ruleset)[0 if lower_first else 6 :]
    ]
    games = as_games(ruleset, states)
    games.check_legal(load_policy(name).act(games, RNG), games.over)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_choices_do_not_depend_on_the_score_or_the_other_games(name):
    states = [s for s in random_positions("yahtzee", 10, seed=4) if len(s.card) < 13]
    games = as_games("yahtzee", states)
    actions = load_policy(name).act(games, RNG)
    games.records["score"] += 100
    backwards = games.select(np.arange(len(games))[::-1])
    np.testing.assert_array_equal(load_policy(name).act(backwards, RNG)[::-1], actions)


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


# Policies made of other things.


def first_legal(observations, masks):
    return masks.argmax(axis=1)


class Model:
    """A model with the interface of sb3-contrib, which takes the first legal action."""

    def predict(
        self, observation, state=None, episode_start=None, deterministic=False, action_masks=None
    ):
        assert observation.dtype == np.float32
        assert action_masks.dtype == bool
        assert deterministic
        return first_legal(observation, action_masks), None


class BlindModel:
    """A model with the interface of stable-baselines3, which knows no masks."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.full(len(observation), N_HOLDS), None


def test_functions_and_models_get_observations_and_masks():
    games = started("yahtzee", 50, seed=3)
    expected = games.masks().argmax(axis=1)
    for policy in (FunctionPolicy(first_legal), ModelPolicy(Model())):
        np.testing.assert_array_equal(policy.act(games, RNG), expected)
    assert (ModelPolicy(BlindModel()).act(games, RNG) == N_HOLDS).all()


@pytest.mark.parametrize(
    "actions",
    [lambda n: np.zeros(n), lambda n: np.zeros(n + 1, int), lambda n: 3, lambda n: None],
)
def test_what_are_no_actions_is_refused(actions):
    policy = FunctionPolicy(lambda observations, masks: actions(len(masks)))
    with pytest.raises(ValueError, match="must return 5 whole numbers"):
        policy.act(started("yahtzee", 5, seed=3), RNG)


def test_lists_and_small_integers_are_actions():
    games = started("yahtzee", 5, seed=3)
    for convert in (np.ndarray.tolist, np.int8, np.uint16):
        policy = FunctionPolicy(lambda o, m, convert=convert: convert(random_choices(m, RNG)))
        assert policy.act(games, RNG).dtype == np.int64


def test_as_policy_knows_what_it_is_given():
    assert as_policy("greedy-turn").name == "greedy-turn"
    assert as_policy(first_legal).name == "first_legal"
    assert as_policy(Model()).name == "Model"
    policy = load_policy("random")
    assert as_policy(policy) is policy
    assert isinstance(policy, Policy)
    with pytest.raises(TypeError, match="a policy is"):
        as_policy(3)


def test_an_unknown_policy_is_told_with_those_there_are():
    with pytest.raises(ValueError, match="unknown policy 'perfect'; there are random, greedy"):
        load_policy("perfect")


def test_one_policy_may_play_several_rule_sets_in_turn():
    policy = load_policy("greedy-turn")
    for ruleset in ("yahtzee", "yacht", "yahtzee"):
        states = [s for s in random_positions(ruleset, 3, seed=4) if s.rolls_left]
        games = as_games(ruleset, states)
        np.testing.assert_array_equal(
            policy.act(games, RNG), load_policy("greedy-turn").act(games, RNG)
        )


def test_models_of_other_observations_are_refused():
    class Model:
        observation_space = spaces.Dict({"dice": spaces.Discrete(6)})

        def predict(self, observations, deterministic=True):
            raise AssertionError("never asked")

    with pytest.raises(ValueError, match="flat observation"):
        ModelPolicy(Model())
