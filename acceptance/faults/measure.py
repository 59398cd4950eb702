#!/usr/bin/env python3
"""Each program and its fixed twin in turn, without any recorder: three pairs, medians, written to measured.tsv.

measure.py [--pairs N] [NAME…]: of the programs named, or all; rows of others in measured.tsv are kept. For a quiet machine.
"""
import argparse
import csv
import os
import pathlib
import re
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["name", "figure", "faulty", "fixed", "ratio", "late_faulty", "late_fixed", "faulty_values", "fixed_values", "load"]


def rows_of(path):
    if not path.exists():
        return []
    with open(path, newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def run(name, *fixed):
    """(figure, value, late) of one run."""
    out = subprocess.run([HERE / "run.sh", name, *fixed], capture_output=True, text=True, timeout=120, check=False)
    work = re.fullmatch(r"work_ms=([\d.]+)", out.stdout.strip())
    late = re.fullmatch(r"p99_ms=([\d.]+) missed=(\d+)", out.stdout.strip())
    if out.returncode or out.stderr or not (work or late):
        raise SystemExit(f"{name} {' '.join(fixed)}: status {out.returncode}: {out.stdout}{out.stderr}")
    return ("work_ms", float(work[1]), None) if work else ("p99_ms", float(late[1]), int(late[2]))


def measured(name, healthy, pairs):
    runs = {"faulty": [], "fixed": []}
    load = []
    run(name), healthy or run(name, "fixed")  # builds and warms up
    for i in range(pairs):
        for which in ("faulty", "fixed") if i % 2 == 0 else ("fixed", "faulty"):
            if which == "faulty" or not healthy:
                runs[which].append(run(name, *(["fixed"] if which == "fixed" else [])))
                load.append(os.getloadavg()[0])
    row = {"name": name, "figure": runs["faulty"][0][0], "load": f"{statistics.median(load):.1f}"}
    for which, results in runs.items():
        values = [v for _, v, _ in results]
        late = [n for _, _, n in results if n is not None]
        row[which] = f"{statistics.median(values):.1f}" if values else "-"
        row[f"late_{which}"] = f"{statistics.median(late):.0f}" if late else "-"
        row[f"{which}_values"] = " ".join(f"{v:g}" for v in values) or "-"
    row["ratio"] = "-" if healthy else f"{float(row['faulty']) / float(row['fixed']):.2f}"
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    faults = rows_of(HERE / "faults.tsv")
    out = HERE / "measured.tsv"
    known = {r["name"]: r for r in rows_of(out)}
    for fault in faults:
        if args.names and fault["name"] not in args.names:
            continue
        row = known[fault["name"]] = measured(fault["name"], fault["set"] == "healthy", args.pairs)
        print(*(row[c] for c in COLUMNS), sep="\t", flush=True)
        with open(out, "w", newline="") as f:
            writer = csv.DictWriter(f, COLUMNS, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(known[r["name"]] for r in faults if r["name"] in known)


if __name__ == "__main__":
    main()
