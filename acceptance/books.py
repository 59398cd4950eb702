#!/usr/bin/env python3
"""Compares a live recording with the kernel's own counters, for threads that live throughout.

exec_ns against the first field of /proc/PID/task/TID/schedstat (within 0.1 %), ready_ns against the second, run_delay
(within 5 %), involuntary and voluntary against /proc/PID/task/TID/status (exactly).

ready begins at sched_waking, run_delay when the thread is queued after it (docs/accounting.md). If Python has pyarrow, the time between
the two, which the recording contains for each wakeup, is printed too; a ready_ns that differs by more than 5 % must be within it without that time.

The two windows are made equal: the load's threads are stopped (SIGSTOP) before the recording begins and again before it
ends, and the counters are read only while all of them are stopped. So everything that they do lies within both.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corewise

EXEC_WITHIN, READY_WITHIN = 0.001, 0.05


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--seconds", type=float, default=3, help="how long the load runs (3)")
    args.add_argument("--keep", metavar="DIR", help="keep the recording here")
    args.add_argument("--books-only", action="store_true", help="no recording: print only the kernel's counters")
    args.add_argument("extra", nargs="*", metavar="-- OPTION…", help="more options for corewise record")
    args = args.parse_args()
    if not args.books_only:
        corewise.need_binary()
    with tempfile.TemporaryDirectory(prefix="books-") as tmp:
        program = Path(tmp) / "load"
        source = Path(__file__).with_name("books_load.c")
        subprocess.run(["cc", "-O1", "-pthread", "-o", program, source], check=True)
        folder = Path(args.keep or f"{tmp}/books.cw")
        before, after = run_load(program, folder, args)
        if args.books_only:
            return print_books(before, after)
        return compare(before, after, corewise.table(folder, "threads"), queueing(folder))


def run_load(program, folder, args):
    """Returns the counters before and after the load ran within a recording."""
    load = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    recorder = None
    try:
        load.stdout.readline()
        stand_still(load.pid)
        if not args.books_only:
            shutil.rmtree(folder, ignore_errors=True)
            recorder = subprocess.Popen([corewise.BINARY, "record", "-o", folder, *args.extra], stdin=subprocess.DEVNULL)
            corewise.wait_until_attached(recorder, folder)
        before = books(load.pid)
        os.kill(load.pid, signal.SIGCONT)
        time.sleep(args.seconds)
        stand_still(load.pid)
        after = books(load.pid)
        if recorder:
            time.sleep(0.2)
            recorder.send_signal(signal.SIGINT)
            if recorder.wait(timeout=60):
                sys.exit(f"corewise record: exit {recorder.returncode}")
        return before, after
    finally:
        load.kill()
        if recorder and recorder.poll() is None:
            recorder.kill()


def stand_still(pid):
    """Stops a process and waits until each of its threads is off its CPU."""
    os.kill(pid, signal.SIGSTOP)
    for _ in range(500):
        if all(state(pid, tid) == "T" for tid in os.listdir(f"/proc/{pid}/task")):
            time.sleep(0.05)  # the state is set a moment before the switch
            return
        time.sleep(0.01)
    sys.exit("the load's threads did not stop")


def state(pid, tid):
    return Path(f"/proc/{pid}/task/{tid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def books(pid):
    """For each thread: name, running time in ns, waiting time in ns, involuntary and voluntary switches."""
    result = {}
    for tid in map(int, os.listdir(f"/proc/{pid}/task")):
        folder = Path(f"/proc/{pid}/task/{tid}")
        ran, waited = map(int, (folder / "schedstat").read_text().split()[:2])
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
        result[tid] = (status["Name"].strip(), ran, waited, int(status["nonvoluntary_ctxt_switches"]),
                       int(status["voluntary_ctxt_switches"]))
    return result


def growth(before, after):
    for tid, (name, *now) in sorted(after.items()):
        yield tid, name, [a - b for a, b in zip(now, before[tid][1:])]


def print_books(before, after):
    corewise.print_table(["thread", "tid", "ran ms", "waited ms", "involuntary", "voluntary"],
                         [[name, tid, f"{g[0] / 1e6:.3f}", f"{g[1] / 1e6:.3f}", g[2], g[3]] for tid, name, g in growth(before, after)])


def queueing(folder):
    """Nanoseconds between the wakeup of each thread and its queueing, by TID; None if they cannot be read."""
    try:
        import pyarrow.parquet
    except ImportError:
        return None
    woken, between = {}, {}
    for wake in pyarrow.parquet.read_table(folder / "events" / "wake.parquet").to_pylist():
        if wake["kind"] == "waking":
            woken[wake["tid"]] = wake["at_ns"]
        elif wake["kind"] == "wakeup_at_switch_in" and wake["tid"] in woken:
            between[wake["tid"]] = between.get(wake["tid"], 0) + wake["stamp_ns"] - woken.pop(wake["tid"])
    return between


def compare(before, after, instances, between):
    seen = {}
    for instance in instances:
        seen.setdefault(instance["tid"], instance)
    rows, bad = [], 0
    for tid, name, (ran, waited, involuntary, voluntary) in growth(before, after):
        instance = seen.get(tid)
        if instance is None:
            rows.append([name, tid] + ["not recorded"] + [""] * 8)
            bad += 1
            continue
        exec_off = off(instance["exec_ns"], ran)
        ready_off = off(instance["ready_ns"], waited)
        queued_off = ready_off if between is None else off((instance["ready_ns"] or 0) - between.get(tid, 0), waited)
        fine = (abs(exec_off) <= EXEC_WITHIN and min(abs(ready_off), abs(queued_off)) <= READY_WITHIN
                and (instance["involuntary"], instance["voluntary"]) == (involuntary, voluntary))
        bad += not fine
        rows.append([name, tid, f"{ran / 1e6:.3f}", f"{100 * exec_off:+.4f} %", f"{waited / 1e6:.3f}", f"{100 * ready_off:+.2f} %",
                     "not read" if between is None else f"{100 * queued_off:+.2f} %",
                     involuntary, instance["involuntary"] - involuntary, voluntary, instance["voluntary"] - voluntary,
                     "yes" if fine else "NO"])
    corewise.print_table(["thread", "tid", "ran ms", "exec_ns off", "waited ms", "ready_ns off", "from queueing", "involuntary", "off", "voluntary",
                          "off", "within"], rows)
    return bad > 0


def off(ours, books_say):
    """The relative difference between corewise and the kernel's counters. A microsecond compared with nothing counts as equal."""
    ours = ours or 0
    if abs(ours - books_say) <= 1000:
        return 0.0
    return (ours - books_say) / books_say if books_say else float("inf")


if __name__ == "__main__":
    sys.exit(main())
