#!/usr/bin/env python3
"""A catalogue of 2,000 recordings: how long it takes to make, its size, ten questions to it, and ten more recordings.

usage: fleet_index.py [--count 2000] [--seeds FOLDER]

Shown: the time of `corewise fleet index` of all recordings, of which the last is damaged (a row in `errors`); of a run after which nothing has
changed; of one after ten more recordings; the size of the catalogue; and the time of ten questions by `corewise sql`, each from the start of the
process to its end. Wanted: 1 s at most for each question, only the ten new recordings opened, all others in the catalogue. Needs a DuckDB
(COREWISE_DUCKDB), and about 3 GB for the recordings, which it removes at its end.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import fleet_make
from corewise import Refused, need_binary, print_table, run

MORE = 10
LIMIT_S = 1.0
# Each has one row at least.
QUESTIONS = {
    "How many recordings of how many hosts are there?": "SELECT count(*) AS recordings, count(DISTINCT host) AS hosts FROM recordings",
    "Which rules find something most often, and on how many hosts?": """
        SELECT rule, count(*) FILTER (WHERE outcome = 'found') / count(*)::DOUBLE AS share,
               count(DISTINCT host) FILTER (WHERE outcome = 'found') AS hosts
        FROM rules WHERE outcome <> 'no data' GROUP BY rule HAVING share > 0 ORDER BY share DESC""",
    "What share of the recordings of each release has a finding of a rule?": """
        SELECT labels['release'] AS release, rule, avg((outcome = 'found')::INT) AS share
        FROM rules JOIN recordings USING (path) WHERE outcome <> 'no data' GROUP BY ALL HAVING share > 0 ORDER BY ALL""",
    "Since which day does each host have findings of medium severity?": """
        SELECT host, min(date) AS since FROM findings WHERE severity <> 'low' GROUP BY host ORDER BY since, host""",
    "Which hosts wait most for CPUs, as a share of running and waiting?": """
        SELECT host, sum(ready_ns) / sum(ready_ns + busy_ns) AS waiting FROM recordings GROUP BY host ORDER BY waiting DESC LIMIT 10""",
    "How did waiting develop from day to day?": """
        SELECT date, median(ready_ns / nullif(ready_ns + busy_ns, 0)) AS waiting FROM recordings GROUP BY date ORDER BY date""",
    "What are waits for a CPU begun by, for each release?": """
        SELECT labels['release'] AS release, cause, sum(y.ready_ns) / 1e9 AS seconds
        FROM ready AS y JOIN recordings USING (path) GROUP BY ALL ORDER BY ALL""",
    "How busy are the CPUs of each core type, by kernel?": """
        SELECT kernel, core_type, sum(running_ns) / sum(running_ns + s.idle_ns + s.unknown_ns) AS busy
        FROM sums AS s JOIN recordings USING (path) GROUP BY ALL ORDER BY ALL""",
    "Which threads lose most, over all recordings?": """
        SELECT thread, rule, count(*) AS findings, sum(saving_ns) / 1e6 AS ms FROM findings
        WHERE thread IS NOT NULL GROUP BY ALL ORDER BY ms DESC LIMIT 10""",
    "What could not be read, or lost events?": """
        SELECT path, why FROM errors UNION ALL SELECT path, losses || ' losses' FROM recordings WHERE losses > 0""",
}


def timed(work):
    begin = time.monotonic()
    result = work()
    return result, time.monotonic() - begin


def index(runs):
    done, seconds = timed(lambda: json.loads(run("fleet", "index", runs, "--json")))
    return done, seconds


def size(folder):
    files = [file for file in Path(folder).rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files), len(files)


def plain_readers(catalogue, expected):
    """Counts the recordings with readers that know nothing of corewise."""
    said = []
    try:
        import duckdb

        query = f"SELECT count(*), count(DISTINCT host) FROM read_parquet('{catalogue}/recordings/**/*.parquet', hive_partitioning = true)"
        said.append(("DuckDB", duckdb.sql(query).fetchall()[0][0] == expected))
    except ImportError:
        print("not tried: DuckDB alone (no package)")
    try:
        import pyarrow.dataset

        data = pyarrow.dataset.dataset(f"{catalogue}/recordings", partitioning="hive")
        said.append(("pyarrow", data.count_rows() == expected and {"host", "date"} <= set(data.schema.names)))
    except ImportError:
        print("not tried: pyarrow (no package)")
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seeds")
    args = parser.parse_args()
    need_binary()
    folder = Path(tempfile.mkdtemp(prefix="corewise-fleet-"))
    try:
        sys.exit(0 if measured(folder, args) else 1)
    finally:
        shutil.rmtree(folder)


def measured(folder, args):
    runs, seeds = folder / "runs", args.seeds or folder / "seeds"
    failed = []

    def must(holds, what):
        print(f"{'yes' if holds else 'NO'}: {what}", flush=True)
        failed.extend([] if holds else [what])

    made, seconds = timed(lambda: fleet_make.make(runs, args.count, seeds_in=seeds, damaged=1))
    bytes_, _ = size(runs)
    print(f"{len(made)} recordings made in {seconds:.0f} s: {bytes_ / 1e6:.0f} MB", flush=True)
    done, seconds = index(runs)
    of_all = args.count - 1
    print(f"index of all: {seconds:.1f} s, {seconds / args.count * 1e3:.1f} ms a recording", flush=True)
    must(done["new"] == done["recordings"] == of_all, f"{of_all} recordings are in the catalogue")
    must([path for path, _ in done["errors"]] == [str(made[-1])], "the damaged recording is in errors")
    print(f"  {done['errors'][0][1]}" if done["errors"] else "")
    catalogue = runs / "catalogue"
    bytes_, files = size(catalogue)
    print(f"catalogue: {bytes_ / 1e6:.2f} MB in {files} files, {bytes_ / args.count:.0f} bytes a recording", flush=True)
    done, seconds = index(runs)
    print(f"index again, nothing changed: {seconds:.2f} s")
    must(done["unchanged"] == of_all and done["new"] == done["changed"] == 0, "no recording is opened again")
    fleet_make.make(runs, MORE, first=args.count, seeds_in=seeds)
    done, seconds = index(runs)
    print(f"index after {MORE} more: {seconds:.2f} s")
    must(done["new"] == MORE and done["unchanged"] == of_all, f"only the {MORE} new recordings are opened")
    rows = []
    for question, query in QUESTIONS.items():
        try:
            answer, seconds = timed(lambda query=query: json.loads(run("sql", catalogue, query, "--format", "json")))
        except Refused as why:
            answer, seconds = [], 0
            must(False, f"{question} {why}")
        rows.append((question, len(answer), f"{seconds:.2f}", json.dumps(answer[:1])[:90]))
        if not answer or seconds > LIMIT_S:
            must(False, f"{question} {len(answer)} rows in {seconds:.2f} s")
    print_table(["question", "rows", "s", "first row"], rows)
    for reader, is_right in plain_readers(catalogue, of_all + MORE):
        must(is_right, f"{reader} alone counts {of_all + MORE} recordings, with host and date")
    report, seconds = timed(lambda: run("fleet", "report", catalogue, "--by", "release"))
    print(f"report by release: {seconds:.2f} s\n\n{report}")
    must(not failed, "all of it")
    return not failed


if __name__ == "__main__":
    main()
