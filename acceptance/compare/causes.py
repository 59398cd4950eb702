#!/usr/bin/env python3
"""Judges the causes that `corewise compare` names for real programs: the same program without and with a scheduling problem.

    COREWISE=… causes.py [--limit N] [FOLDER…]

The folders (default: those of `acceptance/real/run.py score --out` in /var/tmp) have recordings NAME-good-0.cw and NAME-bad-0.cw. Prints for
each pair the change of the objective, the first cause and its share of the change, the shares of the cause `unknown` (of the change, and of the
whole time) and of other programs' threads, and whether the first cause is one that the pair's known fault (acceptance/real/pairs) can show as.
Fails if the pieces of a pair do not sum to the change, or more than a tenth of the pairs have more than 5 % of unknown cause.
"""

import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "acceptance"), str(ROOT / "acceptance/real")]
import corewise  # noqa: E402
import run as real  # noqa: E402

FOLDERS = ["d6", "d7", "u3", "u4", "u5", "r5"]
# The greatest share of the change without a known cause.
REMAINDER = 0.05
# What the faults that a rule finds can show as. The path takes the time of other threads for what a thread waits for: of a lock, its holder's.
QUEUED = {"ready", "wakeup_latency"}
IN_TURN = {"serial", "ready", "blocked"}
SHOWS = {
    "throttled-by-quota": {"throttled"},
    **dict.fromkeys(["too-few-workers", "single-server", "chunks-too-large", "static-partition-barrier-tail", "serialised-on-one-cpu"], IN_TURN),
    **dict.fromkeys(["lock-convoy", "global-lock", "priority-inversion"], IN_TURN | {"wakeup_latency"}),
    **dict.fromkeys(["critical-thread-same-priority-as-workers", "periodic-thread-delayed", "nice-without-effect", "pinned-to-one-cpu",
                     "low-priority-ran-while-high-was-ready"], QUEUED),
    # Each unit has work of its own, and waits and wakeups; a thread that spins is running, or takes the CPU of those that compute.
    **dict.fromkeys(["wakeup-storm", "chunks-too-small", "oversubscribed", "worker-pool-larger-than-useful", "busy-wait-at-barrier"],
                    QUEUED | {"work", "blocked"}),
    "collector-pause": {"work", "serial", "blocked"},
    "io-wait-serialised": {"blocked", "wakeup_latency"},
}


def causes_of(pair):
    """Returns the causes that a pair's fault can show as."""
    return set().union(*(SHOWS.get(rule, set()) for rule in pair.rules))


def judge(name, good, bad, pair):
    """Compares a pair and returns a line of the table as a dict."""
    try:
        of = json.loads(corewise.run("compare", good, "--", bad, "--format", "json"))
    except corewise.Refused as why:
        return {"name": name, "none": str(why).rsplit("corewise: ", 1)[-1][:110]}
    why = of.get("why")
    if not why:
        return {"name": name, "none": f"no causes; judged by {of['objective']['metric']['id']}"}
    pieces, (a, b) = why["pieces"], why["means"]
    change = b - a
    # The largest in the direction of the change; by its own words the comparison names it only if it explains half.
    along = [piece for piece in pieces if piece["ns"] * change > 0]
    first = max(along, key=lambda piece: abs(piece["ns"]), default=None)
    total = lambda chosen: sum(piece["ns"] for piece in pieces if chosen(piece))
    expected = causes_of(pair) if pair else set()
    own = {role["name"] for role in of["roles"] if role["is_own"]}
    return {
        "name": name, "a": a, "b": b, "objective": of["objective"]["metric"]["id"], "first": first,
        "remainder": abs(sum(piece["ns"] for piece in pieces) - change) / max(a, b),
        "unknown": abs(total(lambda piece: piece["cause"] == "unknown")) / abs(change),
        "unknown_of_all": abs(total(lambda piece: piece["cause"] == "unknown")) / max(a, b),
        "others": abs(total(lambda piece: piece["role"] not in own)) / abs(change),
        "rules": pair.rules if pair else [], "fault": pair.fault if pair else "",
        "verdict": "-" if not expected or not first else "plausible" if first["cause"] in expected else "IMPLAUSIBLE",
    }


def main():
    arguments = sys.argv[1:]
    limit = int(arguments.pop(arguments.index("--limit") + 1)) if "--limit" in arguments else None
    folders = [Path(of) for of in arguments if of != "--limit"] or [Path("/var/tmp") / of for of in FOLDERS]
    corewise.need_binary()
    known, _ = real.load()
    found = {}
    for folder in folders:
        for bad in sorted(folder.glob("*-bad-0.cw")):
            good = bad.with_name(bad.name.replace("-bad-", "-good-"))
            if good.exists():
                found.setdefault(bad.name.removesuffix("-bad-0.cw"), (good, bad))
    lines = [judge(name, *paths, known.get(name)) for name, paths in sorted(found.items())[:limit]]
    judged = [line for line in lines if "none" not in line]
    print(f"{'pair':40} {'objective':24} {'change':>10} {'first':>6} {'unknown':>8} {'of all':>7} {'others':>7}  verdict     first cause")
    for of in judged:
        first = of["first"] or {"ns": 0, "cause": "-", "title": "none"}
        share = first["ns"] / (of["b"] - of["a"])
        print(f"{of['name']:40} {of['objective'][:24]:24} {of['b'] / of['a']:9.3f}× {share:6.0%} {of['unknown']:8.2%} {of['unknown_of_all']:7.2%} {of['others']:7.1%}  "
              f"{of['verdict']:11} {first['cause']}: {first['title']}")
        if of["verdict"] != "plausible":
            print(f"{'':40} known: {', '.join(of['rules'])}: {of['fault']}")
    for of in lines:
        if "none" in of:
            print(f"{of['name']:40} {of['none']}")
    within = sum(of["unknown"] <= REMAINDER for of in judged)
    exact = sum(of["remainder"] <= 1e-9 for of in judged)
    print(f"{len(judged)} pairs with causes of {len(lines)}; pieces sum to the change in {exact}; unknown at most 5 % of the change in {within}; "
          f"first causes: {dict(Counter(of['verdict'] for of in judged))}")
    return exact < len(judged) or within < 0.9 * len(judged)


if __name__ == "__main__":
    sys.exit(main())
