"""The metrics of an evaluation, one row each; every table, log and result file reads them here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

DECISIONS = ("box choice", "second reroll", "first reroll")
"""The kinds of decision, by rolls left: 0, 1, 2."""

UNITS = {"points": "{:.2f}", "%": "{:.2f}", "share of games": "{:.1%}"}
"""How a value of each unit is written."""


@dataclass(frozen=True)
class Metric:
    """One figure of an `Evaluation`.

    Attributes:
        key: its name in logs and files.
        label: its name for people.
        unit: a key of `UNITS`.
        value: the figure of an evaluation; None where the rules have no such thing.
        standard_error: that of the value, for metrics that have one.
    """

    key: str
    label: str
    unit: str
    value: Callable[[Any], float | None]
    standard_error: Callable[[Any], float] | None = None

    def text(self, value: float, standard_error: float | None = None) -> str:
        """A value as people read it, such as "98.36" or "250.40 ± 0.02"."""
        text = UNITS[self.unit].format(value)
        return text if standard_error is None else f"{text} ± {standard_error:.2f}"


def _regret(kind: str) -> Metric:
    key = f"regret_{kind.replace(' ', '_')}"
    return Metric(key, f"regret, {kind}", "points", lambda one: one.regret_by_decision[kind])


METRICS = (
    Metric("mean", "score", "points", attrgetter("mean"), attrgetter("sem")),
    Metric(
        "luck_adjusted_mean",
        "luck-adjusted score",
        "points",
        attrgetter("luck_adjusted_mean"),
        attrgetter("luck_adjusted_sem"),
    ),
    Metric("pct_of_optimal", "% of optimum", "%", attrgetter("pct_of_optimal")),
    Metric("regret_per_game", "regret", "points", attrgetter("regret_per_game")),
    *(_regret(kind) for kind in reversed(DECISIONS)),
    Metric("upper_bonus_rate", "upper bonus", "share of games", attrgetter("upper_bonus_rate")),
    Metric("five_alike_rate", "five of a kind", "share of games", attrgetter("five_alike_rate")),
)
"""All metrics, the most important first: narrow tables leave out the last ones."""


def measurements(evaluation: Any) -> dict[str, float]:
    """The metrics of an `Evaluation` by key, and their standard errors by `{key}_sem`."""
    figures = {}
    for metric in METRICS:
        value = metric.value(evaluation)
        if value is None:
            continue
        figures[metric.key] = value
        if metric.standard_error:
            figures[f"{metric.key}_sem"] = metric.standard_error(evaluation)
    return figures


def metric_texts(figures: Mapping[str, Any]) -> dict[str, str]:
    """What `measurements` gave, as people read it: a text for each metric by key."""
    return {
        metric.key: metric.text(figures[metric.key], figures.get(f"{metric.key}_sem"))
        for metric in METRICS
        if metric.key in figures
    }
