"""Rows of tables, as plots use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import Error, Trace

Row = dict[str, Any]


def rows_of(trace: Trace, name: str, range: Any = None, process: str | int | None = None) -> list[Row]:
    """All rows of a table."""
    return trace.table(name, range=range, process=process).to_arrow().to_pylist()


def most(rows: Iterable[Row], top: int, amount: Callable[[Row], float]) -> list[Row]:
    """The rows with the largest amount, the largest first; those with none are left out."""
    return sorted((row for row in rows if amount(row) > 0), key=lambda row: -amount(row))[:top]


def at_least_one(rows: list[Row], trace: Trace, without: str) -> list[Row]:
    """The rows, if there are any.

    Raises the error that says what the trace lacks.
    """
    if not rows:
        raise Error(f"{trace.path}: {without}")
    return rows


def labelled(rows: list[Row], label: Callable[[Row], str]) -> list[tuple[str, Row]]:
    """Each row with its label; what several threads are called has their keys too."""
    labels = [label(row) for row in rows]
    return [(of if labels.count(of) == 1 else f"{of} (key {row.get('thread')})", row) for of, row in zip(labels, rows)]


def divided(rows: list[tuple[str, Row]], parts: Mapping[str, str], bar: str = "thread", part: str = "state") -> list[Row]:
    """A row for each part of each bar, in milliseconds. `parts`: the column of each part, in nanoseconds; null counts as 0."""
    return [{bar: label, part: words, "ms": (row[column] or 0) / 1e6} for label, row in rows for words, column in parts.items()]


def summed(rows: Iterable[Row], key: Callable[[Row], Any], columns: Iterable[str]) -> dict[Any, dict[str, int]]:
    """The sums of columns over the rows of each key; null counts as 0."""
    sums: dict[Any, dict[str, int]] = {}
    for row in rows:
        of = sums.setdefault(key(row), dict.fromkeys(columns, 0))
        for column in of:
            of[column] += row[column] or 0
    return sums
