#!/usr/bin/env python3
"""Compares recordings of machines with siblings and unequal cores (testdata/traces/guests) with the results of two other readers.

    acceptance/guests.py [FOLDER…]

One line per recording. `threads`, `CPUs`, `at once`: how many of oracle.json's threads, CPUs and rows of concurrency are not equal,
to the nanosecond. Compared with the second reader (oracle.trace.json), whose definitions partly differ (see the README next to them):
`pairs`: the largest difference of a sibling pair's three classes; `at once 2`: that of concurrency; both next to the time that
is unknown to corewise, since that reader assigns the time before a CPU's first switch to that switch's previous thread. `kinds`:
threads whose voluntary and involuntary switches differ. `by type`: the largest difference between a thread's running time by core
type and that of oracle.json by CPU. Exits 1 if anything that should be equal is not, or a difference is larger than the unknown time.
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

import corewise

GUESTS = corewise.SHARED / "traces/guests"
CLASSES = [("both_idle", "idle_ns"), ("one_busy", "one_busy_ns"), ("both_busy", "many_busy_ns")]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("folders", nargs="*", type=Path, help="those of testdata/traces/guests")
    args = args.parse_args()
    corewise.need_binary()
    folders = args.folders or sorted(p.parent for p in GUESTS.glob("*/trace.dat"))
    if not folders:
        print(f"skipped: {GUESTS} is not here")
        return 0
    rows, wrong = [], []
    for folder in folders:
        row, well = compared(folder)
        rows.append([folder.name, *row])
        wrong += [] if well else [folder.name]
    head = ["recording", "cores", "threads", "CPUs", "at once", "by type", "pairs", "at once 2", "unknown", "kinds"]
    corewise.print_table(head, rows)
    if wrong:
        print(f"different from the other readers: {', '.join(wrong)}")
    return 1 if wrong else 0


def compared(folder):
    """Returns the cells of a line, and whether everything is as expected."""
    tables = {name: table(folder, name) for name in ("threads", "cpus", "concurrency", "smt_cores", "thread_by_core_type")}
    first = json.loads((folder / "oracle.json").read_text())
    second = json.loads((folder / "oracle.trace.json").read_text())
    types = {cpu["cpu"]: cpu["core_type"] for cpu in tables["cpus"]}
    threads = [t["tid"] for t in first["threads"] if not same_thread(t, tables["threads"])]
    cpus = [cpu for cpu, expected in first["cpus"].items() if not same_cpu(int(cpu), expected, tables["cpus"])]
    at_once = {(r["running"], r["unknown"]): r["duration_ns"] for r in tables["concurrency"]}
    others = {(r["running"], r["unknown"]): r["duration_ns"] for r in first["concurrency"]}
    rows_off = [key for key in at_once.keys() | others.keys() if at_once.get(key, 0) != others.get(key, 0)]
    by_type = type_off(first, tables, types)
    unknown = sum(cpu["unknown_ns"] for cpu in tables["cpus"])
    pairs, pairs_well = pairs_off(second, tables["smt_cores"])
    running = defaultdict(int)
    for (busy, _), ns in at_once.items():
        running[busy] += ns
    theirs = {int(busy): ns for busy, ns in second["concurrency_ns"].items()}
    at_once_2 = max(abs(running.get(n, 0) - theirs.get(n, 0)) for n in running.keys() | theirs.keys())
    kinds = [tid for tid, task in second["tasks"].items() if not same_kinds(int(tid), task, tables["threads"])]
    siblings = sum((core["siblings"] or 1) > 1 for core in tables["smt_cores"])
    names = ", ".join(f"{n} {kind}" for kind, n in sorted(count(types.values()).items()))
    cores = f"{names}; {siblings} pairs" if siblings else names
    well = not (threads or cpus or rows_off or by_type or kinds) and pairs_well and at_once_2 <= unknown
    cells = [cores, len(threads), len(cpus), len(rows_off), by_type, "-" if pairs is None else pairs, at_once_2, unknown, len(kinds)]
    return cells, well


def table(folder, name):
    """Returns a table of its trace.dat; types and siblings come from the machine's own files."""
    words = ["--machine", folder / "sys.tar.gz", "--format", "json"]
    return corewise.rows_of(corewise.run("table", folder / "trace.dat", name, *words))


def same_thread(expected, threads):
    instances = [t for t in threads if t["tid"] == expected["tid"]]
    columns = ["running_ns", "ready_ns", "blocked_ns", "unknown_ns", "involuntary", "voluntary", "migrations"]
    return bool(instances) and all(sum(instance[c] or 0 for instance in instances) == expected[c] for c in columns)


def same_cpu(cpu, expected, cpus):
    own = [c for c in cpus if c["cpu"] == cpu]
    return len(own) == 1 and all(own[0][c] == expected[c] for c in ("busy_ns", "idle_ns", "unknown_ns") if c in expected)


def type_off(first, tables, types):
    """Returns how far a thread's time on a core type is from its time on the CPUs of that type."""
    instances = {t["thread"]: t["tid"] for t in tables["threads"]}
    ours, theirs = defaultdict(int), defaultdict(int)
    for row in tables["thread_by_core_type"]:
        ours[instances[row["thread"]], row["core_type"]] += row["running_ns"]
    for thread in first["threads"]:
        for cpu, ns in thread["running_ns_by_cpu"].items():
            theirs[thread["tid"], types[int(cpu)]] += ns
    return max((abs(ours[key] - ns) for key, ns in theirs.items()), default=0)


def pairs_off(second, cores):
    """Returns the differences of the classes of sibling pairs, None without pairs; and whether they add up to the unknown time of each
    pair, to the nanosecond: the other reader may only assign more time to each class, and in total exactly the unknown time."""
    by_cpus = {core["cpus"].replace(",", "-"): core for core in cores}
    more = {pair: [times[name] - by_cpus[pair][own] for name, own in CLASSES] for pair, times in second["smt_pairs_ns"].items()}
    well = all(min(off) >= 0 and sum(off) == by_cpus[pair]["unknown_ns"] for pair, off in more.items())
    return max((max(map(abs, off)) for off in more.values()), default=None), well


def same_kinds(tid, task, threads):
    instances = [t for t in threads if t["tid"] == tid]
    counts = [sum(instance[c] for instance in instances) for c in ("voluntary", "involuntary")]
    return bool(instances) and counts == [task["vol"], task["invol"]]


def count(words):
    counts = defaultdict(int)
    for word in words:
        counts[word] += 1
    return counts


if __name__ == "__main__":
    sys.exit(main())
