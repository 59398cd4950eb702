"""Tests of bench_peers.py's calculations, without peers."""

import unittest
from unittest import mock

import bench_peers as peers


def judged(theirs, ours, whole=(), explained=()):
    rounds = peers.Rounds(list(theirs), list(ours), list(whole), list(explained), [2.0] * len(whole), [0.4] * len(whole))
    cells, well = peers.judged(rounds)
    return cells[-1], well


class Judgements(unittest.TestCase):
    def test_medians_within_a_tenth_agree(self):
        self.assertEqual(judged([1000, 1010, 5000], [1090, 1100, 1080]), ("agreed", True))
        self.assertEqual(judged([1000, 1000, 1000], [1110, 1110, 1110]), ("NOT EXPLAINED", False))

    def test_another_quantity_is_explained_by_its_measured_parts_only(self):
        self.assertEqual(judged([1000], [500], [100_000], [95_000]), ("explained", True))
        self.assertEqual(judged([1000], [500], [100_000], [85_000]), ("NOT EXPLAINED", False))

    def test_a_peer_without_a_figure_is_wrong(self):
        self.assertEqual(judged([], []), ("no figure", False))

    def test_the_address_space_is_what_processes_take_more_a_switch(self):
        runs = {peers.PERF_PROCESSES: (2600, 2), peers.PERF_THREADS: (4000, 4)}
        self.assertEqual(peers.address_space(runs), 300)
        self.assertEqual(peers.address_space({}), 0)

    def test_a_run_is_the_cpu_time_less_that_of_an_empty_one(self):
        peer = peers.Peer("x", ["many"], None, "switch", None, [0], 100, ("one",))
        seen = {"many": iter([("", 900, 20), ("", 5000, 20), ("", 1100, 20), ("", 1000, 20), ("", 800, 20)]), "one": iter([("", 100, 10)] * 5)}
        with mock.patch.object(peers, "started", lambda command, _: next(seen[command[0]])):
            self.assertEqual(peers.run(peer), (900, 10))

    def test_the_median_lies_within_its_microsecond(self):
        self.assertEqual(peers.median_of_histogram("# Histogram\n000019 000010\n000020 000020\n000021 000010\n# Total: 40\n"), 20_500)
        self.assertIsNone(peers.median_of_histogram("Max CPUs = 2"))

    def test_core_to_core_latency_is_read(self):
        self.assertEqual(peers.number(r"Mean latency: ([\d.]+)", 1)("    Mean latency: 44.5ns"), 44.5)
        self.assertIsNone(peers.number(r"Mean latency: ([\d.]+)", 1)("nothing"))


if __name__ == "__main__":
    unittest.main()
