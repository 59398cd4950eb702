"""Tests of the simulated machine and of power_truth.py's judgements, without corewise."""

import tempfile
import unittest
from pathlib import Path

import power_truth
from power_machine import COUNTER, RANGE_UJ, UNIT_J, Battery, Curve, Rapl, Tree


class Curves(unittest.TestCase):
    def test_energy_is_the_integral_of_power(self):
        curve = Curve(30.0, sine=8.0, sine_s=1.3, square=10.0, square_s=0.7)
        n, end = 100_000, 7.77
        summed = sum(curve.power((step + 0.5) * end / n) for step in range(n)) * end / n
        # The sum is off by up to a step at each of the 22 edges of the square wave.
        self.assertAlmostEqual(curve.energy(end), summed, delta=22 * 20.0 * end / n)
        self.assertAlmostEqual(curve.scaled(0.5).energy(3.3) * 2, curve.energy(3.3))


class Devices(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tree = Tree(self.folder.name)

    def read(self, path):
        return int((Path(self.folder.name) / path).read_text())

    def test_a_counter_wraps_at_its_range(self):
        zone = Rapl(self.tree, "intel-rapl:0", "package-0", Curve(100.0), begin_j=COUNTER * UNIT_J - 50.0)
        path = "sys/class/powercap/intel-rapl:0/energy_uj"
        zone.update(0.4)
        before = self.read(path)
        self.assertAlmostEqual(RANGE_UJ - before, 10e6, delta=100)
        zone.update(0.6)
        self.assertAlmostEqual(self.read(path), 10e6, delta=100)

    def test_a_battery_s_charge_at_its_voltage_is_its_energy(self):
        battery = Battery(self.tree, "BAT0", Curve(18.0), by_energy=False)
        before = battery.charge_uah
        for step in range(1, 101):
            battery.update(step * 0.1)
        coulombs = (before - battery.charge_uah) * 3600e-6
        volts = (battery.volts(0.0) + battery.volts(180.0)) / 2
        self.assertAlmostEqual(coulombs * volts / 180.0, 1.0, places=2)


class Judgements(unittest.TestCase):
    def test_known_times_are_those_without_the_unknown_ones(self):
        run = {"begin_ns": 1_000_000_000, "end_ns": 9_000_000_000}
        unknown = [{"begin_ns": begin * 10**9, "end_ns": end * 10**9} for begin, end in ((0, 2), (4, 5), (5, 6), (8, 10))]
        self.assertEqual(power_truth.known_spans(run, {"unknown": unknown}), [(2.0, 4.0), (6.0, 8.0)])
        self.assertEqual(power_truth.known_spans(run, {"unknown": []}), [(1.0, 9.0)])
        self.assertEqual(power_truth.truth_of(Curve(3.0), 1.0, [(2.0, 4.0), (6.0, 8.0)]), 12.0)

    def test_figures_below_the_step_are_wrong_and_so_are_none_in_a_long_time(self):
        def wrong(domain, joules, figures):
            return len(power_truth.figures_wrong("x", domain, joules, figures))

        self.assertEqual(wrong("BAT1", 107.0, [None, None]), 0)
        self.assertEqual(wrong("BAT1", 109.0, [None, None]), 1)
        self.assertEqual(wrong("BAT1", 330.0, [107.0, 108.0, None]), 0)
        self.assertEqual(wrong("BAT1", 330.0, [11.0, 107.0]), 1)
        self.assertEqual(wrong("package-0", 30.0, [None]), 1)
        self.assertEqual(wrong("package-0", 30.0, [30.0]), 0)


if __name__ == "__main__":
    unittest.main()
