"""Plots of frames, and of other intervals of a program's work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import Error, Trace, _no_frames
from . import _look as look
from ._bars import STATE_COLOURS, STATES, stacked
from ._look import DEFAULT
from ._rows import at_least_one, divided, labelled, most, rows_of, summed

if TYPE_CHECKING:
    import altair


def frames(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Frame times over the recording, with the slowest ones marked and the budget as a line.

    Rows: ``start_s`` (begin of the frame, s), ``ms`` (frame time), ``slow`` (whether it is in the table ``slow_frames``), ``cause`` (of a slow one:
    what took most of the extra time). Frames are those that :attr:`corewise.Trace.frames` finds: a frame log, or marked frames. Beyond 5,000 frames,
    the longest of each of 5,000 equal parts of the recording is drawn; the subtitle says so.
    """
    slow: dict[tuple[int, int], dict[str, Any]] = {}
    for row in rows_of(trace, "slow_frames", range):
        slow.setdefault((row["start_ns"], row["frame_ns"]), row)
    found = _found_frames(trace, range, next(iter(slow.values()), None))
    rows: list[dict[str, Any]] = []
    for start, length in found:
        worst = slow.get((start, length))
        rows.append({"start_s": start / 1e9, "ms": length / 1e6, "slow": worst is not None, "cause": look.cause_of(worst)})
    budget = next((row["budget_ns"] / 1e6 for row in slow.values()), None)
    alt, of, theme = look.begin(theme)
    count, rows = len(rows), _thinned(rows, 5000)
    subtitle = f"{count:,} frames, the {sum(row['slow'] for row in rows)} slowest marked with the cause that took most of the extra time"
    if budget is not None:
        subtitle += f"; dashed: the budget, {budget:.3f} ms"
    if len(rows) < count:
        subtitle += f"; the longest of each of {len(rows):,} parts are drawn"
    base = alt.Chart(alt.Data(values=rows), title=look.title("Frame times", subtitle)).encode(
        x=alt.X("start_s:Q", title="start, s", scale=alt.Scale(zero=False, nice=False, padding=8)),
        y=alt.Y("ms:Q", title="frame time, ms", scale=alt.Scale(zero=True)),
        tooltip=[alt.Tooltip("start_s:Q", title="start, s", format=".6f"), alt.Tooltip("ms:Q", title="frame, ms", format=".3f"), "cause:N"],
    )
    causes = sorted({row["cause"] for row in rows if row["slow"]}, key=list(look.CAUSES).index)
    layers = [
        base.mark_line(color=of["idle"], strokeWidth=1),
        base.transform_filter("!datum.slow").mark_circle(size=14, opacity=1, color=of["faint"]),
    ]
    if causes:
        colour = look.colour(alt, "cause", [(cause, of[look.CAUSES[cause]]) for cause in causes], "slow because of")
        layers.append(base.transform_filter("datum.slow").mark_circle(size=60, opacity=1).encode(color=colour))
    if budget is not None:
        rule = alt.Chart(alt.Data(values=[{"budget": budget}]))
        layers.append(rule.mark_rule(color=of["faint"], strokeDash=[4, 3]).encode(y="budget:Q"))
    return look.end(alt.layer(*layers).properties(width=600, height=240), theme)


def _found_frames(trace: Trace, range: Any, slow: dict[str, Any] | None) -> list[tuple[int, int]]:
    """Begin and length of the frames, ns, in order of begin."""
    source = next((source for source in trace.frames.sources if source.kind in ("log", "marks")), None)
    if source is None:
        raise _no_frames(trace)
    if source.kind == "log":
        found = [(row["start_ns"], row["frame_ns"]) for row in rows_of(trace, "frames", range) if row["frame_ns"] is not None]
    else:
        rows = [row for row in rows_of(trace, "mark_stretches", range) if row["name"] == source.name and row["ended"]]
        found = [(row["start_ns"], row["duration_ns"]) for row in rows]
    if not found:
        raise Error(f"{trace.path} has no whole frame in this part")
    return sorted(found)


def _thinned(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most this many rows: the longest of each equal part of the time."""
    if len(rows) <= most:
        return rows
    begin, end = rows[0]["start_s"], rows[-1]["start_s"]
    longest: dict[int, dict[str, Any]] = {}
    for row in rows:
        part = int((row["start_s"] - begin) / ((end - begin) or 1) * (most - 1))
        if part not in longest or longest[part]["ms"] < row["ms"]:
            longest[part] = row
    return [longest[part] for part in sorted(longest)]


def slow_frames(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the slowest frames: their critical path by cause, next to a typical frame.

    Rows: ``frame`` (its begin, s, or ``typical frame``), ``cause``, ``ms`` (time on the critical path; the parts of a bar sum to the frame time,
    except parts below a thousandth of the longest bar, which are left out).
    """
    parts: dict[str, dict[str, float]] = {}
    table = rows_of(trace, "slow_frames", range)
    if not table:
        raise Error(f"{trace.path} has no slow frames: it has no marked frames (corewise record --mark) and no frame log, or none exceeded its budget")
    for row in table:
        cause = look.cause_of(row)
        frame = f"{row['start_ns'] / 1e9:.6f} s"
        for name, ns in [(frame, row["time_ns"])] + [("typical frame", row["typical_ns"])] * (row["rank"] == 1):
            of_frame = parts.setdefault(name, {})
            of_frame[cause] = of_frame.get(cause, 0) + ns / 1e6
    typical = parts.pop("typical frame")
    parts["typical frame"] = typical
    rows = [{"frame": frame, "cause": cause, "ms": of[cause]} for frame, of in parts.items() for cause in look.CAUSES if cause in of]
    head = ("Slow frames by cause", "time along the critical path of each frame, by its begin")
    return stacked(rows, look.CAUSES, head, theme, bar="frame", part="cause", title="frame time, ms")


def slow_intervals(trace: Trace, top: int = 12, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the slowest periods, requests and parallel regions: their critical path by cause.

    Rows: ``interval`` (as ``--range`` calls it, with the thread's name), ``cause``, ``ms`` (time on the critical path), ``median_ms`` (median time of
    the others). The slowest of each thread or name before the second of any; at most ``top``.
    """
    table = rows_of(trace, "slow_intervals", range)
    at_least_one(table, trace, "no slow periods, requests or parallel regions: none were found, or all took about as long")
    intervals: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table:
        intervals.setdefault((row["rank"], row["series"], row["kind"]), []).append(row)
    rows: list[dict[str, Any]] = []
    for key in sorted(intervals)[:top]:
        of = intervals[key][0]
        name = f" {of['thread_name']}" if of["thread_name"] else ""
        label = f"{of['kind']}:{of['tid'] or of['name']}#{of['number']}{name}"
        sums = summed(intervals[key], look.cause_of, ["time_ns"])
        median = of["median_ns"] / 1e6
        rows += [{"interval": label, "cause": cause, "ms": part["time_ns"] / 1e6, "median_ms": median} for cause, part in sums.items()]
    rows.sort(key=lambda row: row["interval"].split(":")[0])
    head = ("Slow periods, requests and regions by cause", "time along the critical path of the slowest of each thread or name")
    return stacked(rows, look.CAUSES, head, theme, bar="interval", part="cause", tooltip=["median_ms:Q"])


def periods(trace: Trace, top: int = 12, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the mean time of the work of periodic threads, from when the timer was due until the thread waited for its next period.

    Rows: ``thread``, ``state`` (``until woken``, ``running``, ``ready``, ``blocked``, ``unknown``), ``ms`` (mean of a period), ``period_ms`` (mean length
    of the period), ``count`` (number of periods), ``late`` (those whose work lasted until the next one was due). The ``top`` threads with the most time.
    """
    head = ("Periodic threads", "mean time from when the timer was due until the thread waited for its next period")
    missing = "no periodic threads: no thread was woken by a timer at a steady distance"
    return _intervals(trace, "period", "until woken", head, missing, top, range, process, theme)


def requests(trace: Trace, top: int = 12, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the mean time of requests, from the waking that brought one until the waking that answered it, by the thread that answered.

    Rows: ``thread``, ``state`` (``queued``, ``running``, ``ready``, ``blocked``, ``unknown``), ``ms`` (mean of a request), ``count`` (number of requests).
    The ``top`` threads with the most time.
    """
    head = ("Requests by the thread that answered", "mean time from the waking that brought a request until the waking that answered it")
    missing = "no requests: no thread answered wakings of other programs"
    return _intervals(trace, "request", "queued", head, missing, top, range, process, theme)


def _intervals(trace: Trace, kind: str, before: str, head: tuple[str, str], missing: str, top: int, range: Any, process: Any, theme: Any) -> altair.Chart:
    found = [row for row in rows_of(trace, "interval_sums", range, process) if row["kind"] == kind]
    found = at_least_one(most(found, top, lambda row: row["took_ns"]), trace, missing)
    rows: list[dict[str, Any]] = []
    for label, row in labelled(found, lambda row: row["thread_name"] or "others"):
        of_kind = {"period_ms": (row["period_ns"] or 0) / row["count"] / 1e6, "late": row["late"]} if kind == "period" else {}
        for state, column in {before: "before_ns", **STATES}.items():
            rows.append({"thread": label, "state": state, "ms": (row[column] or 0) / row["count"] / 1e6, "count": row["count"], **of_kind})
    tooltip = ["count:Q", *(f"{name}:Q" for name in rows[0] if name in ("period_ms", "late"))]
    return stacked(rows, {before: "red", **STATE_COLOURS}, head, theme, title="mean time, ms", tooltip=tooltip)


def marks(trace: Trace, top: int = 12, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the time of marked stretches, by what their thread did meanwhile.

    Rows: ``mark`` (its name and thread), ``state``, ``ms``, ``count`` (number of stretches). The ``top`` marks with the most time. Marks of a process or
    of the machine have no thread: their state is ``unknown``.
    """
    found = most(rows_of(trace, "marks", range, process), top, lambda row: row["duration_ns"])
    at_least_one(found, trace, "no marked stretches: programs marked nothing (corewise record --mark)")
    rows: list[dict[str, Any]] = []
    for label, row in labelled(found, lambda row: f"{row['name'] or 'unnamed'} {row['thread_name'] or ''}".strip()):
        of = row if row["thread"] is not None else {**dict.fromkeys(STATES.values(), 0), "unknown_ns": row["duration_ns"]}
        rows += [{**part, "count": row["count"]} for part in divided([(label, of)], STATES, bar="mark")]
    head = ("Marked time by state", f"{look.counted(len(found), 'mark')} with the most time")
    return stacked(rows, STATE_COLOURS, head, theme, bar="mark", tooltip=["count:Q"])


def parallel_regions(trace: Trace, top: int = 12, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the time of parallel regions: while all threads worked, and the tail, from the arrival of the first thread at the end to that of the last.

    Rows: ``region`` (its name; ``(detected)`` if no program marked it), ``part`` (``all work`` or ``tail``), ``ms``, ``count`` (number of regions). The
    ``top`` names with the most waiting.
    """
    name = lambda row: f"{row['name']} (detected)" if row["source"] == "detected" else row["name"]
    table = at_least_one(rows_of(trace, "parallel_regions", range), trace, "no parallel regions: no threads worked and waited for each other")
    sums = summed(({**row, "ns": row["end_ns"] - row["start_ns"], "count": 1} for row in table), name, ["ns", "tail_ns", "waiting_ns", "count"])
    first = sorted(sums, key=lambda of: -sums[of]["waiting_ns"])[:top]
    rows: list[dict[str, Any]] = []
    for of in first:
        for part, ns in {"all work": sums[of]["ns"] - sums[of]["tail_ns"], "tail": sums[of]["tail_ns"]}.items():
            rows.append({"region": of, "part": part, "ms": ns / 1e6, "count": sums[of]["count"]})
    head = ("Parallel regions", "time of all regions of a name; tail: threads wait for the last one")
    return stacked(rows, {"all work": "blue", "tail": "orange"}, head, theme, bar="region", part="part", tooltip=["count:Q"])
