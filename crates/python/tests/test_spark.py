"""The data source of Spark: cells as in the package, filters, errors, stores, and what is left behind.

Most tests call the reader as Spark's workers do, without Spark; those of a Spark session need Java.
"""

import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import corewise
import corewise.spark
from corewise.spark._request import Request
from pyspark.sql import datasource
from pyspark.sql.types import LongType, StructField, StructType
from recordings import FIXTURES, ROOT, SCHED
from test_package import frames_recording, long_recording

PROGRAM = os.environ["COREWISE"]
# A Spark without network and pages.
CONF = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
}
IDENTITY = ("trace", "path", "labels")


def corewise_(arguments):
    subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True)


def reader(*filters, **options):
    """A reader as Spark plans it, and the filters that it leaves to Spark."""
    source = corewise.spark.PushingSource({name: str(value) for name, value in options.items()})
    made = pickle.loads(pickle.dumps(source.reader(source.schema())))
    left = list(made.pushFilters(list(filters)))
    return made, left


def read(*filters, **options):
    """The rows of all partitions, as dictionaries. Each partition is read as by another process."""
    made, _ = reader(*filters, **options)
    rows = []
    for part in made.partitions():
        for batch in pickle.loads(pickle.dumps(made)).read(pickle.loads(pickle.dumps(part))):
            rows += batch.to_pylist()
    return rows


def own(rows):
    """The cells of a table's own columns."""
    return sorted(repr({name: cell for name, cell in row.items() if name not in IDENTITY}) for row in rows)


def of_package(paths, table, **options):
    """The same, by the package."""
    return sorted(repr(row) for path in paths for row in corewise.open(path, read_only=True).table(table, **options).to_arrow().to_pylist())


class Fleet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.runs = cls.folder / "runs"
        cls.all, cls.paths = f"{cls.runs}/*.cw", [cls.runs / f"run-{number}.cw" for number in range(4)]
        for number, path in enumerate(cls.paths):
            text = cls.folder / f"{number}.txt"
            frames_recording(text, 30 + number)
            corewise_(["import", text, "-o", path])
            corewise_(["label", path, "release=1.0", f"team={'net' if number % 2 else 'render'}"])
        cls.ids = [corewise.open(path).id for path in cls.paths]


class Reader(Fleet):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.environ.update(FAR_LOG=str(cls.folder / "far.log"), FAR_FAILS=str(cls.folder / "far.fails"))
        import stores

        assert stores.Far.protocol == "far"

    def requests(self, begin=0):
        """The requests to the store, from one on."""
        log = pathlib.Path(os.environ["FAR_LOG"])
        return log.read_text().splitlines()[begin:] if log.exists() else []

    def test_rows_are_those_of_the_package(self):
        for name in ("ready_wait", "thread_state", "waits"):
            self.assertEqual(own(read(table=name, path=self.all)), of_package(self.paths, name), name)
        # Nothing was stored in the recordings.
        self.assertEqual(list(self.runs.rglob("ready_wait.parquet")), [])

    def test_each_row_names_its_recording(self):
        found = read(path=self.all)
        self.assertEqual([row["trace"] for row in found], self.ids)
        self.assertEqual([row["path"] for row in found], list(map(str, self.paths)))
        self.assertEqual([dict(row["labels"])["release"] for row in found], ["1.0"] * len(self.ids))
        self.assertEqual([row["switches"] for row in found], [corewise.open(path).summary["switches"] for path in self.paths])

    def test_a_schema_selects_columns(self):
        source = corewise.spark.Source({"table": "ready_wait", "path": str(self.paths[0])})
        schema = StructType([StructField(name, LongType()) for name in ("ready_ns", "trace")])
        made = source.reader(schema)
        rows = [row for batch in made.read(made.partitions()[0]) for row in batch.to_pylist()]
        self.assertEqual([row["ready_ns"] for row in rows], corewise.open(self.paths[0], read_only=True).table("ready_wait")["ready_ns"])
        self.assertEqual({(*row,) for row in rows}, {("ready_ns", "trace")})
        with self.assertRaisesRegex(corewise.Error, "the table ready_wait has no column ready"):
            source.reader(StructType([StructField("ready", LongType())]))

    def test_edited_labels_are_those_that_count(self):
        run = self.folder / "labelled.cw"
        shutil.copytree(self.paths[0], run)
        corewise_(["label", run, "team=new"])
        for path in (str(run), f"far://{run}"):
            self.assertEqual([dict(row["labels"])["team"] for row in read(path=path, labels="team=new")], ["new"])
            self.assertEqual(read(path=path, labels="team=render"), [])

    def test_parts_of_a_large_recording_are_all_of_it_once(self):
        text, run = self.folder / "long.txt", self.folder / "long.cw"
        long_recording(text, 200_000)
        corewise_(["import", text, "-o", run])
        expected = corewise.open(run, read_only=True).table("thread_state").to_arrow()
        states = run / "states/thread.parquet"
        for scheme in ("", "far://"):
            begin = len(self.requests())
            made, _ = reader(table="thread_state", path=f"{scheme}{run}")
            # A row group in each part.
            made.request.split_bytes = 1
            parts = made.partitions()
            self.assertGreater(len(parts), 1)
            rows = [row for part in parts for batch in made.read(part) for row in batch.to_pylist()]
            self.assertEqual(own(rows), sorted(map(repr, expected.to_pylist())))
        # Each row group was copied once; with each part, only what precedes and follows all row groups.
        copied = [tuple(map(int, line.split()[1:3])) for line in self.requests(begin) if line.startswith("part")]
        last = max(end for begin, end in copied if begin != 0 and end != states.stat().st_size)
        groups = [(begin, end) for begin, end in copied if begin and begin != last]
        self.assertEqual(sum(end - begin for begin, end in groups), last - 4)
        # An analysis is never divided.
        whole, _ = reader(table="ready_wait", path=run)
        whole.request.split_bytes = 1
        self.assertEqual(len(whole.partitions()), 1)
        # A filter of times leaves out row groups.
        late = datasource.GreaterThanOrEqual(("start_ns",), expected["end_ns"].to_pylist()[-1] - 1000)
        made, left = reader(late, table="thread_state", path=run)
        rows = [row for part in made.partitions() for batch in made.read(part) for row in batch.to_pylist()]
        self.assertLess(len(rows), expected.num_rows)
        wanted = [row for row in expected.to_pylist() if row["start_ns"] >= late.value]
        self.assertEqual([row for row in own(rows) if row in list(map(repr, wanted))], sorted(map(repr, wanted)))
        self.assertEqual(left, [late])

    def test_filters_leave_out_recordings_without_opening_their_tables(self):
        runs = self.folder / "sealed"
        shutil.copytree(self.runs, runs)
        # What is opened of the others fails.
        for path in sorted(runs.glob("*.cw"))[1:]:
            shutil.rmtree(path / "tables")
            shutil.rmtree(path / "states")
        options = {"table": "ready_wait", "path": f"{runs}/*.cw", "error_column": "why"}
        expected = of_package([runs / "run-0.cw"], "ready_wait")
        plain = {name: value for name, value in options.items() if name != "error_column"}
        is_first = datasource.EqualTo(("trace",), self.ids[0])
        self.assertEqual(reader(is_first, **plain)[1], [])
        self.assertEqual(own(read(is_first, **plain)), expected)
        for filters, more in [
            ([is_first], {}),
            ([datasource.In(("trace",), (self.ids[0], 5))], {}),
            ([datasource.StringEndsWith(("path",), "run-0.cw")], {}),
            ([], {"trace": self.ids[0]}),
            ([], {"trace": self.ids[0], "labels": "release=1.0,team=render"}),
        ]:
            rows = read(*filters, **options, **more)
            self.assertEqual({(row["trace"], row["why"]) for row in rows}, {(self.ids[0], None)}, (filters, more))
            self.assertEqual(len(rows), len(expected))
        # Without filters, the others have an error each.
        failed = [row for row in read(**options) if row["why"]]
        self.assertEqual([row["trace"] for row in failed], self.ids[1:])

    def test_a_part_is_that_of_the_package(self):
        rows = read(table="ready_wait", path=self.all, range="0.1s..0.2s")
        self.assertEqual(own(rows), of_package(self.paths, "ready_wait", range="0.1s..0.2s"))

    def test_what_cannot_be_read_is_a_row_and_the_rest_goes_on(self):
        runs = self.folder / "mixed"
        shutil.copytree(self.runs, runs)
        os.truncate(runs / "run-1.cw/states/thread.parquet", 1000)
        newer = json.loads((runs / "run-2.cw/manifest.json").read_text())
        newer["format_version"] = 99
        (runs / "run-2.cw/manifest.json").write_text(json.dumps(newer))
        (runs / "notes.txt").write_text("no recording")
        shutil.copy(SCHED, runs / "sched.data")
        paths = json.dumps([f"{runs}/*", "/no/such/recording"])
        failed = {pathlib.Path(row["path"]).name: row for row in read(table="errors", paths=paths)}
        self.assertEqual(sorted(failed), ["notes.txt", "recording", "run-1.cw", "run-2.cw"])
        for name, why in [
            ("run-1.cw", "damaged"),
            ("run-2.cw", "written by a newer corewise"),
            ("notes.txt", "unknown format"),
            ("recording", "No such file"),
        ]:
            self.assertIn(why, failed[name]["error"])
        self.assertEqual((failed["run-1.cw"]["trace"], failed["run-1.cw"]["table"]), (self.ids[1], "thread_state"))
        self.assertEqual(failed["run-2.cw"]["trace"], None)
        rows = read(table="cpu_bursts", paths=paths, error_column="why")
        self.assertEqual({row["path"] for row in rows if row["why"] is None}, {f"{runs}/{name}" for name in ("run-0.cw", "run-3.cw", "sched.data")})
        self.assertEqual(sorted(pathlib.Path(row["path"]).name for row in rows if row["why"]), sorted(failed))
        # Without a place for errors, they are logged.
        with self.assertLogs("corewise.spark") as log:
            self.assertEqual({row["path"] for row in read(table="cpu_bursts", path=f"{runs}/*.cw")}, {f"{runs}/run-0.cw", f"{runs}/run-3.cw"})
        self.assertEqual(len(log.output), 2)

    def test_what_is_requested_wrongly_is_said(self):
        for options, why in [
            ({"table": "thread"}, "there is no table thread, did you mean threads?"),
            ({"table": "threads", "lables": "os=new"}, "there is no option lables, did you mean labels?"),
            ({"table": "threads", "labels": "os"}, "labels: os is no label such as os=new"),
            ({"table": "threads", "trace": "x"}, "trace: x is not a whole number"),
            ({"table": "threads", "of": "waits"}, "of: only the table errors takes it"),
            ({"table": "threads", "path": f"{self.folder}/nothing-*"}, "no file or folder matches this pattern"),
        ]:
            with self.assertRaises(corewise.Error) as found:
                read(**options)
            self.assertIn(why, str(found.exception))

    def test_stores_are_read_by_copies_that_are_removed(self):
        temporary = self.folder / "temporary"
        temporary.mkdir()
        fails = pathlib.Path(os.environ["FAR_FAILS"])
        far, expected = f"far://{self.runs}/*.cw", of_package(self.paths, "ready_wait")
        with unittest.mock.patch.dict(os.environ, SPARK_LOCAL_DIRS=str(temporary)):
            # Two requests fail.
            fails.write_text("run-1.cw/manifest.json 2 busy")
            self.assertEqual(own(read(table="ready_wait", path=far)), expected)
            # Of recordings that a filter excludes, only the manifest is copied.
            begin = len(self.requests())
            rows = read(datasource.EqualTo(("trace",), self.ids[2]), table="ready_wait", path=far)
            self.assertEqual({row["trace"] for row in rows}, {self.ids[2]})
            copied = [line.split()[-1] for line in self.requests(begin)]
            self.assertEqual(sum(path.endswith("manifest.json") for path in copied), len(self.ids))
            self.assertEqual({path.split("run-")[1][0] for path in copied if not path.endswith(".json")}, {"2"})
            # The store does not give one recording.
            for how, why in [
                ("busy", "503 Slow Down"),
                ("refused", "403 Forbidden"),
                ("silent", "the store has not answered for 0 s"),
                ("half", "run-1.cw/manifest.json: the store gave "),
            ]:
                fails.write_text(f"run-1.cw/manifest.json 1000 {how}")
                with unittest.mock.patch.multiple("corewise.spark._store", SILENCE_S=0.3 if how == "silent" else 60, SLOWEST=1e9):
                    failed = read(table="errors", path=far)
                self.assertEqual([row["path"][-8:] for row in failed], ["run-1.cw"], how)
                self.assertIn(why, failed[0]["error"])
                self.assertNotIn(str(temporary), failed[0]["error"])
            fails.unlink()
            # A task that ends before it has read everything.
            made, _ = reader(table="thread_state", path=far)
            rows = made.read(made.partitions()[0])
            next(rows)
            self.assertEqual(len(list(temporary.iterdir())), 1)
            rows.close()
            self.assertEqual(list(temporary.iterdir()), [])

    def test_a_copy_that_cannot_be_made_is_a_row(self):
        far = f"far://{self.runs}/*.cw"
        with unittest.mock.patch("corewise.spark._store.tempfile.mkdtemp", side_effect=OSError(28, "No space left on device")):
            failed = read(table="errors", path=far)
        self.assertEqual([("No space left" in row["error"]) for row in failed], [True] * len(self.ids))

    def test_a_task_reads_several_recordings(self):
        runs = self.folder / "several"
        shutil.copytree(self.runs, runs)
        os.truncate(runs / "run-1.cw/states/thread.parquet", 1000)
        options = {"table": "ready_wait", "path": f"{runs}/*.cw", "error_column": "why"}
        expected = read(**options)
        for per_task, tasks in [(1, 4), (3, 2), (16, 1)]:
            made, _ = reader(**options, per_task=per_task)
            parts = pickle.loads(pickle.dumps(made.partitions()))
            self.assertEqual(len(parts), tasks)
            rows = [row for part in parts for batch in made.read(part) for row in batch.to_pylist()]
            self.assertEqual(sorted(map(repr, rows)), sorted(map(repr, expected)))
        self.assertEqual([row["path"] for row in expected if row["why"]], [f"{runs}/run-1.cw"])
        # By itself, where there would be too many tasks.
        with unittest.mock.patch("corewise.spark._reader.MAX_TASKS", 2):
            self.assertEqual(len(reader(**options)[0].partitions()), 2)

    def test_other_tools_files_and_archives_are_read(self):
        files = [SCHED, str(FIXTURES / "ftrace_text/trace.txt")]
        archive = shutil.make_archive(str(self.folder / "fleet"), "zip", self.runs)
        found = read(paths=json.dumps([*files, f"zip://*.cw::file://{archive}", f"far://{SCHED}"]))
        self.assertEqual([row["format"] for row in found[:2]], [corewise.open(path).facts["format"] for path in files])
        self.assertEqual(len(found), 3 + len(self.ids))
        self.assertEqual(found[0]["trace"], found[-1]["trace"])


class Session(Fleet):
    """In a Spark session."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import pyspark.sql

        begin = time.monotonic()
        # Spark finds relative paths from where it was started.
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(cls.folder)
        os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1", SPARK_LOCAL_HOSTNAME="localhost")
        builder = pyspark.sql.SparkSession.builder.master("local[2]").config("spark.local.dir", str(cls.folder))
        for name, value in CONF.items():
            builder = builder.config(name, value)
        cls.spark = builder.getOrCreate()
        cls.addClassCleanup(cls.spark.stop)
        corewise.spark.register(cls.spark, pushdown=True)
        print(f"Spark {cls.spark.version} started in {time.monotonic() - begin:.0f} s")

    def load(self, **options):
        return self.spark.read.format("corewise").options(**options).load(self.all)

    def test_rows_are_those_of_the_package(self):
        rows = [row.asDict() for row in self.load(table="ready_wait").collect()]
        self.assertEqual(own(rows), of_package(self.paths, "ready_wait"))

    def test_filters_are_pushed(self):
        frame = self.load(table="thread_state").where(f"trace = {self.ids[1]} AND start_ns >= 300000000")
        plan = frame._jdf.queryExecution().executedPlan().toString()
        # Spark checks the time again, and the ID not.
        self.assertIn("start_ns", plan.split("BatchScan")[0].split("Filter")[1])
        self.assertNotIn("trace", plan.split("BatchScan")[0].split("Filter")[1])
        expected = [row for row in of_package([self.paths[1]], "thread_state") if int(row.split("'start_ns': ")[1].split(",")[0]) >= 300_000_000]
        self.assertEqual(own([row.asDict() for row in frame.collect()]), expected)

    def test_it_reads_without_pushdown_too(self):
        try:
            for pushdown in (None, False):
                self.spark.conf.set("spark.sql.python.filterPushdown.enabled", str(pushdown is not None).lower())
                corewise.spark.register(self.spark, pushdown)
                frame = self.load(table="cpus").where(f"trace = {self.ids[0]}")
                self.assertEqual(frame.count(), len(of_package([self.paths[0]], "cpus")))
                self.assertIn("trace", frame._jdf.queryExecution().executedPlan().toString().split("BatchScan")[0])
        finally:
            corewise.spark.register(self.spark, pushdown=True)

    def test_the_examples_of_the_page_run(self):
        page = (ROOT / "docs/spark.md").read_text()
        done = {"spark": self.spark}
        for example in page.split("```python\n")[1:]:
            exec(example.split("```")[0], done)  # the page's own text
        self.assertEqual(done["waits"].count(), len(of_package(self.paths, "ready_wait")))


def load_tests(_loader, tests, _pattern):
    """Leaves out the tests of a session where there is no Java, which is no package of Python; a skipped test is a failure here."""
    if shutil.which("java"):
        return tests
    print("no Java: the tests in a Spark session are left out (apt-get install openjdk-17-jre-headless)", file=sys.stderr)
    kept = unittest.TestSuite()
    kept.addTests(test for suite in tests for test in suite if not isinstance(test, Session))
    return kept


if __name__ == "__main__":
    unittest.main()
