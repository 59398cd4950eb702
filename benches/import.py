#!/usr/bin/env python3
"""Import and report of a long perf.data, compared with perf, and with trace-cmd per event.

Makes the recordings if they do not exist yet (perf bench sched messaging: 4 and 16 million events by perf sched
record, and a trace.dat of the same load), then runs each program on them in turn, for some rounds, and prints medians: wall
and CPU time, peak anonymous memory (the largest RssAnon of /proc/PID/status, children included, read every 5 ms) and
maxrss, and the ratio of each to `perf sched timehist --summary`.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "acceptance"))

import corewise  # noqa: E402 (next to the acceptance scripts)
import perf_data  # noqa: E402
from measured import median, run  # noqa: E402

FTRACE_REC = corewise.SHARED / "bin/ftrace-rec.py"
EVENTS_A_LOOP = 435  # of perf bench sched messaging -g 10, on two CPUs; it depends on the machine: see recording
TRACE_DAT_EVENTS = "sched:sched_switch,sched:sched_waking,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_migrate_task," \
    "sched:sched_stat_runtime,sched:sched_process_fork"


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "corewise-bench", help="where the recordings are kept")
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--events", type=float, default=4, help="millions in the shorter recording (4); the longer has 4 times as many")
    args.add_argument("--no-long", action="store_true", help="without the longer recording")
    args.add_argument("--no-trace-dat", action="store_true", help="without trace-cmd")
    args.add_argument("--peers-only", action="store_true", help="without corewise")
    args = args.parse_args()
    if not shutil.which("perf"):
        sys.exit("skipped: no perf on this machine (package linux-perf)")
    if not args.peers_only:
        corewise.need_binary()
    args.dir.mkdir(parents=True, exist_ok=True)
    short = recording(args.dir / f"{args.events:g}m.data", args.events)
    long = None if args.no_long else recording(args.dir / f"{4 * args.events:g}m.data", 4 * args.events)
    dat = None if args.no_trace_dat else trace_dat(args.dir / "messaging.dat")

    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as tmp:
        folder = Path(tmp) / "out.cw"
        plan = [(name, short, command) for name, command in commands(short, folder, not args.peers_only).items()]
        if long:
            plan += [(name, long, command) for name, command in commands(long, folder, not args.peers_only).items()
                     if name.startswith("corewise") or "timehist" in name]
        if dat:
            plan.append(("trace-cmd report", dat, ["trace-cmd", "report", "-i", dat]))
        found = measure(plan, folder, args.rounds)
    show(plan, found, {path: events_of(path) for path in {p for _, p, _ in plan}})


def commands(path, folder, ours):
    peers = {
        "perf sched timehist --summary": ["perf", "sched", "-i", path, "timehist", "--summary"],
        "perf sched latency": ["perf", "sched", "-i", path, "latency"],
        "perf script": ["perf", "script", "-i", path],
    }
    return peers if not ours else {
        "corewise import": [corewise.BINARY, "import", path, "-o", folder],
        "corewise report FILE": [corewise.BINARY, "report", path],
        **peers,
    }


def measure(plan, folder, rounds):
    """Runs the programs in turn, so that other work on this machine affects all of them."""
    found = {i: [] for i in range(len(plan))}
    for n in range(rounds):
        for i, (name, path, command) in enumerate(plan):
            shutil.rmtree(folder, ignore_errors=True)
            warm(path)
            one = run(command)
            if one.exit:
                sys.exit(f"{name} {path}: exit {one.exit}: {one.err[-500:]}")
            found[i].append(one)
            print(f"round {n + 1} {name} {path.name}: {one.wall_s:.2f} s, {one.anon_kb // 1024} MB", file=sys.stderr, flush=True)
    return found


def warm(path):
    """Reads the file into the page cache."""
    with open(path, "rb", buffering=0) as file:
        block = bytearray(1 << 20)
        while file.readinto(block):
            pass


def show(plan, found, events):
    middles = {i: {what: median([getattr(one, what) for one in all_of]) for what in ("wall_s", "cpu_s", "anon_kb", "maxrss_kb")}
               for i, all_of in found.items()}
    timehist = {path: middles[i] for i, (name, path, _) in enumerate(plan) if "timehist" in name}
    rows = []
    for i, (name, path, _) in enumerate(plan):
        m, base = middles[i], timehist.get(path)
        ratio = [f"{m[what] / base[what]:.2f}" if base else "-" for what in ("wall_s", "cpu_s", "anon_kb")]
        rows.append([name, path.name, f"{m['wall_s']:.2f}", f"{m['cpu_s']:.2f}", f"{m['anon_kb'] / 1024:.0f}",
                     f"{m['maxrss_kb'] / 1024:.0f}", *ratio, f"{1e9 * m['wall_s'] / events[path]:.0f}" if events[path] else "-"])
    print("\n".join(f"{path.name}: {n} events, {path.stat().st_size / 1e6:.0f} MB" for path, n in sorted(events.items())))
    corewise.print_table(["program", "file", "wall s", "CPU s", "RssAnon MB", "maxrss MB", "wall/timehist", "CPU/timehist",
                          "RssAnon/timehist", "ns/event"], rows)


def events_of(path):
    if path.suffix == ".data":
        return perf_data.counts_apart(path)["events"]
    count = Path(f"{path}.events")  # trace-cmd counts only by printing all of them
    if not count.exists():
        printed = subprocess.Popen(["trace-cmd", "report", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        lines = sum(block.count(b"\n") for block in iter(lambda: printed.stdout.read(1 << 20), b""))
        count.write_text(str(lines - 1))  # the first line is the number of CPUs
    return int(count.read_text())


def recording(path, millions):
    """Records this many events with perf sched record. The reader is a real-time task with large buffers, so that nothing is lost. The
    number of events per loop depends on the machine: a recording that is too short is repeated with more loops."""
    wanted, a_loop = millions * 1e6, EVENTS_A_LOOP
    while not path.exists():
        print(f"recording {path}: takes a minute for each 4 million events", file=sys.stderr, flush=True)
        made = path.with_suffix(".making")
        subprocess.run(["perf", "sched", "record", "-r", "1", "-m", "4096", "-o", made,
                        "perf", "bench", "sched", "messaging", "-g", "10", "-l", str(int(1.05 * wanted / a_loop))],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        seen = perf_data.counts_apart(made)["events"]
        if seen >= wanted or a_loop < EVENTS_A_LOOP / 4:
            made.rename(path)
        a_loop *= min(seen / (1.05 * wanted), 0.9)
    seen = perf_data.counts_apart(path)
    print(f"{path.name}: {seen['events']} events, perf lost {seen['lost']}", file=sys.stderr, flush=True)
    return path


def trace_dat(path):
    """Records the same load, for some seconds, as a trace.dat; None if that is not possible here."""
    if not path.exists():
        if not shutil.which("trace-cmd") or not FTRACE_REC.exists() or os.geteuid():
            print("trace-cmd report: skipped: needs root, trace-cmd and ftrace-rec.py", file=sys.stderr)
            return None
        done = subprocess.run([FTRACE_REC, path, TRACE_DAT_EVENTS, "--", "perf", "bench", "sched", "messaging", "-g", "10", "-l", "1000"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode or not path.exists():
            print(f"trace-cmd report: skipped: {done.stderr.strip()[-300:]}", file=sys.stderr)
            return None
        lost = sum(map(int, re.findall(r"(?:overrun|dropped events): (\d+)", done.stderr)))
        print(f"{path.name}: ftrace lost {lost}", file=sys.stderr)
    return path


if __name__ == "__main__":
    sys.exit(main())
