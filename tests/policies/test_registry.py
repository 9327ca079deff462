"""Policies by name: what holds for every one, and how others are registered."""

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib.metadata import EntryPoint
from itertools import pairwise
from multiprocessing import get_context

import numpy as np
import pytest
from helpers import CUSTOM, N_HOLDS, as_games, first_legal, random_positions, random_rulesets
from hypothesis import given, settings
from reference_game import boxes

from yahtzee_env import (
    Ruleset,
    State,
    get_ruleset,
    load_policy,
    policy_value,
    register_policy,
    solve,
)
from yahtzee_env.dice import ROLLS
from yahtzee_env.evaluation.play import play
from yahtzee_env.game import Games
from yahtzee_env.policies import (
    AGENTS,
    POLICIES,
    FunctionPolicy,
    ModelPolicy,
    Policy,
    as_policy,
    registry,
)

DETERMINISTIC = [name for name in POLICIES if load_policy(name).deterministic]
HEURISTICS = ("rules-of-thumb", "strategist")
RNG = np.random.default_rng(0)


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


def test_as_policy_takes_names_functions_models_and_policies():
    class Model:
        def predict(self, observations, deterministic=True):
            raise AssertionError("never asked")

    assert as_policy("greedy-turn").name == "greedy-turn"
    assert as_policy(first_legal).name == "first_legal"
    assert isinstance(as_policy(first_legal), FunctionPolicy)
    assert as_policy(Model()).name == "Model"
    assert isinstance(as_policy(Model()), ModelPolicy)
    policy = load_policy("random")
    assert as_policy(policy) is policy
    assert isinstance(policy, Policy)
    with pytest.raises(TypeError, match="a policy is"):
        as_policy(3)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown policy 'perfect': choose from random, greedy"):
        load_policy("perfect")


def test_one_policy_may_play_several_rule_sets_in_turn():
    policy = load_policy("greedy-turn")
    for ruleset in ("yahtzee", "yacht", "yahtzee"):
        states = [s for s in random_positions(ruleset, 3, seed=4) if s.rolls_left]
        games = as_games(ruleset, states)
        np.testing.assert_array_equal(
            policy.act(games, RNG), load_policy("greedy-turn").act(games, RNG)
        )


@cache
def regret_per_game(name: str, ruleset: str, games: int) -> float:
    """The points per game that the decisions lose."""
    played = play(load_policy(name), solve(ruleset), games, np.random.SeedSequence(11))
    return float(played.regret.sum(axis=(1, 2)).mean())


def play_to_the_end(name: str, ruleset: Ruleset, games: int) -> np.ndarray:
    """The actions of some games; `Games.play` refuses illegal ones."""
    batch = Games(ruleset, games)
    batch.seed(np.random.default_rng(5))
    batch.start()
    policy = load_policy(name)
    steps = []
    while not batch.over.all():
        steps.append(policy.act(batch, RNG))
        batch.play(steps[-1])
    return np.array(steps)


def with_dice(ruleset: str | Ruleset, card: dict[str, int], rolls_left: int) -> Games:
    """A game for each of the 252 rolls, with one card."""
    games = Games(get_ruleset(ruleset), len(ROLLS))
    for i, dice in enumerate(ROLLS.tolist()):
        games.set_state(State(tuple(dice), rolls_left, card), i)
    return games


@pytest.mark.parametrize("name", HEURISTICS)
def test_heuristics_play_the_same_each_time(name, ruleset):
    actions = play_to_the_end(name, get_ruleset(ruleset), 100)
    np.testing.assert_array_equal(play_to_the_end(name, get_ruleset(ruleset), 100), actions)


@pytest.mark.parametrize("name", HEURISTICS)
@pytest.mark.parametrize("rules", CUSTOM, ids=lambda rules: rules.name)
def test_heuristics_play_custom_rule_sets(name, rules):
    play_to_the_end(name, rules, 200)


@pytest.mark.parametrize("name", HEURISTICS)
@settings(max_examples=15)
@given(random_rulesets())
def test_heuristics_play_any_rule_set(name, rules):
    play_to_the_end(name, rules, 20)


@pytest.mark.parametrize("name", HEURISTICS)
@pytest.mark.parametrize("rules", CUSTOM, ids=lambda rules: rules.name)
def test_heuristics_fill_the_last_box_of_custom_rule_sets(name, rules):
    names = rules.box_names
    last_may_be = [box.name for box in rules.boxes if rules.fill_order == "any" or box.face is None]
    for last in last_may_be:
        card = {box: 0 for box in names if box != last}
        if "low" in card:
            card["low"] = 10
        for rolls_left in range(3):
            games = with_dice(rules, card, rolls_left)
            actions = load_policy(name).act(games, RNG)
            games.check_legal(actions, games.over)
            if not rolls_left:
                assert (actions == N_HOLDS + names.index(last)).all()


def test_order_of_strength():
    names = ("random", "greedy-no-reroll", "greedy-turn", "rules-of-thumb", "strategist")
    lost = [regret_per_game(name, "yahtzee", 3000) for name in names]
    assert all(worse > better + 5 for worse, better in pairwise(lost)), lost
    assert 0.5 < lost[-1] < 2


def test_strategist_comes_close_in_every_rule_set(ruleset):
    assert regret_per_game("strategist", ruleset, 300) < 0.015 * solve(ruleset).start_value


def test_rules_of_thumb_beat_no_reroll_in_every_rule_set(ruleset):
    lost = {n: regret_per_game(n, ruleset, 300) for n in ("greedy-no-reroll", "rules-of-thumb")}
    assert lost["rules-of-thumb"] < lost["greedy-no-reroll"] - 20


@pytest.mark.slow
def test_exact_strength_under_the_official_rules():
    assert policy_value("strategist").mean > 253
    assert policy_value("rules-of-thumb").mean > 230


# Registration.


class FirstLegal:
    """A policy of a user."""

    name = "first-legal"
    deterministic = True

    def act(self, positions, rng):
        return positions.masks().argmax(axis=1)


@pytest.fixture
def registered(monkeypatch):
    """A registered policy of a user."""
    monkeypatch.setattr(registry, "POLICIES", dict(POLICIES))
    register_policy("first-legal", FirstLegal)


def test_a_registered_policy_has_a_name(registered):
    assert load_policy("first-legal").name == "first-legal"
    with pytest.raises(ValueError, match=r"choose from .*optimal.*, first-legal, "):
        load_policy("perfect")
    for name in ("first-legal", "optimal", "ppo-yahtzee"):
        with pytest.raises(ValueError, match=f"there is a policy called '{name}' already"):
            register_policy(name, FirstLegal)


def test_an_entry_point_of_another_package_is_imported_when_asked_for():
    point = EntryPoint("heights", f"{Policy.__module__}:no_such_name", registry.ENTRY_POINTS)
    factory = registry._factory(point)
    with pytest.raises(AttributeError, match="no_such_name"):
        factory()


@pytest.mark.parametrize(
    ("lacking", "message"),
    [
        (("name",), "has no name"),
        (("deterministic",), "has no deterministic"),
        (("name", "deterministic"), "has no name and no deterministic"),
    ],
)
def test_an_object_with_act_must_have_a_name_and_be_deterministic_or_not(lacking, message):
    body = {key: value for key, value in vars(FirstLegal).items() if key not in lacking}
    with pytest.raises(TypeError, match=message):
        as_policy(type("Mine", (), body)())


# Copies.


def actions_of(policy, ruleset):
    """The actions of a policy in some positions."""
    positions = as_games(ruleset, [s for s in random_positions(ruleset, 3, seed=4) if s.rolls_left])
    return policy.act(positions.positions(), np.random.default_rng(3)).tolist()


@pytest.mark.parametrize("name", [*POLICIES, *AGENTS])
def test_policies_pickle_and_copy(name):
    policy = load_policy(name)
    ruleset = policy.ruleset.name if name in AGENTS else "yacht"
    expected = actions_of(policy, ruleset)
    for other in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
        assert actions_of(other, ruleset) == expected


def test_policies_play_in_worker_processes():
    names = [*POLICIES, "ppo-yahtzee"]
    rulesets = ["yahtzee"] * len(names)
    policies = list(map(load_policy, names))
    expected = list(map(actions_of, policies, rulesets))
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert list(pool.map(actions_of, policies, rulesets)) == expected


def test_a_policy_that_has_played_pickles_small():
    policy = load_policy("strategist")
    size = len(pickle.dumps(policy))
    actions_of(policy, "yacht")
    assert len(pickle.dumps(policy)) == size < 1000
