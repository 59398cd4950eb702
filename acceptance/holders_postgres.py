#!/usr/bin/env python3
"""PostgreSQL's lightweight locks: for each, a process waits for a semaphore of its own.

    holders_postgres.py FOLDER [SECONDS] [CLIENTS]   records pgbench with a server of its own in FOLDER; COREWISE is the program

The server runs with holders/semaphores.c, which logs who posted which semaphore when. Each wait of a server process in a futex call whose callchain
is known has to be of the kind `parker` (the others are of the kind `signal`: the first ones, until the tables of the program are read), no lock may be
named, and at least 95 % of the threads that are said to have ended a wait must be those that posted the semaphore. Prints the counts; exits 1 if one
is missed. Needs root, cc, and Debian's package postgresql, whose user is `postgres`.
"""

import bisect
import os
import shutil
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from holders import COREWISE, column, monotonic_offset, table

HERE = Path(__file__).parent
ROW = struct.Struct("4q")
PORT = "54329"


def programs():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not found:
        sys.exit("no PostgreSQL in /usr/lib/postgresql: apt-get install postgresql")
    return found[-1]


def as_postgres(*words, **more):
    line = " ".join(str(word) for word in words)
    return subprocess.run(["su", "postgres", "-c", line], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", **more)


def start(folder, programs):
    """Starts a server whose semaphores are logged; its data and its log lie in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("data", "log"):
        shutil.rmtree(folder / part, ignore_errors=True)
    library = folder / "semaphores.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", HERE / "holders/semaphores.c", "-o", library, "-ldl"], check=True)
    (folder / "log").mkdir()
    for path in (folder, folder / "log"):
        shutil.chown(path, "postgres")
    as_postgres(programs / "initdb", "-D", folder / "data", "-A", "trust")
    with (folder / "data/postgresql.conf").open("a") as settings:
        settings.write(f"port = {PORT}\nunix_socket_directories = '{folder}'\nlisten_addresses = ''\nautovacuum = off\n")
    preload = f"SEMAPHORES={folder}/log/of LD_PRELOAD={library}"
    as_postgres(preload, programs / "pg_ctl", "-D", folder / "data", "-l", folder / "log/server", "-w", "start")


def posts(folder):
    """By semaphore: when each post began, and the process that posted, in order."""
    of = defaultdict(list)
    for path in (folder / "log").glob("of.*"):
        for begin, _, semaphore, is_post in ROW.iter_unpack(path.read_bytes()):
            if is_post:
                of[semaphore].append((begin, int(path.suffix[1:])))
    return {semaphore: sorted(rows) for semaphore, rows in of.items()}


def judge(run, of):
    threads = {column(row, "thread"): row for row in table(run, "threads")}
    ours = {key for key, row in threads.items() if column(row, "name") == "postgres"}
    offset = monotonic_offset(run)
    sums, kinds = defaultdict(int), defaultdict(int)
    for row in table(run, "object_waits"):
        if column(row, "thread") not in ours or column(row, "whole") != "true" or column(row, "reason") != "futex":
            continue
        rows = of.get(int(column(row, "object") or "0", 16), [])
        start, end = (int(column(row, at)) + offset for at in ("start_ns", "end_ns"))
        place = bisect.bisect_right(rows, (end, 1 << 40)) - 1
        releaser = column(row, "released_by")
        # A post before the wait would have left nothing to wait for.
        if place >= 0 and rows[place][0] > start and releaser not in ("", "0"):
            sums["released"] += 1
            sums["released_right"] += int(column(threads[releaser], "tid")) == rows[place][1]
    for row in table(run, "wait_objects"):
        if column(row, "thread") in ours and column(row, "reason") == "futex":
            kinds[column(row, "kind"), column(row, "call_site")] += int(column(row, "waits"))
    sums["locks_named"] = sum(column(row, "thread") in ours for row in table(run, "lock_waits"))
    return dict(sums), dict(kinds)


def main():
    folder = Path(sys.argv[1]).resolve()
    seconds, clients = (sys.argv[2:] + ["20", "8"][len(sys.argv) - 2 :])[:2]
    bin = programs()
    start(folder, bin)
    connection = ["-h", folder, "-p", PORT]
    run = folder / "run.cw"
    shutil.rmtree(run, ignore_errors=True)
    try:
        as_postgres(bin / "pgbench", *connection, "-i", "-s", "2", "postgres")
        bench = " ".join(map(str, [bin / "pgbench", *connection, "-n", "-N", "-c", clients, "-j", "2", "-T", seconds, "postgres"]))
        subprocess.run([COREWISE, "record", "--stacks", "--no-sample", "-o", run, "--", "su", "postgres", "-c", bench], check=True, capture_output=True)
    finally:
        as_postgres(bin / "pg_ctl", "-D", folder / "data", "-m", "fast", "-w", "stop")
    sums, kinds = judge(run, posts(folder))
    found = ", ".join(f"{count} {kind} in {site or 'an unknown function'}" for (kind, site), count in kinds.items())
    print(" ".join(f"{name} {count}" for name, count in sums.items()), "|", found)
    known = {kind for kind, site in kinds if site}
    good = known == {"parker"} and {kind for kind, _ in kinds} <= {"parker", "signal"} and sums["locks_named"] == 0
    sys.exit(not (good and sums.get("released_right", 0) >= 0.95 * sums.get("released", 0) > 0))


if __name__ == "__main__":
    main()
