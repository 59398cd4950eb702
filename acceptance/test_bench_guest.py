"""Tests of bench_guest.py's judgements, without guests."""

import contextlib
import io
import unittest
from unittest import mock

import bench_guest as bench


def cost(figure, low, value, high, cpus=(0, 1), **parameters):
    return {"figure": figure, "cpus": list(cpus), "core_types": ["uniform"] * len(cpus), "parameters": parameters, "low": low, "value": value,
            "high": high, "repetitions": 10, "disturbed": 0, "misplaced": 0}


def run(probe, notes=(), placement=True, **changed):
    placed = {"threads": 8, "as_expected": 8, "moves_requested": 4, "moves_found": 4, "missing": 0, "differences": []} | changed
    return {"probe": probe, "notes": list(notes), "lacks": [], "placement": placed if placement else None, "disturbed_share": 0.1}


def makespan(name, low, value, high):
    schedule, _, chunks = name.partition(" ")
    return cost("makespan", low * 1e6, value * 1e6, high * 1e6, schedule=schedule, chunks=chunks or "2")


RANKED = "schedules, fastest first: dynamic 128, guided, dynamic 1024 (7.00 to 7.20 ms, which do not differ); affinity, static (12.00 to 12.10 ms, "
SPANS = [makespan("dynamic 128", 6.9, 7, 7.2), makespan("guided", 7, 7.1, 7.3), makespan("dynamic 1024", 7.1, 7.2, 7.4),
         makespan("affinity", 11.5, 12, 12.5), makespan("static", 11.6, 12.1, 12.6)]
SWAPPED = "the machine description has its core types swapped: CPUs 1 are called performance but are 0.42 times as fast as CPUs 0"


def quota(ratio=0.42, spans=tuple(SPANS), ranked=RANKED + "which do not differ)", swapped=SWAPPED, **changed):
    speeds = [cost("speed", 1 / ratio, 1 / ratio, 1 / ratio, kernel=kernel) for kernel in [*bench.COMPUTE, "stream"]]
    out = {"warnings": ["this machine is emulated: times of an emulator mean nothing"], "runs": [run("speed", [swapped]), run("chunks", [ranked], **changed)],
           "probes": [{"probe": "speed", "costs": speeds}, {"probe": "chunks", "costs": list(spans)}]}
    return bench.judge_quota(out)


class Judgements(unittest.TestCase):
    def setUp(self):
        quiet = contextlib.redirect_stdout(io.StringIO())
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        tables = mock.patch("corewise.print_table")
        tables.start()
        self.addCleanup(tables.stop)

    def test_what_is_required_of_a_slowed_cpu_is_met(self):
        self.assertEqual(quota(), [])
        self.assertEqual(quota(0.46), [])

    def test_a_wrong_ratio_is_short(self):
        self.assertEqual(quota(0.47), ["the ratio is 0.470, not 0.42 within 10 %"])
        self.assertEqual(len(quota(0.37)), 1)

    def test_core_types_that_are_not_called_swapped_are_short(self):
        self.assertEqual(quota(swapped="each core type was measured"), ["speed does not say that the core types are swapped"])

    def test_another_order_than_the_measured_one_is_short(self):
        self.assertIn("the ranking is not the measured one", quota(ranked=RANKED.replace("128, guided", "128; guided"))[0])
        self.assertIn("the ranking is not the measured one", quota(ranked="")[0])

    def test_many_chunks_that_are_not_faster_are_short(self):
        spans = [*SPANS[:2], makespan("dynamic 1024", 7.1, 7.2, 11.6), *SPANS[3:]]
        self.assertEqual(quota(spans=spans), [f"dynamic 1024 is not faster than {one} with disjoint intervals" for one in ("affinity", "static")])

    def test_a_thread_elsewhere_or_unseen_is_short(self):
        def fails(**changed):
            out = {"warnings": ["times of an emulator mean nothing"], "runs": [run("speed", **changed)],
                   "probes": [{"probe": "speed", "costs": [cost("speed", 1, 1, 1)]}]}
            return bench.judge_run(out, ["speed"])
        self.assertEqual(fails(), [])
        self.assertIn("1 threads elsewhere", fails(as_expected=7)[0])
        self.assertIn("1 not in the recording", fails(missing=1)[0])
        self.assertIn("3 of 4 moves", fails(moves_found=3)[0])
        self.assertIn("not verified", fails(placement=False)[0])

    def test_pairs_are_compared_with_their_class(self):
        wanted = lambda a, b: "same_cpu" if a == b else "sibling" if a // 2 == b // 2 else None
        self.assertEqual(bench.judge_classes({(0, 0): {"same_cpu"}, (0, 1): {"sibling"}, (0, 2): {"same_l3"}}, wanted), [])
        self.assertEqual(len(bench.judge_classes({(0, 1): {"same_cluster"}, (1, 2): {"sibling"}, (2, 3): {"sibling"}}, wanted)), 2)


if __name__ == "__main__":
    unittest.main()
