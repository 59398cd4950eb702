#!/usr/bin/env python3
"""Do the alerts of docs/watch fire where they should, and only there? A real Prometheus scrapes `corewise watch --listen` while programs run.

    sudo acceptance/watch_alerts.py [--only NAME…] [--seconds 120]

Each load runs alone, with a new watcher and a new Prometheus, for `--seconds`. Rates are over 1 minute and `for` is 30 s; thresholds are as in the files. Faults are
programs with a fault, or a fault of the watcher itself; two of them need a core with two threads or cores of two types, which `--machine` describes where there are none.
Healthy loads are ordinary work, some of it on all CPUs. Printed are the alerts that fired, and the share of CPU time that was busy.

CorewiseCaptureLost is left out: on virtual machines that hide switches it fires, and rightly. Exits 1 if an alert is missing or is false. Needs root,
a cgroup hierarchy with the CPU controller, Debian's prometheus, and an otherwise idle machine.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corewise
from loads import write_sources
from scraped import Prometheus, Watching, cgroup_root, free_port

SIBLINGS = 'siblings = ["0-1"]\n[[cpus]]\nids = "0-1"\n'
TYPES = '[[cpus]]\nids = "0"\ntype = "performance"\n[[cpus]]\nids = "1"\ntype = "efficient"\n'
SPIN = "sh -c 'while :; do :; done'"
AGAIN = "while :; do {}; done"
# Processes with names of their own that are active all the time.
MANY = """exec python3 -c '
import os, time
for n in range(1300):
    if os.fork() == 0:
        open("/proc/self/comm", "w").write(f"many-{n}")
        while True:
            time.sleep(1)
time.sleep(1000)'"""

# name: (the command, what --machine says, options of watch, the alerts that must fire, those that may)
FAULTS = {
    "pinned": (f"for n in 0 1 2; do taskset -c 0 {SPIN} & done; wait", "", [], {"CorewiseReadyLatencyWithIdleCpus"}, set()),
    "pinned make": (AGAIN.format("taskset -c 1 make -s -B -j4 -f big.mk"), "", [], {"CorewiseReadyLatencyWithIdleCpus"}, set()),
    "quota": ("echo $$ > {group}/cgroup.procs; for n in 1 2; do " + SPIN + " & done; wait", "", [], {"CorewiseThrottledWithoutNeed"}, {"CorewiseReadyLatencyWithIdleCpus"}),
    "siblings": (f"for n in 1 2; do {SPIN} & done; wait", SIBLINGS, [], {"CorewiseSiblingsSaturated"}, set()),
    "efficient idle": (f"for n in 1 2 3; do taskset -c 0 {SPIN} & done; wait", TYPES, [],
                       {"CorewiseEfficientCoresIdleWhilePerformanceCoresWait"}, {"CorewiseReadyLatencyWithIdleCpus"}),
    "groups": (MANY, "", ["--by", "process"], {"CorewiseGroupsOverflow"}, set()),
    "killed": ("kill -9 {pid}; sleep 1000", "", [], {"CorewiseDown"}, set()),
}
HEALTHY = {
    "idle": ("sleep 1000", ""),
    "compile": (AGAIN.format("make -s -B -j2 -f big.mk"), ""),
    "compile, now and then": (AGAIN.format("make -s -B -j2 -f big.mk; sleep 8"), ""),
    "one thread": (SPIN, SIBLINGS),
    "numbers": (AGAIN.format("python3 -c 'print(sum(n * n % 7 for n in range(10**7)))'"), TYPES),
    "sort": (AGAIN.format("sort -S 50M --parallel=2 -o {tmp}/sorted {tmp}/text"), ""),
    "compression": (AGAIN.format("xz -T2 -2 -k -c {tmp}/text > {tmp}/text.xz"), ""),
    "disk": (AGAIN.format("dd if=/dev/zero of={tmp}/io bs=64k count=2000 conv=fsync status=none; sleep 0.5"), ""),
    "messages": (AGAIN.format("perf bench sched messaging -g 1 -l 500 > {tmp}/log; sleep 0.2"), ""),
    "within its quota": ("echo $$ > {group}/cgroup.procs; " + AGAIN.format("timeout 0.01 sh -c 'while :; do :; done'; sleep 0.3"), ""),
}


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--seconds", type=int, default=120)
    args.add_argument("--only", nargs="*", choices=[*FAULTS, *HEALTHY])
    args = args.parse_args()
    corewise.need_binary()
    loads = FAULTS | {name: (command, machine, [], set(), set()) for name, (command, machine) in HEALTHY.items()}
    rows, wrong = [], []
    for name in args.only or loads:
        command, machine, options, must, may = loads[name]
        fired, busy = watched(command, machine, options, args.seconds)
        holds = must <= fired <= must | may
        wrong += [] if holds else [name]
        rows.append([name, "fault" if name in FAULTS else "healthy", busy, ", ".join(sorted(must)) or "none", ", ".join(sorted(fired)) or "none", "yes" if holds else "NO"])
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    corewise.print_table(["load", "kind", "busy", "expected", "fired", "holds"], rows)
    print(f"{len(rows) - len(wrong)} of {len(rows)} hold")
    return 1 if wrong else 0


def watched(command, machine, options, seconds):
    """Runs a load. Returns the alerts that fired, and the share of CPU time that was busy."""
    root, quota_file, quota_form = cgroup_root()
    group = root / f"corewise-alerts-{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix="watch-alerts-") as tmp:
        tmp = Path(tmp)
        write_sources(tmp)
        (tmp / "text").write_text("\n".join(f"{n * 7919 % 1000003} line {n}" for n in range(500_000)))
        if machine:
            (tmp / "machine.toml").write_text(machine)
            options = [*options, "--machine", str(tmp / "machine.toml")]
        watching = Watching(free_port(), options)
        prometheus = Prometheus(tmp, watching.port)
        group.mkdir()
        (group / quota_file).write_text(quota_form.format(20_000))
        command = command.replace("{tmp}", str(tmp)).replace("{group}", str(group)).replace("{pid}", str(watching.process.pid))
        load = subprocess.Popen(["sh", "-c", command], cwd=tmp, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            time.sleep(seconds)
            window = f"{seconds - 30}s"
            fired = {labels["alertname"] for labels, _ in prometheus.query(f'max_over_time(ALERTS{{alertstate="firing"}}[{window}])')}
            busy = prometheus.value(f"avg_over_time(instance:corewise_cpu_busy:ratio_rate1m[{window}])")
        finally:
            os.killpg(load.pid, signal.SIGKILL)
            load.wait()
            watching.process.kill()
            watching.process.wait()
            prometheus.process.terminate()
            prometheus.process.wait()
            time.sleep(0.5)
            group.rmdir()
    return fired - {"CorewiseCaptureLost"}, "-" if busy is None else f"{busy:.2f}"


if __name__ == "__main__":
    sys.exit(main())
