#!/usr/bin/env python3
"""The overhead of recording: `perf bench sched pipe -l 300000`, pinned to one CPU, bare, under `corewise record`,
under `corewise record --no-sample --no-irq`, with `--stacks`, with `--counters` (one event, and a group of software events), the same with `--backend perf`, and under `perf sched record`, in turn,
for some rounds; medians.
With `--load messaging`, `perf bench sched messaging` on all CPUs instead, and with `--load compile`, a C compiler on the C files of this folder.

The pipe is pinned because the result is bimodal otherwise. The time is the benchmark's own: it does not include the start and end of a recorder.
The table also has the events lost and the bytes per event, in the spool and in the finished folder.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import corewise
import perf_data
from measured import median


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--loops", type=int, default=300_000, help="loops of the benchmark (300000)")
    args.add_argument("--cpu", type=int, default=0, help="the CPU to which it is pinned (0)")
    args.add_argument("--load", choices=["pipe", "messaging", "compile"], default="pipe")
    args.add_argument("--only", action="append", choices=list(WAYS), help="only these, and bare")
    args = args.parse_args()
    names = ["bare", *(n for n in WAYS if n != "bare" and (not args.only or n in args.only))]
    if any(n.startswith("corewise") for n in names):
        corewise.need_binary()
    bench = {
        "pipe": ["taskset", "-c", str(args.cpu), "perf", "bench", "sched", "pipe", "-l", str(args.loops)],
        "messaging": ["perf", "bench", "sched", "messaging", "-g", "4", "-l", "2000"],
        "compile": ["bash", "-c", COMPILE, str(Path(__file__).parent)],
    }[args.load]
    found = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="pipe-cost-") as tmp:
        for i in range(args.rounds):
            for name in names:
                one = WAYS[name](Path(tmp), bench)
                found[name].append(one)
                print(f"round {i + 1} {name}: {one['seconds']:.3f} s, lost {one.get('lost', '-')}", file=sys.stderr, flush=True)
    bare = median([one["seconds"] for one in found["bare"]])
    plain = median([one["seconds"] for one in found.get("corewise record", found["bare"])])
    rows = []
    for name, all_of in found.items():
        seconds = [one["seconds"] for one in all_of]

        def middle(what, form):
            values = [one[what] for one in all_of if one.get(what) is not None]
            return form.format(median(values)) if values else "-"

        lost = [one["lost"] for one in all_of if "lost" in one]
        rows.append([name, f"{median(seconds):.3f}", f"{min(seconds):.3f}", f"{max(seconds):.3f}", f"{median(seconds) / bare:.3f}",
                     f"{median(seconds) / plain:.3f}" if name.startswith("corewise") else "-",
                     middle("events", "{:.0f}"), f"{max(lost)}" if lost else "-",
                     middle("lost_share", "{:.1%}"), middle("spool", "{:.1f}"), middle("folder", "{:.1f}")])
    corewise.print_table(["way", "median s", "min s", "max s", "over bare", "over corewise record", "events", "most lost", "lost share",
                          "spool bytes/event", "file bytes/event"], rows)


# Compiles each C file of a folder 12 times, two at a time, and prints its time as the benchmarks do.
COMPILE = """begin=$(date +%s%N)
for n in {1..12}; do ls "$0"/*.c; done | xargs -P 2 -n 1 cc -O2 -c -o /dev/null || exit 1
ns=$(($(date +%s%N) - begin)); printf 'Total time: %d.%09d [sec]\\n' $((ns / 1000000000)) $((ns % 1000000000))"""


def bare(_tmp, bench):
    return {"seconds": seconds_of(run(bench))}


def by_corewise(*options):
    def record(tmp, bench):
        folder = tmp / "run.cw"
        shutil.rmtree(folder, ignore_errors=True)
        said = run([corewise.BINARY, "record", "--keep-spool", "-o", folder, *options, "--", *bench])
        events = events_of(folder)
        spool = bytes_of(folder / "spool")
        lost = sum(row["events"] or 0 for row in corewise.table(folder, "loss"))
        return {"seconds": seconds_of(said), "events": events, "lost": lost, "lost_share": lost / (events + lost),
                "spool": spool / events if spool else None, "folder": (bytes_of(folder) - spool) / events}

    return record


def by_perf(tmp, bench):
    path = tmp / "run.data"
    said = run(["perf", "sched", "record", "-o", path, *bench])
    seen = perf_data.counts_apart(path)
    events, lost = seen["events"], seen["lost"]
    return {"seconds": seconds_of(said), "events": events, "lost": lost, "lost_share": lost / (events + lost),
            "folder": path.stat().st_size / events}


def run(command):
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-1000:]}")
    return done.stdout


def seconds_of(said):
    """Returns the time that the benchmark prints."""
    return float(re.search(r"Total time:\s+([\d.]+) \[sec\]", said).group(1))


def events_of(folder):
    """Returns the number of events of a recording, from its check or its manifest."""
    checked = corewise.check(folder)
    return checked.get("events") or json.loads((folder / "manifest.json").read_text())["events"]


def bytes_of(folder):
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


WAYS = {
    "bare": bare,
    "corewise record": by_corewise(),
    "corewise record --no-sample --no-irq": by_corewise("--no-sample", "--no-irq"),
    "corewise record --stacks": by_corewise("--stacks"),
    "corewise record --counters msr/tsc/": by_corewise("--counters", "msr/tsc/"),
    "corewise record --counters software": by_corewise("--counters", "software"),
    "corewise record --backend perf": by_corewise("--backend", "perf"),
    "corewise record --backend perf --counters msr/tsc/": by_corewise("--backend", "perf", "--counters", "msr/tsc/"),
    "corewise record --backend perf --counters software": by_corewise("--backend", "perf", "--counters", "software"),
    "perf sched record": by_perf,
}

if __name__ == "__main__":
    sys.exit(main())
