#!/usr/bin/env python3
"""Reads a SchedViz collection (trace.tar.gz, or its folder) slowly and independently of corewise, and prints it as text.

    schedviz_text.py trace.tar.gz | oracle.py [--before-4.14]

The text is that of `trace-cmd report -t -R`, with state numbers as they were recorded. The lines of sched.bt of an EBPF collection
are printed in the same form. The last line on stderr says which kind of state numbers these are.
"""
import io
import re
import struct
import sys
import tarfile
from pathlib import Path

FIELD = re.compile(r"field:(.*?)\s+\*?(\w+)(\[\d*\])?;\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d)")


def files_of(path):
    """Returns names and bytes."""
    if path.is_dir():
        return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}
    with tarfile.open(path) as tar:
        return {m.name.removeprefix("./"): tar.extractfile(m).read() for m in tar if m.isfile()}


def formats_of(files):
    """Returns by number: name, fields, and whether its state numbers are those of kernels before 4.14."""
    formats = {}
    for name, data in files.items():
        if name.startswith("formats/") and name.endswith("/format"):
            text = data.decode()
            number = int(re.search(r"^ID: (\d+)", text, re.M)[1])
            fields = [(f[1], int(f[3]), int(f[4]), f[5] == "1") for f in FIELD.findall(text)]
            formats[number] = re.search(r"^name: (\w+)", text, re.M)[1], fields, '"x"' in text
    return formats


def records(page, header):
    """Yields (time, bytes) of each record of a page; (time, None) where events were lost before it."""
    time, commit = struct.unpack_from("<QQ" if header["commit"][1] == 8 else "<QI", page)
    data, at, end = page[header["data"][0]:], 0, commit & 0x7FFFFFF
    lost = commit >> 31 & 1
    while at + 4 <= end:
        word, = struct.unpack_from("<I", data, at)
        kind, delta = word & 31, word >> 5
        extra = struct.unpack_from("<I", data, at + 4)[0] if at + 8 <= len(data) else 0
        if kind == 29 and delta == 0:
            return
        if kind in (30, 31):
            time, at = (time if kind == 30 else time >> 59 << 59) + delta + (extra << 27), at + 8
            continue
        time += delta
        begin, length = (at + 4, 4 * kind) if 0 < kind < 29 else (at + 8, extra - 4)
        at = begin + length
        if kind != 29:
            if lost:
                yield time, None
                lost = 0
            yield time, data[begin:begin + length]


def ftrace(files):
    """Yields lines with their time."""
    formats = formats_of(files)
    header = {n: (int(o), int(s)) for _, n, _, o, s, _ in FIELD.findall(files["formats/header_page"].decode())}
    size = sum(header["data"])
    for name in sorted(n for n in files if n.startswith("traces/cpu")):
        cpu, data = int(name.removeprefix("traces/cpu")), files[name]
        for at in range(0, len(data) - size + 1, size):
            for time, raw in records(data[at:at + size], header):
                if raw is None:
                    print(f"cpu {cpu}: events were lost before {time}", file=sys.stderr)
                    continue
                event, fields, _ = formats.get(struct.unpack_from("<H", raw)[0], ("other", [], False))
                values = []
                for field, offset, length, signed in fields[4:]:
                    part = raw[offset:offset + length]
                    number = length in (1, 2, 4, 8)
                    value = int.from_bytes(part, "little", signed=signed) if number else part.split(b"\0")[0].decode("utf8", "replace")
                    values.append(f"{field}={value}")
                yield time, cpu, f"{event}: {' '.join(values)}"
    print("before 4.14" if any(old for _, _, old in formats.values()) else "since 4.14", file=sys.stderr)


def ebpf(text):
    """Yields the same from sched.bt's lines. bpftrace's %x prints the low 32 bits: a line that seems to be two seconds or more
    before the previous ones belongs to the next 4.29 s."""
    start, names, latest = 0, {}, 0
    for line in io.StringIO(text):
        kind, *rest = line.rstrip("\n").split(":", 4 if line.startswith("P:") else -1)
        if kind == "ST":
            start = int(rest[1], 16)
        if kind not in "SWMP" or not kind:
            continue
        if kind == "P":
            names[int(rest[1], 16)] = rest[3], int(rest[2], 16)
            continue
        time, cpu, *n = (int(field, 16) for field in rest)
        while time + 2**31 < latest:
            time += 2**32
        if time > 2**32 and time - latest > 2**31:
            time -= 2**32
        latest = max(latest, time)
        tids = (n[0], n[2]) if kind == "S" else (n[-1],)
        named = [(tid, *names.get(tid, ("?", 0))) for tid in tids]
        if kind == "S":
            (prev, pc, pp), (nxt, nc, np) = named
            line = (f"sched_switch: prev_comm={pc} prev_pid={prev} prev_prio={pp} prev_state={n[1]} "
                    f"next_comm={nc} next_pid={nxt} next_prio={np}")
        else:
            (tid, comm, prio), = named
            line = f"sched_wakeup: comm={comm} pid={tid} prio={prio} target_cpu={n[0]:03}"
            if kind == "M":
                line = f"sched_migrate_task: comm={comm} pid={tid} prio={prio} orig_cpu={n[0]} dest_cpu={n[1]}"
        yield start + time, cpu, line


def main():
    files = files_of(Path(sys.argv[1]))
    lines = ebpf(files["ebpf_trace"].decode()) if "ebpf_trace" in files else ftrace(files)
    for time, cpu, line in sorted(lines, key=lambda l: l[0]):
        print(f"  task-0 [{cpu:03}] {time // 10**9:5}.{time % 10**9:09}: {line}")


main()
