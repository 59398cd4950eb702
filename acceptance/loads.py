#!/usr/bin/env python3
"""Makes ten recordings of different loads with `perf sched record`, and of the same loads with `corewise record`.

    acceptance/loads.py OUT               OUT/<load>.data and OUT/<load>.cw
    acceptance/loads.py --only perf OUT   only the former
    acceptance/loads.py --look OUT        prints the referee's result for each .data that exists

perf does not deliver some tasks' events on some virtual machines (docs/accounting.md, inconsistent switches), among them those of CPU 1's idle task.
So five loads keep CPU 1 from becoming idle, with a spinner of the lowest weight (nice 19) on it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import corewise

SPINNER = "taskset -c 1 nice -n 19 timeout {seconds} sh -c 'while :; do :; done'"
# name: (command, whether CPU 1 is kept from becoming idle). {tmp} is a folder of its own.
LOADS = {
    "idle": ("sleep 2", False),
    "pipe": ("taskset -c 0 perf bench sched pipe -l 20000", False),
    "io": ("dd if=/dev/zero of={tmp}/io bs=64k count=2000 conv=fsync; cat {tmp}/io | md5sum", False),
    "compile": ("cd {tmp} && make -s -j2 -f big.mk", False),
    "fork": ("stress-ng --quiet --fork 2 --fork-ops 1500 -t 3", False),
    "messaging": ("perf bench sched messaging -l 60", True),
    "cpu": ("stress-ng --quiet --cpu 4 -t 2", True),
    "switch": ("stress-ng --quiet --switch 1 --switch-ops 30000 --switch-freq 20000 -t 2", True),
    "futex": ("stress-ng --quiet --futex 2 --futex-ops 20000 -t 2", True),
    "nice": ("for n in 0 5 10 19; do nice -n $n timeout 2 sh -c 'while :; do :; done' & done; wait", True),
}


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("out", metavar="OUT", type=Path)
    args.add_argument("--only", choices=["perf", "corewise"], help="only one of the two recorders")
    args.add_argument("--load", action="append", choices=list(LOADS), help="only these loads")
    args.add_argument("--look", action="store_true", help="record nothing; print the referee's result for OUT/*.data")
    args = args.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    names = args.load or list(LOADS)
    if args.look:
        return look([args.out / f"{name}.data" for name in names])
    if args.only != "perf":
        corewise.need_binary()
    for name in names:
        if args.only != "corewise":
            record(name, ["perf", "sched", "record", "-m", "4096", "-o", str(args.out / f"{name}.data")])
        if args.only != "perf":
            folder = args.out / f"{name}.cw"
            shutil.rmtree(folder, ignore_errors=True)
            record(name, [corewise.BINARY, "record", "-o", str(folder), "--"])
    return 0


def record(name, recorder):
    """Runs the load under a recorder. The spinner runs from before the recording until after it, so that it covers both ends."""
    command, kept_busy = LOADS[name]
    with tempfile.TemporaryDirectory(prefix=f"load-{name}-") as tmp:
        if "big.mk" in command:
            write_sources(Path(tmp))
        spinner = subprocess.Popen(SPINNER.format(seconds=60), shell=True, start_new_session=True) if kept_busy else None
        try:
            done = subprocess.run([*recorder, "sh", "-c", command.format(tmp=tmp)], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        finally:
            if spinner:
                os.killpg(spinner.pid, 15)
                spinner.wait()
    said = [line.strip() for line in done.stdout.splitlines() if "wrote" in line or "lost" in line.lower()]
    print(f"{name:10} {Path(recorder[0]).name}: exit {done.returncode} {' '.join(said)}", flush=True)


def write_sources(folder):
    """Writes C files that take a moment to compile, and a makefile."""
    objects = [f"part{i}.o" for i in range(6)]
    for name in objects:
        functions = "\n".join(f"double f{i}(double x) {{ for (int i = 0; i < {i}; i++) x += x / (i + 1.5); return x; }}"
                              for i in range(300))
        (folder / name.replace(".o", ".c")).write_text(functions)
    (folder / "big.mk").write_text(f"all: {' '.join(objects)}\n%.o: %.c\n\tcc -O2 -c $< -o $@\n")


def look(files):
    import referee

    rows = []
    for path in files:
        if not path.exists():
            continue
        seen = referee.referee(str(path))
        cpus = seen["cpus"].values()
        unknown, whole = sum(c["unknown_ns"] for c in cpus), sum(sum(c.values()) for c in cpus)
        rows.append([path.stem, seen["events"], seen["switches"], f"{(seen['end_ns'] - seen['begin_ns']) / 1e9:.2f}",
                     len(seen["threads"]), corewise.percent(unknown, whole), seen["broken"], seen["unwoken"]])
    corewise.print_table(["load", "events", "switches", "seconds", "threads", "unknown CPU time", "broken", "unwoken"], rows)


if __name__ == "__main__":
    sys.exit(main())
