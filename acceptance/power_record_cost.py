#!/usr/bin/env python3
"""The cost of `corewise record --power` reading a simulated machine (power_machine.py): `perf bench sched pipe` pinned to CPU 0, and an idle command, each
recorded with and without --power in turn. The simulated machine runs all the time, bound to the last CPU, so that it disturbs both alike.

  power_record_cost.py [--rounds N] [--loops N] [--hz N]

The pipe's time may be 1 % longer (its own figure, medians); the recorder may use 0.2 % of a CPU more while nothing runs. What reading the registers
of RAPL itself costs is not measured: here they are files in memory.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import corewise
from measured import median
from pipe_cost import run, seconds_of
from power_machine import scenario

LIMITS = {"pipe": 0.01, "idle": 0.002}


def record(folder, root, hz, command):
    shutil.rmtree(folder, ignore_errors=True)
    power = [f"--power={hz}Hz", "--power-root", root] if hz else ["--no-power"]
    said = run([corewise.BINARY, "record", "--no-sample", "-o", folder, *power, "--", *command])
    manifest = json.loads((Path(folder) / "manifest.json").read_text())
    return said, manifest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--loops", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--hz", type=float, default=10.0)
    args = parser.parse_args()
    corewise.need_binary()
    pipe = ["taskset", "-c", "0", "perf", "bench", "sched", "pipe", "-l", str(args.loops)]
    times, shares, costs = {0.0: [], args.hz: []}, {0.0: [], args.hz: []}, []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as root:
        machine, _ = scenario("plain", f"{root}/tree", 1e6)
        machine.start()
        for process in machine.processes:
            os.sched_setaffinity(process.pid, {os.cpu_count() - 1})
        for n in range(args.rounds):
            # The order alternates, so that a drift is no difference.
            for hz in (0.0, args.hz) if n % 2 == 0 else (args.hz, 0.0):
                said, _ = record(f"{root}/run.cw", f"{root}/tree", hz, pipe)
                times[hz].append(seconds_of(said))
                _, manifest = record(f"{root}/run.cw", f"{root}/tree", hz, ["sleep", str(args.seconds)])
                cost, length = manifest["cost"], manifest["end_ns"]
                # What is found out once, before the recording begins, is no cost of reading.
                start_ns = cost["energy"]["start_cpu_ns"] if hz else 0
                shares[hz].append(cost["recorder_cpu_ns"] / length)
                if hz:
                    energy = cost["energy"]
                    costs.append((energy["cpu_ns"] / length, energy["wakeups"] / (length * 1e-9), start_ns * 1e-6))
            print(f"round {n + 1}: pipe {times[0.0][-1]:.3f} s, with energy {times[args.hz][-1]:.3f} s; idle: recorder {shares[0.0][-1] * 100:.3f} %, "
                  f"with energy {shares[args.hz][-1] * 100:.3f} % of a CPU", file=sys.stderr, flush=True)
        machine.stop()
    slower = median(times[args.hz]) / median(times[0.0]) - 1
    more = median(shares[args.hz]) - median(shares[0.0])
    cpu, wakeups, start_ms = (median([one[at] for one in costs]) for at in (0, 1, 2))
    print(f"pipe: {median(times[0.0]):.3f} s ({min(times[0.0]):.3f} to {max(times[0.0]):.3f}), with energy {median(times[args.hz]):.3f} s "
          f"({min(times[args.hz]):.3f} to {max(times[args.hz]):.3f}): {slower * 100:+.2f} %, limit {LIMITS['pipe'] * 100:.1f} %")
    print(f"idle: the recorder used {median(shares[0.0]) * 100:.3f} %, with energy {median(shares[args.hz]) * 100:.3f} % of a CPU: {more * 100:+.3f} %, "
          f"limit {LIMITS['idle'] * 100:.1f} %")
    print(f"idle: the thread that reads used {cpu * 100:.3f} % of a CPU and was woken {wakeups:.1f} times a second; before the recording, the sources took "
          f"{start_ms:.1f} ms of CPU time once")
    sys.exit(slower > LIMITS["pipe"] or more > LIMITS["idle"])


if __name__ == "__main__":
    main()
