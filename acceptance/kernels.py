#!/usr/bin/env python3
"""Whether other kernels accept the recorder's BPF programs: their verifiers differ.

    acceptance/kernels.py FOLDER…

Boots each kernel in a QEMU guest (x86-64, emulated, two CPUs), records a short load there with `corewise record`, and verifies the
recording. Required: recorded by BPF, without losses, and all times consistent.

FOLDER is an unpacked kernel: `apt-get download linux-image-…-amd64; dpkg-deb -x *.deb FOLDER`. Needs qemu-system-x86, busybox-static and
cpio. A guest takes about 15 s. Exit status 1 if a recording falls short.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import corewise
import initrd

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
            by_bpf = re.findall(r"(\d+) events? in .*, (\d+) lost, by bpf", said)
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
    initrd.begin(root, "/bin/busybox", ["sh", "mount", "poweroff", "sleep", "cat", "echo", "dd", "grep", "true"])
    initrd.add_with_libraries(root, corewise.BINARY, "corewise")
    initrd.add_script(root / "init", INIT)
    return initrd.pack(root, tmp / "disk")


def boot(kernel, disk):
    """Returns what the guest printed."""
    command = ["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-smp", "2", "-m", "1500", "-nodefaults", "-nographic", "-serial", "stdio",
               "-no-reboot", "-kernel", kernel, "-initrd", disk, "-append", "console=ttyS0 rdinit=/init loglevel=3 panic=-1 mitigations=off"]
    return initrd.run_guest(command, 300)


if __name__ == "__main__":
    sys.exit(main())
