"""Measures how often `compare` matches the threads of two runs rightly, with names and with names and numbers hidden.

  python3 acceptance/compare/roles.py [--set developed|reported] RECORDINGS…

RECORDINGS are folders with what `acceptance/real/run.py` recorded: PROGRAM-bad-0.cw and PROGRAM-good-0.cw, two runs of one real program
with other settings. The truth is PROGRAMS: written by hand, from the programs' documentation and sources, by the names that they gave
their threads. The matcher (`cargo build -p corewise-compare --example roles`, path in ROLES) then gets side B with permuted keys, TIDs and process
IDs, and with other names: `pools` renames what has several threads or a number, `all` every thread but the main ones.

A thread is right if its role has threads of the same true role on the other side, or, where the other side has none of them, if its
role has none there either. `mixed` is the share of running time in roles that join several true roles, `split` the share of threads that are not in the role of most of
their true role. `renamed` is the number of true roles of B with other names: without any, `pools` is no harder than `names`. `high` counts the threads that are wrong with
high confidence.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from corewise import ROOT, print_table  # noqa: E402

ROLES = os.environ.get("ROLES") or str(Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "debug/examples/roles")
SEEDS = range(1, 6)

# The JVM's threads (HotSpot: thread names in src/hotspot/share), `java` itself waits for the thread that runs main().
JVM = [
    ("gc workers", "java", r"GC Thread#\d+", None), ("concurrent markers", "java", r"G1 Conc#\d+", None),
    ("refiners", "java", r"G1 Refine#\d+", None), ("runs main()", "java", "java", False),
    ("pool", "java", r"(pool-\d+-thread-|ForkJoinPool|jscompiler).*", None),
]
# Program: true roles as (role, process, thread, whether it is the main thread or when it began: "early" or "late"). The first that fits;
# threads that none fits are their process, name without digits, and whether they are main threads.
PROGRAMS = {
    "developed": {
        # MariaDB: a thread per connection (thread_handling=one-thread-per-connection), made when mariadb-slap connects.
        "mariadb-table-lock": [("connections", "mariadbd", "mariadbd", "late"), ("background", "mariadbd", "mariadbd", False)],
        "closure-compiler-small-heap": JVM,
        "puma-threads-one-process": [("pool", "puma", r"puma srv tp \d+", None), ("hey", "hey", ".*", False)],
        "ffmpeg-quota": [("workers", "ffmpeg", "ffmpeg", False)],
        "pandoc-small-nursery": [("capabilities", "pandoc", "pandoc:w", None)],
    },
    "reported": {
        "erlang-one-server": [
            ("schedulers", "beam.smp", r"\d+_scheduler", None), ("dirty cpu", "beam.smp", r"\d+_dirty_cpu_sch\w*", None),
            ("dirty io", "beam.smp", r"\d+_dirty_io_sch\w*", None),
        ],
        # Backends are made when pgbench connects; the others are the postmaster and its auxiliary processes.
        "pgbench-scale-one": [("backends", "postgres", "postgres", "late"), ("auxiliary", "postgres", "postgres", "early")],
        # The numbers of queues follow their order in the pipeline; all run a GstTask of a source pad.
        "gstreamer-queues-of-one": [("queues", "gst-launch-1.0", r"queue\d+:src", None)],
        "java-notify-all": JVM,
        "node-small-high-water-mark": [("workers", "node", "node", False)],
    },
}


def true_role(thread, truth):
    began = "late" if thread["begin_ns"] > 0 else "early"
    for role, process, name, which in truth:
        fits = which is None or which in (thread["is_main"], began)
        # A main thread is late or early only where processes are the workers.
        if re.fullmatch(process, thread["process"]) and re.fullmatch(name, thread["name"]) and fits:
            if which != "late" or process == "postgres" or not thread["is_main"]:
                return role
    return (thread["process"], re.sub(r"\d+", "", thread["name"]), thread["is_main"])


def measured(pair, truth, hide):
    """Returns threads, right ones, running time, of right ones, of mixed roles, threads wrong with high confidence, and split off."""
    done = subprocess.run([ROLES, pair[0], "--", pair[1], "--json", *hide], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{ROLES} {pair}: {done.stderr}")
    roles = json.loads(done.stdout)["roles"]
    sides = [[[(t, true_role(t, truth)) for t in side if t["is_own"]] for side in role["members"]] for role in roles]
    known = [{true for role in sides for _, true in role[side]} for side in (0, 1)]
    threads, right, ns, ns_right, ns_mixed, high = 0, 0, 0.0, 0.0, 0.0, 0
    for role, members in zip(roles, sides):
        mixed = len({true for side in members for _, true in side}) > 1
        for side in (0, 1):
            others = {true for _, true in members[1 - side]}
            for thread, true in members[side]:
                is_right = true in others if true in known[1 - side] else not others
                threads, ns = threads + 1, ns + thread["running_ns"]
                right, ns_right = right + is_right, ns_right + is_right * thread["running_ns"]
                ns_mixed += mixed * thread["running_ns"]
                high += bool(others) and not is_right and role["confidence"] == "high"
    split = 0
    for side in (0, 1):
        for true in known[side]:
            counts = [sum(of == true for _, of in members[side]) for members in sides]
            split += sum(counts) - max(counts)
    renamed = {true for members in sides for thread, true in members[1] if thread["given"] != thread["name"]}
    return threads, right, ns, ns_right, ns_mixed, high, split, len(renamed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--set", choices=PROGRAMS, action="append")
    args = parser.parse_args()
    hidden = {"names": [[]]}
    for kind in ("pools", "all"):
        hidden[kind] = [["--rename", kind, "--rename-seed", str(seed)] for seed in SEEDS]
    rows, failed = [], False
    for of in args.set or PROGRAMS:
        total = {kind: [0] * 8 for kind in hidden}
        for program, truth in PROGRAMS[of].items():
            found = [[folder / f"{program}-{side}-0.cw" for side in ("bad", "good")] for folder in args.recordings]
            pair = next((pair for pair in found if all(path.exists() for path in pair)), None)
            if pair is None:
                sys.exit(f"no recordings of {program}: acceptance/real/run.py makes them")
            row = [of, program]
            for kind, hides in hidden.items():
                sums = [sum(values) for values in zip(*(measured(pair, truth, hide) for hide in hides))]
                total[kind] = [a + b for a, b in zip(total[kind], sums)]
                row += shares(sums, len(hides))
            rows.append(row)
        rows.append([of, "all"] + [cell for kind in hidden for cell in shares(total[kind], len(hidden[kind]))])
        failed |= any(total[kind][1] < 0.95 * total[kind][0] or total[kind][3] < 0.95 * total[kind][2] for kind in ("names", "pools"))
        failed |= any(sums[5] for sums in total.values())
    head = [f"{kind} {of}".strip() for kind in hidden for of in ("threads", "running", "mixed", "split", "high", "renamed")]
    print_table(["set", "program", *head], rows)
    sys.exit(failed)


def shares(sums, runs):
    threads, right, ns, ns_right, ns_mixed, high, split, renamed = sums
    percent = [right / threads, ns_right / ns, ns_mixed / ns, split / threads]
    return [*(f"{100 * share:.1f}" for share in percent), high, renamed / runs]


main()
