#!/usr/bin/env python3
"""Records each program of examples/pathologies and its fixed twin in turn, and checks that `corewise diagnose` finds the fault.

    cargo build --release -p corewise -p corewise-pathologies --examples --bins
    acceptance/named.py [--runs 10] [--seconds 1] [--programs DIR] [--keep DIR] [NAME…]
    acceptance/named.py --again DIR [NAME…]      diagnoses recordings that were kept

One line per program: how often the rule that its README expects was the first finding, how often it was found at all, how
often in the fixed twin (above "low": a low finding claims nothing), and the medians of the estimated and the actual saving:
the difference of wall times by the programs' own clocks, and how often that was in the estimated range; and CPU time of the
program's process, if the rule estimates any. Exits 1 if a fault was first in fewer than nine of ten runs, or was found
in more than one of ten runs of the fixed twin. A fault that costs idle time (pathologies.IDLE) may have several names, so that it
need not be first; its rule saves no time. Other running programs are in the recordings too, so run it on an otherwise idle machine.
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
from pathologies import IDLE, LAST, ROOT, names

# Extra options of some recordings: only a callchain shows that a wait for a device was a read, and that a timer
# ended a sleep.
RECORDED_WITH = {"reads_one_by_one": ["--stacks"], "short_sleeps": ["--stacks"]}

ROW = re.compile(r"^\| `(\w+)` \| [^|]+ \| ([\w-]+) \|", re.MULTILINE)


def expected():
    """Returns the rule that each program is expected to show, by its README."""
    return dict(ROW.findall((ROOT / "examples/pathologies/README.md").read_text()))


def record(program, words, folder):
    """Records a run, and keeps the program's output next to the recording; returns False if it was skipped."""
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run([corewise.BINARY, "record", "-o", folder, *RECORDED_WITH.get(program.name, []), "--", program, *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    last = [line for line in done.stdout.splitlines() if LAST.fullmatch(line) or line.startswith("skipped")]
    if done.returncode or not last:
        sys.exit(f"corewise record {program}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    printed(folder).write_text(last[0])
    return not last[0].startswith("skipped")


def printed(folder):
    return folder.with_suffix(".txt")


def diagnosed(folder):
    """Returns the wall time of a run by the program's own clock and the CPU time of its process, in ms, and its findings."""
    found = json.loads(corewise.run("diagnose", folder, "--format", "json"))["findings"]
    own = json.loads((folder / "manifest.json").read_text())["focus"]
    ran = sum(thread["running_ns"] for thread in corewise.table(folder, "threads") if thread["pid"] == own)
    return float(LAST.fullmatch(printed(folder).read_text())[2]), ran / 1e6, found


def runs(given, name, folder):
    """Returns the diagnosis of each run of the faulty program and of its fixed twin."""
    program, size = given.programs / name, ["--seconds", given.seconds]
    for run in range(1, given.runs + 1):
        twins = [(folder / f"{name}-{run}.cw", size), (folder / f"{name}-fixed-{run}.cw", [*size, "--fixed"])]
        if given.again and not all(kept.exists() for kept, _ in twins):
            return
        if not given.again and not all([record(program, words, kept) for kept, words in twins]):
            return
        yield [diagnosed(kept) for kept, _ in twins]
        if not given.again and not given.keep:
            for kept, _ in twins:
                shutil.rmtree(kept)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("names", nargs="*", default=names())
    words.add_argument("--runs", type=int, default=10)
    words.add_argument("--seconds", default="1")
    words.add_argument("--programs", type=Path, default=ROOT / "target/release/examples")
    words.add_argument("--keep", metavar="DIR", type=Path, help="keep the recordings here")
    words.add_argument("--again", metavar="DIR", type=Path, help="record nothing; diagnose the recordings kept here")
    given = words.parse_args()
    corewise.need_binary()
    with tempfile.TemporaryDirectory() as tmp:
        folder = given.again or given.keep or Path(tmp)
        folder.mkdir(parents=True, exist_ok=True)
        failed = [name for name in given.names if not named(given, name, folder)]
    if failed:
        sys.exit(f"not found in nine of ten runs, or found in the fixed twin: {', '.join(failed)}")


def with_nested(findings):
    """Returns findings and those that the same fix resolves."""
    return [of for finding in findings for of in (finding, *finding["also_resolved"])]


HEAD = """\
| program | rule | first | found | fixed: found | estimated, ms | saved, ms | in its range | estimated, ms of CPU | saved, ms of CPU | \
first instead | fixed: above low |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |"""


def named(given, name, folder):
    """Prints a program's line; returns whether its fault was found often enough, and rarely enough in its fixed twin."""
    if name == given.names[0]:
        print(HEAD, flush=True)
    rule, count = expected()[name], 0
    first, found, in_fixed, in_range, instead, alarms = 0, 0, 0, 0, Counter(), Counter()
    estimated, saved, estimated_cpu, saved_cpu = [], [], [], []
    for (slow, slow_cpu, findings), (quick, quick_cpu, others) in runs(given, name, folder):
        count += 1
        saved.append(slow - quick)
        saved_cpu.append(slow_cpu - quick_cpu)
        own = [f for f in with_nested(findings) if f["rule"] == rule]
        is_first = bool(findings) and findings[0]["rule"] == rule
        first += is_first
        found += bool(own)
        for of in own[:1]:
            estimated.append(of["recoverable_ns"] / 1e6)
            estimated_cpu += [of["cpu_ns"] / 1e6] if of["cpu_ns"] is not None else []
            in_range += of["range_ns"][0] / 1e6 <= saved[-1] <= of["range_ns"][1] / 1e6
        above = {f["rule"] for f in with_nested(others) if f["severity"] != "low"}
        in_fixed += rule in above
        alarms.update(above)
        if not is_first:
            instead[findings[0]["rule"] if findings else "nothing"] += 1
    if not count:
        print(f"| {name} | {rule} | skipped | | | | | | | | | |", flush=True)
        return True
    spread = [f"{statistics.median(of):.0f} ({min(of):.0f}–{max(of):.0f})" if of else "–"
              for of in (estimated, saved, estimated_cpu, saved_cpu)]
    others = [", ".join(f"{of} {n}" for of, n in counts.most_common()) for counts in (instead, alarms)]
    print(f"| {name} | {rule} | {first}/{count} | {found} | {in_fixed} | {spread[0]} | {spread[1]} | {in_range}/{found} | "
          f"{spread[2]} | {spread[3]} | {others[0]} | {others[1]} |", flush=True)
    return (found if name in IDLE else first) >= 0.9 * count and in_fixed <= 0.1 * count


if __name__ == "__main__":
    main()
