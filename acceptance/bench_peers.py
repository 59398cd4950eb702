#!/usr/bin/env python3
"""Compares figures of `corewise bench` with other programs that measure the same quantity, in turn, on the same CPUs.

    acceptance/bench_peers.py [--rounds N] [--budget TIME] [--core-to-core PROGRAM] [PEER…]

Each round measures a probe, then each of its peers, then the next probe, so that what changes slowly changes both alike. Printed are the medians
over the rounds (5), their ratio and the range of the ratios of single rounds. A peer agrees if the ratio is within 10 % of 1.

A peer that hands over between threads of one CPU may do more or less for a switch than a hand-over of corewise, which is a write of one byte, a
switch and the read of it. What it does is counted: its messages, and its switches (getrusage). Its time is then compared with

    messages x message + switches x (pipe - write_read) + switches x address space

of the same round. Its time is the CPU time of its threads, less that of a run with a single message: one of them always runs, so this is the time
that passed, without what other programs took. `pipe` and `write_read` are figures of corewise. `message` is the write and the read of a message of the peer's size by one
thread, as many in a row as the peer sends for a switch, in a process with as many threads, one or more (bench_peers_load.c). The address space, only for peers whose threads are processes, is
the difference of perf bench sched pipe with processes and with threads. A peer whose time this sum gives within 10 % is explained, any other one
is not; of the sum, the share of the switches says how much of it is corewise's.

The peers (Debian's linux-perf, rt-tests, stress-ng; core-to-core-latency from crates.io) are used where they are installed. The settings are in a
temporary folder. Exits 1 if a peer neither agrees nor is explained.
"""

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import corewise

AGREED = 0.10
# Runs of a peer in a round, of which the median counts.
RUNS = 5
LOAD = Path(__file__).with_name("bench_peers_load.c")
PIPE_BYTES = 65536
PERF_THREADS, PERF_PROCESSES = "perf bench sched pipe -T", "perf bench sched pipe"


@dataclass(frozen=True)
class Peer:
    """A program, what it prints, and the figure of corewise that is the same quantity."""
    name: str
    command: list
    # Of its output: returns its figure, ns. A peer with messages has none: its CPU time counts.
    read: object
    probe: str
    # Of the figures of a probe: returns the one that is the same quantity.
    of: object
    cpus: list
    # The messages of a run, each with a write and a read, and the command with almost none; 0: it hands nothing over.
    messages: int = 0
    empty: tuple = ()
    bytes: int = 1
    processes: bool = False


@dataclass
class Rounds:
    """What the rounds gave for a peer, a value each."""
    theirs: list = field(default_factory=list)
    ours: list = field(default_factory=list)
    # Its whole time, and what corewise's figures give for it.
    whole: list = field(default_factory=list)
    explained: list = field(default_factory=list)
    # Messages for each switch, and the switches' share of what is explained.
    messages: list = field(default_factory=list)
    shares: list = field(default_factory=list)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("peers", nargs="*", metavar="PEER", help="words of which the names of the peers contain one [all]")
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--budget", default="4s", help="of corewise for each probe in each round")
    args.add_argument("--core-to-core", default="core-to-core-latency")
    args = args.parse_args()
    corewise.need_binary()
    cpus = sorted(os.sched_getaffinity(0))
    wanted = [peer for peer in peers_of(cpus, args.core_to_core) if not args.peers or any(word in peer.name for word in args.peers)]
    peers = [peer for peer in wanted if shutil.which(peer.command[0])]
    found = {peer.name: Rounds() for peer in peers}
    with tempfile.TemporaryDirectory() as tmp:
        load = Path(tmp) / "load"
        subprocess.run(["cc", "-O2", "-pthread", "-o", load, LOAD], check=True)
        for count in range(args.rounds):
            for probe in sorted({peer.probe for peer in peers}):
                measure([peer for peer in peers if peer.probe == probe], args.budget, load, found)
            print(f"round {count + 1} of {args.rounds}", file=sys.stderr, flush=True)
    rows, wrong = [], []
    for peer in peers:
        row, well = judged(found[peer.name])
        rows.append([peer.name, *row])
        wrong += [] if well else [peer.name]
    corewise.print_table(["peer", "its ns", "corewise ns", "ratio", "of rounds", "messages a switch", "explained", "% by switches", "verdict"], rows)
    missing = sorted({peer.command[0] for peer in wanted} - {peer.command[0] for peer in peers})
    missing += [] if shutil.which(args.core_to_core) else [args.core_to_core]
    if missing:
        print(f"not installed: {', '.join(missing)}")
    print(f"neither agreed nor explained: {', '.join(wrong) or 'none'}")
    return int(bool(wrong))


def measure(peers, budget, load, found):
    """One round of a probe and its peers."""
    figures = measured_by_corewise(peers[0].probe, peers[0].cpus, budget)
    runs = {peer.name: run(peer) for peer in peers}
    for peer in peers:
        theirs, switches = runs[peer.name]
        ours = next((figure["estimate"]["value"] for figure in figures if peer.of(figure)), None)
        rounds = found[peer.name]
        if theirs is None or ours is None:
            continue
        rounds.ours.append(ours)
        rounds.theirs.append(theirs / switches if peer.messages else theirs)
        if not peer.messages:
            continue
        calls = next(figure["estimate"]["value"] for figure in figures if figure["figure"] == "write_read")
        by_switches = switches * (ours - calls + (address_space(runs) if peer.processes else 0))
        explained = peer.messages * message(load, peer, switches) + by_switches
        rounds.whole.append(theirs)
        rounds.explained.append(explained)
        rounds.messages.append(peer.messages / switches)
        rounds.shares.append(by_switches / explained)


def address_space(runs):
    """What a switch to another process takes more than one to another thread, ns; 0 if it was not measured."""
    (by_process, switches), (by_thread, of_threads) = (runs.get(name, (None, 1)) for name in (PERF_PROCESSES, PERF_THREADS))
    return by_process / switches - by_thread / of_threads if by_process and by_thread else 0


def message(load, peer, switches):
    """The write and the read of a message of a peer by one thread, ns."""
    in_a_row = min(max(1, round(peer.messages / switches)), PIPE_BYTES // peer.bytes)
    done = subprocess.run([load, str(peer.bytes), str(in_a_row), "1" if peer.processes else "2"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, peer.cpus))
    return float(done.stdout)


def judged(rounds):
    """Returns the cells of a peer's row, and whether it agrees or is explained."""
    if not rounds.theirs:
        return [*"-------", "no figure"], False
    theirs, ours = statistics.median(rounds.theirs), statistics.median(rounds.ours)
    ratio, each = ours / theirs, [ours / theirs for ours, theirs in zip(rounds.ours, rounds.theirs)]
    agrees = abs(ratio - 1) <= AGREED
    sums = [explained / whole for explained, whole in zip(rounds.explained, rounds.whole)]
    explained = bool(sums) and abs(statistics.median(sums) - 1) <= AGREED
    cells = [f"{theirs:.0f}", f"{ours:.0f}", f"{ratio:.2f}", f"{min(each):.2f}..{max(each):.2f}",
             *((f"{statistics.median(rounds.messages):.2f}", f"{statistics.median(sums):.2f}", f"{100 * statistics.median(rounds.shares):.0f}")
               if sums else "---")]
    return [*cells, "agreed" if agrees else "explained" if explained else "NOT EXPLAINED"], agrees or explained


def measured_by_corewise(probe, cpus, budget):
    """Returns the figures of a probe on these CPUs, as dicts."""
    with tempfile.TemporaryDirectory() as settings:
        command = [corewise.BINARY, "bench", probe, "--quick", "--no-record", "--no-store", "--max-load", "100%", "--budget", budget,
                   "--cpus", ",".join(map(str, cpus)), "--format", "json"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=os.environ | {"XDG_CONFIG_HOME": settings})
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return [cost for of in json.loads(done.stdout)["probes"] for cost in of["costs"]]


def run(peer):
    """Runs a peer some times; returns the median of its figure, ns, and the switches of that run. (None, 1): it printed none."""
    found = []
    for _ in range(RUNS):
        said, cpu_ns, switches = started(peer.command, peer.cpus)
        if peer.messages:
            _, empty_ns, others = started(peer.empty, peer.cpus)
            found.append((cpu_ns - empty_ns, max(switches - others, 1)))
        elif (figure := peer.read(said)) is not None:
            found.append((figure, 1))
    found.sort(key=lambda of: of[0] / of[1])
    return found[len(found) // 2] if found else (None, 1)


def started(command, cpus):
    """Runs a command on these CPUs; returns what it printed, its CPU time, ns, and its switches."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    switches = after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw
    return re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr), seconds * 1e9, switches


def number(pattern, factor):
    """Returns a reader of the number that a pattern finds."""
    def read(said):
        found = re.search(pattern, said)
        return float(found[1]) * factor if found else None
    return read


def median_of_histogram(said):
    """Reads the lines "us count" of cyclictest -h: the median, interpolated within its microsecond."""
    lines = [(int(us), int(count)) for us, count in re.findall(r"^(\d{6}) (\d+)$", said, re.MULTILINE)]
    left = sum(count for _, count in lines) / 2
    for us, count in lines:
        if left <= count and count:
            return (us + left / count) * 1e3
        left -= count
    return None


def peers_of(cpus, core_to_core):
    one, two = cpus[:1], [cpus[0], cpus[-1]]

    def hands_over(name, command, loops, messages, size, processes=False):
        def pipe(figure):
            return figure["figure"] == "pipe" and figure["pair"] == "same_cpu"
        return Peer(name, [*command, str(loops)], None, "switch", pipe, one, messages * loops, (*command, "1"), size, processes)

    def slept(figure):
        parameters = figure["parameters"]
        return figure["figure"] == "late" and (parameters["asked_us"], parameters["policy"], parameters["idle"]) == ("1000", "fifo", "any")

    pipe = ["perf", "bench", "sched", "pipe"]
    # 20 threads that each send a message to each of 20 others, again and again.
    each_to_each = 20 * 20
    found = [
        hands_over(PERF_THREADS, [*pipe, "-T", "-l"], 40_000, 2, 4),
        hands_over(PERF_PROCESSES, [*pipe, "-l"], 40_000, 2, 4, True),
        hands_over("perf bench sched messaging", ["perf", "bench", "sched", "messaging", "-t", "-p", "-g", "1", "-l"], 500, each_to_each, 100),
        hands_over("hackbench", ["hackbench", "-p", "-T", "-g", "1", "-f", "20", "-s", "100", "-l"], 500, each_to_each, 100),
        # Its pipe holds one message, so that each is waited for twice.
        hands_over("stress-ng --switch", ["stress-ng", "--switch", "1", "--switch-method", "pipe", "--switch-ops"], 80_000, 1, 1, True),
        # As corewise does: a relative sleep, and idle states as the system has them.
        Peer("cyclictest", ["cyclictest", "-t1", "-p80", f"-a{one[0]}", "-i1000", "-l300", "-r", "-q", "-h", "1000", "--default-system"],
             median_of_histogram, "sleep", slept, one),
    ]
    if len(cpus) > 1:
        # Its threads spin, so that the policy is no part of the figure, but keeps other programs away.
        undisturbed = ["chrt", "-f", "1"] if os.geteuid() == 0 and shutil.which("chrt") else []
        line = Peer("core-to-core-latency", [*undisturbed, core_to_core, "-b", "1", "1000", "60"], number(r"Mean latency: ([\d.]+)", 1), "lock",
                    lambda figure: figure["figure"] == "line", two)
        if shutil.which(core_to_core):
            found.append(line)
    return found


if __name__ == "__main__":
    sys.exit(main())
