#!/usr/bin/env python3
"""Whether the figures of `corewise bench` can be trusted on this machine.

    acceptance/bench_sound.py added [--tries 10] [--budget 6s] [PROBE…]
    acceptance/bench_sound.py again [--times 90] [--every 120] [--budget 6s] [PROBE…]

`added`: 0.5, 2 and 10 µs are added on purpose to the measured steps (`--add`); each comes back as a difference. The delay is also measured alone
in the same rounds. The interval of what came back minus the delay must hold 0 in at least 9 of 10 tries: the 95 % interval, and on both sides by
how much the method says that it may be off (±), which it finds with delays of other lengths, 1 and 5 µs. Also the null control of every figure:
its interval must hold 0 (or 1) in at least 90 % of the figures, with half a width of at most 5 % of the figure.

`again`: the same figures measured many times over hours: of the later values, the share that lies in the first measurement's interval
for another measurement (90 %), and in its 95 % confidence interval, for contrast.

Nothing is stored: the settings are in a temporary folder. Exits 1 if a requirement is not met.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict

import corewise

ADDED = ["500ns", "2us", "10us"]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("what", choices=["added", "again"])
    args.add_argument("probes", nargs="*", help="the probes [switch, migrate]")
    args.add_argument("--tries", type=int, default=10)
    args.add_argument("--times", type=int, default=90)
    args.add_argument("--every", type=float, default=120, help="seconds between the begins of two measurements")
    args.add_argument("--budget", default="6s")
    args = args.parse_args()
    args.probes = args.probes or ["switch", "migrate"]
    corewise.need_binary()
    return added(args) if args.what == "added" else again(args)


def costs(probes, budget, *more):
    """Measures and returns the figures as dicts."""
    with tempfile.TemporaryDirectory() as settings:
        command = [corewise.BINARY, "bench", *probes, "--quick", "--no-record", "--max-load", "100%", "--budget", budget]
        environment = {**os.environ, "XDG_CONFIG_HOME": settings}
        done = subprocess.run([*command, "--format", "json", *more], capture_output=True, text=True, env=environment)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return [cost for probe in json.loads(done.stdout)["probes"] for cost in probe["costs"]]


def name(cost):
    parameters = " ".join(f"{key}={value}" for key, value in sorted(cost.get("parameters", {}).items()))
    return f"{cost['probe']} {cost['figure']} {'-'.join(map(str, cost['cpus']))} {parameters}".strip()


def holds(of, value, wider=0):
    return of["low"] - wider <= value <= of["high"] + wider


def added(args):
    found, controls = defaultdict(list), defaultdict(list)
    for i in range(args.tries):
        for size in ADDED:
            for cost in costs(args.probes, args.budget, "--add", size):
                estimate = cost["estimate"]
                if cost["figure"] == "added":
                    if cost.get("control"):
                        found[cost["parameters"]["series"], size].append((estimate, cost["control"], cost.get("systematic", 0)))
                elif cost.get("control"):
                    controls[name(cost)].append((estimate, cost["control"], cost["unit"]))
        print(f"try {i + 1} of {args.tries}", file=sys.stderr)
    rows, short = [], []
    for (series, size), estimates in sorted(found.items()):
        held, bare = (sum(holds(rest, 0, off if wide else 0) for _, rest, off in estimates) for wide in (True, False))
        widths = [(rest["high"] - rest["low"]) / 2 for _, rest, _ in estimates]
        medians = [statistics.median(of) for of in ([of["value"] for of, _, _ in estimates], widths, [off for _, _, off in estimates])]
        rows.append([series, size, f"{held} of {len(estimates)}", *(f"{of:.0f}" for of in medians), f"{bare} of {len(estimates)}"])
        short += [f"{series} + {size}"] if held < 0.9 * len(estimates) else []
    corewise.print_table(["step", "added", "held", "median, ns", "half width, ns", "±, ns", "held without ±"], rows)
    rows, held, narrow, count = [], 0, 0, 0
    for figure, all_of in sorted(controls.items()):
        well = sum(holds(control, 1 if unit == "ratio" else 0) for _, control, unit in all_of)
        close = sum((control["high"] - control["low"]) / 2 <= 0.05 * abs(of["value"]) for of, control, _ in all_of)
        rows.append([figure, f"{well} of {len(all_of)}", f"{close} of {len(all_of)}"])
        held, narrow, count = held + well, narrow + close, count + len(all_of)
    corewise.print_table(["null control", "holds nothing", "half width at most 5 %"], rows)
    every = sum(holds(rest, 0, off) for all_of in found.values() for _, rest, off in all_of)
    tries = sum(map(len, found.values()))
    for size in ADDED:
        rests = [(rest, off) for (_, at), all_of in found.items() for _, rest, off in all_of if at == size]
        print(f"added {size}: held in {sum(holds(rest, 0, off) for rest, off in rests)} of {len(rests)}")
    print(f"added: held in {every} of {tries}; short: {', '.join(short) or 'none'}")
    print(f"null controls: hold nothing in {held} of {count}, at least 90 %: {held >= 0.9 * count}; narrow in {narrow} of {count}")
    return 0 if every >= 0.9 * tries and held >= 0.9 * count else 1


def again(args):
    first, inside, bare = {}, defaultdict(list), defaultdict(list)
    for i in range(args.times + 1):
        begin = time.monotonic()
        for cost in costs(args.probes, args.budget):
            if i == 0:
                if cost.get("next"):
                    first[name(cost)] = cost
            elif name(cost) in first:
                of, value = first[name(cost)], cost["estimate"]["value"]
                inside[name(cost)].append(of["next"][0] <= value <= of["next"][1])
                bare[name(cost)].append(holds(of["estimate"], value))
        print(f"{i} of {args.times}", file=sys.stderr, flush=True)
        if i < args.times:
            time.sleep(max(0, args.every - (time.monotonic() - begin)))
    rows = []
    for figure, held in sorted(inside.items()):
        low, high = first[figure]["next"]
        rows.append([figure, f"{low:.4g} to {high:.4g}", f"{sum(held)} of {len(held)}", f"{sum(bare[figure])} of {len(held)}"])
    corewise.print_table(["figure", "expected again", "held", "in the confidence interval"], rows)
    well = sum(sum(held) >= 80 / 90 * len(held) for held in inside.values())
    print(f"{well} of {len(inside)} figures lie in the expected interval in at least 80 of 90 measurements")
    return 0 if well == len(inside) else 1


if __name__ == "__main__":
    sys.exit(main())
