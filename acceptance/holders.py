#!/usr/bin/env python3
"""Known holders: programs that log who had which lock, compared with the tables lock_waits and wait_objects.

    holders.py FOLDER [KIND...]     records each kind of acceptance/holders/ for three seconds; COREWISE is the program
    holders.py FOLDER --perf        records those of locks.c with perf and the events of futex calls, without memory
    holders.py FOLDER --perf-trace  the same with perf trace record, which records all system calls by number
    holders.py FOLDER --guest       records those of locks.c in an emulated aarch64 guest (pmu/guest.py), and what a shell's commands wait for

Of each wait for a lock whose begin lies in a logged hold, the holder is known; the releaser is the thread with the last hold that ended
before the wait did. Prints for each kind: waits, holders named, right and wrong; releasers known and right. Exits 1 if a holder is wrong, or
if fewer than 99 % of holders or releasers are right. Where threads wait for words of their own (parking_lot, Java) no lock may be named, and
95 % of releasers must be right: the wait before a hold is the one for its lock. (Java's machine has a few mutexes of its own: 0.5 % of the waits.) Threads of Go's runtime that have no work may have no wait for a
lock. The wait objects of each thread must sum to its blocked time. Needs root, cc, cargo, go, java and pyarrow (make venv).
"""

import bisect
import csv
import io
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as parquet

HERE = Path(__file__).parent
SHORTLY_NS = 20_000
# Of shorter holds the log's own times are too coarse to say which was the last.
SHORT_NS = 2_000
COREWISE = os.environ.get("COREWISE", "corewise")
KINDS = ["mutex", "pi", "robust", "rwlock", "shared", "condition", "semaphore", "barrier", "join", "namespaces", "rust", "parking_lot", "java", "go"]

# Threads that wait for words of their own, and those that wait for work.
PARKERS = ["parking_lot", "java", "go"]


def table(run, name):
    text = subprocess.run([COREWISE, "table", run, name, "--format", "csv"], check=True, capture_output=True, text=True)
    return list(csv.DictReader(io.StringIO(text.stdout)))


def column(row, name):
    """Returns a cell by the name of its column without the unit."""
    return next(value for key, value in row.items() if key.split(" ")[0] == name)


def monotonic_offset(run):
    """What to add to a time of the recording for CLOCK_MONOTONIC."""
    if not (Path(run) / "events/clock.parquet").exists():
        return json.loads((Path(run) / "manifest.json").read_text())["origin_ns"]
    clocks = parquet.read_table(Path(run) / "events/clock.parquet").to_pylist()
    first = next(row for row in clocks if row["clock"] == "monotonic")
    return first["reading"] - first["at_ns"]


def inner_tids(run):
    """The TID of each thread in its own namespace."""
    rows = parquet.read_table(Path(run) / "events/thread.parquet").to_pylist()
    return {row["tid"]: row["inner_tid"] for row in rows if row.get("inner_tid") is not None}


class Holds:
    """The holds of one lock."""

    def __init__(self, rows):
        self.rows = sorted(rows)
        self.starts = [row[0] for row in self.rows]

    def at(self, time):
        """The TID of the hold in which a time lies, well inside."""
        place = bisect.bisect_right(self.starts, time) - 1
        if place < 0:
            return None
        start, end, tid = self.rows[place]
        return tid if start <= time <= end else None

    def ended_before(self, time):
        """The TID of the last hold that ended before a time; None if holds of two threads ended shortly before: a thread gives a mutex back
        before it wakes a waiter, and another one may hold it in between."""
        place = bisect.bisect_right(self.starts, time) - 1
        while place >= 0 and self.rows[place][1] > time:
            place -= 1
        if place < 0:
            return None
        start, end, _ = self.rows[place]
        if end - start < SHORT_NS:
            return None
        last = {tid for _, end, tid in self.rows[max(place - 4, 0) : place + 1] if end > time - SHORTLY_NS}
        return self.rows[place][2] if len(last) < 2 else None


def judge(run, log, name):
    holds = defaultdict(list)
    for line in Path(log).read_text().splitlines():
        lock, tid, start, end = map(int, line.split())
        holds[lock].append((start, end, tid))
    holds = {lock: Holds(rows) for lock, rows in holds.items()}
    threads = {column(row, "thread"): row for row in table(run, "threads")}
    tids = {key: int(column(row, "tid")) for key, row in threads.items()}
    inner = inner_tids(run)
    ours = {key for key, row in threads.items() if column(row, "name") == name}
    offset = monotonic_offset(run)
    number = lambda key: inner.get(tids[key], tids[key])
    waits = [row for row in table(run, "lock_waits") if column(row, "thread") in ours]
    # Which lock an address is: the one whose holds explain most of its waits.
    votes = defaultdict(lambda: defaultdict(int))
    for row in waits:
        start = int(column(row, "start_ns")) + offset
        for lock, of in holds.items():
            tid = of.at(start)
            votes[column(row, "lock")][lock] += tid is not None and tid != number(column(row, "thread"))
    sums = defaultdict(int)
    for row in waits:
        if column(row, "whole") != "true":
            continue
        sums["waits"] += 1
        lock = max(votes[column(row, "lock")].items(), key=lambda item: item[1], default=(None, 0))
        of = holds.get(lock[0]) if lock[1] else None
        start, end = (int(column(row, at)) + offset for at in ("start_ns", "end_ns"))
        holder, releaser = column(row, "holder"), column(row, "released_by")
        truth = of.at(start) if of else None
        if truth is not None:
            sums["known"] += 1
            sums["named"] += holder != ""
            if holder:
                sums["right" if number(holder) == truth else "WRONG"] += 1
        elif holder:
            sums["named_unknown"] += 1
        truth = of.ended_before(end) if of else None
        if truth is not None and releaser not in ("", "0"):
            sums["released"] += 1
            sums["released_right"] += number(releaser) == truth
    objects = [row for row in table(run, "wait_objects") if column(row, "thread") in ours]
    kinds = defaultdict(int)
    for row in objects:
        kinds[column(row, "kind")] += int(column(row, "waits"))
    blocked = sum(int(column(row, "blocked_ns")) for row in objects)
    total = sum(int(column(threads[key], "blocked_ns")) for key in ours)
    assert blocked == total, (blocked, total)
    return dict(sums), dict(kinds)


def judge_parkers(run, log, name):
    """As `judge`, where the object is the thread's own: its wait right before a hold is for the lock of that hold."""
    rows = [line.split() for line in Path(log).read_text().splitlines()] if log else []
    holds, by_thread = defaultdict(list), defaultdict(list)
    for lock, who, start, end in rows:
        holds[lock].append((int(start), int(end), who))
        by_thread[who].append((int(start), lock))
    holds = {lock: Holds(of) for lock, of in holds.items()}
    for of in by_thread.values():
        of.sort()
    threads = {column(row, "thread"): row for row in table(run, "threads")}
    ours = {key for key, row in threads.items() if column(row, "name").startswith(name)}
    offset = monotonic_offset(run)
    # Java's threads have names of their own.
    who = lambda key: column(threads[key], "name") if column(threads[key], "name") in by_thread else column(threads[key], "tid")
    sums = defaultdict(int)
    sums["locks_named"] = sum(column(row, "thread") in ours for row in table(run, "lock_waits"))
    for row in table(run, "object_waits"):
        if column(row, "thread") not in ours or column(row, "whole") != "true" or column(row, "reason") != "futex":
            continue
        end = int(column(row, "end_ns")) + offset
        of = by_thread[who(column(row, "thread"))]
        place = bisect.bisect_right(of, (end, ""))
        # It runs a little before it notes that it has the lock.
        if place == len(of) or of[place][0] > end + 10 * SHORTLY_NS:
            continue
        sums["waits"] += 1
        truth = holds[of[place][1]].ended_before(end)
        releaser = column(row, "released_by")
        if truth is not None and releaser not in ("", "0"):
            sums["released"] += 1
            sums["released_right"] += who(releaser) == truth
    kinds = defaultdict(int)
    for row in table(run, "wait_objects"):
        if column(row, "thread") in ours:
            kinds[column(row, "kind")] += int(column(row, "waits"))
    return dict(sums), dict(kinds)


def record(run, program):
    subprocess.run([COREWISE, "record", "-o", run, "--", *program], check=True, capture_output=True)


# What perf records for waits: switches, wakeups, and the calls of futex.
EVENTS = ["sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup_new", "sched:sched_migrate_task"]
CALLS = ["syscalls:sys_enter_futex", "syscalls:sys_exit_futex"]


def record_with_perf(run, program, of_all_calls):
    data = Path(run).with_suffix(".data")
    command, events = (["perf", "trace", "record"], EVENTS) if of_all_calls else (["perf", "record"], EVENTS + CALLS)
    words = [*command, "-k", "CLOCK_MONOTONIC", "-a", "-m", "8M", "-e", ",".join(events), "-o", data, "--", *program]
    subprocess.run(words, check=True, capture_output=True)
    subprocess.run([COREWISE, "import", data, "-o", run], check=True, capture_output=True)


def is_good(sums):
    """Whether no holder is wrong, and 99 % of holders and releasers are right; of parkers, no lock named and 95 % of releasers right."""
    if "locks_named" in sums:
        few = sums["locks_named"] <= 0.005 * sums.get("waits", 0)
        return few and sums.get("released_right", 0) >= 0.95 * sums.get("released", 0)
    holders = sums.get("right", 0) >= 0.99 * sums.get("known", 0)
    releasers = sums.get("released_right", 0) >= 0.99 * sums.get("released", 0)
    return "WRONG" not in sums and holders and releasers


def built_with_parking_lot(folder):
    crate = folder / "parking_lot"
    (crate / "src").mkdir(parents=True, exist_ok=True)
    (crate / "Cargo.toml").write_text(
        '[package]\nname = "locks"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\nparking_lot = "0.12"\n[workspace]\n'
    )
    (crate / "src/main.rs").write_text((HERE / "holders/locks.rs").read_text())
    target = crate / "target"
    environment = os.environ | {"RUSTFLAGS": "--cfg of_parking_lot -A unexpected_cfgs"}
    subprocess.run(["cargo", "build", "--release", "--quiet", "--target-dir", target], cwd=crate, env=environment, check=True)
    return target / "release/locks"


# Kinds of locks.c that need no other program.
IN_GUEST = ["mutex", "pi", "robust", "rwlock", "shared", "condition", "semaphore", "barrier", "join"]

# What a shell's commands wait for in the guest: a pipe, a child, only time.
COMMANDS = "corewise record --no-sample -o /out/commands.cw -- sh -c '(sleep 1; echo) | cat; sleep 0.3' > /out/commands.txt 2>&1"


def record_in_guest(folder):
    from pmu import guest

    records = [f"corewise record --no-sample -o /out/{kind}.cw -- locks {kind} 3 /out/{kind}.log > /out/{kind}.txt 2>&1" for kind in IN_GUEST]
    kit = folder / "kit"
    kit.mkdir(parents=True, exist_ok=True)
    guest.boot(guest.prepare(kit), guest.Machine("holders", 4), "\n".join([*records, COMMANDS]), folder, patience=600)


def main_in_guest(folder):
    record_in_guest(folder)
    good = True
    for kind in IN_GUEST:
        sums, objects = judge(folder / f"{kind}.cw", folder / f"{kind}.log", "locks")
        good &= is_good(sums)
        print(f"{kind:12}", " ".join(f"{name} {count}" for name, count in sums.items()), "| objects:", objects, flush=True)
    found = defaultdict(int)
    for row in table(folder / "commands.cw", "wait_objects"):
        found[column(row, "reason"), column(row, "kind")] += int(column(row, "waits"))
    wanted = [("read", "pipe"), ("wait4", "child"), ("clock_nanosleep", "sleep")]
    print("commands    ", " ".join(f"{call} for {kind} {found[call, kind]}" for call, kind in wanted))
    sys.exit(not (good and all(found[of] for of in wanted)))


def main():
    folder = Path(sys.argv[1])
    if "--guest" in sys.argv:
        main_in_guest(folder)
    with_perf_trace = "--perf-trace" in sys.argv
    with_perf = "--perf" in sys.argv or with_perf_trace
    folder.mkdir(parents=True, exist_ok=True)
    program, of_rust = folder / "locks", folder / "rust" / "locks"
    of_rust.parent.mkdir(exist_ok=True)
    subprocess.run(["cc", "-O1", "-pthread", HERE / "holders/locks.c", "-o", program], check=True)
    subprocess.run(["rustc", "--edition", "2024", "-O", HERE / "holders/locks.rs", "-o", of_rust], check=True)
    kinds = [word for word in sys.argv[2:] if not word.startswith("--perf")] or (IN_GUEST if with_perf else KINDS)
    of_crate = built_with_parking_lot(folder) if "parking_lot" in kinds else None
    of_go = folder / "go/locks"
    if "go" in kinds:
        subprocess.run(["go", "build", "-o", of_go, HERE / "holders/locks.go"], check=True)
    good = True
    for kind in kinds:
        run, log = folder / f"{kind}.cw", folder / f"{kind}.log"
        words = {
            "namespaces": ["unshare", "--pid", "--fork", program, "mutex", "3", log],
            "rust": [of_rust, "3", log],
            "parking_lot": [of_crate, "3", log],
            "java": ["java", HERE / "holders/Locks.java", "3", log],
            "go": [of_go, "3"],
        }.get(kind, [program, kind, "3", log])
        if with_perf:
            record_with_perf(run, words, with_perf_trace)
        else:
            record(run, words)
        if kind in PARKERS:
            sums, objects = judge_parkers(run, log if kind != "go" else None, "locks")
        else:
            sums, objects = judge(run, log, "locks")
        good &= is_good(sums)
        print(f"{kind:12}", " ".join(f"{name} {count}" for name, count in sums.items()), "| objects:", objects, flush=True)
    sys.exit(not good)


if __name__ == "__main__":
    main()
