"""Results as text: every figure is there, whole, in any width and encoding."""

import sys

import pytest
from helpers import first_legal

from yahtzee_env import compare, evaluate
from yahtzee_env.evaluation import METRICS, measurements, metric_texts
from yahtzee_env.evaluation.metrics import Metric
from yahtzee_env.policies import FunctionPolicy
from yahtzee_env.report import terminal
from yahtzee_env.report.terminal import comparison_view, evaluation_view, render, show, summary

WIDTHS = (20, 40, 60, 80, 120)
POLICIES = ("greedy-no-reroll", "greedy-turn", "ppo-yahtzee")
COMPARISON = compare(POLICIES, games=30, seed=1)


def text_of(parts, width=120, encoding="utf-8"):
    return "\n\n".join(render(part, width, encoding) for part in parts)


def words_of(*texts):
    """Names and numbers."""
    return {word for text in texts for word in text.split()}


@pytest.mark.parametrize("width", WIDTHS)
def test_names_and_numbers_of_a_comparison_are_whole(width):
    text = text_of(comparison_view(COMPARISON), width)
    words = words_of(text)
    assert words_of(*POLICIES) <= words
    for result in COMPARISON.evaluations:
        texts = metric_texts(measurements(result))
        assert words_of(texts["mean"], texts["luck_adjusted_mean"]) <= words
    for pair in COMPARISON.differences:
        assert words_of(f"{pair.luck_adjusted_mean:+.2f} ± {pair.luck_adjusted_sem:.2f}") <= words
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_names_and_numbers_of_an_evaluation_are_whole(width, ruleset):
    result = evaluate("greedy-turn", ruleset, games=20)
    text = text_of(evaluation_view(result), width)
    words = words_of(text)
    assert words_of(*metric_texts(measurements(result)).values()) <= words
    for box, figures in result.cards.boxes.items():
        assert words_of(box, f"{figures.mean:.2f}") <= words
    for mistake in result.mistakes:
        assert words_of(mistake.decision, mistake.chosen, mistake.best) <= words
        assert f"{mistake.lost_per_game:.3f}" in words
    too_wide = [line for line in text.splitlines() if len(line) > width]
    assert all(len(line.split()) == 1 for line in too_wide)


def test_every_metric_that_the_rules_have_is_shown(ruleset):
    result = evaluate("greedy-turn", ruleset, games=20)
    texts = metric_texts(measurements(result))
    one, table = text_of(evaluation_view(result)), render(summary([result]), 400)
    for metric in METRICS:
        assert (metric.key in texts) == (f"\n{metric.label}  " in one), metric
        assert texts.get(metric.key, "") in one
        assert texts.get(metric.key, "") in table


def test_a_new_metric_is_shown(monkeypatch):
    best = Metric("best", "best game", "points", lambda one: float(one.scores.max()))
    for module in ("yahtzee_env.evaluation.metrics", "yahtzee_env.report.terminal"):
        monkeypatch.setattr(f"{module}.METRICS", (*METRICS, best))
    result = COMPARISON.evaluations[0]
    for text in (text_of(evaluation_view(result)), render(summary([result]), 400)):
        assert f"{result.scores.max():.2f}" in text


def test_illegal_actions_are_shown():
    def unmasked(observations, masks):
        return first_legal(observations, masks) * 0

    result = evaluate(unmasked, games=2, on_illegal="random")
    assert f"{result.illegal_actions:,}" in text_of(evaluation_view(result))


def test_a_summary_is_of_the_same_games():
    one = evaluate("random", "yacht", games=2)
    for others in ([evaluate("random", games=2)], [evaluate("random", "yacht", games=3)]):
        with pytest.raises(ValueError, match="one rule set, number of games and seed"):
            summary([one, *others])


@pytest.mark.parametrize("encoding", ["ascii", "cp866", "iso8859-2", "cp437", "utf-8"])
def test_any_encoding_can_print_every_result(encoding):
    policy = FunctionPolicy(first_legal, name="größte [bold]")
    parts = evaluation_view(evaluate(policy, "yacht", games=2))
    text = text_of(parts, 80, encoding)
    text.encode(encoding)
    assert "[bold]" in text
    assert (" +- " in text) == (encoding in ("ascii", "cp866", "iso8859-2"))


def test_show_prints_to_the_standard_output(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    show([summary(COMPARISON.evaluations), "A sentence."])
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 40
    assert printed.endswith("\n\nA sentence.\n")


def test_no_view_needs_rich(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    assert text_of(comparison_view(COMPARISON))
    assert terminal.DEFAULT_WIDTH >= 80
