#!/usr/bin/env python3
"""Commands whose second reading of a file fails: an error, exit code 1, no partial output left. And an import to a full disk.

The file is a perf.data that lost events, so that every command reads it twice. With LD_PRELOAD, after one and a half readings, its reads
fail (EIO), or the file loses its second half. TMPDIR is a tmpfs without space. The full disk is a tmpfs of a few MB, whose first failed write
strace shows. Needs root, perf, strace and a C compiler; exit status 1 if anything fails.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corewise

HERE = Path(__file__).resolve().parent
COMMANDS = {
    "report": ["report", "{file}", "--sections", "all"],
    "report --html": ["report", "{file}", "--html", "{out}/page.html"],
    "report --format json": ["report", "{file}", "--format", "json"],
    "diagnose": ["diagnose", "{file}"],
    "table": ["table", "{file}", "ready_wait", "--format", "csv"],
    "table --range": ["table", "{file}", "threads", "--range", "0.1s..0.2s"],
    "table thread_state": ["table", "{file}", "thread_state", "--format", "parquet", "-o", "{out}/states.parquet"],
    "critical_path": ["table", "{file}", "critical_path"],
    "verify": ["verify", "{file}"],
    "import": ["import", "{file}", "-o", "{out}/run.cw"],
    "export perfetto": ["export", "{file}", "--to", "perfetto", "-o", "{out}/run.pftrace"],
    "export csv": ["export", "{file}", "--to", "csv", "-o", "{out}/tables"],
    "export firefox": ["export", "{file}", "--to", "firefox", "-o", "{out}/run.json"],
}


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--seconds", type=float, default=2, help="length of the recording (2)")
    args = args.parse_args()
    corewise.need_binary()
    rows = []
    with tempfile.TemporaryDirectory(prefix="failing-") as tmp:
        tmp = Path(tmp)
        shim = tmp / "faulty.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, HERE / "faulty_reads.c", "-ldl"], check=True)
        whole = lossy_recording(tmp, args.seconds)
        for mode in ("eio", "cut"):
            for name, command in COMMANDS.items():
                rows.append([f"{mode}: {name}", *with_fault(tmp, shim, whole, mode, command)])
        for name, command in COMMANDS.items():
            rows.append([f"no room in TMPDIR: {name}", *without_room(tmp, whole, command)])
        rows.append(["full disk: import", *full_disk(tmp, whole)])
    corewise.print_table(["what", "fault met", "exit", "says", "left", "well"], rows)
    return any(row[-1] != "yes" for row in rows)


def lossy_recording(tmp, seconds):
    """A perf.data that lost events: records many switches with a small buffer until events are lost."""
    path = tmp / "lossy.data"
    for _ in range(5):
        load = ["perf", "bench", "sched", "messaging", "-g", "4", "-l", str(int(4000 * seconds))]
        subprocess.run(["perf", "record", "-q", "-a", "-m", "1", "-e", "sched:sched_switch", "-e", "sched:sched_waking", "-o", path, "--",
                        *load], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if re.search(r"losses [1-9]", corewise.run("report", path, "--sections", "none")):
            return path
    sys.exit("perf lost no events: nothing is read twice")


def command_of(command, file, out):
    return [corewise.BINARY, *(word.format(file=file, out=out) for word in command)]


def verdict(done, out, met, faulted_exit=1):
    left = sorted(str(path.relative_to(out)) for path in out.rglob("*"))
    said = done.stderr.strip().splitlines()
    well = met and done.returncode == faulted_exit and said and not left
    return ["yes" if met else "no", done.returncode, (said[-1] if said else "")[:90], " ".join(left)[:40], "yes" if well else "NO"]


def with_fault(tmp, shim, whole, mode, command):
    file, out, log = tmp / "run.data", tmp / "out", tmp / "log"
    shutil.copyfile(whole, file)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    log.unlink(missing_ok=True)
    size = file.stat().st_size
    faults = {"LD_PRELOAD": str(shim), "FAULTY_FILE": str(file), "FAULTY_MODE": mode, "FAULTY_LOG": str(log)}
    # Measure how much one reading takes, without faults.
    faults["FAULTY_AFTER"] = str(size + size // 2)
    done = subprocess.run(command_of(command, file, out), env=os.environ | faults, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120)
    return verdict(done, out, log.exists())


def without_room(tmp, whole, command):
    room, out = tmp / "room", tmp / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    room.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", room], check=True)
    try:
        done = subprocess.run(command_of(command, whole, out), env=os.environ | {"TMPDIR": str(room)}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)
    finally:
        subprocess.run(["umount", room], check=True)
    # A command that fits in memory succeeds.
    if done.returncode == 0:
        return ["no", 0, "", "", "yes"]
    return verdict(done, out, True)


def full_disk(tmp, whole):
    disk, trace = tmp / "disk", tmp / "strace"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=True)
    try:
        done = subprocess.run(["strace", "-f", "-ttt", "-e", "trace=write,writev,pwrite64", "-o", trace, corewise.BINARY, "import", whole, "-o",
                               disk / "run.cw"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        ended = time.time()
        left = [str(path.relative_to(disk)) for path in disk.rglob("*")]
    finally:
        subprocess.run(["umount", disk], check=True)
    failed = re.search(r"^\d+\s+([\d.]+) .*ENOSPC", trace.read_text(errors="replace"), re.MULTILINE)
    after = ended - float(failed[1]) if failed else None
    said = done.stderr.strip().splitlines()
    well = failed and after < 1 and done.returncode == 1 and not left
    met = f"ended {after:.2f} s after it" if failed else "no"
    return [met, done.returncode, (said[-1] if said else "")[:90], " ".join(left)[:40], "yes" if well else "NO"]


if __name__ == "__main__":
    sys.exit(main())
