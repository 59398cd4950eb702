#!/usr/bin/env python3
"""The unit of `corewise watch --unit`, run by a real systemd: Debian's, in an emulated guest (aarch64, pmu/guest.py).

    acceptance/watch_unit.py [--keep DIR]

Required:

    it loads its programs, serves metrics and its page, and no identity is violated
    it runs as a user of its own, with CAP_BPF and CAP_PERFMON only, no new privileges, and a filter of system calls
    a shell in the same sandbox can do nothing of a list that it can do outside: write to /etc, /usr and the kernel's log, make a cgroup, set a value of
    the kernel, read /etc/shadow, /root and what others have in /tmp, mount, make devices and namespaces, send signals to root's processes, connect
    to another address than localhost
    after `kill -9` systemd starts it again, and it serves again
    with --token-file, requests without the token are refused, and the token's file is readable by root only; without a token, an address of
    another host is refused; on a port in use it says so and is started again
    it ends without an error when it is stopped

Needs what acceptance/guests_pmu.py needs. Exits 1 if something does not hold.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import corewise
from pmu import guest

PACKAGES = ["systemd", "systemd-sysv", "libelf1", "zlib1g"]
TOKEN = "a-token-for-one-guest"
LINKS = ["sh", "cat", "echo", "sleep", "wget", "kill", "mkdir", "mknod", "tar", "sync", "grep", "ls", "id", "unshare", "nc", "timeout", "chmod", "rm", "sed", "tr", "cp", "true",
         "poweroff", "cut", "head"]
UNIT = "corewise-watch.service"

# What becomes PID 1 of the guest: systemd, in a file system in memory.
START = """mkdir /newroot; mount -t tmpfs newroot /newroot
tar -xf /dev/vdb -C /newroot
exec switch_root /newroot /lib/systemd/systemd
"""
CHECK_UNIT = """[Unit]
Description=what acceptance/watch_unit.py checks
After=basic.target
[Service]
Type=oneshot
ExecStart=/bin/sh /check
[Install]
WantedBy=multi-user.target
"""
# A line `NAME=VALUE` for each fact, in the file `facts`.
CHECK = f"""mkdir -p /out; cd /out
busybox ifconfig lo 127.0.0.1 up
exec 2> errors
fact() {{ echo "$1=$(echo $2)" >> facts; }}
shown() {{ systemctl show -P $1 {UNIT}; }}
scrape() {{ wget -q -O $1 http://127.0.0.1:9464/metrics; }}
up() {{ for n in $(cat /ten /ten); do scrape $1 && return; sleep 1; done; }}

corewise watch --unit > /etc/systemd/system/{UNIT}; fact printed $?
systemctl daemon-reload
systemctl start {UNIT}; fact started $?
up metrics; sleep 3; scrape metrics; fact scraped $?
wget -q -O page http://127.0.0.1:9464/; fact page $?
pid=$(shown MainPID); cat /proc/$pid/status > status
fact listening "$(cat /proc/net/tcp | grep ' 0A ' | tr -s ' ' | cut -d ' ' -f 3)"
systemd-analyze security --no-pager {UNIT} > security

kill -9 $pid
for n in $(cat /ten /ten); do sleep 1; new=$(shown MainPID); [ "$new" != 0 ] && [ "$new" != $pid ] && break; done
fact restarts "$(shown NRestarts)"
up again; fact again $?
systemctl stop {UNIT}; fact stopped $?; fact result "$(shown Result) $(shown ExecMainStatus)"

sed -e 's|^ExecStart=.*|ExecStart=/bin/sh /probe|' -e 's|^Restart=.*|Restart=no|' -e 's|^Type=.*|Type=oneshot|' -e 's|^Wants=.*||' \\
    /etc/systemd/system/{UNIT} > /etc/systemd/system/probe.service
systemctl daemon-reload
echo a-secret > /tmp/of-others; chmod 644 /tmp/of-others
nc -ll -p 7777 -e echo hello & answering=$!
sleep 1; unshare -m sh /probe > probe.control
systemctl start probe; fact probed $?
kill $answering
journalctl --no-pager -o cat -u probe > probe

echo {TOKEN} > /etc/token; chmod 600 /etc/token
corewise watch --unit --listen 0.0.0.0:9464 > /dev/null 2> without_token; fact without_token $?
corewise watch --unit --listen 0.0.0.0:9464 --token-file /etc/token > /etc/systemd/system/{UNIT}
systemctl daemon-reload
systemctl start {UNIT}; fact token_started $?
for n in $(cat /ten /ten); do wget -q -O healthy http://127.0.0.1:9464/-/healthy && break; sleep 1; done
wget -q -O refused http://127.0.0.1:9464/metrics 2> refused.said; fact refused $?
wget -q -O accepted --header 'Authorization: Bearer {TOKEN}' http://10.0.2.15:9464/metrics; fact accepted $?
ls -l /etc/token > token
ls -lR /run/credentials/{UNIT} > credentials
systemctl stop {UNIT}

nc -ll -p 9464 -e true & taken=$!
sleep 1
corewise watch --unit > /etc/systemd/system/{UNIT}
systemctl daemon-reload
systemctl start {UNIT}
sleep 12; fact restarts_port_in_use "$(shown NRestarts)"; fact state_port_in_use "$(shown ActiveState)"
kill $taken; up freed; fact freed $?
systemctl stop {UNIT}
journalctl --no-pager -o cat -u {UNIT} > journal
cp /etc/systemd/system/{UNIT} .
tar -cf /dev/vda -C /out . && sync && echo GUEST DONE > /dev/console
poweroff -f
"""
# Each line of its output: what was tried, and whether it could be done.
PROBE = """try() { what=$1; shift; if timeout 5 "$@" > /dev/null 2>&1; then echo "$what: done"; else echo "$what: refused"; fi; }
try 'connect to this machine' sh -c 'nc 127.0.0.1 7777 < /dev/null | grep hello'
try 'connect to another address' sh -c 'nc 10.0.2.15 7777 < /dev/null | grep hello'
try 'write to /etc' sh -c 'echo > /etc/written'
try 'write to /usr' sh -c 'echo > /usr/written'
try 'make a cgroup' mkdir /sys/fs/cgroup/made-$$
try 'set a value of the kernel' sh -c 'echo 1 > /proc/sys/vm/drop_caches'
try 'write to the log of the kernel' sh -c 'echo > /dev/kmsg'
try 'read /etc/shadow' cat /etc/shadow
try 'read a file of others in /tmp' cat /tmp/of-others
try 'read /root' cat /root/secret
try 'signal a process of root' kill -0 1
try 'make a device' mknod /tmp/mem-$$ c 1 1
try 'make a namespace of users' unshare -r true
try 'make a namespace of mounts' unshare -m true
try 'mount' /bin/mount -t tmpfs tmpfs /mnt
"""


def prepare(kit, root):
    """Makes the root file system of the guest: Debian's systemd, busybox and corewise; returns it as a file for a disk."""
    apt = kit.tmp / "apt"
    apt.mkdir()
    own = guest.apt_root(apt)
    guest.run("downloading systemd for arm64", ["apt-get", "install", "-qq", "-y", "--download-only", "--no-install-recommends", *PACKAGES], **own)
    for deb in sorted((apt / "cache/archives").glob("*.deb")):
        guest.run(f"unpacking {deb.name}", ["dpkg-deb", "-x", deb, root])
    for name in ["proc", "sys", "dev", "tmp", "run", "root", "out", "home", "etc/systemd/system/multi-user.target.wants", "var/tmp", "mnt", "usr/bin", "bin"]:
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    shutil.copy(kit.tmp / "root/bin/busybox", root / "bin/busybox")
    for name in LINKS:
        (root / "bin" / name).unlink(missing_ok=True)
        (root / "bin" / name).symlink_to("busybox")
    shutil.copy(kit.tmp / "root/bin/corewise", root / "usr/bin/corewise")
    files = {
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
        "etc/group": "root:x:0:\nnogroup:x:65534:\n", "etc/shadow": "root:*:19000:0:99999:7:::\n", "etc/machine-id": "",
        "etc/hosts": "127.0.0.1 localhost\n", "root/secret": "a-secret\n", "check": CHECK, "probe": PROBE, "ten": "1 2 3 4 5 6 7 8 9 10\n",
        "etc/systemd/system/check.service": CHECK_UNIT,
    }
    for name, text in files.items():
        (root / name).write_text(text)
    (root / "etc/shadow").chmod(0o640)
    (root / "root").chmod(0o700)
    (root / "etc/systemd/system/multi-user.target.wants/check.service").symlink_to("/etc/systemd/system/check.service")
    disk = kit.tmp / "root.tar"
    subprocess.run(["tar", "-cf", disk, "--owner=0", "--group=0", "-C", root, "."], check=True)
    # A disk has whole sectors.
    os.truncate(disk, (disk.stat().st_size + 511) // 512 * 512)
    return disk


def judge(into):
    """Returns rows: what, found, what it should be, whether it holds."""
    text = {path.name: path.read_text(errors="replace") for path in into.iterdir() if path.is_file()}
    facts = dict(line.split("=", 1) for line in text["facts"].splitlines())
    rows = []

    def expect(what, found, wanted, holds=None):
        rows.append([what, found, wanted, found == wanted if holds is None else holds])

    for fact, what in [("printed", "corewise watch --unit"), ("started", "systemctl start"), ("scraped", "metrics"), ("page", "page"),
                       ("again", "metrics after kill -9"), ("stopped", "systemctl stop"), ("probed", "a shell in the sandbox"),
                       ("token_started", "with a token: systemctl start"), ("accepted", "with a token: metrics from another address"),
                       ("freed", "metrics when the port is free again")]:
        expect(f"{what}: exit code", facts.get(fact, "none"), "0")
    metrics = text.get("metrics", "")
    expect("identities violated", str(sum(map(float, re.findall(r"^corewise_watch_identity_violations_total\S* (\S+)", metrics, re.M)))), "0.0")
    watched = re.search(r"^corewise_watch_elapsed_seconds_total (\S+)", metrics, re.M)
    busy = sum(map(float, re.findall(r"^corewise_cpu_busy_seconds_total\S* (\S+)", metrics, re.M)))
    expect("busy time, s, in s watched", f"{busy:.2f} in {watched[1] if watched else '-'}", "more than 0", busy > 0)
    groups = sorted(set(re.findall(r'group="([^"]+\.service)"', metrics)))
    expect("systemd's units among the groups", ", ".join(groups), f"has {UNIT}", any(UNIT in group for group in groups))
    status = dict(re.findall(r"^(\w+):\s*(.*)$", text.get("status", ""), re.M))
    expect("user", status.get("Uid", ""), "not 0", status.get("Uid", "0")[:1] not in ("0", ""))
    rights = f"{1 << 38 | 1 << 39:016x}"
    for name in ("CapEff", "CapBnd", "CapPrm"):
        expect(f"capabilities, {name}", status.get(name), rights)
    expect("no new privileges, filter of system calls", f"{status.get('NoNewPrivs')}, {status.get('Seccomp')}", "1, 2")
    expect("listens on", facts.get("listening"), "0100007F:24F8")
    expect("restarts after kill -9", facts.get("restarts"), "1")
    expect("result after the stop", facts.get("result"), "success 0")
    tried, control = (dict(re.findall(r"^(.*): (done|refused)$", text.get(name, ""), re.M)) for name in ("probe", "probe.control"))
    for what, found in control.items():
        expect(f"{what}: in the sandbox (outside)", f"{tried.get(what, 'not tried')} ({found})", "done (done)" if "this machine" in what else "refused (done)")
    expect("tried", len(control), PROBE.count("\ntry "))
    said = text.get("without_token", "").strip()
    expect("0.0.0.0 without a token", f"exit {facts.get('without_token')}: {said}", "an error that names the token",
           facts.get("without_token") not in (None, "0") and "token" in said)
    expect("without the token: wget", facts.get("refused"), "1")
    expect("the token's file", text.get("token", "").split(" ")[0], "-rw-------")
    credentials = text.get("credentials", "")
    expect("the credential", " ".join(credentials.split()), "readable by its user only", bool(re.search(r"^-r--------.*token", credentials, re.M)))
    expect("port in use: restarts", facts.get("restarts_port_in_use"), "1 or 2", facts.get("restarts_port_in_use") in ("1", "2"))
    journal = [line for line in text.get("journal", "").splitlines() if line.startswith("corewise: ")]
    expect("port in use: it says", journal[0] if journal else "nothing", "a sentence with the address", any("127.0.0.1:9464" in line for line in journal))
    exposure = [line for line in text.get("security", "").splitlines() if "Overall exposure" in line]
    expect("systemd-analyze security", " ".join(exposure[0].split()) if exposure else "none", "OK", bool(exposure) and "OK" in exposure[0])
    return rows


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--keep", type=Path, metavar="DIR", help="keep what the guest brings out")
    args = args.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="watch-unit-") as tmp:
            kit = guest.prepare(Path(tmp))
            disk = prepare(kit, Path(tmp) / "system")
            into = args.keep or Path(tmp) / "out"
            # With a network card, whose address does not exist outside.
            machine = guest.Machine("unit", 2, memory_mb=2048, ports=((0, 9464),))
            said = guest.boot(kit, machine, START, into, patience=280, second=disk)
            if args.keep:
                (into / "console").write_text(said)
            rows = judge(into)
    except (guest.Lacking, OSError) as why:
        sys.exit(f"watch_unit.py: {why}")
    corewise.print_table(["what", "found", "required", ""], [[what, str(found)[:160], wanted, "" if holds else "WRONG"] for what, found, wanted, holds in rows])
    return int(not all(row[3] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
