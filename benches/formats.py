#!/usr/bin/env python3
"""Import speed and memory of each format, compared with the tool that writes the same recording as text, in one run.

    benches/formats.py [--millions 1 8] [--rounds 3] [--dir /tmp/corewise-bench/formats] [--python PYTHON-WITH-PERFETTO]

Recordings of `perf bench sched messaging`: perf.data of five tracepoints, its `perf script` text, and `perf sched record`'s;
trace.dat by shared/bin/ftrace-rec.py and its `trace-cmd report` text. CTF, Perfetto and schedviz are made by repeating packets
with shifted clocks. Recordings that cannot be made here are skipped with the reason.

`import` writes events, stretches and tables; `report` reads the file and accounts for every thread. Each round runs the
three of a recording one after the other. Printed are the medians of the rounds, and the largest memory.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "acceptance"))

import corewise  # noqa: E402
from measured import run  # noqa: E402

SHARED = corewise.SHARED
LIMIT_KB = 256 * 1024
TRACEPOINTS = "sched:sched_switch,sched:sched_waking,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_migrate_task"


class Missing(Exception):
    """Something required is missing."""


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--millions", type=int, nargs="+", default=[1, 8])
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--dir", type=Path, default=Path("/tmp/corewise-bench/formats"))
    args.add_argument("--python", default=sys.executable, help="a Python with PyPI's perfetto and protobuf")
    args.add_argument("--format", action="append", choices=list(FORMATS), help="only these")
    args = args.parse_args()
    corewise.need_binary()
    args.dir.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in args.format or FORMATS:
        for millions in args.millions:
            try:
                rows.append(measured(name, millions, args))
            except (Missing, subprocess.CalledProcessError, OSError) as why:
                print(f"{name}, {millions} million: skipped: {why}", flush=True)
    corewise.print_table(["format", "events", "import s", "M events/s", "peak MB", "report s", "M events/s", "peak MB", "peer", "peer s",
                          "of report", "of import"], rows)
    return 0


def measured(name, millions, args):
    make, peer = FORMATS[name]
    path = make(millions, args)
    folder = args.dir / "out.cw"
    imports, reports, texts = [], [], []
    for _ in range(args.rounds):
        shutil.rmtree(folder, ignore_errors=True)
        imports.append(run([corewise.BINARY, "import", path, "-o", folder]))
        if imports[-1].exit:
            raise Missing(imports[-1].err.strip())
        events = json.loads((folder / "manifest.json").read_text())["summary"]["events"]
        shutil.rmtree(folder)
        reports.append(run([corewise.BINARY, "report", path]))
        texts += [run(peer(path))] if peer else []
    median = lambda runs: statistics.median(one.wall_s for one in runs) if runs else None
    text = median(texts)
    # A ratio is meaningful only if the other tool took over a second.
    ratio = lambda runs: f"{text / median(runs):.1f}" if text and text > 1 else "-"
    row = [name, events]
    for runs in (imports, reports):
        most = max(one.anon_kb for one in runs)
        row += [f"{median(runs):.3f}", f"{events / median(runs) / 1e6:.2f}", most // 1024]
        if most > LIMIT_KB:
            print(f"{name}: over {LIMIT_KB // 1024} MB")
    row += [Path(peer(path)[0]).name if peer else "-", f"{text:.2f}" if text else "-", ratio(reports), ratio(imports)]
    print(" ".join(map(str, row)), flush=True)
    return row


def recorded(path, millions, load, what=()):
    """Records `perf bench sched messaging`, longer each time, until there are enough events."""
    loops = load.loops * millions
    while not path.exists():
        partial = path.with_name(f"{path.name}.partial")
        partial.unlink(missing_ok=True)
        quiet([*load.words, partial, *what, "--", "perf", "bench", "sched", "messaging", "-g", load.groups, "-l", loops])
        events, least = counted(partial), millions * 1_000_000
        if events >= least:
            partial.rename(path)
        elif events < least // 4:
            raise Missing(f"only {events} of {least} events were recorded")
        else:
            loops = int(loops * least / events * 1.02)
    return path


def counted(path):
    folder = path.with_name(f"{path.name}.cw")
    shutil.rmtree(folder, ignore_errors=True)
    quiet([corewise.BINARY, "import", path, "-o", folder])
    events = json.loads((folder / "manifest.json").read_text())["summary"]["events"]
    shutil.rmtree(folder)
    return events


@dataclass
class Load:
    """A command that records into a file, and the approximate loops of these groups for a million events."""

    words: list
    groups: int
    loops: int


def perf_data(millions, args):
    words = ["perf", "record", "-q", "-a", "-R", "-c", "1", "-m", "16384", "-e", TRACEPOINTS, "-o"]
    return recorded(args.dir / f"{millions}m.data", millions, Load(words, 16, 2050))


def perf_sched(millions, args):
    """The events that `perf sched` reads: switches, wakeups, and the run time that the kernel charges."""
    words = ["perf", "sched", "record", "-r", "1", "-m", "4096", "-o"]
    return recorded(args.dir / f"{millions}m.sched.data", millions, Load(words, 10, 3200))


def perf_text(millions, args):
    fields = ["-F", "comm,tid,cpu,time,event,trace", "--ns"]
    return written(args.dir / f"{millions}m.perf.txt", ["perf", "script", "-f", *fields, "-i", perf_data(millions, args)])


def trace_dat(millions, args):
    script = SHARED / "bin/ftrace-rec.py"
    if not script.exists():
        raise Missing(f"{script} is not here")
    # The events come after the file.
    load = Load([sys.executable, script], 16, 1900)
    return recorded(args.dir / f"{millions}m.dat", millions, load, [TRACEPOINTS])


def trace_text(millions, args):
    return written(args.dir / f"{millions}m.ftrace.txt", ["trace-cmd", "report", "-t", "-R", trace_dat(millions, args)])


def ctf(millions, args):
    path = args.dir / f"{millions}m.ctf"
    if not path.exists():
        quiet([sys.executable, ROOT / "benches/ctf_repeat.py", path, "--events", str(millions * 1_000_000)])
    return path


def perfetto(millions, args):
    path = args.dir / f"{millions}m.pftrace"
    source = next(iter((SHARED / "traces/perfetto").glob("*test_trace*")), None)
    if not source:
        raise Missing("shared/traces/perfetto is not here")
    if not path.exists():
        quiet([args.python, ROOT / "benches/perfetto_repeat.py", source, path, "--events", str(millions * 1_000_000)])
    return path


def schedviz(millions, args):
    """A collection that repeats its CPU's pages, each time later by their span."""
    path = args.dir / f"{millions}m.schedviz"
    source = next(iter((SHARED / "traces/schedviz").glob("*__test.tar.gz")), None)
    if not source:
        raise Missing("shared/traces/schedviz is not here")
    if not path.exists():
        with tarfile.open(source) as archive:
            archive.extractall(path, filter="data")
        page, events = 4096, 28_922  # of SchedViz's own collection
        for file in path.rglob("cpu*"):
            pages = file.read_bytes() if file.is_file() and file.parent.name == "traces" else b""
            if not pages:
                continue
            starts = [int.from_bytes(pages[at : at + 8], "little") for at in range(0, len(pages), page)]
            span = max(starts) - min(starts) + 50_000_000
            with file.open("wb") as out:
                for turn in range(millions * 1_000_000 // events + 1):
                    for at, start in zip(range(0, len(pages), page), starts):
                        out.write((start + turn * span).to_bytes(8, "little") + pages[at + 8 : at + page])
    return path


def written(path, command):
    if not path.exists():
        with path.open("wb") as out:
            subprocess.run([str(word) for word in command], stdout=out, stderr=subprocess.DEVNULL, check=True)
    return path


def quiet(command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Missing(done.stdout.strip()[-300:] or f"exit {done.returncode}")


def perf_script(path):
    return ["perf", "script", "-f", "-i", path]


# For each: how a recording is made, and which tool writes its text.
FORMATS = {
    "perf.data": (perf_data, perf_script),
    "perf sched record": (perf_sched, perf_script),
    "trace.dat": (trace_dat, lambda path: ["trace-cmd", "report", "-t", "-R", path]),
    "CTF 1.8": (ctf, lambda path: ["babeltrace2", path]),
    "perfetto": (perfetto, None),
    "schedviz": (schedviz, None),
    "ftrace text": (trace_text, None),
    "perf script": (perf_text, None),
}

if __name__ == "__main__":
    sys.exit(main())
