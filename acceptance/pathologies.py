#!/usr/bin/env python3
"""Runs each program of examples/pathologies and its fixed twin in turn, and prints the medians of their wall times; of programs whose fault
costs idle time (IDLE), also how often CPUs entered an idle state meanwhile, by cpuidle's counters, which include other programs.

    cargo build --release -p corewise-pathologies --examples
    acceptance/pathologies.py [--runs 5] [--programs DIR] [NAME…]

Exits 1 if a fixed twin did other work than the faulty one, or was not faster; of IDLE, if CPUs did not enter idle states less often.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Their fixed twins take as long, but let CPUs be idle for longer.
IDLE = ("polling", "unaligned_timers", "background_wakes")
USAGE = "devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*/usage"
LAST = re.compile(r"work (\d+) units, wall_ms ([\d.]+)")


def names():
    """Returns the programs in the order of their list."""
    cargo = tomllib.loads((ROOT / "examples/pathologies/Cargo.toml").read_text())
    return [example["name"] for example in cargo["example"]]


def entries():
    """Returns how often CPUs entered an idle state since the machine started; 0 if the kernel does not say."""
    return sum(int(file.read_text()) for file in Path("/sys").glob(USAGE))


def once(program, *words):
    """Returns the units of work, milliseconds, and entries into idle states of one run; None if the program was skipped."""
    before = entries()
    out = subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    if out.startswith("skipped"):
        return None
    units, ms = LAST.fullmatch(out).groups()
    return int(units), float(ms), entries() - before


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("names", nargs="*", default=names())
    words.add_argument("--runs", type=int, default=5)
    words.add_argument("--programs", type=Path, default=ROOT / "target/release/examples")
    given = words.parse_args()
    failed = []
    print("| program | faulty, ms | fixed, ms | saved, ms | faulty, idle entries | fixed, idle entries |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in given.names:
        twins = [[], []]
        for _ in range(given.runs):
            for twin, words in zip(twins, ((), ("--fixed",))):
                twin.append(once(given.programs / name, *words))
        if None in twins[0] + twins[1]:
            print(f"| {name} | skipped | | | | |", flush=True)
            continue
        faulty, fixed = (statistics.median(ms for _, ms, _ in twin) for twin in twins)
        idle = [statistics.median(entered for *_, entered in twin) for twin in twins]
        costs = idle if name in IDLE else (faulty, fixed)
        if len({units for twin in twins for units, *_ in twin}) > 1 or costs[1] >= costs[0]:
            failed.append(name)
        spread = [f"{m:.0f} ({min(of[1] for of in t):.0f}–{max(of[1] for of in t):.0f})" for m, t in zip((faulty, fixed), twins)]
        entered = [f"{n:.0f}" for n in idle] if name in IDLE else ["", ""]
        print(f"| {name} | {spread[0]} | {spread[1]} | {faulty - fixed:.0f} | {entered[0]} | {entered[1]} |", flush=True)
    if failed:
        sys.exit(f"not the same work, or no better when fixed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
