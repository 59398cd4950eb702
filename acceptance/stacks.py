#!/usr/bin/env python3
"""Callchains of programs without frame pointers: whole chains of known programs, roots of real ones, and shares compared with perf.

    stacks.py chains [NAME...]       compiles programs with a chain of 30 calls (gcc, clang, rustc, go; -O0 and -O2; through a library, a signal
                                     handler, the vDSO, with -fcf-protection, on a coroutine's stack, on a split stack), records samples and switches of
                                     each, and counts the whole chains
    stacks.py programs [NAME...]     records xz, python3, redis-server, nginx and ffmpeg at work, and counts the callchains that reach a root
    stacks.py compared [NAME...]     records xz, python3 and cc1 with corewise and with perf record --call-graph dwarf at the same time, and compares
                                     the share of the callchains in which each function occurs. Both attach to a program that has mapped its files:
                                     Linux (6.18 at least) marks what perf records of a mapping as having a build id if another event of the machine
                                     wants build ids, as corewise's does, and perf 6.1 aborts on it

Exits 1 if fewer than 99 % (chains), 95 % (programs) are whole, or if a share above 2 % differs by more than one percentage point and by more than
its error. A callchain that was recorded before the recorder had read the tables of a new process is not whole, and is counted. Needs root,
pyarrow (make venv), and the compilers and programs; those that are missing are left out, with a line that says so. COREWISE is the program.
"""

import collections
import glob
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as parquet

COREWISE = os.environ.get("COREWISE", "corewise")
DEPTH = 30
C = """
#include <unistd.h>
%(head)s
volatile unsigned long sink;
static unsigned long calls;
__attribute__((noinline)) unsigned long f0(unsigned long x)
{
    for (int i = 0; i < 20000; i++)
        sink += i * x;
    if (++calls %% 100 == 0)
        usleep(100);
    return sink;
}
%(functions)s
%(main)s
"""
C_FUNCTION = "__attribute__((noinline)) unsigned long f%d(unsigned long x) { volatile char b[%d]; b[0] = x; return f%d(x + b[0]) + %d; }"
C_MAIN = "int main(void) { unsigned long s = 0; for (int i = 0; i < 150000; i++) s += f%d(s); return s == 42; }"
SIGNAL_MAIN = """#include <signal.h>
static void handler(int n) { sink += f%d(n); }
int main(void) { struct sigaction a = {.sa_handler = handler}; sigaction(SIGUSR1, &a, 0); for (int i = 0; i < 150000; i++) raise(SIGUSR1); }"""
# The chain runs on a stack of its own, whose root is where makecontext(3) begins it.
COROUTINE_MAIN = """#include <ucontext.h>
#include <stdlib.h>
static ucontext_t outside, inside;
static void coroutine(void) { for (;;) { sink += f%d(sink); swapcontext(&inside, &outside); } }
int main(void) {
    getcontext(&inside);
    inside.uc_stack.ss_sp = malloc(1 << 20), inside.uc_stack.ss_size = 1 << 20;
    makecontext(&inside, coroutine, 0);
    for (int i = 0; i < 150000; i++) swapcontext(&outside, &inside);
}"""
RUST = """
use std::hint::black_box;
static mut CALLS: u64 = 0;
#[inline(never)] fn f0(x: u64) -> u64 {
    let mut s = x;
    for i in 0..20_000u64 { s = black_box(s.wrapping_add(i.wrapping_mul(x))); }
    unsafe { CALLS += 1; if CALLS %% 100 == 0 { std::thread::sleep(std::time::Duration::from_micros(100)); } }
    s
}
%s
fn main() { let mut s = 1; for _ in 0..150_000 { s = f%d(s); } std::process::exit((s == 42) as i32) }
"""
RUST_FUNCTION = "#[inline(never)] fn f%d(x: u64) -> u64 { let b = black_box([x as u8; %d]); f%d(x + b[0] as u64).wrapping_add(%d) }"
GO = """package main
import "time"
var calls, sink uint64
//go:noinline
func f0(x uint64) uint64 {
	for i := uint64(0); i < 20000; i++ { sink += i * x }
	calls++
	if calls %% 100 == 0 { time.Sleep(100 * time.Microsecond) }
	return sink
}
%s
func main() { s := uint64(1); for i := 0; i < 150000; i++ { s = f%d(s) }; println(s) }
"""
GO_FUNCTION = "//go:noinline\nfunc f%d(x uint64) uint64 { var b [%d]byte; b[x %% 8] = byte(x); return f%d(x + uint64(b[3])) + %d }"


def functions(line):
    return "\n".join(line % (n, n * 24 % 200 + 8, n - 1, n) for n in range(1, DEPTH))


def c_source(main=C_MAIN % (DEPTH - 1), head=""):
    return C % {"head": head, "functions": functions(C_FUNCTION), "main": main}


# By name: source, its file's name, the command that compiles it.
CHAINS = {}
for compiler in ["gcc", "clang"]:
    for level in ["-O0", "-O2"]:
        CHAINS[f"{compiler} {level}"] = (c_source(), "chain.c", [compiler, level, "-fomit-frame-pointer"])
CHAINS["gcc -O2 -fcf-protection"] = (c_source(), "chain.c", ["gcc", "-O2", "-fomit-frame-pointer", "-fcf-protection"])
CHAINS["gcc -O2 signal"] = (c_source(SIGNAL_MAIN % (DEPTH - 1)), "chain.c", ["gcc", "-O2", "-fomit-frame-pointer"])
CHAINS["gcc -O2 frame pointers"] = (c_source(), "chain.c", ["gcc", "-O2", "-fno-omit-frame-pointer"])
CHAINS["gcc -O2 static"] = (c_source(), "chain.c", ["gcc", "-O2", "-static", "-fomit-frame-pointer"])
CHAINS["gcc -O2 coroutine"] = (c_source(COROUTINE_MAIN % (DEPTH - 1)), "chain.c", ["gcc", "-O2", "-fomit-frame-pointer"])
CHAINS["gcc -O2 -fsplit-stack"] = (c_source(), "chain.c", ["gcc", "-O2", "-fomit-frame-pointer", "-fsplit-stack"])
# The innermost function reads the clock, through the vDSO.
VDSO = c_source(head="#include <time.h>").replace("i < 20000", "i < 400").replace(
    "sink += i * x;", "{ struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); sink += t.tv_nsec; }"
)
CHAINS["gcc -O2 vdso"] = (VDSO, "chain.c", ["gcc", "-O2", "-fomit-frame-pointer"])
CHAINS["gcc -O2 library"] = (c_source(), "chain.c", None)
for level in ["0", "3"]:
    rust = RUST % (functions(RUST_FUNCTION), DEPTH - 1)
    CHAINS[f"rustc -Copt-level={level}"] = (rust, "chain.rs", ["rustc", "-g", f"-Copt-level={level}"])
CHAINS["go"] = (GO % (functions(GO_FUNCTION), DEPTH - 1), "chain.go", ["go", "build"])
CHAINS["go -N -l"] = (GO % (functions(GO_FUNCTION), DEPTH - 1), "chain.go", ["go", "build", "-gcflags=-N -l"])


def compiled(name, folder):
    source, file, how = CHAINS[name]
    path, program = folder / file, folder / "chain"
    path.write_text(source)
    if how is not None:
        subprocess.run([*how, "-o", program, path], check=True, env={**os.environ, "GO111MODULE": "off"})
        return program
    # Every second function in a library, the others in the program: each call goes through a linkage table.
    body = source.split("\n")
    is_second = re.compile(r"__attribute__\(\(noinline\)\) unsigned long f\d*[13579]\(")
    declared = "\n".join(f"unsigned long f{n}(unsigned long);" for n in range(DEPTH))
    second = "extern volatile unsigned long sink;\n" + declared + "\n" + "\n".join(line for line in body if is_second.match(line))
    even = declared + "\n" + "\n".join(line for line in body if not is_second.match(line))
    (folder / "second.c").write_text(second)
    path.write_text(even)
    flags = ["-O2", "-fomit-frame-pointer"]
    subprocess.run(["gcc", *flags, "-shared", "-fPIC", "-o", folder / "libsecond.so", folder / "second.c"], check=True)
    linked = ["-Wl,-rpath," + str(folder), "-rdynamic", "-L", folder, "-lsecond"]
    subprocess.run(["gcc", *flags, "-o", program, path, *linked], check=True)
    return program


def record(folder, command, *options, **how):
    run = folder / "run.cw"
    shutil.rmtree(run, ignore_errors=True)
    words = [COREWISE, "record", "-o", run, "--stacks", "--sample=997", *options, "--", *command]
    subprocess.run(words, check=True, capture_output=True, text=True, **how)
    return run


def short(function):
    """The name of a function without its path, hash and clone."""
    name = re.sub(r"::h[0-9a-f]{16}$", "", function or "")
    return re.sub(r"\.(isra|constprop|part|cold)(\.\d+)?", "", name).split("::")[-1].split(".")[-1]


def stacks(run):
    """Each callchain's frames in programs, outermost first: (function, file, is inlined)."""
    table = parquet.read_table(run / "events/stack.parquet").to_pylist()
    chains = collections.defaultdict(list)
    for row in sorted(table, key=lambda row: (row["stack"], -row["depth"])):
        if row["file"] != "[kernel]" and not 1 << 63 <= row["address"] % (1 << 64):
            chains[row["stack"]].append((row["function"] or "", row["file"] or "", row["inlined"]))
    return chains


def of_names(run, names):
    """The threads of processes with one of these names."""
    threads = parquet.read_table(run / "events/thread.parquet").to_pylist()
    of = {row["tid"] for row in threads if row["name"] in names}
    return of | {row["tid"] for row in threads if row.get("pid") in of}


def uses(run, of):
    """How often each callchain of these threads occurs: in samples, and in switches that block."""
    samples = parquet.read_table(run / "events/cpu_sample.parquet").to_pylist()
    switches = parquet.read_table(run / "events/switch.parquet").to_pylist()
    sampled = collections.Counter(row["stack"] for row in samples if row["tid"] in of and row["stack"])
    blocked = collections.Counter(row["prev_stack"] for row in switches if row["prev_tid"] in of and row["prev_stack"])
    return sampled, blocked


def end_of(frames):
    """How a callchain ended: `root`, or the frame that says why it did not."""
    if not frames:
        return "kernel"
    return frames[0][0] if frames[0][0].startswith("[") else "root"


def chains(names):
    failed = False
    for name in names or CHAINS:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            if CHAINS[name][2] and not shutil.which(CHAINS[name][2][0]):
                print(f"{name}: not here")
                continue
            program = compiled(name, folder)
            run = record(folder, [program])
            all_chains = stacks(run)
            wanted = [f"f{n}" for n in reversed(range(DEPTH))]
            whole, count, ends = 0, 0, collections.Counter()
            for used in uses(run, of_names(run, {"chain"})):
                for stack, times in used.items():
                    own = [short(function) for function, _, _ in all_chains[stack]]
                    if not any(function in wanted for function in own):
                        continue  # before and after the work, and threads of a runtime
                    count += times
                    chain = [function for function in own if function in wanted or function in ("main", "coroutine")]
                    is_whole = chain[0] in ("main", "coroutine") and [f for f in chain if f in wanted] in (wanted[:n] for n in range(1, DEPTH + 1))
                    # The chain may end early only where a sample found a function on its way in or out.
                    whole += times * is_whole
                    if not is_whole:
                        ends[end_of(all_chains[stack]) + " " + " ".join(chain[:3])] += times
            share = 100 * whole / max(count, 1)
            failed |= share < 99
            print(f"{name}: {whole} of {count} whole ({share:.2f} %)", dict(ends.most_common(4)) or "")
    return failed


def load(name, folder):
    """The command of a program at work, and the names of its threads; `None`: not here."""
    text = folder / "text"
    text.write_bytes(b"".join(b"line %d of a text that can be compressed, %d\n" % (n, n * n) for n in range(150_000)))
    script = "import json\nfor n in range(8):\n d=[{'k%d'%i: [i, str(i)]} for i in range(20000)]; json.loads(json.dumps(d)); sorted(str(x) for x in d)\n"
    (folder / "script.py").write_text(script)
    (folder / "nginx.conf").write_text(
        "worker_processes 1; daemon off; pid %s/pid; error_log stderr crit; events {} http { access_log off; server { listen 18080; root %s; } }"
        % (folder, folder)
    )
    (folder / "index.html").write_text("x" * 4000)
    loads = {
        "xz": (["xz", "-k", "-6", "-T1", str(text)], {"xz"}),
        "python3": (["/usr/bin/python3", str(folder / "script.py")], {"python3"}),
        "redis-server": (["sh", "-c", "redis-server --port 16379 --save '' > /dev/null & P=$!; sleep 0.5; redis-benchmark -p 16379 -n 100000 -q; kill $P; wait"], {"redis-server"}),
        "nginx": (["sh", "-c", f"nginx -c {folder}/nginx.conf & P=$!; sleep 0.5; wrk -t1 -c16 -d4 http://127.0.0.1:18080/; kill $P; wait"], {"nginx"}),
        "ffmpeg": (["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=duration=3:size=640x360:rate=30", "-y", str(folder / "o.mkv")], {"ffmpeg"}),
    }
    command, names = loads[name]
    needs = {"redis-server": "redis-benchmark", "nginx": "wrk"}.get(name, name)
    return (command, names) if shutil.which(name) and shutil.which(needs) else None


PROGRAMS = ["xz", "python3", "redis-server", "nginx", "ffmpeg"]


def programs(names):
    failed = False
    for name in names or PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            os.chmod(folder, 0o755)
            found = load(name, folder)
            if not found:
                print(f"{name}: not here")
                continue
            run = record(folder, found[0])
            all_chains = stacks(run)
            for kind, used in zip(["samples", "switches"], uses(run, of_names(run, found[1]))):
                ends = collections.Counter()
                for stack, times in used.items():
                    ends[end_of(all_chains[stack])] += times
                ends.pop("kernel", None)
                count = sum(ends.values())
                share = 100 * ends.pop("root", 0) / max(count, 1)
                failed |= share < 95
                print(f"{name}: {share:.2f} % of {count} callchains of {kind} reach a root", dict(ends.most_common(4)) or "")
    return failed


def of_perf(data):
    """The callchains of perf's samples: for each, the set of its functions in programs."""
    script = subprocess.run(["perf", "script", "-i", data, "-F", "comm,ip,sym", "--no-inline"], check=True, capture_output=True, text=True, errors="replace")
    for block in script.stdout.split("\n\n"):
        frames = [line.split(None, 1) for line in block.strip("\n").split("\n")[1:]]
        own = [frame[1].strip() for frame in frames if len(frame) == 2 and int(frame[0], 16) < 1 << 63]
        yield {re.sub(r"(\+0x[0-9a-f]+|@+[A-Z_0-9.]+)$", "", name) for name in own}


def waiting(name, folder):
    """The command of a program that begins to work when its standard input has a line or more, and that input; `None`: not here."""
    text = b"".join(b"line %d of a text that can be compressed, %d\n" % (n, n * n) for n in range(400_000))
    script = "import json, sys\nsys.stdin.readline()\nfor n in range(200):\n d=[{'k%d'%i: [i, str(i)]} for i in range(20000)]; json.loads(json.dumps(d)); sorted(str(x) for x in d)\n"
    (folder / "script.py").write_text(script)
    c = "".join(f"int f{n}(int x) {{ int s = 0; for (int i = 0; i < x; i++) s += i % {n + 3} * (s >> 2) + x / (i + {n + 1}); return s; }}\n" for n in range(4000))
    loads = {
        "xz": (["xz", "-c", "-6", "-T1"], text),
        "python3": (["/usr/bin/python3", str(folder / "script.py")], b"\n"),
        "cc1": ([next(iter(sorted(glob.glob("/usr/lib/gcc/*/*/cc1"))), "cc1"), "-quiet", "-O2", "-o", "/dev/null", "-"], c.encode()),
    }
    return loads[name] if shutil.which(loads[name][0][0]) else None


def compared_with_perf(names):
    failed = False
    for name in names or ["xz", "python3", "cc1"]:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            found = waiting(name, folder)
            if not found:
                print(f"{name}: not here")
                continue
            command, text = found
            data, run = folder / "perf.data", folder / "run.cw"
            # The program has mapped its files before the two begin: see above.
            program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            time.sleep(2)
            pid = str(program.pid)
            perf = ["perf", "record", "-q", "-N", "--no-bpf-event", "-e", "cpu-clock", "-F", "997", "--call-graph", "dwarf,65528", "-o", data, "-p", pid]
            recorders = [subprocess.Popen(perf, stdout=subprocess.DEVNULL)]
            words = [COREWISE, "record", "-o", run, "--stacks", "--sample=997", "--pid", pid]
            recorders.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            time.sleep(5)
            program.communicate(text)
            if any(recorder.wait() for recorder in recorders):
                sys.exit(f"{name}: perf ended with {recorders[0].returncode}, corewise with {recorders[1].returncode}")
            all_chains = stacks(run)
            ours, theirs = collections.Counter(), collections.Counter()
            sampled, _ = uses(run, {program.pid})
            for stack, times in sampled.items():
                # glibc's memcpy and memmove are one function with two names.
                of = {function.replace("__memcpy_", "__memmove_") for function, _, is_inlined in all_chains[stack] if not is_inlined}
                for function in of:
                    ours[function] += times
            count = 0
            for of in of_perf(data):
                count += 1
                theirs.update(of)
            of_us = sum(sampled.values())
            wrong = compared = 0
            for function in set(ours) | set(theirs):
                a, b = 100 * ours[function] / max(of_us, 1), 100 * theirs[function] / max(count, 1)
                if not function or max(a, b) < 2 or function.startswith("["):
                    continue
                compared += 1
                p = min((a + b) / 200, 1)
                error = 196 * math.sqrt(p * (1 - p) * (1 / max(of_us, 1) + 1 / max(count, 1)))
                if abs(a - b) > max(1, error):
                    wrong += 1
                    print(f"  {function}: {a:.2f} % here, {b:.2f} % in perf's")
            failed |= wrong > 0
            print(f"{name}: {of_us} samples here, {count} in perf's; of {compared} functions above 2 % {compared - wrong} agree")
    return failed


if __name__ == "__main__":
    parts = {"chains": chains, "programs": programs, "compared": compared_with_perf}
    if len(sys.argv) < 2 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    sys.exit(parts[sys.argv[1]](sys.argv[2:]))
