#!/usr/bin/env python3
"""What two builds of corewise make of the same recordings: all tables as CSV, the report and the findings as JSON, or the error.

  same_tables.py BEFORE [PLACE ...] [--keep DIR] [--jobs N]

BEFORE is the other program; COREWISE names this one. A place is a file, or a folder of recordings (testdata/traces, the importer's fixtures, and ../shared/traces
where it is there). Prints each recording with a difference and what differs; with --keep, what both made of it is kept there, to be compared with diff.
Exit status 1 if anything differs.
"""
import argparse
import concurrent.futures
import filecmp
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import corewise

PLACES = [corewise.ROOT / "testdata/traces", corewise.ROOT / "crates/import/fixtures", corewise.SHARED / "traces"]
SECONDS = 300
# The version of corewise is in each output, and always differs.
VERSION = re.compile(rb'"corewise": *"[^"]*"')


def recordings(places):
    """Files, and folders that are one recording (CTF)."""
    for place in places:
        if not place.is_dir() or (place / "metadata").is_file():
            yield place
            continue
        yield from recordings(sorted(inner for inner in place.iterdir() if not inner.name.startswith(".")))


def made(program, recording, folder):
    """What a program makes of a recording, as files in a folder."""
    folder.mkdir()
    commands = [("export", ["export", recording, "--to", "csv", "--output", folder / "tables"])]
    commands += [(name, [name, recording, "--format", "json"]) for name in ("report", "diagnose")]
    for name, words in commands:
        try:
            done = subprocess.run([program, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
            code, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            code, out, err = f"more than {SECONDS} s", b"", b""
        if name == "export":  # its output names the folder
            out = b""
        (folder / f"{name}.out").write_bytes(VERSION.sub(b"", out))
        if code != 0:
            (folder / f"{name}.refused").write_text(f"exit {code}\n{err.decode(errors='replace')}")
            break  # what the first refuses, the others do too


def differing(one, other, at=""):
    """Paths below two folders that differ or are only in one."""
    compared = filecmp.dircmp(one, other, ignore=[])
    found = [f"{at}{name} (only before)" for name in compared.left_only] + [f"{at}{name} (only after)" for name in compared.right_only]
    _, differ, wrong = filecmp.cmpfiles(one, other, compared.common_files, shallow=False)
    found += [at + name for name in differ + wrong]
    for name in compared.common_dirs:
        found += differing(one / name, other / name, f"{at}{name}/")
    return found


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("before", type=pathlib.Path)
    args.add_argument("places", nargs="*", type=pathlib.Path)
    args.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="a new folder for what differs")
    args.add_argument("--jobs", type=int, default=os.cpu_count())
    args = args.parse_args()
    corewise.need_binary()
    found = list(recordings(args.places or [place for place in PLACES if place.is_dir()]))
    with tempfile.TemporaryDirectory(prefix="same-tables-") as temporary:
        kept = (args.keep or pathlib.Path(temporary)).resolve()
        kept.mkdir(exist_ok=args.keep is None)

        def compared(number):
            folder = kept / f"{number:04}"
            folder.mkdir()
            for side, program in ("before", args.before.resolve()), ("after", pathlib.Path(corewise.BINARY).resolve()):
                made(program, found[number].resolve(), folder / side)
            wrong = differing(folder / "before", folder / "after")
            files = sum(path.is_file() for path in (folder / "after").rglob("*"))
            refused = any((folder / "after").glob("*.refused"))
            if not wrong:
                shutil.rmtree(folder)
            return wrong, files, refused

        differ = counted = refusals = 0
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for number, (wrong, files, refused) in enumerate(pool.map(compared, range(len(found)))):
                counted, refusals, differ = counted + files, refusals + refused, differ + bool(wrong)
                if wrong:
                    print(f"{number:04} {found[number]}: {', '.join(sorted(wrong))}", flush=True)
    print(f"{len(found)} files and folders, of which {refusals} are refused: {counted} outputs, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
