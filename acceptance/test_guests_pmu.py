"""Tests of guests_pmu.py's judgements and of the device tree's edit, without guests."""

import unittest

import guests_pmu as pmu
from pmu import device_tree

TREE = """/ {
	interrupt-parent = <0x8005>;
	pcie@10000000 {
		interrupt-map = <0x00 0x00 0x00 0x01 0x8005 0x00 0x00 0x00 0x03 0x04>;
	};
	intc@8000000 {
		#interrupt-cells = <0x03>;
		interrupts = <0x01 0x09 0x04>;
		its@8080000 {
		};
	};
	pmu {
		compatible = "arm,armv8-pmuv3";
		interrupts = <0x01 0x07 0x104>;
	};
	cpus {
		cpu@0 {
			phandle = <0x8001>;
		};
		cpu@1 {
			phandle = <0x8002>;
		};
	};
};
"""


def event(name, value, running=100, user=False, of="small"):
    return {"pmu": of, "event": name, "user": user, "value": value, "enabled_ns": 100, "running_ns": running, "state": "counted"}


def row(count, state=pmu.COUNTED, running=100, low=None, high=None):
    return {pmu.COUNT: count, pmu.ENABLED: 100, pmu.RUNNING: running, pmu.STATE: state, pmu.LOW: low, pmu.HIGH: high, pmu.ESTIMATE: count}


def seen(threads, rows):
    threads = [{"tid": 7 + n, "name": f"t-{n}", "instructions": known, "only": None, "events": events} for n, (known, events) in enumerate(threads)]
    rows = {(7 + n, core_type, name): of for (n, core_type, name), of in rows.items()}
    return pmu.Seen({"pmus": [], "threads": threads}, rows, {"small": "efficient", "big": "performance"})


class Judgements(unittest.TestCase):
    def own(self, most, rows):
        both = [event("cycles", 1000), event("cycles", 0, running=0, of="big")]
        return [c.well for c in pmu.judge_own(seen([(None, both)], rows), most)]

    def test_own_events_are_compared_by_core_type(self):
        absent = {(0, "performance", "cycles"): row(None, pmu.NOT_ON_TYPE, 0)}
        self.assertEqual(self.own(0.005, absent | {(0, "efficient", "cycles"): row(1005)}), [True, True])
        self.assertEqual(self.own(0.005, absent | {(0, "efficient", "cycles"): row(1006)}), [False, True])
        self.assertEqual(self.own(0.005, absent | {(0, "efficient", "cycles"): row(994)}), [False, True])

    def test_a_missing_row_falls_short(self):
        self.assertEqual(self.own(0.01, {}), [False, False])

    def test_on_another_type_there_is_no_count_and_the_state_says_so(self):
        own = {(0, "efficient", "cycles"): row(1000)}
        self.assertEqual(self.own(0.01, own | {(0, "performance", "cycles"): row(0, pmu.COUNTED)}), [True, False])
        self.assertEqual(self.own(0.01, own | {(0, "performance", "cycles"): row(9, pmu.NOT_ON_TYPE)}), [True, False])

    def test_known_instructions_are_summed_over_the_types(self):
        rows = {(0, "efficient", "instructions:u"): row(60), (0, "performance", "instructions:u"): row(40)}
        self.assertEqual([c.well for c in pmu.judge_known(seen([(100, [])], rows), 0.01)], [True])
        rows[0, "performance", "instructions:u"] = row(42)
        self.assertEqual([c.well for c in pmu.judge_known(seen([(100, [])], rows), 0.01)], [False])

    def test_booked_to_the_incoming_thread_falls_short(self):
        rows = {(0, "efficient", "instructions:u"): row(200), (1, "efficient", "instructions:u"): row(100)}
        self.assertEqual([c.well for c in pmu.judge_known(seen([(100, []), (200, [])], rows), 0.01)], [False, False])

    def test_a_truth_outside_its_interval_is_found(self):
        def inside(low, high, state=pmu.MULTIPLEXED):
            rows = {(0, "efficient", "cycles"): row(1000, state, 50, low, high)}
            return [c.well for c in pmu.judge_inside(seen([(None, [event("cycles", 1000)])], rows), None)]

        self.assertEqual([inside(990, 1010), inside(1002, 1010)], 2 * [[True]])
        self.assertEqual(inside(990, 999), [False])
        self.assertEqual([inside(1004, 1010), inside(None, None), inside(1000, 1000, pmu.COUNTED)], 3 * [[False]])

    def test_nothing_is_invented_without_counters(self):
        def starved(count, running):
            rows = {(0, "efficient", "instructions:u"): row(200), (1, "efficient", "instructions:u"): row(count, running=running)}
            return [c.well for c in pmu.judge_starved(seen([(200, []), (100, [])], rows), 0.01)]

        self.assertEqual(starved(None, 0), [True, True])
        self.assertEqual(starved(1, 1), [True, True])
        # Scaled from its small share to the whole time.
        self.assertEqual(starved(100, 1), [True, False])
        self.assertEqual(starved(100, 100), [True, False])

    def test_rows_of_several_classes_of_siblings_are_summed(self):
        one = pmu.merged([row(10, low=9, high=12), row(None, running=0)])
        self.assertEqual((one[pmu.COUNT], one[pmu.ENABLED], one[pmu.RUNNING], one[pmu.LOW], one[pmu.HIGH]), (10, 200, 100, 9, 12))
        self.assertEqual(one[pmu.STATE], pmu.COUNTED)
        self.assertEqual(pmu.merged([row(1), row(2, pmu.MULTIPLEXED)])[pmu.STATE], pmu.MULTIPLEXED)

    def test_the_estimate_of_a_multiplexed_count_is_compared(self):
        half = row(500, pmu.MULTIPLEXED, 50) | {pmu.ESTIMATE: 1001.0}
        self.assertEqual(self.own(0.01, {(0, "efficient", "cycles"): half})[0], True)

    def test_a_type_without_pmu_is_stated(self):
        def half(rows):
            found = seen([(None, [event("cycles", 1000)])], {(0, "efficient", "cycles"): row(1000)} | rows)
            found.types = {"small": "efficient"}
            return [c.well for c in pmu.judge_half(found, 0.01)]

        self.assertEqual(half({}), [True, False])
        self.assertEqual(half({(0, "performance", "cycles"): row(None, pmu.NO_EVENT, 0)}), [True, True])
        self.assertEqual(half({(0, "performance", "cycles"): row(0, pmu.COUNTED)}), [True, False])

    def test_a_refusal_names_the_pmu(self):
        self.assertTrue(pmu.refusal("corewise: --counters: this machine has no PMU\n", 2, 0)[1])
        self.assertFalse(pmu.refusal("corewise: --counters: this machine has no PMU\n", 0, 0)[1])
        self.assertFalse(pmu.refusal("corewise: Permission denied\n", 2, 0)[1])
        self.assertFalse(pmu.refusal("corewise: --counters: this machine has no PMU\n", 2, 1)[1])

    def test_perf_stat_states_twice_the_truth(self):
        self.assertEqual(pmu.perf_printed("# started\n\n2000,,small/cpu_cycles/,60,60.00,,\n<not counted>\n"), {"small": (2000, 60)})

        def printed(small, big):
            found = seen([(None, [event("cycles", 600), event("cycles", 400, of="big")])], {})
            found.stub, found.perf = True, {"small": (small, 60), "big": (big, 40)}
            return [c.well for c in pmu.judge_perf_stat(found, 0.01)]

        self.assertEqual(printed(1000, 1000), [True, True, True])
        self.assertEqual(printed(600, 400), [False, False, False])

    def test_lists_of_cpus(self):
        self.assertEqual((pmu.cpu_list("0"), pmu.cpu_list("0-2,5")), ([0], [0, 1, 2, 5]))


class DeviceTree(unittest.TestCase):
    def test_each_kind_gets_a_node_and_a_part_of_the_interrupt(self):
        edited = device_tree.with_kinds(TREE, (((0,), "arm,a", 100), ((1,), "arm,b", 1024)))
        self.assertNotIn("armv8-pmuv3", edited)
        self.assertIn('pmu-0 { compatible = "arm,a"; interrupts = <1 7 4 0x9300>; };', edited)
        self.assertIn('pmu-1 { compatible = "arm,b"; interrupts = <1 7 4 0x9301>; };', edited)
        self.assertIn("interrupt-partition-1 { phandle = <0x9301>; affinity = <0x8002>; }; }; its@", edited)
        self.assertIn("#interrupt-cells = <0x04>;\n\t\tinterrupts = <0x01 0x09 0x04 0>", edited)
        self.assertIn("<0x00 0x00 0x00 0x01 0x8005 0x00 0x00 0x00 0x03 0x04 0>", edited)
        self.assertIn("phandle = <0x8002>; capacity-dmips-mhz = <1024>;", edited)

    def test_cpus_without_pmu_have_a_capacity(self):
        edited = device_tree.with_kinds(TREE, (((0,), "arm,a", 1),), (100, 1024))
        self.assertIn("phandle = <0x8001>; capacity-dmips-mhz = <100>;", edited)
        self.assertIn("phandle = <0x8002>; capacity-dmips-mhz = <1024>;", edited)

    def test_another_tree_is_refused(self):
        with self.assertRaises(ValueError):
            device_tree.with_kinds("/ { };", (((0,), "arm,a", 1),))
        with self.assertRaises(ValueError):
            device_tree.with_kinds(TREE, (((5,), "arm,a", 1),))


if __name__ == "__main__":
    unittest.main()
