"""The results table: how far from perfect every player of the package plays.

    python -m benchmarks.results [--games 100000] [--seed 2026]

Measures every player in fresh games, and computes the exact value of the deterministic ones, which
takes up to half an hour for a network. Keeps a row per player in docs/results.json and writes
docs/results.md and the short table of the README. A row is measured again only if the games, the
package's code or the agent's file have changed, so an interrupted run resumes where it stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from agents.runs.folder import write_json
from agents.runs.provenance import provenance
from yahtzee_env import evaluate, load_policy, policy_value, solve
from yahtzee_env.evaluation import METRICS, measurements, metric_texts
from yahtzee_env.files import write_atomically
from yahtzee_env.policies import AGENTS, POLICIES
from yahtzee_env.policies.network import load_network

ROOT = Path(__file__).parents[1]
DATA, PAGE, README = (
    ROOT / "docs" / "results.json",
    ROOT / "docs" / "results.md",
    ROOT / "README.md",
)
BEGIN, END = "<!-- make results -->\n", "<!-- end -->\n"

ARXIV = "[arXiv 2601.00007](https://arxiv.org/abs/2601.00007)"
PUBLISHED = {
    "yahtzee": [
        ("DQN, ten meta-actions (Vasseur 2019)", "about 232"),
        (f"PPO, 250,000 games ({ARXIV})", "230.2"),
        (f"A2C, 1 million games ({ARXIV}), the best published learned player", "241.78"),
        ("best published hand-made player (Glenn 2006)", "244.87"),
    ]
}
"""Players of others under these rules, with their mean scores as published."""

README_PLAYERS = {
    "greedy-turn": "greedy-turn (maximises each turn by itself)",
    "dqn-yahtzee": "dqn-yahtzee",
    "ppo-yahtzee": "ppo-yahtzee",
    "strategist": "strategist (hand-made)",
}
README_PUBLISHED = f"*best published learned agent: A2C, 1 million games ({ARXIV})*", 241.78


def rulesets() -> list[str]:
    """The official rules, and those that an agent of the package plays."""
    return list(
        dict.fromkeys(["yahtzee", *(load_network(path).ruleset.name for path in AGENTS.values())])
    )


def players(ruleset: str) -> list[str]:
    """Every player of the package that can play these rules, the optimal one aside."""
    agents = [name for name, path in AGENTS.items() if load_network(path).ruleset.name == ruleset]
    return [*(name for name in POLICIES if name != "optimal"), *agents]


def measured(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """The row of every player, from the data file or measured and put there."""
    kept = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    for ruleset in rulesets():
        for player in players(ruleset):
            key = f"{ruleset}: {player}"
            row = kept.get(key, {})
            print(key)
            asked = {"games": options.games, "seed": options.seed, "made_of": made_of(player)}
            if any(row.get(name) != value for name, value in asked.items()):
                found = measure(player, ruleset, options.games, options.seed)
                kept[key] = {**asked, "commit": provenance()["commit"], **found}
                write_json(DATA, kept)
            yield ruleset, kept[key]


def made_of(player: str) -> str:
    """A hash of the package's code, and of the player's file if it is an agent."""
    files = sorted((ROOT / "yahtzee_env").rglob("*.py"))
    files += [AGENTS[player]] if player in AGENTS else []
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def measure(player: str, ruleset: str, games: int, seed: int) -> dict[str, Any]:
    """A player's metrics and, unless it plays at random, its exact value."""
    policy = load_policy(player)
    result = evaluate(policy, ruleset, games=games, seed=seed)
    exact = exact_mean(player, ruleset) if policy.deterministic else None
    return {"player": player, "exact": exact, "optimum": result.optimum, **measurements(result)}


def exact_mean(player: str, ruleset: str) -> float:
    """The exact expected score, with a progress bar."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn()) as bar:
        task = bar.add_task(f"exact value of {player} on {ruleset}", total=1.0)
        policy = load_policy(player)
        return policy_value(policy, ruleset, lambda done: bar.update(task, completed=done)).mean


def table(ruleset: str, rows: list[dict[str, Any]]) -> str:
    """The players by strength, published figures among them, and the optimum last.

    A metric that the rule set does not have gets no column.
    """
    optimum = solve(ruleset).start_value
    found = [(row["exact"] or row["luck_adjusted_mean"], cells(row)) for row in rows]
    for name, mean in PUBLISHED.get(ruleset, ()):
        score = float(mean.split()[-1])
        known = {"mean": mean, "pct_of_optimal": f"{100 * score / optimum:.2f}"}
        found.append((score, {"player": f"*{name}*", **known}))
    lines = [line for _, line in sorted(found, key=lambda one: one[0])]
    lines.append({"player": "optimum", "exact": f"{optimum:.4f}", "pct_of_optimal": "100.00"})
    labels = {"player": "player", "exact": "exact", **{one.key: one.label for one in METRICS}}
    columns = [key for key in labels if any(line.get(key) for line in lines)]
    text = [labels, dict.fromkeys(columns, "---"), *lines]
    return "".join(f"| {' | '.join(line.get(key, '') for key in columns)} |\n" for line in text)


def cells(row: dict[str, Any]) -> dict[str, str]:
    """The texts of a row by column; where the exact value is known, so is the % of optimum."""
    if row["exact"] is None:
        return {"player": row["player"], **metric_texts(row)}
    known = {**row, "pct_of_optimal": 100 * row["exact"] / row["optimum"]}
    return {"player": row["player"], "exact": f"{row['exact']:.4f}", **metric_texts(known)}


def legend(rows: list[dict[str, Any]]) -> str:
    commits = " and ".join(dict.fromkeys(row["commit"][:7] for row in rows))
    return (
        f"`make results` at {commits}: {rows[0]['games']:,} games each, seed "
        f'{rows[0]["seed"]}, ± one standard error. "exact" is the expected score from '
        "`policy_value`, without sampling; the luck-adjusted score has the same expectation as "
        "the score; regret is the points lost per game, in total and by kind of decision; the "
        "upper bonus and five of a kind are shares of games. Published figures are in italics.\n"
    )


def readme_table(rows: list[dict[str, Any]]) -> str:
    """A few players of the official rules: exact scores and the share of the optimum."""
    optimum = rows[0]["optimum"]
    found = [
        (README_PLAYERS[row["player"]], row["exact"])
        for row in rows
        if row["player"] in README_PLAYERS
    ]
    lines = [
        f"| {name} | {score:.2f} | {100 * score / optimum:.1f} |\n"
        for name, score in sorted([*found, README_PUBLISHED], key=lambda one: one[1])
    ]
    return "".join(["| player | score | % of optimum |\n| --- | --- | --- |\n", *lines])


def write_pages(rows: dict[str, list[dict[str, Any]]]) -> None:
    """Write docs/results.md and the table of the README from the rows of each rule set."""
    note = legend([row for found in rows.values() for row in found])
    page = [f"## {ruleset}\n\n{table(ruleset, found)}" for ruleset, found in rows.items()]
    write_text(PAGE, "\n".join(["# Results\n", note, *page]))
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    write_text(README, f"{before}{BEGIN}\n{readme_table(rows['yahtzee'])}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure every player and write the results.")
    parser.add_argument("--games", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=2026)
    rows: dict[str, list[dict[str, Any]]] = {}
    for ruleset, row in measured(parser.parse_args()):
        rows.setdefault(ruleset, []).append(row)
    write_pages(rows)


def write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


if __name__ == "__main__":
    main()
