"""`corewise watch --listen` and a real Prometheus that scrapes it, for the scripts about both."""

import json
import os
import re
import socket
import subprocess
import sys
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

    def until(self, end, memory):
        """Waits for that time; appends the memory to the list, once each 5 s."""
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(5, left))
            memory.append(self.status("RssAnon"))


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
