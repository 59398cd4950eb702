#!/usr/bin/env python3
"""Prints quantiles of the durations of running and blocked periods, in the format of loads/durations.csv.

    quantiles.py NAME=RUN.cw…      reads recordings of `corewise record`; uses the command's threads, not kernel threads

COREWISE is the path of the binary.
"""

import csv
import os
import subprocess
import sys

BINARY = os.environ.get("COREWISE", "target/release/corewise")
OF = {"compile": ("cc1", "as", "collect2", "cc"), "web": ("python3", "curl"), "pipe": ("dd", "tr", "sha256sum"), "video": ("python3",)}


def main():
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["load", "state", "percent", "ns"])
    for load, trace in (word.split("=", 1) for word in sys.argv[1:]):
        done = subprocess.run([BINARY, "table", trace, "thread_state", "--format", "csv"], check=True, capture_output=True, text=True)
        rows = [r for r in csv.DictReader(done.stdout.splitlines()) if r["thread_name"].startswith(OF[load])]
        for state in ("running", "blocked"):
            ns = sorted(int(r["end_ns"]) - int(r["start_ns"]) for r in rows if r["state"] == state)
            for percent in range(0, 101, 5):
                out.writerow([load, state, percent, ns[(len(ns) - 1) * percent // 100]])


if __name__ == "__main__":
    main()
