#!/usr/bin/env python3
"""Compares two builds of corewise: every table, the JSON and the exports of each trace are equal, but for renamed names.

  acceptance/renamed.py [--json-only] OLD NEW TRACE...

OLD is the binary with the former names, NEW the one with the current names (crates/model/src/tables/renamed.rs and docs/renamed.md).
Tables are compared as csv, byte by byte after names and values are mapped; the new build is asked by the former name of a table as well. Of
JSON, names are mapped and texts that are sentences are left out; numbers and everything else must be equal. Of exports, csv is compared as
tables are, Chrome and Firefox as JSON; Perfetto's by the states that the new build imports from both. Exit status 1 if anything differs."""

import argparse
import csv
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = ROOT / "crates/model/src/tables/renamed.rs"
PAGE = ROOT / "docs/renamed.md"
# What a person reads in the JSON: sentences, which the new build words anew.
SENTENCES = {"title", "why", "what", "linux", "windows", "assumptions", "how", "doc", "stopped", "note", "path", "code", "law", "notes",
             "conditions", "facts", "title_html", "text", "otherData", "extra"}


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--json-only", action="store_true", help="compare check, diagnose and report only")
    args.add_argument("old")
    args.add_argument("new")
    args.add_argument("traces", nargs="+", type=Path)
    args = args.parse_args()
    old, new = Build(args.old), Build(args.new)
    tables, columns, values, keys = renamed()
    as_current = lambda text: with_current_names(text, columns, values)  # noqa: E731
    count, wrong = {"tables": 0, "rows": 0, "json": 0, "exports": 0}, []
    for trace in args.traces:
        for table in () if args.json_only else old.tables():
            current = tables.get(table, table)
            before = old.print("table", trace, table, "--format", "csv")
            for name in {table, current}:
                after = new.print("table", trace, name, "--format", "csv")
                if as_current(before) != after:
                    wrong.append(f"{trace}: table {name}: {first_difference(as_current(before), after)}")
            count["tables"] += 1
            count["rows"] += max(0, before.count("\n") - 1)
        for command in (["check"], ["diagnose"], ["report"]):
            before, after = (build.print(command[0], trace, "--format", "json") for build in (old, new))
            found = differences(plain(before), plain(after), keys | columns | tables | values)
            wrong += [f"{trace}: {command[0]} --format json: {what}" for what in found[:5]]
            count["json"] += 1
        for kind in () if args.json_only else ("csv", "chrome", "firefox", "perfetto"):
            before, after = (build.export(trace, kind, new) for build in (old, new))
            if kind == "csv":
                before = {tables.get(name, name): as_current(text) for name, text in before.items()}
                found = [f"{name} differs" for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
            else:
                found = differences(before, after, keys | columns | tables | values)
            wrong += [f"{trace}: export --to {kind}: {what}" for what in found[:5]]
            count["exports"] += 1
        print(f"{trace}: compared", file=sys.stderr)
    print(f"{len(args.traces)} traces: {count['tables']} tables of {count['rows']} rows, {count['json']} JSON documents, "
          f"{count['exports']} exports: {len(wrong)} differences")
    print(*wrong, sep="\n")
    return bool(wrong)


class Build:
    """A binary of corewise."""

    def __init__(self, path):
        self.path = path

    def print(self, *args):
        done = subprocess.run([self.path, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.stdout if done.returncode in (0, 3) else f"exit {done.returncode}\n"

    def tables(self):
        return re.findall(r"^(\w+): ", self.print("tables"), re.M)

    def export(self, trace, kind, reader):
        """The content of an export: csv as text by name, JSON, or the states that `reader` imports from it."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            self.print("export", trace, "--to", kind, "-o", out)
            if kind == "csv":
                return {path.stem: path.read_bytes().decode() for path in out.rglob("*.csv")}
            if not out.exists():
                return "no export"
            return plain(out.read_text()) if kind != "perfetto" else reader.print("table", out, "thread_state", "--format", "csv")


def renamed():
    """Former to current names of tables and columns, values, and JSON keys."""
    text = NAMES.read_text()
    lists = [dict(re.findall(r'\("(\w+)", "(\w+)"\)', part)) for part in re.split(r"pub const \w+: ", text)[1:]]
    tables, columns, _, values = lists
    keys = dict(re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", PAGE.read_text(), re.M)) if PAGE.exists() else {}
    return tables, columns, values, keys


def with_current_names(text, columns, values):
    """The csv with the current names of columns and values."""
    if not text or text.startswith("exit "):
        return text
    head, _, rows = text.partition("\n")
    names = [columns.get(name, name) for name in next(csv.reader(io.StringIO(head)))]
    for former, current in values.items():
        rows = re.sub(rf"(?<=,){former}(?=,)", current, rows)
    return ",".join(names) + ("\r\n" if head.endswith("\r") else "\n") + rows


def first_difference(before, after):
    for number, (b, a) in enumerate(zip(before.split("\n"), after.split("\n")), 1):
        if b != a:
            return f"line {number}: {b[:120]!r} is now {a[:120]!r}"
    return "another number of lines"


def plain(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def differences(before, after, names, at=""):
    """Where two JSON values differ, names mapped and sentences left out."""
    if isinstance(before, dict) and isinstance(after, dict):
        before = {names.get(key, key): value for key, value in before.items() if key not in ("version", "corewise")}
        found = [f"{at}.{key} is in one only" for key in before.keys() ^ {k for k in after if k not in ("version", "corewise")}]
        return found + [what for key in before.keys() & after.keys() if key not in SENTENCES
                        for what in differences(before[key], after[key], names, f"{at}.{key}")]
    if isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            return [f"{at} has {len(after)} elements instead of {len(before)}"]
        return [what for n, (b, a) in enumerate(zip(before, after)) for what in differences(b, a, names, f"{at}[{n}]")]
    if isinstance(before, str):
        before = names.get(before, before)
        if " " in before and isinstance(after, str) and " " in after:
            return []
    return [] if before == after else [f"{at}: {before!r} is now {after!r}"]


if __name__ == "__main__":
    sys.exit(main())
