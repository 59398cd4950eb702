"""The plot of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import Comparison, Error
from . import _look as look
from ._look import DEFAULT

if TYPE_CHECKING:
    import altair


def comparison(of: Comparison, top: int = 15, theme: Any = DEFAULT) -> altair.Chart:
    """The effects of a comparison with their 95 % intervals: the objective first, then the metrics that changed most.

    Rows: ``metric``, ``percent`` (change from A to B, %), ``low`` and ``high`` (95 % interval, %; null if the runs do not give one), ``verdict``
    (``better``, ``worse``, ``changed``, ``same`` or ``unknown``). Only effects that are ratios have a place on this axis; the subtitle says how many
    others there are.
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
