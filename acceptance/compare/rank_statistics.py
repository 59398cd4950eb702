#!/usr/bin/env python3
"""Compares crates/stats with scipy, numpy and arch on drawn runs, and prints how often intervals contain a known change.

    acceptance/compare/rank_statistics.py [--rounds 300] [--comparisons 10000]

Needs scipy, numpy and arch (PyPI), and the examples:
    cargo build --release -p corewise-stats --examples
A line for each method: the number of comparisons and the largest relative deviation. p-values deviate relative to themselves,
ends of intervals relative to the interval's width. Where the method is the same, three digits must agree (0.001); where both
draw at random, the deviation is that of the draw. Intervals of rank tests are compared with scipy's test, inverted: the shifts
that it does not reject. Exits 1 if a deviation is too large, or if not 93 to 97 % of the 95 % intervals contain the change.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.stats as st

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples"
EXACT = 0.001
worst = collections.defaultdict(lambda: [0, 0.0, EXACT])


def ask(questions):
    """The answers of the example, in the order of the questions."""
    text = "\n".join(json.dumps(question) for question in questions)
    out = subprocess.run([EXAMPLES / "effects"], input=text, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def note(method, found, expected, unit=None, allowed=EXACT):
    """Keeps the largest deviation of a method."""
    deviation = abs(found - expected) / (abs(expected) if unit is None else unit) if found != expected else 0.0
    entry = worst[method]
    entry[0] += 1
    entry[1] = max(entry[1], deviation if np.isfinite(deviation) else np.inf)
    entry[2] = allowed


def inverted(p, estimate, reach, level):
    """The shifts that a test does not reject: bisection on each side of the estimate."""
    ends = []
    for direction in (-1, 1):
        inside, outside = 0.0, reach
        while outside - inside > 1e-9 * reach:
            middle = (inside + outside) / 2
            if p(estimate + direction * middle) > level:
                inside = middle
            else:
                outside = middle
        ends.append(estimate + direction * (inside + outside) / 2)
    return ends


def intervals(method, answer, expected):
    """Compares both intervals with `expected(level)`."""
    for name, level in (("interval", 0.05), ("narrow", 0.10)):
        ends = expected(level)
        for found, end in zip(answer[name], ends):
            note(method, found, end, unit=ends[1] - ends[0])


def unpaired(random, rounds):
    sides = [(random.normal(size=random.integers(4, 30)), random.normal(random.choice([0, 1]), 1, random.integers(4, 30)))
             for _ in range(rounds)]
    for (a, b), answer in zip(sides, ask({"a": list(a), "b": list(b), "scale": "difference"} for a, b in sides)):
        test = lambda shift: st.mannwhitneyu(b - shift, a, method="exact").pvalue
        note("Mann-Whitney, exact p", answer["p"], test(0))
        note("Kolmogorov-Smirnov, exact p", answer["spread_p"], st.ks_2samp(a, b, method="exact").pvalue)
        note("Hodges-Lehmann, estimate", answer["estimate"], np.median(np.subtract.outer(b, a)))
        if len(a) * len(b) < 200:
            intervals("Mann-Whitney, intervals by inversion", answer, lambda level: inverted(test, answer["estimate"], 30, level))
    big = [(random.normal(size=80), random.normal(0.2, 1, 70)) for _ in range(20)]
    for (a, b), answer in zip(big, ask({"a": list(a), "b": list(b), "scale": "difference"} for a, b in big)):
        note("Mann-Whitney, 80 and 70 runs, normal p", answer["p"], st.mannwhitneyu(b, a, method="asymptotic").pvalue)
    ties = [(random.integers(0, 5, random.integers(4, 7)), random.integers(0, 6, random.integers(4, 7))) for _ in range(rounds // 5)]
    every = st.PermutationMethod(n_resamples=np.inf)
    for (a, b), answer in zip(ties, ask({"a": a.tolist(), "b": b.tolist(), "scale": "difference"} for a, b in ties)):
        if answer["p"] is not None and answer["estimate"] != 0:
            note("Mann-Whitney with ties, p over all orders", answer["p"], st.mannwhitneyu(b, a, method=every).pvalue)
            distance = lambda x, y: st.ks_2samp(x, y, method="asymp").statistic
            p = st.permutation_test((a, b), distance, vectorized=False, alternative="greater", n_resamples=np.inf).pvalue
            note("Kolmogorov-Smirnov with ties, p over all orders", answer["spread_p"], p)


def paired(random, rounds):
    pairs = [random.normal(0.3, 1, random.integers(6, 30)) for _ in range(rounds)]
    zero = lambda differences: np.zeros(len(differences)).tolist()
    ask_pairs = lambda drawn: ask({"a": zero(d), "b": d.tolist(), "paired": True, "scale": "difference"} for d in drawn)
    for differences, answer in zip(pairs, ask_pairs(pairs)):
        test = lambda shift: st.wilcoxon(differences - shift, method="exact").pvalue
        note("Wilcoxon, exact p", answer["p"], test(0))
        if len(differences) < 15:
            intervals("Wilcoxon, intervals by inversion", answer, lambda level: inverted(test, answer["estimate"], 30, level))
    ties = [random.integers(-2, 5, random.integers(6, 11)).astype(float) for _ in range(rounds // 5)]
    every = st.PermutationMethod(n_resamples=np.inf)
    for differences, answer in zip(ties, ask_pairs(ties)):
        if answer["p"] is not None and answer["estimate"] != 0:
            p = st.wilcoxon(differences, zero_method="pratt", method=every).pvalue
            note("Wilcoxon with ties and zeros (Pratt), p over all signs", answer["p"], p)


def few(random, rounds):
    sides = [(np.exp(random.normal(4, 0.1, random.integers(2, 4))), np.exp(random.normal(4.1, 0.1, random.integers(2, 9))))
             for _ in range(rounds)]
    for (a, b), answer in zip(sides, ask({"a": list(a), "b": list(b), "scale": "ratio"} for a, b in sides)):
        test = st.ttest_ind(np.log(b), np.log(a))
        note("Student, p", answer["p"], test.pvalue)
        intervals("Student, intervals", answer, lambda level: np.exp(test.confidence_interval(1 - level)).tolist())


def small(random, rounds):
    drawn = [random.uniform(size=random.integers(1, 60)) ** 2 for _ in range(rounds)]
    for p, answer in zip(drawn, ask({"p": list(p)} for p in drawn)):
        for found, expected in zip(answer, st.false_discovery_control(p)):
            note("Benjamini-Hochberg, q", found, expected)
    for values in drawn:
        q = random.uniform(size=5)
        for q, found in zip(q, ask({"values": list(values), "q": q} for q in q[:1])):
            note("quantile (numpy, type 7)", found, np.quantile(values, q))


def dependent(random, n, part):
    noise = random.normal(size=n)
    for i in range(1, n):
        noise[i] += part * noise[i - 1]
    return 100 + noise


def series(random, rounds):
    from arch.bootstrap import CircularBlockBootstrap, optimal_block_length
    drawn = [dependent(random, int(random.integers(50, 3000)), part) for part in (0, 0.3, 0.6, 0.9) for _ in range(rounds // 10)]
    for values, found in zip(drawn, ask({"series": list(values)} for values in drawn)):
        note("block length (arch: Patton, Politis & White)", found, float(optimal_block_length(values)["circular"].iloc[0]))
    functions = {"mean": np.mean, "median": np.median, 0.95: lambda x, axis=None: np.quantile(x, 0.95, axis=axis)}
    for name, function in functions.items():
        for part, allowed in ((0, 0.1), (0.6, 0.1)):
            a, b = dependent(random, 1500, part), dependent(random, 1500, part)
            answer, *lengths = ask([{"a": list(a), "b": list(b), "statistic": name, "scale": "difference"}]
                                   + [{"series": list(x if name == "mean" else (x > function(x)).astype(float))} for x in (a, b)])
            if part == 0:
                reference = f"scipy's bootstrap, independent values, {name}: width"
                ends = st.bootstrap((b, a), lambda y, x, axis: function(y, axis=axis) - function(x, axis=axis), n_resamples=4000,
                                    method="percentile", rng=random).confidence_interval
                low, high = ends.low, ends.high
            else:
                reference = f"arch's circular block bootstrap, dependent values, {name}: width"
                block = int(max(np.ceil(lengths).max(), 1))
                of = lambda x: CircularBlockBootstrap(block, x, seed=random).apply(function, 4000)[:, 0]
                low, high = np.quantile(of(b) - of(a), [0.025, 0.975])
            note(reference, answer["interval"][1] - answer["interval"][0], high - low, allowed=allowed)
    long = [{"a": list(dependent(random, 100_000, 0.5)), "b": list(dependent(random, 100_000, 0.5)), "statistic": statistic,
             "scale": "ratio"} for statistic in ("mean", "median", 0.99)]
    begin = time.monotonic()
    ask({"a": question["a"][:1], "b": question["b"], "pad": question["a"], "statistic": "mean"} for question in long)
    reading, begin = time.monotonic() - begin, time.monotonic()
    ask(long)
    each = (time.monotonic() - begin - reading) / 3
    print(f"100,000 values a side: {each:.2f} s a statistic, without reading them")
    return each < 0.5


def coverage(comparisons):
    """Prints how many intervals contain the change, and returns whether 93 to 97 % do."""
    out = subprocess.run([EXAMPLES / "coverage", str(comparisons)], capture_output=True, text=True, check=True).stdout
    rows = [json.loads(line) for line in out.splitlines()]

    def show(title, key):
        sums = collections.defaultdict(lambda: [0] * 4)
        for row in rows:
            for at, name in enumerate(("comparisons", "with_interval", "contain_95", "contain_90")):
                sums[key(row)][at] += row[name]
        for name, (number, having, wide, narrow) in sorted(sums.items()):
            shares = f"{wide / having:7.2%} {narrow / having:7.2%}" if having else "no interval"
            print(f"  {title} {name!s:26} {number:6} {having:6}  {shares}")
        return sums

    print("\nintervals that contain the true ratio: comparisons, with an interval, 95 %, 90 %")
    number, having, wide, _ = show("", lambda row: "all")["all"]
    show("method", lambda row: row["method"])
    show("distribution", lambda row: row["distribution"])
    show("runs (smaller side)", lambda row: row["runs"])
    return 0.93 <= wide / having <= 0.97


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--comparisons", type=int, default=10_000)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    unpaired(random, options.rounds)
    paired(random, options.rounds)
    few(random, options.rounds)
    small(random, options.rounds)
    fast = series(random, options.rounds)
    print("\nnumber  deviation  allowed  method")
    for method, (number, deviation, allowed) in worst.items():
        print(f"{number:6}  {deviation:9.1e}  {allowed:7}  {method}{'' if deviation <= allowed else '  TOO LARGE'}")
    agree = all(deviation <= allowed for _, deviation, allowed in worst.values())
    covered = coverage(options.comparisons)
    print(f"\nagree: {agree}, coverage 93 to 97 %: {covered}, fast enough: {fast}")
    sys.exit(0 if agree and covered and fast else 1)


if __name__ == "__main__":
    main()
