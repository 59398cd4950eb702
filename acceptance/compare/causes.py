#!/usr/bin/env python3
"""Checks the causes of `corewise compare` on pairs of recordings of real programs: NAME-bad-0.cw and NAME-good-0.cw in the given folders.

  causes.py FOLDER… [--pairs 20]

Of each pair: whether the pieces of the change sum to it, which part of the change and of the path's time is of unknown cause, and the first
cause. At most 5 % of the change may be of unknown cause in 18 of 20 pairs. COREWISE names the binary.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import corewise  # noqa: E402

MOST_UNKNOWN, LEAST_RIGHT = 0.05, 0.9


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("folders", nargs="+", type=Path)
    args.add_argument("--pairs", type=int, default=20)
    args = args.parse_args()
    bad = sorted(path for folder in args.folders for path in folder.glob("*-bad-0.cw"))
    pairs = [(path, path.with_name(path.name.replace("-bad-", "-good-"))) for path in bad]
    judged = []
    for a, b in pairs:
        if len(judged) == args.pairs or not b.exists():
            continue
        found = compared(a, b)
        if found:
            judged.append(found)
    if not judged:
        sys.exit("no pair with a common objective")
    exact = sum(found["exact"] for found in judged)
    small = sum(found["unknown"] <= MOST_UNKNOWN for found in judged)
    print(f"{exact} of {len(judged)} sum exactly; at most {MOST_UNKNOWN:.0%} of the change unknown in {small}")
    return 0 if exact == len(judged) and small >= LEAST_RIGHT * len(judged) else 1


def compared(a, b):
    """The sum, the unknown part and the first cause of a pair; None if it has no common objective or the critical paths do not lead to it."""
    ran = subprocess.run([corewise.BINARY, "compare", a, b, "--format", "json"], capture_output=True, text=True)
    name = a.name.removesuffix("-bad-0.cw")
    if ran.returncode:
        print(f"{name}: {ran.stderr.strip()[:150]}")
        return None
    why = json.loads(ran.stdout)["why"]
    if not why:
        print(f"{name}: no critical path to a common objective")
        return None
    change = why["means"][1] - why["means"][0]
    pieces = why["pieces"]
    rest = abs(sum(piece["ns"] for piece in pieces) - change)
    unknown = sum(piece["ns"] for piece in pieces if piece["cause"] == "unknown")
    found = {"exact": rest <= 1e-9 * max(why["means"]), "unknown": abs(unknown) / max(abs(change), 1.0)}
    first = pieces[0]["title"] if pieces else "none"
    print(f"{name}: {change / 1e6:+.3f} ms, rest {rest:.3f} ns, unknown {found['unknown']:.2%}; first {first}")
    return found


if __name__ == "__main__":
    sys.exit(main())
