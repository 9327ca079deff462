"""How good an agent is beside the baselines and perfect play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from yahtzee_env import evaluate, get_ruleset, load_policy
from yahtzee_env.evaluation import measurements, metric_texts
from yahtzee_env.policies import POLICIES, FunctionPolicy, ModelPolicy, Policy

BASELINES = tuple(name for name in POLICIES if name != "optimal")
"""Every player of the package but the optimal one, whose exact value closes the table."""

Row = Mapping[str, Any]


def greedy_policy(model: Any, name: str, masks: bool) -> Policy:
    """A model that plays greedily, knowing what is legal or not."""
    if masks:
        return ModelPolicy(model, name)
    return FunctionPolicy(
        lambda observations, _: model.predict(observations, deterministic=True)[0], name
    )


def compare(policies: Sequence[Policy], ruleset: str, games: int, seed: int) -> list[Row]:
    """How the baselines and then the policies score in the same games.

    Where a policy chooses an illegal action a random legal one takes its place.
    """
    players = [*map(load_policy, BASELINES), *policies]
    return [measure(player, ruleset, games, seed) for player in players]


def measure(policy: Policy, ruleset: str, games: int, seed: int) -> Row:
    """Scores in points with their standard errors, and the share of games with the upper bonus."""
    result = evaluate(policy, ruleset, games=games, seed=seed, on_illegal="random")
    return {
        "player": result.policy,
        "games": result.games,
        **measurements(result),
        "illegal_actions": result.illegal_actions,
        "optimum": result.optimum,
    }


def print_comparison(rows: Sequence[Row], ruleset: str) -> None:
    """Print the rows as a table, closed by the exact optimum."""
    table = Table("player", title=f"{ruleset}: points a game", box=SIMPLE)
    bonus = bool(get_ruleset(ruleset).bonus_steps)
    for column in ("games", "mean", "luck-adjusted", "below\noptimum", *["upper\nbonus"] * bonus):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        texts = metric_texts(row)
        table.add_row(
            row["player"],
            f"{row['games']:,}",
            texts["mean"],
            texts["luck_adjusted_mean"],
            f"{row['optimum'] - row['luck_adjusted_mean']:.2f}",
            *[texts.get("upper_bonus_rate", "")] * bonus,
        )
    table.add_section()
    table.add_row("optimum", "", f"{rows[0]['optimum']:.2f} (exact)", "", "0.00")
    Console().print(table, "\N{PLUS-MINUS SIGN} is one standard error.")
