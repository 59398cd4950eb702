#!/usr/bin/env python3
"""Every perf.data in some folders, or given directly, either loads or is refused with a reason; none panics, hangs or takes more
than 512 MB. Exit status 1 if one does."""

import argparse
import sys
from pathlib import Path

import corewise
import hostile
from measured import run

MAGIC = (b"PERFILE2", b"2ELIFREP")


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("places", nargs="*", type=Path, default=[corewise.SHARED / "traces"], help="files or folders (shared/traces)")
    args = args.parse_args()
    corewise.need_binary()
    rows, harm = [], False
    for path in files(args.places):
        one = run([corewise.BINARY, "report", path], hostile.LIMIT_KB, 60, keep_output=True)
        verdict = hostile.judge(one)
        refused = one.exit and verdict in ("error with offset", "error without")
        bad = not refused and verdict in hostile.HARM
        harm |= bad
        said = (one.err if one.exit else one.out).strip().splitlines()
        rows.append([path.parent.name + "/" + path.name, "HARM: " + verdict if bad else "refused" if refused else "loads",
                     f"{one.wall_s:.2f}", one.anon_kb // 1024, (said or ["(nothing)"])[0][:110]])
    corewise.print_table(["file", "result", "wall s", "RssAnon MB", "first line"], rows)
    return harm


def files(places):
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file():
                with open(path, "rb") as file:
                    if file.read(8) in MAGIC:
                        yield path


if __name__ == "__main__":
    sys.exit(main())
