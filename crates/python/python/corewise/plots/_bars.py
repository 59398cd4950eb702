"""Bars with stacked parts, as most sections of a report have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _look as look
from ._rows import Row

# The states of threads, and of marked and other stretches, with their columns.
STATES = {"running": "running_ns", "ready": "ready_ns", "blocked": "blocked_ns", "unknown": "unknown_ns"}
STATE_COLOURS = {"running": "blue", **look.STATES}


def stacked(
    rows: list[Row],
    colours: Mapping[str, str],
    head: tuple[str, str],
    theme: Any,
    bar: str = "thread",
    part: str = "state",
    value: str = "ms",
    title: str = "time, ms",
    bars: str | None = None,
    legend: str | None = None,
    tooltip: Sequence[Any] = (),
    keep: bool = False,
    plain: bool = False,
) -> Any:
    """Draws a bar for each value of the field `bar`, in the order of the rows, with a part for each value of the field `part`.

    `rows` have the length of a part in the field `value`, and may have more for the `tooltip`. `colours`: the parts from the left, with the names of
    their colours. `head`: title and subtitle. `title`, `bars`, `legend`: the titles of the two axes and of the legend. Parts that could not be seen
    are left out, unless `keep`. `plain`: the bars' names say which parts they have, so there is no legend.
    """
    sums: dict[str, float] = {}
    for row in rows:
        sums[row[bar]] = sums.get(row[bar], 0) + row[value]
    least = max(sums.values(), default=0) * look.VISIBLE
    drawn = [row for row in rows if keep or row[value] > least]
    shown = [words for words in colours if any(row[part] == words and row[value] > 0 for row in drawn)]
    drawn = [row for row in drawn if row[part] in shown]
    drawn = [{**row, "order": shown.index(row[part])} for row in drawn]
    alt, of, theme = look.begin(theme)
    encodings: dict[str, Any] = {
        "x": alt.X(f"{value}:Q", title=title, stack="zero", axis=look.few(alt)),
        "y": alt.Y(f"{bar}:N", sort=list(sums), title=bars, axis=alt.Axis(labelLimit=320)),
        "order": "order:Q",
        "tooltip": [f"{bar}:N", f"{part}:N", *tooltip, alt.Tooltip(f"{value}:Q", format=",.3f" if value == "ms" else ",")],
    }
    if len(shown) > 1:
        encodings["color"] = look.colour(alt, part, [(words, of[colours[words]]) for words in shown], legend, show=not plain)
    chart = (
        alt.Chart(alt.Data(values=drawn), title=look.title(*head))
        .mark_bar(color=of[colours[shown[0]]] if shown else of["blue"])
        .encode(**encodings)
        .properties(width=460, height=alt.Step(20))
    )
    return look.end(chart, theme)
