#!/usr/bin/env python3
"""Damaged recordings: each cut at 200 places, and 200 copies with flipped bytes, given to `corewise report`. If a recording is
a folder, one of its files is damaged at a time, in turn.

Expected of each: a result that names its losses, or an error with an offset; never a panic, a hang (20 s) or more than 512 MB
of anonymous memory. Exit status 1 if one fails; the damaged file is then kept.
"""

import argparse
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import corewise
from measured import run

LIMIT_KB = 512 * 1024
PANIC = 101
LOSSES = re.compile(r"\b(cut|lost|lossy|loss|losses|anomal(?:y|ies)|damaged|unreadable|understood|truncated|discarded)\b", re.IGNORECASE)
OFFSET = re.compile(r"\b(byte|offset)\s+(0x[0-9a-f]+|\d+)")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("files", nargs="+", type=Path, metavar="FILE|FOLDER")
    args.add_argument("--cuts", type=int, default=200)
    args.add_argument("--flips", type=int, default=200)
    args.add_argument("--seed", type=int, default=1, help="seed for the choice of bytes (1)")
    args.add_argument("--timeout", type=float, default=20)
    args.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "corewise-hostile", help="the folder for files that caused failures")
    args = args.parse_args()
    corewise.need_binary()
    rows, harm = [], []
    with tempfile.TemporaryDirectory(prefix="hostile-") as tmp:
        for path in args.files:
            for how, damaged in {"cut": cuts, "flipped": flips}.items():
                counts, peak, slowest = Counter(), 0, 0.0
                for where, victim in victims(path, Path(tmp), lambda whole, n: damaged(whole, n, args.seed), getattr(args, WANTED[how])):
                    one = run([corewise.BINARY, "report", victim], LIMIT_KB, args.timeout, keep_output=True)
                    verdict = judge(one)
                    counts[verdict] += 1
                    peak, slowest = max(peak, one.anon_kb), max(slowest, one.wall_s)
                    if verdict in HARM:
                        harm.append(f"{path} {how} {where}: {verdict}: exit {one.exit} {one.stopped} {one.err.strip()[-200:]}")
                        args.keep.mkdir(parents=True, exist_ok=True)
                        kept = args.keep / f"{path.stem}-{how}-{len(harm)}.data"
                        shutil.copytree(victim, kept, dirs_exist_ok=True) if victim.is_dir() else shutil.copy(victim, kept)
                rows.append([path, how, sum(counts.values()), *(counts[v] for v in VERDICTS), peak // 1024, f"{slowest:.2f}"])
    for line in harm[:20]:
        print(line)
    corewise.print_table(["file", "damage", "files", *VERDICTS, "peak MB", "slowest s"], rows)
    if harm:
        print(f"the files that caused failures are in {args.keep}")
    return bool(harm)


# "nothing said": a flipped byte of a thread's name or of a time damages no structure, so it cannot be detected.
VERDICTS = ["losses named", "nothing said", "error with offset", "error without", "panic", "hang or memory", "signal"]
HARM = {"error without", "panic", "hang or memory", "signal"}


WANTED = {"cut": "cuts", "flipped": "flips"}


def victims(path, tmp, damaged, count):
    """Yields damaged copies of a file, or of a folder's files in turn."""
    if path.is_file():
        for where, content in damaged(path.read_bytes(), count):
            (tmp / "damaged.data").write_bytes(content)
            yield where, tmp / "damaged.data"
        return
    names = [file.relative_to(path) for file in sorted(path.rglob("*")) if file.is_file() and file.stat().st_size]
    copy = tmp / "damaged"
    shutil.copytree(path, copy, dirs_exist_ok=True)
    for name in names:
        whole = (path / name).read_bytes()
        for where, content in damaged(whole, max(count // len(names), 1)):
            (copy / name).write_bytes(content)
            yield f"{name} {where}", copy
        (copy / name).write_bytes(whole)
    shutil.rmtree(copy)


def judge(one):
    if one.stopped:
        return "hang or memory"
    if one.exit == PANIC or "panicked" in one.err:
        return "panic"
    if one.exit < 0:
        return "signal"
    if one.exit:
        return "error with offset" if OFFSET.search(one.err) else "error without"
    return "losses named" if LOSSES.search(one.out + one.err) else "nothing said"


def cuts(whole, count, _seed=0):
    """Yields lengths from nothing to all but a byte: half of them within the first 4 KiB, where headers are, the rest evenly."""
    head, half = min(4096, len(whole)), count // 2
    lengths = [head * i // max(half, 1) for i in range(half)]
    lengths += [head + (len(whole) - 1 - head) * i // max(count - half - 1, 1) for i in range(count - half)]
    for length in lengths:
        yield f"to {length} bytes", whole[:length]


def flips(whole, count, seed):
    """Changes one to eight bytes; in every second file all within the header or the first records."""
    chance = random.Random(seed)
    for i in range(count):
        damaged = bytearray(whole)
        reach = len(whole) if i % 2 else min(2048, len(whole))
        places = sorted(chance.randrange(reach) for _ in range(chance.randint(1, 8)))
        for at in places:
            damaged[at] ^= chance.randint(1, 255)
        yield f"at {places}", bytes(damaged)


if __name__ == "__main__":
    sys.exit(main())
