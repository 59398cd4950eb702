#!/usr/bin/env python3
"""What the probes of `corewise bench` find in guests whose CPUs differ, and in guests with two threads a core.

    acceptance/bench_guest.py --binary MEASURE [--case CASE…] [--probe PROBE…] [--seconds N]

The guests are emulated (QEMU, aarch64), so their times mean nothing; what differs between their CPUs does. MEASURE is the example `measure` of
crates/bench, built for aarch64 with a static C library:

    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \\
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS='-C target-feature=+crt-static' \\
    cargo build -p corewise-bench --example measure --target aarch64-unknown-linux-gnu

The cases:

    quota      two CPUs, whose host threads are bound to a CPU each; one has a quota of 42 % (1 ms of 2.381 ms), and the device tree says that it is
               the faster one. Required: the slow CPU is found at 0.42 of the other's speed within 10 %, and the schedules are ranked in the
               order in which they were measured: bound equal parts last, many chunks before few
    siblings   four CPUs, two threads a core: pairs are named siblings or the same cluster, and no thread was elsewhere
    unequal    four CPUs of two capacities: pairs across are named other type, and no thread was elsewhere

Needs root, cgroup v1 or v2 with the controller cpu, and what acceptance/guests_pmu.py needs (its kernel is used). Exits 1 if a case falls short.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import initrd
from pmu import guest

# The kernel refuses quotas below 1 ms, so 42 % of 1 ms cannot be had: 1 ms of the shortest period that makes 42 %.
QUOTA, QUOTA_US, PERIOD_US = 0.42, 1000, 2381
SLOW, FAST = ("arm,cortex-a53-pmu", 446), ("arm,cortex-a72-pmu", 1024)
INIT = """#!/bin/sh
export PATH=/bin HOME=/tmp
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
for i in 0 1 2 3; do f=/sys/devices/system/cpu/cpu$i; [ -d $f ] && echo CPU $i `cat $f/cpu_capacity` `cat $f/topology/thread_siblings_list`; done
echo READY
sleep 2
for p in {probes}; do echo PROBE $p; measure $p {seconds} 2>&1; done
echo GUEST DONE
poweroff -f
"""
# A figure as the example prints it.
FIGURE = re.compile(r"^(\w+) +(\w*) +\[([\d, ]*)\] \{(.*?)\} (\S+) \[(\S+), (\S+)\] next .* n (\d+) d (\d+) m (\d+) control (.*)$")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", type=Path, required=True)
    args.add_argument("--case", nargs="*", default=list(CASES), choices=CASES)
    args.add_argument("--probe", nargs="*", help="instead of the case's own")
    args.add_argument("--seconds", type=int, default=40, help="for each probe")
    args = args.parse_args()
    wrong = []
    for name in args.case:
        machine, quota, probes, judge = CASES[name]
        with tempfile.TemporaryDirectory(prefix="bench-guest-") as tmp:
            said = run(Path(tmp), args.binary, machine, quota, args.probe or probes, args.seconds)
        figures = [figure for line in said if (figure := figure_of(line))]
        print(f"== {name}")
        print("\n".join(line for line in said if line.startswith(("CPU ", "PROBE")) or figure_of(line) or " " in line and not line.startswith("[ ")))
        fails = judge(figures, said)
        print(f"{name}: {'as required' if not fails else '; '.join(fails)}")
        wrong += [name] if fails else []
    return int(bool(wrong))


def run(tmp, binary, machine, quota, probes, seconds):
    """Boots the machine and measures; returns the lines that the guest printed."""
    kernel, sysroot, _ = guest.packages()
    root = tmp / "root"
    initrd.begin(root, sysroot / "bin/busybox", guest.BUSYBOX)
    (root / "bin/measure").write_bytes(binary.read_bytes())
    (root / "bin/measure").chmod(0o755)
    initrd.add_script(root / "init", INIT.format(probes=" ".join(probes), seconds=seconds))
    disk = initrd.pack(root, tmp / "disk", compressed=False)
    kit = guest.Kit(next(kernel.glob("vmlinuz-*")), disk, disk, tmp)
    command = guest.options(machine)
    if machine.kinds:
        command += ["-dtb", guest.tree_of(kit, machine)]
    command += ["-accel", "tcg,thread=multi", "-name", "bench,debug-threads=on", "-serial", "stdio", "-no-reboot", "-kernel", kit.kernel,
                "-initrd", disk, "-append", "console=ttyAMA0 rdinit=/init loglevel=4 panic=-1"]
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace")
    stop = threading.Timer(60 + len(probes) * (seconds * 3 + 60), process.kill)
    stop.start()
    lines, group = [], None
    try:
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith("READY") and quota is not None:
                group = limit(process.pid, quota)
    finally:
        stop.cancel()
        process.kill()
        process.wait()
        if group:
            throttled = (group / "cpu.stat").read_text().split()
            lines.append(f"host: the quota stopped the thread in {throttled[3]} of {throttled[1]} periods")
            remove(group)
    if "GUEST DONE" not in lines:
        raise SystemExit(f"the guest {machine.name} did not end well; it printed at last:\n" + "\n".join(lines[-20:]))
    return lines


def limit(pid, cpu):
    """Binds each CPU's thread to a CPU of this machine, and gives that of `cpu` a quota. Returns its control group."""
    hosts = sorted(os.sched_getaffinity(0))
    threads = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        found = re.match(r"CPU (\d+)/TCG", (task / "comm").read_text())
        if found:
            threads[int(found[1])] = int(task.name)
    for number, tid in threads.items():
        os.sched_setaffinity(tid, {hosts[number % len(hosts)]})
    group = Path("/sys/fs/cgroup/cpu/corewise-bench-guest")
    if not group.parent.is_dir():
        raise SystemExit("no control groups of version 1 with the controller cpu here: mount them at /sys/fs/cgroup/cpu")
    group.mkdir(exist_ok=True)
    (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (group / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
    (group / "tasks").write_text(str(threads[cpu]))
    return group


def remove(group):
    """Removes the control group: its thread ended, which the kernel may see a little later."""
    for _ in range(20):
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(0.1)


def figure_of(line):
    """Returns a line of the example as a dictionary; None of another one."""
    found = FIGURE.match(line)
    if not found:
        return None
    parameters = dict(re.findall(r'"(\w+)": "([^"]*)"', found[4]))
    return {"figure": found[1], "pair": found[2], "cpus": found[3].split(", "), "parameters": parameters, "value": float(found[5]),
            "low": float(found[6]), "high": float(found[7]), "rounds": int(found[8]), "misplaced": int(found[10])}


def judge_quota(figures, said):
    fails = []
    def of(figure, schedule, chunks=None):
        rows = [f for f in figures if f["figure"] == figure and f["parameters"]["schedule"] == schedule and chunks in (None, f["parameters"]["chunks"])]
        return rows[0] if rows else fails.append(f"no {figure} of {schedule}")
    bound, many = of("makespan", "affinity"), of("makespan", "dynamic", "128")
    bound_model, many_model = of("model", "affinity"), of("model", "dynamic", "1024")
    if fails:
        return fails
    # The model's makespans follow from the measured speeds 1 and r: bound equal parts take 1/2 / r of the whole work, 1024 chunks 1 / (1 + r).
    share = many_model["value"] / bound_model["value"]
    ratio = share / (2 - share)
    print(f"speed of the slow CPU over the fast one: {ratio:.3f} (quota {QUOTA})")
    if abs(ratio / QUOTA - 1) > 0.1:
        fails.append(f"the ratio is {ratio:.3f}, not {QUOTA} within 10 %")
    if not many["high"] < bound["low"]:
        fails.append("128 chunks are not faster than bound equal parts")
    ranks = [line for line in said if line.startswith("schedules, fastest first")]
    if len(ranks) != 1 or "affinity" not in ranks[0].split("; ")[-1]:
        fails.append("the ranking does not end with the bound equal parts")
    return fails


def judge_pairs(*classes):
    def judge(figures, _):
        pairs = {f["pair"] for f in figures if f["pair"]}
        fails = [f"no pair is named {name}" for name in classes if name not in pairs]
        return fails + [f"{f['figure']} on {f['cpus']}: misplaced" for f in figures if f["misplaced"]]
    return judge


CASES = {
    "quota": (guest.Machine("quota", 2, (((0,), *SLOW), ((1,), *FAST))), 1, ["chunks"], judge_quota),
    "siblings": (guest.Machine("siblings", "4,sockets=1,cores=2,threads=2"), None, ["lock", "switch"], judge_pairs("sibling", "same_cpu")),
    "unequal": (guest.Machine("unequal", 4, (((0, 1), *SLOW), ((2, 3), *FAST))), None, ["lock", "switch"], judge_pairs("other_type", "same_cpu")),
}

if __name__ == "__main__":
    sys.exit(main())
