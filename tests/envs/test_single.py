"""The single environment: Gymnasium's contract, and what a user relies on beyond it."""

import copy
import warnings
from collections import Counter
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from helpers import (
    IDS,
    N_HOLDS,
    assert_same,
    kept,
    make,
    make_at,
    next_dice,
    play,
    play_games,
    random_action,
    random_positions,
    without,
)
from hypothesis import given
from hypothesis import strategies as st
from reference_game import RULESETS

from yahtzee_env import Box, State, YahtzeeEnv, YahtzeeVectorEnv, get_ruleset
from yahtzee_env.dice import ROLLS

OBSERVATIONS = ("flat", "dict")

MASKED = {
    "RLlib": {"mask_key": "action_mask", "observation_key": "observations"},
    "Tianshou": {"mask_key": "mask", "observation_key": "obs", "mask_dtype": "bool"},
    "PettingZoo": {"mask_key": "action_mask"},
}


# Checkers.


@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_gymnasium_check_env_is_clean(ruleset, observation):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(ruleset, observation=observation))


@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_stable_baselines3_check_env_is_clean(ruleset, observation):
    from stable_baselines3.common.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(ruleset, observation=observation))


@pytest.mark.parametrize("library", MASKED)
def test_check_env_is_clean_with_the_mask_in_the_observation(library):
    from stable_baselines3.common.env_checker import check_env as check_env_of_sb3

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(**MASKED[library]))
        check_env(make(**MASKED[library], observation="dict"))
        check_env_of_sb3(make(**MASKED[library]))


# Spaces.


@pytest.mark.parametrize("observation", OBSERVATIONS)
@pytest.mark.parametrize(
    ("library", "keys", "dtype"),
    [
        ("RLlib", ("observations", "action_mask"), np.int8),
        ("Tianshou", ("obs", "mask"), np.bool_),
        ("PettingZoo", ("observation", "action_mask"), np.int8),
    ],
)
def test_mask_in_the_observation_equals_that_of_the_info(library, keys, dtype, observation):
    plain, masked = make(observation=observation), make(**MASKED[library], observation=observation)
    results = [(plain.reset(seed=7), masked.reset(seed=7))]
    rng = np.random.default_rng(7)
    while plain.action_masks().any():
        action = random_action(plain, rng)
        steps = plain.step(action), masked.step(action)
        results.append([(step[0], step[4]) for step in steps])
    for (expected, info), (seen, masked_info) in results:
        assert tuple(seen) == keys
        assert_same(seen[keys[0]], expected)
        assert_same(seen[keys[1]], info["action_mask"].astype(dtype))
        assert_same(masked_info, info)
        assert seen in masked.observation_space


def test_infos_have_the_same_keys_and_types_at_every_step():
    env = make()
    infos = [env.reset(seed=1)[1], env.step(31)[4], env.step(31)[4], env.step(0)[4]]
    for info in infos:
        assert {name: value.dtype for name, value in info.items()} == {
            "action_mask": np.int8,
            "score": np.int64,
            "illegal_action": np.bool_,
        }
    assert [bool(info["illegal_action"]) for info in infos] == [False, False, True, False]


def test_actions_are_numbered_from_0_holds_first_then_boxes(ruleset):
    space = make(ruleset).action_space
    assert space.start == 0
    assert space.n == 31 + len(get_ruleset(ruleset).boxes)


@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_every_observation_is_in_its_space_with_its_dtype(ruleset, observation):
    env = make(ruleset, observation=observation)
    seen = []
    for (first, _), steps in play_games(env):
        seen += [first, *(step[0] for step in steps)]
    assert len(seen) > 5 * len(env.ruleset.boxes)
    for one in seen:
        assert one in env.observation_space
        if observation == "flat":
            assert one.dtype == env.observation_space.dtype == np.float32
        else:
            for name, space in env.observation_space.spaces.items():
                assert one[name].dtype == space.dtype


@pytest.mark.parametrize("observation", OBSERVATIONS)
@pytest.mark.parametrize("ruleset", ["yahtzee", "yahtzee-free-joker", "yahtzee-strict"])
def test_thirteen_yahtzees_score_1575(ruleset, observation):
    env = make(ruleset, observation=observation)
    env.reset(seed=0)
    boxes = ("yahtzee", "ones", "twos", "threes", "fours", "fives", "sixes", "chance")
    boxes += ("three_of_a_kind", "four_of_a_kind", "full_house", "small_straight", "large_straight")
    total = 0
    for turn, box in enumerate(boxes):
        env.set_state(replace(env.state, dice=(min(max(turn, 1), 6),) * 5))
        seen, reward, terminated, truncated, info = env.step(env.box_action(box))
        assert seen in env.observation_space
        total += reward
        assert (terminated, truncated) == (turn == 12, False)
    assert total == info["score"] == 1575
    assert env.state.extra_bonuses == 12


# Episodes.


def test_rewards_sum_to_the_score(ruleset):
    env = make(ruleset, observation="dict")
    for (_, first_info), steps in play_games(env):
        assert first_info["score"] == 0
        observation, _, terminated, truncated, info = steps[-1]
        assert (terminated, truncated) == (True, False)
        assert all(not step[2] and not step[3] for step in steps[:-1])
        assert sum(step[1] for step in steps) == info["score"]
        assert [step[4]["score"] for step in steps] == np.cumsum([s[1] for s in steps]).tolist()
        assert (observation["card"] >= 0).all()
        assert observation["rolls_left"] == 0
        assert not info["action_mask"].any()


def test_full_card_terminates_through_make(ruleset):
    env = gym.make(IDS[ruleset], ruleset=ruleset)
    assert env.spec.max_episode_steps is None
    _, info = env.reset(seed=3)
    terminated = truncated = False
    while not (terminated or truncated):
        action = env.action_space.sample(mask=info["action_mask"])
        _, _, terminated, truncated, info = env.step(action)
    assert (terminated, truncated) == (True, False)
    assert "TimeLimit.truncated" not in info


def test_games_take_one_to_three_actions_per_box(ruleset):
    env = make(ruleset)
    for only_boxes, per_box in ((True, 1), (False, 3)):
        _, info = env.reset(seed=1)
        length, terminated = 0, False
        while not terminated:
            legal = np.flatnonzero(info["action_mask"])
            action = legal[legal >= N_HOLDS][0] if only_boxes else legal[0]
            _, _, terminated, _, info = env.step(action)
            length += 1
        assert length == per_box * len(env.ruleset.boxes)


def test_step_before_reset_and_after_the_end_raises_and_changes_nothing(ruleset):
    for wrap in (gym.make, lambda *args, **kwargs: gym.make(*args, **kwargs).unwrapped):
        env = wrap(IDS[ruleset], ruleset=ruleset)
        with pytest.raises(ResetNeeded):
            env.step(31)
    env.reset(seed=2)
    twin = make(ruleset)
    twin.reset(seed=2)
    for one in (env, twin):
        last = play(one, np.random.default_rng(2))[-1][4]
    for action in (0, 31):
        with pytest.raises(ResetNeeded):
            env.step(action)
    assert env.state == twin.state
    assert_same(env.action_masks(), twin.action_masks())
    assert last["score"] == sum(env.state.card.values()) + _bonus(env)
    assert_same(env.reset(), twin.reset())
    assert next_dice(env) == next_dice(twin)


def _bonus(env):
    upper = sum(env.state.card[box.name] for box in env.ruleset.boxes[:6])
    bonus = sum(pays for at, pays in env.ruleset.bonus_steps if upper >= at)
    return bonus + env.ruleset.extra_bonus * env.state.extra_bonuses


# Masks and actions.


def test_masks_are_int8_for_sampling_and_bool_for_learners(ruleset):
    env = make(ruleset)
    for (_, info), steps in play_games(env, games=1):
        masks = [info["action_mask"], *(step[4]["action_mask"] for step in steps)]
        for mask in masks[:-1]:
            assert mask.dtype == np.int8
            assert mask.any()
            assert mask[env.action_space.sample(mask=mask)] == 1
    env.reset(seed=1)
    assert env.action_masks().dtype == bool
    for _ in range(10):
        info = play(env, np.random.default_rng(0), steps=1)[0][4]
        assert_same(env.action_masks(), info["action_mask"].astype(bool))


def test_returned_arrays_never_change():
    for observation in OBSERVATIONS:
        env = make(observation=observation)
        returned = [env.reset(seed=1)]
        snapshot = copy.deepcopy(returned)
        for step in play(env, np.random.default_rng(1)):
            returned.append(step)
            snapshot.append(copy.deepcopy(step))
        env.reset()
        assert_same(returned, snapshot)


def test_changing_returned_arrays_changes_no_game():
    for observation in OBSERVATIONS:
        env, twin = make(observation=observation), make(observation=observation)
        for one, spoil in ((env, True), (twin, False)):
            seen, info = one.reset(seed=1)
            if spoil:
                info["action_mask"][:] = 0
                one.action_masks()[:] = False
                for part in (seen["dice"], seen["card"]) if observation == "dict" else [seen]:
                    part[:] = 0
        assert env.state == twin.state
        assert_same(env.step(31), twin.step(31))


@pytest.mark.parametrize("form", [int, np.int64, np.int8, np.array, np.uint8])
def test_integers_of_every_type_are_actions(form):
    env, twin = make(), make()
    env.reset(seed=5)
    twin.reset(seed=5)
    for action in (0, 31, 43):
        assert_same(env.step(form(action)), twin.step(action))


@pytest.mark.parametrize(
    "action",
    [-1, 44, 1000, 2**70, 1.0, 1.5, np.float64(3), "3", None, [3], np.array([3]), np.array([1, 2])],
    ids=repr,
)
@pytest.mark.parametrize("illegal_action", ["ignore", "penalty", "raise"])
def test_invalid_actions_raise_and_change_nothing(action, illegal_action):
    env = make(illegal_action=illegal_action)
    env.reset(seed=1)
    before, coming = env.state, next_dice(env)
    with pytest.raises(ValueError, match="an action is"):
        env.step(action)
    assert env.state == before
    assert next_dice(env) == coming


def test_holding_only_the_six_of_four_ones_and_a_six_keeps_the_six():
    state = State((1, 1, 1, 1, 6))
    results = []
    for seed in range(60):
        env = make()
        env.reset(seed=seed, options={"state": state})
        assert env.hold_action([6]) == 1 << 4
        env.step(1 << 4)
        results.append(env.state.dice)
    assert all(6 in dice for dice in results)
    assert not all(dice[:4] == (1, 1, 1, 1) for dice in results)
    assert len({face for dice in results for face in dice}) == 6


def test_holding_none_rolls_five_fresh_dice():
    faces = Counter()
    for seed in range(200):
        env = make_at(State((6, 6, 6, 6, 6)))
        env.reset(seed=seed, options={"state": State((6, 6, 6, 6, 6))})
        env.step(0)
        faces.update(env.state.dice)
    assert all(faces[face] > 100 for face in range(1, 7))


@given(st.integers(0, 2**31), st.sampled_from(ROLLS.tolist()), st.data())
def test_kept_dice_never_change(seed, dice, data):
    env = make()
    env.reset(seed=seed, options={"state": State(tuple(dice))})
    for rolls_left in (1, 0):
        before = env.state.dice
        hold = data.draw(st.sampled_from(np.flatnonzero(env.action_masks()[:N_HOLDS]).tolist()))
        env.step(hold)
        without(env.state.dice, kept(before, hold))
        assert env.state.rolls_left == rolls_left
    assert not env.action_masks()[:N_HOLDS].any()


def test_actions_are_described_in_words():
    env = make_at(State((6, 1, 1, 1, 1)))
    assert env.describe(env.hold_action([6])) == "keep 6"
    assert env.describe(env.box_action("chance")) == "fill chance"
    assert env.describe(np.int64(0)) == env.describe(0)
    for wrong in ("", "zzz"):
        with pytest.raises(ValueError, match="is not a box of yahtzee"):
            env.box_action(wrong)
    with pytest.raises(ValueError, match="cannot keep"):
        env.hold_action([2, 2])
    for wrong in (-1, 44):
        with pytest.raises(ValueError, match="0 to 43"):
            env.describe(wrong)


# Illegal actions.


@pytest.mark.parametrize(
    ("arguments", "reward"),
    [
        ({}, 0),
        ({"illegal_action": "ignore", "illegal_reward": -9.0}, 0),
        ({"illegal_action": "penalty"}, -1),
        ({"illegal_action": "penalty", "illegal_reward": -2.5}, -2.5),
    ],
)
def test_illegal_actions_change_nothing_and_are_reported(arguments, reward):
    env = make(**arguments)
    env.reset(seed=1, options={"state": State((1, 2, 3, 4, 6), 0, {"ones": 3})})
    before, coming = env.state, next_dice(env)
    for action in (0, 31):
        seen, got, terminated, truncated, info = env.step(action)
        assert (got, terminated, truncated) == (reward, False, False)
        assert info["illegal_action"]
        assert env.state == before
        assert seen in env.observation_space
    assert next_dice(env) == coming
    _, got, _, _, info = env.step(env.box_action("chance"))
    assert got == 16
    assert not info["illegal_action"]
    env.step(31)
    assert not env.reset()[1]["illegal_action"]


@pytest.mark.parametrize("illegal_action", ["ignore", "penalty"])
def test_100_illegal_actions_truncate_the_episode(illegal_action):
    env = make(illegal_action=illegal_action)
    for episode in range(3):
        env.reset(seed=1)
        env.step(31)
        for n in range(1, 101):
            if n == 50:
                assert env.step(0)[2:4] == (False, False)
            _, _, terminated, truncated, info = env.step(31)
            assert (terminated, truncated) == (False, n == 100), (episode, n)
            assert info["illegal_action"]
        with pytest.raises(ResetNeeded):
            env.step(0)


def test_illegal_actions_can_raise_with_the_reason():
    env = make_at(State((1, 1, 1, 4, 6), 1, {"ones": 3}), illegal_action="raise")
    before, coming = env.state, next_dice(env)
    for action, words in (
        (31, r"31 \(fill ones\) is illegal: the box is filled"),
        (4, r"4 \(keep 1\) is illegal: action 1 keeps the same faces"),
    ):
        for _ in range(101):
            with pytest.raises(ValueError, match=words):
                env.step(action)
    assert env.state == before
    assert next_dice(env) == coming
    assert not env.step(0)[4]["illegal_action"]


def test_unknown_arguments_are_refused_with_the_allowed_ones():
    for arguments, words in (
        ({"illegal_action": "warn"}, "ignore.*penalty.*raise"),
        ({"observation": "image"}, "flat.*dict"),
        ({"render_mode": "human"}, "ansi.*rgb_array"),
        ({"ruleset": "maxi"}, "yahtzee.*kismet"),
    ):
        with pytest.raises(ValueError, match=words):
            YahtzeeEnv(**arguments)


# Positions.


def test_games_can_start_from_any_position(ruleset):
    env = make(ruleset, observation="dict")
    full = len(env.ruleset.boxes)
    for state in random_positions(ruleset, 8, seed=6):
        if len(state.card) == full:
            continue
        seen, info = env.reset(seed=1, options={"state": state})
        assert env.state == replace(state, dice=tuple(sorted(state.dice)))
        upper = sum(points for box, points in state.card.items() if env.ruleset.box_index(box) < 6)
        bonus = sum(pays for at, pays in env.ruleset.bonus_steps if upper >= at)
        bonus += env.ruleset.extra_bonus * state.extra_bonuses
        assert info["score"] == sum(state.card.values()) + bonus
        assert seen in env.observation_space


def test_set_state_of_state_is_the_same_position_through_random_games(ruleset):
    env, twin = make(ruleset), make(ruleset)
    rng = np.random.default_rng(2)
    for game in range(3):
        env.reset(seed=game)
        twin.reset(seed=game)
        terminated = False
        while not terminated:
            twin.set_state(env.state)
            assert twin.state == env.state
            action = random_action(env, rng)
            one, other = env.step(action), twin.step(action)
            assert_same(one, other)
            terminated = one[2]


def test_set_state_can_end_and_reopen_an_episode():
    env = make_at(State((1, 2, 3, 4, 6)))
    playable = env.state
    play(env, np.random.default_rng(0))
    full = env.state
    env.set_state(playable)
    env.step(31)
    env.set_state(full)
    with pytest.raises(ResetNeeded):
        env.step(31)


def test_set_state_needs_a_reset_first():
    with pytest.raises(ResetNeeded):
        make().set_state(State((1, 2, 3, 4, 6)))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (State((1, 2, 3, 4)), "five whole numbers from 1 to 6"),
        (State((1, 2, 3, 4, 6), 3), "rolls_left must be 0 to 2"),
        (State((1, 2, 3, 4, 6), 2, {"yacht": 0}), "'yacht' is not a box"),
        (State((1, 2, 3, 4, 6), 2, {"ones": 7}), "ones cannot hold 7"),
        (State((1, 2, 3, 4, 6), 2, {"ones": 5}, 1), "extra_bonuses must be 0 to 0"),
    ],
)
def test_impossible_positions_are_refused_and_change_nothing(state, message):
    env = make()
    env.reset(seed=1)
    before, coming = env.state, next_dice(env)
    for try_it in (env.set_state, lambda state: env.reset(seed=9, options={"state": state})):
        with pytest.raises(ValueError, match=message):
            try_it(state)
        assert env.state == before
        assert next_dice(env) == coming


def test_episode_cannot_start_with_a_full_card():
    env = make()
    env.reset(seed=1)
    play(env, np.random.default_rng(1))
    with pytest.raises(ValueError, match="cannot begin with a full card"):
        env.reset(options={"state": env.state})


def test_unknown_reset_options_are_ignored():
    env, twin = make(), make()
    assert_same(env.reset(seed=1, options={"colour": "red"}), twin.reset(seed=1))


# Rule sets.


def test_custom_rule_set_does_not_affect_another():
    before = play_games(make("yahtzee"))
    for name in RULESETS:
        make(name).reset(seed=1)
    mine = get_ruleset("yahtzee").with_box(Box.of("large_straight", lambda counts: 1), name="mine")
    YahtzeeEnv(mine).reset(seed=1)
    assert_same(play_games(make("yahtzee")), before)


def test_rule_set_by_name_object_or_dictionary_gives_the_same_games(ruleset):
    env = gym.make(IDS[ruleset], ruleset=ruleset)
    assert env.unwrapped.ruleset == get_ruleset(ruleset)
    by_object = YahtzeeEnv(get_ruleset(ruleset))
    by_dictionary = YahtzeeEnv(get_ruleset(ruleset).to_dict())
    expected = play_games(env.unwrapped)
    for other in (by_object, by_dictionary):
        assert_same(play_games(other), expected)


@pytest.mark.parametrize("reward", ["x", None, float("nan"), float("inf")])
def test_illegal_reward_must_be_finite(reward):
    with pytest.raises(ValueError, match="illegal_reward must be a finite number"):
        YahtzeeEnv(illegal_action="penalty", illegal_reward=reward)


@pytest.mark.parametrize("reward", [np.float32(-1), np.int64(-1), True])
def test_illegal_reward_can_be_any_real_number(reward):
    env = make(illegal_action="penalty", illegal_reward=reward)
    env.reset(seed=1)
    env.step(31)
    result = env.step(31)[1]
    assert type(result) is float
    assert result == reward


@pytest.mark.parametrize("config", [{}, {"ruleset": "yahtzee"}, {"mask_key": "action_mask"}])
@pytest.mark.parametrize("kind", [YahtzeeEnv, lambda config: YahtzeeVectorEnv(1, config)])
def test_dictionary_of_arguments_is_answered_by_what_to_write(kind, config):
    with pytest.raises(ValueError, match=r"keyword arguments.*\(\*\*config\).*env_config"):
        kind(config)


def test_keys_of_mask_and_observation_must_differ():
    with pytest.raises(ValueError, match="mask_key and observation_key must differ"):
        YahtzeeEnv(mask_key="observation")


@pytest.mark.parametrize("state", ["x", {"dice": (1, 2, 3, 4, 5)}, State((1, 2, 3, 4, 5), 2, None)])
def test_start_must_be_a_state(state):
    with pytest.raises(ValueError, match="must be a State"):
        YahtzeeEnv().reset(options={"state": state})
