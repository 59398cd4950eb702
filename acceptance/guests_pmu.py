#!/usr/bin/env python3
"""Counts of `corewise record --counters`, by thread and core type, compared with the truth, in QEMU guests that have one or more kinds of PMU.

    acceptance/guests_pmu.py [CASE…] [--small] [--keep DIR]

Each case records pmu/load.c in a guest, whose threads know how many instructions they execute or have events of their own (perf_event_open),
and reads the recording here. A table of all comparisons, then a line per case; exit status 1 if a case falls short. The cases:

    plain      without counters: recorded by BPF, nothing lost, times consistent, core types found
    known      one CPU, exact instruction counts (-icount): within 1 % of the known number of instructions
    hop        two kinds of PMU, one thread that moves between them: within 1 % of its own events, by core type
    three      the same with three kinds
    busy       two kinds, six threads that sleep and move: each within 0.5 % of its own events
    perf_stat  the same load as hop, under perf stat and corewise: perf stat's scaled sum is twice the truth, corewise's within 1 %
    one_type   two kinds, threads that run on one only: nothing is counted on the other, and the state says why
    varying    more events than counters, user share at random: the truth is inside the interval in at least 95 % of the comparisons
    starve     another process takes all counters for a while: nothing is invented meanwhile; before and after within 1 %
    half_pmu   two core types, one without a PMU: its state says so, the other's counts are within 1 %
    watch      two kinds: `corewise watch` has the cycles of each core type, goes on when a CPU was offline, and says what it estimates
    no_pmu     no PMU: one sentence says so, and recording without counters works

--small: the cases of `make test`; without the needed programs they are skipped. --stub: instead of a recording, take the threads' own events
for what corewise counted, which tests this script, the guests and the loads only. The machine needs what scripts/setup guest installs,
and network access the first time (pmu/guest.py).
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import corewise
from pmu import guest

# How the table thread_counters names what is compared: a row for each thread, event, core type and class of SMT siblings.
TABLE = "thread_counters"
EVENT, TYPE, STATE, COUNT, ENABLED, RUNNING = "counter", "core_type", "state", "count", "enabled_ns", "counted_ns"
# Of a multiplexed count: what it suggests for the whole time, and its interval.
ESTIMATE, LOW, HIGH = "estimate", "low", "high"
COUNTED, MULTIPLEXED, NOT_COUNTED, NO_EVENT, NOT_ON_TYPE = "counted", "multiplexed", "not_counted", "no_event", "not_on_type"
WITHOUT_COUNTERS = """corewise doctor > doctor.txt 2>&1
corewise record -o plain.cw -- true > plain.txt 2>&1; echo $? > plain_status
"""
# A CPU goes offline for 6 s of 16 s; then there are more events than counters on the fast cores.
FAST_PMU = "armv8_cortex_a72"
SHARED = ",".join(f"{event}{mode}" for event in ("cycles", f"{FAST_PMU}/cpu_cycles/", f"{FAST_PMU}/event=0x11/") for mode in ("", ":u", ":k"))
OFFLINE_S = 6
WATCH = f"""mkdir /out/watch; cd /out/watch
(sleep 4; echo 0 > /sys/devices/system/cpu/cpu3/online; sleep {OFFLINE_S}; echo 1 > /sys/devices/system/cpu/cpu3/online) &
corewise watch --by none --counters cycles --for 16s --format json > offline.json 2> said.txt
corewise watch --by none --counters {SHARED} --for 5s --format json > shared.json 2>> said.txt
corewise watch --by none --for 1s > default.txt 2>> said.txt
"""
# Cycles of an emulated CPU without -icount are its virtual time, at 1 GHz.
HZ = 1_000_000_000
# How often corewise watch reads, s: a CPU that comes online is not counted before.
READ_EACH = 5
# How a user asks for events.
OPTION = "--counters"
PERF_EVENTS = "armv8_cortex_a53/cpu_cycles/,armv8_cortex_a72/cpu_cycles/"
BOTH = "cycles,instructions"
MORE_THAN_FIT = "instructions:u,instructions:k,instructions,cycles:u,cycles:k,cycles"

# Virtual time advances 4 ns with each instruction, so cycles are 4 x instructions; and sleeps are skipped.
EXACT = "shift=2,sleep=off"
SLOW, MIDDLE, FAST = ("arm,cortex-a53-pmu", 446), ("arm,cortex-a57-pmu", 700), ("arm,cortex-a72-pmu", 1024)
ONE = guest.Machine("one", icount=EXACT)
TWO = guest.Machine("two", 2, (((0,), *SLOW), ((1,), *FAST)), icount=EXACT)
FOUR = guest.Machine("four", 4, (((0, 1), *SLOW), ((2, 3), *FAST)))
THREE = guest.Machine("three", 3, (((0,), *SLOW), ((1,), *MIDDLE), ((2,), *FAST)), icount=EXACT)
HALF = guest.Machine("half", 2, (((0,), *SLOW),), (446, 1024), EXACT)
NONE = guest.Machine("none", processor="max,pauth-impdef=on,pmu=off")

BELOW_THIS_SHARE_REFUSED = 0.05
WANTED_INSIDE = 0.95
# The share of a count, the kernel's part included, that a thread's own events may miss: measured 0.08 to 0.13 % in `known`, where nothing is
# multiplexed, and at most 0.24 % in `varying`.
MISSED_IN_SWITCHES = 0.003
# Of a case with more comparisons, only those that are not as required are printed.
MOST_SHOWN = 60


@dataclass(frozen=True)
class Compared:
    """A comparison. `error`: relative; None if what was counted is not a number to compare. `well`: as required."""
    thread: str
    core_type: str
    event: str
    truth: int | str
    counted: int | str
    error: float | None
    state: str
    well: bool


@dataclass(frozen=True)
class Case:
    """A case: a load on a machine, the events to record, and how the counts are judged: judge(seen, most) returns comparisons."""
    machine: guest.Machine
    load: str
    events: str
    judge: object
    most: float = 0.01


@dataclass
class Seen:
    """What a guest brought out: the load's JSON, the rows of the table by (TID, core type, event), and each PMU's core type."""
    truth: dict
    rows: dict
    types: dict
    stub: bool = False
    # What perf stat printed, by PMU: the scaled count, and the time for which it counted.
    perf: dict | None = None

    def row(self, thread, pmu, event):
        return self.rows.get((thread["tid"], self.types[pmu], event))

    def total(self, thread, event):
        """Returns the count and the coverage (share of the time that it counted) of a thread over all core types."""
        rows = [row for (tid, _, name), row in self.rows.items() if tid == thread["tid"] and name == event]
        counts = [number for row in rows if (number := number_of(row)) is not None]
        enabled = sum(row[ENABLED] or 0 for row in rows)
        return (sum(counts) if counts else None), (sum(row[RUNNING] or 0 for row in rows) / enabled if enabled else 0.0)


def number_of(row):
    """Returns what a row says was counted: of an event that took turns, the estimate."""
    return row[ESTIMATE] if row[STATE] == MULTIPLEXED else row[COUNT]


def merged(rows):
    """Returns one row for all classes of siblings; the ends of intervals are summed, which can only make them wider."""
    if len(rows) == 1:
        return rows[0]
    states = {row[STATE] for row in rows}
    sums = {column: total(row[column] for row in rows) for column in (COUNT, ENABLED, RUNNING, ESTIMATE, LOW, HIGH)}
    return sums | {STATE: states.pop() if len(states) == 1 else MULTIPLEXED}


def total(numbers):
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def name_of(event):
    return event["event"] + (":u" if event["user"] else "")


def error_of(counted, truth):
    return abs(counted - truth) / truth if counted is not None and truth else None


def compared(thread, core_type, event, truth, row, most):
    """Compares a row with the truth."""
    counted = number_of(row) if row else None
    counted = None if counted is None else round(counted)
    error = error_of(counted, truth)
    return Compared(thread["name"], core_type, event, truth, "-" if counted is None else counted, error, row[STATE] if row else "no row",
                    error is not None and error <= most)


def judge_known(seen, most):
    """Instructions in user mode against the known number, everything else against the thread's own events."""
    found = []
    for thread in seen.truth["threads"]:
        counted, _ = seen.total(thread, "instructions:u")
        found.append(compared(thread, "all", "instructions:u", thread["instructions"], {COUNT: counted, STATE: "sum"}, most))
    return found + judge_own(seen, most)


def judge_own(seen, most):
    """Each event that a thread counted itself, by core type. On a type where it did not run there is nothing to count."""
    found = []
    for thread in seen.truth["threads"]:
        for event in thread["events"]:
            row, core_type = seen.row(thread, event["pmu"], name_of(event)), seen.types[event["pmu"]]
            if event["state"] != "counted":
                found.append(Compared(thread["name"], core_type, name_of(event), "own event lost", "-", None, "", False))
            elif event["running_ns"]:
                found.append(compared(thread, core_type, name_of(event), event["value"], row, most))
            else:
                found.append(absent(thread, core_type, name_of(event), row, NOT_ON_TYPE))
    return found


def judge_perf_stat(seen, most):
    """Own events, and what perf stat printed: each PMU's count x enabled / running, so that each stands for the whole run. The numbers of
    perf are of the whole process, whose other thread only waits."""
    found = [] if seen.stub else judge_own(seen, most)
    truth = {event["pmu"]: event["value"] for thread in seen.truth["threads"] for event in thread["events"] if event["event"] == "cycles"}
    scaled = {}
    # Every CPU belongs to one of the PMUs, so each was enabled for as long as they all ran together.
    enabled = sum(running for _, running in seen.perf.values())
    for pmu, value in truth.items():
        printed, running = seen.perf[pmu]
        scaled[pmu] = printed
        counted = round(printed * running / enabled)
        error = error_of(counted, value)
        formula = f"{printed} x {running} / {enabled} ns"
        found.append(Compared("perf stat", seen.types[pmu], "cycles", value, counted, error, formula, error is not None and error <= most))
    printed, true = sum(scaled.values()), sum(truth.values())
    found.append(Compared("perf stat", "all", "cycles", true, printed, None, f"{printed / true:.2f} x the truth", 1.9 < printed / true < 2.1))
    return found


def absent(thread, core_type, event, row, state):
    """Requires that nothing was counted, for a stated reason."""
    if row is None:
        return Compared(thread["name"], core_type, event, state, "-", None, "no row", False)
    well = row[STATE] == state and not row[COUNT]
    return Compared(thread["name"], core_type, event, state, "-" if row[COUNT] is None else row[COUNT], None, row[STATE], well)


def judge_inside(seen, _):
    """Whether the truth is inside the interval, for each event that was multiplexed; the case counts how often. Where the kernel counts too,
    a thread's own event misses the parts of its switches that the CPU's event has, so the truth is a range."""
    found = []
    for thread in seen.truth["threads"]:
        for event in thread["events"]:
            row, core_type = seen.row(thread, event["pmu"], name_of(event)), seen.types[event["pmu"]]
            low, high = (row.get(LOW), row.get(HIGH)) if row else (None, None)
            most_true = event["value"] * (1 if event["user"] else 1 + MISSED_IN_SWITCHES)
            inside = low is not None and high is not None and low <= most_true and event["value"] <= high and row[STATE] == MULTIPLEXED
            interval = "-" if low is None or high is None else f"{low:.0f}..{high:.0f}"
            error, state = (error_of(number_of(row), event["value"]), row[STATE]) if row else (None, "no row")
            found.append(Compared(thread["name"], core_type, name_of(event), event["value"], interval, error, state, inside))
    return found


def judge_starved(seen, most):
    """Thread 0 ran only while counters were free: its known number. Thread 1 ran only while there were none: no number may stand for it."""
    free, starved = seen.truth["threads"]
    counted, coverage = seen.total(free, "instructions:u")
    found = [compared(free, "all", "instructions:u", free["instructions"], {COUNT: counted, STATE: f"{100 * coverage:.1f} % counted"}, most)]
    counted, coverage = seen.total(starved, "instructions:u")
    # What was counted before the counters were taken may be stated with its small share, never more than was counted.
    well = coverage < BELOW_THIS_SHARE_REFUSED and (counted or 0) < starved["instructions"] * BELOW_THIS_SHARE_REFUSED
    said, share = "-" if counted is None else round(counted), f"{100 * coverage:.1f} % counted"
    found.append(Compared(starved["name"], "all", "instructions:u", "nothing", said, None, share, well))
    return found


def judge_half(seen, most):
    """The type that has a PMU against own events; on the other, every row says that there is no such event."""
    found = judge_own(seen, most)
    for thread in seen.truth["threads"]:
        others = {key: row for key, row in seen.rows.items() if key[0] == thread["tid"] and key[1] not in seen.types.values()}
        if not others and not seen.stub:
            found.append(Compared(thread["name"], "without PMU", "-", NO_EVENT, "-", None, "no row", False))
        found += [absent(thread, key[1], key[2], row, NO_EVENT) for key, row in others.items()]
    return found


CASES = {
    "plain": Case(FOUR, "busy OUT 6 500", "", None),
    "known": Case(ONE, "known OUT 3 100", "instructions:u," + BOTH, judge_known),
    "hop": Case(TWO, "hop OUT 2000", BOTH, judge_own),
    "perf_stat": Case(TWO, "hop OUT 2000", BOTH, judge_perf_stat),
    "three": Case(THREE, "hop OUT 2000", BOTH, judge_own),
    "busy": Case(TWO, "busy OUT 6 4000", BOTH, judge_own, 0.005),
    "one_type": Case(TWO, "one_type OUT 2000", BOTH, judge_own),
    "varying": Case(ONE, "varying OUT 30 20000 7", MORE_THAN_FIT, judge_inside),
    "starve": Case(ONE, "starve OUT 100", "instructions:u," + BOTH, judge_starved),
    "half_pmu": Case(HALF, "hop OUT 2000", BOTH, judge_half),
    "watch": Case(FOUR, "", "cycles", None),
    "no_pmu": Case(NONE, "known OUT 2 20", "cycles", None),
}
SMALL = ["plain", "known", "hop"]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("cases", nargs="*", metavar="CASE", help="; ".join(CASES))
    args.add_argument("--small", action="store_true", help=f"only: {', '.join(SMALL)}")
    args.add_argument("--stub", action="store_true", help="record nothing")
    args.add_argument("--keep", type=Path, metavar="DIR", help="keep what the guests bring out")
    args = args.parse_args()
    unknown = [name for name in args.cases if name not in CASES]
    if unknown:
        sys.exit(f"guests_pmu.py: there is no case {unknown[0]}; the cases are {', '.join(CASES)}")
    corewise.need_binary()
    try:
        guest.need_tools()
    except guest.Lacking as why:
        if not args.small:
            sys.exit(f"guests_pmu.py: {why}")
        print(f"skipped: {why}")
        return 0
    chosen = args.cases or (SMALL if args.small else list(CASES))
    try:
        with tempfile.TemporaryDirectory(prefix="guests-pmu-") as tmp:
            return run_cases(chosen, guest.prepare(Path(tmp)), args.keep or Path(tmp) / "out", args.stub)
    except (guest.Lacking, OSError) as why:
        sys.exit(f"guests_pmu.py: {why}")


def run_cases(names, kit, to, stub):
    machines = defaultdict(list)
    for name in names:
        machines[CASES[name].machine].append(name)
    rows, lines, short = [], [], []
    to.mkdir(parents=True, exist_ok=True)
    for machine, of in machines.items():
        for name in of:
            shutil.rmtree(to / name, ignore_errors=True)
        guest.boot(kit, machine, "".join(script_of(name, stub) for name in of), to)
        for name in of:
            found, line, well = judged(name, to / name, stub)
            rows += [[name, c.thread, c.core_type, c.event, c.truth, c.counted, "-" if c.error is None else f"{100 * c.error:.3f}", c.state,
                      "" if c.well else "NO"] for c in found if len(found) <= MOST_SHOWN or not c.well]
            lines.append(f"{name}: {'met' if well else 'short'}, {line}")
            short += [] if well else [name]
    if rows:
        corewise.print_table(["case", "thread", "core type", "event", "truth", "counted", "error %", "state", ""], rows)
    print("\n".join(lines))
    return 1 if short else 0


def script_of(name, stub):
    """Returns what the guest runs: the load under the recorder, its output, and what they ended with."""
    case = CASES[name]
    if name == "watch":
        return WATCH
    load = f"load {case.load.replace('OUT', 'load.json')}"
    events = f"{OPTION} {case.events} " if case.events else ""
    if case.judge is judge_perf_stat:
        load = f"perf stat -x, -o perf.csv -e {PERF_EVENTS} -- {load}"
    run = load if stub else f"corewise record {events}-o run.cw -- {load}"
    doctor = WITHOUT_COUNTERS if name in ("plain", "no_pmu") else ""
    report = "corewise report run.cw > report.txt 2>&1\n" if name == "plain" else ""
    return f"mkdir /out/{name}; cd /out/{name}; {run} > record.txt 2>&1; echo $? > status\n{doctor}{report}"


def judged(name, folder, stub):
    """Returns the comparisons of a case, the words of its line, and whether it is met."""
    case = CASES[name]
    if name == "watch":
        return judged_watch(folder)
    said, status = (folder / "record.txt").read_text(), int((folder / "status").read_text())
    if name == "no_pmu" and not stub:
        return [], *refusal(said, status, int((folder / "plain_status").read_text()))
    if status:
        return [], f"ended with status {status}: {last_line(said)}", False
    if not stub:
        wrong = recording_wrong(folder / "run.cw", said)
        if wrong:
            return [], wrong, False
    if stub and case.judge in (None, judge_inside):
        return [], "only without --stub", True
    if not case.judge:
        return [], *plain(folder)
    seen = stubbed(json.loads((folder / "load.json").read_text())) if stub else seen_in(folder)
    if case.judge is judge_perf_stat:
        seen.perf = perf_printed((folder / "perf.csv").read_text())
    found = case.judge(seen, case.most)
    errors = [c.error for c in found if c.error is not None]
    worst = f"worst error {100 * max(errors):.3f} %" if errors else "no error to compare"
    if case.judge is judge_inside:
        inside = sum(c.well for c in found)
        return found, f"{inside} of {len(found)} inside the interval, {worst}", bool(found) and inside >= WANTED_INSIDE * len(found)
    return found, worst, bool(found) and all(c.well for c in found)


def judged_watch(folder):
    """Sums of `corewise watch` by core type, against the frequency, and their times against the time of the CPUs."""
    said = (folder / "said.txt").read_text()
    found = []

    def row(core_type, event, what, truth, counted, most, state=""):
        error = error_of(counted, truth)
        found.append(Compared(what, core_type, event, round(truth), round(counted), error, state, error is not None and error <= most))

    def sums(snapshot):
        classes = snapshot["machine"]["class_names"]
        return {(classes[of["class"]], of["event"]): of for of in snapshot["counters"]}

    snapshot = json.loads((folder / "offline.json").read_text())
    elapsed = snapshot["at_ns"] - snapshot["started_ns"]
    of = sums(snapshot)
    for core_type, pmu in (("efficient", "armv8_cortex_a53"), ("performance", FAST_PMU)):
        one = of[core_type, "cycles"]
        row(core_type, "cycles", "count", one["counted_ns"] * HZ / 1e9, one["count"], 0.01, one["pmu"])
        found[-1] = found[-1] if one["pmu"] == pmu and not one["estimated_ns"] else Compared("PMU", core_type, "cycles", pmu, one["pmu"], None, "", False)
    row("efficient", "cycles", "counted ns", 2 * elapsed, of["efficient", "cycles"]["counted_ns"], 0.01)
    counted = of["performance", "cycles"]["counted_ns"]
    least, most = 2 * elapsed - (OFFLINE_S + READ_EACH + 1) * 1e9, 2 * elapsed - (OFFLINE_S - 1) * 1e9
    found.append(Compared("counted ns", "performance", "cycles", f"{least:.0f}..{most:.0f}", counted, None, "a CPU was offline", least < counted < most))
    shared = sums(json.loads((folder / "shared.json").read_text()))
    for event in SHARED.split(",")[::3]:
        one = shared["performance", event]
        time = one["counted_ns"] + one["estimated_ns"]
        row("performance", event, "count", time * HZ / 1e9, one["count"], 0.05, f"{100 * one['estimated_ns'] / time:.0f} % estimated")
    well = all(c.well for c in found) and any(one["estimated_ns"] for one in shared.values()) and ("efficient", SHARED.split(",")[3]) not in shared
    default = (folder / "default.txt").read_text()
    well = well and "Counters" in default and "cycles" in default
    errors = [c.error for c in found if c.error is not None]
    return found, f"worst error {100 * max(errors):.3f} %; {last_line(said)}", well


def last_line(said):
    return next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "no output")


def refusal(said, status, plain_status):
    """Without a PMU: one sentence that names it, and recording without counters works."""
    lines = [line for line in said.splitlines() if line.strip()]
    if status == 0 or not any("PMU" in line for line in lines):
        return f"status {status}, and no sentence names the PMU: {last_line(said)}", False
    if plain_status:
        return f"recording without counters ended with status {plain_status}", False
    return f"refused: {next(line.strip() for line in lines if 'PMU' in line)}", True


def recording_wrong(trace, said):
    """Returns what is wrong with a recording apart from its counts, or None."""
    if ", by bpf" not in said or " 0 lost" not in said:
        return f"not recorded by BPF without losses: {last_line(said)}"
    checked = corewise.check(trace)
    return f"verify: {checked['broken']} inconsistent switches" if checked.get("broken") else None


def plain(folder):
    """A recording of today's kind: core types, and a report in the guest."""
    types = sorted(row["core_type"] for row in corewise.table(folder / "run.cw", "cpus"))
    well = types == ["efficient", "efficient", "performance", "performance"] and "Verdict" in (folder / "report.txt").read_text()
    return f"core types {', '.join(types)}", well


def perf_printed(text):
    """Reads perf stat's -x,: value, unit, event (PMU/name/), running ns, percentage."""
    rows = [line.split(",") for line in text.splitlines() if "/" in line and not line.startswith("#")]
    return {row[2].split("/")[0]: (int(row[0]), int(row[3])) for row in rows}


def cpu_list(text):
    """"0-1,3" as numbers."""
    parts = [part.split("-") for part in text.split(",") if part]
    return [cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)]


def seen_in(folder):
    trace, truth = folder / "run.cw", json.loads((folder / "load.json").read_text())
    by_cpu = {row["cpu"]: row["core_type"] for row in corewise.table(trace, "cpus")}
    types = {pmu["name"]: by_cpu[cpu_list(pmu["cpus"])[0]] for pmu in truth["pmus"]}
    rows = defaultdict(list)
    for row in corewise.table(trace, TABLE):
        rows[row["tid"], row[TYPE], row[EVENT]].append(row)
    return Seen(truth, {key: merged(of) for key, of in rows.items()}, types)


def stubbed(truth):
    """Takes the threads' own events for what corewise counted; a PMU's name stands for its core type."""
    rows = {}
    for thread in truth["threads"]:
        for event in thread["events"]:
            state = COUNTED if event["running_ns"] else NOT_ON_TYPE
            on_type = event["running_ns"] if state == NOT_ON_TYPE or len(truth["pmus"]) > 1 else event["enabled_ns"]
            rows[thread["tid"], event["pmu"], name_of(event)] = {COUNT: event["value"], ESTIMATE: event["value"], ENABLED: on_type,
                                                                 RUNNING: event["running_ns"], STATE: state}
    return Seen(truth, rows, {pmu["name"]: pmu["name"] for pmu in truth["pmus"]}, True)


if __name__ == "__main__":
    sys.exit(main())
