"""Matches in PettingZoo's AEC form: its own checks, turn order, rewards, masks and copies."""

import copy
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from pettingzoo.test import api_test, seed_test
from pettingzoo.utils import BaseWrapper, turn_based_aec_to_parallel

from yahtzee_env import get_ruleset, observation_names
from yahtzee_env.envs import aec
from yahtzee_env.match_observation import TOTALS_SCALE, match_observation_names

N_HOLDS = 31


def last_legal(env: Any) -> int:
    """The last legal action of the player to move: its last open box."""
    return int(np.flatnonzero(env.infos[env.agent_selection]["action_mask"])[-1])


def fill_all(env: Any) -> tuple[list[str], dict[str, float]]:
    """Play a started match to its end by filling boxes; who moved, and what `last` paid in all."""
    movers, paid = [], dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        assert not truncated
        paid[agent] += reward
        if not terminated:
            movers.append(agent)
        env.step(None if terminated else last_legal(env))
    return movers, paid


def random_steps(env: Any, n: int, seed: int) -> None:
    """Random legal steps."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        mask = env.infos[env.agent_selection]["action_mask"]
        env.step(int(rng.choice(np.flatnonzero(mask))))


def totals(env: Any) -> list[int]:
    """The points of each seat."""
    return env.unwrapped.match.totals.tolist()


@pytest.mark.parametrize("reward", ["points", "outcome"])
@pytest.mark.parametrize("players", [2, 4])
@pytest.mark.parametrize("name", ["yahtzee", "kismet"])
def test_pettingzoos_checks_pass_without_a_warning(name: str, players: int, reward: str) -> None:
    def make() -> Any:
        return aec.env(num_players=players, ruleset=name, reward=reward)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        api_test(make(), num_cycles=300)
        seed_test(make, num_cycles=200)


def test_every_rule_set_passes_the_checks_alone_and_with_ten(ruleset: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for players in (1, 10):
            api_test(aec.env(num_players=players, ruleset=ruleset), num_cycles=50)


@pytest.mark.parametrize(
    ("name", "turns"), [("yahtzee", 26), ("yacht", 24), ("yatzy", 30), ("kismet", 30)]
)
def test_three_matches_on_one_object_have_all_turns_in_order(name: str, turns: int) -> None:
    env = aec.env(ruleset=name, starter=1)
    for _ in range(3):
        env.reset()
        movers, paid = fill_all(env)
        assert movers == ["player_1", "player_0"] * (turns // 2)
        assert list(paid.values()) == totals(env)


def test_points_over_a_match_are_the_final_scores() -> None:
    env = aec.env(num_players=3)
    env.reset(seed=2)
    paid = dict.fromkeys(env.possible_agents, 0.0)
    rng = np.random.default_rng(0)
    for agent in env.agent_iter():
        _, reward, terminated, _, info = env.last()
        paid[agent] += reward
        legal = np.flatnonzero(info["action_mask"])
        env.step(None if terminated else int(rng.choice(legal)))
    assert list(paid.values()) == totals(env)


@pytest.mark.parametrize("players", [2, 3])
def test_the_outcome_reaches_every_seat_and_sums_to_zero(players: int) -> None:
    env = aec.env(num_players=players, ruleset="yacht", reward="outcome")
    for seed in range(8):
        env.reset(seed=seed)
        _, paid = fill_all(env)
        final = totals(env)
        winners = [agent for agent, total in zip(paid, final, strict=True) if total == max(final)]
        share = (players / len(winners) - 1) / (players - 1)
        for agent, reward in paid.items():
            assert reward == pytest.approx(share if agent in winners else -1 / (players - 1))
        assert sum(paid.values()) == pytest.approx(0)


def test_a_reset_in_the_middle_and_in_the_dead_steps_begins_a_whole_match() -> None:
    env = aec.env(ruleset="yacht", starter=0)
    env.reset(seed=1)
    random_steps(env, 9, seed=0)
    env.reset()
    while not any(env.terminations.values()):
        env.step(last_legal(env))
    env.step(None)  # one of two dead steps
    assert env.num_agents == 1
    env.reset()
    movers, _ = fill_all(env)
    assert movers == ["player_0", "player_1"] * 12
    env.reset()
    assert fill_all(env)[0] == movers


def test_an_illegal_action_of_the_second_player_ends_the_match_and_leaves_no_trace() -> None:
    env = aec.env(ruleset="yacht", starter=0)
    for _ in range(2):
        env.reset(seed=1)
        env.step(N_HOLDS)
        env.step(N_HOLDS)
        env.step(N_HOLDS + 1)
        env.step(N_HOLDS)  # filled already
        assert all(env.terminations.values())
        assert env.rewards == {"player_0": 0, "player_1": -1}
        assert env.infos["player_1"]["illegal_action"]
        assert not env.infos["player_0"]["illegal_action"]
        assert not env.infos["player_1"]["action_mask"].any()
        env.step(None)
        assert env.num_agents == 1
        env.reset()
        assert env.agent_selection == "player_0"
        assert fill_all(env)[0] == ["player_0", "player_1"] * 12


def test_the_mask_of_a_waiting_player_is_all_zeros_and_its_own() -> None:
    env = aec.env(num_players=3, ruleset="yahtzee")
    env.reset(seed=4)
    for _ in range(60):
        masks = [env.infos[agent]["action_mask"] for agent in env.agents]
        for agent, mask in zip(env.agents, masks, strict=True):
            assert mask.dtype == np.int8
            assert mask.any() == (agent == env.agent_selection)
        assert not any(
            np.shares_memory(one, other) for one in masks for other in masks if one is not other
        )
        kept = [mask.copy() for mask in masks]
        random_steps(env, 1, seed=int(sum(totals(env))))
        for mask, before in zip(masks, kept, strict=True):
            np.testing.assert_array_equal(mask, before)


def test_an_observation_is_the_own_game_and_the_cards_of_the_others_next_first() -> None:
    env = aec.env(num_players=3, ruleset="yahtzee", starter=0)
    names = match_observation_names("yahtzee", 3)
    own = observation_names("yahtzee")
    assert names[: len(own)] == own
    assert len(set(names)) == len(names) == env.observation_space("player_0").shape[0]
    env.reset(seed=3)
    for box in (12, 0, 1):  # chance, ones, twos
        env.step(N_HOLDS + box)
    match = env.unwrapped.match
    seen = dict(zip(names, env.observe("player_0").tolist(), strict=True))
    np.testing.assert_array_equal(
        env.observe("player_0")[: len(own)], match.games[0].observe()[0][0]
    )
    scores, opens = match.totals / TOTALS_SCALE, get_ruleset("yahtzee").box_names
    assert seen["total"] == pytest.approx(scores[0])
    assert seen["opponent_1_total"] == pytest.approx(scores[1])
    assert seen["opponent_2_total"] == pytest.approx(scores[2])
    assert seen["opponent_1_upper_total"] == pytest.approx(scores[1])
    assert [name for name in opens if not seen[f"opponent_1_open_{name}"]] == ["ones"]
    assert [name for name in opens if not seen[f"opponent_2_open_{name}"]] == ["twos"]
    seen = dict(zip(names, env.observe("player_1").tolist(), strict=True))
    assert not seen["opponent_1_open_twos"]
    assert not seen["opponent_2_open_chance"]


def test_an_observation_does_not_depend_on_the_dice_of_those_who_wait() -> None:
    env = aec.env(starter=0)
    env.reset(seed=3)
    seen = env.observe("player_0")
    roll = env.unwrapped.match.games[1].records["roll"]
    for other in range(252):
        roll[0] = other
        np.testing.assert_array_equal(env.observe("player_0"), seen)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_match_has_the_same_coming_dice(duplicate: Callable[[Any], Any]) -> None:
    env = aec.env(num_players=3, ruleset="yatzy")
    env.reset(seed=5)
    random_steps(env, 25, seed=1)
    ends = []
    for one in (duplicate(env), env):
        fill_all(one)
        one.reset()
        fill_all(one)
        ends.append([game.state() for game in one.unwrapped.match.games])
    assert ends[0] == ends[1]


def test_one_seed_gives_the_same_matches_with_plain_resets_after_it() -> None:
    results = []
    for _ in range(2):
        env = aec.env(num_players=2, ruleset="yacht")
        env.reset(seed=11)
        matches = []
        for _ in range(4):
            movers, _ = fill_all(env)
            matches.append((movers, totals(env)))
            env.reset()
        results.append(matches)
    assert results[0] == results[1]
    assert len({str(match) for match in results[0]}) == 4


def test_the_roll_off_is_told_and_decides_who_moves_first() -> None:
    env = aec.env(num_players=4)
    for seed in range(10):
        env.reset(seed=seed)
        rounds = env.infos["player_0"]["roll_off"]
        last = {seat: sum(dice) for seat, dice in rounds[-1].items()}
        assert env.agent_selection == f"player_{max(last, key=last.get)}"


def test_text_and_picture_show_all_cards_but_no_waiting_dice() -> None:
    env = aec.env(num_players=3, ruleset="yahtzee", starter=0, render_mode="ansi")
    env.reset(seed=1)
    for box in (12, 0, 1):
        env.step(N_HOLDS + box)
    text = env.render()
    scores = totals(env)
    first, *_ = text.splitlines()
    assert first == "yahtzee | player_0 to move | 2 rerolls left"
    total = next(line for line in text.splitlines() if line.split()[:1] == ["Total"])
    assert [int(points) for points in total.split()[1:]] == scores
    mine = env.unwrapped.match.games[0].state().dice
    assert [int(word) for word in text.splitlines()[2].split() if word.isdecimal()] == list(mine)
    env.unwrapped.match.games[1].records["roll"] += 1
    assert env.render() == text


def test_the_end_of_a_match_is_shown() -> None:
    for mode, kind in (("ansi", str), ("rgb_array", np.ndarray), (None, type(None))):
        env = aec.env(num_players=2, ruleset="kismet", render_mode=mode)
        env.reset(seed=1)
        shapes = {getattr(env.render(), "shape", None)}
        fill_all(env)
        shown = env.render()
        assert isinstance(shown, kind)
        assert len(shapes | {getattr(shown, "shape", None)}) == 1
        if mode == "ansi":
            winner = int(np.argmax(totals(env)))
            assert f"player_{winner} wins" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_players": 0}, "num_players must be a whole number from 1 to 10, not 0"),
        ({"num_players": 11}, "num_players must be a whole number from 1 to 10, not 11"),
        ({"starter": "me"}, "starter must be 'roll-off' or a seat from 0 to 1, not 'me'"),
        ({"reward": "win"}, "reward must be one of"),
        ({"num_players": 1, "reward": "outcome"}, "needs at least two players"),
        ({"render_mode": "human"}, "render_mode must be one of"),
        ({"ruleset": "bridge"}, "unknown rule set"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        aec.env(**arguments)


def test_a_number_that_is_no_action_is_refused() -> None:
    env = aec.YahtzeeAECEnv()
    env.reset(seed=1)
    for action in (-1, 44, 1.0, "hold"):
        with pytest.raises(ValueError, match="an action is a whole number from 0 to 43, not"):
            env.step(action)


def test_parallel_users_learn_why_there_is_no_parallel_form() -> None:
    with pytest.raises(TypeError, match="move one after another"):
        aec.parallel_env(num_players=2)


def test_without_pettingzoo_one_sentence_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['pettingzoo'] = None\n"
        "try:\n    import yahtzee_env.envs.aec\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        'matches of several players need PettingZoo: pip install "yahtzee-env[players]"'
    )


def test_pettingzoos_conversion_for_parallel_programs_plays_a_match() -> None:
    parallel = turn_based_aec_to_parallel(aec.env(ruleset="yacht", starter=0))
    _, infos = parallel.reset(seed=1)
    while parallel.agents:
        actions = {
            agent: int(np.flatnonzero(mask)[-1])
            if (mask := infos[agent]["action_mask"]).any()
            else 0
            for agent in parallel.agents
        }
        *_, infos = parallel.step(actions)
    assert parallel.unwrapped.match.over


@pytest.mark.slow
def test_maskable_ppo_trains_and_plays_through_a_wrapper_of_the_usual_kind() -> None:
    """The way of PettingZoo's tutorial for stable-baselines3: one model moves for all seats."""
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.wrappers import ActionMasker

    class OneModelForAll(BaseWrapper, gym.Env):
        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed, options)
            self.observation_space = self.env.observation_space("player_0")
            self.action_space = self.env.action_space("player_0")
            return self.observe(self.agent_selection), {}

        def step(self, action: int) -> Any:
            mover = self.agent_selection
            super().step(action)
            return (
                self.observe(self.agent_selection),
                self._cumulative_rewards[mover],
                self.terminations[mover],
                self.truncations[mover],
                self.infos[mover],
            )

        def masks(self) -> Any:
            return self.infos[self.agent_selection]["action_mask"]

    env = OneModelForAll(aec.env(ruleset="yacht"))
    env.reset(seed=1)
    model = MaskablePPO("MlpPolicy", ActionMasker(env, OneModelForAll.masks), seed=1, n_steps=512)
    model.learn(1024)
    judge = aec.env(num_players=2, ruleset="yacht")
    for seed in range(5):
        judge.reset(seed=seed)
        for _agent in judge.agent_iter():
            observation, _, terminated, _, info = judge.last()
            assert not info["illegal_action"]
            mask = info["action_mask"]
            chosen = model.predict(observation, action_masks=mask)[0]
            judge.step(None if terminated else int(chosen))
        assert judge.unwrapped.match.over
