"""Plots of a profiler's samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import Trace
from . import _look as look
from ._bars import stacked
from ._look import DEFAULT
from ._rows import at_least_one, most, rows_of, summed

if TYPE_CHECKING:
    import altair

# Frames with a smaller share of the samples are not drawn, as in the report.
_LEAST = 0.001
_DEPTH = 256


def samples(trace: Trace, top: int = 20, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """Bars of the functions in which threads were sampled: the samples in the function itself, by core type.

    Rows: ``function`` (with its file if the symbol is unknown), ``core_type``, ``samples``. The ``top`` functions.
    """
    table = at_least_one(rows_of(trace, "samples", range, process), trace, "no samples: record some with `corewise record --sample`")
    name = lambda row: row["function"] or f"[{(row['file'] or 'unknown').strip('[]').rpartition('/')[2]}]"
    types = look.types(row["core_type"] for row in table)
    whole = summed(table, name, ["self_samples"])
    of_types = summed(table, lambda row: (name(row), row["core_type"]), ["self_samples"])
    found = most(({"function": of, **sums} for of, sums in whole.items()), top, lambda row: row["self_samples"])
    rows = [
        {"function": row["function"], "core_type": look.word(of), "samples": of_types.get((row["function"], of), {"self_samples": 0})["self_samples"]}
        for row in found
        for of in types
    ]
    colours = {look.word(of): look.CORE_TYPES.get(of, "blue") for of in types}
    count = sum(of["self_samples"] for of in whole.values())
    head = ("Samples by function", f"{count:,} samples in the function itself; {len(found)} of {len(whole)} functions")
    texts = {"bar": "function", "part": "core_type", "value": "samples", "title": "samples", "legend": "cores"}
    return stacked(rows, colours, head, theme, **texts, keep=True)


def flame(trace: Trace, range: Any = None, process: str | int | None = None, theme: Any = DEFAULT) -> altair.Chart:
    """A flame graph of the sampled callchains: each function as wide as its share of the samples, above the one that called it.

    Rows: ``function``, ``depth`` (0 is the thread), ``from`` and ``to`` (share of the samples, 0 to 1), ``samples``, ``kind`` (``thread``, ``kernel``,
    ``program``). Functions with less than a thousandth of the samples are left out.
    """
    chains: dict[tuple[str, ...], int] = {}
    for row in at_least_one(rows_of(trace, "folded_stacks", range, process), trace, "no samples: record some with `corewise record --sample`"):
        chain = (row["comm"] or row["thread_name"] or f"TID {row['tid']}", *(row["callchain"] or "unknown").split(";"))[:_DEPTH]
        chains[chain] = chains.get(chain, 0) + row["samples"]
    whole = sum(chains.values())
    rows: list[dict[str, Any]] = []
    # Sorted, the callchains that begin alike are next to each other.
    begun: list[tuple[str, int, int]] = []
    position = 0
    for chain, count in [*sorted(chains.items()), ((), 0)]:
        same = 0
        while same < min(len(begun), len(chain)) and begun[same][0] == chain[same]:
            same += 1
        for depth in reversed(look.inclusive(same, len(begun) - 1)):
            name, start, _ = begun[depth]
            if position - start >= whole * _LEAST:
                rows.append(_frame(name, depth, start, position, whole))
        begun = begun[:same] + [(name, position, depth) for depth, name in enumerate(chain[same:], same)]
        position += count
    alt, of, theme = look.begin(theme)
    deepest = max(row["depth"] for row in rows)
    step = 18 if deepest < 40 else 10
    base = alt.Chart(alt.Data(values=rows), title=look.title("Flame graph", f"{whole:,} samples, by callchain")).encode(
        x=alt.X("from:Q", title="share of the samples", scale=alt.Scale(domain=[0, 1], nice=False), axis=alt.Axis(format=".0%", grid=False)),
        x2="to:Q",
        y=alt.Y("depth:O", title=None, axis=None, scale=alt.Scale(domain=[*reversed(look.inclusive(0, deepest))])),
        tooltip=["function:N", alt.Tooltip("samples:Q", format=","), "kind:N"],
    )
    colours = [("thread", of["idle"]), ("program", of["orange"]), ("kernel", of["sky"])]
    boxes = base.mark_rect(stroke=of["ground"], strokeWidth=0.5).encode(color=look.colour(alt, "kind", colours))
    # A label has about six pixels a character.
    words = base.transform_calculate(at="(datum.from + datum.to) / 2", label="slice(datum.function, 0, floor((datum.to - datum.from) * 720 / 6.5))")
    words = words.transform_filter("(datum.to - datum.from) * 720 > 30").mark_text(fontSize=10, color="#000000")
    words = words.encode(x="at:Q", x2=alt.Undefined, text="label:N")
    return look.end((boxes + words).properties(width=720, height=alt.Step(step)), theme)


def _frame(name: str, depth: int, start: int, end: int, whole: int) -> dict[str, Any]:
    kind = "thread" if depth == 0 else "kernel" if name.endswith("_[k]") or name == "[kernel]" else "program"
    share = {"from": start / whole, "to": end / whole, "samples": end - start}
    shown = f"{name.removesuffix('_[i]')} (inlined)" if name.endswith("_[i]") else name.removesuffix("_[k]")
    return {"function": shown, "depth": depth, **share, "kind": kind}
