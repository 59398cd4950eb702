#!/usr/bin/env python3
"""Compares figures of crates/bench with other programs that measure the same quantity, in turn, on the same CPUs.

    acceptance/bench_peers.py --binary MEASURE [--runs N] [--seconds N] [--core-to-core PROGRAM]

MEASURE is the example `measure` of crates/bench. Each run starts each peer once and the probe once, so that what changes slowly changes both
alike; printed are the medians over the runs (5), their ratio, and what explains a ratio that is further from 1 than 10 %. The peers
(Debian's linux-perf, hackbench from rt-tests, cyclictest from rt-tests, stress-ng; core-to-core-latency from crates.io) are used where they are
installed. Where a peer hands over between threads of one CPU, its time is divided by the switches that the kernel counted for it
(getrusage), since each of these programs counts other steps as one operation. Exits 1 if a peer's ratio is neither within 10 % nor explained.
"""

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import corewise

AGREED = 0.10
# A figure as the example prints it.
FIGURE = re.compile(r"^(\w+) +(\w*) +\[([\d, ]*)\] \{(.*?)\} (\S+) \[(\S+), (\S+)\] next .* n (\d+) d (\d+) m (\d+) control (.*)$")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", type=Path, required=True)
    args.add_argument("--runs", type=int, default=5)
    args.add_argument("--seconds", type=int, default=6, help="for each probe in each run")
    args.add_argument("--core-to-core", default="core-to-core-latency")
    args = args.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    peers = [peer for peer in peers_of(cpus, args.core_to_core) if shutil.which(peer["command"][0])]
    missing = {peer["command"][0] for peer in peers_of(cpus, args.core_to_core)} - {peer["command"][0] for peer in peers}
    own, others = {}, {peer["name"]: [] for peer in peers}
    for _ in range(args.runs):
        for peer in peers:
            others[peer["name"]].append(measured(peer, cpus))
        for probe in sorted({peer["probe"] for peer in peers}):
            for figure in figures(args.binary, probe, args.seconds):
                for peer in peers:
                    if peer["probe"] == probe and peer["of"](figure):
                        own.setdefault(peer["name"], []).append(figure["value"])
    rows, wrong = [], False
    for peer in peers:
        theirs, ours = [v for v in others[peer["name"]] if v], own.get(peer["name"], [])
        if not theirs or not ours:
            rows.append([peer["name"], "-", "-", "-", "no figure"])
            wrong = True
            continue
        a, b = statistics.median(theirs), statistics.median(ours)
        agreed = abs(b / a - 1) <= AGREED
        rows.append([peer["name"], f"{a:.0f}", f"{b:.0f}", f"{b / a:.2f}", "agreed" if agreed else peer["why"] or "NOT EXPLAINED"])
        wrong |= not agreed and not peer["why"]
        print(f"{peer['name']}: theirs {[round(v) for v in theirs]}, corewise {[round(v) for v in ours]}")
    corewise.print_table(["peer", "its ns", "corewise ns", "ratio", "agreed or why not"], rows)
    if missing:
        print(f"not installed: {', '.join(sorted(missing))}")
    return int(wrong)


def figures(binary, probe, seconds):
    said = subprocess.run([binary, probe, str(seconds)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    return [figure for line in said.splitlines() if (figure := figure_of(line))]


def figure_of(line):
    """Returns a line of the example as a dictionary; None of another one."""
    found = FIGURE.match(line)
    if not found:
        return None
    return {"figure": found[1], "pair": found[2], "cpus": found[3].split(", "), "parameters": dict(re.findall(r'"(\w+)": "([^"]*)"', found[4])),
            "value": float(found[5])}


def measured(peer, cpus):
    """Runs a peer; returns its figure in ns, None if it printed none."""
    def pin():
        os.sched_setaffinity(0, cpus[:1] if peer["one_cpu"] else cpus)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(peer["command"], stdin=subprocess.DEVNULL, capture_output=True, text=True, preexec_fn=pin, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    switches = after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw
    found = re.search(peer["prints"], re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr))
    if not found:
        return None
    value = float(found[1]) * peer["ns"]
    return value / max(switches, 1) if peer["a_switch"] else value


def peers_of(cpus, core_to_core):
    def on_one(name):
        return lambda f: f["figure"] == name and f["pair"] == "same_cpu" and f["cpus"] == [str(cpus[0])]
    def peer(name, command, prints, ns, probe, of, why="", one_cpu=True, a_switch=False):
        return {"name": name, "command": command, "prints": prints, "ns": ns, "probe": probe, "of": of, "why": why, "one_cpu": one_cpu,
                "a_switch": a_switch}
    pipe = on_one("pipe")
    found = [
        peer("perf bench sched pipe -T, per switch", ["perf", "bench", "sched", "pipe", "-T", "-l", "50000"], r"Total time: ([\d.]+)", 1e9, "switch",
             pipe, a_switch=True),
        peer("perf bench sched pipe, per switch", ["perf", "bench", "sched", "pipe", "-l", "50000"], r"Total time: ([\d.]+)", 1e9, "switch", pipe,
             "its threads are processes: each switch also changes the address space", a_switch=True),
        peer("stress-ng --switch pipe, per switch",
             ["stress-ng", "--switch", "1", "--switch-method", "pipe", "--switch-ops", "50000", "--metrics"],
             r"switch +\d+ +([\d.]+)", 1e9, "switch", pipe,
             "processes, and one direction only: the writer goes on until the pipe is full, so a switch has another number of calls", a_switch=True),
        peer("hackbench -p -T, per switch", ["hackbench", "-p", "-T", "-g", "1", "-f", "1", "-l", "200000"], r"Time: ([\d.]+)", 1e9, "switch", pipe,
             "a stream of 100-byte messages in one direction: many writes and reads for each switch", a_switch=True),
        peer("cyclictest, fifo, mean latency", ["cyclictest", "-t1", "-p80", f"-a{cpus[0]}", "-i1000", "-l1000", "-q"], r"Avg: *(\d+)", 1e3, "sleep",
             lambda f: f["figure"] == "late" and f["cpus"] == [str(cpus[0])] and f["parameters"].get("asked_us") == "1000"
             and f["parameters"].get("policy") == "fifo",
             "it keeps deep idle states away (/dev/cpu_dma_latency 0) and prints the mean in whole microseconds, corewise the median"),
        peer("core-to-core-latency", [core_to_core, "-b", "1", "1000", "300"], r"Mean latency: ([\d.]+)", 1, "lock",
             lambda f: f["figure"] == "line" and f["cpus"] == [str(cpus[0]), str(cpus[-1])], one_cpu=False),
    ]
    return found if len(cpus) > 1 else found[:-1]


if __name__ == "__main__":
    sys.exit(main())
