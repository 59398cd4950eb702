"""Tests of watch_guest.py's own calculations, without a guest."""

import unittest

import watch_guest
import watch_truth

TEXT = r"""# HELP corewise_cpu_idle_seconds_total Time.
# TYPE corewise_cpu_idle_seconds_total counter
corewise_cpu_idle_seconds_total{cpu="0",core_type="uniform"} 1.5
corewise_cpu_idle_seconds_total{cpu="1",core_type="uniform"} 2.000000001
# TYPE corewise_cpu_online gauge
corewise_cpu_online{cpu="1"} 0
# TYPE corewise_run_length_seconds histogram
corewise_run_length_seconds_bucket{le="0.5",group="a \"b\", c"} 7
corewise_run_length_seconds_count{group="a \"b\", c"} 9
"""


class Scrape(unittest.TestCase):
    def test_series_are_added_up_by_their_labels(self):
        scrape = watch_guest.Scrape(TEXT)
        self.assertEqual(scrape.ns("corewise_cpu_idle_seconds_total", core_type="uniform"), 3_500_000_001)
        self.assertEqual(scrape.ns("corewise_cpu_idle_seconds_total", cpu="1"), 2_000_000_001)
        self.assertEqual(scrape.sum("corewise_cpu_idle_seconds_total", cpu="2"), 0)
        self.assertEqual(scrape.values("corewise_run_length_seconds_bucket", "group"), [r'a \"b\", c'])

    def test_what_may_fall_is_no_counter(self):
        scrape = watch_guest.Scrape(TEXT)
        names = sorted({name for name, _ in scrape.series if scrape.is_counter(name)})
        self.assertEqual(names, ["corewise_cpu_idle_seconds_total", "corewise_run_length_seconds_bucket", "corewise_run_length_seconds_count"])


class Truth(unittest.TestCase):
    def test_kernel_threads_are_kthreadd_and_its_children(self):
        stats = "1 (init) S 0 1\n2 (kthreadd) S 0 0\n15 (kworker/0:1 (x) y) I 2 0\n40 (sh) S 1 40\n"
        self.assertEqual(watch_guest.kernel_threads(stats), {2, 15})

    def test_time_is_divided_by_what_the_cpu_did(self):
        recording = watch_truth.Recording.__new__(watch_truth.Recording)
        recording.cpus = {0: [(0, 10, "same"), (10, 25, "idle"), (25, 40, "kernel")]}
        recording.siblings, recording.ran = {1: 0}, [(1, 5, 30), (0, 0, 10)]
        parts = recording.by_kind([(0, 5, 30), (7, 0, 3)])
        self.assertEqual(parts, {"same": 5, "other": 0, "kernel": 5, "idle": 15, "unknown": 3})
        self.assertEqual(recording.with_sibling(), 10)

    def test_sums_agree_within_a_part_of_large_ones(self):
        self.assertTrue(watch_truth.near(10_009_000_000, 10_000_000_000, 0))
        self.assertFalse(watch_truth.near(10_011_000_000, 10_000_000_000, 0))
        self.assertTrue(watch_truth.near(10_011_000_000, 10_000_000_000, 8000))
        self.assertTrue(watch_truth.near(500_900_000, 500_000_000, 0))


if __name__ == "__main__":
    unittest.main()
