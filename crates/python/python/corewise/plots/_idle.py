"""Plots of idle CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import Error, Trace
from . import _look as look
from ._bars import stacked
from ._look import DEFAULT
from ._rows import at_least_one, rows_of, summed

if TYPE_CHECKING:
    import altair


def idle_periods(trace: Trace, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the idle time of CPUs by the length of the idle period, divided by core type.

    Rows: ``length`` (powers of four, as in the report), ``core_type``, ``periods`` (number), ``ms`` (idle time). Periods that the recording cuts have no
    length, and a row of their own.
    """
    sums: dict[tuple[int | None, str], list[int]] = {}
    for row in rows_of(trace, "idle_periods"):
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
        for core_type in types:
            periods, ns = sums.get((group, core_type), (0, 0))
            rows.append({"length": look.range_of_four(group), "core_type": look.word(core_type), "periods": periods, "ms": ns / 1e6})
    colours = {look.word(of): look.CORE_TYPES.get(of, "blue") for of in types}
    head = ("Idle periods by length", f"{sum(row['ms'] for row in rows):,.1f} ms idle on all CPUs together")
    texts = {"title": "idle time, ms", "bars": "length of the idle period", "legend": "cores"}
    return stacked(rows, colours, head, theme, bar="length", part="core_type", **texts, tooltip=["periods:Q"], keep=True)


def idle_ends(trace: Trace, top: int = 12, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of what ended the idle periods of CPUs, and the threads or interrupts that did.

    Rows: ``end`` (the cause and by what), ``cause``, ``periods`` (number), ``mean_us`` (mean length of these periods, µs). The ``top`` causes by number.
    """
    sums: dict[tuple[str, str], list[int]] = {}
    for row in rows_of(trace, "idle_wakeups"):
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


# The colours of idle states by number; deeper ones have the last.
_STATE_TONES = ["sky", "green", "purple", "orange", "red"]


def idle_states(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the time of the CPUs of each type: busy, and in each idle state.

    Rows: ``core_type``, ``state`` (``busy``, ``idle state 1 (C1E)``, ..., ``idle, state not recorded``, ``unknown``), ``ms``.
    """
    table = rows_of(trace, "idle_residency", range)
    if all(row["state"] is None for row in table):
        raise Error(f"{trace.path}: no idle states were recorded")
    of_types = summed(rows_of(trace, "cpus", range), lambda row: row["core_type"], ["busy_ns", "idle_ns", "unknown_ns"])
    numbers = sorted({row["state"] for row in table if row["state"] is not None})
    words: dict[int | None, str] = {None: "idle, state not recorded"}
    for number in numbers:
        names = {row["state_name"] for row in table if row["state"] == number} - {None}
        words[number] = f"idle state {number}" + (f" ({names.pop()})" if len(names) == 1 else "")
    stays = summed(table, lambda row: (row["core_type"], row["state"]), ["residency_ns"])
    rows: list[dict[str, Any]] = []
    for core_type in look.types(of_types):
        of = of_types[core_type]
        times = {words[state]: stays.get((core_type, state), {"residency_ns": 0})["residency_ns"] for state in words}
        parts = {"busy": of["busy_ns"], **times, "unknown": max(sum(of.values()) - of["busy_ns"] - sum(times.values()), 0)}
        label = "all CPUs" if core_type == "uniform" else look.word(core_type)
        rows += [{"core_type": label, "state": state, "ms": ns / 1e6} for state, ns in parts.items()]
    tones = {words[number]: _STATE_TONES[min(number, len(_STATE_TONES) - 1)] for number in numbers}
    colours = {"busy": "blue", words[None]: "idle", **tones, "unknown": "unknown"}
    return stacked(rows, colours, ("Idle states of CPUs", "time of all CPUs of a type"), theme, bar="core_type")
