"""QEMU guests (aarch64, emulated) that have PMUs: what they need is made once in a folder of the cache, then each boots in seconds.

The folder is COREWISE_GUESTS, or ~/.cache/corewise-guests. It gets Debian's arm64 kernel and libraries (by an apt root of its own, so this
machine's packages stay as they are) and the device trees. corewise is cross-built with cargo, or taken from COREWISE_AARCH64.
"""

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import initrd
from pmu import device_tree

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("COREWISE_GUESTS") or Path.home() / ".cache/corewise-guests")
TARGET = "aarch64-unknown-linux-gnu"
CROSS = Path("/usr/aarch64-linux-gnu/lib")

# Programs, and Debian's packages that have them (purpose `guest` of packages.txt).
TOOLS = {"qemu-system-aarch64": "qemu-system-arm", "dtc": "device-tree-compiler", "cpio": "cpio", "dpkg-deb": "dpkg", "apt-get": "apt",
         "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross", "clang": "clang"}
LIBRARIES = ["libelf-dev", "libelf1", "zlib1g-dev", "zlib1g", "busybox-static"]
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SOURCES = "".join(f"deb [arch=arm64 signed-by={KEYS}] http://deb.debian.org/{where} main\n"
                  for where in ["debian bookworm", "debian-security bookworm-security"])
APT = """APT::Architecture "arm64";
APT::Architectures {{ "arm64"; }};
APT::Sandbox::User "root";
Dir::State "{0}/state";
Dir::State::status "{0}/status";
Dir::Cache "{0}/cache";
Dir::Etc::SourceList "{0}/sources.list";
Dir::Etc::SourceParts "/dev/null";
"""

# The disk that the results leave by, and the network; the rest of virtio is part of the kernel.
MODULES = ["virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "virtio_blk"]
NETWORK = ["failover", "net_failover", "virtio_net"]
BUSYBOX = ["sh", "mount", "poweroff", "sleep", "cat", "echo", "true", "tar", "insmod", "mkdir", "ls", "uname", "sync", "grep", "head", "tail",
           "timeout", "ifconfig", "kill", "nc", "nice", "rm", "rmdir", "seq", "switch_root", "taskset"]
DISK_BYTES = 256 << 20
GUEST_ADDRESS = "10.0.2.15"

INIT = """#!/bin/sh
export PATH=/bin HOME=/tmp
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp; mount -t tmpfs out /out
mount -t tracefs tracefs /sys/kernel/tracing
for m in {modules}; do insmod /modules/$m.ko; done
ifconfig lo 127.0.0.1 up; ifconfig eth0 {address} netmask 255.255.255.0 up 2> /dev/null
# Debian's kernel lets only root open events by default.
echo -1 > /proc/sys/kernel/perf_event_paranoid
cd /out
. /script
cd /
tar -cf /dev/vda -C /out . && sync && echo GUEST DONE
poweroff -f
"""


class Lacking(Exception):
    """Something that a guest needs is not here; holds a sentence with what to do."""


@dataclass(frozen=True)
class Machine:
    """A guest. `kinds` are its kinds of PMU as (CPUs, compatible, capacity); none: QEMU's own, one for all CPUs."""
    name: str
    cpus: int = 1
    kinds: tuple = ()
    # Of all CPUs, if some have no PMU.
    capacities: tuple = ()
    # Instructions are counted only with -icount; 4 ns each, so that cycles and instructions differ.
    icount: str = ""
    processor: str = "max,pauth-impdef=on"
    memory_mb: int = 1024
    # Ports of this machine's loopback, and the guest's ports to which they lead; the guest then has the address GUEST_ADDRESS.
    ports: tuple = ()


@dataclass
class Kit:
    """The files that all guests use."""
    kernel: Path
    base: Path
    perf: Path
    # Where the rest is made.
    tmp: Path


def need_tools():
    """Raises Lacking if a program is not here."""
    for tool, package in TOOLS.items():
        if not shutil.which(tool):
            raise Lacking(f"{tool} is not here: scripts/setup guest, or apt-get install {package}")
    if not (CROSS / "libc.so.6").exists():
        raise Lacking(f"{CROSS}/libc.so.6 is not here: apt-get install libc6-dev-arm64-cross")


def run(what, command, where=None, **environment):
    """Runs a command; returns what it printed. Raises Lacking with `what` and the end of its errors if it fails."""
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=where, env=os.environ | environment)
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[-600:]
        raise Lacking(f"{what} failed ({' '.join(map(str, command[:3]))}: exit {done.returncode}): {said}")
    return done.stdout


def apt_root(apt):
    """Makes an apt root of its own in this folder, with Debian's list of arm64 packages; returns the environment with which apt uses it."""
    for folder in (apt / "state/lists/partial", apt / "cache/archives/partial", apt / "debs"):
        folder.mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(SOURCES)
    (apt / "conf").write_text(APT.format(apt))
    own = {"APT_CONFIG": str(apt / "conf")}
    run("reading Debian's list of arm64 packages", ["apt-get", "update", "-qq"], **own)
    return own


def unpack(apt, names, into):
    """Unpacks these arm64 packages, without what they depend on, into a folder. `apt` is a folder that it makes and removes. Raises Lacking."""
    own = apt_root(apt)
    run("downloading arm64 packages", ["apt-get", "download", "-qq", *names], apt / "debs", **own)
    for deb in sorted((apt / "debs").glob("*.deb")):
        run(f"unpacking {deb.name}", ["dpkg-deb", "-x", deb, into])
    shutil.rmtree(apt)


def packages():
    """Unpacks Debian's arm64 kernel, libraries and perf into the cache, once; returns their three folders."""
    kernel, sysroot, perf, apt = CACHE / "kernel", CACHE / "sysroot", CACHE / "perf", CACHE / "apt"
    modules = [*MODULES, *NETWORK]
    if not (sysroot / "complete").exists() or not all((kernel / f"{module}.ko").exists() for module in modules):
        # Also what an interrupted attempt or an older version left.
        for folder in (kernel, sysroot, perf, apt):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (kernel, sysroot, perf, apt / "all"):
            folder.mkdir(parents=True)
        own = apt_root(apt)
        depends = run("looking for Debian's arm64 kernel", ["apt-cache", "depends", "linux-image-arm64"], **own)
        image = next((line.split()[1] for line in depends.splitlines() if "Depends: linux-image" in line), None)
        if not image:
            raise Lacking("Debian's linux-image-arm64 names no kernel")
        run("downloading arm64 packages", ["apt-get", "download", "-qq", image, *LIBRARIES], apt / "debs", **own)
        for deb in sorted((apt / "debs").glob("*.deb")):
            run(f"unpacking {deb.name}", ["dpkg-deb", "-x", deb, apt / "image" if deb.name.startswith("linux-image") else sysroot])
        for file in [next((apt / "image/boot").glob("vmlinuz-*")), *(next((apt / "image").rglob(f"{module}.ko")) for module in modules)]:
            shutil.copy(file, kernel)
        install = ["apt-get", "install", "-qq", "-y", "--download-only", "--no-install-recommends", "linux-perf"]
        run("downloading perf for arm64 and its libraries", install, **own)
        for deb in sorted((apt / "cache/archives").glob("*.deb")):
            run(f"unpacking {deb.name}", ["dpkg-deb", "-x", deb, apt / "all"])
        take_with_libraries(apt / "all", "usr/bin/perf", perf)
        (sysroot / "complete").touch()
        shutil.rmtree(apt)
    return kernel, sysroot, perf


def take_with_libraries(tree, program, into):
    """Copies a program of an unpacked system into `bin`, and what it needs into `lib`."""
    libraries = {path.name: path for path in tree.rglob("*.so*")}
    for name in ["bin", "lib"]:
        (into / name).mkdir()
    shutil.copy(tree / program, into / "bin")
    waiting, taken = [tree / program], set()
    while waiting:
        dynamic = run("reading a library", ["aarch64-linux-gnu-readelf", "-d", waiting.pop()])
        for name in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic):
            if name in taken:
                continue
            taken.add(name)
            # A link is relative to the unpacked system, not to this one.
            found = next((path for path in tree.rglob(libraries[name].resolve().name)), None) if name in libraries else None
            if not found:
                raise Lacking(f"{program} needs {name}, which is in none of the downloaded packages")
            shutil.copy(found, into / "lib" / name)
            waiting.append(found)


def cross_build(sysroot):
    """Builds corewise for aarch64, optimised a little and without debug information; returns the binary."""
    given = os.environ.get("COREWISE_AARCH64")
    if given:
        if not os.access(given, os.X_OK):
            raise Lacking(f"COREWISE_AARCH64 names {given}, which is not a program")
        return Path(given)
    if not shutil.which("cargo") or not shutil.which("rustc"):
        raise Lacking("cargo or rustc is not here: scripts/setup build says how to install them; or COREWISE_AARCH64 may name a built corewise")
    libraries = Path(run("asking rustc", ["rustc", "--print", "sysroot"], ROOT).strip()) / "lib/rustlib" / TARGET
    if not libraries.is_dir():
        if not shutil.which("rustup"):
            raise Lacking(f"rustc has no standard library for {TARGET}, and there is no rustup to add it")
        run("adding Rust's standard library for aarch64", ["rustup", "target", "add", TARGET], ROOT)
    name = TARGET.upper().replace("-", "_")
    settings = {
        "CARGO_INCREMENTAL": "0", "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
        f"CARGO_TARGET_{name}_LINKER": "aarch64-linux-gnu-gcc",
        f"CARGO_TARGET_{name}_RUSTFLAGS": f"-L native={sysroot}/usr/lib/aarch64-linux-gnu",
        "LIBBPF_SYS_EXTRA_CFLAGS": f"-I{sysroot}/usr/include",
    }
    run("the cross-build of corewise", ["cargo", "build", "--locked", "-p", "corewise", "--target", TARGET], ROOT, **settings)
    target = Path(os.environ.get("CARGO_TARGET_DIR") or "target")
    return ROOT / target / TARGET / "debug/corewise"


def prepare(tmp):
    """Makes what is not there yet; returns the kit, whose own files are in `tmp`. Raises Lacking."""
    need_tools()
    kernel, sysroot, perf = packages()
    binary = cross_build(sysroot)
    image = next(kernel.glob("vmlinuz-*"), None)
    if not image:
        raise Lacking(f"{kernel} has no vmlinuz-*: remove {CACHE} and try again")
    root = tmp / "root"
    initrd.begin(root, sysroot / "bin/busybox", BUSYBOX)
    for name in ["out", "modules", "lib"]:
        (root / name).mkdir()
    modules = [*MODULES, *NETWORK]
    for module in modules:
        shutil.copy(kernel / f"{module}.ko", root / "modules")
    run("stripping corewise", ["aarch64-linux-gnu-strip", "-o", root / "bin/corewise", binary])
    for program, source in [("load", ROOT / "acceptance/pmu/load.c"), ("locks", ROOT / "acceptance/holders/locks.c")]:
        run(f"compiling {source.name}", ["aarch64-linux-gnu-gcc", "-O1", "-Wall", "-static", "-pthread", "-o", root / "bin" / program, source])
    for library in [*(CROSS / name for name in ("ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6", "libgcc_s.so.1")),
                    sysroot / "usr/lib/aarch64-linux-gnu/libelf.so.1", sysroot / "lib/aarch64-linux-gnu/libz.so.1"]:
        shutil.copy(library, root / "lib" / library.name)
    initrd.add_script(root / "init", INIT.format(modules=" ".join(modules), address=GUEST_ADDRESS))
    # QEMU copies it into the guest's memory; unpacking would take an emulated processor longer.
    packed = [initrd.pack(folder, tmp / f"{name}.cpio", compressed=False) for folder, name in ((root, "base"), (perf, "perf"))]
    return Kit(image, *packed, tmp)


def options(machine):
    """Returns QEMU's options for the machine, without those of a boot."""
    icount = ["-icount", machine.icount] if machine.icount else []
    forwarded = "".join(f",hostfwd=tcp:127.0.0.1:{here}-:{there}" for here, there in machine.ports)
    # Without the ROM to boot from the network, which Debian has in another package.
    network = ["-netdev", f"user,id=net,restrict=on{forwarded}", "-device", "virtio-net-pci,netdev=net,romfile="] if machine.ports else []
    return ["qemu-system-aarch64", "-M", "virt,gic-version=3", "-cpu", machine.processor, "-smp", machine.cpus, "-m", machine.memory_mb,
            "-nodefaults", "-nographic", "-name", f"{machine.name},debug-threads=on", *icount, *network]


def tree_of(kit, machine):
    """Returns the machine's device tree with its kinds of PMU."""
    base, source, edited, tree = (kit.tmp / f"{machine.name}.{ending}" for ending in ("base.dtb", "dts", "edited.dts", "dtb"))
    dumping = list(map(str, options(machine)))
    dumping[2] += f",dumpdtb={base}"
    run(f"the device tree of the machine {machine.name}", dumping)
    run("reading that tree", ["dtc", "-q", "-I", "dtb", "-O", "dts", "-o", source, base])
    edited.write_text(device_tree.with_kinds(source.read_text(), machine.kinds, machine.capacities))
    run("writing the edited tree", ["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", tree, edited])
    return tree


def boot(kit, machine, script, into, patience=300, started=None, second=None):
    """Boots the machine, runs the shell script in /out and copies that folder into `into`; returns what the guest printed. perf is there
    if the script has the word. `second`: a file that is the disk /dev/vdb, which is only read. `started` is called with QEMU's process ID; the threads of its CPUs are named "CPU 0/TCG" and so on."""
    tree = ["-dtb", tree_of(kit, machine)] if machine.kinds else []
    with tempfile.TemporaryDirectory(dir=kit.tmp) as tmp:
        tmp = Path(tmp)
        (tmp / "script.d").mkdir()
        (tmp / "script.d/script").write_text(script)
        own = initrd.pack(tmp / "script.d", tmp / "script.cpio", compressed=False)
        with open(tmp / "initrd", "wb") as disk:
            for part in [kit.base, own, *([kit.perf] if re.search(r"\bperf\b", script) else [])]:
                disk.write(part.read_bytes())
        with open(tmp / "disk", "wb") as disk:
            disk.truncate(DISK_BYTES)
        command = [*options(machine), *tree, "-serial", "stdio", "-no-reboot", "-kernel", kit.kernel, "-initrd", tmp / "initrd",
                   "-drive", f"file={tmp / 'disk'},format=raw,if=none,id=out,cache=unsafe", "-device", "virtio-blk-pci,drive=out",
                   *(["-drive", f"file={second},format=raw,if=none,id=second,readonly=on", "-device", "virtio-blk-pci,drive=second"] if second else []),
                   "-append", "console=ttyAMA0 rdinit=/init loglevel=4 panic=-1"]
        try:
            said = initrd.run_guest(command, patience, started)
        except subprocess.TimeoutExpired as late:
            printed = (late.stdout or b"").decode(errors="replace")
            raise Lacking(f"the guest {machine.name} did not end within {patience} s; it printed at last: {printed[-800:]}") from late
        if "GUEST DONE" not in said:
            raise Lacking(f"the guest {machine.name} did not bring its results out; it printed at last: {said[-1500:]}")
        into.mkdir(parents=True, exist_ok=True)
        with tarfile.open(tmp / "disk") as results:
            results.extractall(into, filter="data")
    return said
