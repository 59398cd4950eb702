#!/usr/bin/env python3
"""One load, recorded at the same time by `corewise record` and by another tool on the same clock, so that no offset is estimated:
how long each thread ran. The other is ftrace (shared/bin/ftrace-rec.py), or with `--with perf` perf record.

Only the time that is known on a CPU in both recordings (busy or idle in both) is compared: there a thread's running time must agree within
0.1 %, or within 200 ns per slice. The second tool's timestamp comes after the first one's program, which takes longer with cold caches or when
the hypervisor preempts the CPU in between, so the time of a thread with short slices cannot be compared more exactly. ftrace is attached
before corewise, since it is the fastest. Independent of the timestamps, both must record the same slices: the same threads in the same order
on each CPU. The distance between the two timestamps of the same slice's end is printed. Exit status 1 if the recordings disagree.

Then, over all of the time in which both recorded, with --inferred on both sides: of threads that ran for at least 1 % of it in
either, how many agree within 2 %, and the worst; also the share of CPU time that is unknown or inferred. This does not affect the exit
status: what a source does not record, and no event shows, stays unknown.
"""

import argparse
import itertools
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
SPINNER = "taskset -c 1 nice -n 19 timeout --foreground 30 sh -c 'while :; do :; done'"


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--load", action="append", choices=list(LOADS))
    args.add_argument("--with", dest="other", choices=list(OTHERS), default="ftrace")
    args.add_argument("--least", type=float, default=0.001, help="seconds that a thread must have run to be compared (0.001)")
    args = args.parse_args()
    corewise.need_binary()
    rows, paired, all_time, failed = [], [], [], False
    for name in args.load or LOADS:
        with tempfile.TemporaryDirectory(prefix="two-tools-") as tmp:
            ours, theirs = record(LOADS[name], OTHERS[args.other], Path(tmp))
            threads, shared = compare(ours, theirs, args.least)
            all_time.append([name, *over_all_time(ours.folder, theirs.folder)])
        close = [t for t in threads if t["share"] <= 0.001]
        apart = [t for t in threads if t["share"] > 0.001 and t["a_slice"] > 200]
        same, unlike, distances = pair(ours, theirs)
        failed |= unlike > 0
        paired.append([name, same, unlike, *(f"{quantile(distances, q):.0f}" for q in (0.5, 0.99, 1))])
        rows.append([name, f"{shared:.3f}", len(threads), f"{sum(t['ns'] for t in threads) / 1e9:.3f}", len(close),
                     f"{100 * max((t['share'] for t in threads), default=0):.3f} %",
                     f"{max((t['a_slice'] for t in threads), default=0):.0f}", len(apart)])
    corewise.print_table(["load", "CPU s known to both", "threads", "their s", "within 0.1 %", "worst", "worst ns a slice", "neither"], rows)
    print()
    corewise.print_table(["load", "slices in both", "of unlike times", "ends apart ns: median", "99 %", "most"], paired)
    print()
    corewise.print_table(["load, all time, --inferred", "s", "our unknown", "inferred", "their unknown", "inferred", "threads >= 1 %",
                          "within 2 %", "without", "worst", "thread"], all_time)
    return failed


def record(load, other, tmp):
    """Records the two trace folders. A spinner keeps CPU 1 from becoming idle, which perf does not record here."""
    spinner = subprocess.Popen(SPINNER, shell=True, start_new_session=True)
    own, folder = tmp / "own.cw", tmp / "theirs.cw"
    try:
        theirs = other(load, own, tmp)
    finally:
        subprocess.run(["pkill", "-KILL", "-g", str(spinner.pid)], check=False)
    corewise.run("import", theirs, "-o", folder)
    return Side(own), Side(folder)


def quietly(*words):
    subprocess.run([*map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def with_perf(load, own, tmp):
    """Records with perf, inside of corewise's recording."""
    data, events = tmp / "perf.data", [word for event in EVENTS for word in ("-e", event)]
    perf = ["perf", "record", "-q", "-a", "-R", "-c", "1", "-m", "4096", "-k", "CLOCK_MONOTONIC", *events, "-o", data]
    quietly(corewise.BINARY, "record", "-o", own, "--", *perf, "--", "sh", "-c", load)
    return data


def with_ftrace(load, own, tmp):
    """Records with ftrace, with corewise's recording inside. The name of the script's tracefs instance contains its PID."""
    data = tmp / "trace.dat"
    clock = 'echo mono > /sys/kernel/tracing/instances/rec$PPID/trace_clock && exec "$@"'
    quietly(sys.executable, corewise.SHARED / "bin/ftrace-rec.py", data, ",".join(EVENTS), "--", "sh", "-c", clock, "sh",
            corewise.BINARY, "record", "-o", own, "--", "sh", "-c", load)
    return data


OTHERS = {"ftrace": with_ftrace, "perf": with_perf}


def rows(folder, table, *flags):
    return corewise.rows_of(corewise.run("table", folder, table, "--format", "json", *flags))


class Side:
    """A recording's stretches on its own clock."""

    def __init__(self, folder, *flags):
        manifest = json.loads((folder / "manifest.json").read_text())
        origin, self.folder = manifest["origin_ns"], folder
        self.begin, self.end = origin, origin + manifest["end_ns"]
        self.known, self.running = defaultdict(list), defaultdict(list)
        for row in rows(folder, "cpu_state", *flags):
            if row["state"] != "unknown":
                self.known[row["cpu"]].append((row["start_ns"] + origin, row["end_ns"] + origin))
        for row in rows(folder, "thread_state", *flags):
            if row["state"] == "running":
                self.running[row["cpu"]].append((row["start_ns"] + origin, row["end_ns"] + origin, row["tid"]))


def overlap(one, other):
    """Returns the spans that are in both of two sorted lists."""
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


def pair(ours, theirs):
    """Returns the slices that both record (same thread, same position in the order of its CPU), those with different times, and the
    distance of the two timestamps of each end, in ns. A slice counts if a time known to both contains all of it, by either's timestamps."""
    same = unlike = 0
    distances = []
    for cpu in ours.known:
        both = joined(overlap(sorted(ours.known[cpu]), sorted(theirs.known[cpu])))
        for one, other in zip(*(inside(sorted(side.running[cpu]), both) for side in (ours, theirs))):
            # Borders of the time known to both come from either's timestamps, so one may contain one more first or last
            # slice.
            cuts = itertools.product(*([slice(a, len(side) - b) for a in (0, 1) for b in (0, 1)] for side in (one, other)))
            equal = ((one[a], other[b]) for a, b in cuts if [s[2] for s in one[a]] == [s[2] for s in other[b]])
            one, other = max(equal, key=lambda sides: len(sides[0]), default=([], one + other))
            same += len(one)
            unlike += len(other) - len(one)
            distances += [abs(a[1] - b[1]) for a, b in zip(one, other)]
    return same, unlike, distances


def joined(spans):
    """Merges spans that touch."""
    whole = []
    for start, end, _ in spans:
        if whole and start <= whole[-1][1]:
            whole[-1][1] = end
        else:
            whole.append([start, end])
    return whole


def inside(slices, spans):
    """Returns for each span the slices that begin and end within it. A slice that begins with the span does not count: the begin of a
    recording cuts a slice of which the other recording has the whole. If the next switch follows immediately, the other one's timestamp of
    it is before the span. So one of two recordings has at most one slice more than the other at each end."""
    found, at = [], 0
    for start, end in spans:
        while at < len(slices) and slices[at][0] <= start:
            at += 1
        first = at
        while at < len(slices) and slices[at][1] < end:
            at += 1
        found.append(slices[first:at])
    return found


def quantile(values, q):
    ordered = sorted(values)
    return ordered[int(q * (len(ordered) - 1))] if ordered else 0


def over_all_time(ours, theirs):
    """Returns the cells of a row: both sides with inferred states, in the time in which both recorded."""
    plain, filled = ([Side(ours, *f), Side(theirs, *f)] for f in ([], ["--inferred"]))
    span = (max(s.begin for s in plain), min(s.end for s in plain))
    length, cpus = span[1] - span[0], set(plain[0].known) | set(plain[1].known)
    whole = length * len(cpus)
    shares = []
    for seen, with_it in zip(plain, filled):
        left, known = (sum(e - s for cpu in cpus for s, e, _ in overlap(sorted(side.known[cpu]), [span])) for side in (with_it, seen))
        shares += [f"{100 * (whole - left) / whole:.2f} %", f"{100 * (left - known) / whole:.2f} %"]
    names = {row["tid"]: row["name"] for side in (ours, theirs) for row in rows(side, "threads")}
    ran = [running(side, span) for side in filled]
    tids = [t for t in ran[0].keys() | ran[1].keys() if max(ran[0][t], ran[1][t]) >= length / 100]
    off = {t: apart(*ran, t) for t in tids}
    before = [running(side, span) for side in plain]
    worst = max(off, key=off.get, default=None)
    return [f"{length / 1e9:.3f}", *shares, len(tids), sum(o <= 0.02 for o in off.values()),
            sum(apart(*before, t) <= 0.02 for t in tids), f"{100 * off.get(worst, 0):.2f} %", f"{names.get(worst, '')} {worst or ''}"]


def running(side, span):
    """Returns how long each thread ran, by TID."""
    sums = defaultdict(int)
    for of_cpu in side.running.values():
        for start, end, (_, _, tid) in overlap(sorted(of_cpu), [span]):
            sums[tid] += end - start
    return sums


def apart(ours, theirs, tid):
    return abs(ours[tid] - theirs[tid]) / max(ours[tid], theirs[tid], 1)


if __name__ == "__main__":
    sys.exit(main())
