#!/usr/bin/env python3
"""Whether a trial leaves the machine as it was: after its end, after Ctrl-C, and after a kill and `corewise try --undo`.

    acceptance/trials.py [--runs 50] [--seed N] [RECORDING FINDING -- COMMAND...]

Each run is a trial of one pair, ended in one of the three ways, at a random time. Before and after it, the script reads of all processes the scheduling
policy, real-time priority, nice value, CPU affinity and timer slack of each thread, and the nice value of its session; of the kernel, the switch of autogroups;
of all cgroups, the files with their quotas and weights. What exists at both times must be equal. Without a recording it tries SCHED_IDLE for a thread of
the command. Needs root. Exit status 1 if anything differs.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corewise

SWITCH = "{prev}-{pid} [000] d... {at:.6f}: sched_switch: prev_comm={prev} prev_pid={pid} prev_prio={prio} prev_state={state} ==> next_comm={next} next_pid={tid} next_prio={to}"
FILES = ["cpu.cfs_quota_us", "cpu.shares", "cpu.max", "cpu.weight"]
AUTOGROUPS = Path("/proc/sys/kernel/sched_autogroup_enabled")


def hog_trace():
    """`urgent` waits 30 ms for the CPU on which `hog` of a lower priority runs."""
    lines = [
        SWITCH.format(prev="<idle>", pid=0, at=100, prio=120, state="R", next="hog", tid=10, to=139).replace("prev_comm=<idle>", "prev_comm=swapper/0"),
        "hog-10 [000] d... 100.010000: sched_waking: comm=urgent pid=11 prio=120 target_cpu=000",
        SWITCH.format(prev="hog", pid=10, at=100.04, prio=139, state="R+", next="urgent", tid=11, to=120),
        SWITCH.format(prev="urgent", pid=11, at=100.05, prio=120, state="S", next="hog", tid=10, to=139),
    ]
    return "# tracer: nop\n#\n" + "\n".join(lines) + "\n"


def read(path):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def state():
    """What a trial may change, by what it belongs to."""
    found = {"autogroups": read(AUTOGROUPS)}
    for task in Path("/proc").glob("[0-9]*/task/[0-9]*"):
        stat = read(task / "stat")
        if not stat:
            continue
        words, tid = stat.rsplit(") ", 1)[1].split(" "), int(task.name)
        try:
            key = (tid, words[19])
            found[key] = (words[16], words[37], words[38], sorted(os.sched_getaffinity(tid)), read(f"/proc/{tid}/timerslack_ns"))
            found[(*key, "session")] = (read(task.parent.parent / "autogroup") or "").rsplit(" nice ", 1)[-1]
        except OSError:
            continue
    for mount in {line.split(" ")[1] for line in Path("/proc/self/mounts").read_text().splitlines() if line.split(" ")[2].startswith("cgroup")}:
        for file in FILES:
            for path in Path(mount).rglob(file):
                found[str(path)] = read(path)
    return found


def differences(before, after):
    return [f"{key}: {before[key]} -> {after[key]}" for key in before if key in after and before[key] != after[key]]


def end(trial, how, delay):
    """Ends a trial in this way."""
    if how == "end":
        return trial.wait()
    try:
        trial.wait(timeout=delay)
    except subprocess.TimeoutExpired:
        trial.send_signal(signal.SIGINT if how == "Ctrl-C" else signal.SIGKILL)
        trial.wait()
    return trial.returncode


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--runs", type=int, default=50)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("recording", nargs="?")
    args.add_argument("finding", nargs="?", default="1")
    args.add_argument("command", nargs="*")
    args = args.parse_args()
    corewise.need_binary()
    draw, wrong, counts = random.Random(args.seed), 0, {}
    with tempfile.TemporaryDirectory(prefix="trials-") as folder:
        folder = Path(folder)
        (folder / "hog.txt").write_text(hog_trace())
        hog = folder / "hog"
        hog.write_bytes(Path("/bin/sleep").read_bytes())
        hog.chmod(0o755)
        trace, command = args.recording or str(folder / "hog.txt"), args.command or [str(hog), "1.5"]
        for n in range(args.runs):
            how = ("end", "Ctrl-C", "kill")[n % 3]
            before = state()
            words = [corewise.BINARY, "try", trace, args.finding, "--pairs", "1", "--warm-up", "0", "--max-load", "100%", "--max-steal", "100%", "--", *command]
            trial = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
            end(trial, how, draw.uniform(0.1, 5))
            said = trial.stderr.read().decode(errors="replace").strip().splitlines() if how != "kill" else []
            # The command of a killed trial goes on.
            if how == "kill":
                subprocess.run([corewise.BINARY, "try", "--undo"], check=True, capture_output=True)
            changed = differences(before, state())
            counts[how] = counts.get(how, 0) + 1
            wrong += bool(changed)
            if how == "kill":
                subprocess.run(["pkill", "-KILL", "-s", str(trial.pid)], check=False)
                time.sleep(0.2)
            if changed:
                print(f"{n} ({how}, {' '.join(words[2:])}): {'; '.join(changed)}")
            print(f"{n} {how}: {said[-1] if said else ''}", file=sys.stderr, flush=True)
    print(f"{args.runs} trials ({', '.join(f'{how} {count}' for how, count in counts.items())}): {wrong} left something changed")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
