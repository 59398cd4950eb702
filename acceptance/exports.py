#!/usr/bin/env python3
"""Every export of a trace, read by independent readers, equals the trace. Exit status 1 if one does not.

  perfetto   perfetto's own protobuf classes (PyPI perfetto): running, ready and blocked times, rebuilt from the
             sched events alone, equal thread_state; if corewise can import it, the result is the same
  firefox    the fields that the profiler's types require (github.com/firefox-devtools/profiler, src/types/profile.ts)
  chrome     json: every row of thread_state, to the nanosecond; arrows begin and end
  csv        the same bytes as `corewise table --format csv`
  parquet    pyarrow: the same as the csv
  xlsx       openpyxl, and LibreOffice where it is installed: the same as the csv

Python packages: perfetto, protobuf, openpyxl, pyarrow. Missing readers are reported as skipped."""

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import corewise

FIXTURES = sorted((corewise.ROOT / "crates/import/fixtures/perf_data").glob("*.data"))
TABLES = ["threads", "thread_by_cpu", "thread_by_core_type", "cpus", "concurrency", "loss", "thread_state", "cpu_state"]
ROW_LIMIT = 1_048_575


class Differs(Exception):
    """An export differs from the trace."""


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("traces", nargs="*", type=Path, default=FIXTURES, help="traces (the fixtures)")
    args.add_argument("--only", choices=list(CHECKS), action="append", help="only this format")
    args = args.parse_args()
    corewise.need_binary()
    rows, failed = [], False
    for trace in args.traces:
        with tempfile.TemporaryDirectory() as folder:
            source = Trace(trace, Path(folder))
            for name in args.only or CHECKS:
                try:
                    words = CHECKS[name](source)
                except ImportError as missing:
                    words = f"skipped: {missing}"
                except Differs as why:
                    words, failed = f"DIFFERS: {why}", True
                rows.append([trace.name if trace.name != "perf.data" else trace.parent.name, name, words])
    corewise.print_table(["trace", "export", "result"], rows)
    return failed


class Trace:
    """A trace: its tables as csv, read once."""

    def __init__(self, trace, folder):
        self.trace, self.folder, self.kept = trace, folder, {}

    def rows(self, name):
        """Rows as dicts of texts; None if unknown."""
        if name not in self.kept:
            text = corewise.run("table", self.trace, name, "--format", "csv")
            self.kept[name] = text, list(csv.DictReader(text.splitlines()))
        return self.kept[name][1]

    def text(self, name):
        self.rows(name)
        return self.kept[name][0]

    def states(self):
        """thread_state with numbers."""
        numbers = {"thread", "tid", "start_ns", "end_ns", "cpu", "waker", "exec_ns", "prio"}
        return [{k: int(v) if k in numbers and v else v or None for k, v in row.items()} for row in self.rows("thread_state")]

    def export(self, kind, name, *more):
        to = self.folder / name
        corewise.run("export", self.trace, "--to", kind, "-o", to, "--force", *more)
        return to


# ---- perfetto


def perfetto(source):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    path = source.export("perfetto", "trace.pftrace")
    trace = pb.Trace()
    trace.ParseFromString(path.read_bytes())
    about = next(p.track_event for p in trace.packet if p.HasField("track_event") and p.track_event.name == "about this trace")
    notes = {a.name: a for a in about.debug_annotations}
    begin = notes["corewise.begin"].int_value
    events, noted = [], {}
    for packet in trace.packet:
        bundle = packet.ftrace_events
        for event in bundle.event:
            kind = event.WhichOneof("event")
            if kind == "generic" and event.generic.event_name == "corewise_switch":
                noted = {f.name: f.str_value or f.int_value for f in event.generic.field}
            elif kind in ("sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new"):
                order = 1 if kind == "sched_switch" else 0
                events.append((event.timestamp - begin, order, bundle.cpu, kind, event, noted))
                noted = {}
    events.sort(key=lambda e: e[:3])
    compared = compare_states(source, events)
    return f"{len(events)} sched events; {compared}; {comes_back(source, path)}"


def rebuilt(events, has_waking):
    """(tid, start, end, state, cpu) from sched events alone, by the rules of docs/accounting.md."""
    now, out = {}, []  # tid → [state, since, cpu, woken at]

    def until(tid, at):
        state, since, cpu, _ = now[tid]
        if since is not None and at > since:
            out.append((tid, since, at, state, cpu if state == "running" else None))

    for at, _, cpu, kind, event, note in events:
        if kind == "sched_switch":
            switch = event.sched_switch
            # A side that the source did not record is only drawn for display.
            prev = 0 if note.get("prev") == -1 else switch.prev_pid
            next_ = 0 if note.get("next") == -1 else switch.next_pid
            if prev:
                woken = now.get(prev, [None, None, None, None])[3]
                if prev in now:
                    until(prev, at)
                runnable = switch.prev_state in (0, 256)
                state = "ready" if runnable else "exited" if switch.prev_state in (16, 32) else "either" if woken else "blocked"
                now[prev] = [state, at, cpu, None]
            if next_:
                if next_ in now:
                    if now[next_][0] == "either":
                        now[next_][0] = "ready"
                    until(next_, at)
                now[next_] = ["running", at, cpu, None]
            continue
        woken = getattr(event, kind).pid
        if kind == "sched_wakeup" and has_waking:
            continue
        if woken not in now:
            now[woken] = ["ready", at, None, None]
        elif now[woken][0] == "either":
            now[woken][0] = "blocked"
            until(woken, at)
            now[woken] = ["ready", at, None, None]
        elif now[woken][0] in ("blocked", "exited") or kind == "sched_wakeup_new":
            until(woken, at)
            now[woken] = ["ready", at, None, None]
        elif now[woken][0] == "running":
            now[woken][3] = at
    return out


def compare_states(source, events):
    """Threads whose states are certain must be the same; an unknown state in corewise must be unknown in the file."""
    states = source.states()
    has_waking = any(e[3] == "sched_waking" for e in events)
    doubted = {r["tid"] for r in states if r["state"] == "unknown" and r["reason"] != "before_first_event"}
    # States from a snapshot are in notes, and so is everything before the first event.
    noted = {r["tid"] for r in states if r["reason"] == "snapshot"}
    end = max((r["end_ns"] for r in states), default=0)
    wanted, actual = defaultdict(list), defaultdict(list)
    for r in states:
        # The last stretch is ended by the recording, not by an event; the first may come from a snapshot.
        if r["state"] in ("running", "ready", "blocked") and r["tid"] not in doubted | noted and 0 < r["start_ns"] and r["end_ns"] < end:
            wanted[r["tid"]].append((r["start_ns"], r["end_ns"], r["state"], r["cpu"] if r["state"] == "running" else None))
    for tid, start, stop, state, cpu in rebuilt(events, has_waking):
        if tid not in doubted | noted and state in ("running", "ready", "blocked") and 0 < start and stop < end:
            actual[tid].append((start, stop, state, cpu))
    for tid in wanted.keys() | actual.keys():
        a, b = Counter(wanted[tid]), Counter(actual[tid])
        if a != b:
            raise Differs(f"thread {tid}: only in thread_state {list((a - b))[:2]}, only in the file {list((b - a))[:2]}")
    # For the others, at least the certain running stretches must be in the file.
    slices = {(tid, start, stop, cpu) for tid, start, stop, state, cpu in rebuilt(events, has_waking) if state == "running"}
    ran = [(r["tid"], r["start_ns"], r["end_ns"], r["cpu"]) for r in states if r["state"] == "running" and 0 < r["start_ns"] and r["end_ns"] < end]
    missing = [r for r in ran if r not in slices]
    if missing:
        raise Differs(f"{len(missing)} of {len(ran)} running stretches are not in the file, as {missing[0]}")
    alike = sum(map(len, wanted.values()))
    return f"{alike} states of {len(wanted)} threads equal, all {len(ran)} running stretches found ({len(doubted)} threads have inconsistent switches)"


def comes_back(source, path):
    """Imports it again, if this corewise reads the format."""
    try:
        after = {name: corewise.run("table", path, name, "--format", "md", "--no-names") for name in ("thread_state", "cpu_state")}
    except corewise.Refused as why:
        if "unknown format" in str(why):
            return "skipped: this corewise does not import it"
        raise Differs(str(why)) from why
    for name, text in after.items():
        if text != corewise.run("table", source.trace, name, "--format", "md", "--no-names"):
            raise Differs(f"{name} differs after import")
    return "the same after import"


# ---- firefox

PROFILE = {"meta": dict, "libs": list, "threads": list}
META = {"interval": (int, float), "startTime": (int, float), "processType": int, "product": str, "version": int,
        "preprocessedProfileVersion": int, "markerSchema": list, "categories": list}
THREAD = {"name": str, "pid": str, "tid": (str, int), "processType": str, "processStartupTime": (int, float), "registerTime": (int, float),
          "isMainThread": bool, "pausedRanges": list, "markers": dict, "samples": dict, "stackTable": dict, "frameTable": dict,
          "funcTable": dict, "resourceTable": dict, "nativeSymbols": dict}


def firefox(source):
    profile = json.loads(source.export("firefox", "profile.json").read_text())
    require(profile, PROFILE, "profile")
    require(profile["meta"], META, "meta")
    schema = {s["name"]: {f["key"]: f for f in s["fields"]} for s in profile["meta"]["markerSchema"]}
    actual, cpus = Counter(), Counter()
    for thread in profile["threads"]:
        require(thread, THREAD, thread.get("name"))
        strings, markers = thread["stringArray"], thread["markers"]
        for name, column in markers.items():
            if name != "length" and len(column) != markers["length"]:
                raise Differs(f"{thread['name']}: markers.{name} has {len(column)} of {markers['length']}")
        samples = thread["samples"]
        if any(d < 0 for d in samples.get("timeDeltas", [])):
            raise Differs(f"{thread['name']}: samples out of order")
        for i in range(markers["length"]):
            data = markers["data"][i]
            if set(data) - {"type", "cause"} != set(schema[data["type"]]):
                raise Differs(f"marker fields {set(data)} are not those of the schema")
            if not 0 <= markers["category"][i] < len(profile["meta"]["categories"]):
                raise Differs("a marker of no category")
            start, end = (ns(markers[k][i]) for k in ("startTime", "endTime"))
            name = strings[markers["name"][i]]
            if data["type"] == "CpuRan":
                cpus[(thread["name"].split(",")[0], strings[data["tid"]], start, end)] += 1
            else:
                tid = str(thread["tid"]).split(".")[0]
                actual[(tid, start, end, name, *(strings[data[k]] or None for k in ("cpu", "coreType", "reason", "prio")))] += 1
    wanted = Counter((r["tid"], int(r["start_ns"]), int(r["end_ns"]), r["state"], *(r[k] or None for k in ("cpu", "core_type", "reason", "prio")))
                     for r in source.rows("thread_state"))
    same(wanted, actual, "markers")
    same(Counter((f"cpu {r['cpu']}", r["tid"], int(r["start_ns"]), int(r["end_ns"])) for r in source.rows("thread_state") if r["state"] == "running"),
         cpus, "what CPUs ran")
    return f"{sum(actual.values())} stretches and {sum(cpus.values())} of CPUs equal, {len(profile['threads'])} tracks, required fields there"


def ns(ms):
    return round(Decimal(str(ms)) * 1_000_000)


def require(of, fields, where):
    for name, kind in fields.items():
        if name not in of:
            raise Differs(f"{where} has no {name}")
        if not isinstance(of[name], kind):
            raise Differs(f"{where}.{name} is {type(of[name]).__name__}")


def same(wanted, actual, what):
    if wanted != actual:
        raise Differs(f"{what}: only in the trace {list(wanted - actual)[:2]}, only in the file {list(actual - wanted)[:2]}")


# ---- chrome


def chrome(source):
    trace = json.loads(source.export("chrome", "trace.json").read_text(), parse_float=Decimal)
    actual, flows, names = Counter(), defaultdict(list), set()
    for event in trace["traceEvents"]:
        phase = event["ph"]
        if phase == "X" and event["cat"] == "state":
            start = int(event["ts"] * 1000)
            args = event["args"]
            actual[(str(args["thread"]), str(event["tid"]), start, start + int(event["dur"] * 1000), event["name"],
                 *(str(args[k]) if k in args else None for k in COLUMNS))] += 1
        elif phase in "sf":
            flows[event["id"]].append(phase)
        elif phase == "M":
            names.add((event["name"], event["pid"], event.get("tid")))
        elif phase not in "XC":
            raise Differs(f"phase {phase}")
    wanted = Counter((r["thread"], r["tid"], int(r["start_ns"]), int(r["end_ns"]), r["state"], *(r[k] or None for k in COLUMNS))
                     for r in source.rows("thread_state"))
    same(wanted, actual, "stretches")
    if any(sorted(f) != ["f", "s"] for f in flows.values()):
        raise Differs("an arrow without begin or end")
    return f"{sum(actual.values())} stretches equal, {len(flows)} arrows, {len(names)} names"


COLUMNS = ("cpu", "core_type", "reason", "waker", "exec_ns", "prio")

# ---- tables


def csv_folder(source):
    folder = source.export("csv", "csv")
    for name in TABLES:
        if (folder / f"{name}.csv").read_text() != source.text(name):
            raise Differs(f"{name}.csv is not what `corewise table` writes")
    return f"{len(TABLES)} tables equal"


def parquet(source):
    from pyarrow import parquet as pq

    folder, rows, ids = source.export("parquet", "parquet"), 0, set()
    for name in TABLES:
        table = pq.read_table(folder / f"{name}.parquet")
        ids.add(int(pq.read_metadata(folder / f"{name}.parquet").metadata[b"corewise.trace"]))
        wanted = source.rows(name)
        if table.num_rows != len(wanted):
            raise Differs(f"{name}: {table.num_rows} rows, not {len(wanted)}")
        if wanted and table.column_names != list(wanted[0]):
            raise Differs(f"{name}: columns {table.column_names}")
        for a, b in zip(table.to_pylist(), wanted):
            if not all(alike(a[k], v) for k, v in b.items()):
                raise Differs(f"{name}: {a} is not {b}")
        rows += table.num_rows
    if len(ids) != 1:
        raise Differs(f"the files name {len(ids)} traces: {ids}")
    return f"{len(TABLES)} tables equal, {rows} rows"


def alike(value, text):
    """Whether a cell equals the csv."""
    if value is None or text in ("", None):
        return value in (None, "") and text in ("", None)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(text) == float(value)
    return str(value).lower() == text.lower() if isinstance(value, bool) else value == text


def xlsx(source):
    import openpyxl

    path = source.export("xlsx", "tables.xlsx")
    book = openpyxl.load_workbook(path, read_only=True)
    if book.sheetnames[0] != "about":
        raise Differs(f"sheets {book.sheetnames}")
    cells = 0
    for name in TABLES:
        wanted = source.rows(name)
        read = sheets(name, len(wanted), lambda sheet: [list(r) for r in book[sheet].iter_rows(values_only=True)])
        cells += compare_cells(name, read, wanted)
    whole = openpyxl.load_workbook(path)
    for name in TABLES:
        if whole[name].freeze_panes != "A2" or not whole[name].auto_filter.ref:
            raise Differs(f"{name}: no frozen head, or no filter")
    return f"openpyxl: {cells} cells equal; {libreoffice(source, path)}"


def sheets(name, rows, read):
    """Returns the rows of a table from all its sheets, and its head."""
    head, body, number = None, [], 1
    while True:
        part = read(name if number == 1 else f"{name} ({number})")
        head, body, number = part[0], body + part[1:], number + 1
        if len(body) >= rows or len(part) <= ROW_LIMIT:
            return head, body


def compare_cells(name, read, wanted):
    head, body = read
    if len(body) != len(wanted):
        raise Differs(f"{name}: {len(body)} rows, not {len(wanted)}")
    columns = [h.split(" [")[0] for h in head]
    for a, b in zip(body, wanted):
        a = a + [None] * (len(columns) - len(a))
        for column, value in zip(columns, a):
            if not alike(value, b[column]):
                raise Differs(f"{name}.{column}: {value!r} is not {b[column]!r}")
    return len(body) * len(columns)


def libreoffice(source, path):
    program = shutil.which("soffice") or shutil.which("libreoffice")
    if not program:
        return "LibreOffice skipped: it is not installed"
    folder = source.folder / "office"
    # The last number: every sheet as a separate file; raw values instead of formatted cells.
    form = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1'
    done = subprocess.run([program, f"-env:UserInstallation=file://{source.folder}/profile", "--headless", "--convert-to", form, "--outdir", folder, path],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise Differs(f"LibreOffice: {done.stderr.strip()[-200:]}")
    cells = 0
    for name in TABLES:
        wanted = source.rows(name)

        def read(sheet):
            with open(folder / f"{path.stem}-{sheet}.csv", newline="") as file:
                return list(csv.reader(file))

        head, body = sheets(name, len(wanted), read)
        for a, b in zip(body, wanted):
            for column, text in zip((h.split(" [")[0] for h in head), a):
                value = b[column] or ""
                number = text and value and text.replace(".", "", 1).replace("E", "", 1).replace("-", "").isdigit() and text != value
                if not (abs(float(text) - float(value)) < 1e-9 if number else text == value):
                    raise Differs(f"LibreOffice: {name}.{column}: {text!r} is not {value!r}")
                cells += 1
        if len(body) != len(wanted):
            raise Differs(f"LibreOffice: {name}: {len(body)} rows, not {len(wanted)}")
    return f"LibreOffice: {cells} cells equal"


CHECKS = {"perfetto": perfetto, "firefox": firefox, "chrome": chrome, "csv": csv_folder, "parquet": parquet, "xlsx": xlsx}

if __name__ == "__main__":
    sys.exit(main())
