"""The table of metrics: what its rows say about an evaluation, and how it is read."""

import numpy as np
import pytest

from yahtzee_env import evaluate, get_ruleset
from yahtzee_env.evaluation import METRICS, measurements, metric_texts
from yahtzee_env.evaluation.metrics import UNITS, Metric

GREEDY = evaluate("greedy-turn", games=50, seed=1)


def test_metrics_agree_with_the_scores_and_the_regret_of_each_game():
    figures = measurements(GREEDY)
    assert figures["mean"] == pytest.approx(np.mean(GREEDY.scores))
    assert figures["mean_sem"] == pytest.approx(np.std(GREEDY.scores, ddof=1) / np.sqrt(50))
    assert figures["luck_adjusted_mean"] == pytest.approx(np.mean(GREEDY.adjusted_scores))
    assert figures["pct_of_optimal"] == pytest.approx(
        100 * figures["luck_adjusted_mean"] / 254.587729
    )
    parts = ("regret_first_reroll", "regret_second_reroll", "regret_box_choice")
    assert [figures[key] for key in parts] == pytest.approx(
        [GREEDY.regret[:, rolls_left].sum() / 50 for rolls_left in (2, 1, 0)]
    )
    assert sum(figures[key] for key in parts) == pytest.approx(figures["regret_per_game"])


def test_a_rule_set_has_only_the_metrics_that_its_rules_give_sense(ruleset):
    figures, rules = measurements(evaluate("greedy-turn", ruleset, games=5)), get_ruleset(ruleset)
    assert ("upper_bonus_rate" in figures) == bool(rules.bonus_steps)
    assert ("five_alike_rate" in figures) == (rules.five_alike_box is not None)


def test_keys_and_labels_are_unique_and_units_known():
    assert len({metric.key for metric in METRICS}) == len(METRICS)
    assert len({metric.label for metric in METRICS}) == len(METRICS)
    assert {metric.unit for metric in METRICS} <= set(UNITS)


def test_texts():
    texts = metric_texts({"mean": 250.404, "mean_sem": 0.0213, "upper_bonus_rate": 0.6225})
    assert texts == {"mean": "250.40 ± 0.02", "upper_bonus_rate": "62.3%"}


def test_a_new_metric_is_one_row(monkeypatch):
    best = Metric("best", "best game", "points", lambda one: float(one.scores.max()))
    monkeypatch.setattr("yahtzee_env.evaluation.metrics.METRICS", (*METRICS, best))
    assert GREEDY.to_dict()["best"] == max(GREEDY.scores)
    assert metric_texts(measurements(GREEDY))["best"] == f"{max(GREEDY.scores)}.00"
