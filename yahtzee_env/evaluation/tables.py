"""Evaluations as tables for the terminal; needs rich, of the extra ``cli``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from yahtzee_env.evaluation.metrics import DECISIONS
from yahtzee_env.evaluation.result import CardSummary, Evaluation

if TYPE_CHECKING:
    from rich.table import Table

    from yahtzee_env.evaluation.comparison import Comparison

INSTALL = 'pip install "yahtzee-env[cli]"'

_TALL_DECISIONS = [kind.replace(" ", "\n") for kind in DECISIONS]


def evaluation_table(result: Evaluation) -> Table:
    """All figures of one evaluation.

    Raises:
        ImportError: if rich is missing, with the command that installs it.
    """
    parts = [_headline(result), _side_by_side(_boxes(result), _regret(result))]
    if result.mistakes:
        parts.append(_mistakes(result))
    title = (
        f"{_name(result.policy)} on {_name(result.ruleset)}: points a game, ± standard error, "
        f"{result.games:,} games, seed {result.seed}"
    )
    return _page(title, *parts)


def summary_table(
    results: Sequence[Evaluation], references: Sequence[tuple[str, float]] = ()
) -> Table:
    """A row for each policy, then references of other origin, the optimum last.

    Args:
        results: evaluations under one rule set.
        references: names and mean scores, such as published ones.

    Raises:
        ValueError: for no results, or results of several rule sets.
        ImportError: if rich is missing, with the command that installs it.
    """
    if len({result.ruleset for result in results}) != 1:
        raise ValueError("a summary needs results of one rule set")
    optimum = results[0].optimum
    bonus = _pay_upper_bonus(results)
    table = plain_table(
        f"{_name(results[0].ruleset)}: points a game, ± standard error",
        ["policy"],
        ["games", "mean", "luck-adjusted", "% of\noptimum"],
        [f"regret\n{kind}" for kind in _TALL_DECISIONS],
        ["upper\nbonus %"] * bonus,
    )
    for result in results:
        table.add_row(
            _name(result.policy),
            f"{result.games:,}",
            f"{result.mean:.2f} ± {result.sem:.2f}",
            f"{result.luck_adjusted_mean:.2f} ± {result.luck_adjusted_sem:.2f}",
            f"{result.pct_of_optimal:.1f}",
            *(f"{lost:.2f}" for lost in result.regret_by_decision.values()),
            *[_per_cent(result.upper_bonus_rate)] * bonus,
        )
    for name, mean in references:
        table.add_row(_name(name), "", f"{mean:.2f}", "", f"{100 * mean / optimum:.1f}")
    table.add_section()
    most_games = max(results, key=lambda result: result.games)
    exact = f"{optimum:.2f}"
    table.add_row(
        *("optimum", "exact", exact, exact, "100.0"),
        *["0.00"] * len(DECISIONS),
        *[_per_cent(most_games.optimal_cards.upper_bonus_rate)] * bonus,
    )
    return table


def comparison_table(comparison: Comparison) -> Table:
    """The summary of the policies compared, and the difference of each pair.

    Raises:
        ImportError: if rich is missing, with the command that installs it.
    """
    table = plain_table(
        "differences, paired by game, and their 95 % intervals",
        ["policies"],
        ["difference", "95 %", "luck-adjusted", "95 %"],
    )
    for pair in comparison.differences:
        table.add_row(
            f"{_name(pair.first)}\n- {_name(pair.second)}",
            f"{pair.mean:+.2f} ± {pair.sem:.2f}",
            _interval(pair.ci95),
            f"{pair.luck_adjusted_mean:+.2f} ± {pair.luck_adjusted_sem:.2f}",
            _interval(pair.luck_adjusted_ci95),
        )
    return _page(None, summary_table(comparison.evaluations), table)


def _headline(result: Evaluation) -> Table:
    cards, optimal = result.cards, result.optimal_cards
    low, *inner, high = (f"{value:.0f}" for value in result.quantiles.values())
    rows = [
        (
            "score",
            f"{result.mean:.2f} ± {result.sem:.2f}",
            f"95 %: {_interval(result.ci95)}; one game: sd {result.std:.1f}, "
            f"middle half {inner[0]} to {inner[-1]}, nine tenths {low} to {high}",
        ),
        (
            "luck-adjusted",
            f"{result.luck_adjusted_mean:.2f} ± {result.luck_adjusted_sem:.2f}",
            f"95 %: {_interval(result.luck_adjusted_ci95)}; "
            f"{result.pct_of_optimal:.2f} % of the optimum {result.optimum:.2f}",
        ),
        ("regret", f"{result.regret_per_game:.3f}", "points a game lost by decisions"),
    ]
    if _pay_upper_bonus([result]):
        rows.append(
            (
                "upper bonus",
                _share(cards.upper_bonus_rate),
                f"of games, optimum {_share(optimal.upper_bonus_rate)}; "
                f"{cards.upper_bonus_mean:.2f} points a game, optimum "
                f"{optimal.upper_bonus_mean:.2f}",
            )
        )
    if cards.five_alike_rate is not None and optimal.five_alike_rate is not None:
        text = f"of games, optimum {_share(optimal.five_alike_rate)}"
        if cards.extra_bonus_mean or optimal.extra_bonus_mean:
            text += (
                f"; extra bonus {cards.extra_bonus_mean:.2f} points a game, optimum "
                f"{optimal.extra_bonus_mean:.2f}"
            )
        rows.append(("five alike", _share(cards.five_alike_rate), text))
    if result.illegal_actions:
        rows.append(("illegal", f"{result.illegal_actions:,}", "actions replaced by random ones"))
    table = _grid()
    for row in rows:
        table.add_row(*row)
    return table


def _pay_upper_bonus(results: Sequence[Evaluation]) -> bool:
    """Whether any game earned an upper bonus; where none did, the rules may have none."""
    return any(
        (cards.upper_bonus_rate or 0) > 0
        for result in results
        for cards in (result.cards, result.optimal_cards)
    )


def _boxes(result: Evaluation) -> Table:
    table = plain_table("points in each box", ["box"], ["mean", "optimum", "zeros", "optimum"])
    optimal = _by_box(result.optimal_cards)
    for name, (mean, zeros) in _by_box(result.cards).items():
        best_mean, best_zeros = optimal[name]
        table.add_row(name, f"{mean:.2f}", f"{best_mean:.2f}", _share(zeros), _share(best_zeros))
    return table


def _by_box(cards: CardSummary) -> dict[str, tuple[float, float]]:
    return {name: (box.mean, box.zero_rate) for name, box in cards.boxes.items()}


def _regret(result: Evaluation) -> Table:
    table = plain_table("regret a game by turn", [], ["turn", *_TALL_DECISIONS, "all"])
    turns = result.regret.mean(axis=0).T.tolist()
    for turn, lost in enumerate(turns, start=1):
        table.add_row(str(turn), *_points([*lost, sum(lost)]))
    table.add_section()
    table.add_row("all", *_points([*result.regret_by_decision.values(), result.regret_per_game]))
    return table


def _mistakes(result: Evaluation) -> Table:
    table = plain_table(
        "what cost most", ["decision", "chosen", "instead of"], ["lost each", "lost a game"]
    )
    for mistake in result.mistakes:
        table.add_row(
            mistake.decision,
            mistake.chosen,
            mistake.best,
            *(f"{lost:.3f}" for lost in (mistake.lost_each, mistake.lost_per_game)),
        )
    return table


def rich_table() -> type[Table]:
    """The class of rich's tables.

    Raises:
        ImportError: if rich is missing, with the command that installs it.
    """
    try:
        from rich.table import Table
    except ImportError:
        raise ImportError(f"tables need rich: {INSTALL}") from None
    return Table


def plain_table(title: str, texts: Iterable[str], *numbers: Iterable[str]) -> Table:
    """An empty table: columns of texts on the left, then columns of numbers."""
    from rich.box import SIMPLE

    table = rich_table()(
        title=title, title_justify="left", box=SIMPLE, show_edge=False, padding=(0, 1, 0, 0)
    )
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in (name for names in numbers for name in names):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _grid() -> Table:
    return rich_table().grid(padding=(0, 2, 0, 0))


def _page(title: str | None, *parts: Table) -> Table:
    page = rich_table()(
        title=title, title_justify="left", box=None, show_header=False, padding=(1, 0, 0, 0)
    )
    for part in parts:
        page.add_row(part)
    return page


def _side_by_side(*tables: Any) -> Table:
    grid = _grid()
    grid.add_row(*tables)
    return grid


def _name(text: str) -> str:
    """A name as it stands, square brackets included."""
    from rich.markup import escape

    return escape(text)


def _interval(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.2f} to {ends[1]:.2f}"


def _per_cent(share: float | None) -> str:
    return f"{100 * (share or 0):.1f}"


def _share(share: float | None) -> str:
    return f"{_per_cent(share)} %"


def _points(values: Iterable[float]) -> list[str]:
    return [f"{value:.2f}" for value in values]
