"""Plots of energy and power."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import Trace
from . import _look as look
from ._bars import stacked
from ._look import DEFAULT
from ._rows import at_least_one, rows_of

if TYPE_CHECKING:
    import altair

# The parts of a domain, from the left, and what is left of it.
_PARTS = {"core": "blue", "uncore": "green", "other parts": "sky", "rest, or not divided": "orange"}


def energy(trace: Trace, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the mean power of each domain, divided into the parts that it contains.

    Rows: ``domain``, ``part`` (``core``, ``uncore``, ``other parts``, ``rest, or not divided``), ``watts`` (mean of the known time), ``joules`` (of the
    whole domain). Domains that are the same by another reading are left out; memory is next to its package, not in it.
    """
    table = rows_of(trace, "energy")
    inside = lambda part, whole: part["parent"] == whole["domain"] and part["part"] != "dram" and part["same_as"] is None
    tops = [row for row in table if row["same_as"] is None and row["watts"] is not None and not any(inside(row, of) for of in table)]
    at_least_one(tops, trace, "no energy: the recording has no readings (corewise record --power), or too few for a figure")
    rows: list[dict[str, Any]] = []
    for whole in tops:
        parts = dict.fromkeys(_PARTS, 0.0)
        for part in table:
            if inside(part, whole):
                parts[part["part"] if part["part"] in _PARTS else "other parts"] += part["watts"] or 0.0
        # Parts that exceed their whole leave nothing.
        parts["rest, or not divided"] = max(whole["watts"] - sum(parts.values()), 0.0)
        rows += [{"domain": whole["domain"], "part": part, "watts": watts, "joules": whole["joules"]} for part, watts in parts.items()]
    texts = {"bar": "domain", "part": "part", "value": "watts", "title": "mean power, W"}
    return stacked(rows, _PARTS, ("Mean power by domain", "of the time for which it is known"), theme, **texts, tooltip=["joules:Q"])


def power(trace: Trace, range: Any = None, theme: Any = DEFAULT) -> altair.Chart:
    """Lines of the power of each domain over time, from reading to reading.

    Rows: ``domain``, ``start_s``, ``end_s``, ``watts`` (null where it is unknown, which is a gap). Domains that are the same by another reading are left
    out. Parts are in the figure of what contains them: the lines do not add up.
    """
    same = {row["domain"] for row in rows_of(trace, "energy") if row["same_as"] is not None}
    table = [row for row in rows_of(trace, "power_over_time", range) if row["domain"] not in same]
    known = [row for row in table if row["watts"] is not None]
    at_least_one(known, trace, "no power: the recording has no readings (corewise record --power), or too few")
    rows = [{"domain": row["domain"], "start_s": row["start_ns"] / 1e9, "end_s": row["end_ns"] / 1e9, "watts": row["watts"]} for row in table]
    domains = sorted({row["domain"] for row in rows})
    alt, of, theme = look.begin(theme)
    tones = ["blue", "orange", "green", "red", "purple", "sky", "olive", "faint"]
    base = alt.Chart(alt.Data(values=rows), title=look.title("Power over time", "mean from reading to reading; gaps: unknown")).encode(
        x=alt.X("start_s:Q", title="time, s", scale=alt.Scale(nice=False), axis=look.few(alt)),
        y=alt.Y("watts:Q", title="power, W", scale=alt.Scale(zero=True)),
        color=look.colour(alt, "domain", [(domain, of[tones[at % len(tones)]]) for at, domain in enumerate(domains)]),
        tooltip=["domain:N", alt.Tooltip("start_s:Q", format=".3f"), alt.Tooltip("end_s:Q", format=".3f"), alt.Tooltip("watts:Q", format=".3f")],
    )
    lines = base.mark_rule(strokeWidth=3).encode(x2="end_s:Q").transform_filter("isValid(datum.watts)")
    return look.end(lines.properties(width=600, height=220), theme)
