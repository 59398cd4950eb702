#!/usr/bin/env python3
"""An independent, slow, simple reader of scheduler traces: the referee for corewise's numbers.

    perf script -F comm,tid,cpu,time,event,trace --ns -i perf.data | oracle.py
    trace-cmd report -t -R -i trace.dat | oracle.py     (-R: its plugin prints wrong letters for some states)
    oracle.py [--before-4.14] < ftrace.txt

It reads the text of sched_switch, sched_waking and sched_wakeup(_new) lines and prints JSON: for each thread number the
nanoseconds running, ready (runnable, not running), blocked, unknown and exited, its switch-outs by kind, the longest ready
wait, its migrations and its running time by CPU; for each CPU with a switch the busy, idle and unknown nanoseconds; how
long how many CPUs ran a thread with certainty while how many were unknown. States are those of docs/accounting.md:

- running   from switch-in to switch-out
- ready     after a switch-out in a runnable state (R, R+), or from the waking event of a blocked thread.
            A waking may be recorded just before the switch-out it undoes: if a thread was woken while it still ran, then
            switched out blocked, and is switched in again with no other waking between, it was ready from the switch-out.
- blocked   after any other switch-out
- exited    after a switch-out in state X or Z, until the number is used again
- unknown   before the thread's first event, unless that is its sched_wakeup_new: then its life begins there. Where a CPU's
            chain is broken: a switch-out of a thread that was not seen to be switched in there (`broken` counts them). Its
            time since its last change of state is unknown, so is the time of the thread that was seen switched in, and the
            CPU's time since then. Where a blocked thread is switched in with no waking between (`unwoken` counts them).
            Where a number begins a new life (sched_wakeup_new) and the former one was not seen to exit. Where a thread is
            woken for a CPU of which the text has no event, or moved there while it is ready. Since its last change where a
            line names a waiting thread as the one that its CPU runs; the CPU then is unknown since its last switch. Since
            its waking where a thread is woken again before it was switched in.
The recording runs from the first to the last event of any kind in the text. Events of the same nanosecond: on one CPU in
the order of the text; across CPUs wakings before switches, then the lower CPU.

Numeric states (`trace-cmd report -R`, raw text): since Linux 4.14 R+ is 256, X and Z 16 and 32, P (parked) 64; before it
R+ was the highest bit (1024 and up) and 64 was dead, and the letter x too. A number of 512 or more shows an older
kernel by itself; --before-4.14 says so. Exit status 1: some scheduler line could not be read (`unparsed`).
"""
import heapq
import json
import re
import sys
from collections import Counter, defaultdict

HEAD = re.compile(r"\[(\d+)\][^:]*?(?:\s(\d+)\.(\d+)|\s*(\d{6,})):\s+(?:\d+\s+)?(?:\w+:)?([A-Za-z][\w./-]*):\s*(.*)$")
CURRENT = re.compile(r"(?:(?<=\S)-|\s)(\d+)\s+(?:\([-\s\d]*\)\s+)?\[\d+\]")  # the thread that the CPU runs, by the head of the line
MIGRATE = re.compile(r"pid=(\d+) .*dest_cpu=(\d+)")
KEYED = re.compile(
    r"prev_comm=(.*) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+) (?:==> )?next_comm=(.*) next_pid=(\d+) next_prio=(-?\d+)")
BARE = re.compile(r"(.*):(\d+) \[(-?\d+)\] (\S+) ==> (.*):(\d+) \[(-?\d+)\]")
WAKE_KEYED = re.compile(r"comm=(.*) pid=(\d+) prio=(-?\d+)(?: success=\d)?(?: target_cpu=(\d+))?")
WAKE_BARE = re.compile(r"(.*):(\d+) \[(-?\d+)\](?: success=\d)?(?: CPU:| <CPU:)(\d+)")
SCHED = re.compile(r"\[\d{3,}\].*\d: .*\bsched_(?:switch|wak\w+): ")
WAKINGS = ("sched_waking", "sched_wakeup", "sched_wakeup_new")


def events(lines, unparsed):
    """Yield (ns, cpu, kind, fields, current) in file order; kind is switch, waking, wakeup, wakeup_new, migrate or other."""
    for line in lines:
        m = HEAD.search(line)
        if not m:
            unparsed["head"] += bool(SCHED.search(line))
            continue
        cpu, sec, frac, bare, kind, rest = m.groups()  # trace-cmd prints some clocks as bare nanoseconds
        ns = int(bare) if bare else int(sec) * 10**9 + int(frac.ljust(9, "0")[:9])
        named = CURRENT.search(line)
        current = int(named.group(1)) if named else 0
        if kind == "sched_switch":
            f = KEYED.search(rest) or BARE.search(rest)
            if f:
                pc, pt, _pp, st, nc, nt, _np = f.groups()
                yield ns, int(cpu), "switch", (pc, int(pt), st, nc, int(nt)), current
            else:
                unparsed[kind] += 1
        elif kind in WAKINGS:
            f = WAKE_KEYED.search(rest) or WAKE_BARE.search(rest)
            if f:
                target = int(f.group(f.lastindex)) if f.lastindex > 3 else None
                yield ns, int(cpu), kind.removeprefix("sched_"), (f.group(1), int(f.group(2)), target), current
            else:
                unparsed[kind] += 1
        elif kind == "sched_migrate_task" and (f := MIGRATE.search(rest)):
            yield ns, int(cpu), "migrate", (int(f.group(1)), int(f.group(2))), current
        else:
            yield ns, int(cpu), "other", (), current


def ordered(stream, unparsed):
    """All events in time order; see the last paragraph on order in the module's text."""
    by_cpu = defaultdict(list)
    for e in events(stream, unparsed):
        by_cpu[e[1]].append(e)
    queues = [iter(sorted(q, key=lambda e: e[0])) for _, q in sorted(by_cpu.items())]  # stable: text order within a nanosecond
    heads = [(e[0], e[2] == "switch", i, e) for i, q in enumerate(queues) if (e := next(q, None))]
    heapq.heapify(heads)
    while heads:
        _, _, i, event = heads[0]
        yield event
        e = next(queues[i], None)
        heapq.heapreplace(heads, (e[0], e[2] == "switch", i, e)) if e else heapq.heappop(heads)


class Meaning:
    """What a prev_state says: runnable, exited or blocked."""

    def __init__(self, states, old):
        self.old = old or any(s.isdigit() and int(s) >= 512 for s in states)

    def of(self, state):
        if state[0].isdigit():
            n = int(state, 0)
            runnable = n == 0 or n >= 1024 if self.old else n == 0 or n & 256
            dead = n & (112 if self.old else 48)
            return "runnable" if runnable else "exited" if dead else "blocked"
        if state in ("R", "R+"):
            return "runnable"
        return "exited" if state[0] in ("XZx" if self.old else "XZ") else "blocked"


class Thread:
    def __init__(self, tid):
        self.tid, self.name = tid, ""
        self.state, self.since, self.cpu = "unknown", None, None
        self.ns = Counter()
        self.by_cpu = Counter()
        self.switch_outs = Counter()
        self.migrations = 0
        self.max_ready = 0
        self.unwoken = 0
        self.woken = None
        self.waits = False  # ready since a waking, not since a switch-out

    def go(self, ns, state, begin):
        start = self.since if self.since is not None else begin
        self.ns[self.state] += ns - start
        if self.state == "ready":
            self.max_ready = max(self.max_ready, ns - start)
        if self.state == "running":
            self.by_cpu[self.cpu] += ns - start
        self.state, self.since = state, ns


def run(stream, old=False):
    unparsed = Counter()
    all_events = list(ordered(stream, unparsed))
    if not any(e[2] not in ("other", "migrate") for e in all_events):
        sys.exit("no sched_switch, sched_waking or sched_wakeup lines found")
    wakes = [e[2] for e in all_events if e[2] in ("waking", "wakeup")]
    has_waking, has_wakes = "waking" in wakes[:10_000], bool(wakes)
    meaning = Meaning({e[3][2] for e in all_events if e[2] == "switch"}, old)
    begin, end = all_events[0][0], all_events[-1][0]
    threads = {}
    current, since = {}, {}
    spans = []  # (start, end, cpu, busy | idle | unknown)
    broken = 0
    refuted = set()  # CPUs on which another thread runs than their last switch brought in
    former = set()  # CPUs whose current number was that of a former life
    recorded = {e[1] for e in all_events}
    heads = set()  # threads that the heads of lines name
    same_numbers = True  # of threads in the heads of lines and in switches: not if a container recorded

    def thread(tid, name):
        t = threads.setdefault(tid, Thread(tid))
        t.name = name or t.name
        return t

    def runs_here(tid, cpu):
        return threads[tid].state == "running" and threads[tid].cpu == cpu

    for ns, cpu, kind, f, named in all_events:
        if kind == "switch":
            same_numbers = same_numbers and named == f[1]
        elif named and same_numbers and (current.get(cpu) != named or cpu in former or cpu in refuted):
            t = threads.get(named)
            heads.add(named)
            leaving = t and t.cpu == cpu and cpu in since and ns - since[cpu] < 200_000  # current until the switch is done
            if t and not leaving and t.state in ("ready", "blocked", "either"):  # it runs: its switch-in is missing
                t.state = "unknown"
                if cpu in current:
                    refuted.add(cpu)
                    other = threads.get(current[cpu])
                    if other and cpu not in former and runs_here(other.tid, cpu):
                        other.state = "unknown"
                        other.go(ns, "unknown", begin)
        if kind == "switch":
            pc, pt, st, nc, nt = f
            if cpu not in current:
                spans.append((begin, ns, cpu, "unknown"))
            elif cpu not in refuted and current[cpu] == pt and (not pt or runs_here(pt, cpu)):
                spans.append((since[cpu], ns, cpu, "busy" if pt else "idle"))
            else:  # events were lost here: nobody knows what ran
                broken += 1
                spans.append((since[cpu], ns, cpu, "unknown"))
                ghost = threads.get(current[cpu])
                if ghost and runs_here(ghost.tid, cpu):
                    ghost.state = "unknown"
                    ghost.go(ns, "unknown", begin)
            if pt:
                t = thread(pt, pc)
                if not runs_here(pt, cpu):
                    t.state = "unknown"  # since its last event
                how = meaning.of(st)
                t.switch_outs["involuntary" if how == "runnable" else "voluntary"] += 1
                early = t.woken is not None and t.state == "running"  # ready or blocked: its next event will tell
                t.go(ns, {"runnable": "ready", "exited": "exited", "blocked": "either" if early else "blocked"}[how], begin)
                t.cpu, t.woken, t.waits = cpu, None, False
            current[cpu], since[cpu] = nt, ns
            former.discard(cpu)
            refuted.discard(cpu)
            if nt:
                t = thread(nt, nc)
                if t.state == "running":  # it left its CPU unseen
                    t.state = "unknown"
                if t.state == "blocked" and has_wakes:  # its waking was lost
                    t.state = "unknown"
                    t.unwoken += 1
                if t.state == "either":
                    t.state = "ready"
                if t.cpu is not None and t.cpu != cpu:
                    t.migrations += 1
                t.go(ns, "running", begin)
                t.cpu, t.woken = cpu, None
        elif kind == "migrate":
            t = threads.get(f[0])
            if t and t.state == "ready" and f[1] not in recorded:
                t.go(ns, "unknown", begin)
        elif f and f[1] and kind == "wakeup" and has_waking:
            t = threads.get(f[1])
            if t and t.state == "ready" and t.waits and f[2] is not None and f[2] not in recorded:
                t.state = "unknown"  # since its waking
        elif f and f[1]:
            t = thread(f[1], f[0])
            if kind == "wakeup_new":  # a life begins here
                former |= {c for c, tid in current.items() if tid == t.tid}
                if t.since is None:
                    t.since = ns
                elif t.state != "exited":
                    t.state = "unknown"
                t.cpu = t.woken = None
            if t.state == "either":
                t.state = "blocked"
            if t.state == "ready" and t.waits:  # only a sleeping thread is woken: it ran since it was woken before
                t.state = "unknown"
            if t.state in ("blocked", "unknown", "exited"):
                seen = f[2] is None or f[2] in recorded
                t.go(ns, "ready" if seen else "unknown", begin)
                t.waits = True
            else:
                t.woken = ns
    for cpu, tid in current.items():
        seen = cpu not in refuted and (not tid or runs_here(tid, cpu))
        spans.append((since[cpu], end, cpu, ("busy" if tid else "idle") if seen else "unknown"))
    for tid in heads if same_numbers else ():
        threads.setdefault(tid, Thread(tid))
    for t in threads.values():
        if t.state == "either":
            t.state = "unknown"
        t.go(end, t.state, begin)

    cpus = defaultdict(Counter)
    steps = defaultdict(lambda: [0, 0])  # ns: change of running, of unknown
    for start, stop, cpu, what in spans:
        cpus[cpu][what] += stop - start
        if what != "idle":
            steps[start][what == "unknown"] += 1
            steps[stop][what == "unknown"] -= 1
    concurrency, at, running, unknown = Counter(), begin, 0, 0
    for ns in sorted(steps):
        concurrency[running, unknown] += ns - at
        at, running, unknown = ns, running + steps[ns][0], unknown + steps[ns][1]
    concurrency[running, unknown] += end - at

    by_cpu = Counter()
    for t in threads.values():
        by_cpu.update(t.by_cpu)
    assert all(by_cpu[c] == n["busy"] for c, n in cpus.items()), "threads' and CPUs' sums differ"
    assert sum(r * d for (r, _), d in concurrency.items()) == sum(n["busy"] for n in cpus.values())
    assert sum(u * d for (_, u), d in concurrency.items()) == sum(n["unknown"] for n in cpus.values())
    return {
        "begin_ns": begin, "end_ns": end, "events": len(all_events), "unparsed": dict(+unparsed),
        "broken": broken, "unwoken": sum(t.unwoken for t in threads.values()),
        "switches": sum(1 for e in all_events if e[2] == "switch"),
        "threads": [
            {"tid": t.tid, "name": t.name, **{f"{s}_ns": t.ns[s] for s in ("running", "ready", "blocked", "unknown", "exited")},
             "involuntary": t.switch_outs["involuntary"], "voluntary": t.switch_outs["voluntary"],
             "max_ready_ns": t.max_ready, "migrations": t.migrations, "unwoken": t.unwoken,
             "running_ns_by_cpu": {str(c): n for c, n in sorted(t.by_cpu.items())}}
            for t in sorted(threads.values(), key=lambda t: -t.ns["running"])],
        "cpus": {str(c): {f"{s}_ns": b[s] for s in ("busy", "idle", "unknown")} for c, b in sorted(cpus.items())},
        "concurrency": [] if not cpus else [{"running": r, "unknown": u, "duration_ns": d} for (r, u), d in sorted(concurrency.items()) if d],
    }


if __name__ == "__main__":
    result = run(sys.stdin, old="--before-4.14" in sys.argv[1:])
    json.dump(result, sys.stdout, indent=1)
    print()
    sys.exit(1 if result["unparsed"] else 0)
