"""Reads recordings in Spark's tasks: one task for each recording, or for some row groups of the stretches of a large one."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from typing import Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, InputPartition

from .. import Error, Trace, _corewise, _reason, open
from . import _tables
from ._filters import Pushed
from ._request import Request
from ._store import Copy, Place, bounds, each, places

# Beyond so many recordings, one task reads several, unless the option per_task says otherwise: each task takes the driver some milliseconds.
MAX_TASKS = 5000
LOG = logging.getLogger("corewise.spark")


class Recording(InputPartition):
    """A recording, or some row groups of its stretches."""

    def __init__(self, place: Place, row_groups: tuple[int, int] | None = None) -> None:
        self.place, self.row_groups = place, row_groups


class Several(InputPartition):
    """Small recordings that one task reads, one after the other."""

    def __init__(self, recordings: list[Recording]) -> None:
        self.recordings = recordings


class Failed(Exception):
    """A recording, or a table of it, cannot be read."""

    def __init__(self, why: object, trace: int | None = None, labels: dict[str, str] | None = None, table: str | None = None) -> None:
        super().__init__(str(why))
        self.trace, self.labels, self.table = trace, labels, table


def _exempt_libraries() -> None:
    """Exempts what is loaded from garbage collection, once in each of Spark's workers. They search all objects for cycles after each task, which takes
    longer for the libraries that are loaded than a small recording does.
    """
    if not _exempted and TaskContext.get() is not None:
        import pyarrow.compute  # noqa: F401, loaded before, too

        gc.collect()
        gc.freeze()
        _exempted.append(True)


_exempted: list[bool] = []


def _identity(copy: Copy) -> tuple[int | None, dict[str, str] | None]:
    """The ID and the labels of a recording that cannot be read, as far as its manifest has them."""
    try:
        trace, labels = _corewise.identified(copy.path)
        return trace, dict(labels)
    except Exception:
        return None, None


class Reader(DataSourceReader):
    """Reads a table of recordings."""

    def __init__(self, request: Request, schema: Any) -> None:
        self.request, self.schema = request, schema
        self.pushed = Pushed()
        self.pushed.traces = request.traces
        known = [name for name, *_ in request.columns]
        unknown = [name for name in schema.fieldNames() if name not in known]
        if unknown:
            raise Error(f"the table {request.definition.name} has no column {unknown[0]}")

    def partitions(self) -> list[InputPartition]:
        found = [place for place in places(self.request.paths, self.request.storage_options) if self.pushed.has_path(place.shown)]
        parts = [part for split in each(self._split, found) for part in split]
        count = self.request.per_task or -(-len(parts) // MAX_TASKS)
        if count > 1:
            whole = [part for part in parts if part.row_groups is None]
            parts = [part for part in parts if part.row_groups is not None]
            # Neighbours, which are often of one host, go to different tasks.
            tasks = -(-len(whole) // count)
            return [*parts, *(Several(whole[first::tasks]) for first in range(tasks))]
        # Spark makes one of its own where there is none: it has no recording.
        return list(parts)

    def _split(self, place: Place) -> list[Recording]:
        """The partitions of a recording: analyses are never divided, because sums and percentiles of pieces are not those of the whole."""
        states, size = self.request.definition.states, self.request.split_bytes
        if states is None or self.request.range is not None or size <= 0 or place.size(states) <= size:
            return [Recording(place)]
        metadata = place.parquet(states)
        # One that is damaged is not divided: the task says why.
        if metadata is None or metadata.num_columns == 0:
            return [Recording(place)]
        parts: list[Recording] = []
        for first, end in self.pushed.row_groups(metadata, 0, metadata.num_row_groups):
            begin, length = first, 0
            for group in range(first, end):
                start, stop = bounds(metadata, group)
                length += stop - start
                if length >= size or group + 1 == end:
                    parts.append(Recording(place, (begin, group + 1)))
                    begin, length = group + 1, 0
        return parts

    def read(self, partition: InputPartition) -> Iterator[Any]:
        recordings = partition.recordings if isinstance(partition, Several) else [partition]
        for recording in recordings:
            if isinstance(recording, Recording):
                _exempt_libraries()
                yield from self._read(recording)

    def _read(self, partition: Recording) -> Iterator[Any]:
        copy = Copy(partition.place)
        try:
            with copy:
                self._guarded(copy.make)
                yield from self._rows(partition, copy)
        except Failed as why:
            # The copy's path means nothing to the reader.
            failed = Failed(str(why).replace(copy.path, partition.place.shown), why.trace, why.labels, why.table)
            if self.request.has_error_rows:
                yield self._batch_of([self._error_row(partition, failed)])
            else:
                LOG.warning("%s: left out: %s", partition.place.shown, failed)

    def _rows(self, partition: Recording, copy: Copy) -> Iterator[Any]:
        if not self._guarded(lambda: self._is_wanted(copy)):
            return
        try:
            trace, identity = self._opened(partition, copy)
        except Exception as why:
            raise Failed(_reason(why), *_identity(copy)) from why
        if self.request.definition.name == "errors":
            yield from self._errors(partition, trace, identity)
            return
        name = self.request.definition.name
        for batch in self._of_table(partition, copy, trace, identity):
            try:
                made = self._batch(batch, partition, identity)
            except Exception as why:
                raise Failed(_reason(why), *identity, name) from why
            yield made

    def _guarded(self, work: Any, identity: Any = (None, None), table: str | None = None) -> Any:
        """Does what can fail because of the recording or its store."""
        try:
            return work()
        except Exception as why:
            raise Failed(_reason(why), *identity, table) from why

    def _is_wanted(self, copy: Copy) -> bool:
        """Whether filters leave the recording. Of a trace folder, only the manifest and the labels are read."""
        if self.pushed.traces is None and not self.request.labels:
            return True
        trace, labels = _corewise.identified(copy.identity())
        return self.request.labels.items() <= dict(labels).items() and (self.pushed.traces is None or trace in self.pushed.traces)

    def _opened(self, partition: Recording, copy: Copy) -> tuple[Trace, tuple[int, dict[str, str]]]:
        states = self.request.definition.states
        if partition.row_groups is not None and states is not None:
            path = copy.row_groups(states, *partition.row_groups)
        else:
            path = copy.whole()
        trace = open(path, read_only=True)
        found, labels = trace._inner._identified()
        return trace, (found, dict(labels))

    def _of_table(self, partition: Recording, copy: Copy, trace: Trace, identity: Any) -> Iterator[Any]:
        """The table's own columns: batches, or rows of a table that only Spark has."""
        name = self.request.definition.name
        if name == "traces":
            yield self._guarded(lambda: _tables.traces(trace), identity, name)
        elif name == "findings":
            yield self._guarded(lambda: _tables.findings(trace, self.request.range), identity, name)
        elif self.request.definition.large:
            for run in self._runs(partition, copy):
                batches = self._table(trace, name, run)
                while (batch := self._guarded(lambda: next(batches, None), identity, name)) is not None:
                    yield batch
        else:
            # All of it, or none.
            yield from self._guarded(lambda: list(self._table(trace, name, None)), identity, name)

    def _runs(self, partition: Recording, copy: Copy) -> list[tuple[int, int] | None]:
        states = self.request.definition.states
        if partition.row_groups is not None:
            return [partition.row_groups]
        if states is None or not self.pushed.limits_time or self.request.range is not None:
            return [None]
        metadata = Place(copy.path).parquet(states)
        return [None] if metadata is None else list(self.pushed.row_groups(metadata, 0, metadata.num_row_groups))

    def _table(self, trace: Trace, name: str, run: tuple[int, int] | None) -> Iterator[Any]:
        import pyarrow

        span, process = (self.request.range, self.request.process)
        return iter(pyarrow.RecordBatchReader.from_stream(trace._inner._table(name, span, process, True, run)))

    def _errors(self, partition: Recording, trace: Trace, identity: Any) -> Iterator[Any]:
        """Makes tables, and returns a row for each that cannot be made."""
        rows = []
        for of in self.request.of:
            try:
                if of.name == "findings":
                    _tables.findings(trace, self.request.range)
                else:
                    for _ in self._table(trace, of.name, None):
                        pass
            except Exception as why:
                rows.append(self._error_row(partition, Failed(_reason(why), *identity, of.name)))
        if rows:
            yield self._batch_of(rows)

    def _error_row(self, partition: Recording, failed: Failed) -> dict[str, Any]:
        row = {"trace": failed.trace, "path": partition.place.shown, "labels": failed.labels and list(failed.labels.items())}
        if self.request.definition.name == "errors":
            return {**row, "table": failed.table, "error": str(failed)}
        return {**row, self.request.error_column: str(failed)}

    def _arrow_schema(self) -> Any:
        from pyspark.sql.pandas.types import to_arrow_schema

        return to_arrow_schema(self.schema)

    def _batch_of(self, rows: list[dict[str, Any]]) -> Any:
        import pyarrow

        schema = self._arrow_schema()
        return pyarrow.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)

    def _batch(self, of: Any, partition: Recording, identity: tuple[int, dict[str, str]]) -> Any:
        """Adds the columns that identify the recording."""
        import pyarrow

        same = {"trace": identity[0], "path": partition.place.shown, "labels": list(identity[1].items())}
        if isinstance(of, list):
            return self._batch_of([{**row, **same} for row in of])
        schema, columns = self._arrow_schema(), []
        for field in schema:
            if field.name in same:
                one = pyarrow.array([same[field.name]], field.type)
                columns.append(one.take(pyarrow.repeat(0, of.num_rows)))
            elif field.name == self.request.error_column:
                columns.append(pyarrow.nulls(of.num_rows, field.type))
            else:
                columns.append(of.column(field.name))
        return pyarrow.RecordBatch.from_arrays(columns, schema=schema)


class PushingReader(Reader):
    """A reader that takes filters. Spark refuses it while `spark.sql.python.filterPushdown.enabled` is false."""

    def pushFilters(self, filters: list[Any]) -> Iterator[Any]:  # noqa: N802, the name is Spark's
        for of in filters:
            is_taken = self.pushed.take(of, self.request.definition.states is not None)
            # Rows of recordings that cannot be read have no ID to compare.
            if not is_taken or (self.request.has_error_rows and of.attribute == ("trace",)):
                yield of
