#!/usr/bin/env python3
"""A simulated machine for `corewise power --root TREE`: drives trees of powercap, the power PMU, cpuidle, cpufreq, hwmon, thermal zones and
batteries with known power. Shares no code with corewise's readers; nothing of the truth is in the tree but what a kernel would show.

  power_machine.py TREE SECONDS [SCENARIO]     drive a tree, print the truth as JSON at the end

Energy follows from power curves by exact integrals. Counters are as hardware has them: 32 bits of units of 2^-14 J, updated each ms, read as
microjoules that are rounded down. Each file is replaced as a whole (rename), as a read of sysfs is never half of a number. Values of two files
(charge and voltage) are replaced one after the other, as in hardware: a reader may see the new one of the first and the old one of the second.
"""

import json
import math
import multiprocessing
import os
import sys
import time
from pathlib import Path

UNIT_J = 2.0**-14
COUNTER = 2**32
RANGE_UJ = math.floor((COUNTER - 1) * UNIT_J * 1e6)


class Curve:
    """Power over time: a mean, a sine and a square wave, watts. The energy is its exact integral."""

    def __init__(self, mean, sine=0.0, sine_s=1.0, square=0.0, square_s=1.0):
        assert mean >= sine + square
        self.mean, self.sine, self.sine_s, self.square, self.square_s = mean, sine, sine_s, square, square_s

    def power(self, t):
        square = self.square if (t / self.square_s) % 1.0 < 0.5 else -self.square
        return self.mean + self.sine * math.sin(2 * math.pi * t / self.sine_s) + square

    def energy(self, t):
        """Joules from time 0 to t."""
        sine = self.sine * self.sine_s / (2 * math.pi) * (1 - math.cos(2 * math.pi * t / self.sine_s))
        phase = (t / self.square_s) % 1.0
        square = self.square * self.square_s * (phase if phase < 0.5 else 1.0 - phase)
        return self.mean * t + sine + square

    def scaled(self, by):
        return Curve(self.mean * by, self.sine * by, self.sine_s, self.square * by, self.square_s)


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.made = set()

    def write(self, path, text):
        """Replaces a file as a whole."""
        if path not in self.made:
            (self.root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
            self.made.add(path)
        # Not in the same folder: a reader would list it.
        new = f"{self.root}/.new-{os.getpid()}"
        with open(new, "w") as file:
            file.write(f"{text}\n")
        os.rename(new, f"{self.root}{path}")

    def remove(self, path):
        (self.root / path.lstrip("/")).unlink()

    def link(self, to, path):
        path = self.root / path.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(to)


class Rapl:
    """A domain of powercap."""

    def __init__(self, tree, zone, name, curve, begin_j=1000.0, every_s=0.001, missed=(), back_at=None, vanishes_at=None,
                 freezes_at=None, limit_w=None):
        self.tree, self.curve, self.begin_j, self.every_s = tree, curve, begin_j, every_s
        self.missed, self.back_at, self.vanishes_at, self.freezes_at = missed, back_at, vanishes_at, freezes_at
        self.device = f"/sys/devices/virtual/powercap/{zone}"
        self.gone = False
        tree.write(f"{self.device}/name", name)
        tree.write(f"{self.device}/max_energy_range_uj", RANGE_UJ)
        tree.write(f"{self.device}/enabled", 1)
        if limit_w:
            tree.write(f"{self.device}/constraint_0_name", "long_term")
            tree.write(f"{self.device}/constraint_0_power_limit_uw", int(limit_w * 1e6))
        self.update(0.0)
        tree.link(f"../../devices/virtual/powercap/{zone}", f"/sys/class/powercap/{zone}")

    def update(self, t):
        if self.gone or any(begin <= t < end for begin, end in self.missed):
            return
        if self.vanishes_at is not None and t >= self.vanishes_at:
            self.tree.remove(f"{self.device}/energy_uj")
            self.gone = True
            return
        if self.freezes_at is not None and t >= self.freezes_at:
            return
        joules = self.begin_j + self.curve.energy(t)
        if self.back_at is not None and t >= self.back_at:
            # The counter was reset: it has only what came since, from a small value on.
            joules = 3.0 + self.curve.energy(t) - self.curve.energy(self.back_at)
        counter = math.floor(joules / UNIT_J) % COUNTER
        self.tree.write(f"{self.device}/energy_uj", math.floor(counter * UNIT_J * 1e6))


class PowerPmu:
    """A domain of the power PMU, on a package of its own."""

    def __init__(self, tree, event, curve, every_s=0.001):
        self.tree, self.curve, self.event, self.every_s = tree, curve, event, every_s
        self.dir = "/sys/bus/event_source/devices/power"
        tree.write(f"{self.dir}/type", 23)
        tree.write(f"{self.dir}/cpumask", 0)
        tree.write(f"{self.dir}/events/{event}", "event=0x02")
        tree.write(f"{self.dir}/events/{event}.scale", "2.3283064365386962890625e-10")
        tree.write(f"{self.dir}/events/{event}.unit", "Joules")
        self.update(0.0)

    def update(self, t):
        # The kernel shifts the counter to units of 2^-32 J.
        counter = math.floor(self.curve.energy(t) / UNIT_J) * 2**18
        self.tree.write(f"{self.dir}/counts/cpu0/{self.event}", counter)


class Battery:
    """A battery by charge and voltage (two files), or by energy."""

    def __init__(self, tree, name, curve, by_energy, every_s=0.025, left_wh=40.0, full_wh=50.0, percent_s=None):
        self.tree, self.curve, self.by_energy, self.every_s = tree, curve, by_energy, every_s
        self.dir = f"/sys/class/power_supply/{name}"
        self.left_wh, self.full_wh, self.percent_s = left_wh, full_wh, percent_s
        self.drawn_j, self.last_t = 0.0, 0.0
        self.charge_uah = 3_500_000.0
        self.ticks = 0
        for file, text in (("type", "Battery"), ("status", "Discharging"), ("present", 1)):
            tree.write(f"{self.dir}/{file}", text)
        self.update(0.0)

    def volts(self, drawn_j):
        # Sinks by 1 V over 400 J, which no battery does: what a wrong formula makes of it must show.
        return 12.0 - drawn_j / 400.0

    def update(self, t):
        # The charge that gives this energy at the voltage meanwhile: in small steps, the voltage follows the energy.
        target = self.curve.energy(t)
        steps = 200
        for n in range(steps):
            part = (target - self.drawn_j) / (steps - n)
            self.charge_uah -= part / self.volts(self.drawn_j + part / 2) / 3600 * 1e6
            self.drawn_j += part
        percent = self.left_wh * 100 / self.full_wh - target / 36.0 / self.full_wh
        if self.percent_s:
            percent = 92 - math.floor(t / self.percent_s)
        self.tree.write(f"{self.dir}/capacity", math.floor(percent))
        if self.by_energy:
            left = self.left_wh * 1e6 - target / 3600 * 1e6
            # Steps of 1 mWh.
            self.tree.write(f"{self.dir}/energy_now", math.floor(left / 1000) * 1000)
        elif self.ticks == 0:
            self.tree.write(f"{self.dir}/charge_now", round(self.charge_uah))
            self.tree.write(f"{self.dir}/voltage_now", round(self.volts(self.drawn_j) * 1e6))
        elif self.ticks % 2:
            self.tree.write(f"{self.dir}/charge_now", round(self.charge_uah))
        else:
            # Half of the update comes later: readers in between have the new charge and the old voltage.
            self.tree.write(f"{self.dir}/voltage_now", round(self.volts(self.drawn_j) * 1e6))
        self.ticks += 1


class Sensor:
    """A power sensor of hwmon: power, or voltage and current."""

    def __init__(self, tree, device, chip, curve, by_current, every_s=0.01):
        self.tree, self.curve, self.by_current, self.every_s = tree, curve, by_current, every_s
        self.dir = f"/sys/class/hwmon/{device}"
        tree.write(f"{self.dir}/name", chip)
        if by_current:
            tree.write(f"{self.dir}/in1_label", "VDD_CPU")
        self.update(0.0)

    def update(self, t):
        power = self.curve.power(t)
        if self.by_current:
            millivolts = 5000 + 50 * math.sin(t)
            self.tree.write(f"{self.dir}/in1_input", round(millivolts))
            self.tree.write(f"{self.dir}/curr1_input", round(power / millivolts * 1e6))
        else:
            self.tree.write(f"{self.dir}/power1_input", round(power * 1e6))


class Cpus:
    """Idle states, frequencies and a temperature of four CPUs."""

    every_s = 0.02
    STATES = ((0, "POLL", 0, 0, 0.01, 50.0), (1, "C1", 2, 2, 0.15, 400.0), (2, "C6", 133, 600, 0.55, 90.0))

    def __init__(self, tree):
        self.tree = tree
        tree.write("/sys/devices/system/cpu/online", "0-3")
        tree.write("/sys/devices/system/cpu/cpuidle/current_driver", "intel_idle")
        tree.write("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp")
        for cpu in range(4):
            tree.write(f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", 0)
            tree.write(f"/sys/devices/system/cpu/cpu{cpu}/topology/core_id", cpu)
            for state, name, latency, residency, _, _ in self.STATES:
                path = f"/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}"
                for file, text in (("name", name), ("latency", latency), ("residency", residency), ("rejected", 0)):
                    tree.write(f"{path}/{file}", text)
        pmus = "/sys/bus/event_source/devices"
        tree.write(f"{pmus}/msr/events/tsc", "event=0x00")
        tree.write(f"{pmus}/cstate_core/cpumask", "0-3")
        tree.write(f"{pmus}/cstate_core/events/c6-residency", "event=0x02")
        self.update(0.0)

    def update(self, t):
        pmus = "/sys/bus/event_source/devices"
        self.tree.write("/sys/class/thermal/thermal_zone0/temp", round(55_000 + 10_000 * math.sin(t)))
        self.tree.write("/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", round(2_000_000 + 800_000 * math.sin(2 * t)))
        self.tree.write(f"{pmus}/msr/counts/cpu0/tsc", round(1.7e9 * t))
        for cpu in range(4):
            self.tree.write(f"{pmus}/cstate_core/counts/cpu{cpu}/c6-residency", round(1.7e9 * t * 0.5))
            for state, _, _, _, share, rate in self.STATES:
                path = f"/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}"
                self.tree.write(f"{path}/time", round(t * share * 1e6))
                self.tree.write(f"{path}/usage", round(t * rate))
                self.tree.write(f"{path}/above", round(t * rate * 0.2) if state else 0)
                self.tree.write(f"{path}/below", round(t * rate * 0.1))


class Machine:
    """Updates its devices, each at its own times, in two processes: one for the CPUs' many files, one for all else. Both have real-time
    priority where that is permitted, as hardware is not late because a machine is busy."""

    def __init__(self, devices):
        self.devices = devices
        self.begin = time.monotonic()
        self.late_s = 0.0
        self.stopped = multiprocessing.Event()
        self.late = multiprocessing.Value("d", 0.0)
        self.processes = []

    def start(self):
        self.begin = time.monotonic()
        for of_cpus in (False, True):
            devices = [device for device in self.devices if isinstance(device, Cpus) == of_cpus]
            process = multiprocessing.Process(target=self.drive, args=(devices, not of_cpus), daemon=True)
            process.start()
            self.processes.append(process)

    def drive(self, devices, is_timed):
        if is_timed:
            try:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
            except PermissionError:
                pass
        due = [(n % 7) * device.every_s / 7 for n, device in enumerate(devices)]
        while not self.stopped.is_set():
            for n, device in enumerate(devices):
                t = time.monotonic() - self.begin
                if due[n] <= t:
                    # The value that the hardware has at this update; a late process is a longer time between two updates.
                    device.update(t)
                    done = time.monotonic() - self.begin
                    if is_timed:
                        self.late.value = max(self.late.value, done - t)
                    due[n] += device.every_s * max(1, math.ceil((done - due[n]) / device.every_s))
            time.sleep(max(0.0, min(due) - (time.monotonic() - self.begin)))

    def stop(self):
        self.stopped.set()
        for process in self.processes:
            process.join()
        self.late_s = self.late.value


def scenario(name, root, seconds):
    """Returns a machine's devices and, by domain, the curve of its truth. Faults come at fixed parts of `seconds`."""
    tree = Tree(root)
    package = Curve(30.0, sine=8.0, sine_s=1.3, square=10.0, square_s=0.7)
    core = package.scaled(0.6)
    truth, devices = {}, [Cpus(tree)]

    def add(domain, curve, device):
        truth[domain] = curve
        devices.append(device)

    if name in ("plain", "faults"):
        add("package-0", package, Rapl(tree, "intel-rapl:0", "package-0", package, limit_w=64.0))
        add("package-0/core", core, Rapl(tree, "intel-rapl:0:0", "core", core))
        # The same package by other registers: must not be counted twice.
        devices.append(Rapl(tree, "intel-rapl-mmio:0", "package-0", package, begin_j=77.0))
    if name == "plain":
        uncore = Curve(2.0, sine=1.5, sine_s=2.0)
        add("package-0/uncore", uncore, Rapl(tree, "intel-rapl:0:1", "uncore", uncore))
        psys = Curve(55.0, sine=12.0, sine_s=3.0)
        add("psys", psys, Rapl(tree, "intel-rapl:1", "psys", psys))
    if name == "faults":
        end_j = COUNTER * UNIT_J
        curve = Curve(90.0, sine=20.0, sine_s=0.9)
        # Wraps in the middle.
        add("package-1", curve, Rapl(tree, "intel-rapl:1", "package-1", curve, begin_j=end_j - 90.0 * seconds * 0.6))
        curve = Curve(12.0, square=6.0, square_s=1.1)
        # Misses updates: for 40 ms, 300 ms and 900 ms.
        gaps = [(seconds * part, seconds * part + length) for part, length in ((0.3, 0.04), (0.5, 0.3), (0.6, 0.9))]
        add("package-2", curve, Rapl(tree, "intel-rapl:2", "package-2", curve, missed=gaps))
        curve = Curve(20.0, sine=5.0)
        add("package-3", curve, Rapl(tree, "intel-rapl:3", "package-3", curve, back_at=seconds * 0.55))
        curve = Curve(25.0, sine=5.0)
        add("package-4", curve, Rapl(tree, "intel-rapl:4", "package-4", curve, vanishes_at=seconds * 0.6))
        curve = Curve(35.0, sine=5.0)
        add("package-5", curve, Rapl(tree, "intel-rapl:5", "package-5", curve, freezes_at=seconds * 0.5))
    if name == "amd":
        # AMD's driver has the same control type; only package and core.
        add("package-0", package, Rapl(tree, "intel-rapl:0", "package-0", package))
        add("package-0/core", core, Rapl(tree, "intel-rapl:0:0", "core", core))
    if name == "pmu":
        add("package-0", package, PowerPmu(tree, "energy-pkg", package))
    if name in ("laptop", "drain"):
        curve = Curve(18.0, sine=4.0, sine_s=1.7)
        add("BAT0", curve, Battery(tree, "BAT0", curve, by_energy=name == "drain", percent_s=2.0 if name == "drain" else None))
    if name == "laptop":
        curve = Curve(11.0, sine=2.0, sine_s=2.3)
        add("BAT1", curve, Battery(tree, "BAT1", curve, by_energy=True))
    if name == "board":
        curve = Curve(6.0, sine=2.0, sine_s=2.9)
        add("ina226/power1", curve, Sensor(tree, "hwmon0", "ina226", curve, by_current=False))
        curve = Curve(4.0, sine=1.0, sine_s=3.1)
        add("ina3221/VDD_CPU", curve, Sensor(tree, "hwmon1", "ina3221", curve, by_current=True))
    if name == "doubtful":
        # A part of 17 W that shows 189.5 W, and cores above their package.
        curve = Curve(189.5)
        add("package-0", curve, Rapl(tree, "intel-rapl:0", "package-0", curve, limit_w=17.0))
        curve = Curve(240.0)
        add("package-0/core", curve, Rapl(tree, "intel-rapl:0:0", "core", curve))
    return Machine(devices), truth


SCENARIOS = ("plain", "faults", "amd", "pmu", "laptop", "board", "doubtful")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    seconds = float(sys.argv[2])
    machine, truth = scenario(sys.argv[3] if len(sys.argv) > 3 else "plain", sys.argv[1], seconds)
    machine.start()
    time.sleep(seconds)
    machine.stop()
    print(json.dumps({"late_s": machine.late_s, "joules": {name: curve.energy(seconds) for name, curve in truth.items()}}))


if __name__ == "__main__":
    main()
