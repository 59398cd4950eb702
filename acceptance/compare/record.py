#!/usr/bin/env python3
"""Recordings for judge.py: of loads with the same command on both sides (A/A), and of a load and its variants of known change (power).

  record.py aa    [LOAD…]     per load, 64 recordings as pairs of A and B, in random order within a pair, all of the same command
  record.py power [GROUP…]    per group, a base and its variants in turn, in random order within a round, 24 of each
  record.py bare  [GROUP…]    the same rounds without recording, 12 of each: the true changes
  record.py list              what there is, its sizes and its noise

A round is repeated, at most twice, if the hypervisor's steal or other programs took more than 5 % of its CPU time; never for its duration.
Files: OUT/LOAD/LABEL-NN.cw and OUT/LOAD/index.json (bare: bare.json), in the order of recording; a folder that has an index is continued.
wall_ns is the load's own clock, without the start and end of the recorder. Only runs with "kept" count; the files of others are removed.
COREWISE is the recorder. Run it on an otherwise idle machine, or with --lock, which several users of a machine hold in turn (flock).
"""

import argparse
import contextlib
import fcntl
import json
import math
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = Path(os.environ.get("OUT") or "/var/tmp/cmp")
COREWISE = os.environ.get("COREWISE") or str(HERE.parents[1] / "target/release/corewise")
LOADS = OUT / "loads"

# A real program with processes, files and fsync: eight compilations, two at a time, then a file through a pipe to the disk.
BUILD = f"""begin=$(date +%s%N); cd {OUT}/build-work
printf '%s\\n' 1 2 3 4 5 6 7 8 | xargs -P 2 -I X cc -O2 -DBUILD=X -c {HERE}/loads.c -o X.o
cat input | gzip -1 | dd of=output bs=64k conv=fsync status=none
echo wall_ns=$(($(date +%s%N) - begin))"""

AA = {"busy": "busy", "pool": "pool", "frames": "frames", "pipe": "pipe", "build": None}

# Groups of power: the first of each is the base. The nominal change of wall time where it follows from the load alone.
POWER = {
    "busy": {"base": "busy", "work1": "busy --scale 1.01", "work2": "busy --scale 1.02", "work5": "busy --scale 1.05",
             "work10": "busy --scale 1.10", "sleep30": "busy --sleep-ms 30"},
    "pool": {"base": "pool", "work5": "pool --scale 1.05", "work10": "pool --scale 1.10", "pin": "pool --pin"},
    "pipe": {"base": "pipe", "work10": "pipe --scale 1.10", "pin": "pipe --pin"},
    "rivals": {"base": "busy --rivals", "nice3": "busy --rivals --nice 3"},
    "frames": {"base": "frames", "work10": "frames --scale 1.10"},
}
NOMINAL = {("busy", "work1"): 1.01, ("busy", "work2"): 1.02, ("busy", "work5"): 1.05, ("busy", "work10"): 1.10,
           ("pool", "work5"): 1.05, ("pool", "work10"): 1.10, ("frames", "work10"): 1.0}
# The same of the response time of periods, where compare judges by it: all of it is work.
NOMINAL_RESPONSE = {("frames", "work10"): 1.10}

RUNS = {"aa": 32, "power": 24, "bare": 12}
MOST_DISTURBED = 0.05
TRIES = 3
# At most this long with the lock, s: others wait.
HOLD_S = 50


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("what", choices=["aa", "power", "bare", "list"])
    args.add_argument("names", nargs="*")
    args.add_argument("--rounds", type=int, help="rounds in all (aa 32, power 24, bare 12)")
    args.add_argument("--lock", help="a file to lock while it measures")
    args.add_argument("--seed", type=int, default=1)
    args = args.parse_args()
    if args.what == "list":
        return show()
    make_loads()
    sets = {n: {"A": c, "B": c} for n, c in AA.items()} if args.what == "aa" else POWER
    for name in args.names or sets:
        record(args.what, name, sets[name], args.rounds or RUNS[args.what], Lock(args.lock), random.Random(f"{args.seed} {args.what} {name}"))
    return 0


def make_loads():
    (OUT / "build-work").mkdir(parents=True, exist_ok=True)
    source = HERE / "loads.c"
    if not LOADS.exists() or LOADS.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-pthread", "-o", LOADS, source], check=True)
    data = OUT / "build-work/input"
    if not data.exists():
        # Compressible, and the same on every machine.
        words = [b"%08x " % (i * i) for i in range(4096)]
        choice = random.Random(1)
        data.write_bytes(b"".join(choice.choices(words, k=2_000_000)))


class Lock:
    """Holds a file's lock for a while, and then lets others have it."""

    def __init__(self, path):
        self.path, self.file, self.since = path, None, 0

    def take(self):
        if self.path and not self.file:
            self.file = open(self.path, "a")
            fcntl.flock(self.file, fcntl.LOCK_EX)
            self.since = time.monotonic()

    @contextlib.contextmanager
    def held(self):
        self.take()
        yield
        if self.file and time.monotonic() - self.since > HOLD_S:
            self.release()
            time.sleep(0.3)

    def release(self):
        if self.file:
            self.file.close()
        self.file = None


def command_of(load):
    return ["bash", "-c", BUILD] if load is None else [str(LOADS), *load.split()]


def record(what, name, sides, rounds, lock, choice):
    folder = OUT / (name if what == "aa" else f"power-{name}")
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / ("bare.json" if what == "bare" else "index.json")
    rows = json.loads(index.read_text()) if index.exists() else []
    for nth in range(1 + max((row["round"] for row in rows), default=-1), rounds):
        order = list(sides)
        choice.shuffle(order)
        with lock.held():
            if nth == 0:
                once(order[0], sides[order[0]], None)  # fills caches
            for attempt in range(TRIES):
                tried = [once(label, sides[label], None if what == "bare" else folder / f"{label}-{nth:02}.cw") for label in order]
                cpu = sum(row["cpu_s"] for row in tried)
                disturbed = max(sum(row["steal_s"] for row in tried), sum(row["other_s"] for row in tried)) / cpu
                kept = disturbed <= MOST_DISTURBED or attempt == TRIES - 1
                rows += [{"round": nth, "attempt": attempt, "kept": kept, "disturbed": round(disturbed, 4), **row} for row in tried]
                if kept:
                    break
                if disturbed > 0.5:  # someone's build, which lasts
                    lock.release()
                    time.sleep(5 * (attempt + 1))
                    lock.take()
        index.write_text(json.dumps(rows, indent=0))
    lock.release()
    print(f"{what} {name}: {noise(rows)}", flush=True)


def once(label, load, path):
    """Runs a load, recorded if it has a path, and returns what happened meanwhile."""
    command = command_of(load)
    if path:
        shutil.rmtree(path, ignore_errors=True)
        command = [COREWISE, "record", "-o", str(path), "--", *command]
    others, steal, used, begun, begin = cpu_of_others(), stolen(), cpu_of_children(), time.time(), time.monotonic_ns()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    with_recorder = time.monotonic_ns() - begin
    used, steal, others = cpu_of_children() - used, stolen() - steal, cpu_of_others() - others
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{(done.stdout + done.stderr)[-1000:]}")
    return {"label": label, "path": path.name if path else None, "began": round(begun, 3), "wall_ns": int(re.search(r"wall_ns=(\d+)", done.stdout).group(1)),
            "with_recorder_ns": with_recorder, "cpu_s": round(used, 3), "steal_s": round(steal, 3),
            "other_s": round(max(0, others), 3)}


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cpu_of_others():
    """Returns the CPU time of all other processes and kernel threads, and of their ended children, s. It may be wrong by a few ticks.

    The kernel scales these times to the exact time that a process ran; the sums of /proc/stat count ticks, with which the frames are in phase.
    """
    ticks, own = 0, str(os.getpid())
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.name != own:
                ticks += sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            pass  # it has ended
    return ticks / os.sysconf("SC_CLK_TCK")


def stolen():
    """Returns the time that the hypervisor gave to others, of all CPUs since the boot, s."""
    return int(Path("/proc/stat").read_text().split("\n")[0].split()[8]) / os.sysconf("SC_CLK_TCK")


def noise(rows):
    """Returns a line on the runs of an index: how many, how they vary, and what disturbed them."""
    kept = [row for row in rows if row["kept"]]
    logs = {}
    for row in kept:
        logs.setdefault(row["label"], []).append(math.log(row["wall_ns"]))
    said = ", ".join(f"{label} {math.exp(statistics.median(values)) / 1e6:.1f} ms sd {statistics.stdev(values) if len(values) > 1 else 0:.2%}"
                     for label, values in sorted(logs.items()))
    cpu = sum(row["cpu_s"] for row in kept) or 1
    last = sum(row["disturbed"] > MOST_DISTURBED for row in kept)
    return (f"{len(kept)} runs kept, {len(rows) - len(kept)} repeated, {last} kept though disturbed; {said}; steal {sum(r['steal_s'] for r in kept) / cpu:.2%}, "
            f"other {sum(r['other_s'] for r in kept) / cpu:.2%} of CPU time")


def show():
    total = 0
    for index in sorted(OUT.glob("*/*.json")):
        rows = json.loads(index.read_text())
        sizes = [sum(f.stat().st_size for f in path.rglob("*") if f.is_file()) for path in index.parent.glob("*.cw")]
        total += sum(sizes) * (index.name == "index.json")
        size = f"; {len(sizes)} folders, the largest {max(sizes) / 1e6:.2f} MB" if index.name == "index.json" else ""
        print(f"{index.parent.name}/{index.name}: {noise(rows)}{size}")
    print(f"{total / 1e6:.0f} MB in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
