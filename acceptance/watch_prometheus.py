#!/usr/bin/env python3
"""A real Prometheus scrapes `corewise watch --listen` for some minutes (60 for the record) under churn: 1,000 processes and 50 cgroups a minute.

Every second is scraped, and every rule and alert of docs/watch is evaluated. At the end:

- no scrape failed, and none took longer than 20 ms at the median (the longest is printed);
- no counter has fallen, by Prometheus' own `resets()`;
- no rule failed, no identity was violated, the sum of CPU time is the time that has passed times the CPUs, within 0.1 %;
- the watcher's own memory (without the kernel's sums, which it maps) has not grown by more than 256 kB in the second half of the time before `kill -9`, and its
  threads and files not at all; its memory is printed for each tenth of that time. It grows until three quarters of the 1,024 slots of groups have been used, which
  takes this churn 15 minutes, so a run of less than 30 minutes only prints it;
- while it was hung up on by 100 clients, and sent 10,000 hostile requests, scrapes went on;
- after `kill -9` it starts again on the same port and is scraped;
- alerts are silent in the healthy part, and in the last part, in which a CPU quota of 10 % holds a busy cgroup for some minutes more, CorewiseThrottledWithoutNeed
  fires, if the rest of the machine is less than 70 % busy. For this, rates are over 1 minute and `for` is 30 s; thresholds are as in the files.
  CorewiseCaptureLost fires where the kernel hides switches, and only there.

Needs root, a cgroup hierarchy with the CPU controller, and Debian's prometheus.
"""

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import corewise
from scraped import Prometheus, Watching, cgroup_root, free_port

# How long a quota holds a busy cgroup at the end, s.
QUOTA_S = 150
# The share of switches that is lost, as docs/watch/corewise.alerts.yml has it, over a minute.
LOST = (
    "(increase(corewise_watch_missed_events_total[1m]) + increase(corewise_watch_inconsistent_switches_total[1m])"
    " + increase(corewise_watch_forgotten_waits_total[1m])) / on (job, instance)"
    " sum by (job, instance) (increase(corewise_cpu_switches_total[1m]))"
)


class Churn(threading.Thread):
    """1,000 short processes, each with a name of its own, and 50 cgroups a minute, a fifth of them of the same name."""

    def __init__(self, root, folder):
        super().__init__(daemon=True)
        self.root, self.folder, self.ended, self.processes, self.cgroups = root, folder, threading.Event(), 0, 0

    def run(self):
        group = None
        begun = time.monotonic()
        while not self.ended.is_set():
            if self.processes % 20 == 0:
                self.remove(group)
                # A service that is started again has a new cgroup of the old name.
                name = "again" if self.cgroups % 5 == 0 else str(self.cgroups)
                group = self.root / f"corewise-churn-{os.getpid()}-{name}"
                group.mkdir(exist_ok=True)
                self.cgroups += 1
            # A process is called like the link by which its program was started.
            program = self.folder / f"churn-{self.processes}"
            program.symlink_to("/bin/true")
            subprocess.run(["sh", "-c", f"echo $$ > {group}/cgroup.procs; exec {program}"], check=False)
            program.unlink()
            self.processes += 1
            time.sleep(max(0, begun + self.processes * 0.06 - time.monotonic()))
        self.remove(group)

    @staticmethod
    def remove(group):
        if group is not None:
            try:
                group.rmdir()
            except OSError:
                pass  # Its last process is ending; it is empty soon.


def hostile(port, count):
    """Sends requests that mean harm; each must be answered or its connection closed."""
    noise = random.Random(7)
    for number in range(count):
        request = [
            noise.randbytes(noise.randrange(300)),
            b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            b"GET /../../etc/shadow HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
            b"POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 300 + b"\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        ][number % 6]
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            try:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
            except OSError:
                pass


def hang(port, count):
    """Returns connections that ask and never read."""
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    for connection in connections:
        connection.sendall(f"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode() * 10)
    return connections

def capture_lost(prometheus, fired, window, expect):
    """Checks that the alert about lost events fired if there were any: some virtual machines hide switches. Returns it, if it fired."""
    lost = {"CorewiseCaptureLost"} & fired
    share = prometheus.value(f"max_over_time(({LOST})[{window}:5s])")
    expect("CorewiseCaptureLost fired (largest share of hidden switches)", f"{bool(lost)} ({share:.2%})", bool(lost) == (share > 0.001))
    return lost


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--minutes", type=float, default=10)
    args.add_argument("--by", default="cgroup", choices=["cgroup", "process"])
    args = args.parse_args()
    corewise.need_binary()
    root, quota_file, quota_form = cgroup_root()
    problems, rows = [], []

    def expect(what, found, holds):
        rows.append([what, found, "yes" if holds else "NO"])
        if not holds:
            problems.append(what)

    with tempfile.TemporaryDirectory(prefix="corewise-watch-") as tmp:
        watching = Watching(free_port(), ["--by", args.by])
        prometheus = Prometheus(Path(tmp), watching.port)
        churn = Churn(root, Path(tmp))
        churn.start()
        try:
            seconds = args.minutes * 60
            begun = time.monotonic()
            memory = []
            watching.until(begun + seconds * 0.1, memory)
            before = {"Threads": watching.status("Threads"), "files": watching.files()}
            hanging = hang(watching.port, 100)
            time.sleep(5)
            hostile(watching.port, 10_000)
            for connection in hanging:
                connection.close()
            watching.until(begun + seconds, memory)
            window = f"{int(time.monotonic() - begun)}s"
            failed = [int(at - prometheus.begun) for at, value in prometheus.range("up", window) if value == 0]
            expect("failed scrapes (at s)", f"{len(failed)} {failed or ''}".strip(), not failed)
            middle = prometheus.value(f"quantile_over_time(0.5, scrape_duration_seconds[{window}])")
            worst = prometheus.value(f"max_over_time(scrape_duration_seconds[{window}])")
            expect("scrape, ms: median (longest)", f"{middle * 1e3:.1f} ({worst * 1e3:.1f})", middle <= 0.02)
            expect("samples a scrape: largest", int(prometheus.value(f"max_over_time(scrape_samples_scraped[{window}])")), True)
            names = [name for name in prometheus.api("label/__name__/values") if name.startswith("corewise_") and name.endswith(("_total", "_count", "_sum", "_bucket"))]
            fallen = [(name, labels) for name in names for labels, _ in prometheus.query(f"resets({name}[{window}]) > 0")]
            expect(f"counters that fell, of {len(names)} names", f"{len(fallen)} {fallen[:3] if fallen else ''}".strip(), not fallen)
            wall = prometheus.value("corewise_watch_elapsed_seconds_total * scalar(count(corewise_cpu_info))")
            cpu = prometheus.value("sum(corewise_cpu_busy_seconds_total) + sum(corewise_cpu_idle_seconds_total) + sum(corewise_cpu_unknown_seconds_total)")
            expect("CPU time / (time x CPUs)", f"{cpu / wall:.6f}", abs(cpu / wall - 1) <= 0.001)
            for what in ["identity_violations", "missed_events", "inconsistent_switches", "forgotten_waits", "group_overflows"]:
                found = prometheus.value(f"sum(corewise_watch_{what}_total)")
                expect(what.replace("_", " "), int(found), what != "identity_violations" or found == 0)
            after = {"Threads": watching.status("Threads"), "files": watching.files()}
            half = memory[len(memory) // 2 :]
            first, last = max(half[: len(half) // 4 + 1]), max(half[-(len(half) // 4) - 1 :])
            tenths = [memory[len(memory) * tenth // 10] for tenth in range(10)] + memory[-1:]
            expect("memory of the process, kB", " ".join(map(str, tenths)), args.minutes < 30 or last - first <= 256)
            expect("threads, open files", f"{before['Threads']}, {before['files']} -> {after['Threads']}, {after['files']}", after["Threads"] <= before["Threads"] and after["files"] <= before["files"] + 4)
            expect("processes, cgroups of the churn", f"{churn.processes}, {churn.cgroups}", churn.processes > args.minutes * 600)
            fired = {labels["alertname"] for labels, _ in prometheus.query(f"max_over_time(ALERTS{{alertstate=\"firing\"}}[{window}])")}
            fired -= capture_lost(prometheus, fired, window, expect)
            expect("other alerts on the healthy load", ", ".join(sorted(fired)) or "none", not fired)

            watching.process.send_signal(signal.SIGKILL)
            watching.process.wait()
            watching.start()
            time.sleep(3)
            expect("scraped after kill -9", prometheus.value("up"), prometheus.value("up") == 1)

            group = root / f"corewise-throttled-{os.getpid()}"
            group.mkdir()
            (group / quota_file).write_text(quota_form.format(10_000))
            load = subprocess.Popen(["sh", "-c", f"echo $$ > {group}/cgroup.procs; while :; do :; done"])
            try:
                until = time.monotonic() + QUOTA_S
                firing, busy = set(), []
                while time.monotonic() < until:
                    time.sleep(2)
                    busy.append(prometheus.value("instance:corewise_cpu_busy:ratio_rate1m"))
                    firing |= {labels["alertname"] for labels, _ in prometheus.query('ALERTS{alertstate="firing"}')}
                shares = [share for share in busy if share is not None]
                rows.append(["share of CPU time busy meanwhile", f"{min(shares):.2f} to {max(shares):.2f}", ""])
                wanted = [{"CorewiseThrottledWithoutNeed"}] if max(shares) < 0.7 else [{"CorewiseThrottledWithoutNeed"}, set()]
                firing -= capture_lost(prometheus, firing, f"{QUOTA_S}s", expect)
                # What a quota holds waits for a CPU, too.
                firing.discard("CorewiseReadyLatencyWithIdleCpus")
                expect("other alerts with a quota of 10 %", ", ".join(sorted(firing)) or "none", firing in wanted)
            finally:
                load.kill()
                load.wait()
                time.sleep(0.2)
                group.rmdir()
            groups = prometheus.api("rules")["groups"]
            rules = [rule for of in groups for rule in of["rules"]]
            wrong = [rule["name"] for rule in rules if rule["health"] != "ok"]
            expect(f"rules that failed, of {len(rules)}", len(wrong), not wrong)
            watching.process.send_signal(signal.SIGTERM)
            expect("exit code after SIGTERM", watching.process.wait(timeout=20), watching.process.returncode == 0)
        finally:
            churn.ended.set()
            churn.join(timeout=5)
            watching.process.kill()
            prometheus.process.terminate()
            prometheus.process.wait()
    corewise.print_table(["what", "found", "holds"], rows)
    sys.exit(f"not as it should be: {', '.join(problems)}" if problems else 0)


if __name__ == "__main__":
    main()
