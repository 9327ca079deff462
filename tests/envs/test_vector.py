"""The native vector environment: the same games as Gymnasium's own vector environments."""

import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from helpers import IDS, N_HOLDS, assert_same, make, random_choices, random_positions
from packaging.version import Version

from yahtzee_env import State, YahtzeeVectorEnv, get_ruleset

MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
STATE = State((1, 2, 3, 4, 6), 1, {"ones": 3})

needs_gymnasium_1_4 = pytest.mark.skipif(
    Version(gym.__version__) < Version("1.4"),
    reason="Gymnasium itself miscounts episodes under SAME_STEP and shares metadata before 1.4",
)


def make_native(num_envs, mode=AutoresetMode.NEXT_STEP, ruleset="yahtzee", **arguments):
    return gym.make_vec(
        IDS[ruleset],
        num_envs=num_envs,
        vectorization_mode="vector_entry_point",
        ruleset=ruleset,
        autoreset_mode=mode,
        **arguments,
    )


def make_sync(num_envs, mode=AutoresetMode.NEXT_STEP, ruleset="yahtzee", **arguments):
    return gym.make_vec(
        IDS[ruleset],
        num_envs=num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        ruleset=ruleset,
        **arguments,
    )


def mostly_legal(masks, rng, step):
    """Random actions: legal but for a few, and game 1 asks for Ones again and again."""
    actions = random_choices(masks, rng)
    wild = rng.random(len(masks)) < 0.05
    actions[wild] = rng.integers(masks.shape[1], size=wild.sum())
    if step % 400 < 150:
        actions[1] = 31
    return actions


# Against Gymnasium's own.


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("ruleset", "arguments"),
    [
        ("yahtzee", {"illegal_action": "ignore"}),
        ("yahtzee", {"illegal_action": "penalty", "illegal_reward": -0.5, "observation": "dict"}),
        ("yahtzee-upper-first", {"illegal_action": "penalty"}),
        ("yacht", {"observation": "dict", "mask_key": "action_mask"}),
        ("yacht", {"mask_key": "mask", "observation_key": "obs", "mask_dtype": "bool"}),
        ("kismet", {}),
    ],
)
def test_everything_equals_the_sync_vector_env(ruleset, arguments, mode):
    native = make_native(3, mode, ruleset, **arguments)
    sync = make_sync(3, mode, ruleset, **arguments)
    assert native.single_observation_space == sync.single_observation_space
    assert native.observation_space == sync.observation_space
    assert native.action_space == sync.action_space
    assert native.metadata == sync.metadata
    envs = (native, sync)
    rng = np.random.default_rng(1)
    assert_same(*(env.reset(seed=11) for env in envs))
    seen = {"terminated": 0, "truncated": 0, "illegal_action": 0, "final_info": 0}
    for step in range(2_000):
        masks = native.action_masks()
        actions = mostly_legal(masks, rng, step)
        results = [env.step(actions) for env in envs]
        assert_same(*results, f"step {step}")
        _, _, terminated, truncated, infos = results[0]
        seen["terminated"] += terminated.sum()
        seen["truncated"] += truncated.sum()
        seen["illegal_action"] += infos["illegal_action"].sum()
        seen["final_info"] += "final_info" in infos
        if step in (500, 777, 1313):
            chosen = np.array([step == 1313, True, False])
            seed = [None, None, [5, None, 6]][step % 3]
            results = [env.reset(seed=seed, options={"reset_mask": chosen.copy()}) for env in envs]
            assert_same(*results, f"reset at {step}")
        if step in (1500, 1900):
            seed = None if step == 1500 else [3, 4, 5]
            assert_same(*(env.reset(seed=seed) for env in envs))
    assert seen["terminated"] > 100
    assert seen["truncated"] >= 3
    assert seen["illegal_action"] > 100
    assert (seen["final_info"] > 0) == (mode is AutoresetMode.SAME_STEP)


@pytest.mark.parametrize("mode", MODES)
def test_every_rule_set_equals_the_sync_vector_env(ruleset, mode):
    envs = (make_native(4, mode, ruleset), make_sync(4, mode, ruleset))
    rng = np.random.default_rng(2)
    assert_same(*(env.reset(seed=21) for env in envs))
    for step in range(150):
        actions = random_choices(envs[0].action_masks(), rng)
        assert_same(*(env.step(actions) for env in envs), f"step {step}")


def test_game_i_is_the_single_game_of_seed_plus_i():
    native = make_native(5)
    observations, _ = native.reset(seed=100)
    for i, observation in enumerate(observations):
        assert_same(observation, make().reset(seed=100 + i)[0])


@needs_gymnasium_1_4
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make_env", [make_native, make_sync])
def test_lengths_and_returns_of_the_first_three_episodes(make_env, mode):
    env = make_env(3, mode)
    recorded = RecordEpisodeStatistics(env)
    _, infos = recorded.reset(seed=1)
    episodes = [[] for _ in range(3)]
    scores = [[] for _ in range(3)]
    for _ in range(3 * 14):
        boxes = infos["action_mask"][:, N_HOLDS:]
        _, _, terminated, _, infos = recorded.step(N_HOLDS + boxes.argmax(axis=1))
        final = (
            infos["final_info"] if mode is AutoresetMode.SAME_STEP and any(terminated) else infos
        )
        for i in np.flatnonzero(terminated):
            where = infos if "episode" in infos else final
            episodes[i].append((int(where["episode"]["l"][i]), float(where["episode"]["r"][i])))
            scores[i].append(int(final["score"][i]))
    for one, score in zip(episodes, scores, strict=True):
        assert len(one) >= 3
        assert one == [(13, points) for points in score]
    assert len({tuple(score) for score in scores}) == 3


# The end of a game.


def play_to_the_first_end(env, seed=1):
    """The results of the step in which a game ends first, all choosing boxes only."""
    _, infos = env.reset(seed=seed)
    while True:
        boxes = infos["action_mask"][:, N_HOLDS:]
        results = env.step(N_HOLDS + boxes.argmax(axis=1))
        if results[2].any():
            return results
        infos = results[4]


def test_next_step_ignores_the_action_that_begins_the_next_game():
    starts = []
    for action in (0, 31, 43, 999, -1):
        env = make_native(2)
        observations, _, terminated, _, infos = play_to_the_first_end(env)
        assert terminated.all()
        assert not infos["action_mask"].any()
        observations, rewards, terminated, truncated, infos = env.step(np.array([action, action]))
        assert rewards.tolist() == [0, 0]
        assert not terminated.any()
        assert not truncated.any()
        assert not infos["illegal_action"].any()
        assert infos["score"].tolist() == [0, 0]
        assert [state.card for state in env.state] == [{}, {}]
        starts.append(observations)
    for observation in starts[1:]:
        assert_same(observation, starts[0])


def test_next_step_ignores_that_action_even_if_illegal_actions_raise():
    env = make_native(2, illegal_action="raise")
    play_to_the_first_end(env)
    _, rewards, *_ = env.step(np.array([31, 30]))
    assert rewards.tolist() == [0, 0]


def test_same_step_starts_the_next_game_and_reports_the_last():
    env = make_native(2, AutoresetMode.SAME_STEP)
    observations, _, terminated, _, infos = play_to_the_first_end(env)
    assert terminated.all()
    assert [state.card for state in env.state] == [{}, {}]
    assert infos["score"].tolist() == [0, 0]
    assert infos["action_mask"].any(axis=1).all()
    assert (infos["final_info"]["score"] > 0).all()
    assert not infos["final_info"]["action_mask"].any()
    for final, first in zip(infos["final_obs"], observations, strict=True):
        assert final in env.single_observation_space
        assert (final != first).any()


@pytest.mark.parametrize("mode", MODES)
def test_autoreset_gives_the_game_of_a_plain_reset(mode):
    env = make_native(1, mode)
    play_to_the_first_end(env, seed=9)
    if mode is AutoresetMode.NEXT_STEP:
        env.step(np.array([0]))
    single = make()
    _, info = single.reset(seed=9)
    terminated = False
    while not terminated:
        boxes = info["action_mask"][N_HOLDS:]
        *_, terminated, _, info = single.step(N_HOLDS + boxes.argmax())
    single.reset()
    assert env.state == (single.state,)


@pytest.mark.parametrize("mode", MODES)
def test_game_set_to_a_full_card_restarts_once(mode):
    env = make_native(2, mode)
    env.reset(seed=1)
    boxes = get_ruleset("yahtzee").box_names
    full = State((1, 2, 3, 4, 6), 0, dict.fromkeys(boxes, 0) | {"chance": 16})
    env.set_state([full, env.state[1]])
    env.step(np.array([0, 0]))
    assert env.state[0].card == {}
    for n in range(1, 4):
        boxes = env.action_masks()[:, N_HOLDS:]
        env.step(N_HOLDS + boxes.argmax(axis=1))
        assert len(env.state[0].card) == n


def test_other_autoreset_modes_are_refused():
    with pytest.raises(ValueError, match="NEXT_STEP or SAME_STEP"):
        make_native(2, AutoresetMode.DISABLED)
    with pytest.raises(ValueError, match="sometimes"):
        make_native(2, "sometimes")


@needs_gymnasium_1_4
def test_each_vector_env_has_its_own_metadata():
    before = dict(YahtzeeVectorEnv.metadata)
    one, other = (make_native(2, mode) for mode in MODES)
    assert [env.metadata["autoreset_mode"] for env in (one, other)] == list(MODES)
    assert YahtzeeVectorEnv.metadata == before
    assert "autoreset_mode" not in YahtzeeVectorEnv.metadata
    assert "autoreset_mode" not in make().metadata


# Wrong calls.


def test_step_before_reset_raises():
    env = make_native(2)
    with pytest.raises(ResetNeeded):
        env.step(np.array([31, 31]))
    with pytest.raises(ResetNeeded):
        env.set_state([STATE, STATE])
    with pytest.raises(ResetNeeded):
        env.reset(options={"reset_mask": np.array([True, False])})


@pytest.mark.parametrize(
    "actions",
    [
        31,
        [31],
        [31, 31, 31],
        [[31, 31]],
        np.array([31.0, 31.0]),
        np.array([True, False]),
        ["a", "b"],
        [31, -1],
        [31, 44],
        [31, None],
    ],
    ids=repr,
)
def test_invalid_actions_raise_and_change_nothing(actions):
    env, twin = make_native(2), make_native(2)
    for one in (env, twin):
        one.reset(seed=1)
    with pytest.raises(ValueError, match="action"):
        env.step(actions)
    assert env.state == twin.state
    assert_same(env.step([31, 0]), twin.step([31, 0]))


@pytest.mark.parametrize("form", [list, tuple, lambda codes: np.array(codes, np.uint8)])
def test_actions_can_be_any_sequence_of_integers(form):
    env, twin = make_native(2), make_native(2)
    for one in (env, twin):
        one.reset(seed=1)
    assert_same(env.step(form([31, 0])), twin.step(np.array([31, 0])))


def test_illegal_action_raises_and_changes_no_game():
    env = make_native(3, illegal_action="raise")
    env.reset(seed=1, options={"state": STATE})
    before = env.state
    with pytest.raises(ValueError, match=r"31 \(fill ones\) is illegal: the box is filled"):
        env.step(np.array([0, 0, 31]))
    assert env.state == before


@pytest.mark.parametrize(
    ("seed", "options", "message"),
    [
        ([1, 2], {}, "3 seeds"),
        (None, {"state": [STATE]}, "3 states"),
        (None, {"state": State((1, 2, 3, 4, 7))}, "five whole numbers"),
        (None, {"state": [STATE, STATE, State((1, 2, 3, 4, 6), 2, {"ones": 7})]}, "hold 7"),
        (None, {"reset_mask": np.array([True, False])}, "3 bools"),
        (None, {"reset_mask": np.zeros(3, bool)}, "at least one of them True"),
        (None, {"reset_mask": np.ones(3, int)}, "3 bools"),
    ],
)
def test_wrong_resets_are_refused_and_change_nothing(seed, options, message):
    env, twin = make_native(3), make_native(3)
    for one in (env, twin):
        one.reset(seed=4)
    with pytest.raises(ValueError, match=message):
        env.reset(seed=seed, options=options)
    assert env.state == twin.state
    assert_same(env.reset(), twin.reset())


def test_num_envs_must_be_positive():
    with pytest.raises(ValueError, match="num_envs must be at least 1"):
        YahtzeeVectorEnv(num_envs=0)


# Positions.


def test_games_start_from_one_position_or_one_each(ruleset):
    full = len(get_ruleset(ruleset).boxes)
    states = [s for s in random_positions(ruleset, 2, seed=4) if len(s.card) < full]
    env = make_native(len(states), ruleset=ruleset)
    sync = make_sync(2, ruleset=ruleset)
    env.reset(seed=1, options={"state": states})
    assert [state.card for state in env.state] == [state.card for state in states]
    assert [state.dice for state in env.state] == [tuple(sorted(s.dice)) for s in states]
    pair = make_native(2, ruleset=ruleset)
    options = {"state": states[-1]}
    assert_same(pair.reset(seed=3, options=options), sync.reset(seed=3, options=options))
    rng = np.random.default_rng(1)
    for _ in range(5):
        actions = random_choices(pair.action_masks(), rng)
        assert_same(pair.step(actions), sync.step(actions))


def test_states_can_be_read_and_set_back():
    env, twin = make_native(4), make_native(4)
    rng = np.random.default_rng(1)
    for one in (env, twin):
        one.reset(seed=1)
    for _ in range(100):
        twin.set_state(env.state)
        assert twin.state == env.state
        actions = random_choices(env.action_masks(), rng)
        assert_same(env.step(actions), twin.step(actions))


def test_wrong_states_are_refused_and_change_no_game():
    env = make_native(2)
    env.reset(seed=1)
    before = env.state
    for states in ([STATE], [STATE, STATE, STATE], [STATE, State((1, 2, 3, 4, 6), 3)]):
        with pytest.raises(ValueError, match=r"2 states|rolls_left"):
            env.set_state(states)
        assert env.state == before


def test_reset_state_applies_only_to_the_games_reset():
    env = make_native(3)
    env.reset(seed=1)
    before = env.state
    mask = np.array([False, True, False])
    _, infos = env.reset(options={"reset_mask": mask, "state": STATE})
    assert env.state == (before[0], STATE, before[2])
    assert infos["_action_mask"].tolist() == mask.tolist()


# Randomness, and what is returned.


def test_one_seed_gives_the_same_games(ruleset):
    results = []
    for _ in range(2):
        env = make_native(3, AutoresetMode.SAME_STEP, ruleset)
        rng = np.random.default_rng(1)
        results.append([env.reset(seed=5)])
        results[-1] += [env.step(env.random_actions(rng)) for _ in range(100)]
    assert_same(*results)


def test_unseeded_vector_envs_differ():
    first = [make_native(20).reset()[0] for _ in range(2)]
    assert (first[0] != first[1]).any()
    assert len(np.unique(first[0], axis=0)) > 10


@pytest.mark.parametrize("mode", MODES)
def test_returned_arrays_never_change(mode):
    env = make_native(3, mode)
    rng = np.random.default_rng(1)
    returned = [env.reset(seed=1)]
    frozen = [pickle.dumps(returned[0])]
    for _ in range(60):
        returned.append(env.step(env.random_actions(rng)))
        frozen.append(pickle.dumps(returned[-1]))
    for one, was in zip(returned, frozen, strict=True):
        assert_same(one, pickle.loads(was))


@pytest.mark.parametrize("mode", MODES)
def test_pickled_vector_env_plays_the_same_games(mode):
    env = make_native(3, mode)
    rng = np.random.default_rng(1)
    env.reset(seed=1)
    for _ in range(50):
        env.step(env.random_actions(rng))
    twin = pickle.loads(pickle.dumps(env))
    for _ in range(50):
        actions = env.random_actions(rng)
        assert_same(env.step(actions), twin.step(actions))


# All ways to make one.


@pytest.mark.parametrize("way", ["vector_entry_point", "sync", "async"])
def test_make_vec_passes_the_rule_set_on_every_path(way):
    kwargs = {"vector_kwargs": {"context": "spawn"}} if way == "async" else {}
    rules = get_ruleset("yahtzee-upper-first")
    for wanted in ("yahtzee-upper-first", rules):
        env = gym.make_vec(
            "yahtzee_env:Yahtzee-v0",
            num_envs=2,
            vectorization_mode=way,
            ruleset=wanted,
            **kwargs,
        )
        try:
            _, infos = env.reset(seed=1)
            assert infos["action_mask"][:, N_HOLDS:].tolist() == [[1] * 6 + [0] * 7] * 2
            _, rewards, *_ = env.step(np.array([31, 32]))
            assert rewards.shape == (2,)
            assert env.spec.id == "Yahtzee-v0"
            assert env.spec.kwargs["ruleset"] == wanted
        finally:
            env.close()


def test_async_workers_play_the_same_games():
    async_env = gym.make_vec(
        "yahtzee_env:Yahtzee-v0",
        num_envs=2,
        vectorization_mode="async",
        vector_kwargs={"context": "spawn"},
        ruleset="yahtzee-free-joker",
    )
    native = make_native(2, ruleset="yahtzee-free-joker")
    rng = np.random.default_rng(1)
    try:
        assert_same(native.reset(seed=3), async_env.reset(seed=3))
        for _ in range(60):
            actions = native.random_actions(rng)
            assert_same(native.step(actions), async_env.step(actions))
    finally:
        async_env.close()


def test_make_vec_uses_the_native_vector_env_by_default():
    assert isinstance(gym.make_vec("Yahtzee-v0", num_envs=2), YahtzeeVectorEnv)


def test_every_game_is_rendered():
    assert make_native(2).render() is None
    env = make_native(2, render_mode="ansi")
    env.reset(seed=1)
    texts = env.render()
    assert len(texts) == 2
    assert texts[0] != texts[1]
