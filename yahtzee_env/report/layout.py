"""Text tables that fit a width: names and numbers stay whole, columns or the layout give way."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

GAP = "  "

_wrap = partial(textwrap.wrap, break_long_words=False, break_on_hyphens=False)


@dataclass(frozen=True)
class Table:
    """A table of texts, the most important columns first.

    Attributes:
        title: a sentence above it.
        columns: the headings, that of the names first; a heading may be empty.
        rows: a text for each column.
        essential: how many of the first columns are never left out.
        names: how many of the first columns hold words rather than numbers.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    essential: int = 2
    names: int = 1


def lines(table: Table, width: int) -> Iterator[str]:
    """The lines of a table in at most `width` columns, unless a single word is longer.

    The last columns that do not fit are left out. Where the essential ones do not fit either,
    each row becomes a list of its own.
    """
    yield from _wrap(table.title, width)
    columns = list(zip(table.columns, *table.rows, strict=True))
    widths = [_width(heading, cells) for heading, *cells in columns]
    fitting = [n for n in range(1, len(widths) + 1) if _total(widths[:n]) <= width]
    if fitting and fitting[-1] >= min(table.essential, len(widths)):
        yield from _as_grid(table, widths[: fitting[-1]])
    else:
        yield from _as_lists(table, width)


def _width(heading: str, cells: Sequence[str]) -> int:
    """That of the longest cell or word of the heading: headings wrap, cells do not."""
    return max(map(len, (*heading.split(), *cells)), default=0)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _as_grid(table: Table, widths: Sequence[int]) -> Iterator[str]:
    headings = [
        _wrap(heading, width) if heading else []
        for heading, width in zip(table.columns, widths, strict=False)
    ]
    height = max(map(len, headings))
    # Headings stand on the line that separates them from the rows.
    heads = zip(*([""] * (height - len(words)) + words for words in headings), strict=True)
    rule = ["-" * width for width in widths] if height else []
    for row in (*heads, *([rule] if rule else []), *table.rows):
        cells = [
            cell.ljust(width) if k < table.names else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        yield GAP.join(cells).rstrip()


def _as_lists(table: Table, width: int) -> Iterator[str]:
    for name, *cells in table.rows:
        yield from _wrap(name, width)
        for heading, cell in zip(table.columns[1:], cells, strict=True):
            text = f"{heading}: {cell}" if heading else cell
            yield from _wrap(text, width, initial_indent=GAP, subsequent_indent=2 * GAP)
