"""Results as text for a terminal of any width and encoding."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace

from yahtzee_env.evaluation import (
    METRICS,
    Comparison,
    Evaluation,
    Tournament,
    measurements,
    metric_texts,
)
from yahtzee_env.evaluation.intervals import Interval
from yahtzee_env.evaluation.metrics import DECISIONS
from yahtzee_env.evaluation.result import CardSummary
from yahtzee_env.report.layout import Table, lines

DEFAULT_WIDTH = 100
"""Columns if the output is not a terminal and COLUMNS is not set."""

Part = Table | str


def show(parts: Iterable[Part]) -> None:
    """Print tables and sentences to the standard output, a blank line between them."""
    width = shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print("\n\n".join(render(part, width, encoding) for part in parts))


def render(part: Part, width: int, encoding: str = "utf-8") -> str:
    """A table or a sentence as text of a width, with only what the encoding has."""
    table = Table(part, (), ()) if isinstance(part, str) else part
    encodable = replace(
        table,
        title=_encodable(table.title, encoding),
        columns=[_encodable(heading, encoding) for heading in table.columns],
        rows=[[_encodable(cell, encoding) for cell in row] for row in table.rows],
    )
    return "\n".join(lines(encodable, width))


def _encodable(text: str, encoding: str) -> str:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.replace("±", "+-")
    return text.encode(encoding, "backslashreplace").decode(encoding)


def evaluation_view(result: Evaluation) -> list[Part]:
    """All figures of one evaluation."""
    mistakes = [_mistakes(result)] if result.mistakes else []
    return [_metrics(result), _one_game(result), _boxes(result), _regret(result), *mistakes]


def comparison_view(comparison: Comparison) -> list[Part]:
    """The metrics of the policies compared, and the difference of each pair."""
    rows = [
        (
            f"{pair.first} - {pair.second}",
            f"{pair.luck_adjusted_mean:+.2f} ± {pair.luck_adjusted_sem:.2f}",
            _interval(pair.luck_adjusted_ci95),
            f"{pair.mean:+.2f} ± {pair.sem:.2f}",
            _interval(pair.ci95),
        )
        for pair in comparison.differences
    ]
    columns = (
        "policies",
        "luck-adjusted difference",
        "its 95 % interval",
        "difference",
        "its 95 % interval",
    )
    title = "Differences in points per game, paired game by game, ± one standard error"
    return [summary(comparison.evaluations), Table(title, columns, rows)]


def tournament_view(result: Tournament) -> list[Part]:
    """The standings, the result of each pair, and what moving first is worth."""
    rows = [
        (
            one.policy,
            f"{one.rating:.0f} ± {one.rating_half_width:.0f}",
            _share(one.share.ci95),
            f"{one.mean:.2f}",
        )
        for one in result.standings
    ]
    title = (
        f"{result.ruleset}, {result.games:,} games at each table of {result.table} "
        f"(seed {result.seed}): rating and share of the wins with 95 % intervals"
    )
    standings = Table(title, ("policy", "rating", "share of the wins", "mean score"), rows, 4)
    pairs = [
        (
            f"{pair.first} - {pair.second}",
            _share(pair.share.ci95),
            *(f"{share:.2%}" for share in (pair.win, pair.tie, pair.loss)),
        )
        for pair in result.pairs
    ]
    columns = ("policies", "won, ties half", "won", "tied", "lost")
    first = result.moving_first
    return [
        standings,
        Table(
            "The first of each pair, in matches that one of the two won",
            columns,
            pairs,
            essential=2,
        ),
        f"Whoever moves first has {_share(first.ci95)} of the wins.",
    ]


def _share(ends: Interval) -> str:
    return f"{ends[0]:.2%} to {ends[1]:.2%}"


def summary(results: Sequence[Evaluation]) -> Table:
    """A row for each of several policies in the same games: as many metrics as fit.

    Raises:
        ValueError: for no results, or results of different games.
    """
    if len({(result.ruleset, result.games, result.seed) for result in results}) != 1:
        raise ValueError("a summary needs results of one rule set, number of games and seed")
    first = results[0]
    texts = [metric_texts(measurements(result)) for result in results]
    metrics = [metric for metric in METRICS if metric.key in texts[0]]
    rows = [
        (result.policy, *(text[metric.key] for metric in metrics))
        for result, text in zip(results, texts, strict=True)
    ]
    title = f"{first.ruleset}, {first.games:,} games each (seed {first.seed}): {_points(first)}"
    return Table(title, ("policy", *(metric.label for metric in metrics)), rows, essential=3)


def _metrics(result: Evaluation) -> Table:
    texts = metric_texts(measurements(result))
    intervals = {
        "mean": _interval(result.ci95),
        "luck_adjusted_mean": _interval(result.luck_adjusted_ci95),
    }
    rows = [
        (metric.label, texts[metric.key], intervals.get(metric.key, ""))
        for metric in METRICS
        if metric.key in texts
    ]
    if result.illegal_actions:
        rows.append(("illegal actions", f"{result.illegal_actions:,}", "replaced by random ones"))
    title = (
        f"{result.policy} on {result.ruleset}, {result.games:,} games (seed {result.seed}): "
        f"{_points(result)}"
    )
    return Table(title, ("metric", "value", "95 % interval"), rows)


def _points(result: Evaluation) -> str:
    return f"points per game, ± one standard error; the optimum is {result.optimum:.2f}"


def _one_game(result: Evaluation) -> str:
    lowest, low, _, high, highest = (f"{points:.0f}" for points in result.quantiles.values())
    return (
        f"A single game: standard deviation {result.std:.1f}; half of the games score "
        f"{low} to {high}, nine tenths {lowest} to {highest}."
    )


def _boxes(result: Evaluation) -> Table:
    optimal = _points_by_source(result.optimal_cards)
    rows = [
        (name, f"{mean:.2f}", f"{optimal[name][0]:.2f}", _rate(zeros), _rate(optimal[name][1]))
        for name, (mean, zeros) in _points_by_source(result.cards).items()
    ]
    title = "Points per game and the share of games without any, compared with optimal play"
    columns = ("box", "points", "optimal points", "without points", "optimal, without points")
    return Table(title, columns, rows)


def _points_by_source(cards: CardSummary) -> dict[str, tuple[float, float | None]]:
    """Mean points and the share of games without any, of each box and each kind of bonus."""
    sources: dict[str, tuple[float, float | None]] = {
        name: (box.mean, box.zero_rate) for name, box in cards.boxes.items()
    }
    if cards.upper_bonus_mean is not None and cards.upper_bonus_rate is not None:
        sources["upper bonus"] = cards.upper_bonus_mean, 1 - cards.upper_bonus_rate
    if cards.extra_bonus_mean is not None:
        sources["extra bonus"] = cards.extra_bonus_mean, None
    return sources


def _regret(result: Evaluation) -> Table:
    turns = result.regret.mean(axis=0).T
    rows = [
        (str(turn), *(f"{lost:.2f}" for lost in (sum(of_turn), *reversed(of_turn))))
        for turn, of_turn in enumerate(turns.tolist(), start=1)
    ]
    columns = ("turn", "all decisions", *reversed(DECISIONS))
    return Table("Regret per game by turn and decision", columns, rows)


def _mistakes(result: Evaluation) -> Table:
    rows = [
        (
            mistake.decision,
            mistake.chosen,
            mistake.best,
            f"{mistake.lost_per_game:.3f}",
            f"{mistake.lost_each:.3f}",
        )
        for mistake in result.mistakes
    ]
    columns = ("decision", "chosen", "instead of", "lost per game", "lost each time")
    return Table("The most expensive kinds of mistake", columns, rows, essential=5, names=3)


def _interval(ends: Interval) -> str:
    return f"{ends[0]:.2f} to {ends[1]:.2f}"


def _rate(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
