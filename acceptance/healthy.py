#!/usr/bin/env python3
"""Records ten healthy loads with `corewise record`, and prints what `corewise diagnose` finds in each.

    acceptance/healthy.py [--runs 5] [--keep DIR] [LOAD…]
    acceptance/healthy.py --again DIR      diagnoses recordings that were kept

A finding above "low" in a healthy load is a false alarm unless its fix saves the estimated time: the last
lines list them all. Exits 1 if there are more than 2 in 50 recordings. A load whose program is missing is skipped with a
message (apt-get install ffmpeg apache2-utils nginx-light sqlite3 xz-utils git gcc make python3-numpy). Other running programs
are in the recordings too, so run it on an otherwise idle machine.
"""

import argparse
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corewise

# name: (required programs, the preparation, the recorded command); {tmp} is a folder of its own.
LOADS = {
    "idle": ([], "", "sleep 4"),
    "compile": (["make", "gcc"], "sources", "make -s -j2 -C {tmp} -f big.mk"),
    "web": (["ab", "nginx"], "server", "ab -q -t 4 -n 1000000 -c 8 http://127.0.0.1:{port}/page.html"),
    "video": (["ffmpeg"], "", "ffmpeg -v error -f lavfi -i testsrc2=size=1280x720:rate=30:duration=5 -c:v libx264 "
                             "-preset medium -y {tmp}/out.mp4"),
    "database": (["sqlite3"], "", "sqlite3 {tmp}/db < {tmp}/work.sql"),
    "compression": (["xz"], "text", "xz -T0 -5 -k -f {tmp}/text"),
    "sort": (["sort"], "text", "sort -S 200M --parallel=2 -o {tmp}/sorted {tmp}/text {tmp}/text && "
                               "sort -n -k2 -o {tmp}/sorted {tmp}/text"),
    "git": (["git"], "clone", "git -C {tmp}/clone repack -q -a -d -f && "
                              "git -C {tmp}/clone log --stat -p --format=%H > {tmp}/log"),
    "archive": (["tar"], "tree", "tar -czf {tmp}/tree.tgz -C {tmp} tree && cp -r {tmp}/tree {tmp}/copy && sync {tmp}/copy"),
    "numbers": (["python3"], "", "python3 {tmp}/job.py"),
}

NUMBERS = """
import random
try:
    import numpy
    for n in range(20):
        a = numpy.random.default_rng(n).random((700, 700))
        numpy.linalg.solve(a, a @ a.T)
except ImportError:
    pass
points = [(random.random(), random.random()) for _ in range(1_000_000)]
print(4 * sum(x * x + y * y < 1 for x, y in points) / len(points))
"""

# Threads of Python's own server queue for its one interpreter: lock-convoy correctly reports that, so it is not a
# healthy load.
NGINX = """
daemon off; worker_processes 2; pid {tmp}/pid; user root;
events {{}}
http {{
  access_log off; client_body_temp_path {tmp}/body; proxy_temp_path {tmp}/proxy; fastcgi_temp_path {tmp}/fastcgi;
  uwsgi_temp_path {tmp}/uwsgi; scgi_temp_path {tmp}/scgi;
  server {{ listen 127.0.0.1:{port}; root {tmp}; }}
}}
"""

# The limit: more findings above low than this share of the recordings is a failure.
MOST = 2 / 50
# Times are in milliseconds.
LINE = "{:12}{:>4}{:>8}  {:46}{:10}{:11}{:>12}{:>9}{:>10}"
ABOVE_LOW = ("medium", "high")


def prepare(kind, tmp):
    """Creates the input of a load. Returns the server that is to be ended after it, and its port."""
    words = [f"w{n * n % 7919:04d}" for n in range(4000)]
    if kind == "sources":
        for part in range(10):
            functions = "\n".join(f"double f{i}(double x) {{ for (int i = 0; i < {i}; i++) x += x / (i + 1.5); return x; }}"
                                  for i in range(part * 100, part * 100 + 900))
            (tmp / f"part{part}.c").write_text(functions)
        objects = " ".join(f"part{part}.o" for part in range(10))
        (tmp / "big.mk").write_text(f"all: {objects}\n%.o: %.c\n\tgcc -O2 -c $< -o $@\n")
    elif kind == "text":
        with (tmp / "text").open("w") as text:
            for n in range(900_000):
                text.write(f"{words[n * 31 % 4000]} {n * 7919 % 1_000_003} {words[n * 17 % 3989]}\n")
    elif kind == "clone":
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", corewise.ROOT, tmp / "clone"], check=True)
    elif kind == "tree":
        for n in range(3000):
            folder = tmp / "tree" / f"{n % 50}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{n}.txt").write_text(" ".join(words[(n * 13 + i) % 4000] for i in range(4000)))
    elif kind == "server":
        (tmp / "page.html").write_text("<p>" + " ".join(words[:400]))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (tmp / "nginx.conf").write_text(NGINX.format(tmp=tmp, port=port))
        server = subprocess.Popen(["nginx", "-p", tmp, "-e", tmp / "error.log", "-c", tmp / "nginx.conf"])
        wait_for(port)
        return server, port
    else:
        (tmp / "job.py").write_text(NUMBERS)
        rows = "\n".join(f"insert into t values({n}, '{words[n % 4000]}', {n * 7919 % 10007});" for n in range(150_000))
        (tmp / "work.sql").write_text("create table t(id integer primary key, word text, n integer);\nbegin;\n" + rows +
                                      "\ncommit;\ncreate index by_n on t(n);\nselect a.word, count(*), sum(b.n) from t a "
                                      "join t b on b.n = a.n group by a.word order by 3 desc limit 5;\n")
    return None, 0


def wait_for(port, patience=10):
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
    sys.exit(f"the server did not listen within {patience} s")


def record(name, folder):
    """Records a load once."""
    _, kind, command = LOADS[name]
    with tempfile.TemporaryDirectory(prefix=f"healthy-{name}-") as tmp:
        server, port = prepare(kind, Path(tmp))
        try:
            corewise.run("record", "-o", folder, "--", "sh", "-c", command.format(tmp=tmp, port=port) + " > /dev/null")
        finally:
            if server:
                server.terminate()
                server.wait()


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("loads", nargs="*", metavar="LOAD", default=list(LOADS), help=", ".join(LOADS))
    words.add_argument("--runs", type=int, default=5)
    words.add_argument("--keep", metavar="DIR", type=Path, help="keep the recordings here")
    words.add_argument("--again", metavar="DIR", type=Path, help="record nothing; what is found in those kept here")
    given = words.parse_args()
    corewise.need_binary()
    if unknown := [name for name in given.loads if name not in LOADS]:
        sys.exit(f"no load {', '.join(unknown)}: there are {', '.join(LOADS)}")
    with tempfile.TemporaryDirectory(prefix="healthy-") as tmp:
        return look(given, given.again or given.keep or Path(tmp))


def look(given, folder):
    folder.mkdir(parents=True, exist_ok=True)
    recordings, above = 0, []
    print(LINE.format("load", "run", "ms", "finding", "severity", "confidence", "recoverable", "from", "to"), flush=True)
    for name in given.loads:
        missing = [program for program in LOADS[name][0] if not shutil.which(program)]
        if missing and not given.again:
            print(f"{name}: skipped: no {', '.join(missing)}", flush=True)
            continue
        for run in range(1, given.runs + 1):
            trace = folder / f"{name}-{run}.cw"
            if not given.again:
                shutil.rmtree(trace, ignore_errors=True)
                record(name, trace)
            elif not trace.exists():
                continue
            recordings += 1
            said = json.loads(corewise.run("diagnose", trace, "--format", "json"))
            span = (said["span"]["end"] - said["span"]["start"]) / 1e6
            for finding in said["findings"] or [None]:
                print(LINE.format(name, run, f"{span:.0f}", *cells(finding)).rstrip(), flush=True)
                if finding and finding["severity"] in ABOVE_LOW:
                    above.append(f"{name} {run}: {finding['rule']} ({finding['severity']}): {finding['title']}")
            if given.keep is None and not given.again:
                shutil.rmtree(trace, ignore_errors=True)
    print(f"{len(above)} findings above low in {recordings} recordings")
    print("\n".join(above), end="\n" if above else "")
    return int(len(above) > MOST * recordings)


def cells(finding):
    if finding is None:
        return ["none", "", "", "", "", ""]
    times = [finding["recoverable_ns"], *finding["range_ns"]]
    return [finding["rule"], finding["severity"], finding["confidence"], *(f"{ns / 1e6:.1f}" for ns in times)]


if __name__ == "__main__":
    sys.exit(main())
