#!/usr/bin/env python3
"""Builds the container of docs/watch/Containerfile with Debian's podman, and runs it with the options that the recipe names.

    acceptance/watch_container.py PACKAGE.deb [--store DIR]

Where the recipe's base image cannot be fetched, debootstrap makes one of its name, once in DIR. The container has the network of this machine, as
a bridge needs a firewall that a test should not change, and low limits, as a virtual machine may not be permitted to raise its own; all other options are the
recipe's. Required:

    it serves: metrics with the token, none without; no identity is violated; its own group is a cgroup of this machine, and it
    knows the names of this machine's threads
    of the capabilities it has CAP_BPF and CAP_PERFMON only; its file system cannot be written to
    without CAP_BPF, and without the host's processes, it says what it lacks in a sentence

Needs root, podman, runc, jq and debootstrap (scripts/setup container). Exits 1 if something does not hold.
"""

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import corewise
import watch_truth
from watch_guest import TOKEN, Scrape, free_ports

RECIPE = corewise.ROOT / "docs/watch/Containerfile"
BASE = "docker.io/library/debian:bookworm-slim"
MIRROR = "http://deb.debian.org/debian"


class Podman:
    """podman with images of its own, run in a folder."""

    def __init__(self, store, folder):
        self.folder = folder
        self.words = ["podman", "--runtime=runc", "--root", store.resolve() / "images", "--runroot", store.resolve() / "run"]

    def run(self, *words, check=True):
        done = subprocess.run([*map(str, self.words), *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.folder)
        if check and done.returncode:
            sys.exit(f"podman {' '.join(map(str, words[:3]))}: exit {done.returncode}: {done.stderr.strip()[-800:]}")
        return done

    def base(self, store):
        """Fetches the base image, or makes one."""
        if self.run("image", "exists", BASE, check=False).returncode and self.run("pull", "-q", BASE, check=False).returncode:
            print(f"{BASE} cannot be fetched: debootstrap makes one")
            root = store / "base"
            subprocess.run(["debootstrap", "--variant=minbase", "bookworm", root, MIRROR], check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["tar", "-cf", store / "base.tar", "-C", root, "."], check=True)
            self.run("import", store / "base.tar", BASE)
            shutil.rmtree(root)


def options_of_the_recipe(folder):
    """Makes the filter of system calls as the recipe's comment says; returns the options of its `podman run`, with a network of this test."""
    comment = RECIPE.read_text().replace("\\\n#", " ")
    subprocess.run(re.search(r"^# +(jq .*)$", comment, re.M)[1], shell=True, check=True, cwd=folder)
    words = shlex.split(re.search(r"podman run -d (.*?) corewise-watch\n", comment)[1].replace("$PWD", str(folder)))
    at = words.index("-p")
    return [*words[:at], *words[at + 2:], "--network=host", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("package", type=Path, metavar="PACKAGE.deb")
    args.add_argument("--store", type=Path, metavar="DIR", help="keep the images here")
    args = args.parse_args()
    rows = []

    def expect(what, found, wanted, holds=None):
        rows.append([what, found, wanted, "" if (found == wanted if holds is None else holds) else "WRONG"])

    with tempfile.TemporaryDirectory(prefix="watch-container-") as tmp:
        tmp = Path(tmp)
        store = args.store or tmp
        store.mkdir(parents=True, exist_ok=True)
        podman = Podman(store, tmp)
        podman.base(store)
        context = tmp / "context"
        context.mkdir()
        shutil.copy(RECIPE, context)
        shutil.copy(args.package, context)
        podman.run("build", "--network=host", "-t", "corewise-watch", context)
        token = tmp / "token"
        token.write_text(f"{TOKEN}\n")
        token.chmod(0o600)
        options, port = options_of_the_recipe(tmp), free_ports(1)[0]
        listen = ["--listen", f"127.0.0.1:{port}", "--token-file", "/run/token"]
        run = ["run", "-d", *options, "--entrypoint", json.dumps(["corewise", "watch", *listen]), "corewise-watch"]
        try:
            podman.run(*run)
            judge(podman, port, expect)
        finally:
            podman.run("rm", "-f", "corewise-watch", check=False)
        fewer = [word for word in options if word not in ("-d", "--cap-add=BPF")]
        lacking = podman.run("run", "--rm", *fewer, "--entrypoint", json.dumps(["corewise", "watch", *listen]), "corewise-watch", check=False)
        said = lacking.stderr.strip()
        expect("without CAP_BPF", f"exit {lacking.returncode}: {said}", "one sentence", lacking.returncode == 1 and said.count("\n") <= 1 and "CAP_BPF" in said)
    corewise.print_table(["what", "found", "required", ""], rows)
    return int(any(row[3] for row in rows))


def judge(podman, port, expect):
    def ask(path, token):
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {token}"} if token else {})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    for _ in range(100):
        try:
            ask("/-/healthy", None)
            break
        except OSError:
            time.sleep(0.2)
    else:
        sys.exit(f"it does not serve: {podman.run('logs', 'corewise-watch', check=False).stderr[-800:]}")
    try:
        ask("/metrics", None)
        expect("metrics without the token", "200", "401")
    except urllib.error.HTTPError as refused:
        expect("metrics without the token", str(refused.code), "401")
    ask("/metrics", TOKEN)
    time.sleep(2)
    scrape = Scrape(ask("/metrics", TOKEN))
    violated = scrape.sum("corewise_watch_identity_violations_total")
    expect("identities violated", int(violated), 0)
    expect("busy time, s", f"{scrape.sum('corewise_cpu_busy_seconds_total'):.2f}", "more than 0", scrape.sum("corewise_cpu_busy_seconds_total") > 0)
    number = podman.run("inspect", "-f", "{{.Id}}", "corewise-watch").stdout.strip()
    own = [group for group in scrape.values("corewise_group_running_seconds_total", "group") if number in group]
    roots = [root.parent for root in watch_truth.cgroups()]
    expect("its own group", ", ".join(own), "a cgroup of this machine", any((root / group[1:]).is_dir() for group in own for root in roots))
    # At a reading, it runs itself.
    running = [cpu["current"]["name"] for cpu in json.loads(ask("/api/now", TOKEN))["cpus"] if cpu["current"]]
    expect("names of running threads", ", ".join(running), "has corewise", "corewise" in running)
    pid = podman.run("inspect", "-f", "{{.State.Pid}}", "corewise-watch").stdout.strip()
    status = dict(re.findall(r"^(\w+):\s*(.*)$", Path(f"/proc/{pid}/status").read_text(), re.M))
    for name in ("CapEff", "CapBnd", "CapPrm"):
        expect(f"capabilities, {name}", status[name], f"{1 << 38 | 1 << 39:016x}")
    expect("no new privileges, filter of system calls", f"{status['NoNewPrivs']}, {status['Seccomp']}", "1, 2")
    wrote = podman.run("exec", "corewise-watch", "sh", "-c", "echo > /written", check=False)
    expect("write a file", "done" if wrote.returncode == 0 else "refused", "refused")


if __name__ == "__main__":
    sys.exit(main())
