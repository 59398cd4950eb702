"""Tests of the scripts' own calculations, without corewise, perf or privileges."""

import contextlib
import json
import random
import struct
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import corewise
import hostile
import measured
import perf_data
import pipe_cost
import preempted_or_yielded
import referee
import switch_events
import two_tools
import with_costs

sys.path.insert(0, str(Path(__file__).resolve().parent / "compare"))
import judge  # noqa: E402
import record  # noqa: E402


def instance(tid, running, max_ready=0):
    return dict.fromkeys(referee.SUMS, 0) | {"tid": tid, "running_ns": running, "max_ready_ns": max_ready}


def seen(running, broken=0):
    return {
        "threads": [instance(7, running - 1, 4), instance(7, 1, 9)],
        "cpus": [{"cpu": 0, "busy_ns": running, "idle_ns": 0, "unknown_ns": 0}],
        "thread_by_cpu": [{"tid": 7, "cpu": 0, "running_ns": running}],
        "concurrency": [{"running": 1, "unknown": 0, "duration_ns": running}],
        "check": {"broken": broken, "unwoken": 0, "residuals": {}},
    }


ORACLE = {
    "begin_ns": 0, "end_ns": 10, "broken": 0, "unwoken": 0, "unparsed": {},
    "threads": [dict.fromkeys(referee.SUMS, 0) | {"tid": 7, "running_ns": 10, "max_ready_ns": 9, "running_ns_by_cpu": {"0": 10}}],
    "cpus": {"0": {"busy_ns": 10, "idle_ns": 0, "unknown_ns": 0}},
    "concurrency": [{"running": 1, "unknown": 0, "duration_ns": 10}],
}


class Slices:
    """The slices of a recording on CPU 1, all of whose time is known from its begin on."""

    def __init__(self, begin, slices):
        self.known = {1: [(begin, slices[-1][1])]}
        self.running = {1: slices}


class WithCosts(unittest.TestCase):
    # Hand-written findings of a hand-written table in which a switch costs half of what is assumed: no measurement.
    @staticmethod
    def finding(rule, tid, ms, high):
        return {(rule, (tid,)): {"rule": rule, "recoverable_ns": int(ms * 1e6), "range_ns": [0, int(high * 1e6)]}}

    def test_only_findings_with_other_times_changed(self):
        same = self.finding("lock-convoy", 1, 3, 4)
        without = same | self.finding("preemption-rate", 2, 4, 4) | self.finding("wakeup-storm", 3, 1, 1)
        with_table = same | self.finding("preemption-rate", 2, 2, 3) | self.finding("preemption-rate", 9, 1, 1)
        self.assertEqual(
            with_costs.changes(without, with_table),
            [
                ("preemption-rate", 4, 2, [0, 4], [0, 3]),
                ("preemption-rate", None, 1, None, [0, 1]),
                ("wakeup-storm", 1, None, [0, 1], None),
            ],
        )

    def test_the_table_has_sums_and_ratios_by_rule(self):
        changed = [("preemption-rate", 4, 2, [0, 4], [0, 3]), ("preemption-rate", None, 1, None, [0, 1])]
        rows = with_costs.rows({"preemption-rate": changed}, {"preemption-rate": 5})
        self.assertEqual(rows[2:], ["| preemption-rate | 5 | 1 | 1 | 0 | 4.000 | 3.000 | 0.500 |"])

    def test_traces_are_taken_in_equal_steps(self):
        with tempfile.TemporaryDirectory() as folder:
            for n in range(5):
                of = Path(folder) / "lot" / f"{n}.cw"
                of.mkdir(parents=True)
                (of / "manifest.json").write_text('{"machine": {"costs": {}}}' if n == 0 else '{"machine": {}}')
            found = with_costs.traces([folder], 3)
            self.assertEqual([path.name for path in found], ["0.cw", "2.cw", "4.cw"])
            self.assertEqual([with_costs.has_costs(path) for path in found], [True, False, False])
            self.assertEqual(with_costs.traces([found[0]], 9), [found[0]])


class TwoTools(unittest.TestCase):
    # As recorded: the first tool begins 85 ns before a switch; the other tool's timestamp of it is 90 ns before that
    # begin.
    OURS = [(840767, 840852, 5), (840852, 882424, 7), (882424, 1193850, 5), (1193850, 1230622, 7), (1230622, 1361604, 5),
            (1361604, 1400156, 7), (1400156, 1500000, 5), (1500000, 1600000, 7)]
    THEIRS = [(648814, 840677, 5), (840677, 882301, 7), (882301, 1193641, 5), (1193641, 1230509, 7), (1230509, 1361421, 5),
              (1361421, 1400028, 7), (1400028, 1499900, 5), (1499900, 1599900, 7)]

    def pair(self, ours, theirs):
        return two_tools.pair(Slices(840767, ours), Slices(640000, theirs))[:2]

    def test_a_begin_right_before_a_switch_is_no_difference(self):
        self.assertEqual(self.pair(self.OURS, self.THEIRS), (5, 0))

    def test_another_thread_in_between_is_a_difference(self):
        other = [*self.THEIRS[:4], (1230509, 1361421, 9), *self.THEIRS[5:]]
        self.assertGreater(self.pair(self.OURS, other)[1], 0)


class Referee(unittest.TestCase):
    def test_instances_of_a_tid_add_up(self):
        self.assertEqual(referee.differences(ORACLE, seen(10)), [])

    def test_a_nanosecond_is_a_difference(self):
        wrong = referee.differences(ORACLE, seen(9))
        self.assertIn("thread 7 running_ns: corewise 9, referee 10", wrong)
        self.assertIn("CPU 0 busy_ns: corewise 9, referee 10", wrong)
        self.assertIn("concurrency (1, 0): corewise 9, referee 10", wrong)

    def test_a_count_is_a_difference(self):
        self.assertEqual(referee.differences(ORACLE, seen(10, broken=1)), ["broken: corewise 1, referee 0"])


class Corewise(unittest.TestCase):
    def test_json_in_either_form(self):
        self.assertEqual(corewise.rows_of('[{"a": 1}, {"a": 2}]'), corewise.rows_of('{"a": 1}\n{"a": 2}\n'))

    def test_residuals_in_either_form(self):
        self.assertEqual(corewise.residuals_of({"residuals": {"cpu": 0}}), {"cpu": 0})
        self.assertEqual(corewise.residuals_of({"residuals": [{"law": "cpu", "residual": 3}]}), {"cpu": 3})


class Hostile(unittest.TestCase):
    def test_cuts_are_all_shorter(self):
        whole = bytes(10_000)
        lengths = [len(content) for _, content in hostile.cuts(whole, 200)]
        self.assertEqual((len(lengths), min(lengths), max(lengths)), (200, 0, 9_999))

    def test_flips_change_and_keep_the_length(self):
        whole = bytes(5_000)
        for _, content in hostile.flips(whole, 20, seed=1):
            self.assertEqual(len(content), 5_000)
            self.assertNotEqual(content, whole)

    def test_verdicts(self):
        def one(exit, out="", err="", stopped=""):
            return measured.Measured(exit, 0, 0, 0, 0, stopped, out, err)

        self.assertEqual(hostile.judge(one(0, "the file is cut off")), "losses named")
        self.assertEqual(hostile.judge(one(1, err="error: no perf.data at byte 0")), "error with offset")
        self.assertEqual(hostile.judge(one(1, err="error: no")), "error without")
        self.assertEqual(hostile.judge(one(101, err="thread main panicked at")), "panic")
        self.assertEqual(hostile.judge(one(-9, stopped="over 20 s")), "hang or memory")


class SwitchEvents(unittest.TestCase):
    def test_lines_of_all_three_forms(self):
        wide = switch_events.LINE.match(
            "    my perf 22081/22083 [001]  2214.572395922: PERF_RECORD_SWITCH_CPU_WIDE OUT preempt  next pid/tid: 1/1")
        self.assertEqual((wide["tid"], wide["cpu"], wide["way"], bool(wide["preempt"])), ("22083", "001", "OUT", True))
        thread = switch_events.LINE.match(" sched-messaging 22142/22176 [-01]  2219.112604919: PERF_RECORD_SWITCH IN         ")
        self.assertEqual((thread["cpu"], thread["way"], thread["preempt"]), ("-01", "IN", None))


class Small(unittest.TestCase):
    def test_the_benchmark_s_own_seconds(self):
        self.assertEqual(pipe_cost.seconds_of("     Total time: 1.670 [sec]\n"), 1.67)

    def test_yields_by_ftrace(self):
        switch = "sched_switch: prev_comm=y prev_pid={} prev_prio=120 prev_state={} ==> next_comm=e next_pid=9 next_prio=120"
        lines = [(1, "sys_sched_yield()"), (2, switch.format(7, "R")), (3, switch.format(7, "R")), (4, "sys_sched_yield()"),
                 (5, "sys_sched_yield -> 0x0"), (6, switch.format(7, "R")), (7, switch.format(7, "S")), (8, "sys_sched_yield()"),
                 (9, switch.format(7, "R+"))]
        text = "".join(f"     y-7       [001] d..2.   1.{us:06}: {rest}\n" for us, rest in lines)
        outs, calls, names = preempted_or_yielded.truth(text)
        # After its switch-out the thread returns from the call: the next one is a preemption.
        wanted = [(2, "yielded", "R"), (3, "preempted", "R"), (6, "preempted", "R"), (9, "preempted", "R+")]
        self.assertEqual([(at - 10**6, *rest) for at, *rest in outs[7]], wanted)
        self.assertEqual((calls[7], names[7]), (3, "y"))

    def test_pairs_by_time(self):
        true = [(100, "yielded", "R"), (300, "preempted", "R"), (900, "preempted", "R")]
        counts, missing = preempted_or_yielded.pair(true, [(20, "yielded"), (101, "yielded"), (320, "left_runnable"), (700, "preempted")])
        self.assertEqual(counts, {("yielded", "yielded"): 1, ("preempted", "left_runnable"): 1})
        self.assertEqual(missing, 1)

    def test_median(self):
        self.assertEqual((measured.median([3, 1, 2]), measured.median([4, 1, 2, 3])), (2, 2.5))

    def test_measured(self):
        one = measured.run(["sh", "-c", "echo out; echo err >&2; exit 3"], keep_output=True)
        self.assertEqual((one.exit, one.out, one.err, one.stopped), (3, "out\n", "err\n", ""))
        self.assertEqual(measured.run(["sleep", "5"], timeout_s=0.05).stopped, "over 0.05 s")

    def test_lost_records_are_counted(self):
        records = struct.pack("<IHHQQ", perf_data.LOST, 0, 24, 1, 5) + struct.pack("<IHHQ", perf_data.LOST_SAMPLES, 0, 16, 2)
        header = b"PERFILE2" + struct.pack("<QQQQQQ", 104, 0, 0, 0, 104, len(records)).ljust(96, b"\0")
        with tempfile.TemporaryDirectory() as tmp:
            path = Path(tmp) / "lost.data"
            path.write_bytes(header + records)
            self.assertEqual(perf_data.counts(path)["lost"], 7)

    def test_compared_runs_are_the_kept_ones_in_pairs(self):
        rows = [{"round": nth, "attempt": 0, "kept": nth != 1, "label": label, "path": f"{label}-{nth}.cw", "wall_ns": 10 + nth}
                for nth in (2, 0, 1) for label in "BA"]
        rows += [{**row, "attempt": 1, "kept": True, "wall_ns": 99} for row in rows if row["round"] == 1]
        with in_folder("busy", rows):
            rounds = judge.rounds_of("busy")
            draws = judge.aa_draws(["busy"], 1)
        self.assertEqual([[one[label]["wall_ns"] for label in "AB"] for one in rounds], [[10, 10], [99, 99], [12, 12]])
        # Three pairs have two blocks of two and one of three; each is drawn once a turn.
        self.assertEqual({draw["runs"] for draw in draws}, {2, 3})
        for draw in draws:
            self.assertEqual([row["round"] for row in draw["a"]], [row["round"] for row in draw["b"]])
            self.assertEqual({row["label"] for row in draw["b"]}, {"B"})

    def test_true_changes_of_a_comparison(self):
        rows = [{"round": nth, "kept": True, "label": label, "path": None, "wall_ns": wall}
                for nth in range(3) for label, wall in (("base", 100 + nth), ("work5", 202 + 2 * nth))]
        with in_folder("power-busy", rows):
            self.assertEqual(judge.truths("busy", "work5", "elapsed"), {"nominal": 1.05, "bare": None, "all": 204 / 101})
            self.assertEqual(judge.truths("busy", "work5", "period:loads.mean"), {"nominal": None, "bare": None, "all": None})

    def test_disturbed_rounds_are_repeated_at_most_twice(self):
        # Round 0 is disturbed once, by steal; round 1 always, by other programs.
        other = iter([(0, 0), (0.2, 0), (0, 0)] + [(0, 0.04)] * 2 + [(0, 0.06)] * 20)
        made = []

        def once(label, _load, path):
            made.append(path and path.name)
            steal, others = next(other)
            return {"label": label, "path": path and path.name, "wall_ns": 1000, "cpu_s": 1.0, "steal_s": steal, "other_s": others}

        with in_folder("busy", []), mock.patch.object(record, "once", once), mock.patch("builtins.print"):
            record.record("aa", "busy", {"A": "busy", "B": "busy"}, 2, record.Lock(None), random.Random(1))
            rows = json.loads((record.OUT / "busy/index.json").read_text())
        self.assertEqual([(row["round"], row["attempt"], row["kept"]) for row in rows[::2]],
                         [(0, 0, False), (0, 1, True), (1, 0, False), (1, 1, False), (1, 2, True)])
        self.assertEqual(made[0], None)

    def test_verdicts_of_compare_decide(self):
        def verdicts(changed, same):
            return [{"name": "busy", "kind": kind, "runs": 10, "found": {"verdict": verdict, "interval": [0.99, 1.01]}}
                    for kind, verdict in [("any", "changed")] * changed + [("any", "same")] * (25 - changed) + [("ten", "same")] * same
                    + [("ten", "unknown")] * (10 - same)]

        with in_folder("busy", []), mock.patch("builtins.print"):
            self.assertEqual([judge.judge_aa(verdicts(*of)) for of in [(2, 8), (3, 8), (2, 7)]], [0, 1, 1])


@contextlib.contextmanager
def in_folder(name, rows):
    """Makes recordings' index the only one."""
    with tempfile.TemporaryDirectory() as tmp, mock.patch.object(record, "OUT", Path(tmp)):
        (Path(tmp) / name).mkdir()
        if rows:
            (Path(tmp) / name / "index.json").write_text(json.dumps(rows))
        yield


if __name__ == "__main__":
    unittest.main()
