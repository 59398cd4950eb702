#!/usr/bin/env python3
"""Compares corewise's imports of other tools' recordings with the referee on an independent reader's text.

    acceptance/formats.py [DIR|FILE…]      default: every recording in shared/traces

| kind | reader for the referee (testdata/referee/oracle.py) |
| --- | --- |
| perf.data | perf script |
| trace.dat | trace-cmd report -t -R |
| ftrace, systrace and perf script text | none: the text itself, taken out of its HTML, gzip or zlib |
| CTF | babeltrace2, its lines converted by ctf_text.py |
| Perfetto | perfetto_text.py (PyPI's classes) |
| schedviz | schedviz_text.py |

Each is imported, its tables are compared to the nanosecond, and a line is printed: switches, wake events, threads, CPUs, span,
residual of the checks, unknown CPU time. Exit status 1 if anything differs, or a file with switches is refused.
"""

import argparse
import gzip
import json
import re
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import corewise
import referee

HERE = Path(__file__).resolve().parent
HEAD = ["file", "format", "equal", "switches", "wakes", "threads", "CPUs", "span s", "residual ns", "unknown", "broken", "unwoken"]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("paths", nargs="*", type=Path, default=[corewise.SHARED / "traces"])
    args.add_argument("--python", default=sys.executable, help="a Python with PyPI's perfetto and protobuf")
    args.add_argument("--differences", type=int, default=3, help="how many to print of each file (3)")
    args = args.parse_args()
    corewise.need_binary()
    rows, failed = [], False
    for path in [found for path in args.paths for found in recordings(path)]:
        row, wrong = held(path, args)
        failed |= bool(wrong)
        for line in wrong[: args.differences]:
            print(f"{path}: {line}", flush=True)
        rows.append(row)
    corewise.print_table(HEAD, rows)
    return failed


def recordings(path):
    """Returns files that may be recordings, and folders that contain one."""
    if path.is_file() or (path / "metadata").exists():
        return [path]
    skip = {"meta", "topology", "turbostat", "perfmon", "presentmon-csv", "etl", "perfetto-textproto"}
    found = []
    for entry in sorted(path.iterdir()):
        if entry.name in skip or entry.suffix in (".md", ".json", ".yml", ".xz", ".c") or entry.name.endswith("sys.tar.gz"):
            continue
        if entry.is_dir():
            found += recordings(entry)
        elif entry.name != "HOW":
            found.append(entry)
    return found


def held(path, args):
    """Returns a line of the table, and the differences."""
    name = "/".join(path.parts[-2:])
    with tempfile.TemporaryDirectory(prefix="formats-") as tmp:
        folder = Path(tmp) / "run.cw"
        try:
            corewise.run("import", path, "-o", folder)
        except corewise.Refused as why:
            reason = str(why).split("corewise: ")[-1]
            print(f"{path}: refused: {reason}", flush=True)
            return [name, "refused", *[""] * 10], []
        manifest = json.loads((folder / "manifest.json").read_text())
        kind, count = manifest["sources"][0]["format"], {k: v["rows"] for k, v in manifest["files"].items()}
        switches, wakes = (count.get(f"events/{k}.parquet", 0) for k in ("switch", "wake"))
        seen = referee.tables(folder)
        cpus = seen["cpus"]
        unknown, whole = sum(c["unknown_ns"] for c in cpus), sum(c[k] for c in cpus for k in ("busy_ns", "idle_ns", "unknown_ns"))
        checked = seen["check"]
        residual = max(abs(r or 0) for law, r in corewise.residuals_of(checked).items() if "charged" not in law)
        numbers = [switches, wakes, len(seen["threads"]), len(cpus), f"{span(checked, cpus):.6f}", residual,
                   corewise.percent(unknown, whole), checked["broken"], checked["unwoken"]]
        if not switches:
            return [name, kind, "no switches", *numbers], []
        oracle = asked(path, kind, manifest, args)
        if oracle is None:
            return [name, kind, "not compared", *numbers], []
        wrong = referee.differences(oracle, seen)
        return [name, kind, "no" if wrong else "yes", *numbers], wrong


def span(checked, cpus):
    """Returns the length of the recording in seconds, which every CPU's states tile."""
    return max((c["busy_ns"] + c["idle_ns"] + c["unknown_ns"] for c in cpus), default=0) / 1e9


def asked(path, kind, manifest, args):
    """Returns the referee's answer; None if no other tool can read the file."""
    about = dict(manifest["facts"].get("about", [])) if isinstance(manifest.get("facts"), dict) else {}
    if kind == "perf.data":
        command = ["perf", "script", "-f", "-F", "comm,tid,cpu,time,event,trace", "--ns", "-i", path]
    elif kind == "trace.dat":
        command = ["trace-cmd", "report", "-t", "-R", path]
    elif kind.startswith("ctf") or (path / "metadata").exists():
        release = about.get("kernel_release", "")
        old = tuple(int(n) for n in release.split("-")[0].split(".")[:2] if n.isdigit()) < (4, 14) if release else True
        return of(["sh", "-c", 'babeltrace2 --clock-seconds --no-delta "$0" | "$1" "$2" $3', path, sys.executable,
                   HERE / "ctf_text.py", f"--release {release}" if old and release else "--numbers"])
    elif kind == "perfetto":
        command = [args.python, HERE / "perfetto_text.py", path]
    elif kind == "schedviz":
        command = [args.python, HERE / "schedviz_text.py", path]
    else:
        text = for_the_referee(plain(path.read_bytes()))
        return of(["cat"], text, old=b"prev_state=x " in text)
    return of(command)


def for_the_referee(text):
    """Removes what the referee does not read as a line of a recording: marks of old Androids ("0: B|…"), and the last line of a page,
    which only ends the list. `x` was printed for "dead" before 4.14 only, which the referee needs to know."""
    text = re.sub(rb"(\d\.\d+: )0: ", rb"\1tracing_mark_write: ", text)
    return b"".join(line for line in text.splitlines(keepends=True) if b"dummy-0000" not in line)


def plain(data):
    """Returns the lines without the wrappers of a text."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    start = data.find(b"TRACE:\n")
    if 0 <= start < 4096:
        return zlib.decompressobj().decompress(data[start + 7:])
    if b"<html" in data[:4096].lower():
        from_script = data.rfind(b'<script class="trace-data"')
        if from_script >= 0:
            begin = data.index(b">", from_script) + 1
            return data[begin:data.index(b"</script>", begin)]
        begin = data.index(b"var linuxPerfData = \"") + 21
        return data[begin:data.index(b"\";", begin)].replace(b"\\n\\\n", b"\n")
    return data


def of(command, text=None, old=False):
    reader = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with tempfile.TemporaryFile() as lines:
        lines.write(reader.communicate(text)[0])
        lines.seek(0)
        done = subprocess.run([sys.executable, corewise.ORACLE, *(["--before-4.14"] if old else [])], stdin=lines, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout) if done.stdout else None


if __name__ == "__main__":
    sys.exit(main())
