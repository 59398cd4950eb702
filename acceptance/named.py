#!/usr/bin/env python3
"""Records each program of examples/pathologies and its mended twin in turn, and has `corewise diagnose` name the fault.

    cargo build --release -p corewise -p corewise-pathologies --examples --bins
    acceptance/named.py [--runs 10] [--seconds 1] [--programs DIR] [--keep DIR] [NAME…]
    acceptance/named.py --again DIR [NAME…]      what is named in recordings that were kept

A line a program: how often the rule that its README expects was the first finding, how often it was found at all, how
often in the mended twin (above "low": what is low claims nothing), and the medians of what was promised and of what the
mended twin saved: sooner done, by the programs' own clocks, and how often that lay in the promised range; and CPU time of the
program's process, where the rule promises any. Exits 1 where a fault was first in fewer than nine of ten runs, or was found
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

# What a recording needs beside the events of all: only a callchain tells that a wait for a device was a read, and that a timer
# ended a sleep.
RECORDED_WITH = {"reads_one_by_one": ["--stacks"], "short_sleeps": ["--stacks"]}

ROW = re.compile(r"^\| `(\w+)` \| [^|]+ \| ([\w-]+) \|", re.MULTILINE)


def expected():
    """The rule that each program is to show, by its README."""
    return dict(ROW.findall((ROOT / "examples/pathologies/README.md").read_text()))


def record(program, words, folder):
    """Records a run, and keeps what the program printed beside the recording; False where it says why it was skipped."""
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
    """Milliseconds of a run by the program's own clock, those of CPU time of its process, and its findings."""
    found = json.loads(corewise.run("diagnose", folder, "--format", "json"))["findings"]
    own = json.loads((folder / "manifest.json").read_text())["focus"]
    ran = sum(thread["running_ns"] for thread in corewise.table(folder, "threads") if thread["pid"] == own)
    return float(LAST.fullmatch(printed(folder).read_text())[2]), ran / 1e6, found


def runs(given, name, folder):
    """Of each run, what was diagnosed in the faulty program and in its mended twin."""
    program, size = given.programs / name, ["--seconds", given.seconds]
    for run in range(1, given.runs + 1):
        twins = [(folder / f"{name}-{run}.cw", size), (folder / f"{name}-mended-{run}.cw", [*size, "--mended"])]
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
    words.add_argument("--again", metavar="DIR", type=Path, help="record nothing; what is named in those kept here")
    given = words.parse_args()
    corewise.need_binary()
    with tempfile.TemporaryDirectory() as tmp:
        folder = given.again or given.keep or Path(tmp)
        folder.mkdir(parents=True, exist_ok=True)
        failed = [name for name in given.names if not named(given, name, folder)]
    if failed:
        sys.exit(f"not named in nine of ten, or named in the mended twin: {', '.join(failed)}")


HEAD = """\
| program | rule | first | found | mended: found | promised, ms | saved, ms | in its range | promised, ms of CPU | saved, ms of CPU | \
first instead | mended: above low |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |"""


def named(given, name, folder):
    """Prints a program's line; whether its fault was named often enough, and seldom enough in its mended twin."""
    if name == given.names[0]:
        print(HEAD, flush=True)
    rule, count = expected()[name], 0
    first, found, mended, in_range, instead, alarms = 0, 0, 0, 0, Counter(), Counter()
    promised, saved, promised_cpu, saved_cpu = [], [], [], []
    for (slow, slow_cpu, findings), (quick, quick_cpu, others) in runs(given, name, folder):
        count += 1
        saved.append(slow - quick)
        saved_cpu.append(slow_cpu - quick_cpu)
        own = [f for f in findings if f["rule"] == rule]
        is_first = bool(findings) and findings[0]["rule"] == rule
        first += is_first
        found += bool(own)
        for of in own[:1]:
            promised.append(of["recoverable_ns"] / 1e6)
            promised_cpu += [of["cpu_ns"] / 1e6] if of["cpu_ns"] is not None else []
            in_range += of["range_ns"][0] / 1e6 <= saved[-1] <= of["range_ns"][1] / 1e6
        above = {f["rule"] for f in others if f["severity"] != "low"}
        mended += rule in above
        alarms.update(above)
        if not is_first:
            instead[findings[0]["rule"] if findings else "nothing"] += 1
    if not count:
        print(f"| {name} | {rule} | skipped | | | | | | | | | |", flush=True)
        return True
    spread = [f"{statistics.median(of):.0f} ({min(of):.0f}–{max(of):.0f})" if of else "–"
              for of in (promised, saved, promised_cpu, saved_cpu)]
    others = [", ".join(f"{of} {n}" for of, n in counts.most_common()) for counts in (instead, alarms)]
    print(f"| {name} | {rule} | {first}/{count} | {found} | {mended} | {spread[0]} | {spread[1]} | {in_range}/{found} | "
          f"{spread[2]} | {spread[3]} | {others[0]} | {others[1]} |", flush=True)
    return first >= 0.9 * count and mended <= 0.1 * count


if __name__ == "__main__":
    main()
