#!/usr/bin/env python3
"""Spark's data source over stores of others: every table cell by cell as from files of this machine, and stores that fail.

Needs the Python of scripts/venv with the package (make python), Java, and: pip install 'moto[server,s3]' s3fs aiohttp requests

S3 is moto through s3fs, HTTP is Python's own server through fsspec. Recordings are trace folders with labels, a file of perf with edited labels, an
ftrace text, and the same packed. Tables are read as Spark's workers do; at the end, a Spark session reads one over S3. Between corewise and moto is
a server that fails: twice for each request, always, for one recording without rights, with half of the content, a second late, or never.
"""

import argparse
import functools
import gzip
import http.client
import http.server
import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:] = [path for path in sys.path if pathlib.Path(path or ".").resolve() != HERE]
try:
    import boto3
    import corewise.spark
    import moto.server
    import s3fs  # noqa: F401
    from corewise.spark import _store
except ImportError as why:
    sys.exit(f"{why}: see --help")

sys.path.append(str(HERE))
from fleet_stores import Between  # noqa: E402

IDENTITY = ("trace", "path", "labels")
OPTIONS = {"key": "a", "secret": "b", "use_listings_cache": False}
wrong = 0


def check(holds, what):
    global wrong
    wrong += not holds
    print(f"  {'yes' if holds else 'NO '}  {what}", flush=True)


def read(**options):
    """The rows of all partitions, as Spark's workers read them."""
    source = corewise.spark.PushingSource({name: str(value) for name, value in options.items()})
    made = source.reader(source.schema())
    return [row for part in made.partitions() for batch in made.read(part) for row in batch.to_pylist()]


def own(rows):
    """The cells, without the path."""
    return sorted(repr({name: cell for name, cell in row.items() if name != "path"}) for row in rows)


def serve(server):
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


class Failing(Between):
    """Fails for one recording only."""

    name = ""

    def mode(self):
        return Between.how if self.name in self.path else ""


def recordings(folder):
    runs = folder / "runs"
    shutil.copytree(ROOT / "testdata/notebooks", runs, ignore=shutil.ignore_patterns("levels", "*.md", "*-[234].cw"))
    fixtures = ROOT / "crates/import/fixtures"
    shutil.copy(fixtures / "perf_data/profile.data", runs / "perf.data")
    (runs / "perf.data.labels.json").write_text(json.dumps({"version": 1, "labels": {"release": "2.0"}}))
    shutil.copy(fixtures / "ftrace_text/trace.txt", runs / "trace.txt")
    with gzip.open(runs / "packed.txt.gz", "wb") as packed:
        packed.write((runs / "trace.txt").read_bytes())
    return runs


def every_table(what, local, far, options, tables):
    begin, cells, empty, different = time.monotonic(), 0, 0, []
    for name in tables:
        one = read(table=name, paths=json.dumps(local), error_column="why")
        other = read(table=name, paths=json.dumps(far), error_column="why", storage_options=json.dumps(options))
        for row in (*one, *other):
            # Messages have the path.
            row["why"] = row["why"] and "said"
        cells += sum(len(row) for row in one)
        empty += not one
        if own(one) != own(other):
            different.append(name)
    is_much = empty < len(tables)
    what = f"{what}: {len(tables)} tables ({empty} without rows), {cells} cells equal to those of files here; {time.monotonic() - begin:.0f} s"
    check(not different and is_much, f"{what} {different}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--silence", type=float, default=10, help="seconds after which a store counts as silent (60 in the package)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spark-stores-") as scratch:
        folder = pathlib.Path(scratch)
        os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
        runs = recordings(folder)
        # A line for each request says nothing.
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        server = moto.server.ThreadedMotoServer(port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
        client.create_bucket(Bucket="team")
        for path in runs.rglob("*"):
            if path.is_file():
                client.upload_file(str(path), "team", str(path.relative_to(folder)))
        names = sorted(path.name for path in runs.iterdir() if not path.name.endswith(".labels.json"))
        local = [str(runs / name) for name in names]
        tables = [*corewise.open(runs / "after-1.cw", read_only=True).tables, "traces", "findings"]
        s3 = {**OPTIONS, "client_kwargs": {"endpoint_url": f"http://127.0.0.1:{port}", "region_name": "us-east-1"}}

        print(f"{len(names)} recordings")
        every_table("s3, a pattern", local, ["s3://team/runs/*"], s3, tables)
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
        http.server.SimpleHTTPRequestHandler.log_message = lambda *_: None
        web = serve(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        files = [name for name in names if not name.endswith(".cw")]
        every_table("http, files", [str(runs / name) for name in files], [f"http://127.0.0.1:{web}/runs/{name}" for name in files], {}, tables[:12])

        Between.port = port
        between = serve(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Failing))
        failing = {
            **OPTIONS,
            "client_kwargs": {"endpoint_url": f"http://127.0.0.1:{between}", "region_name": "us-east-1"},
            "config_kwargs": {"retries": {"max_attempts": 1}},
        }
        expected = own(read(table="ready_wait", paths=json.dumps(local)))
        _store.SILENCE_S = args.silence
        for how, name, rows in [("twice", "runs/", None), ("slow", "before-1.cw", None), ("always", "before-1.cw", 1), ("refused", "before-1.cw/states", 1), ("silent", "before-1.cw/states", 1)]:
            Between.how, Failing.name, Between.seen = how, name, {}
            begin = time.monotonic()
            found = read(table="ready_wait", path="s3://team/runs/*", storage_options=json.dumps(failing), error_column="why")
            failed = [(row["path"], row["why"]) for row in found if row["why"]]
            for row in found:
                row.pop("why")
            good = own(row for row in found if row["ready_ns"] is not None)
            if rows is None:
                check(good == expected and not failed, f"{how}: equal; {time.monotonic() - begin:.1f} s {failed}")
            else:
                others = own(read(table="ready_wait", paths=json.dumps([path for path in local if "before-1.cw" not in path])))
                check(good == others and len(failed) == 1, f"{how}: the others equal; {time.monotonic() - begin:.1f} s; {failed}")
        Between.how = ""
        session(s3, expected, folder)
        server.stop()
    print(f"{wrong} wrong")
    sys.exit(wrong > 0)


def session(options, expected, folder):
    if not shutil.which("java"):
        print("  no Java: Spark itself was not asked")
        return
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1", SPARK_LOCAL_HOSTNAME="localhost")
    from pyspark.sql import SparkSession

    (folder / "local").mkdir()
    builder = SparkSession.builder.master("local[2]").config("spark.local.dir", str(folder / "local"))
    for name, value in {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    corewise.spark.register(spark, pushdown=True)
    frame = spark.read.format("corewise").options(table="ready_wait", storage_options=json.dumps(options)).load("s3://team/runs/*")
    count = frame.count()
    check(count == len(expected), f"Spark over s3: {count} rows, {len(expected)} expected")
    left = [path for path in (folder / "local").rglob("corewise-*")]
    check(not left, f"copies left below spark.local.dir: {len(left)}")
    spark.stop()


if __name__ == "__main__":
    main()
