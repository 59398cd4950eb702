#!/usr/bin/env python3
"""Compares corewise's tables of perf.data files with the referee (testdata/referee/oracle.py on `perf script`), to the nanosecond.

For each file: threads compared and those that differ, CPUs, running time by CPU, the concurrency table, `broken` and
`unwoken`, and whether the sum over threads equals the sum over CPUs. corewise has thread instances, the referee TIDs: the
instances of a TID are added up; for `max_ready_ns` the largest counts. Exit status 1 if anything differs.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict

import corewise

SUMS = ["running_ns", "ready_ns", "blocked_ns", "unknown_ns", "exited_ns", "involuntary", "voluntary", "migrations", "unwoken"]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("files", nargs="+", metavar="FILE.data")
    args.add_argument("--trace", action="append", default=[], metavar="FOLDER",
                      help="read corewise's side from this trace folder (one for each file, in turn), not from the file")
    args.add_argument("--differences", type=int, default=5, help="how many to print of each file (5)")
    args.add_argument("--keep-oracle", metavar="OUT.json", help="write the referee's result of the last file here")
    args = args.parse_args()
    corewise.need_binary()
    rows, differ = [], False
    for i, path in enumerate(args.files):
        oracle = referee(path)
        if args.keep_oracle:
            with open(args.keep_oracle, "w") as out:
                json.dump(oracle, out)
        try:
            seen = tables(args.trace[i] if i < len(args.trace) else path)
        except corewise.Refused as why:
            print(f"{path}: {why}")
            rows.append([path] + ["refused"] + [""] * 9)
            differ = True
            continue
        wrong = differences(oracle, seen)
        differ |= bool(wrong)
        for line in wrong[: args.differences]:
            print(f"{path}: {line}")
        if len(wrong) > args.differences:
            print(f"{path}: … and {len(wrong) - args.differences} more")
        rows.append(summary(path, oracle, seen, wrong))
    corewise.print_table(
        ["file", "equal", "events", "threads", "differ", "CPUs", "sums close", "unknown CPU time", "broken", "unwoken", "lossy"], rows)
    return differ


def referee(path):
    """Returns the oracle's result. It exits 1 if it could not parse some lines; then its `unparsed` shows them."""
    script = subprocess.Popen(["perf", "script", "-f", "-F", "comm,tid,cpu,time,event,trace", "--ns", "-i", path],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    done = subprocess.run([sys.executable, corewise.ORACLE], stdin=script.stdout, stdout=subprocess.PIPE, text=True)
    script.stdout.close()
    script.wait()
    if not done.stdout:
        sys.exit(f"{path}: the referee printed nothing")
    return json.loads(done.stdout)


def tables(trace):
    seen = {name: corewise.table(trace, name) for name in ("threads", "cpus", "thread_by_cpu", "concurrency")}
    seen["check"] = corewise.check(trace)
    return seen


def by_number(instances):
    """Returns one row per TID: sums over its instances, the largest of the longest waits."""
    numbers = defaultdict(Counter)
    for instance in instances:
        number = numbers[instance["tid"]]
        for column in SUMS:
            number[column] += instance[column] or 0
        number["max_ready_ns"] = max(number["max_ready_ns"], instance["max_ready_ns"] or 0)
    return numbers


def differences(oracle, seen):
    wrong = []

    def compare(what, ours, theirs):
        if ours != theirs:
            wrong.append(f"{what}: corewise {ours}, referee {theirs}")

    ours = by_number(seen["threads"])
    theirs = {t["tid"]: t for t in oracle["threads"]}
    ready_unknown = all(instance["ready_ns"] is None for instance in seen["threads"])
    for tid in sorted(ours.keys() | theirs.keys()):
        if tid not in theirs:
            # A thread with side-band records only (comm, fork) has no event; all of its time must be unknown.
            if any(n for column, n in ours[tid].items() if column != "unknown_ns"):
                wrong.append(f"thread {tid}: not known to the referee")
        elif tid not in ours:
            wrong.append(f"thread {tid}: not known to corewise")
        else:
            for column in [*SUMS, "max_ready_ns"]:
                # Without wakeups it is null: how long a thread was ready after a wait is unknown.
                if "ready" in column and ready_unknown:
                    continue
                compare(f"thread {tid} {column}", ours[tid][column], theirs[tid][column])

    by_cpu = Counter()
    for row in seen["thread_by_cpu"]:
        by_cpu[row["tid"], row["cpu"]] += row["running_ns"]
    compare_by_cpu = {(t["tid"], int(c)): n for t in oracle["threads"] for c, n in t["running_ns_by_cpu"].items() if n}
    by_cpu = {k: n for k, n in by_cpu.items() if n}
    for key in sorted(by_cpu.keys() | compare_by_cpu.keys()):
        compare(f"thread {key[0]} on CPU {key[1]}", by_cpu.get(key, 0), compare_by_cpu.get(key, 0))

    span = oracle["end_ns"] - oracle["begin_ns"]
    cpus = {row["cpu"]: row for row in seen["cpus"]}
    for cpu, row in cpus.items():
        # A CPU without a switch has no row in the referee's result: unknown throughout.
        theirs_of = oracle["cpus"].get(str(cpu), {"busy_ns": 0, "idle_ns": 0, "unknown_ns": span})
        for column in ("busy_ns", "idle_ns", "unknown_ns"):
            compare(f"CPU {cpu} {column}", row[column], theirs_of[column])
    for cpu in oracle["cpus"]:
        if int(cpu) not in cpus:
            wrong.append(f"CPU {cpu}: not known to corewise")

    durations = Counter()
    for row in seen["concurrency"]:
        durations[row["running"], row["unknown"]] += row["duration_ns"]
    theirs = {(r["running"], r["unknown"]): r["duration_ns"] for r in oracle["concurrency"]}
    for key in sorted(theirs.keys() | {k for k, n in durations.items() if n}):
        compare(f"concurrency {key}", durations[key], theirs.get(key, 0))

    compare("broken", seen["check"]["broken"], oracle["broken"])
    compare("unwoken", seen["check"]["unwoken"], oracle["unwoken"])
    for law, residual in corewise.residuals_of(seen["check"]).items():
        compare(f"law {law}", residual, 0)
    compare("sum over threads less sum over CPUs", closes(seen), 0)
    if oracle["unparsed"]:
        wrong.append(f"the referee could not parse {oracle['unparsed']}")
    return wrong


def closes(seen):
    return sum(t["running_ns"] for t in seen["threads"]) - sum(c["busy_ns"] for c in seen["cpus"])


def summary(path, oracle, seen, wrong):
    cpus = oracle["cpus"].values()
    unknown, whole = sum(c["unknown_ns"] for c in cpus), sum(sum(c.values()) for c in cpus)
    threads = {line.split(" ")[1].rstrip(":") for line in wrong if line.startswith("thread ")}
    lossy = sum(c.get("lossy_ns") or 0 for c in seen["cpus"])
    return [path, "no" if wrong else "yes", oracle["events"], len(oracle["threads"]), len(threads), len(oracle["cpus"]),
            "yes" if not closes(seen) else "no", corewise.percent(unknown, whole), seen["check"]["broken"],
            seen["check"]["unwoken"], corewise.percent(lossy, whole)]


if __name__ == "__main__":
    sys.exit(main())
