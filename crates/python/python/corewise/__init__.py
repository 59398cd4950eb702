"""corewise: how the threads of a program use hybrid (P/E) and SMT processors.

A trace is opened once; its tables are Arrow streams, which pyarrow, pandas, Polars and DuckDB read without a copy:

>>> import corewise
>>> trace = corewise.open(TRACE)
>>> trace.tables["threads"].doc[:45]
'Time each thread instance spent in each state'
>>> sum(trace.table("cpus")["busy_ns"]) == trace.summary["busy_ns"]
True

Times are in nanoseconds from the start of the recording, in columns named ``..._ns``. ``Table.columns`` has the unit and the documentation of each
column.
"""

from __future__ import annotations

import json as _json
import os as _os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

from . import _corewise
from ._corewise import Error

__all__ = [
    "Column",
    "Comparison",
    "Error",
    "Finding",
    "Findings",
    "FrameSource",
    "Frames",
    "Machine",
    "Table",
    "TableInfo",
    "Tables",
    "Trace",
    "compare",
    "open",
    "record",
]

Path = Union[str, "_os.PathLike[str]"]


def __getattr__(name: str) -> Any:
    # `corewise.plots` needs no import of its own. It is not imported here: Altair takes longer than all the rest.
    if name == "plots":
        import importlib

        return importlib.import_module(".plots", __name__)
    raise AttributeError(f"module {__name__} has no attribute {name}{_nearest(name, [*__all__, 'plots'])}")


def _escaped(text: object) -> str:
    import html

    return html.escape(str(text))


class Column:
    """A column of a table.

    ``name``; ``type`` (``int``, ``float``, ``text`` or ``bool``); ``unit`` (``ns``, ``count``, ... or empty); ``nullable``; ``doc``;
    ``shows``: what private data its values may have (``name``, ``path``, ``mark``, ``address``, ... or empty).
    """

    __slots__ = ("doc", "name", "nullable", "shows", "type", "unit")

    def __init__(self, name: str, type: str, unit: str, nullable: bool, doc: str, shows: str) -> None:
        self.name, self.type, self.unit, self.nullable, self.doc, self.shows = name, type, unit, nullable, doc, shows

    def __repr__(self) -> str:
        unit = f", {self.unit}" if self.unit else ""
        return f"<{self.name}: {self.type}{unit}>"


class Table:
    """A table of a trace, or of a part of it, that is not read yet.

    It implements Arrow's PyCapsule interface: ``pyarrow.table(t)``, ``polars.DataFrame(t)``, ``pandas.DataFrame.from_arrow(t)`` and DuckDB take it. It is
    read batch by batch, about 65,536 rows each, while the reader takes them, so that memory stays bounded; each reader reads the trace again.

    >>> table = corewise.open(TRACE).table("thread_state")
    >>> table.columns[0]
    <thread: int>
    >>> import pyarrow
    >>> pyarrow.table(table).num_rows == len(table)
    True
    """

    def __init__(self, inner: _corewise.Table) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._inner.name

    @property
    def doc(self) -> str:
        """What its rows are."""
        return self._inner.doc

    @property
    def columns(self) -> list[Column]:
        """The columns, with types, units and documentation."""
        return [Column(*column) for column in self._inner.columns]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._inner.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._inner.__arrow_c_schema__()

    def __len__(self) -> int:
        """The number of rows; reads the table."""
        return self._inner.count()

    def to_arrow(self) -> Any:
        """The table as a ``pyarrow.Table`` (rows x columns; times in ns)."""
        import pyarrow

        return _read(lambda: pyarrow.table(self))

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame`` (rows x columns; times in ns). Integers that may be null have pandas' type ``Int64``."""
        import pyarrow

        pandas = _needed("pandas", "Table.to_pandas")
        types = {pyarrow.int64(): pandas.Int64Dtype()}
        nullable = {column.name for column in self.columns if column.nullable and column.type == "int"}
        return _read(lambda: _with_nulls(_columns(pyarrow.table(self)), types, nullable))

    def to_polars(self) -> Any:
        """The table as a ``polars.DataFrame`` (rows x columns; times in ns)."""
        polars = _needed("polars", "Table.to_polars")
        return _read(lambda: polars.DataFrame(self))

    def batches(self) -> Any:
        """A ``pyarrow.RecordBatchReader``, which yields the table in batches, in bounded memory."""
        import pyarrow

        return pyarrow.RecordBatchReader.from_stream(self)

    def __getitem__(self, column: str) -> list[Any]:
        """The values of one column as a list, of which null is ``None``."""
        names = [of.name for of in self.columns]
        if column not in names:
            raise Error(f"the table {self.name} has no column {column}{_nearest(column, names)}")
        values: list[Any] = []
        for batch in self.batches():
            values.extend(batch.column(column).to_pylist())
        return values

    def __repr__(self) -> str:
        return f"<corewise.Table {self.name}: {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{_escaped(c.name)}</td><td>{_escaped(c.type)}</td><td>{_escaped(c.unit)}</td><td>{_escaped(c.doc)}</td></tr>"
            for c in self.columns
        )
        head = "<tr><th>column</th><th>type</th><th>unit</th><th></th></tr>"
        return f"<b>{_escaped(self.name)}</b>: {_escaped(self.doc)}<table>{head}{rows}</table>"


def _with_nulls(columns: Any, types: Mapping[Any, Any], nullable: set[str]) -> Any:
    """Converts to pandas; integers with nulls would otherwise become doubles, which are not exact. Each column is freed when it is converted."""
    import pandas

    made: dict[str, Any] = {}
    while columns:
        name, column = columns.pop()
        made[name] = column.to_pandas(types_mapper=types.get if name in nullable else None)
        del column
    return pandas.DataFrame(made, copy=False)


def _columns(table: Any) -> list[tuple[str, Any]]:
    """The columns of an Arrow table, the last one first."""
    return [(name, table.column(name)) for name in reversed(table.column_names)]


def _read(work: Any) -> Any:
    """Reads a stream. An error of the trace is a `corewise.Error`, whichever library reads; Ctrl-C is a `KeyboardInterrupt`."""
    try:
        return work()
    except (KeyboardInterrupt, Error, ImportError):
        raise
    except Exception as why:
        if _corewise.interrupted():
            raise KeyboardInterrupt from None
        if _EXTERNAL in str(why):
            raise Error(_reason(why)) from None
        raise


_EXTERNAL = "External error: "


def _reason(why: BaseException) -> str:
    """The sentence of an error, without what Arrow's stream writes around it."""
    before, is_external, after = str(why).partition(_EXTERNAL)
    return after.splitlines()[0] if is_external and after else before or type(why).__name__


def _needed(library: str, of: str) -> Any:
    """A library that only some functions need."""
    import importlib

    try:
        return importlib.import_module(library)
    except ImportError:
        raise Error(f"{of} needs {library.partition('.')[0]}, which is not installed: pip install {library.partition('.')[0]}") from None


def _part(range: Any) -> Any:
    """A part of a recording, as the extension takes it."""
    if isinstance(range, list):
        range = tuple(range)
    if range is None or isinstance(range, str) or (isinstance(range, tuple) and len(range) == 2):
        return range
    raise Error(f"range={range!r}: expected two times such as ('1.5s', '2s') or (1.5, 2), '1.5s..2s', or an interval such as 'period:game#3'")


def _nearest(name: str, names: Iterable[str]) -> str:
    import difflib

    found = difflib.get_close_matches(name, list(names), 1)
    return f", did you mean {found[0]}?" if found else ""


class TableInfo:
    """What a table is: ``name``, ``doc``, and whether its length grows with the recording (``large``)."""

    __slots__ = ("doc", "large", "name")

    def __init__(self, name: str, doc: str, large: bool) -> None:
        self.name, self.doc, self.large = name, doc, large

    def __repr__(self) -> str:
        return f"<{self.name}: {self.doc}>"


class Tables(Mapping[str, TableInfo]):
    """The tables of a trace by name.

    >>> "ready_wait" in corewise.open(TRACE).tables
    True
    """

    def __init__(self, rows: Iterable[tuple[str, str, bool]]) -> None:
        self._all = {row[0]: TableInfo(*row) for row in rows}

    def __getitem__(self, name: str) -> TableInfo:
        if name not in self._all:
            raise KeyError(f"there is no table {name}{_nearest(name, self._all)}")
        return self._all[name]

    def __iter__(self) -> Any:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return "\n".join(f"{table.name}: {table.doc}" for table in self._all.values())

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{_escaped(t.name)}</td><td>{_escaped(t.doc)}</td></tr>" for t in self._all.values())
        return f"<table>{rows}</table>"


class _Fields:
    """An object with the fields of a JSON object."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"no field {name}{_nearest(name, self._fields)}") from None

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def to_dict(self) -> dict[str, Any]:
        """All fields, as in the JSON of the command line."""
        return self._fields


class Machine(_Fields):
    """The machine of a trace: ``model_name``, ``arch``, ``cpus`` (a list of dictionaries), ... as `corewise topo --json` has them.

    >>> isinstance(corewise.open(TRACE).machine.cpus, list)
    True
    """

    def __init__(self, fields: dict[str, Any], drawing: str) -> None:
        super().__init__(fields)
        self._drawing = drawing

    def __repr__(self) -> str:
        return self._drawing

    def _repr_html_(self) -> str:
        return f"<pre>{_escaped(self._drawing)}</pre>"


class Finding(_Fields):
    """A problem that a rule found: ``rule``, ``severity``, ``title``, ``recoverable_ns``, ``threads``, ``action``, ... (docs/diagnose.md)."""

    def __repr__(self) -> str:
        return f"<{self.severity}: {self.title} ({self.rule})>"


class Findings(Sequence[Finding]):
    """The findings of a trace, those with the largest potential saving first. ``print(findings)`` is the text of `corewise diagnose`.

    ``objective``: what the program is judged by; ``checked`` and ``not_checked``: the rules; ``to_dict()``: all fields.
    """

    def __init__(self, fields: dict[str, Any], text: str) -> None:
        self._fields, self._text = fields, text
        self._all = [Finding(of) for of in fields["findings"]]

    @property
    def objective(self) -> Any:
        """What the program is judged by; ``None`` for a frame log."""
        return self._fields["objective"]

    @property
    def checked(self) -> list[str]:
        """The rules that were checked."""
        return self._fields["checked"]

    @property
    def not_checked(self) -> list[dict[str, str]]:
        """The rules that lack data, and which."""
        return self._fields["not_checked"]

    def to_dict(self) -> dict[str, Any]:
        """All fields, as in `corewise diagnose --format json`."""
        return self._fields

    def __getitem__(self, at: Any) -> Any:
        return self._all[at]

    def __len__(self) -> int:
        return len(self._all)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{_escaped(f.severity)}</td><td>{f.recoverable_ns / 1e6:.3f} ms</td><td>{_escaped(f.title)}</td>"
            f"<td>{_escaped(f.action['what'])}</td></tr>"
            for f in self._all
        )
        return f"<table><tr><th>severity</th><th>potential saving</th><th>finding</th><th>fix</th></tr>{rows}</table>"


def _no_frames(trace: Trace) -> Error:
    return Error(f"{trace.path} has no frames: mark them (corewise record --mark frame=PROGRAM:FUNCTION), or open a frame log")


class FrameSource:
    """What a trace has as frames: ``kind`` (``log``, ``marks``, ``period``, ``request`` or ``region``), ``name``, ``thread`` (its key), ``count``."""

    __slots__ = ("count", "kind", "name", "thread")

    def __init__(self, kind: str, name: str | None, thread: int | None, count: int) -> None:
        self.kind, self.name, self.thread, self.count = kind, name, thread, count

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name or ''}: {self.count} frames>"


class Frames:
    """The frames of a trace. ``sources``: what it has as frames; ``slowest``: the table of the slowest ones and their causes."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @property
    def sources(self) -> list[FrameSource]:
        """The frame log, marks that look like frames, then other marks, periods, requests and parallel regions."""
        return [FrameSource(*row) for row in self._trace._inner._frame_sources()]

    @property
    def slowest(self) -> Table:
        """The table ``slow_frames``: the critical path of each of the slowest frames by cause (``time_ns``, ns).

        >>> corewise.open(TRACE).frames.slowest
        Traceback (most recent call last):
            ...
        corewise.Error: ...sched.data has no frames: mark them (corewise record --mark frame=PROGRAM:FUNCTION), or open a frame log
        """
        if not any(row[0] in ("log", "marks") for row in self._trace._inner._frame_sources(False)):
            raise _no_frames(self._trace)
        return self._trace.table("slow_frames")

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.sources)) or "no frames"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{_escaped(s.kind)}</td><td>{_escaped(s.name or '')}</td><td>{s.count:,}</td></tr>" for s in self.sources)
        return f"<table><tr><th>kind</th><th>name</th><th>frames</th></tr>{rows}</table>"


class Trace:
    """An open trace: see :func:`open`."""

    def __init__(self, inner: _corewise.Trace) -> None:
        self._inner = inner

    @property
    def path(self) -> str:
        """The path of the trace."""
        return _os.fspath(self._inner.path)

    @property
    def id(self) -> int:
        """The ID of the trace, which follows from the content of its sources. For a file that was not imported, this reads the whole file."""
        return self._inner._identified()[0]

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the recording: those of ``corewise record --label``, or those that ``corewise label`` set later."""
        return dict(self._inner._identified()[1])

    @property
    def tables(self) -> Tables:
        """All tables by name."""
        return Tables(self._inner._tables())

    def table(self, name: str, range: Any = None, process: str | int | None = None, names: bool = True) -> Table:
        """Returns a table, which is read when something takes its rows.

        ``range``: a part of the recording, as ``("1.5s", "2s")``, as two numbers of seconds (``None`` for an open end), as ``"1.5s..2s"``, or as
        ``"period:game#3"``. ``process``: only rows of one process, by PID or name, or of the threads of this name. ``names``: whether columns with
        names of threads follow the columns with their keys.

        >>> trace = corewise.open(TRACE)
        >>> len(trace.table("thread_state", range=(0, "1ms"))) <= len(trace.table("thread_state"))
        True
        >>> trace.table("thread")
        Traceback (most recent call last):
            ...
        corewise.Error: there is no table thread, did you mean threads? `corewise tables` lists them
        """
        return Table(self._inner._table(name, _part(range), None if process is None else str(process), names))

    @property
    def machine(self) -> Machine:
        """The machine: what the recording has of it, and ``machine=`` of :func:`open`."""
        json, drawing = self._inner._machine()
        return Machine(_json.loads(json), drawing)

    @property
    def summary(self) -> dict[str, Any]:
        """Counts and sums of the recording: ``span_ns``, ``events``, ``threads``, ``cpus``, ``busy_ns``, ..."""
        return _json.loads(self._inner._summary())

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the source: ``format``, ``clock``, ``conditions``, ``lacks``, ..."""
        return _json.loads(self._inner._facts())

    def findings(
        self,
        range: Any = None,
        only: Sequence[str] = (),
        skip: Sequence[str] = (),
        objective: str | None = None,
    ) -> Findings:
        """Finds scheduling problems, as `corewise diagnose` does.

        ``range``: as in :meth:`table`. ``only``, ``skip``: rules by name. ``objective``: what the program is judged by, such as ``marks:frame``.

        >>> found = corewise.open(TRACE).findings()
        >>> len(found.checked) > 10
        True
        """
        json, text = self._inner._findings(_part(range), list(only), list(skip), objective)
        return Findings(_json.loads(json), text)

    @property
    def frames(self) -> Frames:
        """The frames of the trace: what it has as frames, and the slowest ones."""
        return Frames(self)

    def view(self, height: int = 700, limit_mb: float = 20.0) -> Any:
        """Shows the trace on a timeline. In a notebook, returns the page, which needs no server; ``limit_mb`` limits its data. Elsewhere, starts
        `corewise view`, which opens the browser, and returns its process (``subprocess.Popen``).
        """
        from . import _binary

        return _binary.view(self.path, height, limit_mb)

    def __repr__(self) -> str:
        of = self.summary
        return (
            f"<corewise.Trace {self.path}: {of['span_ns'] / 1e9:.3f} s, {of['threads']} threads, {of['cpus']} CPUs, {of['events']} events>"
        )

    def _repr_html_(self) -> str:
        of = self.summary
        rows = [
            ("path", self.path),
            ("format", self.facts["format"]),
            ("duration", f"{of['span_ns'] / 1e9:.6f} s"),
            ("threads", of["threads"]),
            ("CPUs", of["cpus"]),
            ("events", of["events"]),
            ("lost events", of["lost_events"]),
        ]
        cells = "".join(f"<tr><th>{name}</th><td>{_escaped(value)}</td></tr>" for name, value in rows)
        return f"<table>{cells}</table>"


class Comparison(_Fields):
    """A comparison of two sides: ``answer``, ``objective``, ``why``, ``metrics``, ... (docs/compare.md). ``print(comparison)`` is the text of
    `corewise compare`; ``page``: the same as one HTML page.
    """

    def __init__(self, fields: dict[str, Any], text: str, page: str) -> None:
        super().__init__(fields)
        self._text, self._page = text, page

    @property
    def page(self) -> str:
        """The comparison as one HTML page."""
        return self._page

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        page = self._page.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{page}" width="100%" height="600" sandbox style="border:0"></iframe>'


def open(
    path: Path,
    machine: Path | None = None,
    inferred: bool = False,
    strict_loss: bool = False,
    progress: Any = None,
    read_only: bool = False,
) -> Trace:
    """Opens a trace folder, or a file of another tool (perf, trace-cmd, Perfetto, PresentMon, ...).

    ``machine``: a description of the machine, for facts that the trace lacks. ``inferred``: include inferred time where switches are missing.
    ``strict_loss``: count time with lost events as unknown. ``progress``: ``True`` for a bar of tqdm, ``tqdm``, or anything that is called as
    ``progress(total=100, desc=..., unit="%")`` and whose result has ``update(n)`` and ``close()``. ``read_only``: tables that are made are not stored in
    the trace folder.

    >>> trace = corewise.open(TRACE)
    >>> trace.summary["cpus"] > 0
    True
    >>> corewise.open("/no/such/file")
    Traceback (most recent call last):
        ...
    corewise.Error: /no/such/file: No such file or directory (os error 2)
    """
    if progress is None or progress is False:
        return Trace(_corewise.open(path, machine, inferred, strict_loss, None, read_only))
    if progress is True:
        progress = _needed("tqdm.auto", "progress=True").tqdm
    bar, shown = progress(total=100, desc=_os.fspath(path), unit="%"), 0

    def update(share: float) -> None:
        nonlocal shown
        percent = min(100, int(share * 100))
        if percent > shown:
            bar.update(percent - shown)
            shown = percent

    try:
        trace = Trace(_corewise.open(path, machine, inferred, strict_loss, update, read_only))
        update(1.0)
        return trace
    finally:
        bar.close()


def compare(
    a: Any,
    b: Any,
    objective: str | None = None,
    process: str | None = None,
    paired: bool | None = None,
    across: bool = False,
    machine: Path | None = None,
) -> Comparison:
    """Compares runs: what changed, by how much, and why. ``a`` and ``b`` are each a path, a :class:`Trace`, or a list of these.

    ``objective``: what the program is judged by (``elapsed``, ``frame.p99``, ``marks:frame``, ...). ``process``: only one process. ``paired``: whether
    the first run of A and the first of B were made as a pair, and so on; by default, if they were recorded in turn. ``across``: compare runs of unlike
    machines.

    >>> corewise.compare(TRACE, TRACE).answer != ""
    True
    """

    def paths(side: Any) -> list[Any]:
        side = [side] if isinstance(side, (str, _os.PathLike, Trace)) else list(side)
        return [run.path if isinstance(run, Trace) else run for run in side]

    sides = paths(a), paths(b)
    if not all(sides):
        raise Error(f"{'A' if not sides[0] else 'B'} has no runs: each side is a trace, a path, or a list of these")
    json, text, page = _corewise.compare(*sides, objective, process, paired, across, machine)
    return Comparison(_json.loads(json), text, page)


def record(command: Sequence[str] | None = None, output: Path | None = None, **options: Any) -> Trace:
    """Records the whole machine while ``command`` runs, for ``duration=`` seconds, until the process ``pid=`` ends, or with ``all=True`` until Ctrl-C, and
    opens the recording. Ctrl-C ends any of them, and what was recorded until then is opened. Needs the rights that `corewise doctor` lists.

    ``output``: the new trace folder; by default a name with the time. Other options are those of `corewise record`: ``stacks=True`` is ``--stacks``,
    ``sample=997`` is ``--sample 997``, ``mark=["frame=./game:present"]`` repeats an option.
    """
    from . import _binary

    return open(_binary.record(command, output, options))
