#!/usr/bin/env python3
"""Makes a fleet: many recordings, by repeating a few real ones with other IDs, hosts, dates and labels.

usage: fleet_make.py OUT [--count 2000] [--first 0] [--seeds FOLDER] [--damaged N]

OUT gets the recordings run-00000.cw, run-00001.cw and so on. A recording is a seed's copy with its own trace ID (in the manifest and in each
Parquet file), hostname, time of start, kernel release and labels (release, team). Which ones follows from its number alone, so that a longer
fleet has the shorter one in it. Nothing else is changed: each is as valid as its seed, and `corewise verify` says so.

The seeds are recordings of this machine, of 20,000 events or more each, made where FOLDER has none yet (this needs root): half of them of threads
that share two CPUs, half of the same threads bound to one CPU. Release 2.0 is repeated from the latter, so that a fleet's findings differ by release.

--damaged N cuts off a file in each of the last N recordings.
"""

import argparse
import base64
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

from corewise import BINARY, need_binary

HOSTS = 40
TEAMS = ("render", "physics", "net")
RELEASES = ("1.0", "2.0")
KERNELS = ("6.12.9", "6.18.4")
# The first of a fleet's days; recordings of one host are two hours apart.
DAY = datetime.datetime(2026, 3, 2, 6, 0, tzinfo=datetime.timezone.utc)
SEEDS_OF_EACH = 4
# Threads that work a little and sleep a little: some thousand switches in less than a second.
LOAD = """
import sys, threading, time
def work(times):
    for _ in range(times):
        sum(range(2000))
        time.sleep(0.0005)
threads = [threading.Thread(target=work, args=(int(sys.argv[1]),)) for _ in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
"""
# As many as usually give the wanted number of events.
LOOPS = 400
EVENTS = 20_000
TRIES = 4
# An ID with fewer digits may occur in a footer by chance.
LEAST_DIGITS = 10
# The tables that a recorder writes; repeats leave out all others, which are made again when needed.
TABLES = ("concurrency", "cpus", "inferred_state", "loss", "thread_by_core_type", "thread_by_cpu", "threads")


def events(recording):
    """Returns the number of events of a recording; 0 if it is none."""
    try:
        return json.loads((recording / "manifest.json").read_text())["summary"]["events"]
    except FileNotFoundError:
        return 0


def record(folder, bound):
    """Records the load into a new folder, for as long as it takes to have enough events."""
    loops = LOOPS
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        cores = ["--cores", "0"] if bound else []
        command = ["-o", str(folder), "--no-power", *cores, "--", sys.executable, "-c", LOAD, str(loops)]
        done = subprocess.run([BINARY, "record", *command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            # Simulated runs are no substitute: they are small, and their one-digit IDs cannot be replaced by others of the same length.
            sys.exit(f"the seeds cannot be recorded here: {done.stderr.strip()}\nrun it as root, or name a folder of seeds with --seeds")
        found = events(folder)
        if found >= EVENTS:
            return
        loops = loops * max(EVENTS * 1.1 / max(found, 1), 1.1)
        loops = min(int(loops), 20 * LOOPS)
    sys.exit(f"{folder}: {found} events after {TRIES} tries, wanted {EVENTS}")


def seeds(folder):
    """Returns two lists of recordings, one for each release. Records those that the folder lacks, or that have too few events."""
    folder = Path(folder)
    wanted = [(folder / f"{kind}-{n}.cw", kind == "bound") for n in range(SEEDS_OF_EACH) for kind in ("free", "bound")]
    folder.mkdir(parents=True, exist_ok=True)
    for path, bound in wanted:
        if events(path) < EVENTS:
            record(path, bound)
    return [[path for path, is_bound in wanted if is_bound == bound] for bound in (False, True)]


def trace_id(seed_id, number):
    """Returns another trace ID, with as many characters as the seed's: texts in Parquet footers have a length before them."""
    digits = len(str(abs(seed_id)))
    drawn = int.from_bytes(hashlib.blake2b(f"{seed_id} {number}".encode(), digest_size=16).digest(), "big")
    lowest, limit = 10 ** (digits - 1), min(10**digits, 2**63)
    return (-1 if seed_id < 0 else 1) * (lowest + drawn % (limit - lowest))


def of_other_trace(parquet, old, new):
    """Returns the bytes of a Parquet file with another trace ID in its footer, and the footer's checksum."""
    old, new = str(old).encode(), str(new).encode()
    length = int.from_bytes(parquet[-8:-4], "little")
    body, footer = parquet[: -8 - length], parquet[-8 - length : -8]

    def schema(found):
        return base64.b64encode(base64.b64decode(found[0]).replace(old, new))

    footer = re.sub(rb"[A-Za-z0-9+/]{200,}={0,2}", schema, footer.replace(old, new))
    end = footer + parquet[-8:]
    if len(footer) != length:
        sys.exit("a footer changed its length: its ID cannot be replaced")
    return body + end, zlib.crc32(end)


class Seed:
    """A recording that is repeated; its files are read once."""

    def __init__(self, path):
        self.manifest = json.loads((path / "manifest.json").read_text())
        if len(str(abs(self.manifest["trace"]))) < LEAST_DIGITS:
            sys.exit(f"{path}: the trace's ID {self.manifest['trace']} is too short: other numbers may equal it. Record the seeds")
        files = [file for file in path.rglob("*") if file.is_file() and file.name != "manifest.json"]
        self.files = [(str(file.relative_to(path)), file.read_bytes()) for file in files if self.is_kept(file, path)]

    @staticmethod
    def is_kept(file, path):
        folder = file.relative_to(path).parts[0]
        return folder != "levels" and (folder != "tables" or file.stem in TABLES)


def about(number):
    """Returns what differs between the recordings of a fleet: host, start, kernel release and labels of recording NUMBER."""
    host, round_ = number % HOSTS, number // HOSTS
    start = DAY + datetime.timedelta(hours=2 * round_, minutes=host)
    # Every second host changes to release 2.0 after a part of the time.
    release = RELEASES[1] if host % 2 and round_ % 8 >= 4 else RELEASES[0]
    return {
        "hostname": f"host-{host:02}",
        "kernel_release": KERNELS[host % 5 == 0],
        "label.release": release,
        "label.team": TEAMS[host % len(TEAMS)],
        "started": start.strftime("%Y-%m-%d %H:%M:%S UTC"),
    }


def repeat(seed, number, to):
    """Writes recording NUMBER into the new folder `to`."""
    to = Path(to)
    for folder in ("events", "states", "tables"):
        (to / folder).mkdir(parents=True)
    manifest = json.loads(json.dumps(seed.manifest))
    old = manifest["trace"]
    manifest["trace"] = new = trace_id(old, number)
    differs = about(number)
    kept = [pair for pair in manifest["facts"]["about"] if pair[0] not in differs]
    manifest["facts"]["about"] = kept + [list(pair) for pair in differs.items()]
    for condition in manifest["conditions"]:
        if condition["name"] == "kernel_release":
            condition["start"] = condition["end"] = {"Ok": differs["kernel_release"]}
    for name, content in seed.files:
        if name.endswith(".parquet"):
            content, crc = of_other_trace(content, old, new)
            if name in manifest["files"]:
                manifest["files"][name]["footer_crc32"] = crc
        (to / name).write_bytes(content)
    (to / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return new


def path_of(out, number):
    return Path(out) / f"run-{number:05}.cw"


def make(out, count, first=0, seeds_in=None, damaged=0):
    """Writes recordings FIRST to FIRST + COUNT - 1 into the folder `out`, the last DAMAGED of them cut off. Returns their paths."""
    both = [[Seed(path) for path in side] for side in seeds(seeds_in or Path(out).with_name(Path(out).name + ".seeds"))]
    made = []
    for number in range(first, first + count):
        side = both[RELEASES.index(about(number)["label.release"])]
        path = path_of(out, number)
        repeat(side[number // 7 % len(side)], number, path)
        made.append(path)
    for path in made[len(made) - damaged :]:
        os.truncate(path / "states/thread.parquet", 1000)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds")
    parser.add_argument("--damaged", type=int, default=0)
    args = parser.parse_args()
    need_binary()
    made = make(args.out, args.count, args.first, args.seeds, args.damaged)
    print(f"{args.out}: {len(made)} recordings")


if __name__ == "__main__":
    main()
