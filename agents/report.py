"""How good an agent is beside the baselines and perfect play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from yahtzee_env import evaluate, load_policy, solve
from yahtzee_env.policies import Policy

BASELINES = ("random", "greedy-no-reroll", "greedy-turn")
"""Random legal actions; the most points now without rerolls; the most expected this turn."""

Row = Mapping[str, Any]


def compare(policies: Sequence[Policy], ruleset: str, games: int, seed: int) -> list[Row]:
    """How the baselines and the policies score in the same number of games, weakest kind first."""
    players = [*map(load_policy, BASELINES), *policies]
    return [measure(player, ruleset, games, seed) for player in players]


def measure(policy: Policy, ruleset: str, games: int, seed: int) -> Row:
    """Mean score with its standard error, and the share of games with the upper bonus."""
    result = evaluate(policy, ruleset, games=games, seed=seed)
    return {
        "player": policy.name,
        "games": result.games,
        "mean": result.mean,
        "sem": result.sem,
        "upper_bonus_rate": result.upper_bonus_rate,
    }


def print_comparison(rows: Sequence[Row], ruleset: str) -> None:
    """Print the table, closed by the exact optimum."""
    optimum = solve(ruleset).start_value
    table = Table("player", title=f"{ruleset}: points a game")
    for column in ("games", "mean", "standard error", "below optimum", "upper bonus"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            row["player"],
            f"{row['games']:,}",
            f"{row['mean']:.2f}",
            f"{row['sem']:.2f}",
            f"{optimum - row['mean']:.2f}",
            f"{row['upper_bonus_rate']:.1%}",
        )
    table.add_section()
    table.add_row("optimum", "exact", f"{optimum:.2f}", "0", "0", "")
    Console().print(table)
