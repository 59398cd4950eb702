#!/usr/bin/env python3
"""Records each program of examples/pathologies and its mended twin in turn, and has `corewise diagnose` name the fault.

    cargo build --release -p corewise -p corewise-pathologies --examples --bins
    acceptance/named.py [--runs 10] [--seconds 1] [--programs DIR] [NAME…]

A line a program: how often the rule that its README expects was the first finding, how often it was found at all, how
often in the mended twin (above "low": what is low claims nothing), and the medians of what was promised and of what the
mended twin saved, by the programs' own clocks. Exits 1 where a fault was first in fewer than nine of ten runs, or was found
in more than one of ten of the mended twin. Other programs that run beside are in the recordings too, so run it on a machine
that does nothing else.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import corewise
from pathologies import LAST, ROOT, names

ROW = re.compile(r"^\| `(\w+)` \| [^|]+ \| ([\w-]+) \|", re.MULTILINE)


def expected():
    """The rule that each program is to show, by its README."""
    return dict(ROW.findall((ROOT / "examples/pathologies/README.md").read_text()))


def recorded(program, words, folder):
    """Milliseconds of a run, and its findings; None where the program says why it was skipped."""
    done = subprocess.run([corewise.BINARY, "record", "-o", folder, "--", program, *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    last = [line for line in done.stdout.splitlines() if LAST.fullmatch(line) or line.startswith("skipped")]
    if done.returncode or not last:
        sys.exit(f"corewise record {program}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    if last[0].startswith("skipped"):
        return None
    found = json.loads(corewise.run("diagnose", folder, "--format", "json"))["findings"]
    shutil.rmtree(folder)
    return float(LAST.fullmatch(last[0])[2]), found


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("names", nargs="*", default=names())
    words.add_argument("--runs", type=int, default=10)
    words.add_argument("--seconds", default="1")
    words.add_argument("--programs", type=Path, default=ROOT / "target/release/examples")
    given = words.parse_args()
    corewise.need_binary()
    rules, failed = expected(), []
    print("| program | rule | first | found | mended: found | promised, ms | saved, ms | first instead |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as tmp:
        for name in given.names:
            rule, program, folder = rules[name], given.programs / name, Path(tmp) / "run.cw"
            first, found, mended, promised, saved, instead = 0, 0, 0, [], [], Counter()
            for _ in range(given.runs):
                faulty = recorded(program, ["--seconds", given.seconds], folder)
                twin = recorded(program, ["--seconds", given.seconds, "--mended"], folder)
                if faulty is None or twin is None:
                    break
                (slow, findings), (quick, others) = faulty, twin
                saved.append(slow - quick)
                own = [f for f in findings if f["rule"] == rule]
                first += bool(findings) and findings[0]["rule"] == rule
                found += bool(own)
                promised += [f["recoverable_ns"] / 1e6 for f in own[:1]]
                mended += any(f["rule"] == rule and f["severity"] != "low" for f in others)
                if not findings or findings[0]["rule"] != rule:
                    instead[findings[0]["rule"] if findings else "nothing"] += 1
            if len(saved) < given.runs:
                print(f"| {name} | {rule} | skipped | | | | | |", flush=True)
                continue
            if first < 0.9 * given.runs or mended > 0.1 * given.runs:
                failed.append(name)
            spread = [f"{statistics.median(of):.0f} ({min(of):.0f}–{max(of):.0f})" if of else "–" for of in (promised, saved)]
            others = ", ".join(f"{of} {n}" for of, n in instead.most_common())
            print(f"| {name} | {rule} | {first}/{given.runs} | {found} | {mended} | {spread[0]} | {spread[1]} | {others} |", flush=True)
    if failed:
        sys.exit(f"not named in nine of ten, or named in the mended twin: {', '.join(failed)}")


if __name__ == "__main__":
    main()
