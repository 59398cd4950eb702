"""Plots of threads and processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import Error, Trace
from . import _look as look
from ._bars import STATE_COLOURS, STATES, stacked
from ._look import DEFAULT
from ._rows import at_least_one, divided, labelled, most, rows_of, summed

if TYPE_CHECKING:
    import altair


def ready_latency(trace: Trace, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.VConcatChart:
    """Two histograms of how long threads waited for a CPU, with a bar for each power of two of the length: how many waits, and their time in all. Few
    long waits can be most of the time.

    Rows: ``from_us``, ``to_us`` (bounds of the length, µs; the first begins at 0), ``waits`` (number of ready stretches), ``ms`` (their sum). It reads
    the large table ``thread_state`` batch by batch. Waits that the recording or ``range`` cuts count with the part inside.
    """
    counts: dict[int, int] = {}
    sums: dict[int, int] = {}
    for batch in trace.table("thread_state", range=range, process=process, names=False).batches():
        for power, count, ns in _by_length(batch):
            counts[power] = counts.get(power, 0) + count
            sums[power] = sums.get(power, 0) + ns
    if not counts:
        raise Error(f"{trace.path} has no ready time: its source records no wakeups, or no thread waited for a CPU in this part")
    rows = [
        {
            "from_us": 2 ** (power - 1) if power else 0,
            "to_us": 2**power,
            "waits": counts.get(power, 0),
            "ms": sums.get(power, 0) / 1e6,
            "length": look.time_us(2 ** (power - 1)) if power else "< 1 µs",
        }
        for power in look.inclusive(min(counts), max(counts))
    ]
    alt, of, theme = look.begin(theme)
    wide = look.width(len(rows), 34, 360)
    tooltip = [alt.Tooltip("from_us:Q", title="from, µs"), alt.Tooltip("to_us:Q", title="to, µs"), alt.Tooltip("waits:Q", format=","), "ms:Q"]

    def bars(y: str, title: str, x: str | None) -> Any:
        axis = alt.Axis(labelAngle=0, labelOverlap=True, labels=x is not None)
        length = alt.X("length:N", sort=[row["length"] for row in rows], title=x, axis=axis)
        return (
            alt.Chart()
            .mark_bar(color=of["orange"], size=min(30, 0.9 * wide / len(rows)))
            .encode(x=length, y=alt.Y(y, title=title, axis=alt.Axis(tickCount=5)), tooltip=tooltip)
            .properties(width=wide, height=130)
        )

    both = [bars("waits:Q", "number of waits", None), bars("ms:Q", "their time, ms", "from this length, up to twice as long")]
    subtitle = f"{sum(counts.values()):,} waits for a CPU, {sum(sums.values()) / 1e6:,.3f} ms in all, by their length"
    chart = alt.vconcat(*both, data=alt.Data(values=rows), title=look.title("Ready latency", subtitle), spacing=8)
    return look.end(chart, theme)


def _by_length(batch: Any) -> list[tuple[int, int, int]]:
    """The ready stretches of a batch of ``thread_state`` by length: 0 is less than 1 us, 1 is 1 to 2 us, 2 is 2 to 4 us, ..., their number and sum, ns."""
    import pyarrow
    import pyarrow.compute as compute

    ready = batch.filter(compute.equal(batch.column("state"), "ready"))
    lengths = compute.subtract(ready.column("end_ns"), ready.column("start_ns"))
    # Exact: the logarithm of a power of two is a whole number, and no length has so many digits that one below it is rounded up.
    us = compute.divide(lengths, 1000)
    power = compute.add(compute.floor(compute.log2(compute.max_element_wise(us, 1))), compute.if_else(compute.greater(us, 0), 1, 0))
    sums = pyarrow.table({"power": power.cast("int64"), "ns": lengths}).group_by("power").aggregate([("ns", "count"), ("ns", "sum")])
    return [(row["power"], row["ns_count"], row["ns_sum"]) for row in sums.to_pylist()]


def thread_time(trace: Trace, top: int = 12, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the time of each thread by state; running time is divided by the type of the cores.

    Rows: ``thread`` (name and TID), ``state`` (``running`` or ``running on performance``, ..., ``ready``, ``blocked``, ``unknown``), ``ms``. The ``top``
    threads with the most running and ready time. Parts below a thousandth of the longest bar are left out.
    """
    on_types: dict[int, list[tuple[str, int]]] = {}
    for row in rows_of(trace, "thread_by_core_type", range, process):
        on_types.setdefault(row["thread"], []).append((row["core_type"], row["running_ns"]))
    threads = most(rows_of(trace, "threads", range, process), top, lambda row: row["running_ns"] + (row["ready_ns"] or 0))
    at_least_one(threads, trace, "no thread ran or waited for a CPU in this part")
    rows: list[dict[str, Any]] = []
    for label, thread in labelled(threads, look.label):
        parts = [(look.on(core_type), ns) for core_type, ns in on_types.get(thread["thread"], [("", thread["running_ns"])])]
        parts += [(state, thread[f"{state}_ns"] or 0) for state in look.STATES]
        rows += [{"thread": label, "state": state, "ms": ns / 1e6} for state, ns in parts]
    colours = {"running": "blue", **{look.on(core_type): colour for core_type, colour in look.CORE_TYPES.items()}, **look.STATES}
    return stacked(rows, colours, ("Time by state", f"{look.counted(len(threads), 'thread')} with the most running and ready time"), theme)


def core_types(trace: Trace, top: int = 20, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """A heat map: on which type of cores each thread ran, as a share of its running time.

    Rows: ``thread`` (name and TID), ``core_type``, ``share`` (0 to 1), ``ms`` (running time). The ``top`` threads with the most running time.
    """
    by_thread: dict[int, list[dict[str, Any]]] = {}
    for row in rows_of(trace, "thread_by_core_type", range, process):
        by_thread.setdefault(row["thread"], []).append(row)
    sums = {key: sum(row["running_ns"] for row in rows) for key, rows in by_thread.items()}
    keys = [key for key in sorted(sums, key=lambda key: -sums[key])[:top] if sums[key] > 0]
    at_least_one([by_thread[key][0] for key in keys], trace, "no thread ran in this part")
    types = look.types(row["core_type"] for rows in by_thread.values() for row in rows)
    labels = [label for label, _ in labelled([by_thread[key][0] for key in keys], look.label)]
    cells: list[dict[str, Any]] = []
    for key, label in zip(keys, labels):
        for core_type in types:
            ns = sum(row["running_ns"] for row in by_thread[key] if row["core_type"] == core_type)
            cells.append({"thread": label, "core_type": look.word(core_type), "share": ns / sums[key], "ms": ns / 1e6})
    alt, of, theme = look.begin(theme)
    subtitle = f"share of each thread's running time, {look.counted(len(keys), 'thread')}"
    base = alt.Chart(alt.Data(values=cells), title=look.title("Running time by core type", subtitle))
    base = base.encode(
        x=alt.X(
            "core_type:N", sort=[look.word(core_type) for core_type in types], title=None, axis=alt.Axis(labelAngle=0, orient="top", domain=False, ticks=False)
        ),
        y=alt.Y("thread:N", sort=labels, title=None, axis=alt.Axis(labelLimit=200, domain=False, ticks=False)),
        tooltip=["thread:N", "core_type:N", alt.Tooltip("share:Q", format=".1%"), alt.Tooltip("ms:Q", format=",.3f")],
    )
    tiles = base.mark_rect().encode(color=alt.Color("share:Q", scale=alt.Scale(domain=[0, 1], range=of["heat"]), legend=None))
    words = base.mark_text(fontSize=10).encode(
        text=alt.Text("share:Q", format=".0%"), color=alt.condition("datum.share > 0.6", alt.value(of["on_heat"]), alt.value(of["text"]))
    )
    return look.end((tiles + words).properties(width=alt.Step(96), height=alt.Step(20)), theme)


# What was free while a thread waited, or why it was not for a CPU: the column, and the report's colour.
_FREE = {
    "no CPU free": ("no_cpu_free_ns", "red"),
    "CPU of the same type free": ("free_same_type_ns", "orange"),
    "CPU of another type free": ("free_other_type_ns", "purple"),
    "only CPUs outside its affinity free": ("free_not_allowed_ns", "green"),
    "only parked CPUs free": ("free_parked_ns", "idle"),
    "its own CPU idle (wakeup latency)": ("wakeup_latency_ns", "sky"),
    "throttled by its cgroup's CPU quota": ("throttled_ns", "blue"),
    "unknown": ("free_unknown_ns", "unknown"),
}


def waiting(trace: Trace, top: int = 12, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the ready time of threads, by which CPUs were free meanwhile.

    Rows: ``thread`` (name and TID), ``free`` (what was free), ``ms``. The ``top`` threads with the most ready time.
    """
    head = ("Waiting for a CPU", "{} with the most ready time, by what was free meanwhile")
    missing = "no ready time: its source records no wakeups, or no thread waited for a CPU in this part"
    rows = most(rows_of(trace, "ready_wait", range, process), top, lambda row: row["ready_ns"] or 0)
    return _divided(trace, rows, _FREE, "free", head, missing, "ready time, ms", theme)


def _divided(trace: Trace, rows: list[Any], parts: dict[str, tuple[str, str]], part: str, head: tuple[str, str], missing: str, title: str, theme: Any) -> Any:
    """Bars of threads. `parts`: each with its column and its colour; the number of threads is put into the subtitle."""
    at_least_one(rows, trace, missing)
    drawn = divided(labelled(rows, look.label), {words: column for words, (column, _) in parts.items()}, part=part)
    colours = {words: colour for words, (_, colour) in parts.items()}
    return stacked(drawn, colours, (head[0], head[1].format(look.counted(len(rows), "thread"))), theme, part=part, title=title)


_PLACES = {
    "optimal": ("in_order_ns", "sky"),
    "on a slower core": ("slower_core_upper_ns", "red"),
    "with a busy SMT sibling": ("busy_sibling_upper_ns", "orange"),
    "with a busy SMT sibling, slower core free": ("skipped_slower_upper_ns", "purple"),
    "unknown": ("unknown_ns", "unknown"),
}


def placement(trace: Trace, top: int = 12, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the running time of threads: on a slower core, or with a busy SMT sibling, while a better core was idle. Upper bounds, as in the report.

    Rows: ``thread`` (name and TID), ``placement``, ``ms``. The ``top`` threads with the most time that was not optimal.
    """
    bad = [column for words, (column, _) in _PLACES.items() if words not in ("optimal", "unknown")]
    rows = most(rows_of(trace, "placement", range, process), top, lambda row: sum(row[column] for column in bad))
    head = ("Core placement", "running time of {}; upper bounds of what was not optimal")
    missing = "no thread ran on a slower core, or with a busy SMT sibling, while a better core was idle"
    return _divided(trace, rows, _PLACES, "placement", head, missing, "running time, ms", theme)


_SIBLINGS = {
    "alone on its core": ("alone_ns", "sky"),
    "busy sibling": ("sibling_busy_ns", "red"),
    "no sibling": ("no_sibling_ns", "idle"),
    "unknown": ("sibling_unknown_ns", "unknown"),
}


def smt(trace: Trace, top: int = 12, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the running time of threads by the state of their SMT siblings.

    Rows: ``thread`` (name and TID), ``siblings``, ``ms``. The ``top`` threads that ran longest with a busy sibling.
    """
    rows = most(rows_of(trace, "smt_threads", range, process), top, lambda row: row["sibling_busy_ns"])
    head = ("Running time by the state of SMT siblings", "{} that ran longest with a busy sibling")
    missing = "no thread ran with a busy SMT sibling, or the machine description has no siblings"
    return _divided(trace, rows, _SIBLINGS, "siblings", head, missing, "running time, ms", theme)


# The kinds of causes of context switches, with the report's colours; gave way and throttled are not the report's, which are core types.
_KINDS = {
    "preempted": "red",
    "yielded": "orange",
    "throttled": "yellow",
    "gave way, or woken before sleep": "green",
    "blocked": "blue",
    "exited": "purple",
    "preempted or yielded": "idle",
    "unknown": "unknown",
}


def switch_causes(trace: Trace, top: int = 15, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of what made threads leave their CPU: how often each cause did.

    Rows: ``cause`` (with what the thread waited in, or which thread ran next by its priority), ``kind``, ``count``. The ``top`` causes by number.
    """
    sums = summed(rows_of(trace, "switch_causes", range, process), _cause, ["count"])
    rows = [{"cause": cause, "kind": kind, "count": of["count"]} for (kind, cause), of in sums.items()]
    found = most(rows, top, lambda row: row["count"])
    at_least_one(found, trace, "no context switches in this part")
    subtitle = f"{sum(row['count'] for row in rows):,} switches; {len(found)} of {len(rows)} causes, by number"
    texts = {"bar": "cause", "part": "kind", "value": "count", "title": "number of switches"}
    return stacked(found, _KINDS, ("Causes of context switches", subtitle), theme, **texts, keep=True)


def _cause(row: dict[str, Any]) -> tuple[str, str]:
    """The kind of a cause, and the cause, in the report's words."""
    cause, state = row["cause"], row["state_letter"]
    if cause == "unknown" and state == "R":
        kind = words = "preempted or yielded"
        return (kind, f"{words}, then {row['next']}" if row["next"] else words)
    words = {"gave_way": "kernel thread gave way", "woken_before_sleep": "woken before sleep"}.get(cause, cause)
    kind = "gave way, or woken before sleep" if words != cause else cause
    if row["next"]:
        return (kind, f"{words}, then {row['next']}")
    if row["reason"] or state:
        return (kind, f"{words} in {row['reason'] or state}")
    return (kind, "blocked (state not recorded)" if cause == "blocked" else words)


# The kernel's priority of nice 0.
_DEFAULT_PRIORITY = 120
_PRIORITY_TONES = ["blue", "orange", "green", "purple", "sky"]


def priorities(trace: Trace, top: int = 12, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the running time of threads by priority, of those that did not only run at the default one.

    Rows: ``thread`` (name and TID), ``priority`` (on the kernel's scale, lower is better: -1 deadline, 0 to 99 real time, 100 to 139 fair; ``not
    recorded``; ``others``: not one of the five with the most time), ``ms``. The ``top`` threads with the most running time.
    """
    by_thread: dict[int, list[dict[str, Any]]] = {}
    for row in rows_of(trace, "priority_residency", range, process):
        if row["running_ns"] > 0:
            by_thread.setdefault(row["thread"], []).append(row)
    special = [of for of in by_thread.values() if any(row["prio"] not in (None, _DEFAULT_PRIORITY) for row in of)]
    special.sort(key=lambda of: -sum(row["running_ns"] for row in of))
    special = special[:top]
    at_least_one([of[0] for of in special], trace, "no thread with another priority than the default ran in this part")
    times = summed((row for of in special for row in of), lambda row: row["prio"], ["running_ns"])
    first = sorted(times, key=lambda prio: -times[prio]["running_ns"])[: len(_PRIORITY_TONES)]
    word = lambda prio: "others" if prio not in first else "not recorded" if prio is None else str(prio)
    colours = {**{word(prio): tone for prio, tone in zip(first, _PRIORITY_TONES)}, "others": "red"}
    rows: list[dict[str, Any]] = []
    for (label, _), of in zip(labelled([of[0] for of in special], look.label), special):
        parts = summed(of, lambda row: word(row["prio"]), ["running_ns"])
        rows += [{"thread": label, "priority": prio, "ms": sums["running_ns"] / 1e6} for prio, sums in parts.items()]
    subtitle = f"{look.counted(len(special), 'thread')} with another priority than the default ({_DEFAULT_PRIORITY}); lower is better"
    head = ("Running time by priority", subtitle)
    return stacked(rows, colours, head, theme, part="priority", title="running time, ms", legend="priority")


def process_time(trace: Trace, top: int = 12, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the time of the threads of each process by state.

    Rows: ``process`` (name and PID), ``state``, ``ms``. The ``top`` processes with the most running and ready time. Threads of an unknown process are
    on their own.
    """
    found = most(_processes(trace, range), top, lambda of: of["running_ns"] + of["ready_ns"])
    at_least_one(found, trace, "no thread ran or waited for a CPU in this part")
    parts = divided([(of["process"], of) for of in found], STATES, bar="process")
    subtitle = f"sums over the threads of {look.counted(len(found), 'process')} with the most running and ready time"
    return stacked(parts, STATE_COLOURS, ("Time of processes by state", subtitle), theme, bar="process")


def process_switches(trace: Trace, top: int = 12, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the context switches of each process: voluntary ones, to wait for something, and involuntary ones, while the thread could run.

    Rows: ``process`` (name and PID), ``switch`` (``voluntary`` or ``involuntary``), ``count``. The ``top`` processes with the most switches.
    """
    found = most(_processes(trace, range), top, lambda of: of["voluntary"] + of["involuntary"])
    at_least_one(found, trace, "no context switches in this part")
    colours = {"voluntary": "blue", "involuntary": "red"}
    rows = [{"process": of["process"], "switch": switch, "count": of[switch]} for of in found for switch in colours]
    head = ("Switches by process", f"{look.counted(len(found), 'process')} with the most context switches")
    return stacked(rows, colours, head, theme, bar="process", part="switch", value="count", title="number of switches")


def _processes(trace: Trace, range: Any) -> list[dict[str, Any]]:
    """The sums of the threads of each process, with its name and PID."""
    threads = rows_of(trace, "threads", range)
    key = lambda row: (row["pid"], None if row["pid"] is not None else row["thread"])
    names: dict[Any, str] = {}
    for row in threads:
        name = row["name"] or "unnamed"
        if row["pid"] is None:
            names[key(row)] = f"{look.label(row)} (thread)"
        elif key(row) not in names or row["pid"] == row["tid"]:
            names[key(row)] = f"{name} {row['pid']}"
    sums = summed(threads, key, [*STATES.values(), "voluntary", "involuntary"])
    return [{"process": names[of], **of_process} for of, of_process in sums.items()]


def counters(trace: Trace, top: int = 12, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the instructions per second of running of each thread, by core type. Needs counters of instructions and cycles
    (``corewise record --counters default``).

    Rows: ``thread`` (name and TID, and the core type if there are several), ``core_type``, ``mips`` (millions of instructions per second), ``ipc``
    (instructions per cycle), ``mhz`` (mean frequency), ``doubt`` (why the counts cannot be right, or null). The ``top`` threads with the most counted
    time.
    """
    counted = [row for row in rows_of(trace, "thread_ipc", range, process) if row["sibling"] == "all" and row["mips"] is not None]
    times = summed(counted, lambda row: (row["thread"], row["tid"]), ["enabled_ns"])
    first = sorted(times, key=lambda key: -times[key]["enabled_ns"])[:top]
    at_least_one(counted, trace, "instructions and cycles were not counted (corewise record --counters default), or no thread ran long enough")
    types = look.types(row["core_type"] for row in counted)
    rows: list[dict[str, Any]] = []
    for key in first:
        for row in sorted((row for row in counted if (row["thread"], row["tid"]) == key), key=lambda row: types.index(row["core_type"])):
            core_type = look.word(row["core_type"])
            label = look.label(row) + (f", {core_type}" if len(types) > 1 else "")
            rows.append({"thread": label, "core_type": core_type, "mips": row["mips"], "ipc": row["ipc"], "mhz": row["effective_mhz"], "doubt": row["doubt"]})
    colours = {look.word(of): look.CORE_TYPES.get(of, "blue") for of in types}
    head = ("Speed of threads", "millions of instructions per second of running" + (", by core type" if len(types) > 1 else ""))
    texts = {"part": "core_type", "value": "mips", "title": "million instructions per second", "legend": "cores"}
    return stacked(rows, colours, head, theme, **texts, tooltip=["ipc:Q", "mhz:Q", "doubt:N"], keep=True)
