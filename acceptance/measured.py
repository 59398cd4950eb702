"""Runs a command and measures it: wall and CPU time, the peak of its anonymous memory and its maxrss.

Anonymous memory is the largest sum of RssAnon over the command and its children, read every 5 ms: the memory that it uses, without
the pages of mapped files, which the kernel can reclaim.
"""

import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

EVERY_S = 0.005


@dataclass
class Measured:
    exit: int  # negative: ended by this signal
    wall_s: float
    cpu_s: float
    anon_kb: int
    maxrss_kb: int  # of the largest single process
    stopped: str  # why it was stopped early, or nothing
    out: str
    err: str


def run(command, anon_limit_kb=None, timeout_s=None, keep_output=False):
    """Measures a command. One that exceeds a limit is killed, and `stopped` says so."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        child = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                                 stdout=out if keep_output else subprocess.DEVNULL, stderr=err)
        peak, stopped = 0, ""
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            peak = max(peak, tree_anon_kb(child.pid))
            if anon_limit_kb and peak > anon_limit_kb:
                stopped = f"over {anon_limit_kb // 1024} MB"
            if timeout_s and time.monotonic() - begin > timeout_s:
                stopped = f"over {timeout_s} s"
            if stopped:
                os.kill(child.pid, signal.SIGKILL)
            time.sleep(EVERY_S)
        wall = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        return Measured(child.returncode, wall, usage.ru_utime + usage.ru_stime, peak, usage.ru_maxrss, stopped,
                        text_of(out), text_of(err))


def text_of(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def tree_anon_kb(pid):
    """Returns RssAnon of a process and all its children. A process that ends at the same time counts as nothing."""
    total = 0
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    total = int(line.split()[1])
                    break
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as children:
                total += sum(tree_anon_kb(int(child)) for child in children.read().split())
    except (FileNotFoundError, ProcessLookupError):
        pass
    return total


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
