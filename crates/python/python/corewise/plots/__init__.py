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

from ._compare import comparison
from ._cpus import concurrency, concurrency_bands, cpus, frames_parked, migrations, parking, priority_classes, smt_cores, timeline
from ._frames import frames, marks, parallel_regions, periods, requests, slow_frames, slow_intervals
from ._idle import idle_ends, idle_periods, idle_states
from ._look import themed, use
from ._power import energy, power
from ._samples import flame, samples
from ._threads import core_types, counters, placement, priorities, process_switches, process_time, ready_latency, smt, switch_causes, thread_time, waiting

__all__ = [
    "comparison",
    "concurrency",
    "concurrency_bands",
    "core_types",
    "counters",
    "cpus",
    "energy",
    "flame",
    "frames",
    "frames_parked",
    "idle_ends",
    "idle_periods",
    "idle_states",
    "marks",
    "migrations",
    "parallel_regions",
    "parking",
    "periods",
    "placement",
    "power",
    "priorities",
    "priority_classes",
    "process_switches",
    "process_time",
    "ready_latency",
    "requests",
    "samples",
    "slow_frames",
    "slow_intervals",
    "smt",
    "smt_cores",
    "switch_causes",
    "themed",
    "thread_time",
    "timeline",
    "use",
    "waiting",
]
