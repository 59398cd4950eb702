"""Filters that Spark pushes down: which recordings and row groups they leave."""

from __future__ import annotations

from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

TIMES = ("start_ns", "end_ns")
TEXTS = {StringStartsWith: str.startswith, StringEndsWith: str.endswith, StringContains: str.__contains__}


class Pushed:
    """What filters leave. They are linked by AND."""

    def __init__(self) -> None:
        # The IDs of recordings; None: all.
        self.traces: frozenset[int] | None = None
        self._paths: list[Any] = []
        # The least and the largest value of a column of times.
        self._times: dict[str, tuple[int | None, int | None]] = {}

    def take(self, of: Any, has_times: bool) -> bool:
        """Takes a filter as far as possible. Returns whether all rows that are read satisfy it, so that Spark need not check it again."""
        column = ".".join(getattr(of, "attribute", ()))
        if column == "trace":
            return self._take_trace(of)
        if column == "path" and isinstance(of, (EqualTo, EqualNullSafe, In, IsNotNull, *TEXTS)):
            self._paths.append(of)
            return True
        if column in TIMES and has_times:
            self._take_time(of, column)
        return False

    def _take_trace(self, of: Any) -> bool:
        if isinstance(of, (EqualTo, EqualNullSafe)):
            wanted = frozenset([of.value])
        elif isinstance(of, In):
            wanted = frozenset(of.value)
        else:
            return isinstance(of, IsNotNull)
        self.traces = wanted if self.traces is None else self.traces & wanted
        return True

    def _take_time(self, of: Any, column: str) -> None:
        least, largest = self._times.get(column, (None, None))
        # A bound may include more than the filter: Spark checks it again.
        if isinstance(of, (GreaterThan, GreaterThanOrEqual, EqualTo)):
            least = of.value if least is None else max(least, of.value)
        if isinstance(of, (LessThan, LessThanOrEqual, EqualTo)):
            largest = of.value if largest is None else min(largest, of.value)
        self._times[column] = (least, largest)

    def has_path(self, path: str) -> bool:
        """Whether a recording of this path may have rows."""
        return all(_is_satisfied(of, path) for of in self._paths)

    @property
    def limits_time(self) -> bool:
        """Whether row groups may be left out."""
        return any(bound is not None for times in self._times.values() for bound in times)

    def row_groups(self, metadata: Any, first: int, end: int) -> list[tuple[int, int]]:
        """The row groups from `first` to before `end` that may have rows, as stretches of neighbours."""
        runs: list[tuple[int, int]] = []
        for group in range(first, min(end, metadata.num_row_groups)):
            if self._may_have(metadata.row_group(group)):
                begin = runs.pop()[0] if runs and runs[-1][1] == group else group
                runs.append((begin, group + 1))
        return runs

    def _may_have(self, group: Any) -> bool:
        for at in range(group.num_columns):
            column = group.column(at)
            least, largest = self._times.get(column.path_in_schema, (None, None))
            of = column.statistics
            if of is None or not of.has_min_max:
                continue
            if (least is not None and of.max < least) or (largest is not None and of.min > largest):
                return False
        return True


def _is_satisfied(of: Any, path: str) -> bool:
    if isinstance(of, (EqualTo, EqualNullSafe)):
        return path == of.value
    if isinstance(of, In):
        return path in of.value
    return isinstance(of, IsNotNull) or TEXTS[type(of)](path, of.value)
