"""What the bars of plots add up to is what the tables have; what no recording here has data for is drawn from rows."""

import unittest

import corewise
from corewise import plots
from recordings import FIXTURES, ROOT, SCHED, copied_runs
from test_plots import layers, rows

LISA = str(ROOT / "testdata/traces/trace-dat/lisa__trace_txt.txt")


class Rows:
    """A trace with these rows in its tables."""

    path = "rows"

    def __init__(self, **tables):
        self.tables = tables

    def table(self, name, **_):
        import pyarrow

        rows = self.tables[name]
        return type("Table", (), {"to_arrow": lambda _: pyarrow.Table.from_pylist(rows)})()


def sums(rows, key, value="ms"):
    of = {}
    for row in rows:
        of[row[key]] = of.get(row[key], 0) + row[value]
    return of


class Sums(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.trace = corewise.open(copied_runs(cls) / "before-1.cw")
        cls.sched = corewise.open(SCHED)

    def column(self, trace, table, *names):
        return sum(sum(value or 0 for value in trace.table(table)[name]) for name in names)

    def near(self, drawn, column_ns, what=""):
        """Equal, except for parts that are not drawn since they could not be seen."""
        self.assertGreater(column_ns, 0, what)
        self.assertAlmostEqual(sum(row["ms"] for row in drawn) / (column_ns / 1e6), 1, places=2, msg=what)

    def test_times_of_threads_are_those_of_the_tables(self):
        many = {"top": 1000}
        self.near(rows(plots.waiting(self.sched, **many)), self.column(self.sched, "ready_wait", "ready_ns"), "waiting")
        bad = self.trace.table("placement").to_arrow().to_pylist()
        bad = [row for row in bad if row["slower_core_upper_ns"] + row["busy_sibling_upper_ns"] + row["skipped_slower_upper_ns"]]
        self.near(rows(plots.placement(self.trace, **many)), sum(row["running_ns"] for row in bad), "placement")
        smt = [row for row in self.trace.table("smt_threads").to_arrow().to_pylist() if row["sibling_busy_ns"]]
        self.near(rows(plots.smt(self.trace, **many)), sum(row["running_ns"] for row in smt), "smt")
        times = ["running_ns", "ready_ns", "blocked_ns", "unknown_ns"]
        ran = [row for row in self.trace.table("threads").to_arrow().to_pylist()]
        self.near(rows(plots.process_time(self.trace, **many)), sum(row[time] or 0 for row in ran for time in times), "process_time")

    def test_switches_are_counted_once(self):
        for trace in [self.trace, self.sched]:
            count = self.column(trace, "switch_causes", "count")
            self.assertEqual(sum(row["count"] for row in rows(plots.switch_causes(trace, top=1000))), count)
            count = self.column(trace, "threads", "voluntary", "involuntary")
            self.assertAlmostEqual(sum(row["count"] for row in rows(plots.process_switches(trace, top=1000))) / count, 1, places=2)
        kinds = {row["kind"] for row in rows(plots.switch_causes(self.sched))}
        self.assertTrue({"blocked", "exited", "preempted or yielded"} <= kinds, kinds)

    def test_each_bar_is_of_one_thread_or_process(self):
        # Two threads of this recording are called the same, and have no process.
        drawn = rows(plots.process_switches(self.sched, top=1000))
        pairs = [(row["process"], row["switch"]) for row in drawn]
        self.assertEqual(len(pairs), len(set(pairs)))

    def test_time_of_cpus_is_the_recording(self):
        for trace in [self.trace, self.sched]:
            span = trace.summary["span_ns"] / 1e6
            for of in sums(rows(plots.cpus(trace)), "cpu").values():
                self.assertAlmostEqual(of, span, places=6)
            self.near(rows(plots.concurrency_bands(trace, top=1000)), trace.summary["span_ns"], "concurrency_bands")
        cores = rows(plots.smt_cores(self.trace))
        self.assertEqual(len(sums(cores, "core")), 3)
        self.near(cores, 3 * self.trace.summary["span_ns"], "smt_cores")

    def test_the_timeline_divides_each_stretch_among_its_parts(self):
        for trace in [self.trace, self.sched]:
            for parts in [1, 7, 200]:
                drawn = rows(plots.timeline(trace, parts=parts))
                lengths = [row["end_s"] - row["start_s"] for row in drawn]
                busy = sum(row["busy"] * (1 - row["unknown"]) * length for row, length in zip(drawn, lengths))
                self.assertAlmostEqual(busy, self.column(trace, "cpus", "busy_ns") / 1e9, places=6)
                unknown = sum(row["unknown"] * length for row, length in zip(drawn, lengths))
                self.assertAlmostEqual(unknown, self.column(trace, "cpus", "unknown_ns") / 1e9, places=6)
        part = rows(plots.timeline(self.trace, range=("200ms", "300ms"), parts=10))
        self.assertEqual((min(row["start_s"] for row in part), max(row["end_s"] for row in part)), (0.2, 0.3))

    def test_migrations_are_counted_once(self):
        drawn = rows(plots.migrations(self.trace))
        self.assertEqual(sum(row["migrations"] for row in drawn), self.column(self.trace, "migration_matrix", "migrations"))

    def test_shares_of_priority_classes_fill_each_column(self):
        for start, share in sums(rows(plots.priority_classes(self.sched)), "start_s", "share").items():
            self.assertAlmostEqual(share, 1, msg=start)

    def test_marks_and_regions_have_their_times(self):
        self.near(rows(plots.marks(self.trace)), self.column(self.trace, "marks", "duration_ns"), "marks")
        regions = self.trace.table("parallel_regions").to_arrow().to_pylist()
        self.near(rows(plots.parallel_regions(self.trace)), sum(row["end_ns"] - row["start_ns"] for row in regions), "regions")
        slow = sums(rows(plots.slow_intervals(self.trace)), "interval")
        of_table = {row["number"]: row["took_ns"] for row in self.trace.table("slow_intervals").to_arrow().to_pylist()}
        for interval, ms in slow.items():
            number = int(interval.split("#")[1].split()[0])
            self.assertAlmostEqual(ms / (of_table[number] / 1e6), 1, places=2, msg=interval)

    def test_periods_have_mean_times(self):
        trace = corewise.open(LISA)
        drawn = rows(plots.periods(trace))
        table = {row["thread_name"]: row for row in trace.table("interval_sums").to_arrow().to_pylist() if row["kind"] == "period"}
        self.assertGreater(len(table), 1)
        for thread, ms in sums(drawn, "thread").items():
            self.assertAlmostEqual(ms / (table[thread]["took_ns"] / table[thread]["count"] / 1e6), 1, places=2)
        self.assertTrue(all(row["period_ms"] > 0 and row["count"] == table[row["thread"]]["count"] for row in drawn))

    def test_requests_have_mean_times(self):
        row = {"kind": "request", "thread": 3, "thread_name": "server", "count": 4, "took_ns": 8_000_000, "before_ns": 1_000_000, "period_ns": None}
        row |= {"late": None, "running_ns": 5_000_000, "ready_ns": 2_000_000, "blocked_ns": 0, "unknown_ns": 0}
        drawn = rows(plots.requests(Rows(interval_sums=[row, {**row, "kind": "period"}])))
        self.assertEqual([(of["state"], of["ms"]) for of in drawn], [("queued", 0.25), ("running", 1.25), ("ready", 0.5)])

    def test_priorities_are_those_of_special_threads(self):
        drawn = rows(plots.priorities(self.sched))
        self.assertEqual({row["priority"] for row in drawn}, {"0", "139"})
        special = [row for row in self.sched.table("priority_residency").to_arrow().to_pylist() if row["prio"] not in (None, 120)]
        self.near(drawn, sum(row["running_ns"] for row in special))

    def test_idle_states_and_busy_time_are_all_time(self):
        trace = corewise.open(str(FIXTURES / "trace_dat/v7-zstd.dat"))
        drawn = rows(plots.idle_states(trace))
        self.near(drawn, self.column(trace, "cpus", "busy_ns", "idle_ns", "unknown_ns"))
        self.assertIn("idle state 1", {row["state"] for row in drawn})

    def test_samples_are_counted_once(self):
        trace = corewise.open(str(FIXTURES / "perf_data/profile.data"))
        for of in [trace, self.trace]:
            count = self.column(of, "samples", "self_samples")
            self.assertEqual(sum(row["samples"] for row in rows(plots.samples(of, top=1000))), count)
            boxes = max(layers(plots.flame(of)), key=len)
            threads = [row for row in boxes if row["depth"] == 0]
            self.assertEqual(sum(row["samples"] for row in threads), count)
            for row in boxes:
                self.assertTrue(0 <= row["from"] < row["to"] <= 1, row)
                inside = lambda below: below["depth"] == row["depth"] - 1 and below["from"] <= row["from"] and row["to"] <= below["to"]
                self.assertTrue(row["depth"] == 0 or any(inside(below) for below in boxes), row)

    def test_power_is_divided_among_parts_that_a_domain_contains(self):
        domain = lambda name, part, parent, watts, same_as=None: {
            "domain": name, "part": part, "parent": parent, "watts": watts, "same_as": same_as, "joules": watts * 10 if watts else None
        }  # fmt: skip
        energy = [
            domain("package-0", "package", None, 20.0),
            domain("core", "core", "package-0", 12.0),
            domain("dram", "dram", "package-0", 4.0),
            domain("by the PMU", "package", None, 20.1, "package-0"),
            domain("BAT0", "battery", None, None),
        ]
        drawn = rows(plots.energy(Rows(energy=energy)))
        parts = {(row["domain"], row["part"]): row["watts"] for row in drawn}
        rest = "rest, or not divided"
        self.assertEqual(parts, {("package-0", "core"): 12.0, ("package-0", rest): 8.0, ("dram", rest): 4.0})
        seconds = [{"start_ns": at * 10**9, "end_ns": (at + 1) * 10**9, "watts": None if at == 1 else 5.0} for at in range(3)]
        over_time = [{"domain": name, **second} for name in ("package-0", "by the PMU") for second in seconds]
        drawn = rows(plots.power(Rows(energy=energy, power_over_time=over_time)))
        self.assertEqual([(row["domain"], row["start_s"], row["watts"]) for row in drawn], [("package-0", float(at), [5.0, None, 5.0][at]) for at in range(3)])

    def test_speeds_are_those_of_all_siblings(self):
        row = {"thread": 1, "thread_name": "game", "tid": 7, "ipc": 1.5, "effective_mhz": 3000.0, "doubt": None, "enabled_ns": 9}
        table = [
            {**row, "core_type": "efficient", "sibling": "all", "mips": 2000.0},
            {**row, "core_type": "efficient", "sibling": "busy", "mips": 1000.0},
            {**row, "core_type": "performance", "sibling": "all", "mips": 4500.0},
            {**row, "core_type": "performance", "sibling": "all", "mips": None, "thread": 2},
        ]
        drawn = rows(plots.counters(Rows(thread_ipc=table)))
        self.assertEqual([(row["thread"], row["mips"]) for row in drawn], [("game 7, performance", 4500.0), ("game 7, efficient", 2000.0)])

    def test_parked_cpus(self):
        together = [{"core_type": of, "parked": parked, "unknown": 0, "duration_ns": 10**8} for of in (None, "uniform") for parked in (0, 2)]
        drawn = rows(plots.parking(Rows(parked_together=together)))
        self.assertEqual([(row["parked"], row["ms"]) for row in drawn], [("0", 100.0), ("2", 100.0)])
        # A mean above the 95th percentile: no part is negative.
        frames = [{"name": "frame", "parked": 2, "unknown": 0, "mean_ns": 9 * 10**6, "p95_ns": 8 * 10**6, "longest_ns": 50 * 10**6, "frames": 100}]
        drawn = rows(plots.frames_parked(Rows(frames_parked=frames)))
        self.assertEqual([(row["part"], row["ms"]) for row in drawn], [("mean", 9.0), ("up to the longest", 41.0)])


if __name__ == "__main__":
    unittest.main()
