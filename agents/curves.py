"""Learning curves: ``python -m agents.curves runs/*/evaluations.csv --output curves.png``."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

RECORD = 241.78
"""Mean score of the best published learned player of the official rules, arXiv 2601.00007."""

SCORE = "luck_adjusted_mean"
AXES = {
    "games": ("games played in training, thousands", 1e-3),
    "timesteps": ("steps, millions", 1e-6),
    "seconds": ("minutes", 1 / 60),
}
"""What a curve can be drawn against: columns of the file, their labels and scales."""


def read(path: Path) -> dict[str, list[float]]:
    """The columns of an evaluations file.

    Raises:
        ValueError: for a file of another kind.
        OSError: if it cannot be read.
    """
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = [*AXES, SCORE]
    if not rows or any(row.get(name) is None for row in rows for name in columns):
        raise ValueError(f"{path} is no table of evaluations with {', '.join(columns)}")
    return {name: [float(row[name]) for row in rows] for name in columns}


def passing(curve: dict[str, list[float]], score: float) -> dict[str, float] | None:
    """Games, timesteps and seconds at the first evaluation of at least a score; None if none."""
    for i, value in enumerate(curve[SCORE]):
        if value >= score:
            return {name: curve[name][i] for name in AXES}
    return None


def draw(curves: dict[str, dict[str, list[float]]], floor: float, output: Path) -> None:
    """Draw the luck-adjusted scores of named runs against games, steps and minutes."""
    figure, plots = plt.subplots(1, len(AXES), figsize=(13, 4), sharey=True, layout="constrained")
    for plot, (column, (label, scale)) in zip(plots, AXES.items(), strict=True):
        for name, curve in curves.items():
            x = [value * scale for value in curve[column]]
            plot.plot(x, curve[SCORE], label=name, linewidth=1.2)
        plot.axhline(RECORD, color="grey", linestyle="--", linewidth=0.8)
        plot.set_xlabel(label)
        plot.set_ylim(bottom=floor)
        plot.grid(alpha=0.3)
    plots[0].set_ylabel("luck-adjusted score of greedy play")
    plots[0].annotate(
        f"best published: {RECORD}",
        (0.98, RECORD),
        ha="right",
        va="bottom",
        xycoords=("axes fraction", "data"),
        color="grey",
    )
    plots[-1].legend(loc="lower right")
    figure.savefig(output, dpi=120)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code, 2 for files that cannot be read or written."""
    parser = argparse.ArgumentParser(prog="python -m agents.curves", description="Learning curves.")
    parser.add_argument("files", type=Path, nargs="+", help="evaluations.csv of runs")
    parser.add_argument("--output", type=Path, default=Path("curves.png"))
    parser.add_argument("--floor", type=float, default=225.0, help="the lowest score drawn")
    options = parser.parse_args(arguments)
    try:
        _show({_name(path): read(path) for path in options.files}, options.floor, options.output)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _show(curves: dict[str, dict[str, list[float]]], floor: float, output: Path) -> None:
    for name, curve in curves.items():
        passed = passing(curve, RECORD)
        when = "never" if passed is None else f"after {_words(passed)}"
        print(f"{name}: {curve[SCORE][-1]:.2f} at the end; {RECORD} passed {when}")
    draw(curves, floor, output)


def _words(passed: dict[str, float]) -> str:
    return ", ".join(f"{value:,.0f} {column}" for column, value in passed.items())


def _name(path: Path) -> str:
    return path.parent.name if path.stem == "evaluations" else path.stem


if __name__ == "__main__":
    sys.exit(main())
