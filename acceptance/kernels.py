#!/usr/bin/env python3
"""Whether other kernels accept the recorder's BPF programs: their verifiers differ.

    acceptance/kernels.py FOLDER…

Boots each kernel in a QEMU guest (x86-64, emulated, two CPUs), records a short load there with `corewise record`, and verifies the
recording. Required: recorded by BPF, without losses, and all times consistent.

FOLDER is an unpacked kernel: `apt-get download linux-image-…-amd64; dpkg-deb -x *.deb FOLDER`. Needs qemu-system-x86, busybox-static and
cpio. A guest takes about 15 s. Exit status 1 if a recording falls short.
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

INIT = """#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mount -t tracefs tracefs /sys/kernel/tracing
export PATH=/bin HOME=/tmp
corewise record --stacks -o /tmp/stacks.cw -- true > /tmp/stacks.txt 2>&1 || cat /tmp/stacks.txt
corewise record -o /tmp/run.cw -- sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.05; dd if=/dev/zero of=/dev/null bs=1M count=100; done'
corewise verify /tmp/run.cw
poweroff -f
"""


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("kernels", nargs="+", type=Path, metavar="FOLDER")
    args = args.parse_args()
    corewise.need_binary()
    rows, wrong = [], False
    with tempfile.TemporaryDirectory(prefix="kernels-") as tmp:
        disk = initial_disk(Path(tmp))
        for folder in args.kernels:
            kernel = next(folder.glob("boot/vmlinuz-*"), None)
            if not kernel:
                sys.exit(f"{folder}: no boot/vmlinuz-*; unpack a kernel's package there (dpkg-deb -x)")
            said = boot(kernel, disk)
            by_bpf = re.findall(r"(\d+) events in .*, (\d+) lost, by bpf", said)
            consistent = "Time accounting: consistent" in said
            wrong |= len(by_bpf) != 1 or by_bpf[0][1] != "0" or not consistent or "BPF is not available" in said
            rows.append([kernel.name.removeprefix("vmlinuz-"), *(by_bpf[0] if by_bpf else ("-", "-")), "yes" if consistent else "NO"])
            if not by_bpf:
                print("\n".join(line for line in said.splitlines() if "bpf" in line.lower())[-4000:], file=sys.stderr)
    corewise.print_table(["kernel", "events by BPF", "lost", "consistent"], rows)
    return int(wrong)


def initial_disk(tmp):
    """Packs busybox, corewise and its libraries; returns the file."""
    root = tmp / "root"
    for name in ["bin", "proc", "sys", "dev", "tmp"]:
        (root / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin")
    for name in ["sh", "mount", "poweroff", "sleep", "cat", "echo", "dd", "grep", "true"]:
        os.symlink("busybox", root / "bin" / name)
    shutil.copy(corewise.BINARY, root / "bin/corewise")
    libraries = subprocess.run(["ldd", corewise.BINARY], check=True, capture_output=True, text=True).stdout
    for library in re.findall(r"/\S+", libraries):
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library[1:])
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)
    with open(tmp / "disk", "wb") as disk:
        subprocess.run("find . | cpio -o -H newc --quiet | gzip -1", shell=True, check=True, cwd=root, stdout=disk)
    return tmp / "disk"


def boot(kernel, disk):
    """Returns what the guest printed."""
    command = ["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-smp", "2", "-m", "1500", "-nodefaults", "-nographic", "-serial", "stdio",
               "-no-reboot", "-kernel", kernel, "-initrd", disk, "-append", "console=ttyS0 rdinit=/init loglevel=3 panic=-1 mitigations=off"]
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    return done.stdout.decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
