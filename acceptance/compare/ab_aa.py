#!/usr/bin/env python3
"""A against A with `corewise ab`: the same command on both sides, recorded afresh with all options of `ab` on. How often the headline says "changed".

  ab_aa.py [LOAD…] [--each N] [--lock FILE]     N experiments of each load of record.py (4: 20 in all); the lock is held during each

An experiment records 6 to 12 pairs, until the interval is within 1 %; it repeats disturbed pairs, and records with callchains.
Files: OUT/ab-aa/LOAD-N/, which must not exist. COREWISE is the binary.
"""

import argparse
import json
import shlex
import subprocess
import sys
from collections import Counter

import record

MOST_CHANGED = 0.08


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("loads", nargs="*")
    args.add_argument("--each", type=int, default=4)
    args.add_argument("--lock")
    args = args.parse_args()
    record.make_loads()
    verdicts = Counter()
    for load in args.loads or record.AA:
        for nth in range(args.each):
            said = experiment(load, nth, args.lock)
            verdicts[said["objective"]["verdict"]] += 1
            print(f"{load:7} {nth}  {said['objective']['verdict']:8} {said['answer']}", flush=True)
    count = sum(verdicts.values())
    most = int(MOST_CHANGED * count)
    print(f"changed {verdicts['changed']} of {count}, at most {most}: {'met' if verdicts['changed'] <= most else 'SHORT'}; same {verdicts['same']}, unknown {verdicts['unknown']}")
    return 0 if verdicts["changed"] <= most else 1


def experiment(load, nth, lock):
    """Records one folder with `ab` and returns its comparison."""
    folder = record.OUT / "ab-aa" / f"{load}-{nth}"
    folder.parent.mkdir(exist_ok=True)
    line = shlex.join(record.command_of(record.AA[load]))
    options = ["--until", "1%", "--max-runs", "12", "--warm-up", "2", "--repeats", "6", "--seed", str(1000 + nth), "--max-steal", "5%",
               "--max-load", "10%", "--keep", "compared", "--name-a", "one", "--name-b", "other", "--record-arg=--stacks"]
    command = [record.COREWISE, "ab", "-o", folder, *options, line, line]
    lock = record.Lock(lock)
    lock.take()
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    lock.release()
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-1000:]}")
    return json.loads(subprocess.run([record.COREWISE, "compare", folder, "--format", "json"], capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    sys.exit(main())
