#!/usr/bin/env python3
"""Runs each program of examples/pathologies and its fixed twin in turn, and prints the medians of their wall times.

    cargo build --release -p corewise-pathologies --examples
    acceptance/pathologies.py [--runs 5] [--programs DIR] [NAME…]

Exits 1 if a fixed twin did other work than the faulty one, or was not faster.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAST = re.compile(r"work (\d+) units, wall_ms ([\d.]+)")


def names():
    """Returns the programs in the order of their list."""
    cargo = tomllib.loads((ROOT / "examples/pathologies/Cargo.toml").read_text())
    return [example["name"] for example in cargo["example"]]


def once(program, *words):
    """Returns the units of work and milliseconds of one run; None if the program was skipped."""
    out = subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    if out.startswith("skipped"):
        return None
    units, ms = LAST.fullmatch(out).groups()
    return int(units), float(ms)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("names", nargs="*", default=names())
    words.add_argument("--runs", type=int, default=5)
    words.add_argument("--programs", type=Path, default=ROOT / "target/release/examples")
    given = words.parse_args()
    failed = []
    print("| program | faulty, ms | fixed, ms | saved, ms |\n| --- | ---: | ---: | ---: |")
    for name in given.names:
        twins = [[], []]
        for _ in range(given.runs):
            for twin, words in zip(twins, ((), ("--fixed",))):
                twin.append(once(given.programs / name, *words))
        if None in twins[0] + twins[1]:
            print(f"| {name} | skipped | | |", flush=True)
            continue
        faulty, fixed = (statistics.median(ms for _, ms in twin) for twin in twins)
        if len({units for twin in twins for units, _ in twin}) > 1 or fixed >= faulty:
            failed.append(name)
        spread = [f"{m:.0f} ({min(t)[1]:.0f}–{max(t)[1]:.0f})" for m, t in zip((faulty, fixed), twins)]
        print(f"| {name} | {spread[0]} | {spread[1]} | {faulty - fixed:.0f} |", flush=True)
    if failed:
        sys.exit(f"not the same work, or not faster when fixed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
