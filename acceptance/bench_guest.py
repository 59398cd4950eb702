#!/usr/bin/env python3
"""What `corewise bench` finds in guests with two threads a core, with unequal capacities, and with a CPU that is slower than described.

    acceptance/bench_guest.py [CASE…] [--keep DIR] [--budget SECONDS]

The guests are emulated (QEMU, aarch64, TCG), so their times mean nothing, which the output must say. In the first two, QEMU counts time by
instructions (-icount), so that what else runs on the host disturbs fewer rounds. Where their threads ran is real: `corewise bench` records a part
of its rounds by BPF in the guest, and compares the recording with what it requested. The cases, each with what is required:

    siblings   4 CPUs, two threads a core: pairs of the classes same CPU and sibling (0-1, 2-3) and no sibling elsewhere; switch, migrate, smt
               and speed run; each thread ran where it should and moved as often as it should
    unequal    4 CPUs, of which the device tree says that 0-1 have 446 of 1024 of the capacity of 2-3: these are efficient, those performance;
               pairs of the class other type in both directions and none of another class between these CPUs; placement as above; since all
               CPUs are equally fast, `speed` says that the measured speeds do not agree with the core types
    quota      2 CPUs, whose host threads are bound to a host CPU each; the tree calls CPU 1 performance, and a quota lets its thread run for 42 %
               of the time. `speed` says that the types are swapped, and finds a ratio of 0.42 within 10 % (the median of the kernels without
               memory, as in its sentence). `chunks`: the sentence with the ranking has the order of the measured makespans, with those together
               whose intervals overlap; and dynamic 128, dynamic 1024 and guided are each faster than affinity and than static, with disjoint
               intervals

The quota is 1 ms of 2.381 ms: the kernel refuses a quota below 1 ms, so 0.42 ms of 1 ms cannot be had. The kernel looks at quotas at its tick
only (4 ms at 250 Hz), so that the thread runs for about 4 ms and then waits for about 5.5 ms, whatever the period.

Needs what acceptance/guests_pmu.py needs; `quota` also needs two CPUs, root, and the controller cpu of cgroup version 1 at
/sys/fs/cgroup/cpu (version 2 was not tried). The host's CPUs should be idle. Exits 1 if a case falls short.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import corewise
from pmu import guest

QUOTA, QUOTA_US, PERIOD_US = 0.42, 1000, 2381
MOST_OFF = 0.10
SLOW, FAST = ("arm,cortex-a53-pmu", 446), ("arm,cortex-a72-pmu", 1024)
# The kernels that corewise judges core types by (COMPUTE of crates/bench/src/probes/speed.rs).
COMPUTE = ["add", "integer", "multiply", "divide", "float", "vector", "branchy"]
MANY_CHUNKS, ONE_CHUNK = ["dynamic 128", "dynamic 1024", "guided"], ["affinity", "static"]
SCRIPT = """corewise bench --quick --budget {budget} {options} --format json {probes} > bench.json 2> said; echo $? > status
corewise topo > topo 2>&1
"""


@dataclass(frozen=True)
class Case:
    """A case: judge(outcome) returns lines to print and what falls short."""
    machine: guest.Machine
    probes: list
    judge: object
    # Of `corewise bench`: where only classes and placement matter, wide intervals suffice.
    options: str = ""
    # The CPU under the quota.
    slowed: int | None = None


class Short(Exception):
    """A case cannot be judged; holds a sentence."""


# ---- Judgements of the JSON of `corewise bench` ----

def judge_run(out, probes, recorded=True):
    """What holds for each guest: all probes ran, the output says what the times mean, and the placement is as requested."""
    fails = [] if any("times of an emulator mean nothing" in words for words in out["warnings"]) else ["no word that the times mean nothing"]
    rows = []
    for name in probes:
        figures = costs_of(out, name)
        run = next((run for run in out["runs"] if run["probe"] == name), None)
        if not figures or not run:
            fails.append(f"{name} has no figures: {'; '.join(run['lacks']) if run else 'it did not run'}")
            continue
        placed = run["placement"]
        thrown = sum(figure["misplaced"] for figure in figures)
        disturbed = corewise.percent(run["disturbed_share"], 1)
        if not placed:
            if recorded:
                fails.append(f"{name}: placement was not verified: {'; '.join(run['lacks'])}")
            rows.append([name, len(figures), "-", "-", "-", "-", thrown, disturbed])
            continue
        moves = f"{placed['moves_found']} of {placed['moves_requested']}"
        rows.append([name, len(figures), placed["threads"], placed["as_expected"], moves, placed["missing"], thrown, disturbed])
        # `threads` are those that the recording has; one that it does not have is not verified.
        if not placed["threads"] or placed["as_expected"] != placed["threads"] or placed["missing"]:
            fails.append(f"{name}: {placed['threads'] - placed['as_expected']} threads elsewhere, {placed['missing']} not in the recording: "
                         + "; ".join(placed["differences"]))
        if placed["moves_found"] != placed["moves_requested"]:
            fails.append(f"{name}: {moves} moves were found")
    corewise.print_table(["probe", "figures", "threads recorded", "as requested", "moves found", "missing", "thrown away", "disturbed"], rows)
    return fails


def costs_of(out, probe):
    return next((of["costs"] for of in out["probes"] if of["probe"] == probe), [])


def pairs_of(out):
    """Returns the class of each pair that has a figure: {(from, to): {class, …}}, and the core type of each CPU."""
    pairs, types = {}, {}
    for cost in (cost for of in out["probes"] for cost in of["costs"]):
        types |= dict(zip(cost["cpus"], cost["core_types"]))
        # A pair of a CPU with itself has one.
        if cost.get("pair") and len(cost["cpus"]) in (1, 2):
            pairs.setdefault((cost["cpus"][0], cost["cpus"][-1]), set()).add(cost["pair"])
    corewise.print_table(["pairs", "class"], [[f"{a}-{b}", ", ".join(sorted(of))] for (a, b), of in sorted(pairs.items())])
    return pairs, types


def judge_classes(pairs, wanted):
    """Compares each pair's class with `wanted(from, to)`, the right one or None where several are right."""
    fails = []
    for (a, b), classes in sorted(pairs.items()):
        right = wanted(a, b)
        allowed = {right} if right else {"same_cluster", "same_l3", "other_l3"}
        if not classes <= allowed:
            fails.append(f"the pair {a}-{b} is called {', '.join(sorted(classes))}, not {' or '.join(sorted(allowed))}")
    return fails


def judge_siblings(out):
    fails = judge_run(out, ["switch", "migrate", "smt", "speed"])
    pairs, _ = pairs_of(out)
    fails += judge_classes(pairs, lambda a, b: "same_cpu" if a == b else "sibling" if a // 2 == b // 2 else None)
    found = set().union(*pairs.values()) if pairs else set()
    fails += [f"no pair of the class {name}" for name in ("same_cpu", "sibling") if name not in found]
    return fails if found - {"same_cpu", "sibling"} else [*fails, "no pair of two cores"]


def judge_unequal(out):
    fails = judge_run(out, ["switch", "migrate", "speed"])
    pairs, types = pairs_of(out)
    print("core types:", ", ".join(f"{cpu} {of}" for cpu, of in sorted(types.items())))
    if types != {0: "efficient", 1: "efficient", 2: "performance", 3: "performance"}:
        fails.append("the core types are others")
    fails += judge_classes(pairs, lambda a, b: "same_cpu" if a == b else "other_type" if a // 2 != b // 2 else None)
    for low, words in ((True, "to a faster"), (False, "to a slower")):
        if not any("other_type" in of and (a < b) == low for (a, b), of in pairs.items()):
            fails.append(f"no pair of the class other_type {words} type")
    show_speeds(out)
    notes = [note for run in out["runs"] if run["probe"] == "speed" for note in run["notes"]]
    if not any("do not agree with the core types" in note for note in notes):
        fails.append("speed does not say that the measured speeds do not agree with the description")
    return fails


def show_speeds(out):
    """Prints how fast the slower type is relative to the one that is described as the fastest. Returns the ratios of the kernels without memory."""
    speeds = [cost for cost in costs_of(out, "speed") if cost["figure"] == "speed"]
    corewise.print_table(["kernel", "CPUs", "speed", "interval", "control", "rounds", "disturbed"], [
        [cost["parameters"]["kernel"], "/".join(map(str, cost["cpus"])), f"{cost['value']:.3f}", f"{cost['low']:.3f} to {cost['high']:.3f}",
         f"{control_of(cost)}", cost["repetitions"], cost["disturbed"]] for cost in speeds])
    return [cost["value"] for cost in speeds if cost["parameters"]["kernel"] in COMPUTE]


def control_of(cost):
    control = cost.get("control")
    return f"{control['low']:.3f} to {control['high']:.3f}" if control else "-"


def judge_quota(out):
    fails = judge_run(out, ["speed", "chunks"], recorded=False)
    ratios = show_speeds(out)
    if not ratios:
        return [*fails, "no speeds"]
    # The speed of CPU 0, which the tree calls slower, over that of CPU 1; the other way round is what the quota sets.
    ratio = statistics.median(1 / value for value in ratios)
    inside = sum(abs(1 / value / QUOTA - 1) <= MOST_OFF for value in ratios)
    print(f"speed of the CPU under the quota: {ratio:.3f} of the other (quota {QUOTA}: {100 * (ratio / QUOTA - 1):+.1f} %); {inside} of "
          f"{len(ratios)} kernels within {100 * MOST_OFF:.0f} %")
    if abs(ratio / QUOTA - 1) > MOST_OFF:
        fails.append(f"the ratio is {ratio:.3f}, not {QUOTA} within {100 * MOST_OFF:.0f} %")
    notes = {run["probe"]: run["notes"] for run in out["runs"]}
    if not any("core types swapped: CPUs 1 are called performance" in note for note in notes.get("speed", [])):
        fails.append("speed does not say that the core types are swapped")
    spans = {name_of(cost): cost for cost in costs_of(out, "chunks") if cost["figure"] == "makespan"}
    order = sorted(spans, key=lambda name: spans[name]["value"])
    corewise.print_table(["schedule", "makespan ms", "interval", "rounds", "disturbed"], [
        [name, f"{of['value'] / 1e6:.2f}", f"{of['low'] / 1e6:.2f} to {of['high'] / 1e6:.2f}", of["repetitions"], of["disturbed"]]
        for name, of in ((name, spans[name]) for name in order)])
    said = next((note for note in notes.get("chunks", []) if note.startswith("schedules, fastest first: ")), "")
    if said_groups(said) != groups_of(order, spans):
        fails.append(f"the ranking is not the measured one: {groups_of(order, spans)}")
    for many in MANY_CHUNKS:
        for one in ONE_CHUNK:
            if many not in spans or one not in spans:
                fails.append(f"no makespan of {many} or {one}")
            elif spans[many]["high"] >= spans[one]["low"]:
                fails.append(f"{many} is not faster than {one} with disjoint intervals")
    return fails


def name_of(cost):
    schedule = cost["parameters"]["schedule"]
    return f"dynamic {cost['parameters']['chunks']}" if schedule == "dynamic" else schedule


def groups_of(order, spans):
    """Returns the schedules in groups: each has those whose intervals overlap with that of its fastest one."""
    groups = []
    for name in order:
        if groups and spans[name]["low"] <= spans[groups[-1][0]]["high"]:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


def said_groups(sentence):
    """Reads the groups from the sentence "schedules, fastest first: a, b (1.00 to 1.10 ms, which do not differ); c (2.00 ms)"."""
    listed = sentence.removeprefix("schedules, fastest first: ")
    return [re.sub(r" \(.*", "", group).split(", ") for group in listed.split("; ")] if listed else []


# ---- The guests ----

# QEMU then counts time by instructions, so that what else runs on the host disturbs no round; its CPUs take turns.
BY_INSTRUCTIONS = "shift=2,sleep=off"
CASES = {
    "siblings": Case(guest.Machine("siblings", "4,sockets=1,cores=2,threads=2", icount=BY_INSTRUCTIONS),
                     ["switch", "migrate", "smt", "speed"], judge_siblings, "--precision 20%"),
    "unequal": Case(guest.Machine("unequal", 4, (((0, 1), *SLOW), ((2, 3), *FAST)), icount=BY_INSTRUCTIONS),
                    ["switch", "migrate", "speed"], judge_unequal, "--precision 3%"),
    "quota": Case(guest.Machine("quota", 2, (((0,), *SLOW), ((1,), *FAST))), ["speed", "chunks"], judge_quota,
                  "--precision 2% --no-record", 1),
}


class Quota:
    """A control group with the quota, for one thread."""

    def __init__(self):
        self.group = Path("/sys/fs/cgroup/cpu/corewise-bench-guest")
        if len(os.sched_getaffinity(0)) < 2:
            raise guest.Lacking("the case quota needs two CPUs for this process: taskset or the cpuset allows one")
        try:
            self.group.mkdir(exist_ok=True)
            (self.group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.group / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
        except OSError as why:
            self.remove()
            raise guest.Lacking(f"no CPU quota can be set: {why}: run as root, with the controller cpu of cgroup v1 at /sys/fs/cgroup/cpu") from why

    def hold(self, pid, slowed, cpus):
        """Binds each CPU's thread to a CPU of this machine, and puts that of `slowed` into the group."""
        hosts = sorted(os.sched_getaffinity(0))
        threads, until = {}, time.monotonic() + 20
        while len(threads) < cpus:
            if time.monotonic() > until:
                raise guest.Lacking(f"QEMU has threads of {len(threads)} CPUs only, not of {cpus}")
            time.sleep(0.02)
            for task in Path(f"/proc/{pid}/task").iterdir():
                found = re.match(r"CPU (\d+)/TCG", (task / "comm").read_text())
                if found:
                    threads[int(found[1])] = int(task.name)
        for number, tid in threads.items():
            os.sched_setaffinity(tid, {hosts[number % len(hosts)]})
            # What else runs on the host would take more of one CPU than of the other.
            os.setpriority(os.PRIO_PROCESS, tid, -20)
        (self.group / "tasks").write_text(str(threads[slowed]))

    def end(self):
        """Removes the group; returns how often the quota stopped the thread."""
        stat = dict(line.split() for line in (self.group / "cpu.stat").read_text().splitlines())
        self.remove()
        return f"host: the quota stopped the thread in {stat['nr_throttled']} of {stat['nr_periods']} periods"

    def remove(self):
        # The kernel sees a little later that the thread has ended.
        for _ in range(20):
            try:
                self.group.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.1)


def measure(kit, name, budget, into):
    """Boots a guest and measures in it; returns the JSON that corewise printed."""
    case = CASES[name]
    quota = Quota() if case.slowed is not None else None
    script = SCRIPT.format(budget=f"{budget}s", options=case.options, probes=" ".join(case.probes))
    started = (lambda pid: quota.hold(pid, case.slowed, case.machine.cpus)) if quota else None
    try:
        # A probe takes at most twice its budget, and its preparation as long again where CPUs are slow.
        guest.boot(kit, case.machine, script, into, 60 + 4 * budget * len(case.probes), started)
    finally:
        if quota:
            print(quota.end())
    said, status = (into / "said").read_text().strip(), int((into / "status").read_text())
    print("\n".join(line for line in said.splitlines() if line.strip()))
    if status:
        raise Short(f"corewise bench ended with status {status}")
    return json.loads((into / "bench.json").read_text())


def flattened(out):
    """The estimate's numbers of each figure lie in the figure itself or in `estimate`."""
    for of in out["probes"]:
        of["costs"] = [cost | cost.get("estimate", {}) for cost in of["costs"]]
    return out


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("cases", nargs="*", metavar="CASE", help="; ".join(CASES))
    args.add_argument("--budget", type=int, default=40, metavar="SECONDS", help="for each probe, as the guest counts them (40)")
    args.add_argument("--keep", type=Path, metavar="DIR", help="keep what the guests bring out")
    args = args.parse_args()
    unknown = [name for name in args.cases if name not in CASES]
    if unknown:
        sys.exit(f"bench_guest.py: there is no case {unknown[0]}; the cases are {', '.join(CASES)}")
    lines, short = [], 0
    try:
        with tempfile.TemporaryDirectory(prefix="bench-guest-") as tmp:
            kit = guest.prepare(Path(tmp))
            for name in args.cases or CASES:
                print(f"== {name}", flush=True)
                try:
                    out = flattened(measure(kit, name, args.budget, (args.keep or Path(tmp) / "out") / name))
                    fails = CASES[name].judge(out)
                    for run in out["runs"]:
                        print("\n".join(f"  {run['probe']}: {words}" for words in [*run["notes"], *run["lacks"]]))
                    print("\n".join(f"  warning: {words}" for words in out["warnings"]))
                except Short as why:
                    fails = [str(why)]
                short += bool(fails)
                lines.append(f"{name}: {'met' if not fails else 'short: ' + '; '.join(fails)}")
    except (guest.Lacking, OSError) as why:
        sys.exit(f"bench_guest.py: {why}")
    print("\n".join(lines))
    return int(bool(short))


if __name__ == "__main__":
    sys.exit(main())
