#!/usr/bin/env python3
"""Regions, periods and requests of programs of others, detected without marks and compared with marks on their functions.

  acceptance/real/structure.py [regions|periods|requests…] [--out DIR]

Each program is recorded with `corewise record --mark` on the functions below. The marks are the truth; `--hide-marks` keeps them from the
detection. Truth and rows are matched one to one, by the largest overlap.

  found     the row begins and ends within 5 % of the length of the true one
  invented  a row that shares less than half of its time with each true one, or with one that another row has

A call of GOMP_parallel in which a single thread worked (a team of one, or the others got no CPU) is no true region.

True ones shorter than --shortest ms are left out, and rows that lie in them are not invented: a mark costs each call some microseconds,
which is more than 5 % of a short one. Exits 1 if less than 95 % are found or more than 2 % are invented. The recordings are in --out (default WORK/structure); existing ones are not made again. Needs root, and
`run.py setup redis-one-instance nginx-gzip cyclictest-fifo graphicsmagick-gomp-affinity lightgbm-8-threads-active`.
"""

import argparse
import bisect
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import run as bed
from run import corewise

FOUND, INVENTED, NEAR = 0.95, 0.02, 0.05
GOMP = "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0"
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
NGINX = "/usr/sbin/nginx"
# Debian's redis-server is a link to this file.
REDIS = "/usr/bin/redis-check-rdb"
SCRIPT = "local x=0 for i=1,700000 do x=x+i end return x"


@dataclass
class Load:
    """A program with a number of threads or clients. Commands are run by bash in a folder of their own."""

    name: str
    kind: str
    command: str
    marks: dict
    # The threads whose rows count: a part of their name.
    threads: str
    server: str = ""
    ready: str = ""
    prepare: str = ""

    def of(self, what, _side):
        return getattr(self, what)


def region(name, threads, command, prepare="", gomp=GOMP):
    return Load(f"{name}-{threads}-threads", "regions", f"OMP_NUM_THREADS={threads} OMP_WAIT_POLICY=passive {command}",
                {"region": f"{gomp}:GOMP_parallel"}, "", prepare=prepare)


def own_gomp(package):
    """The libgomp that a package of PyPI brings along."""
    return next((bed.WORK / "venv").glob(f"lib/python*/site-packages/{package}.libs/libgomp-*"), GOMP)


def redis(clients):
    command = f"redis-benchmark -p 7801 -q -n 1200 -c {clients} --threads {clients} EVAL '{SCRIPT}' 0"
    marks = {"command": f"{REDIS}:processCommand", "answer": f"{REDIS}:_writeToClient"}
    return Load(f"redis-{clients}-clients", "requests", command, marks, "redis-server",
                "exec redis-server --port 7801 --bind 127.0.0.1 --save '' --appendonly no", "redis-cli -p 7801 ping")


def nginx(workers, clients):
    conf = f"""user root; pid nginx.pid; error_log error.log; daemon off; worker_processes {workers};
events {{ worker_connections 512; }}
http {{ access_log off; types {{ text/plain txt; }} server {{ listen 127.0.0.1:7811; root $PWD;
gzip on; gzip_types text/plain; gzip_http_version 1.0; gzip_comp_level 9; }} }}"""
    prepare = ("cat /usr/share/common-licenses/GPL-* /usr/share/common-licenses/LGPL-* | head -c 220000 > text.txt\n"
               f"cat > nginx.conf <<EOF\n{conf}\nEOF")
    one = "ab -q -n 150 -c 1 -H 'Accept-Encoding: gzip' http://127.0.0.1:7811/text.txt >/dev/null"
    return Load(f"nginx-{workers}-workers-{clients}-clients", "requests", f"for i in $(seq {clients}); do {one} & done; wait",
                {"request": f"{NGINX}:ngx_http_process_request"}, "nginx", f'exec nginx -p "$PWD" -c "$PWD/nginx.conf" -e "$PWD/error.log"',
                "ab -n 1 http://127.0.0.1:7811/text.txt", prepare)


def cyclictest(threads):
    return Load(f"cyclictest-{threads}-threads", "periods", f"cyclictest -q -t{threads} -i 2000 -l 1000 -p80 --policy=fifo",
                {"sleep": f"{LIBC}:clock_nanosleep"}, "cyclictest")


TRAIN = """cat > train.py <<'EOF'
import sys
import lightgbm, numpy
r = numpy.random.default_rng(1)
x = r.normal(size=(400000, 20))
y = (x[:, 0] * x[:, 1] + r.normal(size=len(x)) > 0).astype(int)
params = {"objective": "binary", "num_leaves": 31, "verbose": -1, "num_threads": int(sys.argv[1]), "force_col_wise": True}
lightgbm.train(params, lightgbm.Dataset(x, y), num_boost_round=50)
EOF"""
GM_STEPS = ("-blur 0x1 -modulate 110,90", "-sharpen 0x1 -negate", "-median 1 -gamma 1.2", "-edge 1 -resize 70%", "-emboss 1 -rotate 10",
            "-despeckle -normalize")
GM = ("bash -c 'gm convert -size 1200x800 plasma:fractal in.miff && for i in 1 2 3 4 5; do "
      + " && ".join(f"gm convert in.miff {steps} null:" for steps in GM_STEPS) + "; done'")
FIT = """cat > fit.py <<'EOF'
import numpy
from sklearn.ensemble import HistGradientBoostingClassifier
r = numpy.random.default_rng(1)
x = r.normal(size=(400000, 20))
y = (x[:, 0] * x[:, 1] + r.normal(size=len(x)) > 0).astype(int)
HistGradientBoostingClassifier(max_iter=15, early_stopping=False).fit(x, y)
EOF"""
MAGICK = ("bash -c 'convert-im6.q16 -size 800x600 plasma:fractal in.miff && for i in 1 2 3 4 5 6; do "
          "convert-im6.q16 in.miff -blur 0x2 -sharpen 0x1 -statistic median 3 -negate null:; done'")
LOADS = [
    *(region("graphicsmagick", threads, GM) for threads in (2, 4)),
    *(region("lightgbm", threads, f"python train.py {threads}", TRAIN) for threads in (2, 4)),
    # The next two were run once, after the last change of the detection.
    *(region("scikit-learn", threads, "python fit.py", FIT, own_gomp("scikit_learn")) for threads in (2, 4)),
    *(region("imagemagick", threads, MAGICK) for threads in (2, 4)),
    *(cyclictest(threads) for threads in (1, 2)),
    *(redis(clients) for clients in (1, 2, 4)),
    *(nginx(workers, clients) for workers, clients in ((1, 1), (1, 2), (2, 2), (2, 4))),
]


def record(load, trace):
    folder = bed.folder_of(load)
    if load.prepare:
        subprocess.run(bed.bash(load.prepare, folder), env=bed.environment(), check=True)
    marks = [word for name, where in load.marks.items() for word in ("--mark", f"{name}={where}")]
    command = [corewise.BINARY, "record", "-o", str(trace), *marks, "--", *bed.bash(load.command, folder)]
    with bed.Server(load, "good"):
        done = subprocess.run(command, env=bed.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{load.name}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}")


# The truth: lists of (thread or process, begin, end), ns.


def marked(trace, name):
    rows = corewise.rows_of(corewise.run("table", trace, "mark_stretches", "--format", "json"))
    return sorted(((r["thread"], r["start_ns"], r["end_ns"]) for r in rows if r["name"] == name), key=lambda one: one[1])


def all_regions(trace, pids):
    """A call of GOMP_parallel by the thread that forks; calls within one are none of their own."""
    out = []
    for thread, start, end in marked(trace, "region"):
        if not out or start >= out[-1][2] or out[-1][0] != pids[thread]:
            out.append((pids[thread], start, end))
    return out


def true_regions(trace, pids):
    """Those in which two threads worked: ran for 20 µs and a twentieth of the call. A team of one thread is none, nor one in which a single
    thread did all of the work, because the others got no CPU until it was done."""
    running = {}
    for row in corewise.table(trace, "thread_state"):
        if row["state"] == "running":
            of = running.setdefault(pids[row["thread"]], {}).setdefault(row["thread"], ([], []))
            of[0].append(row["start_ns"])
            of[1].append(row["end_ns"])

    def ran(of, start, end):
        begins, ends = of
        stretches = range(bisect.bisect_right(ends, start), bisect.bisect_left(begins, end))
        return sum(min(ends[n], end) - max(begins[n], start) for n in stretches)

    def is_parallel(pid, start, end):
        least = max(20_000, NEAR * (end - start))
        return sum(ran(of, start, end) >= least for of in running.get(pid, {}).values()) > 1

    return [one for one in all_regions(trace, pids) if is_parallel(*one)]


def true_periods(trace, pids):
    """The grid of each thread's timer: wakeups are late, not early, so the earliest ones give the due times. cyclictest's first thread
    sleeps for a fixed time after its work, so it has no grid."""
    out, first_threads = [], {}
    for thread, pid in sorted(pids.items()):
        first_threads.setdefault(pid, thread)
    for thread in {thread for thread, *_ in marked(trace, "sleep")} - set(first_threads.values()):
        ends = [end for one, _, end in marked(trace, "sleep") if one == thread]
        if len(ends) < 100:
            continue
        steps = sorted(later - end for end, later in zip(ends, ends[1:]))
        # cyclictest's intervals are multiples of 500 µs.
        interval = round(steps[len(steps) // 2] / 500_000) * 500_000
        due = sorted(end - round((end - ends[0]) / interval) * interval for end in ends)
        # A signal may end a sleep early.
        first = due[len(due) // 100]
        count = {round((end - first) / interval) for end in ends}
        out += [(thread, first + n * interval, first + (n + 1) * interval) for n in sorted(count) if n + 1 in count]
    return out


def true_requests(trace, pids):
    """nginx: a call. Redis: it reads what has come, runs the commands, and then writes all answers; a request is from the first command of
    such a turn to the end of its answer."""
    calls = [(thread, start, end) for thread, start, end in marked(trace, "request")]
    if calls:
        return calls
    events = sorted([(start, "command", end, thread) for thread, start, end in marked(trace, "command")]
                    + [(start, "answer", end, thread) for thread, start, end in marked(trace, "answer")])
    out, begin, answered = [], None, True
    for start, what, end, thread in events:
        if what == "command":
            begin, answered = (start, False) if answered else (begin, False)
        elif begin is not None:
            out.append((thread, begin, end))
            answered = True
    return out


def detected(trace, load, pids):
    table = {"regions": "parallel_regions", "periods": "periods", "requests": "requests"}[load.kind]
    rows = corewise.rows_of(corewise.run("--hide-marks", "table", trace, table, "--format", "json"))
    if load.kind == "regions":
        # Before the first and after the last call, a program may have regions of another library.
        calls = {}
        for pid, start, end in all_regions(trace, pids):
            calls[pid] = (calls.get(pid, (start,))[0], end)
        return [(r["pid"], r["start_ns"], r["end_ns"]) for r in rows
                if r["pid"] in calls and r["end_ns"] > calls[r["pid"]][0] and r["start_ns"] < calls[r["pid"]][1]]
    wanted = {who for who, *_ in true_periods(trace, pids)} if load.kind == "periods" else set(pids)
    return [(r["thread"], r["start_ns"], r["end_ns"]) for r in rows if load.threads in (r["thread_name"] or "") and r["thread"] in wanted]


def compare(true, rows, shortest):
    """Returns the numbers of true ones, of those found, and of rows and invented rows. True ones and rows are (who, begin, end)."""
    def overlap(one, other):
        return min(one[2], other[2]) - max(one[1], other[1]) if one[0] == other[0] else 0

    def shares(one, other):
        return overlap(one, other) / max(one[2] - one[1], other[2] - other[1], 1)

    true, rows = sorted(true, key=lambda t: t[1]), sorted(rows, key=lambda t: t[1])
    longest = max([t[2] - t[1] for t in true], default=0)
    pairs, low = [], 0
    for n, row in enumerate(rows):
        while low < len(true) and true[low][1] + longest < row[1]:
            low += 1
        for m in range(low, len(true)):
            if true[m][1] > row[2]:
                break
            if shares(true[m], row) > 0:
                pairs.append((shares(true[m], row), m, n))
    taken, of_row = {}, {}
    for share, m, n in sorted(pairs, reverse=True):
        if m not in taken and n not in of_row:
            taken[m], of_row[n] = n, (m, share)

    def is_found(m):
        length, row = true[m][2] - true[m][1], rows[taken[m]]
        return abs(row[1] - true[m][1]) <= NEAR * length and abs(row[2] - true[m][2]) <= NEAR * length

    counted = [m for m, t in enumerate(true) if t[2] - t[1] >= shortest]
    found = sum(m in taken and is_found(m) for m in counted)
    within = [n for n, row in enumerate(rows) if row[2] - row[1] >= shortest]
    invented = sum(n not in of_row or of_row[n][1] < 0.5 for n in within)
    return len(counted), found, len(within), invented


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("kinds", nargs="*", help="regions, periods, requests, or names of loads")
    args.add_argument("--out", type=Path, default=bed.WORK / "structure")
    args.add_argument("--shortest", type=float, default=1.0)
    args = args.parse_args()
    corewise.need_binary()
    args.out.mkdir(parents=True, exist_ok=True)
    truth = {"regions": true_regions, "periods": true_periods, "requests": true_requests}
    rows, is_met = [], True
    for load in LOADS:
        if args.kinds and load.kind not in args.kinds and load.name not in args.kinds:
            continue
        trace = args.out / f"{load.name}.cw"
        if not trace.exists():
            record(load, trace)
        pids = {t["thread"]: t["pid"] for t in corewise.table(trace, "threads")}
        true, found, seen, invented = compare(truth[load.kind](trace, pids), detected(trace, load, pids), args.shortest * 1e6)
        is_met &= found >= FOUND * true > 0 and invented <= INVENTED * seen
        rows.append([load.kind, load.name, str(true), str(found), corewise.percent(found, true), str(seen), str(invented),
                     corewise.percent(invented, seen)])
    corewise.print_table(["kind", "program", "true", "found", "of true", "rows", "invented", "of rows"], rows)
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
