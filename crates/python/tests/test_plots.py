"""The plots: what they draw is what the tables have, both themes, pictures without a browser, and what they say without data."""

import doctest
import pathlib
import re
import struct
import tempfile
import unittest

import corewise
from corewise import plots
from corewise.plots import _frames, _threads
from recordings import FIXTURES, ROOT, SCHED, copied_runs

FRAME_LOG = str(FIXTURES / "present_mon/v1.csv")
NOT_OF_TRACES = {"comparison", "themed", "use"}
OF_TRACES = [name for name in plots.__all__ if name not in NOT_OF_TRACES]
# What the simulated runs have no data for; test_plot_sums draws it.
NOT_OF_RUNS = {"counters", "energy", "frames_parked", "idle_states", "parking", "periods", "power", "priorities", "requests"}


def layers(chart):
    """The data of each layer of a plot."""
    of = chart.to_dict()
    named = of.get("datasets", {})
    for layer in [of, *of.get("layer", [])]:
        data = layer.get("data", {})
        if "values" in data:
            yield data["values"]
        elif "name" in data:
            yield named[data["name"]]


def rows(chart):
    return max(layers(chart), key=len)


class Plots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        runs = copied_runs(cls)
        cls.trace = corewise.open(runs / "before-1.cw")
        cls.sched = corewise.open(SCHED)
        sides = ([str(runs / f"{side}-{run}.cw") for run in range(1, 5)] for side in ("before", "after"))
        cls.comparison = corewise.compare(*sides)

    def test_the_examples_run(self):
        done = doctest.testmod(plots, extraglobs={"TRACE": SCHED, "corewise": corewise})
        self.assertEqual(done.failed, 0)
        self.assertGreater(done.attempted, 2)

    def test_all_plots_are_documented(self):
        for name in plots.__all__:
            self.assertTrue(getattr(plots, name).__doc__, name)
        page = (ROOT / "docs/python.md").read_text()
        for name in [*OF_TRACES, "comparison"]:
            self.assertIn(f"`{name}(", page)

    def test_each_section_of_the_report_with_a_picture_has_a_plot(self):
        drawn = set()
        for path in (ROOT / "crates/report/src/sections").glob("*.rs"):
            if re.search(r"page\.picture\(|intervals::head\(", path.read_text()):
                drawn.add(path.stem)
        self.assertGreater(len(drawn), 15)
        self.assertEqual({"idle_periods" if name == "idle" else name for name in drawn} - set(OF_TRACES), set())

    def test_each_plot_becomes_a_picture_in_both_themes(self):
        made = {name: lambda theme, name=name: getattr(plots, name)(self.trace, theme=theme) for name in OF_TRACES if name not in NOT_OF_RUNS}
        made["comparison"] = lambda theme: plots.comparison(self.comparison, theme=theme)
        for name, make in made.items():
            for theme in ["light", "dark"]:
                with self.subTest(f"{name} {theme}"), tempfile.TemporaryDirectory() as folder:
                    path = pathlib.Path(folder, "plot.png")
                    make(theme).save(str(path))
                    data = path.read_bytes()
                    width, height = struct.unpack(">II", data[16:24])
                    self.assertTrue(200 < width < 1400 and 90 < height < 1000, (width, height))

    def test_plots_without_a_theme_can_be_combined(self):
        both = plots.thread_time(self.trace, theme=None) & plots.frames(self.trace, theme=None)
        self.assertEqual(plots.themed(both, "dark").to_dict()["config"]["background"], "#14181d")
        with self.assertRaisesRegex(corewise.Error, "there is no theme pink"):
            plots.use("pink")

    def test_ready_latency_counts_every_wait(self):
        drawn = rows(plots.ready_latency(self.sched))
        states = self.sched.table("thread_state", names=False).to_arrow().to_pylist()
        lengths = [row["end_ns"] - row["start_ns"] for row in states if row["state"] == "ready"]
        self.assertGreater(len(lengths), 0)
        self.assertEqual(sum(row["waits"] for row in drawn), len(lengths))
        for row in drawn:
            within = [of for of in lengths if row["from_us"] * 1000 <= of < row["to_us"] * 1000]
            self.assertEqual(row["waits"], len(within), row)
            self.assertAlmostEqual(row["ms"], sum(within) / 1e6)

    def test_lengths_at_powers_of_two_are_in_the_right_bar(self):
        import pyarrow

        ends = [999, 1000, 1999, 2000, *(2**power * 1000 + more for power in range(2, 45) for more in (-1, 0))]
        batch = pyarrow.table({"state": ["ready"] * len(ends), "start_ns": [0] * len(ends), "end_ns": ends}).to_batches()[0]
        counts = {power: count for power, count, _ in _threads._by_length(batch)}
        self.assertEqual(counts, {0: 1, **dict.fromkeys(range(1, 45), 2), 45: 1})

    def test_bars_of_threads_sum_to_their_lifetimes(self):
        drawn = rows(plots.thread_time(self.sched, top=1000))
        threads = self.sched.table("threads").to_arrow().to_pylist()
        times = ("running_ns", "ready_ns", "blocked_ns", "unknown_ns")
        whole = sum(sum(row[time] or 0 for time in times) for row in threads if row["running_ns"] + (row["ready_ns"] or 0) > 0) / 1e6
        # Invisible parts are left out: at most a thousandth of the longest bar each.
        self.assertAlmostEqual(sum(row["ms"] for row in drawn) / whole, 1, places=2)

    def test_shares_of_core_types_sum_to_one(self):
        sums = {}
        for row in rows(plots.core_types(self.trace)):
            sums[row["thread"]] = sums.get(row["thread"], 0) + row["share"]
        self.assertGreater(len(sums), 5)
        for thread, of in sums.items():
            self.assertAlmostEqual(of, 1, msg=thread)
        # The fault of these runs: the main thread was on efficient cores.
        main = {row["core_type"]: row["share"] for row in rows(plots.core_types(self.trace)) if row["thread"] == "main 1000"}
        self.assertGreater(main["efficient"], 0.4)

    def test_the_slowest_frames_are_marked_with_their_cause(self):
        drawn = rows(plots.frames(self.trace))
        slow = {row["start_ns"]: row["frame_ns"] for row in self.trace.table("slow_frames").to_arrow().to_pylist()}
        self.assertEqual({row["start_s"] for row in drawn if row["slow"]}, {start / 1e9 for start in slow})
        longest = max(drawn, key=lambda row: row["ms"])
        self.assertEqual((longest["ms"], longest["slow"], longest["cause"]), (max(slow.values()) / 1e6, True, "running on efficient"))
        self.assertEqual(len(drawn), self.trace.frames.sources[0].count)

    def test_a_frame_log_has_frames_without_threads(self):
        drawn = rows(plots.frames(corewise.open(FRAME_LOG)))
        self.assertGreater(len(drawn), 2)

    def test_long_recordings_keep_their_longest_frames(self):
        many = [{"start_s": at / 100, "ms": 50.0 if at == 7777 else 10.0} for at in range(20_000)]
        thin = _frames._thinned(many, 5000)
        self.assertLessEqual(len(thin), 5000)
        self.assertIn(many[7777], thin)

    def test_idle_time_is_that_of_the_cpus(self):
        for trace in [self.trace, self.sched]:
            drawn = rows(plots.idle_periods(trace))
            self.assertAlmostEqual(sum(row["ms"] for row in drawn), sum(trace.table("cpus")["idle_ns"]) / 1e6, places=6)
            periods = sum(trace.table("idle_wakeups")["periods"])
            self.assertEqual(sum(row["periods"] for row in rows(plots.idle_ends(trace, top=1000))), periods)

    def test_effects_are_those_of_the_comparison(self):
        drawn = rows(plots.comparison(self.comparison, top=1000))
        effect = self.comparison.objective["effect"]
        self.assertAlmostEqual(drawn[0]["percent"], (effect["estimate"] - 1) * 100)
        self.assertLess(drawn[0]["low"], drawn[0]["percent"])
        self.assertEqual(drawn[0]["verdict"], "better")
        names = [row["metric"] for row in drawn]
        self.assertEqual(len(names), len(set(names)), "each has a line of its own")

    def test_without_data_they_say_what_is_missing(self):
        log = corewise.open(FRAME_LOG)
        for call, expected in [
            (lambda: plots.frames(self.sched), "has no frames"),
            (lambda: plots.slow_frames(self.sched), "has no slow frames"),
            (lambda: plots.ready_latency(log), "has no ready time"),
            (lambda: plots.thread_time(log), "no thread ran"),
            (lambda: plots.core_types(log), "no thread ran"),
            (lambda: plots.idle_periods(log), "no CPU was idle"),
            (lambda: plots.idle_ends(log), "was not recorded"),
            (lambda: plots.concurrency(log), "not recorded"),
        ]:
            with self.assertRaisesRegex(corewise.Error, expected) as caught:
                call()
            self.assertEqual(len(str(caught.exception).splitlines()), 1)
        # Every other one says so too, and none fails in another way.
        for name in set(OF_TRACES) - {"frames", "concurrency_bands"}:
            with self.assertRaises(corewise.Error, msg=name) as caught:
                getattr(plots, name)(log)
            self.assertTrue(str(caught.exception).startswith(FRAME_LOG), name)
        for name in NOT_OF_RUNS:
            with self.assertRaises(corewise.Error, msg=name):
                getattr(plots, name)(self.trace)


if __name__ == "__main__":
    unittest.main()
