#!/usr/bin/env python3
"""Every table of recordings by the command line (csv), by Python and by SQL: equal cell by cell.

  three_ways.py [--small] [TRACE ...]

Without traces: recordings of the fixtures, imported, and one as it is. --small takes two of these. COREWISE names the program; Python needs the
package, pyarrow and DuckDB (scripts/venv).
"""
import csv
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import time

# The package, not the module of the same name in this folder.
HERE = pathlib.Path(__file__).parent.resolve()
sys.path[:] = [path for path in sys.path if pathlib.Path(path).resolve() != HERE]

import corewise
import pyarrow.parquet

ROOT = pathlib.Path(__file__).parents[1]
PROGRAM = os.environ["COREWISE"]
FIXTURES = ROOT / "crates/import/fixtures"
# Of different tools: with marks, frames, samples, hybrid machines, losses.
RECORDINGS = [
    "perf_data/sched.data",
    "perf_data/profile.data",
    "ftrace_text/trace.txt",
    "present_mon/v2.csv",
    "trace_dat/*.dat",
    "perfetto/*",
    "perf_script/*.txt",
    "schedviz/*",
    "ctf/*",
    "mango_hud/*.csv",
    "cap_frame_x/*.json",
]


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        return None, done.stderr.decode().strip()
    return done.stdout, ""


def rows_of_csv(text, columns):
    """Rows as Python values. An empty field is null; an empty text has quotes, which the csv module does not tell apart: see `quoted_empty`."""
    kinds = {"int": int, "float": float, "bool": lambda of: of == "true", "text": str}
    records = list(csv.reader(io.StringIO(text.replace(',""', f",{EMPTY}").replace('\n""', f"\n{EMPTY}"), newline="")))
    head, rows = records[0], records[1:]
    assert head == [name for name, *_ in columns], (head, columns)
    of = [kinds[kind] for _, kind, *_ in columns]
    return [tuple(None if cell == "" else kind(cell.replace(EMPTY, "")) for kind, cell in zip(of, row)) for row in rows]


EMPTY = "\x01"


def key(row):
    return tuple((cell is not None, type(cell).__name__, cell if cell is not None else 0) for cell in row)


def equal(a, b):
    """The rows of SQL have no order: both are sorted. The last digits of a double are part of it."""
    return sorted(a, key=key) == sorted(b, key=key)


def compare(path, folder):
    trace = corewise.open(path)
    tables, cells, wrong = 0, 0, []
    wanted = list(trace.tables)
    for name in wanted:
        text, why = run("table", path, name, "--format", "csv")
        table = trace.table(name)
        columns = [(c.name, c.type) for c in table.columns]
        try:
            python = [tuple(row[name] for name, _ in columns) for row in table.to_arrow().to_pylist()]
        except corewise.Error as error:
            # A table that one cannot make, the others cannot either, for the same reason.
            if text is not None or str(error) not in why:
                wrong.append(f"{name}: the command line has {'rows' if text is not None else why!r}, Python fails: {error}")
            continue
        if text is None:
            wrong.append(f"{name}: Python has {len(python)} rows, the command line fails: {why}")
            continue
        line = rows_of_csv(text.decode(), columns)
        if line != python:
            wrong.append(f"{name}: {difference(line, python)} (command line, Python)")
        answer = pathlib.Path(folder, f"{name}.parquet")
        answer.unlink(missing_ok=True)
        query = ", ".join(f'"{column}"' for column, _ in columns)
        _, why = run("sql", path, f'SELECT {query} FROM "{name}"', "--format", "parquet", "-o", str(answer))
        if why and not answer.exists():
            wrong.append(f"{name}: SQL fails: {why}")
            continue
        sql = [tuple(row[name] for name, _ in columns) for row in pyarrow.parquet.read_table(answer).to_pylist()]
        if not equal(line, sql):
            wrong.append(f"{name}: {difference(sorted(line, key=key), sorted(sql, key=key))} (command line, SQL)")
        tables, cells = tables + 1, cells + len(line) * len(columns)
    return tables, cells, wrong


def difference(a, b):
    if len(a) != len(b):
        return f"{len(a)} and {len(b)} rows"
    at, left, right = next((at, left, right) for at, (left, right) in enumerate(zip(a, b)) if left != right)
    return f"row {at}: {left} and {right}"


def recordings(small, folder):
    found = []
    for pattern in RECORDINGS[:1] + RECORDINGS[2:3] if small else RECORDINGS:
        files = [path for path in sorted(FIXTURES.glob(pattern)) if path.suffix != ".md"]
        found += [path for path in files[:2] if run("report", str(path), "--sections", "none")[0] is not None][:1]
    # The first one as it is, the others imported.
    yield str(found[0])
    for path in found[0 if not small else 1 :]:
        to = str(pathlib.Path(folder, f"{path.parent.name}-{path.name}.cw"))
        if run("import", str(path), "-o", to)[0] is not None:
            yield to


def main():
    arguments = sys.argv[1:]
    small = "--small" in arguments
    given = [argument for argument in arguments if not argument.startswith("-")]
    begin, failed, count = time.monotonic(), False, 0
    with tempfile.TemporaryDirectory() as folder:
        for path in given or recordings(small, folder):
            tables, cells, wrong = compare(path, folder)
            print(f"{path}: {tables} tables, {cells} cells: {'equal' if not wrong else 'NOT EQUAL'}", flush=True)
            for line in wrong:
                print(f"  {line[:400]}", flush=True)
            failed, count = failed or bool(wrong) or cells == 0, count + 1
    print(f"{count} recordings in {time.monotonic() - begin:.0f} s")
    sys.exit(1 if failed or count == 0 else 0)


if __name__ == "__main__":
    main()
