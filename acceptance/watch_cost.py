#!/usr/bin/env python3
"""The cost of watching: three loads bare, under `corewise watch`, under `corewise record --no-sample --no-irq` and under a bpftrace program that adds up the
same by cgroup (running time, histograms of ready latency and run length), in turn, for some rounds; medians of the time that the load itself prints. Then one more round under `corewise watch` with kernel.bpf_stats_enabled=1: the run time of the BPF programs
over the busy CPU time (the statistics themselves cost some 20 ns a run, so times are taken without them). Then an idle machine, for
`--idle` seconds, and at last the memory after 10,000 groups.

    COREWISE=target/release/corewise acceptance/watch_cost.py --rounds 5

Exit code 1 if a cost is higher than it may be: BPF time at most 1 % of the busy time of a compilation and 3 % of messaging; the pipe never
slower than under `record`, by the medians; at most 0.1 % of a CPU when idle (reported only where other processes kept the CPUs busy); 32 MB for 10,000 groups.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import corewise
from measured import median
from pipe_cost import COMPILE, bare, by_corewise, run, seconds_of
from scraped import Watching, free_port

STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")

# What comes nearest in bpftrace: no core types, no siblings, nothing about what ran meanwhile.
COUNTED = """
BEGIN { printf("attached\\n"); }
tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new { @ready[args->pid] = nsecs; }
tracepoint:sched:sched_switch {
    $prev = args->prev_pid;
    $next = args->next_pid;
    $state = args->prev_state;
    $began = @began[cpu];
    if ($prev != 0 && $began != 0) {
        @running[cgroup] = sum(nsecs - $began);
        @run_length[cgroup] = hist(nsecs - $began);
    }
    if ($prev != 0 && $state == 0) { @ready[$prev] = nsecs; }
    $ready = @ready[$next];
    if ($ready != 0) {
        @ready_latency[cgroup] = hist(nsecs - $ready);
        delete(@ready[$next]);
    }
    @began[cpu] = nsecs;
}
"""


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--loops", type=int, default=200_000, help="loops of the pipe (200000)")
    args.add_argument("--by", default="cgroup", choices=["cgroup", "process", "none"])
    args.add_argument("--load", action="append", choices=["pipe", "messaging", "compile", "none"])
    args.add_argument("--idle", type=int, default=10, help="seconds of the idle machine (10; 0: not)")
    args = args.parse_args()
    corewise.need_binary()
    loads = {
        "pipe": ["taskset", "-c", "0", "perf", "bench", "sched", "pipe", "-l", str(args.loops)],
        "messaging": ["perf", "bench", "sched", "messaging", "-g", "4", "-l", "1000"],
        "compile": ["bash", "-c", COMPILE, str(Path(__file__).parent)],
    }
    ways = {"bare": bare, "watch": by_watch(args.by), "record": by_corewise("--no-sample", "--no-irq")}
    if shutil.which("bpftrace"):
        ways["bpftrace"] = by_bpftrace
    else:
        print("bpftrace: skipped: apt-get install bpftrace", file=sys.stderr)
    rows, wrong = [], []
    for load in [load for load in args.load or loads if load in loads]:
        found = {way: [] for way in ways}
        with tempfile.TemporaryDirectory(prefix="watch-cost-") as tmp:
            for n in range(args.rounds):
                # Another one begins each time: what comes first may find the machine in another state.
                order = list(ways)[n % len(ways):] + list(ways)[:n % len(ways)]
                for way in order:
                    found[way].append(ways[way](Path(tmp), loads[load])["seconds"])
                print(f"{load}, round {n + 1}: " + ", ".join(f"{way} {found[way][-1]:.3f} s" for way in ways), file=sys.stderr, flush=True)
        medians = {way: median(found[way]) for way in ways}
        share, snapshot = bpf_share(loads[load], args.by)
        limit = {"compile": 0.01, "messaging": 0.03}.get(load)
        if limit and share > limit:
            wrong.append(f"{load}: BPF time is {share:.2%} of the busy CPU time, more than {limit:.0%}")
        if load == "pipe" and medians["watch"] > medians["record"]:
            wrong.append("pipe: slower under watch than under record")
        switches = sum(cpu["switches"] for cpu in snapshot["cpus"])
        rows.append([load, *(f"{medians[way]:.3f}" for way in ways), *(f"{medians[way] / medians['bare']:.3f}" for way in ways if way != "bare"), f"{share:.2%}", f"{switches}",
                     f"{snapshot['health']['bpf_ns'] / max(1, switches):.0f}"])
    if rows:
        corewise.print_table(["load", *(f"{way} s" for way in ways), *(f"{way}/bare" for way in ways if way != "bare"), "BPF/busy", "switches", "BPF ns/switch"], rows)
    if args.idle:
        with Statistics():
            seen = watched(["--for", f"{args.idle}s", "--by", args.by])
        busy = running(seen) / (args.idle * 1e9)
        cost = seen["health"]["bpf_ns"] / (args.idle * 1e9)
        print(f"idle for {args.idle} s: BPF programs {cost:.4%} of a CPU; other processes kept {busy:.2f} CPUs busy")
        if busy < 0.1 and cost > 0.001:
            wrong.append("idle: more than 0.1 % of a CPU")
    memory = after_many_groups(10_000)
    print("after 10,000 groups: " + ", ".join(f"{name} {value:.0f}" for name, value in memory.items()))
    if memory["kernel bytes"] + memory["process bytes"] > 32e6:
        wrong.append("memory: more than 32 MB after 10,000 groups")
    for what in wrong:
        print(f"WRONG {what}")
    return 1 if wrong else 0


def by_watch(by):
    """Runs a load under `corewise watch`; its output is on standard error then."""

    def watch(_tmp, bench):
        return {"seconds": seconds_of(run([corewise.BINARY, "watch", "--format", "json", "--by", by, "--", *bench]))}

    return watch


def by_bpftrace(_tmp, bench):
    tracer = subprocess.Popen(["bpftrace", "-q", "-e", COUNTED], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    while tracer.stdout.readline().strip() != "attached":
        if tracer.poll() is not None:
            sys.exit(f"bpftrace: exit {tracer.returncode}")
    try:
        return {"seconds": seconds_of(run(bench))}
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()


def watched(arguments):
    done = subprocess.run([corewise.BINARY, "watch", "--format", "json", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"corewise watch {' '.join(arguments)}: exit {done.returncode}\n{done.stderr[-1000:]}")
    return json.loads(done.stdout)


def after_many_groups(count):
    """Returns what the sums and the process take when that many processes, each with a name of its own, have come and gone."""
    watching = Watching(free_port(), ["--by", "process"])
    try:
        for n in range(count):
            child = os.fork()
            if child == 0:
                Path("/proc/self/comm").write_text(f"many-{n}")
                time.sleep(0.0002)
                os._exit(0)
            os.waitpid(child, 0)
            if n % 100 == 0:
                metrics(watching)
        time.sleep(1)
        found = metrics(watching)
        return {
            "groups seen": found["corewise_watch_groups_seen_total"],
            "without a place, times": found["corewise_watch_group_overflows_total"],
            "groups at the same time": found["corewise_watch_groups_limit"],
            "kernel bytes": found["corewise_watch_kernel_memory_bytes"],
            "process bytes": 1024 * watching.status("RssAnon"),
        }
    finally:
        watching.process.kill()
        watching.process.wait()


def metrics(watching):
    """Returns the metrics without labels, by name."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{watching.port}/metrics", timeout=10).read().decode()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#") if "{" not in name}


def running(snapshot):
    return sum(cpu["busy_ns"] for cpu in snapshot["cpus"])


def bpf_share(bench, by):
    """Returns the run time of the BPF programs over the busy CPU time while a load runs."""
    with Statistics():
        seen = watched(["--by", by, "--", *bench])
    return seen["health"]["bpf_ns"] / running(seen), seen


class Statistics:
    """The kernel measures the run time of BPF programs."""

    def __enter__(self):
        self.before = STATISTICS.read_text()
        STATISTICS.write_text("1")

    def __exit__(self, *_):
        STATISTICS.write_text(self.before)


if __name__ == "__main__":
    sys.exit(main())
