"""The results table: how far from perfect every player of the package plays.

    python -m benchmarks.results [--games 100000] [--seed 2026]

Writes docs/results.md and the table of the README from docs/results.json, which it fills first: a
row for each player, with its evaluation in fresh games and, where it is deterministic, its exact
value. A network's takes up to half an hour. A row that was measured with the same games is taken
over as long as neither the package's code nor the agent's file has changed, so that a stopped
command goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from agents.run_folder import provenance, write_json
from yahtzee_env import evaluate, get_ruleset, load_policy, policy_value, solve
from yahtzee_env.files import write_beside
from yahtzee_env.policies import AGENTS, POLICIES

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

COLUMNS = (
    "player",
    "exact",
    "mean",
    "luck-adjusted",
    "% of optimum",
    "regret: first reroll / second reroll / box choice",
    "upper bonus",
    "five alike",
)


def rulesets() -> list[str]:
    """The official rules, and those that an agent of the package plays."""
    return list(dict.fromkeys(["yahtzee", *(load_policy(name).ruleset.name for name in AGENTS)]))


def players(ruleset: str) -> list[str]:
    """Every player of the package that can play these rules, the optimal one aside."""
    agents = [name for name in AGENTS if load_policy(name).ruleset.name == ruleset]
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
    """A player's evaluation and, unless it plays at random, its exact value."""
    policy = load_policy(player)
    row = evaluate(policy, ruleset, games=games, seed=seed).to_dict()
    kept = ("mean", "sem", "ci95", "luck_adjusted_mean", "luck_adjusted_sem", "luck_adjusted_ci95")
    cards = {name: row["cards"][name] for name in ("upper_bonus_rate", "five_alike_rate")}
    exact = exact_mean(player, ruleset) if policy.deterministic else None
    return {
        "player": player,
        "exact": exact,
        **{name: row[name] for name in (*kept, "optimum", "regret_by_decision")},
        **cards,
    }


def exact_mean(player: str, ruleset: str) -> float:
    """The exact expected score, with a progress bar."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn()) as bar:
        task = bar.add_task(f"exact value of {player} on {ruleset}", total=1.0)
        policy = load_policy(player)
        return policy_value(policy, ruleset, lambda done: bar.update(task, completed=done)).mean


def table(ruleset: str, rows: list[dict[str, Any]]) -> str:
    """The rows by strength, others' published figures among them, the optimum last.

    Columns that are blank in every row are left out.
    """
    optimum, bonus = solve(ruleset).start_value, bool(get_ruleset(ruleset).bonus_steps)
    lines = [(row["exact"] or row["luck_adjusted_mean"], cells(row, bonus)) for row in rows]
    for name, mean in PUBLISHED.get(ruleset, ()):
        value = float(mean.split()[-1])
        share = f"{100 * value / optimum:.2f}"
        lines.append((value, [f"*{name}*", "", mean, "", share, "", "", ""]))
    lines.sort(key=lambda line: line[0])
    last = ["optimum", f"{optimum:.4f}", "", "", "100", "0 / 0 / 0", "", ""]
    text = [COLUMNS, ["---"] * len(COLUMNS), *(line for _, line in lines), last]
    columns = [column for column in zip(*text, strict=True) if any(column[2:])]
    return "".join(f"| {' | '.join(line)} |\n" for line in zip(*columns, strict=True))


def cells(row: dict[str, Any], bonus: bool) -> list[str]:
    """The row as texts; the upper bonus is blank where the rules have none."""
    exact, lost, five = row["exact"], row["regret_by_decision"], row["five_alike_rate"]
    best = row["luck_adjusted_mean"] if exact is None else exact
    order = ("first reroll", "second reroll", "box choice")
    return [
        row["player"],
        "" if exact is None else f"{exact:.4f}",
        interval(row["mean"], row["ci95"]),
        interval(row["luck_adjusted_mean"], row["luck_adjusted_ci95"]),
        f"{100 * best / row['optimum']:.2f}",
        " / ".join(f"{lost[kind]:.2f}" for kind in order),
        f"{row['upper_bonus_rate']:.1%}" if bonus else "",
        "" if five is None else f"{five:.1%}",
    ]


def interval(mean: float, ci95: list[float]) -> str:
    return f"{mean:.2f} ± {(ci95[1] - ci95[0]) / 2:.2f}"


def legend(rows: list[dict[str, Any]]) -> str:
    commits = " and ".join(dict.fromkeys(row["commit"][:7] for row in rows))
    return (
        f"`make results` at {commits}: {rows[0]['games']:,} games each, seed "
        f'{rows[0]["seed"]}, ± half of the 95 % interval. "exact" is the expected score from '
        "`policy_value`, without sampling; the luck-adjusted mean has the same expectation as the "
        'mean; regret is the points a game lost by each kind of decision; "five alike" is the '
        "share of games with points in the box for it. Published figures are in italics.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure every player; write the results.")
    parser.add_argument("--games", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=2026)
    rows: dict[str, list[dict[str, Any]]] = {}
    for ruleset, row in measured(parser.parse_args()):
        rows.setdefault(ruleset, []).append(row)
    tables = {ruleset: table(ruleset, found) for ruleset, found in rows.items()}
    note = legend([row for found in rows.values() for row in found])
    page = [f"## {ruleset}\n\n{text}" for ruleset, text in tables.items()]
    write_text(PAGE, "\n".join(["# Results\n", note, *page]))
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    write_text(README, f"{before}{BEGIN}\n{tables['yahtzee']}\n{note}\n{END}{after}")


def write_text(path: Path, text: str) -> None:
    write_beside(path, lambda beside: beside.write_text(text, encoding="utf-8"))


if __name__ == "__main__":
    main()
