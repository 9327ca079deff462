"""Matches of policies: the chance to win of each action, duels, luck-adjusted shares."""

import pickle
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from helpers import started
from numpy.typing import NDArray
from plain import outcomes

from yahtzee_env import get_ruleset, solve
from yahtzee_env.dice import kept_faces, roll_index
from yahtzee_env.evaluation.duels import duel, play_matches
from yahtzee_env.game import Games, Positions
from yahtzee_env.match import Match, public_cards
from yahtzee_env.policies import POLICIES, OptimalPolicy, act_in_match, as_policy, load_policy
from yahtzee_env.policies.duelist import winning_chances
from yahtzee_env.solver.distribution import Distribution

N_HOLDS = 31
NO_RNG = np.random.default_rng(0)


def mid_games(ruleset: str, n: int, seed: int, rolls_left: int) -> Games:
    """Games in the middle, all with so many rolls left."""
    rng = np.random.default_rng(seed)
    games = started(ruleset, n, seed)
    for _ in range(6):
        boxes = games.masks()[:, N_HOLDS:]
        games.play(N_HOLDS + np.argmax(boxes * rng.random(boxes.shape), axis=1))
    games.records["rolls_left"] = rolls_left
    return games


def cards_of(games: Games, others: int) -> NDArray[np.void]:
    """Cards of opponents: those of the next games."""
    return public_cards(np.stack([np.roll(games.records, -1 - k) for k in range(others)], axis=1))


def final_scores(ruleset: str, cards: NDArray[np.void]) -> list[Distribution]:
    """The distributions of opponents' final scores if they play for the mean."""
    returns = solve(ruleset).returns()
    last = get_ruleset(ruleset).last_step
    return [
        returns.of_card(
            int(card["filled"]), int(card["five_scored"]), min(int(card["upper"]), last)
        ).shifted(int(card["score"]))
        for card in cards
    ]


def chance_to_win(mine: Distribution, theirs: Sequence[Distribution]) -> float:
    """P(mine > the best of theirs), equality counted half, by summing over my score."""
    chance = 0.0
    for score, p in zip(mine.values.tolist(), mine.probabilities.tolist(), strict=True):
        below = np.prod([one.cdf(score - 1) for one in theirs])
        at_most = np.prod([one.cdf(score) for one in theirs])
        chance += p * (below + at_most) / 2
    return chance


@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize("rolls_left", [0, 1, 2])
def test_chances_after_an_action_are_those_of_the_exact_distributions(
    rolls_left: int, others: int
) -> None:
    games = mid_games("yacht", 6, 3, rolls_left)
    cards = cards_of(games, others)
    chances = winning_chances(get_ruleset("yacht")).of_actions(games, cards, this_turn=False)
    assert (np.isnan(chances) == (games.masks() == 0)).all()
    returns = solve("yacht").return_distributions(games)
    for i, after in enumerate(returns):
        theirs = final_scores("yacht", cards[i])
        for action, to_come in after.items():
            mine = to_come.shifted(int(games.records["score"][i]))
            assert chances[i, action] == pytest.approx(chance_to_win(mine, theirs), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yahtzee", "yahtzee-strict", "kismet"])
def test_chances_of_other_rules_are_those_of_the_exact_distributions(name: str) -> None:
    games = mid_games(name, 8, 1, 1)
    cards = cards_of(games, 1)
    chances = winning_chances(get_ruleset(name)).of_actions(games, cards, this_turn=False)
    for i, after in enumerate(solve(name).return_distributions(games)):
        theirs = final_scores(name, cards[i])
        for action, to_come in after.items():
            mine = to_come.shifted(int(games.records["score"][i]))
            assert chances[i, action] == pytest.approx(chance_to_win(mine, theirs), abs=1e-5)


@pytest.mark.parametrize("rolls_left", [1, 2])
def test_playing_a_turn_for_the_win_takes_the_best_of_each_roll(rolls_left: int) -> None:
    winning = winning_chances(get_ruleset("yacht"))
    games = mid_games("yacht", 4, 5, rolls_left)
    cards = cards_of(games, 1)
    chances = winning.of_actions(games, cards, this_turn=True)
    for i in range(len(games)):
        for action in np.flatnonzero(games.masks()[i, :N_HOLDS])[::7].tolist():
            kept = tuple(kept_faces(int(games.records["roll"][i]), action))
            rolls = outcomes(kept)
            records = np.repeat(games.records[i : i + 1], len(rolls))
            records["roll"] = [roll_index(roll) for roll in rolls]
            records["rolls_left"] -= 1
            after = winning.of_actions(
                Positions(games.ruleset, records), np.repeat(cards[i : i + 1], len(rolls), 0), True
            )
            expected = np.nanmax(after, axis=1) @ np.array(list(rolls.values()))
            assert chances[i, action] == pytest.approx(expected, abs=1e-9)


def test_the_last_box_of_a_match_is_filled_to_win() -> None:
    games = mid_games("yacht", 40, 2, 0)
    while (~games.over).any() and games.records["filled"][0].bit_count() < 11:
        games.play(N_HOLDS + np.argmax(games.masks()[:, N_HOLDS:], axis=1))
    games.records["rolls_left"] = 0
    rivals = games.positions()
    rivals.records["filled"] = int(games.compiled["all_boxes"][0])
    rivals.records["score"] += np.arange(40) % 12 - 2
    cards = public_cards(rivals.records)[:, None]
    chances = winning_chances(games.ruleset).of_actions(games, cards, this_turn=True)
    final = games.records["score"][:, None] + games.payments()
    expected = (np.sign(final - cards["score"]) + 1) / 2
    legal = games.masks()[:, N_HOLDS:] == 1
    np.testing.assert_allclose(chances[:, N_HOLDS:][legal], expected[legal], atol=1e-12)


def as_in_a_match(policies: Sequence[Any], match: Match) -> NDArray[np.int64]:
    """Let policies play a started match, one action after another."""
    while match.seat is not None:
        seat = match.seat
        positions = match.games[seat].positions()
        actions = act_in_match(policies[seat], positions, match.opponents(seat)[None], NO_RNG)
        match.play(int(actions[0]))
    return match.totals


def test_many_matches_at_once_are_those_played_one_by_one() -> None:
    names = ["duelist", "greedy-turn", "strategist"]
    policies = [load_policy(name) for name in names]
    rules = get_ruleset("yacht")
    rngs = np.random.default_rng(4).integers(2**64, size=(5, 3), dtype=np.uint64)
    totals = play_matches(policies, rules, rngs, NO_RNG)
    for i, row in enumerate(rngs):
        match = Match(3, rules, starter=0)
        match.start(NO_RNG)
        for game, rng in zip(match.games, row, strict=True):
            game.rngs[:] = rng
            game.start()
        np.testing.assert_array_equal(as_in_a_match(policies, match), totals[i])


def test_every_solitaire_policy_plays_in_a_match_as_it_does_alone() -> None:
    rules = get_ruleset("yacht")
    rngs = np.random.default_rng(4).integers(2**64, size=(6, 2), dtype=np.uint64)
    for name in POLICIES:
        policy = load_policy(name)
        if policy.deterministic:
            together = play_matches([policy, policy], rules, rngs, NO_RNG)
            alone = [play_matches([policy], rules, rngs[:, [k]], NO_RNG)[:, 0] for k in range(2)]
            np.testing.assert_array_equal(together, np.transpose(alone), name)


def test_the_duelist_alone_is_the_optimal_player() -> None:
    games = mid_games("yacht", 50, 6, 1)
    duelist, optimal = load_policy("duelist"), OptimalPolicy()
    np.testing.assert_array_equal(duelist.act(games, NO_RNG), optimal.act(games, NO_RNG))
    assert pickle.loads(pickle.dumps(duelist)).name == "duelist"


def test_a_player_that_leads_for_certain_may_do_anything_and_one_that_lost_too() -> None:
    games = mid_games("yacht", 3, 6, 2)
    cards = cards_of(games, 1)
    for ahead, chance in ((-10_000, 1.0), (10_000, 0.0)):
        far = cards.copy()
        far["score"] += ahead
        chances = winning_chances(games.ruleset).of_actions(games, far, this_turn=True)
        np.testing.assert_allclose(chances[games.masks() == 1], chance, atol=1e-6)


def test_equal_players_share_the_wins_exactly() -> None:
    result = duel("optimal", "optimal", "yacht", games=100, seed=3, luck_adjusted=True)
    assert result.share.mean == 0.5
    assert (result.adjusted == 0.5).all()
    assert result.games == 100


def test_a_duel_seen_from_the_other_side_is_its_mirror() -> None:
    one = duel("greedy-turn", "duelist", "yacht", games=200, seed=3, luck_adjusted=True)
    other = duel("duelist", "greedy-turn", "yacht", games=200, seed=3, luck_adjusted=True)
    np.testing.assert_array_equal(one.totals[..., ::-1], other.totals[::-1])
    np.testing.assert_allclose(one.adjusted, 1 - other.adjusted[::-1], atol=1e-12)
    assert one.moving_first == other.moving_first
    win, tie, loss = one.outcomes
    assert win + tie + loss == pytest.approx(1)
    assert (loss, tie, win) == other.outcomes


def test_luck_adjusted_shares_estimate_the_same_with_far_less_noise() -> None:
    result = duel("greedy-turn", "strategist", "yacht", games=1600, seed=1, luck_adjusted=True)
    adjusted = result.adjusted_share
    difference = result.shares.mean(axis=0) - result.adjusted.mean(axis=0)
    assert abs(difference.mean()) < 4 * difference.std() / len(difference) ** 0.5
    assert adjusted.sem < 0.75 * result.share.sem


def test_the_duelist_wins_more_than_half_against_the_optimal_player() -> None:
    result = duel("duelist", "optimal", "yacht", games=1000, seed=2, luck_adjusted=True)
    assert result.adjusted_share.ci95[0] > 0.5
    first, second = result.means
    assert first < second


@pytest.mark.slow
def test_the_duelist_wins_the_official_game_by_the_margin_of_the_results() -> None:
    result = duel("duelist", "optimal", games=4000, seed=2, luck_adjusted=True)
    low, high = result.adjusted_share.ci95
    assert 0.514 < low < high < 0.521


def test_the_number_of_workers_does_not_change_a_duel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yahtzee_env.evaluation.duels.CHUNK", 10)
    arguments: Any = ("random", "greedy-turn", "yacht", 60, 7)
    alone = duel(*arguments)
    shares: list[float] = []
    with ThreadPoolExecutor(3) as pool:
        several = duel(*arguments, executor=pool, progress=shares.append)
    np.testing.assert_array_equal(alone.totals, several.totals)
    assert shares[-1] == 1.0
    with ProcessPoolExecutor(1) as pool:
        other = duel(*arguments, executor=pool)
    np.testing.assert_array_equal(alone.totals, other.totals)


@pytest.mark.parametrize("games", [3, 2, 0, 5, 10.0, "10"])
def test_a_number_of_games_that_cannot_be_balanced_is_refused(games: Any) -> None:
    with pytest.raises(ValueError, match="games must be an even whole number from 4 on, not"):
        duel("random", "random", games=games)


def test_policies_that_cannot_play_are_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="unknown policy 'nobody'"):
        duel("nobody", "random")
    with pytest.raises(ValueError, match="was trained for the rule set 'yahtzee'"):
        duel("ppo-yahtzee", "random", "yacht", games=4)

    def illegal(observations: Any, masks: Any) -> Any:
        return np.full(len(masks), N_HOLDS)

    with pytest.raises(ValueError, match="the box is filled"):
        duel(as_policy(illegal), "random", "yacht", games=4)
