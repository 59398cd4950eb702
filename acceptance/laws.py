#!/usr/bin/env python3
"""Checks the invariants of every trace on the tables of real traces.

    acceptance/laws.py TRACE…        e.g. what acceptance/loads.py made, and shared/traces

One line per trace: the residual of each invariant, in nanoseconds (threads: the largest of any). ran_instead: a thread's times by the thread that
ran instead, minus its ready time; ready: each split of its ready time minus that; siblings: the classes of a core's time minus the recorded
time; at once: concurrency times duration, and the same by bands, minus the busy time of CPUs; path: the pieces of the critical path of the
whole recording and of windows of 100 ms, which must follow one another from begin to end. Exits 1 if any is not 0.
"""

import argparse
import sys
from collections import defaultdict

import corewise

SPLITS = [
    [f"ready_{began}_ns" for began in ("preempted", "yielded", "throttled", "gave_way", "unknown", "woken", "new", "other")],
    ["no_cpu_free_ns", "free_other_type_ns", "free_same_type_ns", "free_not_allowed_ns", "free_parked_ns", "wakeup_latency_ns",
     "throttled_ns", "free_unknown_ns"],
]
BANDS = ["performance", "middle", "efficient", "low_power", "uniform", "second_siblings"]
WINDOW = 100_000_000


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("traces", nargs="+", metavar="TRACE")
    args = args.parse_args()
    corewise.need_binary()
    head, rows = ["trace", "threads", "CPUs", "ready s", "ran_instead", "ready", "siblings", "at once", "path", "pieces"], []
    for trace in args.traces:
        try:
            rows.append([trace[-40:], *laws(trace)])
        except corewise.Refused as why:
            print(f"{trace}: skipped: {why}")
    corewise.print_table(head, rows)
    off = [row for row in rows if any(row[at] != 0 for at in range(4, 9))]
    return 1 if off or not rows else 0


def laws(trace):
    """Returns the cells of a trace's line."""
    cpus = corewise.table(trace, "cpus")
    span = max((c["busy_ns"] + c["idle_ns"] + c["unknown_ns"] for c in cpus), default=0)
    threads = {t["thread"]: t for t in corewise.table(trace, "ready_wait")}
    ran_instead = defaultdict(int)
    for row in corewise.table(trace, "ran_instead"):
        ran_instead[row["thread"]] += row["ready_ns"]
    ready = {key: t["ready_ns"] for key, t in threads.items() if t["ready_ns"] is not None}
    ran_instead_off = largest(ran_instead[key] - ns for key, ns in ready.items())
    split = largest(split_off(threads[key], names) for key in ready for names in SPLITS)
    cores = corewise.table(trace, "smt_cores")
    siblings = largest(sum(c[f"{k}_ns"] for k in ("idle", "one_busy", "many_busy", "unknown")) - span for c in cores)
    busy = sum(c["busy_ns"] for c in cpus if c["switches"])
    at_once = sum(row["running"] * row["duration_ns"] for row in corewise.table(trace, "concurrency"))
    bands = sum(sum(row[b] for b in BANDS) * row["duration_ns"] for row in corewise.table(trace, "concurrency_bands"))
    begins = [span * part // 4 for part in (1, 2, 3)]
    windows = [(0, span), *((begin, min(begin + WINDOW, span)) for begin in begins)]
    paths = [path_off(trace, begin, end) for begin, end in windows if end > begin]
    return [len(threads), len(cpus), f"{sum(ready.values()) / 1e9:.3f}", ran_instead_off, split, siblings,
            max(abs(at_once - busy), abs(bands - busy)), largest(off for off, _ in paths), sum(pieces for _, pieces in paths)]


def split_off(thread, names):
    """Returns how far the parts of a ready time are from it; 0 if the source does not record them."""
    parts = [thread[name] for name in names]
    return 0 if all(part is None for part in parts) else sum(part or 0 for part in parts) - thread["ready_ns"]


def path_off(trace, begin, end):
    """Returns how far the pieces of a window's critical path are from a gapless sequence, and their number."""
    words = ["--format", "json", "--range", f"{begin}ns..{end}ns"]
    pieces = corewise.rows_of(corewise.run("table", trace, "critical_path", *words))
    if not pieces:  # no thread ran there
        return 0, 0
    edges = [begin, *(p["end_ns"] for p in pieces)]
    gaps = [piece["start_ns"] - edge for piece, edge in zip(pieces, edges)]
    return largest([*gaps, edges[-1] - end]), len(pieces)


def largest(off):
    return max(map(abs, off), default=0)


if __name__ == "__main__":
    sys.exit(main())
