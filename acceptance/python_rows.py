#!/usr/bin/env python3
"""20 million rows of `thread_state` to pandas, Polars and DuckDB by the Python package, compared with pyarrow, which reads the same Parquet.

  python_rows.py [TRACE] [--rows N] [--rounds N] [--only WAY,WAY]

Without a trace folder, a load is drawn (`view_load.py`) and imported by the program that COREWISE names. Each way runs in a process of its own, in turn,
three rounds in random order; printed are the medians of the seconds from opening the folder to the last row, of the CPU time in user mode (the
kernel's part, for page faults, varies by seconds where a hypervisor takes free memory back), and of the peak memory (VmHWM, with Python and the
libraries). Wanted: at most 1.3 times pyarrow. Required, else exit code 1: a streamed read takes at most 150 MB more than its first batch, whatever the
length. Needs the package, pyarrow, pandas, Polars and DuckDB (scripts/venv).
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent.resolve()
# The package, not the module of the same name in this folder.
sys.path[:] = [path for path in sys.path if pathlib.Path(path).resolve() != HERE]

TABLE = "thread_state"
WANTED = 1.3
MOST_GROWN_MB = 150


def peak_mb():
    """The peak memory of this process. Unlike ru_maxrss, it begins with the process."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the kernel has no VmHWM")


def corewise_table(path, names=False):
    import corewise

    return corewise.open(path).table(TABLE, names=names)


def read(path):
    import pyarrow.parquet

    return pyarrow.parquet.read_table(f"{path}/states/thread.parquet")


def into_duckdb(source):
    import duckdb

    duckdb.sql("CREATE TABLE t AS FROM source")
    return duckdb.sql("SELECT count(*) FROM t").fetchall()[0][0]


def nullable(kind):
    """pandas' integers with nulls, as Table.to_pandas makes them; pyarrow's default are doubles, which are not exact."""
    import pandas
    import pyarrow

    return {pyarrow.int64(): pandas.Int64Dtype(), pyarrow.int32(): pandas.Int32Dtype()}.get(kind)


def streamed(batches):
    """The rows, and by how many MB the peak grows after the first batch."""
    batches = iter(batches)
    rows, before = next(batches).num_rows, peak_mb()
    rows += sum(batch.num_rows for batch in batches)
    return rows, peak_mb() - before


def parquet_batches(path):
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(f"{path}/states/thread.parquet").iter_batches()


def of_polars(table):
    import polars

    return polars.from_arrow(table)


# Each way: of the package, of the package with the names of threads (its default; the file does not have them), of pyarrow.
WAYS = {
    "pyarrow": (
        lambda path: corewise_table(path).to_arrow(),
        lambda path: corewise_table(path, True).to_arrow(),
        read,
    ),
    "pandas": (
        lambda path: corewise_table(path).to_pandas(),
        lambda path: corewise_table(path, True).to_pandas(),
        lambda path: read(path).to_pandas(),
    ),
    # pyarrow makes doubles of integers with nulls, unless the type is given; the package makes exact ones.
    "pandas, exact integers": (None, None, lambda path: read(path).to_pandas(types_mapper=nullable)),
    "Polars": (
        lambda path: corewise_table(path).to_polars(),
        lambda path: corewise_table(path, True).to_polars(),
        lambda path: of_polars(read(path)),
    ),
    "DuckDB": (
        lambda path: into_duckdb(corewise_table(path)),
        lambda path: into_duckdb(corewise_table(path, True)),
        lambda path: into_duckdb(read(path)),
    ),
    "batch by batch": (
        lambda path: streamed(corewise_table(path).batches()),
        lambda path: streamed(corewise_table(path, True).batches()),
        lambda path: streamed(parquet_batches(path)),
    ),
}
OF = ["corewise", "with names", "pyarrow"]


def child(way, of, path):
    import duckdb  # noqa: F401  What is imported is not part of the time.
    import pandas  # noqa: F401
    import polars  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import corewise  # noqa: F401

    begin, cpu = time.monotonic(), os.times()
    result = WAYS[way][of](path)
    seconds, after, grown = time.monotonic() - begin, os.times(), None
    if isinstance(result, tuple):
        result, grown = result
    rows = result if isinstance(result, int) else len(result)
    measured = {"seconds": seconds, "user": after.user - cpu.user, "system": after.system - cpu.system, "peak": peak_mb()}
    print(json.dumps({**measured, "rows": rows, "grown": grown}))


def run(way, of, path):
    done = subprocess.run([sys.executable, __file__, path, "--child", way, str(of)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{way}, {OF[of]}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return json.loads(done.stdout)


def drawn(rows, folder):
    """A recording with about so many rows: a turn of the drawn load makes three (blocked, ready, running)."""
    text, trace = f"{folder}/drawn.txt", f"{folder}/drawn.cw"
    begin = time.monotonic()
    subprocess.run([sys.executable, HERE / "view_load.py", text, "--slices", str(rows * 4 // 3)], check=True)
    print(f"drawn in {time.monotonic() - begin:.0f} s, {os.path.getsize(text) / 1e6:.0f} MB", flush=True)
    begin = time.monotonic()
    subprocess.run([os.environ["COREWISE"], "--machine", f"{text}.toml", "import", text, "-o", trace], check=True, capture_output=True)
    os.remove(text)
    print(f"imported in {time.monotonic() - begin:.0f} s", flush=True)
    return trace


def perfetto():
    """Perfetto's own Python package starts a program, which it downloads; a trace folder is not one of its formats."""
    try:
        from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
    except ImportError:
        return "not installed: not compared"
    with tempfile.NamedTemporaryFile(suffix=".pftrace") as empty:
        try:
            TraceProcessor(trace=empty.name, config=TraceProcessorConfig(load_timeout=20)).close()
        except Exception as why:  # noqa: BLE001  Whatever it is, nothing can be compared.
            return f"its trace_processor does not start: not compared ({type(why).__name__}: {str(why).splitlines()[0][:120]})"
    return "it starts: compare it with a recording that corewise exports (`corewise export --to perfetto`)"


def measure(path, ways, rounds):
    results = {(way, of): [] for way in ways for of in range(3) if WAYS[way][of]}
    dice = random.Random(1)
    for _ in range(rounds):
        for key in dice.sample(list(results), len(results)):
            results[key].append(run(*key, path))
            print(f"{key[0]}, {OF[key[1]]}: {results[key][-1]}", file=sys.stderr, flush=True)
    rows = {result["rows"] for all_of in results.values() for result in all_of}
    if len(rows) != 1:
        sys.exit(f"the ways read unlike numbers of rows: {sorted(rows)}")
    print(f"{rows.pop()} rows, {rounds} rounds, {os.cpu_count()} CPUs; medians of wall s, user s and peak MB; in brackets: times pyarrow")
    print(f"{'to':<24}{'corewise':>44}{'with names':>44}{'pyarrow':>21}")
    bounded = True
    for way in ways:
        median = lambda of, what: statistics.median(result[what] for result in results[way, of])
        cells = []
        for of in range(2):
            if not WAYS[way][of]:
                cells.append("")
                continue
            pairs = [(median(of, what), median(of, what) / median(2, what)) for what in ("seconds", "user", "peak")]
            cells.append("".join(f"{value:7.{0 if value > 99 else 2}f} ({ratio:.2f})" for value, ratio in pairs))
        alone = f"{median(2, 'seconds'):.2f} {median(2, 'user'):6.2f} {median(2, 'peak'):6.0f}"
        print(f"{way:<24}{cells[0]:>44}{cells[1]:>44}{alone:>21}")
        for of in range(3):
            grown = [result["grown"] for result in results.get((way, of), []) if result["grown"] is not None]
            if grown:
                print(f"  {OF[of]}: {max(grown):.0f} MB more than at the first batch (at most, of {len(grown)})")
                bounded = bounded and (of == 2 or max(grown) <= MOST_GROWN_MB)
    return bounded


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(WAYS).replace(", ", "; "))
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.child[0], int(args.child[1]), args.trace)
    ways = [way.replace("; ", ", ") for way in args.only.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        bounded = measure(args.trace or drawn(args.rows, folder), ways, args.rounds)
    print(f"Perfetto's Python package: {perfetto()}")
    print(f"streamed in bounded memory: {'yes' if bounded else 'NO'}; wanted: at most {WANTED} times pyarrow")
    return 0 if bounded else 1


if __name__ == "__main__":
    sys.exit(main())
