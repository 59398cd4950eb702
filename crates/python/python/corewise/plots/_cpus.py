"""Plots of CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import Error, Trace, _part
from . import _look as look
from ._bars import stacked
from ._look import DEFAULT
from ._rows import at_least_one, divided, most, rows_of, summed

if TYPE_CHECKING:
    import altair


def concurrency(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of how long how many CPUs were busy at the same time.

    Rows: ``running`` (number of CPUs known to run a thread), ``known`` (whether the state of all others is known), ``ms``.
    """
    sums: dict[tuple[int, bool], int] = {}
    for row in rows_of(trace, "concurrency", range):
        key = (row["running"], row["unknown"] == 0)
        sums[key] = sums.get(key, 0) + row["duration_ns"]
    # A frame log has no CPUs: none of them busy.
    if not trace.summary["cpus"] or not any(sums.values()):
        raise Error(f"{trace.path}: what its CPUs ran is not recorded in this part")
    words = {True: "all CPUs known", False: "some CPUs unknown"}
    last = max(running for (running, _), ns in sums.items() if ns)
    rows = [
        {"running": running, "known": words[known], "ms": sums.get((running, known), 0) / 1e6, "order": int(not known)}
        for running in look.inclusive(0, last)
        for known in (True, False)
    ]
    alt, of, theme = look.begin(theme)
    some_unknown = sum(ns for (_, known), ns in sums.items() if not known) > max(sums.values()) * look.VISIBLE
    encodings: dict[str, Any] = {
        "x": alt.X("running:O", title="CPUs busy at the same time", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        "y": alt.Y("ms:Q", title="time, ms", stack="zero"),
        "order": "order:Q",
        "tooltip": ["running:O", "known:N", alt.Tooltip("ms:Q", format=",.3f")],
    }
    if some_unknown:
        encodings["color"] = look.colour(alt, "known", [(words[True], of["blue"]), (words[False], of["unknown"])])
    mean = sum(running * ns for (running, _), ns in sums.items()) / max(sum(sums.values()), 1)
    chart = (
        alt.Chart(alt.Data(values=rows), title=look.title("CPUs busy at the same time", f"{mean:.2f} on average"))
        .mark_bar(color=of["blue"])
        .encode(**encodings)
        .properties(width=look.width(last + 1, 34, 240), height=220)
    )
    return look.end(chart, theme)


def cpus(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the time of each CPU: busy, idle, unknown.

    Rows: ``cpu`` (its number, and core type if there are several), ``state``, ``ms``.
    """
    table = at_least_one(rows_of(trace, "cpus", range), trace, "no CPUs")
    parts = divided([(label, row) for row, label in zip(table, _cpu_labels(table))], {of: f"{of}_ns" for of in _CPU}, bar="cpu")
    busy, whole = sum(row["busy_ns"] for row in table), sum(row[f"{of}_ns"] for row in table for of in _CPU)
    head = ("CPU utilisation", f"{look.counted(len(table), 'CPU')}, busy {100 * busy / max(whole, 1):.1f} % of the time")
    return stacked(parts, _CPU, head, theme, bar="cpu", bars="CPU", keep=True)


_CPU = {"busy": "blue", "idle": "idle", "unknown": "unknown"}


def _cpu_labels(rows: list[dict[str, Any]]) -> list[str]:
    several = len({row["core_type"] for row in rows}) > 1
    return [f"{row['cpu']} {look.word(row['core_type'])}" if several else str(row["cpu"]) for row in rows]


def timeline(trace: Trace, range: Any = None, parts: int = 200, theme: Any = DEFAULT) -> altair.Chart:
    """A heat map of how busy each CPU was over time, in at most ``parts`` equal parts of the recording, or of ``range``.

    Rows: ``cpu`` (its number, and core type if there are several), ``start_s``, ``end_s``, ``busy`` (share of the known time, 0 to 1), ``unknown`` (share
    of the part, 0 to 1). It reads the large table ``cpu_state`` batch by batch. Of many CPUs, there are fewer parts.
    """
    table = at_least_one(rows_of(trace, "cpus", range), trace, "no CPUs")
    parts = max(1, min(parts, max(20, 12_800 // len(table))))
    begin, end = trace._inner._span(_part(range))
    edges = [begin + (end - begin) * at // parts for at in look.inclusive(0, parts)]
    sums = _over_time(trace, range, edges)
    rows: list[dict[str, Any]] = []
    for of, label in zip(table, _cpu_labels(table)):
        for at, (start, until) in enumerate(zip(edges, edges[1:])):
            busy, idle = (sums.get((of["cpu"], state, at), 0) for state in ("busy", "idle"))
            unknown = max(until - start - busy - idle, 0) / max(until - start, 1)
            rows.append({"cpu": label, "start_s": start / 1e9, "end_s": until / 1e9, "busy": busy / max(busy + idle, 1), "unknown": unknown})
    alt, of_theme, theme = look.begin(theme)
    colour = alt.Color("busy:Q", scale=alt.Scale(domain=[0, 1], range=of_theme["heat"]), legend=alt.Legend(title="busy", format=".0%"))
    step = 18 if len(table) <= 32 else max(4, 600 // len(table))
    seconds = alt.Scale(domain=[edges[0] / 1e9, edges[-1] / 1e9], nice=False)
    subtitle = f"share of the time that each CPU was busy, in {parts} parts; grey: mostly unknown"
    chart = (
        alt.Chart(alt.Data(values=rows), title=look.title("CPUs over time", subtitle))
        .mark_rect()
        .encode(
            x=alt.X("start_s:Q", title="time, s", scale=seconds, axis=look.few(alt)),
            x2="end_s:Q",
            y=alt.Y("cpu:N", sort=_cpu_labels(table), title="CPU", axis=alt.Axis(labelOverlap=True)),
            color=alt.condition("datum.unknown > 0.5", alt.value(of_theme["unknown"]), colour),
            tooltip=["cpu:N", alt.Tooltip("start_s:Q", format=".6f"), alt.Tooltip("busy:Q", format=".1%"), alt.Tooltip("unknown:Q", format=".1%")],
        )
        .properties(width=600, height=alt.Step(step))
    )
    return look.end(chart, theme)


def _over_time(trace: Trace, range: Any, edges: list[int]) -> dict[tuple[int, str, int], int]:
    """For how long each CPU was in each state in each part, ns, by CPU, state and number of the part."""
    import bisect

    import pyarrow
    import pyarrow.compute as compute

    sums: dict[tuple[int, str, int], int] = {}
    begin, whole, parts = edges[0], max(edges[-1] - edges[0], 1), len(edges) - 1
    for batch in trace.table("cpu_state", range=range, names=False).batches():
        start, end = batch.column("start_ns"), batch.column("end_ns")
        # Estimated, and corrected below: within a part of it, a double has too few digits to be exact.
        since = lambda ns: compute.cast(compute.subtract(ns, begin), "float64")
        part = lambda ns: compute.floor(compute.divide(compute.multiply(since(ns), float(parts)), float(whole)))
        first, last = part(start), part(end)
        inside = compute.and_(compute.equal(first, last), compute.and_(compute.greater_equal(first, 0), compute.less(first, parts)))
        table = pyarrow.table({"cpu": batch.column("cpu"), "state": batch.column("state"), "start": start, "end": end, "part": first.cast("int64")})
        within = table.filter(inside)
        lengths = within.append_column("ns", compute.subtract(within["end"], within["start"]))
        for row in lengths.group_by(["cpu", "state", "part"]).aggregate([("ns", "sum")]).to_pylist():
            key = (row["cpu"], row["state"], row["part"])
            sums[key] = sums.get(key, 0) + row["ns_sum"]
        # Of each CPU, one stretch crosses each edge.
        for row in table.filter(compute.invert(inside)).to_pylist():
            at = max(bisect.bisect_right(edges, row["start"]) - 1, 0)
            while at < parts and edges[at] < row["end"]:
                ns = min(row["end"], edges[at + 1]) - max(row["start"], edges[at])
                key = (row["cpu"], row["state"], at)
                sums[key] = sums.get(key, 0) + max(ns, 0)
                at += 1
    return sums


_BANDS = {
    "performance": "performance",
    "middle": "middle",
    "efficient": "efficient",
    "low_power": "low power",
    "uniform": "cores",
    "second_siblings": "siblings",
    "unknown": "unknown",
}


def concurrency_bands(trace: Trace, top: int = 10, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of how long which combination of cores was busy: how many of each type, and how many second SMT siblings.

    Rows: ``busy`` (the combination), ``ms``. The ``top`` combinations by time.
    """
    table = most(rows_of(trace, "concurrency_bands", range), 1_000_000, lambda row: row["duration_ns"])
    at_least_one(table, trace, "what its CPUs ran is not recorded in this part")
    rows = [{"busy": _combination(row), "of": "share of the time", "ms": row["duration_ns"] / 1e6} for row in table[:top]]
    whole = sum(row["duration_ns"] for row in table) / 1e6
    subtitle = f"{len(rows)} of {len(table)} combinations, {100 * sum(row['ms'] for row in rows) / max(whole, 1e-9):.1f} % of the time"
    return stacked(rows, {"share of the time": "blue"}, ("Combinations of busy cores", subtitle), theme, bar="busy", part="of", keep=True)


def _combination(row: dict[str, Any]) -> str:
    words = [f"{row[name]} {word[:-1] if row[name] == 1 and word.endswith('s') else word}" for name, word in _BANDS.items() if row[name]]
    return " + ".join(words) or "none"


def smt_cores(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the time of each core with SMT siblings: one of its CPUs busy, several, or none.

    Rows: ``core`` (its CPUs), ``state``, ``ms``.
    """
    table = [row for row in rows_of(trace, "smt_cores", range) if (row["siblings"] or 0) > 1]
    at_least_one(table, trace, "no core with several CPUs, or the machine description has no SMT siblings")
    states = {"one busy": "one_busy_ns", "two or more busy": "many_busy_ns", "all idle": "idle_ns", "unknown": "unknown_ns"}
    parts = divided([(row["cpus"], row) for row in table], states, bar="core")
    colours = dict(zip(states, ["sky", "red", "idle", "unknown"]))
    return stacked(parts, colours, ("Cores with SMT siblings", "CPUs of a core that are busy at the same time"), theme, bar="core", bars="CPUs", keep=True)


def migrations(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """A heat map of how many times threads moved from each CPU to each other one.

    Rows: ``from_cpu``, ``to_cpu``, ``migrations`` (number).
    """
    table = at_least_one(rows_of(trace, "migration_matrix", range), trace, "no thread moved to another CPU in this part")
    sums = summed(table, lambda row: (row["from_cpu"], row["to_cpu"]), ["migrations"])
    rows = [{"from_cpu": of, "to_cpu": to, "migrations": sum_of["migrations"]} for (of, to), sum_of in sums.items()]
    there = sorted({cpu for pair in sums for cpu in pair})
    alt, of, theme = look.begin(theme)
    most_moves = max(row["migrations"] for row in rows)
    subtitle = f"{sum(row['migrations'] for row in rows):,} migrations, from each CPU (rows) to each other one (columns)"
    base = alt.Chart(alt.Data(values=rows), title=look.title("Migrations", subtitle))
    step = 28 if len(there) <= 16 else max(6, 450 // len(there))
    base = base.encode(
        x=alt.X("to_cpu:O", title="to CPU", scale=alt.Scale(domain=there), axis=alt.Axis(labelAngle=0, orient="top", labelOverlap=True)),
        y=alt.Y("from_cpu:O", title="from CPU", scale=alt.Scale(domain=there), axis=alt.Axis(labelOverlap=True)),
        tooltip=["from_cpu:O", "to_cpu:O", alt.Tooltip("migrations:Q", format=",")],
    )
    drawn = base.mark_rect().encode(color=alt.Color("migrations:Q", scale=alt.Scale(domain=[0, most_moves], range=of["heat"]), legend=None))
    if step == 28:
        words = alt.Text("migrations:Q", format="~s")
        colour = alt.condition(f"datum.migrations > {0.6 * most_moves}", alt.value(of["on_heat"]), alt.value(of["text"]))
        drawn += base.mark_text(fontSize=9).encode(text=words, color=colour)
    return look.end(drawn.properties(width=alt.Step(step), height=alt.Step(step)), theme)


_CLASSES = {
    "deadline": ("deadline_ns", "red"),
    "real time": ("real_time_ns", "orange"),
    "above normal": ("high_ns", "purple"),
    "normal": ("normal_ns", "blue"),
    "below normal": ("low_ns", "green"),
    "priority not recorded": ("not_recorded_ns", "sky"),
    "unknown": ("unknown_ns", "unknown"),
    "idle": ("idle_ns", "idle"),
}


def priority_classes(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Stacked columns of the time of all CPUs over the recording, by priority class of the thread that ran.

    Rows: ``start_s``, ``end_s``, ``class`` (``deadline``, ``real time``, ``above normal``, ..., ``idle``, ``unknown``), ``share`` (of the CPUs' time, 0 to 1).
    """
    table = rows_of(trace, "priority_classes", range)
    there = [words for words, (column, _) in _CLASSES.items() if any(row[column] > 0 for row in table)]
    if not set(there) - {"idle", "unknown"}:
        raise Error(f"{trace.path}: no thread ran in this part")
    rows: list[dict[str, Any]] = []
    for row in table:
        below, whole = 0.0, max(sum(row[column] for column, _ in _CLASSES.values()), 1)
        for words in there:
            share = row[_CLASSES[words][0]] / whole
            times = {"start_s": row["start_ns"] / 1e9, "end_s": row["end_ns"] / 1e9}
            rows.append({**times, "class": words, "share": share, "from": below, "to": below + share})
            below += share
    alt, of, theme = look.begin(theme)
    seconds = alt.Scale(domain=[table[0]["start_ns"] / 1e9, table[-1]["end_ns"] / 1e9], nice=False)
    chart = (
        alt.Chart(alt.Data(values=rows), title=look.title("CPU time by priority class", "share of the time of all CPUs, by the thread that ran"))
        .mark_rect()
        .encode(
            x=alt.X("start_s:Q", title="time, s", scale=seconds, axis=look.few(alt)),
            x2="end_s:Q",
            y=alt.Y("from:Q", title="share of CPU time", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", tickCount=5)),
            y2="to:Q",
            color=look.colour(alt, "class", [(words, of[_CLASSES[words][1]]) for words in there], "priority class"),
            tooltip=["class:N", alt.Tooltip("start_s:Q", format=".6f"), alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(width=600, height=200)
    )
    return look.end(chart, theme)


def parking(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of how long how many CPUs were parked or offline at the same time.

    Rows: ``parked`` (number of CPUs), ``known`` (whether the state of all CPUs is known), ``ms``.
    """
    table = [row for row in rows_of(trace, "parked_together", range) if row["core_type"] is None and row["duration_ns"] > 0]
    if not any(row["parked"] for row in table):
        raise Error(f"{trace.path}: no CPU was parked or offline, or parking was not recorded")
    sums = summed(table, lambda row: (row["parked"], "some CPUs unknown" if row["unknown"] else "all CPUs known"), ["duration_ns"])
    rows = [{"parked": f"{parked}", "known": known, "ms": of["duration_ns"] / 1e6} for (parked, known), of in sorted(sums.items())]
    colours = {"all CPUs known": "blue", "some CPUs unknown": "unknown"}
    mean = sum(row["parked"] * row["duration_ns"] for row in table) / max(sum(row["duration_ns"] for row in table), 1)
    texts = {"bar": "parked", "part": "known", "bars": "parked CPUs"}
    return stacked(rows, colours, ("Parked CPUs", f"{mean:.2f} on average"), theme, **texts, keep=True)


def frames_parked(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the duration of frames, or other marked stretches, by how many CPUs were parked meanwhile.

    Rows: ``parked`` (name of the stretches, and number of CPUs), ``part`` (``mean``, ``up to the 95th percentile``, ``up to the longest``), ``ms``,
    ``frames`` (their number).
    """
    table = at_least_one(rows_of(trace, "frames_parked", range), trace, "parking was not recorded, or no program marked its frames")
    names = {row["name"] for row in table}
    rows: list[dict[str, Any]] = []
    for row in sorted(table, key=lambda row: (row["name"] or "", row["parked"], row["unknown"])):
        unknown = f" ({row['unknown']} unknown)" if row["unknown"] else ""
        label = (f"{row['name']}: " if len(names) > 1 else "") + f"{row['parked']} parked{unknown}"
        # The mean may exceed the 95th percentile; then the second part is empty.
        second = max(row["p95_ns"], row["mean_ns"])
        parts = {"mean": row["mean_ns"], "up to the 95th percentile": second - row["mean_ns"], "up to the longest": max(row["longest_ns"] - second, 0)}
        rows += [{"parked": label, "part": part, "ms": ns / 1e6, "frames": row["frames"]} for part, ns in parts.items()]
    colours = dict(zip(["mean", "up to the 95th percentile", "up to the longest"], ["blue", "orange", "red"]))
    head = ("Frames by parked CPUs", "duration of marked stretches, by the mean number of CPUs parked meanwhile")
    return stacked(rows, colours, head, theme, bar="parked", part="part", tooltip=["frames:Q"], keep=True)
