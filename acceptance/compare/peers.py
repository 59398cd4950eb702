#!/usr/bin/env python3
"""Compares verdicts of crates/stats, benchstat and hyperfine's Welch test on the same timings.

    acceptance/compare/peers.py [--benchstat PATH] [--hyperfine PATH]

Timings with a known change are drawn; others are measured by hyperfine and read from its JSON. Needs scipy (PyPI), and
    cargo build --release -p corewise-stats --examples
    go install golang.org/x/perf/cmd/benchstat@latest
    cargo install hyperfine --locked
Where neither ties nor pairs nor too few runs separate them, p must be benchstat's to its three digits: both are Mann & Whitney's.
A peer that is missing is skipped with a message. Every verdict that differs is explained in a line; exits 1 if one is not.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import scipy.stats as st

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples"


def drawn():
    """name, A, B, whether paired, the true change in percent."""
    draw = random.Random(1)
    normal = lambda n, ratio=1.0, spread=0.02: [100 * ratio * draw.gauss(1, spread) for _ in range(n)]
    spikes = lambda n, ratio=1.0: [ratio * (100 + draw.expovariate(1) + (draw.expovariate(0.02) if draw.random() < 0.2 else 0))
                                   for _ in range(n)]
    yield "5 % slower, 10 runs", normal(10), normal(10, 1.05), False, 5
    yield "no change, 10 runs", normal(10), normal(10), False, 0
    yield "no change, little noise", normal(20, spread=0.004), normal(20, spread=0.004), False, 0
    yield "10 % slower, 3 runs", normal(3, spread=0.01), normal(3, 1.1, 0.01), False, 10
    yield "10 % slower, 2 runs", normal(2, spread=0.01), normal(2, 1.1, 0.01), False, 10
    yield "3 % slower, steal in 1 of 5 runs", spikes(15), spikes(15, 1.03), False, 3
    yield "no change, steal in 1 of 5 runs", spikes(15), spikes(15), False, 0
    yield "2 times as fast, 5 runs", normal(5, spread=0.1), normal(5, 0.5, 0.1), False, -50
    yield "rounded to 10, 10 % slower", [round(x, -1) for x in normal(8, 1.0, 0.05)], [round(x, -1) for x in normal(8, 1.1, 0.05)], False, 10
    states = [draw.gauss(1, 0.2) for _ in range(10)]
    yield ("2 % slower in 10 pairs, the machine varies by 20 %", [x * s for x, s in zip(normal(10, 1, 0.005), states)],
           [x * s for x, s in zip(normal(10, 1.02, 0.005), states)], True, 2)


def measured(hyperfine, folder):
    """Timings by hyperfine, in ms."""
    loop = "python3 -S -c 'for i in range({}): pass'"
    commands = {
        "measured: 10 % more iterations": (loop.format(5_000_000), loop.format(5_500_000)),
        "measured: the same command": (loop.format(1_000_000), loop.format(1_000_000)),
        "measured: sleep 20 and 21 ms": ("sleep 0.020", "sleep 0.021"),
    }
    for name, pair in commands.items():
        out = folder / "hyperfine.json"
        subprocess.run([hyperfine, "-N", "--warmup", "2", "--runs", "15", "--export-json", out, *pair], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times = [[1000 * time for time in result["times"]] for result in json.loads(out.read_text())["results"]]
        yield name, times[0], times[1], False, None


def by_benchstat(benchstat, folder, a, b):
    """(whether changed, p), as benchstat prints them."""
    paths = []
    for side, values in (("a", a), ("b", b)):
        paths.append(folder / f"{side}.txt")
        paths[-1].write_text("".join(f"BenchmarkX 1 {value * 1e6!r} ns/op\n" for value in values))
    out = subprocess.run([benchstat, "-format", "csv", *paths], capture_output=True, text=True, check=True).stdout
    row = next(line for line in out.splitlines() if line.startswith("X,")).split(",")
    return row[5] != "~", float(row[6].split()[0].removeprefix("p="))


def ours(cases):
    text = "\n".join(json.dumps({"a": a, "b": b, "paired": paired, "scale": "ratio"}) for _, a, b, paired, _ in cases)
    out = subprocess.run([EXAMPLES / "effects"], input=text, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def verdict(answer):
    if answer["p"] is not None and answer["p"] <= 0.05:
        return "changed"
    return "same" if answer["at_most"] is not None and answer["at_most"] <= 0.01 else "unknown"


def explained(peer, answer, peer_p, runs):
    """Why a verdict differs from a peer's; None if unknown."""
    if answer["method"] == "signed_rank":
        return "it compares all runs with all: the variation between pairs hides the change within them"
    if peer == "benchstat" and runs < 4:
        return "it has no result below 4 runs a side; Student's t, which assumes normal runs, has"
    if peer == "Welch" and answer["method"] == "rank_sum":
        return "few slow runs inflate the standard error of a mean; ranks are the same however slow these are"
    if peer == "Welch" and answer["method"] == "student":
        return "it allows different variances, which costs degrees of freedom with few runs; and ratios are compared as logarithms here"
    if answer["p"] is not None and abs(peer_p - answer["p"]) < 0.02:
        return "both p-values are near 0.05"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchstat", default=shutil.which("benchstat"))
    parser.add_argument("--hyperfine", default=shutil.which("hyperfine"))
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        cases = list(drawn())
        if options.hyperfine:
            cases += measured(options.hyperfine, folder)
        else:
            print("hyperfine is missing: no measured timings")
        if not options.benchstat:
            print("benchstat is missing: skipped")
        print(f"{'timings':52} {'true':>5}  {'corewise':42} {'benchstat':16} Welch")
        for (name, a, b, paired, change), answer in zip(cases, ours(cases)):
            found = verdict(answer)
            interval = "no interval"
            if answer["interval"]:
                low, high = (100 * (end - 1) for end in answer["interval"])
                interval = f"{100 * (answer['estimate'] - 1):+.2f} % ({low:+.2f} to {high:+.2f}) p={answer['p']:.3f}"
            peers = {"Welch": st.ttest_ind(b, a, equal_var=False).pvalue}
            peers = {"Welch": (peers["Welch"] <= 0.05, peers["Welch"])}
            if options.benchstat:
                peers["benchstat"] = by_benchstat(options.benchstat, folder, a, b)
            words = {peer: f"{'changed' if changed else '~'} p={p:.3f}" for peer, (changed, p) in peers.items()}
            true = "" if change is None else f"{change:+d} %"
            print(f"{name:52} {true:>5}  {found:8}{interval:40} {words.get('benchstat', ''):16} {words['Welch']}")
            for peer, (changed, p) in peers.items():
                if changed != (found == "changed"):
                    why = explained(peer, answer, p, min(len(a), len(b)))
                    wrong += why is None
                    print(f"    {peer}: {why or 'NOT EXPLAINED'}")
            ties = len(set(a + b)) < len(a + b)
            if "benchstat" in peers and answer["method"] == "rank_sum" and not ties:
                same = abs(peers["benchstat"][1] - answer["p"]) <= 0.000501
                wrong += not same
                if not same:
                    print("    p IS NOT BENCHSTAT'S")
    print(f"\nnot explained: {wrong}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
