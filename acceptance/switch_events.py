#!/usr/bin/env python3
"""Recordings without tracepoints (perf record -e dummy --switch-events): system-wide, per thread and per process.

Makes the three (or reads the given ones), calculates times from `perf script --show-switch-events` in a few lines of its own and compares
corewise's `threads` and `thread_by_cpu` with that: running from IN to OUT; after an OUT with preempt ready, else
blocked. There are no wakeups in such a file: ready_ns is null, and what follows a preemption must not be in blocked_ns.
Exit status 1 if anything differs.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import corewise

# "comm  pid/tid [cpu] 12.345678901: PERF_RECORD_SWITCH_CPU_WIDE OUT preempt  next pid/tid:  1/1"
LINE = re.compile(r"^\s*(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?:\[(?P<cpu>-?\d+)\]\s+)?(?P<s>\d+)\.(?P<ns>\d{9}):\s+"
                  r"PERF_RECORD_SWITCH(?:_CPU_WIDE)?\s+(?P<way>IN|OUT)(?P<preempt>\s+preempt)?")
LOAD = "perf bench sched pipe -l 20000 >/dev/null & timeout 1 sh -c 'while :; do :; done' & " \
    "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done; wait"


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("files", nargs="*", metavar="FILE.data", help="recordings that exist already")
    args.add_argument("--keep", type=Path, metavar="DIR", help="keep the recordings on_cpu")
    args.add_argument("--own-only", action="store_true", help="only this script's own calculation, without corewise")
    args = args.parse_args()
    if not args.own_only:
        corewise.need_binary()
    rows, differ = [], False
    with tempfile.TemporaryDirectory(prefix="switch-events-") as tmp:
        folder = args.keep or Path(tmp)
        folder.mkdir(parents=True, exist_ok=True)
        for path in args.files or make(folder):
            own = account(path)
            wrong = [] if args.own_only else differences(own, path)
            for line in wrong[:10]:
                print(f"{path}: {line}")
            differ |= bool(wrong)
            rows.append([Path(path).name, own["records"], len(own["threads"]), f"{sum(own['by_cpu'].values()) / 1e6:.3f}",
                         own["unpaired"], "-" if args.own_only else len(wrong)])
    corewise.print_table(["file", "switches", "threads", "running ms", "unpaired", "differ"], rows)
    return differ


def make(folder):
    """Makes the three forms, of the same load."""
    base = ["perf", "record", "-q", "-e", "dummy", "--switch-events", "-m", "1024"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    wide, by_thread, by_process = (folder / f"switch-{form}.data" for form in ("all", "thread", "process"))
    subprocess.run([*base, "-a", "-o", wide, "sh", "-c", LOAD], check=True, **quiet)
    for path, option in ((by_thread, "-t"), (by_process, "-p")):
        load = subprocess.Popen(["perf", "bench", "sched", "messaging", "-t", "-g", "1", "-l", "100000"], start_new_session=True, **quiet)
        time.sleep(0.3)
        threads = sorted(map(int, os.listdir(f"/proc/{load.pid}/task")))
        target = threads[min(3, len(threads) - 1)] if option == "-t" else load.pid
        subprocess.run([*base, option, str(target), "-o", path, "sleep", "0.5"], check=True, **quiet)
        os.killpg(load.pid, signal.SIGKILL)
        load.wait()
    return [wide, by_thread, by_process]


def account(path):
    """Returns running time by thread and CPU, and switch-outs by kind, from the text of the records."""
    text = subprocess.run(["perf", "script", "-f", "--show-switch-events", "-F", "comm,pid,tid,cpu,time,event", "--ns", "-i", str(path)],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    records = [m for m in map(LINE.match, text.splitlines()) if m]
    # perf prints in time order, except at the ends of different CPUs' buffers.
    records = sorted(records, key=lambda m: int(m["s"]) * 10**9 + int(m["ns"]))
    running = {}  # thread: (since, CPU)
    on_cpu = {}  # CPU: the thread last switched in, 0 for idle
    left = {}  # thread: (since, whether it was preempted)
    threads, by_cpu, unpaired = defaultdict(Counter), Counter(), 0
    for m in records:
        now, tid, cpu = int(m["s"]) * 10**9 + int(m["ns"]), int(m["tid"]), int(m["cpu"] or -1)
        if cpu >= 0 and m["way"] == "IN":
            before = on_cpu.get(cpu)
            if before in running and running[before][1] == cpu:  # its OUT was not delivered: the length of its run is unknown
                del running[before]
                unpaired += 1
            on_cpu[cpu] = tid
        if tid <= 0:
            continue
        row = threads[tid]
        if m["way"] == "IN":
            if tid in left:
                since, preempted = left.pop(tid)
                row["off_ready_ns" if preempted else "blocked_ns"] += now - since
            running[tid] = (now, cpu)
        else:
            row["involuntary" if m["preempt"] else "voluntary"] += 1
            since, on = running.pop(tid, (None, None))
            if on == cpu:
                row["running_ns"] += now - since
                by_cpu[tid, cpu] += now - since
            else:
                unpaired += 1
            left[tid] = (now, bool(m["preempt"]))
    if records:
        end = max(int(m["s"]) * 10**9 + int(m["ns"]) for m in records)
        for tid, (since, cpu) in running.items():
            threads[tid]["running_ns"] += end - since
            by_cpu[tid, cpu] += end - since
        for tid, (since, preempted) in left.items():
            threads[tid]["off_ready_ns" if preempted else "blocked_ns"] += end - since
    return {"records": len(records), "threads": threads, "by_cpu": by_cpu, "unpaired": unpaired}


def differences(own, path):
    wrong = []
    seen, by_cpu = defaultdict(Counter), Counter()
    for instance in corewise.table(path, "threads"):
        for column in ("running_ns", "blocked_ns", "involuntary", "voluntary"):
            seen[instance["tid"]][column] += instance[column] or 0
        if instance["ready_ns"] is not None:
            wrong.append(f"thread {instance['tid']}: ready_ns is {instance['ready_ns']}, should be null")
    for row in corewise.table(path, "thread_by_cpu"):
        by_cpu[row["tid"], row["cpu"]] += row["running_ns"]
    for tid in sorted(own["threads"].keys() | seen.keys()):
        for column in ("running_ns", "blocked_ns", "involuntary", "voluntary"):
            ours, theirs = seen[tid][column], own["threads"][tid][column] if tid in own["threads"] else 0
            if ours != theirs:
                wrong.append(f"thread {tid} {column}: corewise {ours}, from perf script {theirs}")
    # Recordings of threads and processes do not record the CPU.
    known = [key for key in own["by_cpu"].keys() | by_cpu.keys() if key[1] is not None and key[1] >= 0]
    for key in sorted(key for key in known if own["by_cpu"][key] != by_cpu[key]):
        wrong.append(f"thread {key[0]} on CPU {key[1]}: corewise {by_cpu[key]}, from perf script {own['by_cpu'][key]}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
