#!/usr/bin/env python3
"""Checks the sums of `corewise watch` against corewise's own recording of the same minutes, and against the kernel's own sums.

    sudo acceptance/watch_truth.py               five loads
    sudo acceptance/watch_truth.py --load pipe

Both run at the same time. The load runs in a cgroup of its own, within the time of both: `watch --cgroup` has its sums, and of the recording, the
stretches of all threads of that cgroup. Sums of 1 s and more must agree within 0.1 %, buckets of histograms with 1,000 and more within 1 %,
smaller ones within 1 ms or 10 counts. At each event the programs of both read the clock one after the other, so sums may also differ by JITTER for
each stretch, and a bucket by the stretches that are that close to its bounds. The running time must not be less than the CPU time of `cpuacct.usage` (v1) and of `cpu.stat` (v2), which leave out time
that the hypervisor took and read their clock some hundred ns before each switch, nor more by more than the recording's own time that was not charged. Needs root, pyarrow, perf and stress-ng.
"""

import argparse
import bisect
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corewise
from loads import write_sources

LOADS = {
    "pipe": "perf bench sched pipe -l 60000",
    "messaging": "perf bench sched messaging -g 2 -l 400",
    "compile": "make -s -j3 -f big.mk",
    "fork": "for i in $(seq 400); do /bin/true; done",
    "half": "for n in $(seq 150); do timeout 0.01 sh -c 'while :; do :; done'; sleep 0.01; done",
    "pinned": "for n in 0 5 10; do nice -n $n taskset -c 0 timeout 2 sh -c 'while :; do :; done' & done; wait",
    "nice": "for n in 0 5 10 19; do nice -n $n timeout 3 sh -c 'while :; do :; done' & done; wait",
}
GROUP = "cw-truth"
# The first two CPUs are described as two threads of a core, and of different types, wherever this runs: the sums by core type and sibling can
# be checked on any machine.
MACHINE = """
siblings = ["0-1"]
[[cpus]]
ids = "0"
type = "performance"
[[cpus]]
ids = "1"
type = "efficient"
"""
SIBLINGS = {0: 1, 1: 0}
# How far the clock readings of two programs at one event may be apart, ns: about the run time of one of them.
JITTER = 1000
# The longest time for which a waker looks for a CPU for a thread, ns.
PLACED = 100_000
UNIT, FIRST, LAST = 309_296, 10, 34


def bucket_of(ns):
    """The bucket of a duration, as crates/watch/src/histogram.rs has it."""
    below = max(0, ns + (ns * UNIT >> 22) - 1)
    if below >> FIRST == 0:
        return 0
    if below >> LAST:
        return 97
    power = below.bit_length() - 1
    return 1 + (power - FIRST) * 4 + (below >> (power - 2) & 3)


def bounds():
    """The upper bounds of the buckets, s, as JSON has them."""
    return [2.0 ** (FIRST - 30 + at // 4) * (1 + at % 4 / 4) for at in range(97)] + [None]


def cgroups():
    """Returns the folders of the load's cgroup: where the CPU controller is, and in the unified hierarchy, which recordings name."""
    roots = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2" or (kind == "cgroup" and any(c in options.split(",") for c in ("cpu", "cpuacct"))):
            roots.append(Path(before.split(" ")[4]))
    return [root / GROUP for root in roots]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--load", action="append", choices=list(LOADS))
    args.add_argument("--keep", type=Path, help="keep the recordings and snapshots in this folder")
    args = args.parse_args()
    corewise.need_binary()
    rows, wrong = [], 0
    for load in args.load or list(LOADS):
        with tempfile.TemporaryDirectory(prefix=f"watch-truth-{load}-") as tmp:
            folder = args.keep or Path(tmp)
            folder.mkdir(parents=True, exist_ok=True)
            snapshot, usage = measure(load, folder)
            for what, seen, true, holds in compared(snapshot, Recording(folder / f"{load}.cw", kernel_threads()), usage):
                wrong += not holds
                rows.append([load, what, seen, true, f"{(seen - true) / true:+.4%}" if true else "-", "" if holds else "WRONG"])
            for identity in snapshot["identities"]:
                if not identity["holds"]:
                    wrong += 1
                    rows.append([load, f"identity {identity['name']}", identity["residual_ns"], 0, "-", "WRONG"])
    corewise.print_table(["load", "what", "watch", "recording or kernel", "difference", ""], rows)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


def measure(load, folder):
    """Runs a load under both. Returns the snapshot and the kernel's CPU times of the load's cgroup, ns, by their source."""
    groups = cgroups()
    for group in groups:
        group.mkdir(exist_ok=True)
    out = folder / f"{load}.cw"
    (folder / "machine.toml").write_text(MACHINE)
    with tempfile.TemporaryDirectory() as tmp:
        write_sources(Path(tmp))
        # It is in its cgroup before both begin, and waits for a line.
        run = subprocess.Popen(["sh", "-c", f"read line; {LOADS[load]}"], cwd=tmp, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               preexec_fn=lambda: [(group / "cgroup.procs").write_text(str(os.getpid())) for group in groups])
        snapshot, usage = watched(out, groups, run)
    (folder / f"{load}.json").write_text(json.dumps(snapshot))
    for group in groups:
        group.rmdir()
    return snapshot, usage


def watched(out, groups, run):
    """Lets a load run under both."""
    record = subprocess.Popen([corewise.BINARY, "record", "--no-sample", "--no-irq", "--no-power", "-o", str(out), "--duration", "120"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        corewise.wait_until_attached(record, out)
        watch = subprocess.Popen([corewise.BINARY, "watch", "--for", "120s", "--cgroup", f"/{GROUP}", "--format", "json",
                                  "--machine", str(out.parent / "machine.toml")],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        time.sleep(2)
        before = cpu_times(groups)
        run.communicate(b"\n")
        usage = {source: ns - before[source] for source, ns in cpu_times(groups).items()}
        watch.send_signal(signal.SIGINT)
        snapshot = json.loads(watch.communicate()[0])
    finally:
        run.kill()
        record.send_signal(signal.SIGINT)
        record.wait()
    return snapshot, usage


def kernel_threads():
    """Returns the TIDs of the kernel's threads."""
    def is_child(stat):
        try:
            return stat.read_text().rsplit(")", 1)[1].split()[1] in ("2", "0")
        except (FileNotFoundError, ProcessLookupError):
            return False

    return {int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if is_child(stat)} - {1}


def cpu_times(groups):
    """Returns the CPU time of a cgroup, ns, by each of the kernel's counts: v1, and v2, which counts without its CPU controller too."""
    times = {}
    for group in groups:
        if (group / "cpuacct.usage").exists():
            times["cpuacct.usage"] = int((group / "cpuacct.usage").read_text())
        elif (group / "cpu.stat").exists():
            lines = dict(line.split(" ") for line in (group / "cpu.stat").read_text().splitlines())
            if "usage_usec" in lines:
                times["cpu.stat"] = int(lines["usage_usec"]) * 1000
    return times or sys.exit("no cgroup hierarchy counts CPU time")


class Recording:
    """The stretches of the threads of a cgroup, and what each CPU did. `kernel`: TIDs of the kernel's threads; `siblings`: of each CPU its
    sibling."""

    def __init__(self, folder, kernel, group=GROUP, siblings=SIBLINGS):
        self.siblings = siblings

        # Its calculations can be tested without it.
        import pyarrow.parquet

        def read(name, columns):
            return pyarrow.parquet.read_table(folder / f"{name}.parquet", columns=columns).to_pylist()

        moves = [row for row in read("events/cgroup", ["at_ns", "tid", "path"]) if row["path"] == f"/{group}"]
        load = {row["tid"]: row["at_ns"] for row in reversed(moves)}
        threads = {row["thread"]: row for row in corewise.table(folder, "threads")}
        of_load = {thread for thread, row in threads.items() if row["tid"] in load and row["tid"] not in kernel}
        of_kernel = {thread for thread, row in threads.items() if row["tid"] in kernel or row["pid"] in kernel}
        self.involuntary = sum(threads[t]["involuntary"] for t in of_load)
        self.migrations = sum(threads[t]["migrations"] for t in of_load)
        self.running, self.waits, self.ready, self.uncharged = [], [], [], 0
        self.ran = []
        last, place = {}, {}
        moved = {}
        for row in read("events/migrate", ["at_ns", "tid", "to_cpu"]):
            moved.setdefault(row["tid"], []).append((row["at_ns"], row["to_cpu"]))
        for row in read("states/thread", ["thread", "start_ns", "end_ns", "state", "cpu", "reason", "exec_ns"]):
            thread = row["thread"]
            if thread not in of_load or row["end_ns"] <= load[threads[thread]["tid"]]:
                continue
            # The first process is moved to the cgroup while it runs.
            start = max(row["start_ns"], load[threads[thread]["tid"]])
            length = row["end_ns"] - start
            if row["state"] == "running":
                self.running.append(length)
                self.ran.append((row["cpu"], start, row["end_ns"]))
                self.uncharged += length - row["exec_ns"] if row["exec_ns"] is not None else 0
            elif row["state"] == "ready":
                # The row names the first queue.
                queue, begin = row["cpu"], row["start_ns"]
                for at, to in moved.get(threads[thread]["tid"], []):
                    if begin < at < row["end_ns"]:
                        # Its waker still looked for a CPU for it: as if it had been woken there.
                        is_placed = begin == row["start_ns"] and row["reason"] in ("woken", "new") and at - begin < PLACED
                        if not is_placed:
                            self.ready.append((queue, begin, at))
                        queue, begin = to, begin if is_placed else at
                self.ready.append((queue, begin, row["end_ns"]))
                # A wait in several queues has a stretch for each of them.
                if last.get(thread) == row["start_ns"]:
                    self.waits[place[thread]] += length
                else:
                    place[thread] = len(self.waits)
                    self.waits.append(length)
                last[thread] = row["end_ns"]
        self.cpus = {}
        for row in read("states/cpu", ["cpu", "start_ns", "end_ns", "state", "thread"]):
            kind = row["state"]
            if kind == "busy":
                thread = row["thread"]
                kind = "same" if thread in of_load else "kernel" if thread in of_kernel else "other"
            self.cpus.setdefault(row["cpu"], []).append((row["start_ns"], row["end_ns"], kind))

    def divided(self):
        """Divides the ready time by what the queue's CPU did meanwhile."""
        return self.by_kind(self.ready)

    def with_sibling(self):
        """Returns the running time with a busy sibling."""
        parts = self.by_kind([(self.siblings[cpu], start, end) for cpu, start, end in self.ran if cpu in self.siblings])
        return parts["same"] + parts["other"] + parts["kernel"]

    def by_kind(self, stretches):
        """Divides stretches by what a CPU did meanwhile."""
        parts = dict.fromkeys(["same", "other", "kernel", "idle", "unknown"], 0)
        starts = {cpu: [s for s, _, _ in rows] for cpu, rows in self.cpus.items()}
        for cpu, start, end in stretches:
            if cpu not in self.cpus:
                parts["unknown"] += end - start
                continue
            at = max(0, bisect.bisect_right(starts[cpu], start) - 1)
            for begin, finish, kind in self.cpus[cpu][at:]:
                if begin >= end:
                    break
                parts[kind] += max(0, min(end, finish) - max(start, begin))
        return parts


def near(a, b, stretches, jitter=JITTER):
    """Whether two sums of times of so many stretches agree, ns."""
    return abs(a - b) <= (b * 0.001 if b >= 1e9 else 1e6) + stretches * jitter / 8


def same_count(a, b, near_bounds=0):
    """Whether two counts agree, where so many are near the bounds of a bucket."""
    return abs(a - b) <= max(10, b * 0.01 if b >= 1000 else 0) + near_bounds


def compared(snapshot, recording, usage):
    """Yields what is compared: its name, the value of watch, the true one, and whether they agree."""
    group = next(g for g in snapshot["groups"] if g["kind"] == "cgroup")
    sums = group["by_class"]
    seen = lambda of: sum(of(c) for c in sums)
    many = len(recording.running) + len(recording.waits)
    running, true = seen(lambda c: c["running_ns"]), sum(recording.running)
    yield "running, ns", running, true, near(running, true, many)
    for source, ns in usage.items():
        yield f"running against {source}, ns", running, ns, ns - 1e6 - many * JITTER / 2 <= running <= ns + max(0, recording.uncharged) * 1.2 + 5e6
    classes = snapshot["machine"]["class_names"]
    for name, cpu in [("performance", 0), ("efficient", 1)]:
        value, true = sums[classes.index(name)]["running_ns"], sum(end - start for q, start, end in recording.ran if q == cpu)
        yield f"running on {name}, ns", value, true, near(value, true, many)
    with_sibling, true = seen(lambda c: c["sibling"]["busy_ns"]), recording.with_sibling()
    yield "running with a busy sibling, ns", with_sibling, true, near(with_sibling, true, many)
    ready, true = seen(lambda c: sum(c["ready"].values())), sum(recording.waits)
    yield "ready, ns", ready, true, near(ready, true, many)
    parts = recording.divided()
    # Of a wait whose begin the kernel hid, watch does not know what ran meanwhile; the recording finds it afterwards.
    hidden = seen(lambda c: c["ready"]["unknown_ns"])
    rest = lambda a, b: near(a + min(hidden, max(0, b - a)), b, many)
    for part, column in [("same", "same_group_ns"), ("other", "other_group_ns"), ("kernel", "kernel_ns"), ("idle", "idle_ns"), ("unknown", "unknown_ns")]:
        value = seen(lambda c, column=column: c["ready"][column])
        holds = rest(value, parts[part]) if part != "unknown" else value <= max(1e6, 0.005 * ready)
        yield f"ready while {part}, ns", value, parts[part], holds
    for what, true in [("wait", recording.waits), ("run", recording.running)]:
        column = {"wait": "ready_latency", "run": "run_length"}[what]
        total = seen(lambda c, column=column: c[column]["count"])
        yield f"{what}s", total, len(true), same_count(total, len(true))
        here, there, close = {}, {}, {}
        for c in sums:
            for b in c[column]["buckets"]:
                here[b["le_seconds"]] = here.get(b["le_seconds"], 0) + b["count"]
        le = bounds()
        for ns in true:
            there[le[bucket_of(ns)]] = there.get(le[bucket_of(ns)], 0) + 1
            reached = range(bucket_of(max(0, ns - JITTER)), bucket_of(ns + JITTER) + 1)
            for at in reached if len(reached) > 1 else ():
                close[le[at]] = close.get(le[at], 0) + 1
        off = [(abs(here.get(k, 0) - there.get(k, 0)), here.get(k, 0), there.get(k, 0), k) for k in {*here, *there}]
        bad = [o for o in off if not same_count(o[1], o[2], close.get(o[3], 0))]
        worst = max(bad or off, key=lambda o: o[0])
        yield f"{what}s, worst bucket of {len(off)} (le {worst[3]})", worst[1], worst[2], not bad
    for what, value, true in [("preempted", seen(lambda c: c["preemptions"]), recording.involuntary),
                              ("migrations", seen(lambda c: sum(c["migrations_from"])), recording.migrations)]:
        yield what, value, true, same_count(value, true)


if __name__ == "__main__":
    sys.exit(main())
