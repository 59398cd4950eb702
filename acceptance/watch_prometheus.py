#!/usr/bin/env python3
"""A real Prometheus scrapes `corewise watch --listen` for some minutes (60 for the record) under churn: 1,000 processes and 50 cgroups a minute.

Every second is scraped, and every rule and alert of docs/watch is evaluated. At the end:

- no scrape failed, and none took longer than 20 ms at the median (the longest is printed);
- no counter has fallen, by Prometheus' own `resets()`;
- no rule failed, no identity was violated, the sum of CPU time is the time that has passed times the CPUs, within 0.1 %;
- the watcher's own memory (without the kernel's sums, which it maps) has not grown by more than 2 MB after the first tenth of the time, and its threads and files not at all;
- while it was hung up on by 100 clients, and sent 10,000 hostile requests, scrapes went on;
- after `kill -9` it starts again on the same port and is scraped;
- alerts are silent in the healthy part, and in the last part, in which a CPU quota of 10 % holds a busy cgroup, CorewiseThrottledWithoutNeed
  fires and no other one, if the rest of the machine is less than 70 % busy. For this, rates are over 1 minute and `for` is 30 s; thresholds are as in the files.

Needs root, a cgroup hierarchy with the CPU controller, and Debian's prometheus.
"""

import argparse
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import corewise

RULES = corewise.ROOT / "docs" / "watch"


class Watching:
    """`corewise watch --listen` on a port."""

    def __init__(self, port, options):
        self.words = [corewise.BINARY, "watch", "--listen", f"127.0.0.1:{port}", *options]
        self.port = port
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline().startswith("http://"):
            sys.exit("corewise watch did not start")

    def status(self, name):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{name}:\s*(\d+)", text, re.M).group(1))

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Prometheus:
    """Debian's Prometheus with a temporary store."""

    def __init__(self, folder, target):
        for name in ["corewise.rules.yml", "corewise.alerts.yml"]:
            text = (RULES / name).read_text().replace("[5m]", "[1m]").replace("[10m]", "[1m]").replace("rate5m", "rate1m")
            (folder / name).write_text(re.sub(r"for: \d+m", "for: 30s", text))
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 5s}\n"
            "rule_files: [corewise.rules.yml, corewise.alerts.yml]\n"
            f"scrape_configs: [{{job_name: corewise, static_configs: [{{targets: ['127.0.0.1:{target}']}}]}}]\n"
        )
        self.port, self.begun = free_port(), time.time()
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{self.port}"],
            stdout=self.log,
            stderr=self.log,
        )
        for _ in range(150):
            time.sleep(0.2)
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=1)
                return
            except OSError:
                pass
        sys.exit("prometheus did not start")

    def api(self, path, **query):
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        return json.load(urllib.request.urlopen(address, timeout=30))["data"]

    def query(self, query):
        """Returns the labels and the value of each series."""
        return [(of["metric"], float(of["value"][1])) for of in self.query_raw(query)]

    def range(self, query, window):
        """Returns times and values of the only series of a query."""
        found = self.query_raw(f"{query}[{window}]")
        return [(float(at), float(value)) for at, value in found[0]["values"]] if found else []

    def query_raw(self, query):
        return self.api("query", query=query)["result"]

    def value(self, query):
        found = self.query(query)
        return found[0][1] if found else None


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def cgroup_root():
    """Returns where cgroups with a CPU quota can be made, and the name and form of the quota's file."""
    if Path("/sys/fs/cgroup/cgroup.controllers").exists() and "cpu" in Path("/sys/fs/cgroup/cgroup.subtree_control").read_text().split():
        return Path("/sys/fs/cgroup"), "cpu.max", "{} 100000"
    for folder in ["/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"]:
        if Path(folder, "cpu.cfs_quota_us").exists():
            return Path(folder), "cpu.cfs_quota_us", "{}"
    sys.exit("no cgroup hierarchy with the CPU controller is mounted")


class Churn(threading.Thread):
    """1,000 short processes and 50 cgroups a minute."""

    def __init__(self, root):
        super().__init__(daemon=True)
        self.root, self.ended, self.processes, self.cgroups = root, threading.Event(), 0, 0

    def run(self):
        group = None
        begun = time.monotonic()
        while not self.ended.is_set():
            if self.processes % 20 == 0:
                self.remove(group)
                group = self.root / f"corewise-churn-{os.getpid()}-{self.cgroups}"
                group.mkdir()
                self.cgroups += 1
            subprocess.run(["sh", "-c", f"echo $$ > {group}/cgroup.procs; exec true"], check=False)
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
        churn = Churn(root)
        churn.start()
        try:
            seconds = args.minutes * 60
            begun = time.monotonic()
            time.sleep(seconds * 0.1)
            before = {"RssAnon": watching.status("RssAnon"), "Threads": watching.status("Threads"), "files": watching.files()}
            hanging = hang(watching.port, 100)
            time.sleep(5)
            hostile(watching.port, 10_000)
            for connection in hanging:
                connection.close()
            time.sleep(max(0, begun + seconds * 0.7 - time.monotonic()))
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
            after = {"RssAnon": watching.status("RssAnon"), "Threads": watching.status("Threads"), "files": watching.files()}
            expect("memory of the process, kB", f"{before['RssAnon']} -> {after['RssAnon']}", after["RssAnon"] - before["RssAnon"] <= 2048)
            expect("threads, open files", f"{before['Threads']}, {before['files']} -> {after['Threads']}, {after['files']}", after["Threads"] <= before["Threads"] and after["files"] <= before["files"] + 4)
            expect("processes, cgroups of the churn", f"{churn.processes}, {churn.cgroups}", churn.processes > args.minutes * 600)
            fired = {labels["alertname"] for labels, _ in prometheus.query(f"max_over_time(ALERTS{{alertstate=\"firing\"}}[{window}])")}
            expect("alerts on the healthy load", ", ".join(sorted(fired)) or "none", not fired)

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
                until = time.monotonic() + max(150, seconds * 0.3)
                firing, busy = set(), []
                while time.monotonic() < until:
                    time.sleep(2)
                    busy.append(prometheus.value("instance:corewise_cpu_busy:ratio_rate1m"))
                    firing |= {labels["alertname"] for labels, _ in prometheus.query('ALERTS{alertstate="firing"}')}
                shares = [share for share in busy if share is not None]
                rows.append(["share of CPU time busy meanwhile", f"{min(shares):.2f} to {max(shares):.2f}", ""])
                wanted = [{"CorewiseThrottledWithoutNeed"}] if max(shares) < 0.7 else [{"CorewiseThrottledWithoutNeed"}, set()]
                expect("alerts with a quota of 10 %", ", ".join(sorted(firing)) or "none", firing in wanted)
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
