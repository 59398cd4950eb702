#!/usr/bin/env python3
"""Diagnoses recordings with and without a machine's cost table, and prints what changed in milliseconds.

    corewise bench all --out this.toml
    acceptance/with_costs.py this.toml /var/tmp/recordings [FOLDER or TRACE…] [--max 200]

Folders are searched for trace folders (*.cw). Recordings that have costs of their own are left out: they have no "without". A finding is
the same with and without if its rule and its threads are. Exits 1 if no recording could be diagnosed.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import corewise


def traces(paths, most):
    """Returns the trace folders of paths, sorted, at most so many, in equal steps through all of them."""
    found = set()
    for path in map(Path, paths):
        if (path / "manifest.json").is_file():
            found.add(path)
        else:
            found.update(below.parent for below in path.rglob("manifest.json"))
    found = sorted(found)
    step = max(1, -(-len(found) // most))
    return found[::step]


def has_costs(trace):
    """Returns whether a recording has costs of its own."""
    return json.loads((trace / "manifest.json").read_text())["machine"].get("costs") is not None


def findings(trace, *options):
    """Returns the findings of a diagnosis by rule and threads."""
    found = json.loads(corewise.run("diagnose", trace, "--format", "json", *options))["findings"]
    nested = [also for of in found for also in of["also_resolved"]]
    return {(of["rule"], tuple(sorted(claim["tid"] for claim in of.get("threads", [])))): of for of in found + nested}


def changes(without, with_table):
    """Returns (rule, milliseconds without, with, range without, with) of each finding that changed; None where there is none."""
    out = []
    for key in sorted(without.keys() | with_table.keys()):
        sides = [of.get(key) for of in (without, with_table)]
        best = [None if of is None else of["recoverable_ns"] / 1e6 for of in sides]
        ends = [None if of is None else [ns / 1e6 for ns in of["range_ns"]] for of in sides]
        if best[0] != best[1] or ends[0] != ends[1]:
            out.append((key[0], *best, *ends))
    return out


def rows(by_rule, all_findings):
    """Returns the table: a row for each rule with a change, the sums of milliseconds, and the median of their ratios."""
    out = ["| rule | findings | changed | new | gone | ms without | ms with | median ratio |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for rule, changed in sorted(by_rule.items()):
        both = [(a, b) for _, a, b, _, _ in changed if a is not None and b is not None]
        ratios = [b / a for a, b in both if a > 0]
        ratio = f"{statistics.median(ratios):.3f}" if ratios else "–"
        new, gone = sum(of[1] is None for of in changed), sum(of[2] is None for of in changed)
        sums = [sum(of[side] or 0 for of in changed) for side in (1, 2)]
        out.append(f"| {rule} | {all_findings[rule]} | {len(both)} | {new} | {gone} | {sums[0]:.3f} | {sums[1]:.3f} | {ratio} |")
    return out


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("machine", type=Path, help="a machine file with costs")
    words.add_argument("paths", nargs="+", type=Path)
    words.add_argument("--max", type=int, default=200, help="diagnose at most so many recordings")
    words.add_argument("--each", action="store_true", help="also print each change")
    given = words.parse_args()
    by_rule, all_findings, seen, own, failed = {}, {}, 0, 0, []
    for trace in traces(given.paths, given.max):
        try:
            if has_costs(trace):
                own += 1
                continue
            without, with_table = findings(trace), findings(trace, "--machine", given.machine)
        except (corewise.Refused, OSError, ValueError, KeyError) as why:
            failed.append(f"{trace}: {why}")
            continue
        seen += 1
        for rule, _ in without.keys() | with_table.keys():
            all_findings[rule] = all_findings.get(rule, 0) + 1
        for change in changes(without, with_table):
            by_rule.setdefault(change[0], []).append(change)
            if given.each:
                print(trace, *change)
    print(f"{seen} recordings with and without {given.machine}; {own} have costs of their own, {len(failed)} could not be diagnosed", *failed[:5], sep="\n")
    print(f"{sum(all_findings.values())} findings, {sum(map(len, by_rule.values()))} changed", *rows(by_rule, all_findings), sep="\n")
    if seen == 0:
        sys.exit("no recording was diagnosed")


if __name__ == "__main__":
    main()
