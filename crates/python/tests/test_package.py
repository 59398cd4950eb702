"""The Python package: tables by every reader, bounded memory, interrupts, errors, and the examples of its documentation."""
import doctest
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import corewise
from recordings import ROOT, SCHED as TRACE, copied_runs

PROGRAM = os.environ["COREWISE"]


def long_recording(path, switches):
    """Writes an ftrace text in which two threads of CPU 0 take turns every 10 us."""
    with open(path, "w") as out:
        out.write("# tracer: nop\n#\n#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION\n")
        names = [("a", 101), ("b", 102)]
        for at in range(switches):
            (name, tid), (other, next_tid) = names[at % 2], names[(at + 1) % 2]
            us = 1_000_000 + at * 10
            out.write(
                f"{name:>16}-{tid:<7} ({tid:>5}) [000] d..2. {us // 1_000_000}.{us % 1_000_000:06}: sched_switch: prev_comm={name} prev_pid={tid} "
                f"prev_prio=120 prev_state=R ==> next_comm={other} next_pid={next_tid} next_prio=120\n"
            )


def frames_recording(path, frames=30):
    """Writes an ftrace text in which `game` draws a marked frame every 16 ms; in every tenth, `other` runs for 6 ms in between."""
    lines, at = ["# tracer: nop\n#\n#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION\n"], 0
    idle, game, other = ("<idle>", 0), ("game", 101), ("other", 102)

    def line(of, text):
        task, tid = of
        lines.append(f"{task:>16}-{tid:<7} ({tid:>5}) [000] d..2. {at // 1_000_000}.{at % 1_000_000:06}: {text}\n")

    def switch(before, state, after):
        prev = f"prev_comm={before[0]} prev_pid={before[1]} prev_prio=120 prev_state={state}"
        line(before, f"sched_switch: {prev} ==> next_comm={after[0]} next_pid={after[1]} next_prio=120")

    for frame in range(frames):
        at = 1_000_000 + frame * 16_000
        line(idle, "sched_wakeup: comm=game pid=101 prio=120 target_cpu=000")
        switch(idle, "R", game)
        line(game, "tracing_mark_write: B|101|frame")
        at += 4_000
        if frame % 10 == 5:
            switch(game, "R+", other)
            at += 6_000
            switch(other, "S", game)
        at += 2_000
        line(game, "tracing_mark_write: E|101")
        switch(game, "S", idle)
    with open(path, "w") as out:
        out.writelines(lines)


class Documentation(unittest.TestCase):
    def test_the_example_of_the_page_runs(self):
        page = (ROOT / "docs/python.md").read_text()
        example = page.split("```python\n")[1].split("```")[0]
        with tempfile.TemporaryDirectory() as folder:
            frames_recording(f"{folder}/frames.txt")
            subprocess.run([PROGRAM, "import", f"{folder}/frames.txt", "-o", f"{folder}/run.cw"], check=True, capture_output=True)
            done = subprocess.run([sys.executable, "-c", example], cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        # The slowest frame begins at 80 ms and takes 12 ms; for 6 ms it waits for the CPU.
        self.assertIn("slowest frame: 12.000 ms at 0.080000 s", done.stdout)
        self.assertIn("because of: ready, 6.000 ms more than in a typical frame", done.stdout)

    def test_the_examples_run(self):
        done = doctest.testmod(corewise, extraglobs={"TRACE": TRACE, "corewise": corewise}, optionflags=doctest.ELLIPSIS)
        self.assertEqual(done.failed, 0)
        self.assertGreater(done.attempted, 12)

    def test_the_page_shows_what_runs(self):
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.DOTALL)
        self.assertGreaterEqual(len(blocks), 2)
        lines = [line for line in blocks[0].splitlines() if line]
        self.assertLessEqual(len(lines), 10)
        with tempfile.TemporaryDirectory() as folder:
            os.rename(copied_runs(self) / "before-1.cw", f"{folder}/run.cw")
            said = [subprocess.run([sys.executable, "-c", block], cwd=folder, check=True, capture_output=True, text=True).stdout for block in blocks]
        self.assertEqual(len(said[1].splitlines()), 5)
        self.assertRegex(said[1].splitlines()[0], r"^\w.* \d+: ready for \d+\.\d{3} ms, of which")
        # The fault of this simulated run.
        self.assertIn("because of: running on efficient cores", said[0])
        self.assertIn("main, which is", said[0])

    def test_everything_public_is_documented_and_typed(self):
        for name in corewise.__all__:
            self.assertTrue(getattr(corewise, name).__doc__, name)
        self.assertTrue((pathlib.Path(corewise.__file__).parent / "py.typed").exists())


class Tables(unittest.TestCase):
    def setUp(self):
        self.trace = corewise.open(TRACE)

    def test_every_reader_gets_the_same_rows(self):
        import duckdb
        import pandas
        import pyarrow

        for name in ["threads", "thread_state", "cpus"]:
            table = self.trace.table(name)
            arrow = pyarrow.table(table)
            self.assertGreater(arrow.num_rows, 0)
            rows = arrow.to_pylist()
            self.assertEqual(table.to_polars().to_dicts(), rows)
            by_duckdb = [dict(zip(arrow.column_names, row)) for row in duckdb.sql("SELECT * FROM arrow").fetchall()]
            self.assertEqual(by_duckdb, rows)
            frame = table.to_pandas()
            for column in arrow.column_names:
                values = [None if pandas.isna(value) else value for value in frame[column].tolist()]
                self.assertEqual(values, arrow[column].to_pylist(), f"{name}.{column}")

    def test_duckdb_reads_a_table_by_its_name(self):
        import duckdb

        states = self.trace.table("thread_state")
        [(count,)] = duckdb.sql("SELECT count(*) FROM states").fetchall()
        self.assertEqual(count, len(states))

    def test_fields_have_units_and_documentation(self):
        import pyarrow

        field = pyarrow.schema(self.trace.table("threads")).field("running_ns")
        self.assertEqual(field.metadata[b"unit"], b"ns")
        self.assertIn(b"CPU", field.metadata[b"doc"])

    def test_ranges_are_times_or_intervals(self):
        whole = sum(self.trace.table("threads")["running_ns"])
        texts = [("0.01s", "20ms"), "10ms..20ms", (0.01, 0.02), ("10000us", 0.02), ("10000000ns", "20ms")]
        parts = {sum(self.trace.table("threads", range=of)["running_ns"]) for of in texts}
        self.assertEqual(len(parts), 1)
        self.assertTrue(0 < parts.pop() < whole)
        open_end = sum(self.trace.table("threads", range=(None, "20ms"))["running_ns"])
        self.assertEqual(open_end, sum(self.trace.table("threads", range="..20ms")["running_ns"]))

    def test_objects_have_rich_representations(self):
        for of in [self.trace, self.trace.tables, self.trace.table("cpus"), self.trace.machine, self.trace.findings(), self.trace.frames]:
            self.assertIn("<", of._repr_html_())
            self.assertTrue(repr(of))
        # Names of a trace are not markup.
        self.assertEqual(corewise._escaped("<b>&"), "&lt;b&gt;&amp;")


class Errors(unittest.TestCase):
    def test_errors_are_one_sentence(self):
        trace = corewise.open(TRACE)
        cases = [
            (lambda: corewise.open("/etc"), "neither a trace folder"),
            (lambda: corewise.open(__file__), "unknown format"),
            (lambda: trace.table("thread"), "did you mean threads?"),
            (lambda: trace.table("threads")["redy_ns"], "did you mean ready_ns?"),
            (lambda: trace.table("threads", range=("2s", "1s")), "the end of a range must be after its start"),
            (lambda: trace.table("threads", range=("1 year", None)), "is not a time"),
            (lambda: trace.table("threads", process="nobody").to_arrow(), "no process or thread nobody"),
            (lambda: trace.table("threads", process="nobody").to_polars(), "no process or thread nobody"),
            (lambda: trace.table("threads", range=5), "expected two times"),
            (lambda: trace.frames.slowest, "mark them (corewise record --mark"),
            (lambda: corewise.compare(TRACE, []), "B has no runs"),
            (lambda: corewise.record(), "Name a command, duration="),
            (lambda: trace.findings(only=["preemption"]), "did you mean preemption-rate?"),
            (lambda: trace.findings(objective="nonsense"), "nonsense"),
            (lambda: corewise.compare(TRACE, "/no/such/file"), "/no/such/file"),
        ]
        for call, expected in cases:
            with self.assertRaises(corewise.Error) as caught:
                call()
            self.assertIn(expected, str(caught.exception))
            self.assertEqual(len(str(caught.exception).splitlines()), 1)

    def test_missing_names_have_the_nearest_ones(self):
        with self.assertRaisesRegex(KeyError, "did you mean threads?"):
            corewise.open(TRACE).tables["thread"]
        self.assertIsNone(corewise.open(TRACE).tables.get("thread"))
        with self.assertRaisesRegex(AttributeError, "did you mean compare?"):
            corewise.compar
        self.assertTrue(callable(corewise.plots.cpus))

    def test_a_library_that_is_missing_is_named_with_its_command(self):
        with unittest.mock.patch.dict(sys.modules, {"polars": None, "tqdm": None, "tqdm.auto": None}):
            with self.assertRaisesRegex(corewise.Error, "needs polars, which is not installed: pip install polars$"):
                corewise.open(TRACE).table("threads").to_polars()
            with self.assertRaisesRegex(corewise.Error, "needs tqdm, which is not installed: pip install tqdm$"):
                corewise.open(TRACE, progress=True)

    def test_a_newer_format_is_refused(self):
        import json

        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/run.cw"
            subprocess.run([PROGRAM, "import", TRACE, "-o", path], check=True, capture_output=True)
            manifest = pathlib.Path(path, "manifest.json")
            fields = json.loads(manifest.read_text())
            manifest.write_text(json.dumps({**fields, "format_version": 1000}))
            with self.assertRaisesRegex(corewise.Error, "newer corewise"):
                corewise.open(path)
            # Beside one of this version, it is named.
            with self.assertRaisesRegex(corewise.Error, "run.cw.*newer corewise"):
                corewise.compare(TRACE, path)


class LongReads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        text = f"{cls.folder.name}/long.txt"
        long_recording(text, 300_000)
        cls.text = text
        cls.path = f"{cls.folder.name}/long.cw"
        subprocess.run([PROGRAM, "import", text, "-o", cls.path], check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_stream_is_read_in_bounded_memory(self):
        """600,000 rows x 13 columns as Arrow take over 50 MB; one batch of them, an eighth of that."""
        script = (
            "import sys, resource, corewise, pyarrow\n"
            "table = corewise.open(sys.argv[1]).table('thread_state')\n"
            "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
            "reader = table.batches(); reader.read_next_batch(); before = peak()\n"
            "rows = sum(batch.num_rows for batch in reader)\n"
            "print(rows, peak() - before)\n"
        )
        done = subprocess.run([sys.executable, "-c", script, self.path], check=True, capture_output=True, text=True)
        rows, grown = map(int, done.stdout.split())
        self.assertGreater(rows, 500_000)
        self.assertLess(grown, 40, "MB")

    def test_other_threads_run_meanwhile(self):
        """A thread counts while a table is read. If reading held the GIL, it could count only where a read begins and ends, however long that takes."""
        counted = [0]
        stop = threading.Event()

        def count():
            while not stop.wait(0.001):
                counted[0] += 1

        thread = threading.Thread(target=count)
        thread.start()
        table, end, within = corewise.open(self.path).table("thread_state"), time.monotonic() + 60, 0
        while within < 5 and time.monotonic() < end:
            before = counted[0]
            len(table)
            within = counted[0] - before
        stop.set()
        thread.join()
        self.assertGreaterEqual(within, 5, "the GIL was held")

    def test_a_reader_that_stops_ends_the_reading(self):
        reader = corewise.open(self.path).table("thread_state").batches()
        reader.read_next_batch()
        del reader
        named = lambda: [
            name
            for task in pathlib.Path("/proc/self/task").iterdir()
            if (name := (task / "comm").read_text().strip()) == "corewise table"
        ]
        end = time.monotonic() + 60
        while named() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(named(), [])

    def test_ctrl_c_ends_a_long_read_and_leaves_no_temporary_file(self):
        for what, path in [("corewise.open(sys.argv[1])", self.text), ("len(corewise.open(sys.argv[1]).table('thread_state'))", self.path)]:
            script = (
                "import sys, corewise\n"
                f"try:\n    print('begun', flush=True)\n    while True: {what}\n"
                "except KeyboardInterrupt: print('interrupted', flush=True)\n"
            )
            temporary = tempfile.TemporaryDirectory()
            self.addCleanup(temporary.cleanup)
            child = subprocess.Popen(
                [sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": temporary.name}
            )
            self.assertEqual(child.stdout.readline(), "begun\n")
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=60)
            self.assertEqual(os.listdir(temporary.name), [], what)
            self.assertEqual(out, "interrupted\n", what)

    def test_progress_follows_tqdm(self):
        calls = []

        class Bar:
            def __init__(self, **options):
                calls.append(("new", options["total"]))

            def update(self, n):
                calls.append(("update", n))

            def close(self):
                calls.append(("close", None))

        corewise.open(self.text, progress=Bar)
        self.assertEqual((calls[0], calls[-1]), (("new", 100), ("close", None)))
        self.assertEqual(sum(n for what, n in calls if what == "update"), 100)


class Programs(unittest.TestCase):
    def test_ctrl_c_ends_a_recording_which_is_kept(self):
        """As a notebook interrupts: only Python gets the signal. The program is one that records until it gets it too."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "corewise")
            ends = f'trap \'exec "{os.path.abspath(PROGRAM)}" import "{TRACE}" -o "$3"\' INT'
            program.write_text(f'#!/bin/sh\n{ends}\ntouch "{folder}/begun"\nwhile :; do sleep 0.1; done\n')
            program.chmod(0o755)
            script = f"import corewise; print(corewise.record(all=True, output='{folder}/run.cw').summary['threads'])"
            environment = {**os.environ, "COREWISE": str(program)}
            child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment)
            end = time.monotonic() + 60
            while not pathlib.Path(folder, "begun").exists() and time.monotonic() < end:
                time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=60)
            self.assertEqual((child.returncode, out), (0, f"{corewise.open(TRACE).summary['threads']}\n"))

    def test_invalid_options_of_a_recording_are_explained(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(corewise.Error, "invalid value 'x' for '--duration"):
            corewise.record(duration="x", output=f"{folder}/run.cw")

    def test_a_recording_that_fails_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(corewise.Error) as caught:
                corewise.record(["/no/such/program"], output=f"{folder}/run.cw")
            self.assertNotIn("\n", str(caught.exception))

    def test_import_is_quick(self):
        """It loads nothing but the standard library: the libraries that it works with, which take long, are loaded when they are used."""
        script = "import sys; before = set(sys.modules); import corewise; print(*set(sys.modules) - before)"
        loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
        others = {name.split(".")[0] for name in loaded} - sys.stdlib_module_names
        self.assertEqual(others, {"corewise"})
        self.assertNotIn("corewise._binary", loaded)


if __name__ == "__main__":
    unittest.main()
