"""The look of the plots: colours, themes, and words for what the tables name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .. import Error

if TYPE_CHECKING:
    import altair

# The report's colours (crates/page/src/html/page.css), light and dark.
COLOURS = {
    "light": {
        "ground": "#ffffff",
        "text": "#1b1f24",
        "faint": "#57606a",
        "line": "#d0d7de",
        "idle": "#c3cad2",
        "unknown": "#8c959f",
        "blue": "#0072b2",
        "orange": "#e69f00",
        "green": "#009e73",
        "red": "#d55e00",
        "purple": "#cc79a7",
        "sky": "#56b4e9",
        "yellow": "#f0e442",
        "olive": "#8c8200",
        # Text on the strong end of the scale below.
        "on_heat": "#ffffff",
        "heat": ["#f6f8fa", "#c6dff0", "#8fc1e3", "#559fce", "#1f7ab5", "#08507f"],
    },
    "dark": {
        "ground": "#14181d",
        "text": "#dde4ea",
        "faint": "#98a4b0",
        "line": "#343c45",
        "idle": "#56616c",
        "unknown": "#6d7884",
        "blue": "#3a9bd9",
        "orange": "#e69f00",
        "green": "#009e73",
        "red": "#d55e00",
        "purple": "#cc79a7",
        "sky": "#56b4e9",
        "yellow": "#f0e442",
        "olive": "#b5ab1d",
        "on_heat": "#000000",
        "heat": ["#1b2027", "#173a52", "#1d567c", "#2678ab", "#4ba0d6", "#a4d4f5"],
    },
}

_theme: str | None = "light"
DEFAULT: Any = object()

# Fastest first, with the colours of the report; low power as in the viewer, since purple is a busy SMT sibling.
CORE_TYPES = {"performance": "blue", "middle": "sky", "efficient": "green", "low_power": "olive"}

STATES = {"ready": "orange", "blocked": "idle", "unknown": "unknown"}

# Parts smaller than this share of the longest bar are neither drawn nor in the legend: they could not be seen.
VISIBLE = 1 / 1000

# Causes along a critical path, in the report's order; throttled is not the report's sky blue, which is a core type.
CAUSES = {
    "running": "blue",
    **{f"running on {core_type.replace('_', ' ')}": colour for core_type, colour in CORE_TYPES.items()},
    "running, SMT sibling busy": "purple",
    "ready": "orange",
    "wakeup latency": "red",
    "throttled": "yellow",
    "blocked": "idle",
    "exited or unknown": "unknown",
}
CAUSE_WORDS = {"running_sibling_busy": "running, SMT sibling busy", "wakeup_latency": "wakeup latency"}

ENDS = {
    "thread": "woken by a thread",
    "interrupt": "woken by an interrupt",
    "not_recorded": "woken, waker not recorded",
    "new": "a new thread",
    "pulled": "taken from another CPU",
    "requeued": "ready on this CPU",
    "unknown": "unknown",
    "cut": "not recorded",
}


def use(theme: str | None) -> None:
    """Sets the theme of all later plots: ``"light"`` (the default), ``"dark"`` or ``None``."""
    global _theme
    colours_of(theme)
    _theme = theme


def themed(chart: altair.TopLevelMixin, theme: str = "light") -> Any:
    """Configures a chart that was made with ``theme=None``, after it was combined with others."""
    of = colours_of(theme)
    return (
        chart.configure(background=of["ground"], font="sans-serif", padding=8)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=of["text"],
            titleColor=of["faint"],
            titleFontWeight="normal",
            domainColor=of["line"],
            tickColor=of["line"],
            gridColor=of["line"],
            gridOpacity=0.6,
        )
        .configure_legend(labelColor=of["text"], titleColor=of["faint"], titleFontWeight="normal", labelLimit=320)
        .configure_title(color=of["text"], subtitleColor=of["faint"], anchor="start", fontSize=14, subtitleFontSize=11)
        .configure_header(labelColor=of["text"], titleColor=of["faint"])
    )


def colours_of(theme: str | None) -> dict[str, Any]:
    """The colours of a theme."""
    if theme is None:
        return COLOURS["light"]
    if theme not in COLOURS:
        raise Error(f'there is no theme {theme}: "light", "dark" or None')
    return COLOURS[theme]


def begin(theme: Any) -> tuple[Any, dict[str, Any], str | None]:
    """Altair, the colours, and the theme."""
    try:
        import altair
    except ImportError:
        raise Error("plots need Altair: pip install 'corewise[plots]'") from None
    theme = _theme if theme is DEFAULT else theme
    return altair, colours_of(theme), theme


def end(chart: Any, theme: str | None) -> Any:
    """The chart as a plot returns it."""
    return chart if theme is None else themed(chart, theme)


def title(text: str, subtitle: str) -> dict[str, Any]:
    """A title and a line below it, wrapped."""
    return {"text": wrapped(text), "subtitle": wrapped(subtitle)}


def wrapped(text: str) -> str | list[str]:
    import textwrap

    lines = textwrap.wrap(text, 90)
    return lines if len(lines) > 1 else text


def colour(alt: Any, field: str, colours: Sequence[tuple[str, str]], title: str | None = None, show: bool = True) -> Any:
    scale = alt.Scale(domain=[word for word, _ in colours], range=[colour for _, colour in colours])
    return alt.Color(f"{field}:N", scale=scale, legend=alt.Legend(title=title) if show else None)


def inclusive(begin: int, end: int) -> Sequence[int]:
    return range(begin, end + 1)


def few(alt: Any) -> Any:
    """An axis whose labels have room."""
    return alt.Axis(tickCount=8, labelOverlap=True)


def width(count: int, each: int, least: int) -> int:
    return min(max(count * each, least), 720)


def counted(number: int, word: str) -> str:
    """`1 thread`, `2 threads`, `2 processes`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}{'es' if word.endswith('ss') else 's'}"


def label(row: dict[str, Any]) -> str:
    """A thread by its name and TID."""
    instance = f".{row['instance']}" if row.get("instance") else ""
    return f"{row.get('name') or row.get('thread_name') or 'unnamed'} {row['tid']}{instance}"


def word(core_type: str) -> str:
    """A type of cores in words."""
    return core_type.replace("_", " ")


def on(core_type: str) -> str:
    """The state of running on a type of cores; machines of one type have none."""
    return f"running on {word(core_type)}" if core_type in CORE_TYPES else "running"


def types(core_types: Iterable[str]) -> list[str]:
    """Types of cores, the fastest first."""
    order = list(CORE_TYPES)
    return sorted(set(core_types), key=lambda of: (order.index(of) if of in order else len(order), of))


def time_us(us: float) -> str:
    for unit, size in [("s", 1e6), ("ms", 1e3)]:
        if us >= size:
            return f"{us / size:.3g} {unit}"
    return f"{us:.3g} µs"


def group_of_four(from_ns: int) -> int:
    """0: less than 1 us; then 1 to 4 us, 4 to 16 us, ..., as in the report."""
    us = from_ns // 1000
    return (us.bit_length() - 1) // 2 + 1 if us else 0


def range_of_four(group: int | None) -> str:
    if group is None:
        return "cut by the recording"
    if group == 0:
        return "less than 1 µs"
    return f"{time_us(4 ** (group - 1))} to {time_us(4**group)}"


def cause_of(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if row["cause"] == "running":
        return on(row["core_type"] or "")
    cause = CAUSE_WORDS.get(row["cause"], row["cause"])
    return cause if cause in CAUSES else "exited or unknown"
