"""What a user requests of Spark: the options of the reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .. import Error, _nearest
from ._tables import EXTRA, Definition

OPTIONS = ("table", "range", "process", "trace", "labels", "of", "error_column", "per_task", "split_mb", "storage_options", "path", "paths")
# A partition of stretches has about so much of its compressed file.
SPLIT_MB = 32


class Request:
    """The options of `spark.read.format("corewise")`, checked."""

    def __init__(self, options: Mapping[str, str]) -> None:
        for name in options:
            if name not in OPTIONS:
                raise Error(f"there is no option {name}{_nearest(name, OPTIONS)}. The options are {', '.join(OPTIONS[:-2])}")
        self.definition = Definition(options.get("table") or "traces")
        self.range = options.get("range")
        self.process = options.get("process")
        # The tables that `errors` tries.
        self.of = [Definition(name) for name in _list(options.get("of", "thread_state"))]
        if any(of.name in EXTRA and of.name != "findings" for of in self.of):
            raise Error("of: expected tables of recordings, such as ready_wait,waits")
        self.labels = dict(_pair(label) for label in _list(options.get("labels", "")))
        traces = options.get("trace")
        self.traces = None if traces is None else frozenset(_number(trace, "trace") for trace in _list(traces))
        self.error_column = options.get("error_column")
        self.split_bytes = _number(options.get("split_mb", str(SPLIT_MB)), "split_mb") << 20
        # None: as many as limits the number of tasks.
        self.per_task = _number(options["per_task"], "per_task") if "per_task" in options else None
        if self.per_task is not None and self.per_task < 1:
            raise Error("per_task: expected 1 or more")
        self.storage_options = _json(options.get("storage_options", "{}"))
        paths = [options["path"]] if "path" in options else []
        self.paths = [*paths, *json.loads(options.get("paths", "[]"))]
        if "of" in options and self.definition.name != "errors":
            raise Error("of: only the table errors takes it")
        if self.error_column in [name for name, *_ in self.definition.columns]:
            raise Error(f"error_column: the table {self.definition.name} has a column {self.error_column} of its own")

    @property
    def has_error_rows(self) -> bool:
        """Whether recordings that cannot be read have a row, which lacks their ID."""
        return self.definition.name == "errors" or self.error_column is not None

    @property
    def columns(self) -> list[tuple[str, str, str]]:
        """The columns of the result: name, Spark's type, documentation."""
        error = [(self.error_column, "string", "Why the recording has no rows; null in its rows.")] if self.error_column else []
        return [*self.definition.columns, *error]


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _pair(text: str) -> tuple[str, str]:
    key, is_pair, value = text.partition("=")
    if not is_pair:
        raise Error(f"labels: {text} is no label such as os=new")
    return key.strip(), value.strip()


def _number(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Error(f"{option}: {text} is not a whole number") from None


def _json(text: str) -> dict[str, Any]:
    try:
        options = json.loads(text)
    except ValueError as why:
        raise Error(f"storage_options: not JSON: {why}") from None
    if not isinstance(options, dict):
        raise Error('storage_options: expected an object such as {"anon": true}')
    return options
