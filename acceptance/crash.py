#!/usr/bin/env python3
"""What is left of a recording if the recorder is killed (kill -9, at ten moments) or the disk is full (a small tmpfs).

The moments count from when the recorder has attached. Before that there is nothing to recover, which `recover` must say. After each,
`corewise recover DIR` must make a trace that passes `corewise verify` without residuals. On the full disk the recorder must stop by itself,
say so and exit with an error. Exit status 1 if any of this fails.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corewise

# Switches all the time, for longer than any of the recordings.
LOAD = ["perf", "bench", "sched", "messaging", "-g", "2", "-l", "1000000"]
WITHOUT_PERF = ["sh", "-c", "while :; do echo x; done | while read -r _; do :; done"]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--kills", type=int, default=10)
    args.add_argument("--last", type=float, default=5, help="seconds from attaching to the last kill (5)")
    args.add_argument("--disk-mb", type=int, default=8, help="size of the full disk (8)")
    args.add_argument("--keep", metavar="DIR", help="keep the recordings here")
    args.add_argument("--no-disk", action="store_true", help="without the full disk, which needs root")
    args = args.parse_args()
    corewise.need_binary()
    load = start(LOAD)
    time.sleep(0.3)
    if load.poll() is not None:
        load = start(WITHOUT_PERF)
    rows = []
    try:
        with tempfile.TemporaryDirectory(prefix="crash-") as tmp:
            tmp = Path(args.keep or tmp)
            rows.append(["kill -9 before it attached", *killed_before(tmp / "before.cw")])
            for i in range(args.kills):
                after = args.last * i / max(args.kills - 1, 1)
                rows.append([f"kill -9 after {after:.1f} s", *killed(tmp / f"kill{i}.cw", after)])
            if not args.no_disk:
                rows.append([f"disk of {args.disk_mb} MB", *full_disk(tmp, args.disk_mb)])
    finally:
        os.killpg(load.pid, signal.SIGKILL)
        load.wait()
    corewise.print_table(["what", "recorder's exit", "recovered", "events", "broken", "unwoken", "residuals", "well"], rows)
    return any(row[-1] != "yes" for row in rows)


def start(command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                            start_new_session=True)


def recorder(folder):
    return subprocess.Popen([corewise.BINARY, "record", "-o", folder], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def killed(folder, after):
    child = recorder(folder)
    corewise.wait_until_attached(child, folder)
    time.sleep(after)
    child.kill()
    child.communicate()
    return [child.returncode, *recovered(folder)]


def killed_before(folder):
    """An error that there is nothing to recover is the right answer."""
    child = recorder(folder)
    while not folder.exists() and child.poll() is None:
        time.sleep(0.001)
    child.kill()
    child.communicate()
    try:
        corewise.run("recover", folder)
    except corewise.Refused as why:
        return [child.returncode, "nothing", "", "", "", "", "yes" if "no spool" in str(why) else f"NO: {why}"]
    return [child.returncode, "yes, too early?", "", "", "", "", "NO"]


def full_disk(tmp, megabytes):
    disk = tmp / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", disk], stderr=subprocess.PIPE, text=True)
    if mounted.returncode:
        return ["", f"skipped: {mounted.stderr.strip()}", "", "", "", "", "yes"]
    try:
        child = recorder(disk / "full.cw")
        try:
            said = child.communicate(timeout=120)[1]
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return ["did not stop", "", "", "", "", "", "NO"]
        print(f"the recorder on the full disk: {said.strip().splitlines()[-1:]}")
        # There is no space left on that disk: recover to another one.
        result = recovered(disk / "full.cw", tmp / "recovered.cw")
        if not child.returncode:
            result[-1] = "NO: exit 0"
        return [child.returncode, *result]
    finally:
        subprocess.run(["umount", disk], check=False)


def recovered(folder, into=None):
    """Runs `corewise recover` and `corewise verify` on its result."""
    try:
        corewise.run("recover", folder, *(["-o", into] if into else []))
        checked = corewise.check(into or folder)
    except corewise.Refused as why:
        return [f"no: {why}", "", "", "", "", "NO"]
    residuals = {law: r for law, r in corewise.residuals_of(checked).items() if r}
    well = not residuals and not checked["broken"] and not checked["unwoken"]
    return ["yes", checked.get("events", "-"), checked["broken"], checked["unwoken"], residuals or "0", "yes" if well else "NO"]


if __name__ == "__main__":
    sys.exit(main())
