#!/usr/bin/env python3
"""Converts the output of `babeltrace2 --clock-seconds --no-delta FOLDER` to text that the referee (oracle.py) reads.

    babeltrace2 --clock-seconds --no-delta FOLDER | ctf_text.py [--numbers | --release 4.4.3] | oracle.py

The states stay numbers, as `trace-cmd report -R` prints them; with --release, those of a kernel before 4.14 become state letters.
Every event is a line, so that the recording begins and ends at the right time. Exit status 1: a line of the scheduler could not
be parsed.
"""

import argparse
import re
import sys

LINE = re.compile(r"\[(\d+)\.(\d{9})\] (?:\S+ )?(?:\(\S+\) )?([\w:]+): (\{.*\})")
FIELD = re.compile(r'(\w+) = (?:"((?:[^"\\]|\\.)*)"|\( ?(?:<\S+>|"\S+"|[^:()]*?) : container = (-?\d+) \)|(-?(?:0x[0-9A-Fa-f]+|\d+))|([\[{]))')
SWITCH = "prev_comm={prev_comm} prev_pid={prev} prev_prio=0 prev_state={prev_state} ==> next_comm={next_comm} next_pid={next} next_prio=0"
WAKE = "comm={comm} pid={tid} prio=0 target_cpu={target}"
WAKES = ("sched_waking", "sched_wakeup", "sched_wakeup_new")


def fields(text):
    """Returns the fields of all parts, with escapes in texts resolved."""
    found = {}
    for name, quoted, container, number, _ in FIELD.findall(text):
        if container or number:
            found[name] = int(container or number, 0)
        else:
            found[name] = re.sub(r"\\(.)", r"\1", quoted)
    return found


def old_letter(release):
    """Returns a function for the meaning of state numbers before 4.14, or None for later kernels."""
    version = tuple(int(n) for n in re.findall(r"\d+", release)[:2])
    if version >= (4, 14):
        return None
    preempted = 512 << sum(version >= since for since in ((3, 9), (4, 2), (4, 8)))

    def letter(state):
        if state & preempted:
            return "R+"
        if state & (preempted - 1) == 0:
            return "R"
        if state & 112:
            return "X"
        return "S" if state & 1 else "D"

    return letter


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--release", default="9.9", help="the kernel's release, if its states are from before 4.14")
    letter = old_letter(args.parse_args().release)
    bad = 0
    for line in sys.stdin:
        match = LINE.match(line)
        if not match:
            bad += "sched_" in line
            continue
        seconds, fraction, name, text = match.groups()
        name = name.rpartition(":")[2]
        f = fields(text)
        cpu = f.get("cpu_id", 0) if "perf_cpu" not in f else f["perf_cpu"]
        if "perf_cpu" not in f:
            cpu = fields(text.split("}", 1)[0]).get("cpu_id", 0)  # the packet's, not an event's field of that name
        rest = ""
        try:
            if name == "sched_switch":
                f["prev"], f["next"] = f.get("prev_tid", f.get("prev_pid")), f.get("next_tid", f.get("next_pid"))
                f["prev_state"] = letter(f["prev_state"]) if letter else f["prev_state"]
                rest = SWITCH.format(**f)
            elif name in WAKES:
                # A context may have the same names as the event's own fields, which come last.
                own = fields(text[text.rindex("{ ") if "comm = " in text[text.rindex("{ "):] else 0:])
                own["tid"] = own.get("tid", own.get("pid"))
                rest = WAKE.format(**own, target=own.get("target_cpu", own.get("cpu", 0)))
        except (KeyError, ValueError):
            bad += 1
        print(f"x-1 [{cpu:03}] {seconds}.{fraction}: {name}: {rest}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
