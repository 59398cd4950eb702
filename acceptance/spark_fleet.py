#!/usr/bin/env python3
"""Recordings in Spark: the cells of the command line, a fleet on two workers, a killed worker, damaged recordings, and what filters open.

usage: spark_fleet.py [--only cells,fleet,filters] [--count 2000] [--few 250] [--seeds FOLDER] [--folder FOLDER]

  cells    every table of ten recordings or more by Spark equals that of `corewise table`, cell by cell
  fleet    COUNT recordings (fleet_make.py) on local-cluster[2,1,1024], two of them damaged: the sums of one table by release, equal to those of one process
           in a loop; wall and CPU time of both, and those of FEW recordings; the errors; the same result with a worker killed in the middle
  filters  how many recordings are opened for a filter, counted by the kernel: the access times of their files

It runs with the Python that has the package, pyspark, fsspec and pyarrow (scripts/venv, scripts/python); COREWISE names the program. The package built by
scripts/python is not optimised: its times are longer than those of a released one, in Spark and in the loop alike.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent.resolve()
# The package, not the module of the same name in this folder.
sys.path[:] = [path for path in sys.path if pathlib.Path(path).resolve() != HERE]
try:
    import corewise  # noqa: E402
    import pyarrow.compute  # noqa: E402
    import pyspark  # noqa: E402, F401
except ImportError as why:
    sys.exit(f"{why}: run it with the Python of scripts/venv, after scripts/python (make python)")

sys.path.append(str(HERE))
import three_ways  # noqa: E402

PROGRAM = os.environ["COREWISE"]
TABLE = "ready_wait"
SUMS = ("ready_ns", "running_ns", "blocked_ns", "running_count")
IDENTITY = ("trace", "path", "labels")
WORKERS = 2
# Recordings that a task reads, where it reads several.
PER_TASK = 20


def session(folder, master):
    """Starts Spark without network and pages, with its files in a folder."""
    import corewise.spark
    from pyspark.sql import SparkSession

    os.environ.update(
        PYSPARK_PYTHON=sys.executable,
        SPARK_LOCAL_IP="127.0.0.1",
        SPARK_LOCAL_HOSTNAME="localhost",
        SPARK_WORKER_DIR=f"{folder}/work",
    )
    begin = time.monotonic()
    builder = SparkSession.builder.master(master).config("spark.local.dir", f"{folder}/local")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "2g",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    corewise.spark.register(spark, pushdown=True)
    print(f"Spark {spark.version} {master} started in {time.monotonic() - begin:.1f} s", flush=True)
    return spark


def load(spark, paths, **options):
    return spark.read.format("corewise").options(**options).load(paths)


# ---- cells


def cells(folder):
    """Every table of ten recordings, by Spark and by the command line. The rows of a recording keep their order in its partition."""
    (folder / "ten").mkdir()
    paths = [os.path.abspath(path) for path in three_ways.recordings(False, folder / "ten")]
    spark = session(folder, "local[2]")
    begin, tables, count, wrong, refused = time.monotonic(), 0, 0, [], 0
    for name in corewise.open(paths[0], read_only=True).tables:
        frame = load(spark, paths, table=name, error_column="why")
        own = [column for column in frame.columns if column not in (*IDENTITY, "why")]
        found = {path: [] for path in paths}
        failed = {}
        for row in frame.collect():
            if row["why"] is None:
                found[row["path"]].append(tuple(row[column] for column in own))
            else:
                failed[row["path"]] = row["why"]
        columns = [(column.name, column.type) for column in corewise.open(paths[0], read_only=True).table(name).columns]
        for path in paths:
            text, why = three_ways.run("table", path, name, "--format", "csv")
            if text is None:
                refused += 1
                if failed.get(path, "-") not in why:
                    wrong.append(f"{path} {name}: the command line fails ({why}), Spark has {failed.get(path, 'rows')}")
                continue
            line = three_ways.rows_of_csv(text.decode(), columns)
            if line != found[path]:
                wrong.append(f"{path} {name}: {three_ways.difference(line, found[path])} (command line, Spark)")
            tables, count = tables + 1, count + len(line) * len(columns)
    spark.stop()
    print(f"{len(paths)} recordings: {tables} tables, {count} cells: {'equal' if not wrong else 'NOT EQUAL'}; {refused} refused by both", end="; ")
    print(f"{time.monotonic() - begin:.0f} s", flush=True)
    for line in wrong[:20]:
        print(f"  {line[:400]}")
    return not wrong and len(paths) >= 10 and count > 0


# ---- fleet


def fleet(folder, count, seeds):
    """Makes recordings by repeating some with other IDs; returns their folder."""
    out, begin = folder / f"fleet-{count}", time.monotonic()
    more = ["--seeds", str(seeds)] if seeds else []
    subprocess.run([sys.executable, str(HERE / "fleet_make.py"), str(out), "--count", str(count), *more], check=True, stdout=subprocess.DEVNULL)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    print(f"{count} recordings made in {time.monotonic() - begin:.0f} s: {size / 1e6:.0f} MB", flush=True)
    return out


def of_loop(paths):
    """The sums by release of one process in a loop: what Spark is compared with."""
    sums = {}
    for path in paths:
        trace = corewise.open(path, read_only=True)
        of = sums.setdefault(trace.labels["release"], [0] * len(SUMS))
        table = trace.table(TABLE).to_arrow()
        for at, column in enumerate(SUMS):
            of[at] += pyarrow.compute.sum(table.column(column)).as_py() or 0
    return sums


def of_spark(spark, paths, **options):
    """The same by Spark, and why recordings were left out, by path: in one query."""
    from pyspark.sql import functions

    frame = load(spark, paths, table=TABLE, error_column="why", **options)
    release, failed = functions.col("labels")["release"], functions.col("why").isNotNull()
    keys = [functions.when(~failed, release).alias("release"), functions.when(failed, functions.col("path")).alias("failed"), "why"]
    sums, errors = {}, {}
    for row in frame.groupBy(*keys).agg(*[functions.sum(column).alias(column) for column in SUMS]).collect():
        if row["why"] is None:
            sums[row["release"]] = [row[column] or 0 for column in SUMS]
        else:
            errors[row["failed"]] = row["why"]
    return sums, errors


def executors():
    """The processes of Spark's executors."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in command and str(os.getpid()).encode() in ancestors(entry.name):
            found.append(int(entry.name))
    return found


def ancestors(pid):
    """The processes above a process."""
    found = []
    while pid not in (b"0", b"1", "0", "1"):
        try:
            status = pathlib.Path(f"/proc/{pid if isinstance(pid, str) else pid.decode()}/status").read_bytes()
        except OSError:
            break
        pid = next(line.split()[1] for line in status.splitlines() if line.startswith(b"PPid:"))
        found.append(pid)
    return found


def cpu_s():
    """The CPU time of this process and of all below it, those that have ended included: what others do on the machine does not count."""
    ticks = 0
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and (int(entry.name) == os.getpid() or str(os.getpid()).encode() in ancestors(entry.name)):
            try:
                ticks += sum(map(int, (entry / "stat").read_text().rpartition(")")[2].split()[11:15]))
            except OSError:
                continue
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(work):
    """Does some work. Returns its result, and its wall and CPU time (s)."""
    begin, cpu = time.monotonic(), cpu_s()
    found = work()
    return found, time.monotonic() - begin, cpu_s() - cpu


def damage(paths):
    """Cuts off one recording, and gives another one the number of a newer format. Returns both."""
    cut, newer = paths[len(paths) // 3], paths[len(paths) // 2]
    states, manifest = cut / "states/thread.parquet", newer / "manifest.json"
    os.truncate(states, states.stat().st_size // 2)
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format_version": 99}))
    return [cut, newer]


def on_workers(folder, count, few, seeds):
    """A fleet on two workers, two of its recordings damaged: its sums, its errors, its growth, and the same with a worker killed."""
    runs = fleet(folder, count, seeds)
    paths = sorted(runs.glob("*.cw"))
    bad = damage(paths[:few])
    pattern, some = f"{runs}/*.cw", [str(path) for path in paths[:few]]
    spark = session(folder, f"local-cluster[{WORKERS},1,1024]")
    # Python's workers are started, and Java's code is compiled, before anything is measured.
    of_spark(spark, some[:40])
    ok, walls = True, {}
    for number, what in [(few, some), (count, pattern)]:
        good = [path for path in paths[:number] if path not in bad]
        expected, alone, alone_cpu = measured(lambda: of_loop(good))
        (found, errors), shared, shared_cpu = measured(lambda: of_spark(spark, what))
        walls[number] = (alone, shared)
        is_equal = found == expected and sorted(errors) == sorted(map(str, bad))
        ok &= is_equal
        print(
            f"{number} recordings: a loop {alone:.1f} s ({alone / number * 1e3:.1f} ms each, CPU {alone_cpu / number * 1e3:.1f} ms), Spark on {WORKERS} workers "
            f"{shared:.1f} s ({shared / number * 1e3:.1f} ms each, CPU {shared_cpu / number * 1e3:.1f} ms), {alone / shared:.2f} times as fast; load average "
            f"{os.getloadavg()[0]:.1f}; sums {'equal' if found == expected else 'NOT EQUAL'}, {len(errors)} errors",
            flush=True,
        )
        (found, of_several), wall, cpu = measured(lambda: of_spark(spark, what, per_task=PER_TASK))
        is_equal = found == expected and of_several == errors
        ok &= is_equal
        print(
            f"  {PER_TASK} recordings a task: {wall:.1f} s (CPU {cpu / number * 1e3:.1f} ms each), {alone / wall:.2f} times as fast as the loop; "
            f"sums and errors {'equal' if is_equal else 'NOT EQUAL'}",
            flush=True,
        )
    for path, why in errors.items():
        print(f"  {pathlib.Path(path).name}: {why.replace(path, '…')[:160]}")
    growth = [walls[count][of] / walls[few][of] for of in (1, 0)]
    print(f"growth from {few} to {count} (x {count / few:.1f}): Spark x {growth[0]:.2f}, the loop x {growth[1]:.2f}", flush=True)
    ok &= killed(spark, pattern, (expected, errors), walls[count][1])
    rows, wall, _ = measured(lambda: load(spark, some, table="errors", of=TABLE).collect())
    is_named = {row["path"]: row["error"] for row in rows} == errors
    print(f"the table errors of {few} recordings: {len(rows)} rows in {wall:.1f} s, {'the same' if is_named else 'OTHERS'}", flush=True)
    spark.stop()
    return ok and is_named


def killed(spark, pattern, expected, seconds):
    """Kills a worker in the middle of the query."""
    before, at = executors(), []

    def kill():
        os.kill(before[0], signal.SIGKILL)
        at.append(time.monotonic())

    timer, begin = threading.Timer(seconds * 0.4, kill), time.monotonic()
    timer.start()
    found, wall, _ = measured(lambda: of_spark(spark, pattern))
    timer.join()
    killed_s, after = at[0] - begin, executors()
    print(
        f"worker {before[0]} of {len(before)} killed after {killed_s:.1f} s of {wall:.1f} s: result {'equal' if found == expected else 'NOT EQUAL'}; "
        f"{len(after)} workers then, {len(set(after) - set(before))} new",
        flush=True,
    )
    return found == expected and killed_s < wall and before[0] not in after


# ---- filters


def opened(paths, work):
    """How many recordings had their manifest read, and how many anything else, while `work` ran. By the kernel: a file that is read gets a new access
    time where its old one is before its last change (relatime)."""
    files = [(path, file) for path in paths for file in path.rglob("*") if file.is_file()]
    for _, file in files:
        os.utime(file, (1, file.stat().st_mtime))
    work()
    read = [(path, file.name) for path, file in files if file.stat().st_atime != 1]
    return len({path for path, name in read if name == "manifest.json"}), len({path for path, name in read if name != "manifest.json"})


def filters(folder, few, seeds):
    """What filters open."""
    runs = fleet(folder, few, seeds)
    paths = sorted(runs.glob("*.cw"))
    pattern, some = f"{runs}/*.cw", [corewise.open(path, read_only=True).id for path in paths[:5]]
    spark = session(folder, "local[2]")
    of_labels = sum(corewise.open(path, read_only=True).labels["team"] == "net" for path in paths)
    ok = True
    for what, frame, most in [
        ("no filter", load(spark, pattern, table=TABLE), (few, few)),
        ("schema only", None, (0, 0)),
        ("trace IN (5 IDs)", load(spark, pattern, table=TABLE).where(f"trace IN ({', '.join(map(str, some))})"), (few, 5)),
        ("path LIKE '%run-00017.cw'", load(spark, pattern, table=TABLE).where("path LIKE '%run-00017.cw'"), (1, 1)),
        ("option labels: team=net", load(spark, pattern, table=TABLE, labels="team=net"), (few, of_labels)),
        ("labels['team'] = 'net' in SQL (not pushed)", load(spark, pattern, table=TABLE).where("labels['team'] = 'net'"), (few, few)),
    ]:
        rows = [0]

        def work():
            rows[0] = len(load(spark, pattern, table=TABLE).schema) if frame is None else frame.count()

        manifests, tables = opened(paths, work)
        is_right = (manifests, tables) == most
        ok &= is_right
        print(f"{what}: manifests of {manifests}, more of {tables} of {few} recordings read; {rows[0]} {'columns' if frame is None else 'rows'}", end="")
        print("" if is_right else f": EXPECTED {most}", flush=True)
    spark.stop()
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="cells,fleet,filters")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--few", type=int, default=250)
    parser.add_argument("--seeds")
    parser.add_argument("--folder", help="where the fleets are made; removed afterwards if not given")
    args = parser.parse_args()
    if not shutil.which("java"):
        print("skipped: no Java (apt-get install openjdk-17-jre-headless)")
        return
    ok = True
    with tempfile.TemporaryDirectory(dir=args.folder) as temporary:
        folder = pathlib.Path(temporary)
        (folder / "local").mkdir()
        for part in args.only.split(","):
            begin = time.monotonic()
            if part == "cells":
                ok &= cells(folder)
            elif part == "fleet":
                ok &= on_workers(folder, args.count, args.few, args.seeds)
            else:
                ok &= filters(folder, args.few, args.seeds)
            print(f"{part}: {time.monotonic() - begin:.0f} s", flush=True)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
