#!/usr/bin/env python3
"""Loads of idle_ends.py: `idle_loads.py NAME SECONDS OUT` runs one and writes the times and cpuidle's counters at its begin and end."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IDLE_STATES = Path("/sys/devices/system/cpu")


# ---- loads: run as `idle_ends.py --run LOAD SECONDS OUT` ----

def sleeps(until, lengths=(50e-6, 200e-6, 1e-3, 4e-3, 20e-3)):
    for length in lengths:
        if os.fork() == 0:
            while time.monotonic() < until:
                time.sleep(length)
            os._exit(0)
    wait_for_all()


def slack(until):
    """Timers whose expiry the kernel may delay, so that it joins them."""
    for nanoseconds in (1, 50_000, 2_000_000):
        if os.fork() == 0:
            Path("/proc/self/timerslack_ns").write_text(str(nanoseconds))
            while time.monotonic() < until:
                time.sleep(0.0015)
            os._exit(0)
    wait_for_all()


def loopback(until):
    import socket
    server = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        client = socket.create_connection(server.getsockname())
        while time.monotonic() < until:
            client.sendall(b"x" * 64)
            client.recv(64)
            time.sleep(0.0005)
        client.close()
        os._exit(0)
    peer, _ = server.accept()
    while data := peer.recv(64):
        peer.sendall(data)
    wait_for_all()


def pipe(until):
    """Two processes that wake each other, as in perf bench sched pipe."""
    (a, b), (c, d) = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(b)
        os.close(c)
        while os.read(a, 1):
            os.write(d, b"x")
        os._exit(0)
    os.close(d)
    while time.monotonic() < until:
        os.write(b, b"x")
        os.read(c, 1)
    os.close(b)
    wait_for_all()


def compile_c(until):
    source = "".join(f"int f{n}(int x) {{ int s = 0; for (int i = 0; i < x; i++) s += i * {n} ^ s; return s; }}\n" for n in range(400))
    with tempfile.TemporaryDirectory() as tmp:
        (Path(tmp) / "a.c").write_text(source)
        while time.monotonic() < until:
            subprocess.run(["cc", "-O2", "-c", "-o", Path(tmp) / "a.o", Path(tmp) / "a.c"], check=True)


def disk(until):
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
        while time.monotonic() < until:
            os.pwrite(file.fileno(), b"x" * 4096, 0)
            os.fsync(file.fileno())
            time.sleep(0.002)


def powertop(until):
    """Runs it next to sleeps and prints what it wrote. It keeps the first 6,000 wakeups, so the sleeps are long."""
    seconds = int(until - time.monotonic())
    out = Path(tempfile.mkdtemp()) / "powertop.csv"
    # It needs some seconds before it measures, and the measured time has to end before the load.
    tool = subprocess.Popen(["powertop", f"--csv={out}", f"--time={max(1, seconds - 4)}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sleeps(until, (5e-3, 10e-3, 20e-3))
    tool.wait()
    print(out.read_text(errors="replace"))


def nothing(until):
    time.sleep(max(0.0, until - time.monotonic()))


LOADS = {"sleeps": sleeps, "slack": slack, "loopback": loopback, "pipe": pipe, "compile": compile_c, "disk": disk, "nothing": nothing}
ALL_LOADS = LOADS | {"powertop": powertop}


def wait_for_all():
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def usage():
    """Returns, by CPU, how often cpuidle counted an entry into each of its states."""
    counts = {}
    for cpu in sorted(IDLE_STATES.glob("cpu[0-9]*")):
        states = sorted(cpu.glob("cpuidle/state[0-9]*"), key=lambda state: int(state.name[5:]))
        if states:
            counts[int(cpu.name[3:])] = [int((state / "usage").read_text()) for state in states]
    return counts


def run_load(name, seconds, out):
    before, begin = usage(), time.monotonic_ns()
    ALL_LOADS[name](time.monotonic() + seconds)
    end, after = time.monotonic_ns(), usage()
    Path(out).write_text(json.dumps({"begin": begin, "end": end, "before": before, "after": after}))


if __name__ == "__main__":
    run_load(sys.argv[1], float(sys.argv[2]), sys.argv[3])
