#!/usr/bin/env python3
"""The power fails while a recording is converted in place: its spool or its folder is complete at every moment.

    acceptance/power_cut.py --kernel FOLDER [--kills 50]

A QEMU guest has a recording's spool on an ext4 disk and converts it (`corewise recover`, as `corewise record` does at its end). It is
killed at random moments from the begin of the conversion to some time after its end. Its disk has a write-back cache, which is lost: this
script is the disk (a server of the NBD protocol). What the guest wrote since its last FLUSH is only in the cache; at the kill each sector
of it has reached the disk or not, at random with a probability drawn for each kill. (A qcow2 or raw file would not work: its writes survive
in the host's page cache when QEMU is killed, flushed or not.) The journal commits every second (mount option commit=1) rather than every
five, so that removed files are soon gone from the disk too.

Then the disk is mounted here. Required: a manifest, and `corewise verify` finds all events; or no manifest, and a spool whose files are
byte by byte those from before. The line of each kill says which. With --no-sync the guest's fsync does nothing (a seccomp filter): the
control, in which recordings must be lost.

FOLDER is an unpacked kernel: `apt-get download linux-image-…-cloud-amd64; dpkg-deb -x *.deb FOLDER`. Needs root, qemu-system-x86,
busybox-static, cpio, e2fsprogs, and gcc for --no-sync. The guest boots once; each kill begins from the same saved state.
Exit status 1 if a recording was lost (with --no-sync: if none was).
"""

import argparse
import hashlib
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import corewise

MODULES = ["virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "virtio_blk"]
SECTOR = 512

INIT = """#!/bin/sh
mkdir -p /proc /sys /dev /mnt
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
for m in {modules}; do insmod /$m.ko; done
mount -t ext4 -o commit=1 /dev/vda /mnt || echo FAILED mount
mkdir -p /mnt/proc /mnt/tmp; mount -t proc proc /mnt/proc; mount -t tmpfs tmp /mnt/tmp
# So that the first run from the saved state reads the program from memory.
chroot /mnt /corewise --version; cat /mnt/run.cw/spool/* > /dev/null
sync
echo READY
read -r go
echo BEGIN
chroot /mnt {wrap} /corewise recover /run.cw && echo DONE || echo FAILED
while :; do sleep 1; done
"""

NO_SYNC = r"""
#include <stddef.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int n, char **words) {
    struct sock_filter all[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fdatasync, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
    };
    struct sock_fprog program = {sizeof all / sizeof *all, all};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1;
    execv(words[1], words + 1);
    return 1;
}
"""


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--kernel", type=Path, required=True)
    args.add_argument("--kills", type=int, default=50)
    args.add_argument("--duration", default="2", help="seconds of the recording (2)")
    args.add_argument("--seed", type=int, default=24)
    args.add_argument("--after", type=float, default=2.5, help="the last moment, seconds after the conversion's end (2.5)")
    args.add_argument("--no-sync", action="store_true", help="the control: fsync does nothing")
    args = args.parse_args()
    corewise.need_binary()
    random.seed(args.seed)
    with tempfile.TemporaryDirectory(prefix="power-") as tmp:
        return trials(Path(tmp), args)


def trials(tmp, args):
    before, events = recording(tmp, args.duration)
    image, initrd = disk(tmp, args), tmp / "initrd"
    make_initrd(tmp, initrd, args)
    saved, content = boot(tmp, args, image, initrd)
    # Measure how long the conversion takes from there without a kill.
    guest = Guest(tmp, args, initrd, Disk(content), saved)
    guest.say("go")
    guest.until("BEGIN")
    began = time.monotonic()
    guest.until("DONE")
    whole = time.monotonic() - began
    guest.kill()
    print(f"{events} events, spool of {sum(size for size, _ in before.values()) / 1e6:.1f} MB; without a kill the conversion takes {whole:.1f} s")
    rows, lost = [], 0
    for kill in range(args.kills):
        held = Disk(content)
        guest = Guest(tmp, args, initrd, held, saved)
        guest.say("go")
        guest.until("BEGIN")
        after = random.uniform(0, whole + args.after)
        time.sleep(after)
        guest.kill()
        bias = random.choice([0.0, 0.2, 0.5, 0.8])
        unflushed, left = held.crash(bias)
        (tmp / "crashed").write_bytes(left)
        what, well = verdict(tmp, before, events)
        lost += not well
        rows.append([kill, f"{after:.2f}", "yes" if "DONE" in guest.heard else "no", held.flushes, unflushed, f"{bias:.0%}", what, "yes" if well else "NO"])
        print(*rows[-1], flush=True)
    corewise.print_table(["kill", "s after begin", "had ended", "flushes", "sectors unflushed", "of which kept", "left on disk", "whole"], rows)
    print(f"{args.kills - lost} of {args.kills} kept a whole recording")
    return int(lost == 0) if args.no_sync else int(lost > 0)


def recording(tmp, duration):
    """Records a spool. Returns its files and the number of events."""
    whole, run = tmp / "whole.cw", tmp / "root/run.cw"
    corewise.run("record", "-o", whole, "--keep-spool", "--duration", duration)
    events = corewise.check(whole)["events"]
    run.mkdir(parents=True, mode=0o700)
    shutil.copytree(whole / "spool", run / "spool")
    return files(run / "spool"), events


def files(folder):
    return {p.name: (p.stat().st_size, hashlib.sha256(p.read_bytes()).hexdigest()) for p in sorted(folder.iterdir())}


def disk(tmp, args):
    """Makes an ext4 image with the spool, the program and its libraries."""
    root = tmp / "root"
    for name in ("proc", "tmp", "lib64", "lib"):
        (root / name).mkdir(exist_ok=True)
    shutil.copy(corewise.BINARY, root / "corewise")
    subprocess.run(["strip", root / "corewise"], check=True)
    for line in subprocess.run(["ldd", corewise.BINARY], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines():
        path = next((word for word in line.split() if word.startswith("/")), None)
        if path:
            shutil.copy(path, root / ("lib64" if "ld-linux" in path else "lib"))
    if args.no_sync:
        (tmp / "no_sync.c").write_text(NO_SYNC)
        subprocess.run(["gcc", "-static", "-O1", "-o", root / "no_sync", tmp / "no_sync.c"], check=True)
    image = tmp / "image"
    used = sum(p.stat().st_size for p in root.rglob("*") if p.is_file())
    image.write_bytes(b"")
    os.truncate(image, used * 2 + (96 << 20))
    subprocess.run(["mkfs.ext4", "-q", "-F", "-d", root, image], check=True)
    return image


def make_initrd(tmp, initrd, args):
    tree = tmp / "initrd.d"
    (tree / "bin").mkdir(parents=True)
    shutil.copy("/bin/busybox", tree / "bin/busybox")
    for name in ("sh", "mount", "insmod", "mkdir", "chroot", "sleep", "echo", "cat", "sync"):
        (tree / "bin" / name).symlink_to("busybox")
    for name in MODULES:
        shutil.copy(next(args.kernel.rglob(f"{name}.ko")), tree)
    (tree / "init").write_text(INIT.format(modules=" ".join(MODULES), wrap="/no_sync" if args.no_sync else ""))
    (tree / "init").chmod(0o755)
    packed = subprocess.run("find . | cpio -o -H newc --quiet", shell=True, cwd=tree, check=True, stdout=subprocess.PIPE)
    initrd.write_bytes(packed.stdout)


def boot(tmp, args, image, initrd):
    """Boots the guest until just before it converts. Returns its saved state and its disk with everything that it has written."""
    held, saved = Disk(image.read_bytes()), tmp / "saved"
    guest = Guest(tmp, args, initrd, held)
    guest.until("READY", 600)
    time.sleep(3)  # the journal's last commit
    guest.order(f'migrate "exec:cat > {saved}"')
    guest.order("quit")
    guest.process.wait()
    held.close()
    return saved, bytes(held.now)


class Disk:
    """A disk with a write-back cache, over NBD."""

    def __init__(self, content):
        self.now, self.durable, self.cache = bytearray(content), bytearray(content), []
        self.flushes = 0
        self.folder = tempfile.mkdtemp(prefix="disk-")
        self.path = f"{self.folder}/socket"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(4)
        threading.Thread(target=self.listen, daemon=True).start()

    def close(self):
        self.listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def crash(self, bias):
        """Returns the content of the disk without its cache, except for random sectors that had been written, and the number of cached sectors."""
        self.close()
        sectors = 0
        for offset, data in self.cache:
            for at in range(0, len(data), SECTOR):
                sectors += 1
                if random.random() < bias:
                    self.durable[offset + at : offset + at + SECTOR] = data[at : at + SECTOR]
        return sectors, self.durable

    def listen(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            self.negotiate(connection)
            while self.request(connection):
                pass
        except (OSError, EOFError):
            pass
        connection.close()

    def negotiate(self, c):
        has_flags, flush, fua = 1, 4, 8
        c.sendall(b"NBDMAGICIHAVEOPT" + struct.pack(">H", 3))
        exactly(c, 4)
        while True:
            _, option, length = struct.unpack(">8sII", exactly(c, 16))
            exactly(c, length)
            reply = lambda kind, data=b"": c.sendall(struct.pack(">QIII", 0x3E889045565A9, option, kind, len(data)) + data)
            if option in (6, 7):  # INFO, GO
                reply(3, struct.pack(">HQH", 0, len(self.now), has_flags | flush | fua))
                reply(1)
                if option == 7:
                    return
            else:
                reply(0x80000001)  # unsupported

    def request(self, c):
        _, flags, kind, handle, offset, length = struct.unpack(">IHHQQI", exactly(c, 28))
        answer = b""
        if kind == 0:
            answer = self.now[offset : offset + length]
        elif kind == 1:
            data = exactly(c, length)
            self.now[offset : offset + length] = data
            if flags & 1:  # FUA: past the cache
                self.durable[offset : offset + length] = data
            else:
                self.cache.append((offset, data))
        elif kind == 2:
            return False
        elif kind == 3:
            for at, data in self.cache:
                self.durable[at : at + len(data)] = data
            self.cache.clear()
            self.flushes += 1
        c.sendall(struct.pack(">IIQ", 0x67446698, 0 if kind < 4 else 22, handle) + answer)
        return True


def exactly(connection, length):
    data = b""
    while len(data) < length:
        more = connection.recv(length - len(data))
        if not more:
            raise EOFError
        data += more
    return data


class Guest:
    def __init__(self, tmp, args, initrd, held, saved=None):
        kernel = next(args.kernel.glob("boot/vmlinuz-*"))
        words = ["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-m", "512", "-nodefaults", "-display", "none", "-no-reboot",
                 "-chardev", "stdio,id=c,signal=off", "-serial", "chardev:c", "-monitor", f"unix:{held.folder}/monitor,server=on,wait=off",
                 "-kernel", kernel, "-initrd", initrd, "-append", "console=ttyS0 rdinit=/init quiet panic=-1",
                 "-drive", f"file=nbd+unix:///?socket={held.path},format=raw,if=none,id=d,cache=writeback", "-device", "virtio-blk-pci,drive=d"]
        if saved:
            words += ["-incoming", f"exec:cat {saved}"]
        self.held, self.heard = held, ""
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.news = threading.Condition()
        threading.Thread(target=self.hear, daemon=True).start()
        if saved:
            self.order("info status", until="running")

    def hear(self):
        while data := os.read(self.process.stdout.fileno(), 4096):
            with self.news:
                self.heard += data.decode(errors="replace")
                self.news.notify_all()

    def until(self, word, seconds=300):
        with self.news:
            well = self.news.wait_for(lambda: word in self.heard or "FAILED" in self.heard, seconds)
        if not well or "FAILED" in self.heard:
            self.process.kill()
            sys.exit(f"the guest does not print {word}: {self.heard[-2000:]}")

    def say(self, word):
        self.process.stdin.write(f"{word}\n".encode())
        self.process.stdin.flush()

    def order(self, order, until=None):
        """Returns the monitor's answer; asks again until it contains a word."""
        path = f"{self.held.folder}/monitor"
        with socket.socket(socket.AF_UNIX) as monitor:
            while monitor.connect_ex(path):
                if self.process.poll() is not None:
                    sys.exit(f"the guest does not start: {self.heard[-2000:]}")
                time.sleep(0.01)
            answer = prompt(monitor)
            while True:
                monitor.sendall(order.encode() + b"\n")
                answer = prompt(monitor)
                if until is None or until in answer:
                    return answer
                time.sleep(0.02)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.held.close()


def prompt(monitor):
    answer = ""
    while not answer.endswith("(qemu) "):
        data = monitor.recv(4096)
        if not data:
            break
        answer += data.decode(errors="replace")
    return answer


def verdict(tmp, before, events):
    """Returns what is on the crashed disk, and whether that is a complete recording."""
    mounted = tmp / "mounted"
    mounted.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-o", "loop", tmp / "crashed", mounted], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return f"no file system: {done.stderr.strip()}", False
    try:
        run = mounted / "run.cw"
        spool = files(run / "spool") if (run / "spool").is_dir() else {}
        same = "spool" if spool == before else f"spool with {len(spool)} of {len(before)} files" if spool else ""
        if not (run / "manifest.json").exists():
            return same or "neither", spool == before
        try:
            checked = corewise.check(run)
        except corewise.Refused as why:
            return f"folder that is refused: {why}; {same}", spool == before
        whole = checked["events"] == events and checked["holds"] and (run / "processes.json").stat().st_size > 2
        return f"folder{' and ' + same if same else ''}", whole
    finally:
        subprocess.run(["umount", mounted], check=True)


if __name__ == "__main__":
    sys.exit(main())
