#!/usr/bin/env python3
"""Compares `corewise power --root TREE -- sleep N`, or with --record `corewise record --power --power-root TREE -- sleep N`, with the truth of
simulated machines, which only this script knows.

Each domain's energy must be within 1 % of the truth, and the truth within the range that corewise states. Where corewise says that the energy
of a time is unknown, the truth of the other times is compared, and the reason must be that of the injected fault.

With --record, the scenario "laptop" runs for another 30 s, because its second battery has steps of 3.6 J: in 10 s, no row of power_over_time may
have a figure that is finer than these, and in 30 s there must be some.

  power_truth.py [--record] [--seconds N] [SCENARIO…]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corewise
from power_machine import SCENARIOS, scenario

LIMIT = 0.01
# What must be said of a domain in the scenario "faults", and how much of its time may be unknown (share).
FAULTS = {
    "package-3": ("went back", 0.1),
    "package-4": ("could not be read", 0.5),
    "package-5": ("stopped changing", 0.6),
}
EXPECTED = {"doubtful": ["17", "package-0/core"]}
# The steps of batteries' values, J, and the greatest share of a figure that a step may be: corewise's own limit.
STEPS = {"BAT1": 3.6}
MAX_STEP = 0.1
# From this many steps on, a row of power_over_time must have a figure: both ends may be a step off, with half as much again for changing power.
ENOUGH_STEPS = 2 / MAX_STEP * 1.5
# A recording that is that long has enough steps.
LONG_S = 30.0


def truth_of(curve, begin, spans):
    return sum(curve.energy(end - begin) - curve.energy(start - begin) for start, end in spans)


def known_spans(run, domain):
    """The times of a run for which a domain's energy is known, s."""
    at, spans = run["begin_ns"], []
    for unknown in domain["unknown"]:
        if unknown["begin_ns"] > at:
            spans.append((at, unknown["begin_ns"]))
        at = max(at, unknown["end_ns"])
    if at < run["end_ns"]:
        spans.append((at, run["end_ns"]))
    return [(start * 1e-9, end * 1e-9) for start, end in spans]


def check(name, seconds, interval):
    """Runs a scenario; returns what is wrong."""
    wrong = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as root:
        machine, truth = scenario(name, root, seconds)
        machine.start()
        command = [corewise.BINARY, "power", "--root", root, "--interval", interval, "--format", "json", "--", "sleep", str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True)
        machine.stop()
    if done.returncode:
        return [f"{name}: exit {done.returncode}: {done.stderr.strip()}"]
    result = json.loads(done.stdout)
    run = result["runs"][0]
    found = {domain["name"]: domain for domain in run["domains"]}
    sources = {source["name"]: source for source in result["sources"]}
    print(f"{name}: {run['elapsed_s']:.2f} s, read each {result['interval_s'] * 1e3:.1f} ms; a simulated update took up to "
          f"{machine.late_s * 1e3:.1f} ms; corewise used {run['corewise_cpu_s'] / run['elapsed_s'] * 100:.2f} % of a CPU")
    unexpected = set(found) - set(truth) - {source["name"] for source in result["sources"] if source["same_as"]}
    if unexpected:
        wrong.append(f"{name}: domains that the machine has not: {sorted(unexpected)}")
    for domain, curve in truth.items():
        got = found.get(domain)
        if got is None or "joules" not in got:
            wrong.append(f"{name}: {domain}: {got and got['refused']}")
            continue
        spans = known_spans(run, got)
        joules = truth_of(curve, machine.begin, spans)
        error = got["joules"] / joules - 1
        within = got["low"] <= joules <= got["high"]
        unknown = got["whole_s"] - got["known_s"]
        source = sources[domain]
        said = "; ".join(sorted({unknown["why"] for unknown in got["unknown"]}))
        update = f"{source['update_s'] * 1e3:.2f} ms" if source["update_s"] else "-"
        print(f"  {domain:16} {got['joules']:9.3f} J, truth {joules:9.3f} J, error {error * 100:+7.3f} %, range ±"
              f"{(got['high'] - got['low']) / 2 / got['joules'] * 100:.2f} % {'has it' if within else 'LACKS IT'}, update {update}, "
              f"wraps {source['wraps']}{', unknown for %.2f s: %s' % (unknown, said) if said else ''}")
        if abs(error) > LIMIT:
            wrong.append(f"{name}: {domain}: error {error * 100:+.3f} %")
        if not within:
            wrong.append(f"{name}: {domain}: the range {got['low']:.3f} to {got['high']:.3f} J lacks the truth, {joules:.3f} J")
        reason, share = FAULTS.get(domain, ("", 0.0)) if name == "faults" else ("", 0.0)
        if (reason and reason not in said) or (said and not reason) or unknown > share * seconds:
            wrong.append(f"{name}: {domain}: unknown for {unknown:.2f} s because \"{said}\", expected \"{reason}\"")
    if name == "faults" and sources["package-1"]["wraps"] != 1:
        wrong.append(f"{name}: package-1 wrapped once, corewise counted {sources['package-1']['wraps']}")
    if name in ("plain", "faults") and sources["package-0"]["duplicates"] != ["powercap intel-rapl-mmio:0"]:
        wrong.append(f"{name}: duplicates of package-0: {sources['package-0']['duplicates']}")
    for text in EXPECTED.get(name, []):
        if not any(text in doubt for doubt in result["doubts"]):
            wrong.append(f"{name}: no doubt mentions {text}: {result['doubts']}")
    if name not in EXPECTED and result["doubts"]:
        wrong.append(f"{name}: doubts: {result['doubts']}")
    for doubt in result["doubts"]:
        print(f"  doubt: {doubt}")
    wrong += idle_wrong(name, run)
    return wrong


def check_recording(name, seconds, hz):
    """Records while a scenario runs; returns what is wrong with the tables of the recording."""
    wrong = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as root:
        machine, truth = scenario(name, f"{root}/tree", seconds)
        machine.start()
        trace = f"{root}/run.cw"
        command = [corewise.BINARY, "record", f"--power={hz}Hz", "--power-root", f"{root}/tree", "--no-sample", "-o", trace, "--", "sleep", str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True)
        machine.stop()
        if done.returncode:
            return [f"{name}: exit {done.returncode}: {done.stderr.strip()}"]
        manifest = json.loads((Path(trace) / "manifest.json").read_text())
        rows, unknowns, over_time, zones = (corewise.table(trace, table) for table in ("energy", "energy_unknown", "power_over_time", "temperatures"))
    # The trace's clock is this script's: CLOCK_MONOTONIC.
    begin_ns, length_ns = manifest["origin_ns"], manifest["end_ns"]
    energy = manifest["cost"]["energy"]
    share = energy["cpu_ns"] / length_ns * 100
    print(f"{name}: recorded {length_ns * 1e-9:.2f} s, {energy['readings']} readings, {energy['wakeups']} wakeups, {share:.3f} % of a CPU; a simulated "
          f"update took up to {machine.late_s * 1e3:.1f} ms")
    found = {row["domain"]: row for row in rows}
    unexpected = {row["domain"] for row in rows if row["same_as"] is None} - set(truth)
    if unexpected:
        wrong.append(f"{name}: domains that the machine has not: {sorted(unexpected)}")
    for domain, curve in truth.items():
        row = found.get(domain)
        if row is None or row["joules"] is None:
            wrong.append(f"{name}: {domain}: {row and row['doubt']}")
            continue
        own = [row for row in unknowns if row["domain"] == domain]
        run = {"begin_ns": begin_ns, "end_ns": begin_ns + length_ns}
        times = [{"begin_ns": begin_ns + row["start_ns"], "end_ns": begin_ns + row["end_ns"]} for row in own]
        joules = truth_of(curve, machine.begin, known_spans(run, {"unknown": times}))
        error = row["joules"] / joules - 1
        within = row["low_j"] <= joules <= row["high_j"]
        said = "; ".join(sorted({row["reason"] for row in own}))
        unknown_s = row["unknown_ns"] * 1e-9
        # A row that begins and ends within the recording has the energy of its own time, too.
        errors = [abs(part["joules"] / truth_of(curve, machine.begin, [((begin_ns + part["start_ns"]) * 1e-9, (begin_ns + part["end_ns"]) * 1e-9)]) - 1)
                  for part in over_time if part["domain"] == domain and part["joules"] is not None and part["doubt"] is None]
        print(f"  {domain:16} {row['joules']:9.3f} J, truth {joules:9.3f} J, error {error * 100:+7.3f} %, range ±"
              f"{(row['high_j'] - row['low_j']) / 2 / row['joules'] * 100:.2f} % {'has it' if within else 'LACKS IT'}, rows with a figure: {len(errors)}, "
              f"error at most {max(errors, default=0.0) * 100:.2f} %{f', unknown for {unknown_s:.2f} s: {said}' if said else ''}")
        if abs(error) > LIMIT:
            wrong.append(f"{name}: {domain}: error {error * 100:+.3f} %")
        if not within:
            wrong.append(f"{name}: {domain}: the range {row['low_j']:.3f} to {row['high_j']:.3f} J lacks the truth, {joules:.3f} J")
        wrong += figures_wrong(f"{name}: {domain}", domain, joules, [part["joules"] for part in over_time if part["domain"] == domain])
        reason, share = FAULTS.get(domain, ("", 0.0)) if name == "faults" else ("", 0.0)
        if (reason and reason not in said) or (said and not reason) or unknown_s > share * seconds + 0.01:
            wrong.append(f"{name}: {domain}: unknown for {unknown_s:.2f} s because \"{said}\", expected \"{reason}\"")
    if [zone["zone"] for zone in zones] != ["x86_pkg_temp"] or not 44.9 <= zones[0]["min_c"] <= zones[0]["mean_c"] <= zones[0]["max_c"] <= 65.1:
        wrong.append(f"{name}: temperatures {zones}")
    return wrong


def figures_wrong(what, domain, joules, figures):
    """Judges the energies (J; None: no figure) of a domain's rows of power_over_time, in a recording in which it used `joules`."""
    step = STEPS.get(domain, 0.0)
    figures = [figure for figure in figures if figure is not None]
    wrong = [f"{what}: power_over_time has a figure of {figure:.2f} J, in steps of {step} J" for figure in figures if step > MAX_STEP * figure]
    if not figures and joules >= ENOUGH_STEPS * step:
        wrong.append(f"{what}: power_over_time has no figure")
    return wrong


def idle_wrong(name, run):
    """Compares idle states, temperature and frequency with what the simulated CPUs do."""
    wrong = []
    for state, share, rate in (("POLL", 0.01, 50.0), ("C1", 0.15, 400.0), ("C6", 0.55, 90.0)):
        got = next(s for s in run["idle_requested"] if s["name"] == state)
        entered = got["entered"] / run["elapsed_s"] / got["cpus"]
        if abs(got["share"] / share - 1) > LIMIT or abs(entered / rate - 1) > 2 * LIMIT:
            wrong.append(f"{name}: {state}: {got['share']:.4f} of the time, {entered:.1f}/s, truth {share}, {rate}")
    resident = run["idle_resident"][0]["share"]
    if abs(resident / 0.5 - 1) > LIMIT:
        wrong.append(f"{name}: C6 of the hardware: {resident:.4f}, truth 0.5")
    temperature = run["temperature_c"][0]
    if not 44.9 <= temperature["min"] <= temperature["mean"] <= temperature["max"] <= 65.1:
        wrong.append(f"{name}: temperature {temperature}")
    return wrong


def check_drain():
    """A battery that takes 2 s for 1 %, by --battery."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as root:
        machine, _ = scenario("drain", root, 30)
        machine.start()
        begin = time.monotonic()
        command = [corewise.BINARY, "power", "--root", root, "--battery", "90-86", "--format", "json", "--", "sleep", "1.5"]
        done = subprocess.run(command, capture_output=True, text=True)
        machine.stop()
    if done.returncode:
        return [f"drain: exit {done.returncode}: {done.stderr.strip()}"]
    result = json.loads(done.stdout)
    battery = result["battery"]
    print(f"drain: {time.monotonic() - begin:.1f} s, {len(result['runs'])} runs, 1 % in {battery['seconds_of_a_percent']['median']:.2f} s, "
          f"100 % in {battery['whole_s']:.1f} s, truth 200 s")
    wrong = [] if abs(battery["whole_s"] / 200.0 - 1) < 0.05 else [f"drain: 100 % in {battery['whole_s']:.1f} s, truth 200 s"]
    return wrong if battery["complete"] else wrong + ["drain: not complete"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--interval", default="100ms")
    parser.add_argument("--record", action="store_true", help="check recordings instead of `corewise power`")
    parser.add_argument("--hz", type=float, default=10.0, help="readings a second of recordings (10)")
    parser.add_argument("scenario", nargs="*")
    args = parser.parse_args()
    corewise.need_binary()
    wrong = []
    if args.record:
        for name in args.scenario or SCENARIOS:
            for seconds in (args.seconds, LONG_S) if name == "laptop" and args.seconds < LONG_S else (args.seconds,):
                wrong += check_recording(name, seconds, args.hz)
    for name in [] if args.record else args.scenario or [*SCENARIOS, "drain"]:
        wrong += check_drain() if name == "drain" else check(name, args.seconds, args.interval)
    for line in wrong:
        print(f"WRONG {line}")
    print(f"{'FAILED' if wrong else 'ok'}: {len(wrong)} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
