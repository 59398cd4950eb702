#!/usr/bin/env python3
"""One load, recorded at the same time by `corewise record` and by `perf record -k CLOCK_MONOTONIC`: how long each thread ran.

Compared is the time in which both recordings' chains hold on a CPU (its state is busy or idle in both): there a thread's
running time must agree within 0.1 %, or within 200 ns a slice: the second tool's stamp comes behind the first one's program,
which takes longer with cold caches, so a thread of short slices cannot be told more exactly by two tools at once. Both know
the same clock, so no offset is guessed. Exit status 1 where a thread agrees in neither way.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import corewise

EVENTS = ["sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new", "sched:sched_migrate_task",
          "sched:sched_process_fork", "sched:sched_process_exit"]
LOADS = {"messaging": "perf bench sched messaging -l 40", "cpu": "stress-ng --quiet --cpu 4 -t 2",
         "pipe": "perf bench sched pipe -l 20000", "fork": "stress-ng --quiet --fork 2 --fork-ops 500 -t 3"}
SPINNER = "taskset -c 1 nice -n 19 timeout 30 sh -c 'while :; do :; done'"


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--load", action="append", choices=list(LOADS))
    args.add_argument("--least", type=float, default=0.001, help="seconds that a thread must have run to be compared (0.001)")
    args = args.parse_args()
    corewise.need_binary()
    rows, failed = [], False
    for name in args.load or LOADS:
        with tempfile.TemporaryDirectory(prefix="two-tools-") as tmp:
            ours, theirs = record(LOADS[name], Path(tmp))
            threads, shared = compare(ours, theirs, args.least)
        close = [t for t in threads if t["share"] <= 0.001]
        apart = [t for t in threads if t["share"] > 0.001 and t["a_slice"] > 200]
        failed |= bool(apart)
        rows.append([name, f"{shared:.3f}", len(threads), f"{sum(t['ns'] for t in threads) / 1e9:.3f}", len(close),
                     f"{100 * max((t['share'] for t in threads), default=0):.3f} %",
                     f"{max((t['a_slice'] for t in threads), default=0):.0f}", len(apart)])
    corewise.print_table(["load", "CPU s known to both", "threads", "their s", "within 0.1 %", "worst", "worst ns a slice", "neither"], rows)
    return failed


def record(load, tmp):
    """The two trace folders. A spinner keeps CPU 1 from idling, of which perf is told nothing here."""
    spinner = subprocess.Popen(SPINNER, shell=True, start_new_session=True)
    data, own, folder = tmp / "perf.data", tmp / "own.cw", tmp / "perf.cw"
    events = [word for event in EVENTS for word in ("-e", event)]
    perf = ["perf", "record", "-q", "-a", "-R", "-c", "1", "-m", "4096", "-k", "CLOCK_MONOTONIC", *events, "-o", data, "--"]
    try:
        subprocess.run([corewise.BINARY, "record", "-o", own, "--", *map(str, perf), "sh", "-c", load], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        subprocess.run(["pkill", "-KILL", "-g", str(spinner.pid)], check=False)
    corewise.run("import", data, "-o", folder)
    return Side(own), Side(folder)


class Side:
    """A recording's stretches on its own clock."""

    def __init__(self, folder):
        origin = json.loads((folder / "manifest.json").read_text())["origin_ns"]
        self.known, self.running = defaultdict(list), defaultdict(list)
        for row in corewise.table(folder, "cpu_state"):
            if row["state"] != "unknown":
                self.known[row["cpu"]].append((row["start_ns"] + origin, row["end_ns"] + origin))
        for row in corewise.table(folder, "thread_state"):
            if row["state"] == "running":
                self.running[row["cpu"]].append((row["start_ns"] + origin, row["end_ns"] + origin, row["tid"]))


def overlap(one, other):
    """The spans that are in both of two sorted lists."""
    i = j = 0
    while i < len(one) and j < len(other):
        start, end = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if start < end:
            yield start, end, one[i]
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1


def compare(ours, theirs, least):
    ran, slices, shared = [defaultdict(int), defaultdict(int)], defaultdict(int), 0
    for cpu in ours.known:
        both = [(s, e) for s, e, _ in overlap(sorted(ours.known[cpu]), sorted(theirs.known[cpu]))]
        shared += sum(e - s for s, e in both)
        for side, sums in zip((ours, theirs), ran):
            for start, end, (_, _, tid) in overlap(sorted(side.running[cpu]), both):
                sums[tid] += end - start
                slices[tid] += side is ours
    tids = [tid for tid in ran[0].keys() | ran[1].keys() if max(ran[0][tid], ran[1][tid]) >= least * 1e9]
    off = {t: abs(ran[0][t] - ran[1][t]) for t in tids}
    threads = [{"ns": ran[0][t], "share": off[t] / max(ran[0][t], ran[1][t]), "a_slice": off[t] / max(slices[t], 1)} for t in tids]
    return threads, shared / 1e9


if __name__ == "__main__":
    sys.exit(main())
