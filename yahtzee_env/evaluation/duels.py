"""Matches of policies: many at once, and duels of two with balanced seats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_env.dice import N_HOLDS
from yahtzee_env.evaluation.intervals import SampleMean
from yahtzee_env.family import get_ruleset
from yahtzee_env.game import Games, Positions
from yahtzee_env.match import CARD, public_cards, winners
from yahtzee_env.policies import Policy, act_in_match, as_policy
from yahtzee_env.policies.duelist import winning_chances
from yahtzee_env.rules import Ruleset
from yahtzee_env.solver import solve

CHUNK = 1000
"""Pairs of matches that one task plays; the dice depend on it, the number of workers does not."""

Watch = Callable[[int, NDArray[np.int64], Positions, NDArray[np.void], NDArray[np.int64]], None]
"""Called with the player, the numbers of the matches, positions, opponents' cards and actions."""


def play_matches(
    policies: Sequence[Policy],
    ruleset: Ruleset,
    rngs: NDArray[np.uint64],
    rng: np.random.Generator,
    watch: Watch | None = None,
) -> NDArray[np.int64]:
    """Play n matches to the end; returns the totals, (n, players) int64.

    Args:
        policies: the players, in the order in which they move.
        ruleset: the rules.
        rngs: (n, players) uint64, the states of the generators of everybody's dice.
        rng: for the policies' random choices.
        watch: called before each step of each player.

    Raises:
        ValueError: for an illegal action.
    """
    seats = [Games(ruleset, len(rngs)) for _ in policies]
    for games, states in zip(seats, rngs.T, strict=True):
        games.rngs[:] = states
        games.start()
    for _ in ruleset.boxes:
        for player, policy in enumerate(policies):
            others = [*seats[player + 1 :], *seats[:player]]
            opponents = np.empty((len(rngs), len(others)), CARD)
            for column, games in enumerate(others):
                opponents[:, column] = public_cards(games.records)
            _play_turn(player, policy, seats[player], opponents, rng, watch)
    return np.stack([games.records["score"] for games in seats], axis=1).astype(np.int64)


def _play_turn(
    player: int,
    policy: Policy,
    games: Games,
    opponents: NDArray[np.void],
    rng: np.random.Generator,
    watch: Watch | None,
) -> None:
    """Play one turn of one player in every match."""
    numbers = np.arange(len(games))
    while len(numbers):
        running = games.select(numbers)
        positions = running.positions()
        actions = act_in_match(policy, positions, opponents[numbers], rng)
        if watch:
            watch(player, numbers, positions, opponents[numbers], actions)
        running.play(actions)
        games.records[numbers], games.rngs[numbers] = running.records, running.rngs
        numbers = numbers[actions < N_HOLDS]


@dataclass(frozen=True, eq=False)
class Duel:
    """Matches of two policies, half of them begun by each, with the same dice at each seat.

    Attributes:
        first: the name of the first policy; all shares are its own.
        second: the name of the second policy.
        ruleset: the name of the rule set.
        seed: of the dice and of the policies' generators.
        totals: (2, pairs, 2) int64, the final scores: by who moved first, match and policy.
        adjusted: (2, pairs) float64, the luck-adjusted shares of the win; None if not asked for.
    """

    first: str
    second: str
    ruleset: str
    seed: int
    totals: NDArray[np.int64]
    adjusted: NDArray[np.float64] | None

    @property
    def games(self) -> int:
        """The number of matches."""
        return int(self.totals.shape[0] * self.totals.shape[1])

    @property
    def shares(self) -> NDArray[np.float64]:
        """(2, pairs) float64: 1 for a win, 0.5 for a tie, 0 for a loss."""
        won = winners(self.totals)
        shares: NDArray[np.float64] = won[..., 0] / won.sum(axis=-1)
        return shares

    @property
    def outcomes(self) -> tuple[float, float, float]:
        """The shares of matches won, tied and lost."""
        won, tied, lost = (float((self.shares == points).mean()) for points in (1.0, 0.5, 0.0))
        return won, tied, lost

    @property
    def share(self) -> SampleMean:
        """The share of the wins; the two matches with the same dice count as one observation."""
        return SampleMean.of(self.shares.mean(axis=0))

    @property
    def adjusted_share(self) -> SampleMean | None:
        """The luck-adjusted share of the wins, None if not asked for."""
        return None if self.adjusted is None else SampleMean.of(self.adjusted.mean(axis=0))

    @property
    def moving_first(self) -> SampleMean:
        """The share of the wins of whoever moved first."""
        return SampleMean.of((self.shares[0] + 1 - self.shares[1]) / 2)

    @property
    def means(self) -> tuple[float, float]:
        """The mean final scores of the first and the second policy."""
        first, second = self.totals.mean(axis=(0, 1)).tolist()
        return first, second

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain numbers, texts and lists; None for what was not asked for."""
        win, tie, loss = self.outcomes
        adjusted = self.adjusted_share
        return {
            "first": self.first,
            "second": self.second,
            "ruleset": self.ruleset,
            "games": self.games,
            "seed": self.seed,
            "win": win,
            "tie": tie,
            "loss": loss,
            "share": self.share.to_dict(),
            "adjusted_share": adjusted and adjusted.to_dict(),
            "moving_first": self.moving_first.to_dict(),
            "means": list(self.means),
        }

    def __str__(self) -> str:
        win, tie, loss = self.outcomes
        text = (
            f"{self.first} against {self.second} on {self.ruleset}, {self.games:,} games: "
            f"{_percent(self.share)} of the wins "
            f"({win:.2%} won, {tie:.2%} tied, {loss:.2%} lost)"
        )
        if self.adjusted_share:
            text += f", luck-adjusted {_percent(self.adjusted_share)}"
        return text


def duel(
    first: Any,
    second: Any,
    ruleset: str | Ruleset = "yahtzee",
    games: int = 1000,
    seed: int = 0,
    luck_adjusted: bool = False,
    executor: Executor | None = None,
    progress: Callable[[float], None] | None = None,
) -> Duel:
    """Let two policies play matches against each other.

    Matches come in pairs with the same dice at each seat, and each policy moves first in one of
    them. A luck-adjusted share is the outcome less what the dice changed in the chance to win if
    both continue as `optimal`: an advantage-sum estimator, with the same expectation and far less
    variance.

    Args:
        first: a policy, or what `as_policy` makes one of.
        second: likewise.
        ruleset: a rule set or its name.
        games: how many matches, an even number from 4 on.
        seed: of the dice and of the policies' generators; the result depends on nothing else.
        luck_adjusted: whether to compute luck-adjusted shares.
        executor: plays the matches; by default the calling thread does.
        progress: called now and then with the share of the matches played, 0 to 1.

    Raises:
        ValueError: for an odd or too small number of games, an unknown name, or an illegal action.
    """
    rules = get_ruleset(ruleset)
    games = _checked_games(games)
    players = as_policy(first), as_policy(second)
    sizes, seeds = zip(*chunks_of(games // 2, seed), strict=True)
    fixed = [players] * len(seeds), [rules] * len(seeds), [luck_adjusted] * len(seeds)
    mapped = (executor.map if executor else map)(play_set, *fixed, sizes, seeds)
    chunks = []
    for chunk in mapped:
        chunks.append(chunk)
        if progress:
            progress(len(chunks) / len(seeds))
    totals, adjusted = zip(*chunks, strict=True)
    return Duel(
        players[0].name,
        players[1].name,
        rules.name,
        seed,
        np.concatenate(totals, axis=1),
        np.concatenate(adjusted, axis=1) if luck_adjusted else None,
    )


def _checked_games(games: Any) -> int:
    if not hasattr(games, "__index__") or index(games) < 4 or index(games) % 2:
        raise ValueError(f"games must be an even whole number from 4 on, not {games!r}")
    return index(games)


def play_set(
    players: Sequence[Policy],
    ruleset: Ruleset,
    luck_adjusted: bool,
    n: int,
    seed: np.random.SeedSequence,
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Play n matches in each rotation of k players, with the same dice at each seat.

    Returns:
        The totals, (k, n, k) int64 by the player who moved first, match and player; and the
        luck-adjusted shares of the first of two players, (2, n) float64, or None.
    """
    k = len(players)
    # Spawning from the seed itself would give its next user other dice.
    own = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    dice, *choices = own.spawn(1 + k)
    rngs = np.random.default_rng(dice).integers(2**64, size=(n, k), dtype=np.uint64)
    totals, adjusted = [], []
    for first, choice in enumerate(choices):
        order = [*players[first:], *players[:first]]
        adjusting = _Adjusting(ruleset, n) if luck_adjusted else None
        watch = adjusting.watch if adjusting else None
        played = play_matches(order, ruleset, rngs, np.random.default_rng(choice), watch)
        totals.append(np.roll(played, first, axis=1))
        if adjusting:
            adjusted.append(1 - adjusting.shares if first else adjusting.shares)
    return np.stack(totals), np.stack(adjusted) if luck_adjusted else None


def chunks_of(n: int, seed: int) -> list[tuple[int, np.random.SeedSequence]]:
    """The sizes and the seeds of the tasks in which n sets of matches are played."""
    seeds = np.random.SeedSequence(seed).spawn(-(-n // CHUNK))
    parts = np.array_split(np.arange(n), len(seeds))
    return [(len(part), own) for part, own in zip(parts, seeds, strict=True)]


class _Adjusting:
    """The luck-adjusted share of whoever moves first, gathered while matches are played.

    Two optimal players have equal chances. From there only a choice other than the optimal
    player's changes the share, by the difference of the chances to win after the two choices.
    """

    def __init__(self, ruleset: Ruleset, n: int) -> None:
        self.shares = np.full(n, 0.5)
        self._winning = winning_chances(ruleset)
        self._solution = solve(ruleset)

    def watch(
        self,
        player: int,
        numbers: NDArray[np.int64],
        positions: Positions,
        opponents: NDArray[np.void],
        actions: NDArray[np.int64],
    ) -> None:
        """Add what the choices change."""
        optimal = self._solution.best_action(positions)
        other = np.flatnonzero(actions != optimal)
        if len(other):
            chances = self._winning.of_actions(
                positions.select(other), opponents[other], this_turn=False
            )
            rows = np.arange(len(other))
            change = chances[rows, actions[other]] - chances[rows, optimal[other]]
            self.shares[numbers[other]] += change if player == 0 else -change


def _percent(mean: SampleMean) -> str:
    return f"{mean.mean:.2%} +- {mean.sem:.2%}"
