#!/usr/bin/env python3
"""Checks the reason of each switch-out of a thread that could still run against ftrace of the same run.

A program (preempted_or_yielded_load.c) calls sched_yield in every other phase, with an equal competitor, and a SCHED_FIFO
thread preempts both. It runs under `corewise record` while an instance of ftrace records sched_switch and the entry and
return of sched_yield. By ftrace, a switch-out between a call and its return is a yield; one with the state R+, or outside of
any call, is a preemption. corewise then reads ftrace's text too, once unchanged and once without the returns.

At least 99 % of the stretches that ftrace classifies must have the same reason. Exit status 1 if they have not. Needs root.
"""

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import beside_ftrace
import corewise

WITHIN = 0.99
EVENTS = ["sched/sched_switch", "sched/sched_waking", "syscalls/sys_enter_sched_yield", "syscalls/sys_exit_sched_yield"]
# "          yields-123     [001] d..2.  12.345678: sched_switch: prev_comm=… prev_pid=123 … prev_state=R ==> … next_pid=9 …"
LINE = re.compile(r"^\s*.+-(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+\S+\s+(?P<s>\d+)\.(?P<us>\d{6}): (?P<rest>.*)$")
SWITCH = re.compile(r"sched_switch: prev_comm=(?P<comm>.*) prev_pid=(?P<prev>\d+) prev_prio=\d+ prev_state=(?P<state>\S+) ==> ")
NAMES = ("yields", "equal")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--ms", type=int, default=3000, help="how long the load runs (3000)")
    args.add_argument("--backend", default="bpf", help="what corewise records with (bpf)")
    args.add_argument("--keep", metavar="DIR", type=Path, help="keep the recordings here")
    args = args.parse_args()
    corewise.need_binary()
    with tempfile.TemporaryDirectory(prefix="yields-") as tmp:
        folder = args.keep or Path(tmp)
        folder.mkdir(parents=True, exist_ok=True)
        return compare(folder, record(folder, args.ms, args.backend))


def record(folder, ms, backend):
    """Returns the number of calls that the load counted."""
    load = folder / "load"
    source = Path(__file__).with_name("preempted_or_yielded_load.c")
    subprocess.run(["cc", "-O1", "-pthread", "-o", load, source], check=True)
    command = [corewise.BINARY, "record", "--backend", backend, "-o", folder / "run.cw", "--", load, str(ms)]
    printed = beside_ftrace.record(folder, EVENTS, command, 65536)
    counted = [int(line) for line in printed.splitlines() if line.isdigit()]
    return counted[0] if counted else None


def truth(text):
    """By TID, its switch-outs in a runnable state: (µs, preempted or yielded); the calls of sched_yield; the threads' names."""
    outs, inside, calls, names = collections.defaultdict(list), set(), collections.Counter(), {}
    for line in map(LINE.match, text.splitlines()):
        if not line:
            continue
        at, tid, rest = int(line["s"]) * 10**6 + int(line["us"]), int(line["tid"]), line["rest"]
        if rest.startswith("sys_sched_yield()"):
            inside.add(tid)
            calls[tid] += 1
        elif rest.startswith("sys_sched_yield ->"):
            inside.discard(tid)
        elif switch := SWITCH.match(rest):
            prev = int(switch["prev"])
            names.setdefault(prev, switch["comm"])
            if switch["state"] in ("R", "R+"):
                yielded = switch["state"] == "R" and prev in inside
                outs[prev].append((at, "yielded" if yielded else "preempted", switch["state"]))
            if switch["state"] != "R+":
                inside.discard(prev)  # after this it only returns from the call
    return outs, calls, names


def reasons(trace, origin):
    """By TID, the reasons of the ready stretches that began with a switch-out, according to corewise: (µs, reason)."""
    ready = collections.defaultdict(list)
    for row in corewise.table(trace, "thread_state"):
        if row["state"] == "ready" and row["reason"] not in ("woken", "new", "woken_before", "snapshot"):
            ready[row["tid"]].append(((origin + row["start_ns"]) // 1000, row["reason"]))
    return ready


def compare(folder, counted):
    text = (folder / "ftrace.txt").read_text(errors="replace")
    outs, calls, names = truth(text)
    without = "\n".join(line for line in text.splitlines() if "sys_sched_yield ->" not in line)
    (folder / "no_returns.txt").write_text(without + "\n")
    origin = json.loads((folder / "run.cw/manifest.json").read_text())["origin_ns"]
    first = min(int(m["s"]) * 10**9 + int(m["us"]) * 1000 for m in map(LINE.match, text.splitlines()) if m)
    readers = [("corewise record", folder / "run.cw", origin), ("ftrace's text", folder / "ftrace.txt", first),
               ("without returns", folder / "no_returns.txt", first)]
    rows, failed = [], False
    ours = [tid for tid, name in names.items() if name in NAMES]
    for reader, trace, begin in readers:
        ready = reasons(trace, begin)
        for tid in sorted(ours, key=lambda tid: names[tid]):
            counts, missing = pair(outs[tid], ready[tid])
            failed |= missing > (1 - WITHIN) * len(outs[tid])
            for kind in ("preempted", "yielded"):
                of = {said: n for (true, said), n in counts.items() if true == kind}
                whole = sum(of.values())
                share = of.get(kind, 0) / whole if whole else None
                failed |= whole > 0 and share < WITHIN
                other = ", ".join(f"{said} {n}" for said, n in sorted(of.items()) if said != kind) or "-"
                rows.append([reader, names[tid], kind, whole, of.get(kind, 0), "-" if share is None else f"{share:.2%}", other, missing])
    corewise.print_table(["read by", "thread", "by ftrace", "stretches", "named so", "share", "named otherwise", "not paired"], rows)
    all_calls = sum(calls[tid] for tid in ours)
    marks = collections.Counter(state for tid in ours for _, _, state in outs[tid])
    print(f"calls of sched_yield: {counted} counted by the program, {all_calls} seen by ftrace; switch-outs with R: {marks['R']}, with R+: {marks['R+']}")
    few = [row for row in rows if row[0] == "corewise record" and row[3] < 100 and (row[1], row[2]) != ("equal", "yielded")]
    for row in few:
        print(f"too few stretches: {row[1]} {row[2]}, {row[3]} stretches")
    return failed or bool(few)


def pair(true, said):
    """Returns how many of ftrace's switch-outs have which reason: each is matched with corewise's of the same time, to 50 µs."""
    counts, missing, at = collections.Counter(), 0, 0
    for when, kind, _ in true:
        while at < len(said) and said[at][0] < when - 50:
            at += 1
        if at < len(said) and said[at][0] <= when + 50:
            counts[kind, said[at][1]] += 1
            at += 1
        else:
            missing += 1
    return counts, missing


if __name__ == "__main__":
    sys.exit(main())
