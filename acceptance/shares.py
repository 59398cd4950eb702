#!/usr/bin/env python3
"""The share of each function of a program with known shares (50, 30 and 20 % of its CPU time), by the samples of `corewise record --sample 997`,
and by `perf record` of the same run. The program's own clock is the truth. Ends with 1 if a share differs by more than a point.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import corewise

LOAD = Path(__file__).with_name("shares_load.c")
MAX_POINTS = 1.0
MIN_SAMPLES = 10_000
HZ = 997


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--seconds", type=float, default=11.0, help="CPU time of the program (11)")
    args.add_argument("--no-perf", action="store_true", help="without perf on the same run")
    args = args.parse_args()
    corewise.need_binary()
    with tempfile.TemporaryDirectory(prefix="shares-") as tmp:
        tmp = Path(tmp)
        load, run, data = tmp / "shares_load", tmp / "run.cw", tmp / "perf.data"
        subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-o", load, LOAD], check=True)
        perf = [] if args.no_perf else ["perf", "record", "-q", "-F", str(HZ), "-e", "cpu-clock", "-g", "-o", data, "--"]
        record = [corewise.BINARY, "record", "--sample", str(HZ), "-o", run, "--", *perf, load, str(args.seconds)]
        done = subprocess.run(record, check=True, capture_output=True, text=True)
        truth = shares({name: int(ns) for name, ns in re.findall(r"^(\w+) (\d+)$", done.stdout, re.MULTILINE)})
        ways = {"corewise": of_corewise(run)} | ({} if args.no_perf else {"perf": of_perf(data)})
    rows, worst = [], 0.0
    for name, share in truth.items():
        row = [name, f"{share:.2f}"]
        for way, samples in ways.items():
            seen = shares({name: samples.get(name, 0) for name in truth})[name]
            row += [str(samples.get(name, 0)), f"{seen:.2f}", f"{seen - share:+.2f}"]
            if way == "corewise":
                worst = max(worst, abs(seen - share))
        rows.append(row)
    heads = ["function", "CPU time %", *(f"{way} {what}" for way in ways for what in ("samples", "%", "points"))]
    corewise.print_table(heads, rows)
    counts = {way: sum(samples.get(name, 0) for name in truth) for way, samples in ways.items()}
    for way, count in counts.items():
        print(f"{way}: {count} samples in the three functions, {sum(ways[way].values()) - count} of the thread elsewhere")
    if counts["corewise"] < MIN_SAMPLES or worst > MAX_POINTS:
        sys.exit(f"shares: {counts['corewise']} samples (at least {MIN_SAMPLES}), {worst:.2f} points (at most {MAX_POINTS})")


def shares(of):
    """The shares of a whole, in percent."""
    whole = max(1, sum(of.values()))
    return {name: 100 * part / whole for name, part in of.items()}


def of_corewise(run):
    """The samples of the program's thread by function."""
    command = [corewise.BINARY, "table", run, "samples", "--process", "shares_load", "--format", "json"]
    samples = {}
    for row in corewise.rows_of(subprocess.run(command, check=True, capture_output=True, text=True).stdout):
        samples[row["function"]] = samples.get(row["function"], 0) + row["self_samples"]
    return samples


def of_perf(data):
    """The same by perf."""
    command = ["perf", "report", "-i", data, "--stdio", "--no-children", "-g", "none", "-n", "--comm", "shares_load",
               "--sort", "symbol", "-t", ";"]
    samples = {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        cells = [cell.strip() for cell in line.split(";")]
        if not line.startswith("#") and len(cells) >= 3:
            samples[re.sub(r"^\[.\] ", "", cells[2])] = int(cells[1])
    return samples


if __name__ == "__main__":
    main()
