#!/usr/bin/env python3
"""Judges `corewise compare` by the recordings of record.py: how often it calls equal sides changed, and how often it finds known changes.

  judge.py aa    [LOAD…]   both sides of the same command: 40 comparisons a load of 2 to 10 runs a side (consecutive pairs), and 20 of 10 runs.
                           At most 8 % of the former may be "changed"; at least 80 % of the latter must be "same", with the margin of 5 %.
  judge.py power [GROUP…]  a base and a variant: 60 comparisons of 6 and 60 of 10 runs a side (random rounds, the same for both sides): how often
                           "changed" in the right direction, and how often the true change is within the 95 % interval
        [--paired] [--jobs N] [--keep FILE] [--method FILE] [--seed N]

The true change, three times. nominal: what the load's parameter says; only where wall time must follow it. bare: the ratio of medians of
unrecorded runs (`record.py bare`); the runs that are judged have no part in it, but it lacks what recording adds, which matters for loads that switch
often. all: the ratio of medians of all recorded runs; the comparisons are drawn from the same runs, so coverage of it is flattered.
Coverage of bare and all also suffers from their own error: they are medians of 12 and 24 runs a side.

Comparisons of a load share runs, so they are not independent: 32 pairs have only three separate blocks of ten. The table says how many there are.
--method: a Python file with compare(a, b), which gets wall times of the load's own clock, s, in pairs, and returns
{"verdict": …, "estimate": …, "interval": [low, high] or None}: a method to try in place of corewise.
"""

import argparse
import importlib.util
import json
import math
import random
import statistics
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import record

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import corewise  # noqa: E402

MOST_CHANGED, LEAST_SAME, MARGIN = 0.08, 0.80, 0.05
AA_DRAWS, SAME_DRAWS, POWER_DRAWS = 40, 20, 60
POWER_RUNS = (6, 10)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("what", choices=["aa", "power"])
    args.add_argument("names", nargs="*")
    args.add_argument("--paired", action="store_true", help="compare with --paired: the rounds are pairs")
    args.add_argument("--jobs", type=int, default=1)
    args.add_argument("--keep", type=Path, help="write every comparison to this file (JSON)")
    args.add_argument("--method", help="judge the method of this Python file in place of corewise")
    args.add_argument("--seed", type=int, default=1)
    args = args.parse_args()
    method = by_file(args.method) if args.method else by_corewise(["--paired"] if args.paired else [])
    draws = (aa_draws if args.what == "aa" else power_draws)(args.names, args.seed)
    if not draws:
        sys.exit(f"no recordings in {record.OUT}: see record.py")
    with ThreadPoolExecutor(args.jobs) as pool:
        for draw, found in zip(draws, pool.map(lambda draw: method(draw["a"], draw["b"]), draws)):
            draw["found"] = found
    if args.keep:
        args.keep.write_text(json.dumps([{**draw, "a": names_of(draw["a"]), "b": names_of(draw["b"])} for draw in draws], indent=0))
    return judge_aa(draws) if args.what == "aa" else judge_power(draws)


# Methods. Each gets the rows of the index of both sides, in pairs, and returns the verdict, the estimate B / A and its 95 % interval.


def by_corewise(options):
    """The only place that knows how compare is called and what it prints."""

    def compare(a, b):
        command = [corewise.BINARY, "compare", "--format", "json", *options, *(row["file"] for row in a), "--", *(row["file"] for row in b)]
        done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        try:
            said = json.loads(done.stdout)
        except ValueError:
            sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{(done.stderr or done.stdout)[-1000:]}")
        objective = said["objective"]
        effect = objective["effect"] or {}
        in_ratio = effect.get("scale", "ratio") == "ratio"
        return {"verdict": objective["verdict"], "estimate": effect.get("estimate") if in_ratio else None,
                "interval": effect.get("interval") if in_ratio else None, "method": effect.get("method"), "paired": said["paired"],
                "metric": objective["metric"]["id"], "answer": said["answer"]}

    return compare


def by_file(path):
    spec = importlib.util.spec_from_file_location("method", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda a, b: module.compare(seconds_of(a), seconds_of(b))


def seconds_of(rows):
    return [row["wall_ns"] / 1e9 for row in rows]


# Draws


def rounds_of(folder, index="index.json"):
    """Returns the kept runs of each round, by label, in order."""
    path = record.OUT / folder / index
    rounds = {}
    for row in json.loads(path.read_text()) if path.exists() else []:
        if row["kept"]:
            rounds.setdefault(row["round"], {})[row["label"]] = {**row, "file": path.parent / (row["path"] or "")}
    return [rounds[nth] for nth in sorted(rounds)]


def aa_draws(names, seed):
    draws = []
    for load in names or record.AA:
        rounds, choice = rounds_of(load), random.Random(f"{seed} aa {load}")
        for kind, lengths in (("any", [2 + i % 9 for i in range(AA_DRAWS)]), ("ten", [10] * SAME_DRAWS)):
            starts = {}
            for length in lengths:
                # Each block of a length once, as long as there are any.
                if not starts.get(length):
                    starts[length] = choice.sample(range(len(rounds) - length + 1), max(0, len(rounds) - length + 1))
                if starts[length]:
                    begin = starts[length].pop()
                    draws.append(draw_of(load, kind, rounds[begin:begin + length], "A", "B"))
    return draws


def power_draws(names, seed):
    draws = []
    for group in names or record.POWER:
        rounds, choice = rounds_of(f"power-{group}"), random.Random(f"{seed} power {group}")
        for variant in list(record.POWER[group])[1:]:
            for length in POWER_RUNS:
                for _ in range(POWER_DRAWS if len(rounds) >= length else 0):
                    of = sorted(choice.sample(range(len(rounds)), length))
                    draws.append({"group": group, **draw_of(variant, "power", [rounds[i] for i in of], "base", variant)})
    return draws


def draw_of(name, kind, rounds, a, b):
    return {"name": name, "kind": kind, "runs": len(rounds), "a": [one[a] for one in rounds], "b": [one[b] for one in rounds]}


def names_of(rows):
    return [row["path"] for row in rows]


# Verdicts


def judge_aa(draws):
    rows = []
    for load in [*dict.fromkeys(draw["name"] for draw in draws), "all"]:
        of = [draw for draw in draws if load in (draw["name"], "all")]
        some, ten = ([draw["found"] for draw in of if draw["kind"] == kind] for kind in ("any", "ten"))
        count, tens = Counter(one["verdict"] for one in some), Counter(one["verdict"] for one in ten)
        pairs = sum(len(rounds_of(name)) for name in {draw["name"] for draw in of})
        widths = [half_width(one) for one in ten if one["interval"]]
        rows.append([load, str(pairs), str(pairs // 10), str(len(some)), str(count["changed"]), str(count["same"]), str(count["unknown"]), str(len(ten)),
                     str(tens["changed"]), share(tens["same"], len(ten)), f"{statistics.median(widths):.2%}" if widths else "-",
                     ",".join(sorted({str(one.get("metric", "elapsed")) for one in some + ten}))])
    corewise.print_table(["load", "pairs", "blocks of 10", "n 2-10", "changed", "same", "unknown", "n 10", "changed", "same", "± at 10", "metric"], rows)
    some, ten = ([draw["found"]["verdict"] for draw in draws if draw["kind"] == kind] for kind in ("any", "ten"))
    by_runs = Counter(draw["runs"] for draw in draws if draw["kind"] == "any" and draw["found"]["verdict"] == "changed")
    print("changed by runs a side: " + (", ".join(f"{n}: {by_runs[n]}" for n in sorted(by_runs)) or "none"))
    met = some.count("changed") <= MOST_CHANGED * len(some), ten.count("same") >= LEAST_SAME * len(ten)
    print(f"changed {some.count('changed')} of {len(some)}, at most {math.floor(MOST_CHANGED * len(some))}: {word(met[0])}; "
          f"same {share(ten.count('same'), len(ten))} at 10 runs, at least {LEAST_SAME:.0%}: {word(met[1])}")
    return 0 if all(met) else 1


def judge_power(draws):
    rows, covered = [], {kind: [] for kind in ("nominal", "bare", "all")}
    for group, variant, runs in dict.fromkeys((draw["group"], draw["name"], draw["runs"]) for draw in draws):
        found = [draw["found"] for draw in draws if (draw["group"], draw["name"], draw["runs"]) == (group, variant, runs)]
        truth = truths(group, variant, Counter(one.get("metric", "elapsed") for one in found).most_common(1)[0][0])
        best = truth["nominal"] or truth["bare"] or truth["all"] or 1
        right = [one for one in found if one["verdict"] == "changed" and (one["estimate"] > 1) == (best > 1)]
        wrong = sum(one["verdict"] == "changed" for one in found) - len(right)
        with_interval = [one for one in found if one["interval"]]
        cells = []
        for kind, value in truth.items():
            inside = [one["interval"][0] <= value <= one["interval"][1] for one in with_interval] if value else []
            covered[kind] += inside
            cells.append(f"{value:.4f} {share(sum(inside), len(inside))}" if value else "-")
        verdicts = Counter(one["verdict"] for one in found)
        widths = [half_width(one) for one in with_interval]
        rows.append([group, variant, str(len(rounds_of(f"power-{group}"))), str(runs), str(len(found)), share(len(right), len(found)), str(wrong),
                     str(verdicts["same"]), str(verdicts["unknown"]), f"{statistics.median(widths):.2%}" if widths else "-", *cells,
                     ",".join(sorted({str(one.get("metric", "elapsed")) for one in found}))])
    corewise.print_table(["group", "variant", "rounds", "runs", "drawn", "found", "wrong", "same", "unknown", "±", "nominal, covered", "bare, covered",
                          "all, covered", "metric"], rows)
    print("covered by the 95 % interval: " + ", ".join(f"{kind} {share(sum(of), len(of))} of {len(of)}" for kind, of in covered.items()))
    return 0


def truths(group, variant, metric):
    """Returns the true change of a metric, as known in three ways; the load's own clock is that of its elapsed time only."""
    if metric != "elapsed":
        nominal = record.NOMINAL_RESPONSE.get((group, variant)) if metric.startswith("period") else None
        return {"nominal": nominal, "bare": None, "all": None}
    return {"nominal": record.NOMINAL.get((group, variant)), "bare": ratio(rounds_of(f"power-{group}", "bare.json"), variant),
            "all": ratio(rounds_of(f"power-{group}"), variant)}


def ratio(rounds, variant):
    """Returns the ratio of medians of all runs of a variant and of the base; None if there are none."""
    if not rounds:
        return None
    base, changed = (statistics.median(one[label]["wall_ns"] for one in rounds) for label in ("base", variant))
    return changed / base


def half_width(found):
    """Returns half of the width of an interval of a ratio, as a share."""
    low, high = found["interval"]
    return math.log(high / low) / 2 if low > 0 else math.inf


def share(part, whole):
    return f"{part / whole:.0%}" if whole else "-"


def word(met):
    return "met" if met else "NOT MET"


if __name__ == "__main__":
    sys.exit(main())
