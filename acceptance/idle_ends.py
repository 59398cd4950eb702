#!/usr/bin/env python3
"""Checks what ended each stay in an idle state (`idle_stays`) against ftrace of the same run, and entries against cpuidle's counters.

    acceptance/idle_ends.py [LOAD…] [--cpus 0] [--seconds 8] [--keep DIR]

Each load runs under `corewise record` while an instance of ftrace records switches, wakeups, idle states, interrupts and timers as text. A
reader of that text, which shares no code with corewise, says what ended each stay of a CPU: the handler in which the wakeup of the next thread
was issued, the thread that woke it, or, where the CPU went back to sleep, the first handler. Stays are paired by CPU and the time of their
end, to 100 µs. A pair is the same if the kind, the interrupt or timer's function, the waker and the thread that ran next are.
Required: at least 99 % of the stays whose end the reader knows are paired and the same. Kernels differ in what ftrace delivers for the idle
task: --cpus. Where it does not deliver a wakeup, the reader does not know the end; these stays have a row of their own. So have stays whose
wakeup this kernel does not deliver to programs like corewise's, because a hidden task was current (no wakeup by that task is in the
recording), and of which corewise says that it was not recorded: at most 3 %.

`break-even`: the description of the machine is replaced by a tree with other target residencies, and the stays shorter than these are
compared with those of ftrace, whose entry and exit are that far apart. Required: within 1 %, or within 2, of the range that times cut to
microseconds leave. Stays that ftrace does not have are counted apart: `entries` shows whether there were any.

`entries`: for each CPU, the entries into idle states in the time of the load, and those that cpuidle counted in sysfs (`usage`),
read by the load itself at its begin and end. Required: within 1 %, or within 2.

`powertop`: runs next to a load of a few hundred sleeps a second; its wakeups a second are compared with `cpu_wakeups` in the middle of that time. Required: within 5 %
of those of the CPUs whose idle task ftrace delivers, as powertop reads the same events.

--guest: records in an emulated aarch64 guest of three CPUs (pmu/guest.py), where ftrace delivers the idle task of all CPUs.

Loads: sleeps of various lengths, timers with slack, sched pipe, network loopback, a compile, nothing. Needs root.
"""

import argparse
import collections
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import beside_ftrace
import corewise
from idle_loads import ALL_LOADS, IDLE_STATES, LOADS

WITHIN = 0.99
HIDDEN_WITHIN = 0.03
# Pairs of ends of stays: ftrace's text has microseconds, and a stay ends at the next entry or switch.
NEAR_US = 100
EVENTS = ["sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup_new", "power/cpu_idle", "irq/irq_handler_entry",
          "irq/irq_handler_exit", "irq/softirq_entry", "irq/softirq_exit", "timer/hrtimer_expire_entry", "timer/hrtimer_expire_exit",
          "timer/timer_expire_entry", "timer/timer_expire_exit"]
# Of x86, and of ARM; those that the kernel has are recorded.
MORE_EVENTS = ["irq_vectors/reschedule_entry", "irq_vectors/reschedule_exit", "irq_vectors/call_function_entry",
               "irq_vectors/call_function_exit", "irq_vectors/call_function_single_entry", "irq_vectors/call_function_single_exit",
               "ipi/ipi_entry", "ipi/ipi_exit"]
LINE = re.compile(r"^\s*(?P<comm>.+)-(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<flags>\S+)\s+(?P<s>\d+)\.(?P<us>\d{6}): (?P<event>\w+): ?(?P<rest>.*)$")
SWITCH = re.compile(r"prev_comm=.* prev_pid=(\d+) prev_prio=\S+ prev_state=(\S+) ==> next_comm=.* next_pid=(\d+)")
PID = re.compile(r" pid=(\d+) ")
TICKS = ("tick_sched_timer", "tick_nohz_handler")
SOFTIRQ = re.compile(r"vec=\d+ \[action=(\w+)\]")
NET = ("softirq NET_TX", "softirq NET_RX")
AWAKE = 4294967295
TARGETS_US = (20, 100, 500, 2000, 10000)
POWERTOP_WITHIN = 0.05
# Loads of the guest, by the shell of busybox and pmu/load.c.
GUEST_LOADS = {"busy": "load busy load.json 6 3000", "sleeps": "sh /sleeps", "tar": "sh /tars"}
GUEST_SCRIPT = """cat > /sleeps <<'END'
for n in 1 2 3 4; do (i=0; while [ $i -lt 60 ]; do sleep 0.0$n; i=$((i+1)); done) & done; wait
END
cat > /tars <<'END'
i=0; while [ $i -lt 12 ]; do tar -cf - /bin | cat | cat > /dev/null; i=$((i+1)); done
END
T=/sys/kernel/tracing
echo mono > $T/trace_clock; echo 16384 > $T/buffer_size_kb
"""
GUEST_RUN = """mkdir /out/NAME; cd /out/NAME; echo > $T/trace
for e in EVENTS; do [ -e $T/events/$e ] && echo 1 > $T/events/$e/enable; done; echo 1 > $T/tracing_on
corewise record --no-sample -o run.cw -- LOAD > record.txt 2>&1; echo $? > status
echo 0 > $T/tracing_on; cat $T/trace > ftrace.txt
"""

# `end` in µs; `length`: from the entry into the state to its end; `current`: the task that was current where the next thread was woken.
Stay = collections.namedtuple("Stay", "cpu end by interrupt waker thread length current", defaults=[None, None])
WHAT = slice(2, 6)


# ---- recording ----

def record(folder, name, seconds):
    """Records a load with corewise and ftrace at the same time."""
    load = [sys.executable, Path(__file__).with_name("idle_loads.py"), name, str(seconds), folder / "load.json"]
    command = [corewise.BINARY, "record", "-o", folder / "run.cw", "--no-sample", "--", *load]
    (folder / "printed.txt").write_text(beside_ftrace.record(folder, EVENTS, command, 98304, MORE_EVENTS))


def record_in_guest(to):
    """Records all loads in a guest."""
    from pmu import guest
    script = GUEST_SCRIPT
    for name, load in GUEST_LOADS.items():
        script += GUEST_RUN.replace("NAME", name).replace("EVENTS", " ".join(EVENTS + MORE_EVENTS)).replace("LOAD", load)
    try:
        guest.need_tools()
        with tempfile.TemporaryDirectory(prefix="idle-guest-") as tmp:
            guest.boot(guest.prepare(Path(tmp)), guest.Machine("idle", 3), script, to, patience=500)
    except (guest.Lacking, OSError) as why:
        sys.exit(f"idle_ends.py: {why}")
    for name in GUEST_LOADS:
        if (to / name / "status").read_text().strip() != "0":
            sys.exit(f"idle_ends.py: in the guest, {name}: {(to / name / 'record.txt').read_text()[-500:]}")


# ---- the reader of ftrace's text ----

class Cpu:
    def __init__(self):
        # Handlers that run, the innermost last; whether it runs the idle task; of the stay: the state, and the first handler.
        self.inside, self.idle, self.state, self.first = [], False, None, None
        # When it entered the state, and how long it stayed.
        self.entered, self.length = None, None
        # When its idle period began.
        self.since = None


# The handlers that ran where the thread was woken, the task that was current there, the CPU, what had ended the stay of that CPU if it was
# idle, the time, and whether the thread was current on a CPU itself.
Wake = collections.namedtuple("Wake", "inside waker cpu first at running")


def truth(text):
    """Returns the stays that ended, and the times of the first and last event of each CPU, µs."""
    cpus, wakes, left, stays, seen, running = collections.defaultdict(Cpu), {}, {}, [], {}, set()
    for line in map(LINE.match, text):
        if not line:
            continue
        at, number, tid, event, rest = int(line["s"]) * 10**6 + int(line["us"]), int(line["cpu"]), int(line["tid"]), line["event"], line["rest"]
        seen[number] = (seen.get(number, (at,))[0], at)
        cpu = cpus[number]
        # A thread that was woken while it slept, and is current now, has run: its switch-in was not delivered.
        if tid in wakes and not wakes[tid].running:
            del wakes[tid]
        if event.endswith("_exit"):
            if cpu.inside:
                cpu.inside.pop()
        elif handler := handler_of(event, rest):
            cpu.inside.append(handler)
            if cpu.state is not None and says_more(cpu.first, handler, cpu.inside[:-1]):
                cpu.first = handler
        elif event == "cpu_idle":
            state = int(rest.split("state=")[1].split()[0])
            cpu.inside.clear()
            if state != AWAKE:
                if cpu.idle and cpu.state is not None:
                    stays.append(Stay(number, at, kind(cpu.first), cpu.first and cpu.first[1], None, None, cpu.length))
                cpu.state, cpu.first, cpu.entered, cpu.length = state, None, at, None
            elif cpu.entered is not None:
                cpu.length, cpu.entered = at - cpu.entered, None
        elif event in ("sched_waking", "sched_wakeup_new"):
            woken = int(PID.search(f" {rest} ")[1])
            if woken not in wakes:
                wakes[woken] = Wake(list(cpu.inside), tid, number, cpu.first if cpu.idle else None, at, woken in running)
        elif event == "sched_switch":
            prev, state, following = SWITCH.match(rest).groups()
            prev, following = int(prev), int(following)
            if prev:
                left[prev] = (number, state, at)
                # A thread that is woken on its way to sleep is queued as soon as it has left its CPU.
                wake = wakes.get(prev)
                if wake and not state.startswith("R") and (wake.waker == prev or at - wake.at > NEAR_US):
                    del wakes[prev]
            running.discard(prev)
            running.add(following)
            if prev == 0 and cpu.idle:
                ended = end_of_period(number, at, following, cpu, wakes.get(following), left.get(following))
                stays.append(ended._replace(length=cpu.length))
            wakes.pop(following, None)
            cpu.inside.clear()
            cpu.idle, cpu.since, cpu.state, cpu.first, cpu.entered, cpu.length = following == 0, at, None, None, None, None
    return stays, seen


def handler_of(event, rest):
    """Returns the kind and the name of a handler, as corewise names them, or None."""
    if event in ("hrtimer_expire_entry", "timer_expire_entry"):
        return "timer", "timer " + rest.split("function=")[1].split()[0]
    if event == "irq_handler_entry":
        return "device", rest.split("name=")[1].strip()
    if event == "softirq_entry":
        return "softirq", "softirq " + SOFTIRQ.match(rest)[1]
    if event == "reschedule_entry":
        return "ipi", "ipi reschedule"
    if event in ("call_function_entry", "call_function_single_entry"):
        return "ipi", "ipi call_function"
    if event == "ipi_entry":
        reason = rest.strip("() ")
        return "ipi", "ipi " + {"R": "reschedule", "F": "call_function"}.get(reason[0], reason)
    return None


def is_tick(handler):
    return handler is not None and handler[0] == "timer" and handler[1].split()[-1] in TICKS


def says_more(first, handler, around):
    """Whether a handler says more about a stay's end: it is the first, or a timer that the tick or its own interrupt serves, or an IPI, which
    ARM handles in an interrupt."""
    if first is None:
        return True
    if handler[0] == "ipi":
        return first in around and first[0] == "device"
    return handler[0] == "timer" and (is_tick(first) or (first in around and first[0] in ("device", "softirq")))


def kind(handler):
    if handler is None:
        return "nothing"
    return "tick" if is_tick(handler) else "interrupt" if handler[0] == "softirq" else handler[0]


def end_of_period(number, at, thread, cpu, wake, left):
    """Returns what ended an idle period of a CPU that then runs a thread."""
    if wake is None:
        if left is None:
            return Stay(number, at, None, None, None, thread)
        by = ("requeued" if left[0] == number else "pulled") if left[1].startswith("R") else None
        return Stay(number, at, by, cpu.first and cpu.first[1], None, thread)
    if wake.at < cpu.since and (left is None or left[0] != number):
        # It waited on another CPU when this one became idle.
        return Stay(number, at, "pulled", cpu.first and cpu.first[1], None, thread)
    # Network softirqs that a sender runs on its own behalf.
    handlers = [handler for handler in wake.inside if wake.waker == 0 or handler[1] not in NET]
    if not handlers and wake.waker:
        return Stay(number, at, "thread", None, wake.waker, thread)
    handler = handlers[-1] if handlers else None
    # A softirq does the rest of the work of the interrupt that ended the stay, and after it the idle task wakes ksoftirqd.
    if wake.cpu == number and wake.first and (handler is None or handler[0] in ("softirq", "ipi")):
        handler = wake.first
    return Stay(number, at, kind(handler) if handler else "interrupt", handler and handler[1], None, thread, current=wake.waker)


# ---- comparison ----

def stays_of(trace):
    """Returns the stays by corewise's table, with times of the monotonic clock in µs and TIDs for threads; the time at which the recording
    began, in ns; and the TIDs of all threads that woke another one."""
    origin = json.loads((trace / "manifest.json").read_text())["origin_ns"]
    tids = {row["thread"]: row["tid"] for row in corewise.table(trace, "threads")}
    rows = []
    for row in corewise.table(trace, "idle_stays"):
        if row["ended_by"] != "cut":
            waker, thread = (tids.get(row[key]) if row[key] is not None else None for key in ("waker", "thread"))
            # With which interrupt a waker's CPU ended the stay is shown by none of ftrace's events of a wakeup.
            interrupt = None if row["ended_by"] == "thread" else row["interrupt"]
            length = None if row["stay_ns"] is None else row["stay_ns"] / 1000
            rows.append(Stay(row["cpu"], (origin + row["end_ns"]) / 1000, row["ended_by"], interrupt, waker, thread, length))
    return rows, origin, {tids.get(row["waker"]) for row in corewise.table(trace, "wakers")}


def paired(true, said):
    """Pairs stays of one CPU whose ends are near: yields (true, said or None)."""
    at = 0
    for stay in true:
        while at < len(said) and said[at].end < stay.end - NEAR_US:
            at += 1
        while at + 1 < len(said) and abs(said[at + 1].end - stay.end) < abs(said[at].end - stay.end):
            at += 1
        if at < len(said) and said[at].end <= stay.end + NEAR_US:
            yield stay, said[at]
            at += 1
        else:
            yield stay, None


def compare(folder, name, cpus, targets, verbose):
    """Returns the lines of the tables of a load (target residencies in µs), and whether all is as required."""
    with (folder / "ftrace.txt").open(errors="replace") as text:
        true, seen = truth(text)
    said, origin, wakers = stays_of(folder / "run.cw")
    well, rows, short, others = True, [], [], collections.Counter()
    for cpu in cpus:
        of = sorted((stay for stay in said if stay.cpu == cpu), key=lambda stay: stay.end)
        if not of or cpu not in seen:
            print(f"{name}: CPU {cpu} was never idle")
            well = False
            continue
        # In the time that both recorded.
        first, last = max(seen[cpu][0], of[0].end), min(seen[cpu][1], of[-1].end)
        here = [stay for stay in true if stay.cpu == cpu and first < stay.end < last]
        counts, both = collections.defaultdict(lambda: [0, 0, 0]), set()
        for stay, found in paired(here, of):
            both.add(found)
            hidden = found and found.by == "not_recorded" and stay.current and stay.current not in wakers
            sums = counts["not delivered" if hidden else stay.by]
            sums[0] += 1
            sums[1] += found is not None
            same = found is not None and stay[WHAT] == found[WHAT]
            sums[2] += same
            if not same and not hidden:
                others[stay[2:4], found and found[2:4]] += 1
        known = [of_kind for by, of_kind in counts.items() if by not in (None, "not delivered")]
        whole = [sum(column) for column in zip(*known)] or [0, 0, 0]
        well &= whole[0] > 0 and whole[2] >= WITHIN * whole[0] and counts.get("not delivered", [0])[0] <= HIDDEN_WITHIN * whole[0]
        rows += [[name, cpu, by or "not known", *of_kind, corewise.percent(of_kind[2], of_kind[0])]
                 for by, of_kind in sorted(counts.items(), key=str)]
        rows.append([name, cpu, "all", *whole, corewise.percent(whole[2], whole[0])])
        range_of = [f"{(at * 1000 - origin) / 1e9:.9f}s" for at in (first, last)]
        for us, ours in too_short(folder, cpu, "..".join(range_of), targets):
            # Both times are cut to microseconds, so a length is known to 1 us.
            surely, possibly = (sum(stay.length is not None and stay.length < of for stay in here) for of in (us, us + 1))
            # The kernel does not deliver every switch to ftrace: some stays are corewise's only. cpuidle's counter of entries has them.
            only = sum(stay.length is not None and stay.length < us and first <= stay.end <= last for stay in of if stay not in both)
            slack = max(2, 0.01 * possibly)
            close = surely - slack <= ours - only <= possibly + slack
            well &= close
            short.append([name, cpu, us, ours, only, f"{surely} to {possibly}", "" if close else "differs"])
    if verbose:
        for (by, found), count in others.most_common(12):
            print(f"    {name}: ftrace {by}, corewise {found}: {count}")
    return rows, short, well


def too_short(folder, cpu, span, targets):
    """Yields, for each target residency of a fed tree, how many stays corewise says were shorter."""
    with tempfile.TemporaryDirectory(prefix="idle-tree-") as tmp:
        tree = Path(tmp) / "tree"
        root = tree / "sys/devices/system/cpu"
        for us in targets:
            shutil.rmtree(tree, ignore_errors=True)
            for of in IDLE_STATES.glob("cpu[0-9]*"):
                for number, label in enumerate(("POLL", "C1")):
                    state = root / of.name / f"cpuidle/state{number}"
                    state.mkdir(parents=True)
                    for file, text in (("name", label), ("residency", us), ("latency", 1)):
                        (state / file).write_text(f"{text}\n")
            for file in ("online", "possible", "present"):
                shutil.copy(IDLE_STATES / file, root / file)
            words = ["--range", span, "--machine", tree, "--format", "json"]
            rows = corewise.rows_of(corewise.run("table", folder / "run.cw", "idle_ends", *words))
            yield us, sum(row["too_short"] or 0 for row in rows if row["cpu"] == cpu)


def entries_of(folder, name):
    """Returns the lines of the table of entries, and whether they are as required."""
    load, origin = json.loads((folder / "load.json").read_text()), json.loads((folder / "run.cw/manifest.json").read_text())["origin_ns"]
    span = f"{(load['begin'] - origin) / 1e9:.9f}s..{(load['end'] - origin) / 1e9:.9f}s"
    table = corewise.rows_of(corewise.run("table", folder / "run.cw", "idle_residency", "--range", span, "--format", "json"))
    lines, well = [], True
    for cpu, before in load["before"].items():
        counted = sum(load["after"][cpu]) - sum(before)
        ours = sum(row["entries"] or 0 for row in table if row["cpu"] == int(cpu))
        close = abs(ours - counted) <= max(2, 0.01 * counted)
        well &= close
        lines.append([name, cpu, ours, counted, corewise.percent(ours, counted), "" if close else "differs"])
    return lines, well


def against_powertop(folder, cpus):
    """Prints powertop's wakeups a second next to corewise's; returns whether they are as required."""
    printed = (folder / "printed.txt").read_text()
    said = re.search(r"System: *([0-9.]+) wakeup", printed)
    load, origin = json.loads((folder / "load.json").read_text()), json.loads((folder / "run.cw/manifest.json").read_text())["origin_ns"]
    begin, end = ((load[edge] - origin) / 1e9 for edge in ("begin", "end"))
    span = f"{begin + 3:.9f}s..{end - 2:.9f}s"
    table = corewise.rows_of(corewise.run("table", folder / "run.cw", "cpu_wakeups", "--range", span, "--format", "json"))
    for row in table:
        print(f"cpu_wakeups, CPU {row['cpu']}: {row['wakeups_per_s']:.1f} a second, C0 {100 * (row['c0_share'] or 0):.1f} %")
    ours = sum(row["wakeups_per_s"] for row in table if row["cpu"] in cpus)
    if not said:
        print("powertop: its output has no wakeups/second")
        return False
    theirs = float(said[1])
    print(f"powertop: {theirs} wakeups a second; corewise, CPUs {cpus}: {ours:.1f}, {corewise.percent(ours - theirs, theirs)} more")
    return abs(ours - theirs) <= POWERTOP_WITHIN * theirs and all((row["c0_share"] or 0) <= 1 for row in table)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("loads", nargs="*", help=f"of {', '.join(LOADS)}; all if none is named")
    args.add_argument("--cpus", default="0", help="CPUs whose idle task ftrace delivers (0)")
    args.add_argument("--seconds", type=float, default=8)
    args.add_argument("--keep", metavar="DIR", type=Path, help="keep the recordings here; those that are here are read again")
    args.add_argument("--guest", action="store_true", help="record in an emulated guest instead")
    args.add_argument("--verbose", action="store_true", help="print the most frequent differences")
    args = args.parse_args()
    corewise.need_binary()
    names = args.loads or list(GUEST_LOADS if args.guest else LOADS)
    if unknown := set(names) - (GUEST_LOADS if args.guest else ALL_LOADS).keys():
        sys.exit(f"no load {', '.join(sorted(unknown))}")
    cpus = [0, 1, 2] if args.guest else [int(cpu) for cpu in args.cpus.split(",")]
    rows, short, entries, failed = [], [], [], []
    with tempfile.TemporaryDirectory(prefix="idle-") as tmp:
        to = args.keep or Path(tmp)
        if args.guest and not (to / names[0] / "ftrace.txt").exists():
            record_in_guest(to)
        for name in names:
            folder = to / name
            if not args.guest and not (folder / "load.json").exists():
                folder.mkdir(parents=True, exist_ok=True)
                record(folder, name, args.seconds)
            of, too, well = compare(folder, name, cpus, () if args.guest else TARGETS_US, args.verbose)
            rows, short = rows + of, short + too
            if not args.guest:
                lines, close = entries_of(folder, name)
                entries, well = entries + lines, well and close
            if name == "powertop":
                well &= against_powertop(folder, cpus)
            failed += [] if well else [name]
    corewise.print_table(["load", "CPU", "ended by (ftrace)", "stays", "paired", "same", "share"], rows)
    if short:
        corewise.print_table(["load", "CPU", "target us", "too short", "not in ftrace", "by ftrace", ""], short)
    if entries:
        corewise.print_table(["load", "CPU", "entries", "usage", "share", ""], entries)
    if failed:
        print(f"short: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
