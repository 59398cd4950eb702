"""Plots of what reports draw, as Altair charts (``pip install 'corewise[plots]'``).

>>> import corewise.plots
>>> chart = corewise.plots.ready_latency(corewise.open(TRACE))
>>> chart.to_dict()["title"]["text"]
'Ready latency'

Each function takes an open trace (:func:`comparison` a comparison) and returns an ``altair.Chart``, with the data that it draws in ``chart.data``: a
list of rows, not of events, so that a notebook stays small. ``chart.save("plot.png")`` writes a picture without a browser, by vl-convert-python.
Times are drawn in milliseconds or microseconds; the axis names the unit. Colours are those of the report (Okabe and Ito 2008), which colour-blind
people can distinguish.

``theme`` is ``"light"``, ``"dark"``, or ``None`` for a chart without configuration, which can be layered or concatenated with others; ``use("dark")``
sets it for all later plots. ``range`` and ``process`` select rows as in :meth:`corewise.Trace.table`. A trace without the data that a plot needs raises
:class:`corewise.Error`, which says what is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import Comparison, Error, Trace
from . import _look as look
from ._look import DEFAULT, themed, use

if TYPE_CHECKING:
    import altair

__all__ = [
    "comparison",
    "concurrency",
    "core_types",
    "frames",
    "idle_ends",
    "idle_periods",
    "ready_latency",
    "slow_frames",
    "themed",
    "thread_time",
    "use",
]


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


def thread_time(trace: Trace, top: int = 12, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the time of each thread by state; running time is divided by the type of the cores.

    Rows: ``thread`` (name and TID), ``state`` (``running`` or ``running on performance``, ..., ``ready``, ``blocked``, ``unknown``), ``ms``. The ``top``
    threads with the most running and ready time. Parts below a thousandth of the longest bar are left out.
    """
    on_types: dict[int, list[tuple[str, int]]] = {}
    for row in _rows(trace, "thread_by_core_type", range, process):
        on_types.setdefault(row["thread"], []).append((row["core_type"], row["running_ns"]))
    threads = _rows(trace, "threads", range, process)
    threads.sort(key=lambda row: -(row["running_ns"] + (row["ready_ns"] or 0)))
    threads = [row for row in threads[:top] if row["running_ns"] + (row["ready_ns"] or 0) > 0]
    if not threads:
        raise Error(f"{trace.path}: no thread ran or waited for a CPU in this part")
    rows: list[dict[str, Any]] = []
    longest = max(sum(row[f"{state}_ns"] or 0 for state in ("running", *look.STATES)) for row in threads)
    for thread in threads:
        parts = [(look.on(core_type), ns) for core_type, ns in on_types.get(thread["thread"], [("", thread["running_ns"])])]
        parts += [(state, thread[f"{state}_ns"] or 0) for state in look.STATES]
        rows += [{"thread": look.label(thread), "state": state, "ms": ns / 1e6} for state, ns in parts if ns > longest * look.VISIBLE]
    alt, of, theme = look.begin(theme)
    colours = {"running": "blue", **{look.on(core_type): colour for core_type, colour in look.CORE_TYPES.items()}, **look.STATES}
    shown = [state for state in colours if any(row["state"] == state for row in rows)]
    for at in rows:
        at["order"] = shown.index(at["state"])
    subtitle = f"{len(threads)} threads with the most running and ready time"
    chart = (
        alt.Chart(alt.Data(values=rows), title=look.title("Time by state", subtitle))
        .mark_bar()
        .encode(
            x=alt.X("ms:Q", title="time, ms", stack="zero", axis=look.few(alt)),
            y=alt.Y("thread:N", sort=[look.label(thread) for thread in threads], title=None, axis=alt.Axis(labelLimit=200)),
            color=look.colour(alt, "state", [(state, of[colours[state]]) for state in shown]),
            order="order:Q",
            tooltip=["thread:N", "state:N", alt.Tooltip("ms:Q", format=",.3f")],
        )
        .properties(width=460, height=alt.Step(18))
    )
    return look.end(chart, theme)


def core_types(trace: Trace, top: int = 20, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """A heat map: on which type of cores each thread ran, as a share of its running time.

    Rows: ``thread`` (name and TID), ``core_type``, ``share`` (0 to 1), ``ms`` (running time). The ``top`` threads with the most running time.
    """
    by_thread: dict[int, list[dict[str, Any]]] = {}
    for row in _rows(trace, "thread_by_core_type", range, process):
        by_thread.setdefault(row["thread"], []).append(row)
    sums = {key: sum(row["running_ns"] for row in rows) for key, rows in by_thread.items()}
    keys = [key for key in sorted(sums, key=lambda key: -sums[key])[:top] if sums[key] > 0]
    if not keys:
        raise Error(f"{trace.path}: no thread ran in this part")
    types = look.types(row["core_type"] for rows in by_thread.values() for row in rows)
    labels: list[str] = []
    cells: list[dict[str, Any]] = []
    for key in keys:
        label = look.label(by_thread[key][0])
        labels.append(label)
        for core_type in types:
            ns = sum(row["running_ns"] for row in by_thread[key] if row["core_type"] == core_type)
            cells.append({"thread": label, "core_type": look.word(core_type), "share": ns / sums[key], "ms": ns / 1e6})
    alt, of, theme = look.begin(theme)
    base = alt.Chart(alt.Data(values=cells), title=look.title("Running time by core type", f"share of each thread's running time, {len(keys)} threads"))
    base = base.encode(
        x=alt.X(
            "core_type:N", sort=[look.word(core_type) for core_type in types], title=None, axis=alt.Axis(labelAngle=0, orient="top", domain=False, ticks=False)
        ),
        y=alt.Y("thread:N", sort=labels, title=None, axis=alt.Axis(labelLimit=200, domain=False, ticks=False)),
        tooltip=["thread:N", "core_type:N", alt.Tooltip("share:Q", format=".1%"), alt.Tooltip("ms:Q", format=",.3f")],
    )
    tiles = base.mark_rect().encode(color=alt.Color("share:Q", scale=alt.Scale(domain=[0, 1], range=of["heat"]), legend=None))
    # The strong end of the scale is dark in the light theme, and light in the dark one.
    strong = "#ffffff" if of is look.COLOURS["light"] else "#000000"
    words = base.mark_text(fontSize=10).encode(
        text=alt.Text("share:Q", format=".0%"), color=alt.condition("datum.share > 0.6", alt.value(strong), alt.value(of["text"]))
    )
    return look.end((tiles + words).properties(width=alt.Step(96), height=alt.Step(20)), theme)


def frames(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Frame times over the recording, with the slowest ones marked and the budget as a line.

    Rows: ``start_s`` (begin of the frame, s), ``ms`` (frame time), ``slow`` (whether it is in the table ``slow_frames``), ``cause`` (of a slow one:
    what took most of the extra time). Frames are those that :attr:`corewise.Trace.frames` finds: a frame log, or marked frames. Beyond 5,000 frames, the longest of each of 5,000 equal parts of the
    recording is drawn; the subtitle says so.
    """
    slow: dict[tuple[int, int], dict[str, Any]] = {}
    for row in _rows(trace, "slow_frames", range):
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


def slow_frames(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the slowest frames: their critical path by cause, next to a typical frame.

    Rows: ``frame`` (its begin, s, or ``typical frame``), ``cause``, ``ms`` (time on the critical path; the parts of a bar sum to the frame time,
    except parts below a thousandth of the longest bar, which are left out).
    """
    parts: dict[str, dict[str, float]] = {}
    table = _rows(trace, "slow_frames", range)
    if not table:
        raise Error(f"{trace.path} has no slow frames: it has no frame log and no marked frames (--frames-of), or none exceeded its budget")
    for row in table:
        cause = look.cause_of(row)
        frame = f"{row['start_ns'] / 1e9:.6f} s"
        for name, ns in [(frame, row["time_ns"])] + [("typical frame", row["typical_ns"])] * (row["rank"] == 1):
            of_frame = parts.setdefault(name, {})
            of_frame[cause] = of_frame.get(cause, 0) + ns / 1e6
    typical = parts.pop("typical frame")
    parts["typical frame"] = typical
    least = max(sum(of.values()) for of in parts.values()) * look.VISIBLE
    shown = [cause for cause in look.CAUSES if any(of.get(cause, 0) > least for of in parts.values())]
    rows = [
        {"frame": frame, "cause": cause, "ms": of[cause], "order": shown.index(cause)}
        for frame, of in parts.items()
        for cause in shown
        if of.get(cause, 0) > least
    ]
    alt, of_theme, theme = look.begin(theme)
    chart = (
        alt.Chart(alt.Data(values=rows), title=look.title("Slow frames by cause", "time along the critical path of each frame, by its begin"))
        .mark_bar()
        .encode(
            x=alt.X("ms:Q", title="frame time, ms", stack="zero", axis=look.few(alt)),
            y=alt.Y("frame:N", sort=list(parts), title=None),
            color=look.colour(alt, "cause", [(cause, of_theme[look.CAUSES[cause]]) for cause in shown]),
            order="order:Q",
            tooltip=["frame:N", "cause:N", alt.Tooltip("ms:Q", format=",.3f")],
        )
        .properties(width=460, height=alt.Step(20))
    )
    return look.end(chart, theme)


def idle_periods(trace: Trace, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the idle time of CPUs by the length of the idle period, divided by core type.

    Rows: ``length`` (powers of four, as in the report), ``core_type``, ``periods`` (number), ``ms`` (idle time). Periods that the recording cuts have no
    length, and a row of their own.
    """
    sums: dict[tuple[int | None, str], list[int]] = {}
    for row in _rows(trace, "idle_periods"):
        group = None if row["from_ns"] is None else look.group_of_four(row["from_ns"])
        of_group = sums.setdefault((group, row["core_type"]), [0, 0])
        of_group[0] += row["periods"]
        of_group[1] += row["idle_ns"]
    if not any(ns for _, ns in sums.values()):
        raise Error(f"{trace.path}: no CPU was idle")
    groups = sorted({group for group, _ in sums if group is not None})
    order: list[int | None] = list(look.inclusive(groups[0], groups[-1])) if groups else []
    if any(group is None and periods for (group, _), (periods, _) in sums.items()):
        order.append(None)
    types = look.types(core_type for _, core_type in sums)
    rows: list[dict[str, Any]] = []
    for group in order:
        for at, core_type in enumerate(types):
            periods, ns = sums.get((group, core_type), (0, 0))
            rows.append({"length": look.range_of_four(group), "core_type": look.word(core_type), "periods": periods, "ms": ns / 1e6, "order": at})
    alt, of, theme = look.begin(theme)
    encodings: dict[str, Any] = {
        "x": alt.X("ms:Q", title="idle time, ms", stack="zero", axis=look.few(alt)),
        "y": alt.Y("length:N", sort=[look.range_of_four(group) for group in order], title="length of the idle period", axis=alt.Axis(labelLimit=200)),
        "order": "order:Q",
        "tooltip": ["length:N", "core_type:N", alt.Tooltip("periods:Q", format=","), alt.Tooltip("ms:Q", format=",.3f")],
    }
    if len(types) > 1:
        encodings["color"] = look.colour(alt, "core_type", [(look.word(of_type), of[look.CORE_TYPES.get(of_type, "blue")]) for of_type in types], "cores")
    total = sum(row["ms"] for row in rows)
    chart = (
        alt.Chart(alt.Data(values=rows), title=look.title("Idle periods by length", f"{total:,.1f} ms idle on all CPUs together"))
        .mark_bar(color=of["blue"])
        .encode(**encodings)
        .properties(width=460, height=alt.Step(20))
    )
    return look.end(chart, theme)


def idle_ends(trace: Trace, top: int = 12, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of what ended the idle periods of CPUs, and the threads or interrupts that did.

    Rows: ``end`` (the cause and by what), ``cause``, ``periods`` (number), ``mean_us`` (mean length of these periods, µs). The ``top`` causes by number.
    """
    sums: dict[tuple[str, str], list[int]] = {}
    for row in _rows(trace, "idle_wakeups"):
        by = row["interrupt"] if row["cause"] == "interrupt" else row.get("waker_name")
        # The key 0 is no thread.
        by = "an interrupt" if row["waker"] == 0 else by
        of_end = sums.setdefault((look.ENDS.get(row["cause"], row["cause"]), by or ""), [0, 0])
        of_end[0] += row["periods"]
        of_end[1] += row["idle_ns"]
    if all(cause == "not recorded" for cause, _ in sums):
        raise Error(f"{trace.path}: what ended idle periods was not recorded, or no CPU was idle")
    found = sorted(sums.items(), key=lambda item: -item[1][0])[:top]
    rows = [
        {"end": f"{cause}: {by}" if by else cause, "cause": cause, "periods": periods, "mean_us": ns / max(periods, 1) / 1e3}
        for (cause, by), (periods, ns) in found
    ]
    alt, of, theme = look.begin(theme)
    tones = ["blue", "orange", "unknown", "green", "sky", "purple", "unknown", "idle"]
    colours = dict(zip(look.ENDS.values(), tones))
    shown = [cause for cause in look.ENDS.values() if any(row["cause"] == cause for row in rows)]
    base = alt.Chart(
        alt.Data(values=rows), title=look.title("What ended idle periods", f"{len(rows)} of {len(sums)} causes, by the number of periods; labels: mean length")
    )
    base = base.transform_calculate(label="datum.mean_us < 1000 ? format(datum.mean_us, '.3~g') + ' µs' : format(datum.mean_us / 1000, '.3~g') + ' ms'")
    base = base.encode(
        x=alt.X("periods:Q", title="number of idle periods", axis=look.few(alt)),
        y=alt.Y("end:N", sort=[row["end"] for row in rows], title=None, axis=alt.Axis(labelLimit=320)),
        tooltip=["end:N", alt.Tooltip("periods:Q", format=","), alt.Tooltip("mean_us:Q", title="mean, µs", format=",.1f")],
    )
    bars = base.mark_bar().encode(color=look.colour(alt, "cause", [(cause, of[colours[cause]]) for cause in shown], show=False))
    words = base.mark_text(align="left", dx=4, color=of["faint"]).encode(text="label:N")
    return look.end((bars + words).properties(width=420, height=alt.Step(20)), theme)


def concurrency(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of how long how many CPUs were busy at the same time.

    Rows: ``running`` (number of CPUs known to run a thread), ``known`` (whether the state of all others is known), ``ms``.
    """
    sums: dict[tuple[int, bool], int] = {}
    for row in _rows(trace, "concurrency", range):
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


def comparison(of: Comparison, top: int = 15, theme: Any = DEFAULT) -> altair.Chart:
    """The effects of a comparison with their 95 % intervals: the objective first, then the metrics that changed most.

    Rows: ``metric``, ``percent`` (change from A to B, %), ``low`` and ``high`` (95 % interval, %; null if the runs do not give one), ``verdict``
    (``better``, ``worse``, ``changed``, ``same`` or ``unknown``). Only effects that are ratios have a place on this axis; the subtitle says how many others there are.
    """
    outcomes = [of.objective, *of.metrics]
    ratios = [outcome for outcome in outcomes if (outcome["effect"] or {}).get("scale") == "ratio"]
    left_out = len(outcomes) - len(ratios)
    if not ratios:
        raise Error("the comparison has no effect that is a ratio: see its `objective` and `metrics`")
    first = [outcome for outcome in ratios if outcome is of.objective]
    rest = [outcome for outcome in ratios if outcome is not of.objective]
    ranks = {"changed": 0, "same": 1, "unknown": 2}
    rest.sort(key=lambda outcome: (ranks[outcome["verdict"]], -abs(_log(outcome["effect"]["estimate"]))))
    chosen = (first + rest)[:top]
    rows = [_effect_row(outcome) for outcome in chosen]
    _tell_apart(rows)
    alt, colours, theme = look.begin(theme)
    tones = {"better": "green", "worse": "red", "changed": "blue", "same": "faint", "unknown": "unknown"}
    shown = [verdict for verdict in tones if any(row["verdict"] == verdict for row in rows)]
    subtitle = f"B compared with A, with 95 % intervals: {len(rows)} of {len(ratios)} ratios"
    if left_out:
        subtitle += f"; {left_out} metrics are compared as differences, or not at all"
    margin = of.margin * 100
    title = look.title(of.answer, subtitle)
    base = alt.Chart(alt.Data(values=rows), title=title).encode(
        y=alt.Y("metric:N", sort=[row["metric"] for row in rows], title=None, axis=alt.Axis(labelLimit=320, grid=True)),
        color=look.colour(alt, "verdict", [(verdict, colours[tones[verdict]]) for verdict in shown]),
        tooltip=["metric:N", "verdict:N", *(alt.Tooltip(f"{name}:Q", title=f"{name}, %", format="+.2f") for name in ("percent", "low", "high"))],
    )
    band = alt.Chart(alt.Data(values=[{"from": -margin, "to": margin}])).mark_rect(color=colours["idle"], opacity=0.35).encode(x="from:Q", x2="to:Q")
    zero = alt.Chart(alt.Data(values=[{"at": 0}])).mark_rule(color=colours["faint"]).encode(x="at:Q")
    bars = (
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(x=alt.X("low:Q", title="change, % (grey: the margin)", axis=look.few(alt)), x2="high:Q")
    )
    points = base.mark_point(filled=True, size=60, opacity=1).encode(x="percent:Q")
    return look.end(alt.layer(band, zero, bars, points).properties(width=420, height=alt.Step(22)), theme)


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


def _rows(trace: Trace, name: str, range: Any = None, process: str | int | None = None) -> list[dict[str, Any]]:
    return trace.table(name, range=range, process=process).to_arrow().to_pylist()


def _found_frames(trace: Trace, range: Any, slow: dict[str, Any] | None) -> list[tuple[int, int]]:
    """Begin and length of the frames, ns, in order of begin."""
    source = next((source for source in trace.frames.sources if source.kind in ("log", "marks")), None)
    if source is None:
        raise Error(f"{trace.path} has no frames: no frame log, and no marks that look like frames (--frames-of of `corewise table` selects others)")
    if source.kind == "log":
        found = [(row["start_ns"], row["frame_ns"]) for row in _rows(trace, "frames", range) if row["frame_ns"] is not None]
    else:
        rows = [row for row in _rows(trace, "mark_stretches", range) if row["name"] == source.name and row["ended"]]
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


def _log(ratio: float) -> float:
    import math

    return math.log(ratio) if ratio > 0 else math.inf


def _effect_row(outcome: dict[str, Any]) -> dict[str, Any]:
    metric, effect = outcome["metric"], outcome["effect"]
    low, high = effect["interval"] or (None, None)
    percent = (effect["estimate"] - 1) * 100
    verdict = outcome["verdict"]
    if verdict == "changed" and metric["better"] in ("less", "more"):
        verdict = "better" if (percent < 0) == (metric["better"] == "less") else "worse"
    return {
        "metric": f"{metric['role']}: {metric['title']}" if metric["role"] else metric["title"],
        "id": metric["id"],
        "percent": percent,
        "low": None if low is None else (low - 1) * 100,
        "high": None if high is None else (high - 1) * 100,
        "verdict": verdict,
    }


def _tell_apart(rows: list[dict[str, Any]]) -> None:
    """Titles that several rows have get their metric's id."""
    titles = [row["metric"] for row in rows]
    for row in rows:
        if titles.count(row["metric"]) > 1:
            row["metric"] = f"{row['metric']} ({row['id']})"
