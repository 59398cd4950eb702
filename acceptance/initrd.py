"""The initial disk of a QEMU guest: folders, busybox under its names, programs with their libraries, packed by cpio."""

import os
import re
import shutil
import subprocess

FOLDERS = ["bin", "proc", "sys", "dev", "tmp"]


def begin(root, busybox, names):
    """Makes the folders below root, and busybox under these names in its bin."""
    for name in FOLDERS:
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin/busybox")
    for name in names:
        os.symlink("busybox", root / "bin" / name)


def add_with_libraries(root, binary, name):
    """Copies a program of this machine into bin, and its libraries to where it looks for them."""
    shutil.copy(binary, root / "bin" / name)
    libraries = subprocess.run(["ldd", binary], check=True, capture_output=True, text=True).stdout
    for library in re.findall(r"/\S+", libraries):
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library[1:])


def add_script(path, text):
    """Writes a file that can be run."""
    path.write_text(text)
    path.chmod(0o755)


def pack(root, into, compressed=True):
    """Packs all files below root. A kernel also takes several such files, one after the other."""
    command = "find . | cpio -o -H newc --quiet" + (" | gzip -1" if compressed else "")
    with open(into, "wb") as disk:
        subprocess.run(command, shell=True, check=True, cwd=root, stdout=disk)
    return into


def run_guest(command, patience, started=None):
    """Runs QEMU with its console on the standard output; returns what the guest printed. `started` is called with its process ID. Raises
    TimeoutExpired after `patience` seconds."""
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as guest:
        try:
            if started:
                started(guest.pid)
            printed, _ = guest.communicate(timeout=patience)
        finally:
            guest.kill()
    return printed.decode(errors="replace")
