"""Learning curves: ``python -m agents.curves runs/*/evaluations.csv --output curves.png``."""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.command import status_of

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
    columns = [*AXES, SCORE]
    try:
        with path.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        curve = {name: [float(row[name]) for row in rows] for name in columns}
    except (ValueError, KeyError, TypeError):
        curve = {}
    if not curve or not curve[SCORE]:
        raise ValueError(f"{path} is not a table of evaluations with {', '.join(columns)}")
    return curve


def passing(curve: dict[str, list[float]], score: float) -> dict[str, float] | None:
    """Games, timesteps and seconds at the first evaluation of at least a score; None if none."""
    for i, value in enumerate(curve[SCORE]):
        if value >= score:
            return {name: curve[name][i] for name in AXES}
    return None


def draw(curves: dict[str, dict[str, list[float]]], floor: float, output: Path) -> None:
    """Draw the luck-adjusted scores of named runs against games, steps and minutes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4), layout="constrained")
    plots = figure.subplots(1, len(AXES), sharey=True)
    for plot, (column, (label, scale)) in zip(plots, AXES.items(), strict=True):
        for name, curve in curves.items():
            x = [value * scale for value in curve[column]]
            plot.plot(x, curve[SCORE], label=name, linewidth=1.2)
        plot.set_xlabel(label)
        if max(max(curve[SCORE]) for curve in curves.values()) > floor:
            plot.set_ylim(bottom=floor)
        plot.grid(alpha=0.3)
    plots[0].set_ylabel("luck-adjusted score of greedy play")
    plots[-1].legend(loc="lower right")
    lowest, highest = plots[0].get_ylim()
    if lowest < RECORD < highest:
        _mark_record(plots)
    figure.savefig(output, dpi=120)


def _mark_record(plots: Any) -> None:
    for plot in plots:
        plot.axhline(RECORD, color="grey", linestyle="--", linewidth=0.8)
    plots[0].annotate(
        f"best published: {RECORD}",
        (0.98, RECORD),
        ha="right",
        va="bottom",
        xycoords=("axes fraction", "data"),
        color="grey",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 where it is refused."""
    return status_of(_curves, arguments, extra="plots")


def _curves(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m agents.curves", description="Learning curves.")
    parser.add_argument("files", type=Path, nargs="+", help="evaluations.csv of runs")
    parser.add_argument("--output", type=Path, default=Path("curves.png"))
    parser.add_argument("--floor", type=_finite, default=225.0, help="the lowest score drawn")
    options = parser.parse_args(arguments)
    names = _names(options.files)
    curves = {name: read(path) for name, path in zip(names, options.files, strict=True)}
    _print(curves)
    draw(curves, options.floor, options.output)


def _finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"the floor must be a finite number, not {text!r}")
    return value


def _print(curves: dict[str, dict[str, list[float]]]) -> None:
    for name, curve in curves.items():
        passed = passing(curve, RECORD)
        when = "" if passed is None else f"; {RECORD} passed after {_words(passed)}"
        print(f"{name}: {curve[SCORE][-1]:.2f} at the end{when}")


def _words(passed: dict[str, float]) -> str:
    return ", ".join(f"{value:,.0f} {column}" for column, value in passed.items())


def _names(paths: Sequence[Path]) -> list[str]:
    """The runs' names, or the whole paths where two runs have the same."""
    names = [path.parent.name if path.stem == "evaluations" else path.stem for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


if __name__ == "__main__":
    sys.exit(main())
