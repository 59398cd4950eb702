#!/usr/bin/env python3
"""Makes the first inputs of each fuzz target: small pieces of the fixtures and of testdata. And its dictionary: the words in
the source of its reader.

    fuzz/seeds.py FOLDER

writes FOLDER/<target>/<name> and FOLDER/<target>.dict. A mutation of a small input is read fast, and more probably changes
what the reader does.
"""

import gzip
import io
import lzma
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "crates/import/fixtures"
TRACES = ROOT / "testdata/traces"
# The size of a seed, in bytes; a file that cannot be cut may be a few times as long.
SIZE = 4096
# Files that cannot be cut are left out beyond this size.
WHOLE = 32 * 1024
# The files of a machine that seeds keep: those that are read.
KEPT_FILES = re.compile(
    r"/proc/cpuinfo$|/sys/(?:devices/(?:cpu_\w+/cpus|system/node/node\d+/cpulist)|firmware/devicetree/base/model)$"
    r"|/sys/devices/system/cpu/(?:cpu(\d+)/)?(?:online|possible|present|cpu_capacity|acpi_cppc/highest_perf"
    r"|cpufreq/(?:policy\d/)?(?:cpuinfo_max_freq|related_cpus)|cpuidle/state\d/(?:name|latency|residency)"
    r"|topology/(?:core_id|die_id|cluster_id|physical_package_id|core_cpus_list|thread_siblings_list)"
    r"|cache/index\d/(?:level|type|shared_cpu_list))$"
)
# The tracepoints of which seeds keep the description.
KEPT = (b"sched_switch", b"sched_waking", b"sched_wakeup", b"sched_process_fork", b"sched_stat_runtime")


def lines(text, size=SIZE):
    """Returns the first lines of a text."""
    return text if len(text) <= size else text[: text.rfind(b"\n", 0, size) + 1]


def archive(files):
    """Returns the files of a folder as `fuzz/src/archive.rs` reads them."""
    return b"\n".join(b"=== " + name.encode() + b"\n" + content for name, content in sorted(files.items()))


def folder(path):
    """Returns the files below a folder by name."""
    return {p.relative_to(path).as_posix(): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def descriptions(tracing):
    """Returns the tracepoint descriptions of a perf.data with few of the events."""
    read = io.BytesIO(tracing)
    out = [read.read(10)]
    word = lambda: out.append(read.read(4)) or struct.unpack("<I", out[-1])[0]

    def text():
        end = tracing.index(0, read.tell()) + 1
        out.append(read.read(end - read.tell()))

    def sized():
        length = read.read(8)
        return length + read.read(struct.unpack("<Q", length)[0])

    text()  # version
    out.append(read.read(1 + 1 + 4))  # byte order, size of a long and of a page
    for _ in range(2):
        text()
        out.append(sized())
    for _ in range(word()):
        sized()
    out[-1] = struct.pack("<I", 0)
    for _ in range(word()):
        text()
        count, at = word(), len(out) - 1
        kept = [d for d in (sized() for _ in range(count)) if any(b"name: %s\n" % name in d for name in KEPT)]
        out[at:] = [struct.pack("<I", len(kept)), *kept]
    # No functions, no formats of printk, no names of threads.
    return b"".join(out) + bytes(4 + 4 + 8)


def perf_data(data):
    """Returns a perf.data with its first records, or those of a pipe."""
    if struct.unpack_from("<Q", data, 8)[0] == 16:
        return data if len(data) <= WHOLE else perf_pipe(data)
    start, length = struct.unpack_from("<QQ", data, 40)
    if len(data) <= 3 * SIZE:
        return data  # its few samples are at the end
    features = [bit for bit in range(256) if data[72 + bit // 8] >> bit % 8 & 1]
    end = start
    while end < start + min(length, SIZE):
        size = struct.unpack_from("<H", data, end + 6)[0]
        if size < 8 or end + size > start + SIZE:
            break
        end += size
    kept, table = [], start + length
    for nth, feature in enumerate(features):
        offset, size = struct.unpack_from("<QQ", data, table + 16 * nth)
        content = data[offset : offset + size]
        if feature == 1:
            content = descriptions(content)
        if len(content) <= SIZE or feature == 1:
            kept.append((feature, content))
    head = bytearray(data[:end])
    struct.pack_into("<Q", head, 48, end - start)
    head[72:104] = sum(1 << feature for feature, _ in kept).to_bytes(32, "little")
    offset, sections = end + 16 * len(kept), b""
    for _, content in kept:
        sections += struct.pack("<QQ", offset, len(content))
        offset += len(content)
    return bytes(head) + sections + b"".join(content for _, content in kept)


def perf_pipe(data):
    """Returns the first records of a perf.data that was a pipe."""
    at, out, left = 16, [data[:16]], SIZE
    while at + 8 <= len(data) and left > 0:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        record, at = data[at : at + size], at + size
        if kind == 66:  # TRACING_DATA: the descriptions follow it
            length = struct.unpack_from("<I", record, 8)[0]
            short = descriptions(data[at : at + length])
            short += bytes(-len(short) % 8)
            record, at = record[:8] + struct.pack("<I", len(short)) + record[12:] + short, at + length
        elif kind < 64:
            left -= size
        out.append(record)
    return b"".join(out)


def perfetto(data):
    """Returns the first packets."""
    at = 0
    while at < len(data):
        start, at, length, shift = at, at + 1, 0, 0
        while True:
            byte = data[at]
            length |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                break
        at += length
        if at > 3 * SIZE:
            return data[:start]
    return data


def is_kept(name, cpus):
    """Whether a file of sysfs is read, and of one of few CPUs."""
    found = KEPT_FILES.match(name)
    return bool(found) and (not found[1] or int(found[1]) in cpus)


def seeds():
    """Yields the target, a name and the bytes of each seed."""
    small = lambda pattern, size=WHOLE: [p for p in sorted(TRACES.glob(pattern)) if p.is_file() and p.stat().st_size <= size]
    whole = lambda paths: ((p.name, p.read_bytes()) for p in paths)
    recorded = sorted(FIXTURES.glob("perf_data/*.data"))
    yield from (("perf_data", name, perf_data(data)) for name, data in whole(recorded))
    yield from (("perf_data", name, data) for name, data in whole(small("perf-data/*")))
    yield from (("trace_dat", name, data) for name, data in whole(sorted(FIXTURES.glob("trace_dat/*.dat"))))
    yield from (("perfetto", name, perfetto(data)) for name, data in whole(sorted(FIXTURES.glob("perfetto/*.pftrace"))))
    yield from (("perfetto", name, perfetto(data)) for name, data in whole(small("perfetto/*", 1 << 20)))
    for target in ["present_mon", "mango_hud"]:
        yield from ((target, name, lines(data)) for name, data in whole(sorted(FIXTURES.glob(f"{target}/*.csv"))))
    yield from (("present_mon", name, lines(data)) for name, data in whole(small("presentmon-csv/*")))
    yield from (("cap_frame_x", name, data) for name, data in whole(sorted(FIXTURES.glob("cap_frame_x/*.json"))))
    yield from (("firefox", name, data) for name, data in whole(sorted(FIXTURES.glob("firefox/*.json"))))
    for path in sorted(FIXTURES.glob("ftrace_text/*")):
        if path.suffix in (".txt", ".html", ".z"):
            yield "ftrace_text", path.name, path.read_bytes() if path.suffix == ".z" else lines(path.read_bytes())
    yield from (("ftrace_text", name, lines(data)) for name, data in whole(small("systrace/*")))
    yield from (("perf_script", name, lines(data)) for name, data in whole(sorted(FIXTURES.glob("perf_script/*.txt"))))
    yield from (("perf_script", name, lines(data)) for name, data in whole(small("perf-script-text/*", 1 << 17)))
    for path in sorted(FIXTURES.glob("ctf/*/")):
        yield "ctf", path.name, archive({n: c if n == "metadata" else c[:SIZE] for n, c in folder(path).items()})
    for path in sorted(FIXTURES.glob("schedviz/*/")):
        files = {n: c[: 2 * SIZE if n.startswith("traces/") else SIZE] for n, c in folder(path).items()}
        yield "schedviz", path.name, archive({n: c for n, c in files.items() if "/cpu1/" not in n})
    with tarfile.open(TRACES / "schedviz/schedviz__ebpf_trace.tar.gz") as tar:
        files = {m.name.removeprefix("./"): tar.extractfile(m).read()[:SIZE] for m in tar if m.isfile()}
        yield "schedviz", "ebpf", archive(files)
        yield "schedviz", "ebpf-alone", next(c for n, c in files.items() if n.endswith("ebpf_trace"))
    for path in sorted((ROOT / "crates/topology/fixtures").iterdir()):
        if path.suffix not in (".drawn", ".md"):
            yield "machine_text", path.name, path.read_bytes()
    texts = ["topology/cpuinfo/*.log", "topology/hwloc/*.xml", "topology/pepc/*/proc/cpuinfo", "trace-dat/*.yml"]
    yield from (("machine_text", p.parts[-3] + p.name, p.read_bytes()) for t in texts for p in small(t))
    for path in sorted(TRACES.glob("topology/pepc/*/")):
        inline, cpuinfo = (path / "sys/inlinefiles.txt").read_bytes(), (path / "proc/cpuinfo").read_bytes()
        of_line = lambda row: row.split(b"|")[1].decode() if row.count(b"|") == 2 else ""
        rows = [row for row in inline.splitlines() if is_kept(of_line(row), (0, 1, 12))]
        cpuinfo = b"\n\n".join(cpuinfo.split(b"\n\n")[:2]) + b"\n"
        pepc = {"sys/inlinefiles.txt": b"\n".join(rows) + b"\n", "proc/cpuinfo": cpuinfo}
        yield "machine_folder", path.name, archive(pepc)
        tree = {of_line(row): row.split(b"|")[2] for row in rows if is_kept(of_line(row), (0,))}
        yield "machine_folder", path.name + "-tree", archive(tree | {"/proc/cpuinfo": cpuinfo})
    # An Arm processor's file, and frequencies by policy, which no bundled tree has.
    arm = (TRACES / "topology/cpuinfo/cpuinfo__galaxy-s9-us.log").read_bytes()
    policy = "/sys/devices/system/cpu/cpufreq/policy0"
    policies = {f"{policy}/cpuinfo_max_freq": b"1800000", f"{policy}/related_cpus": b"0 1", "/proc/cpuinfo": arm}
    for path in sorted(TRACES.glob("guests/*/sys.tar.gz")):
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(path.read_bytes()))) as tar:
            tree = {"/" + m.name.removeprefix("./"): tar.extractfile(m).read() for m in tar if m.isfile()}
        tree = {name: content for name, content in tree.items() if is_kept(name, (0, 1))}
        yield "machine_folder", path.parent.name, archive(tree)
        yield "machine_folder", path.parent.name + "-arm", archive(tree | policies)
    for path in sorted((ROOT / "crates/printed/cases").glob("*.md")):
        for nth, block in enumerate(re.findall(rb"^```tables\n(.*?)^```", path.read_bytes(), re.M | re.S)):
            yield "printed", f"{path.stem}-{nth}", b"\n" + block
    yield from symbols()
    yield from unwind()


def unwind():
    """Yields programs with call frame information and a stack after each, whose size in words is the first byte."""
    stack = b"".join(struct.pack("<Q", word) for word in [0x7F << 56, 0x7F << 56 | 64, 0, 3] + [0x55 << 56 | 0x1010, 0x7F << 56 | 96] * 10)
    source = "int b(int *p) { return *p; }\nint a(int x) { _Alignas(64) int y[16] = {x}; int *p = __builtin_alloca(x); p[0] = 1; return b(y) + b(p); }\n"
    source += "void _start(void) { a(3); }\n"
    if shutil.which("gcc") is None:
        return
    for name, options in {"sp": ["-fomit-frame-pointer"], "fp": ["-fno-omit-frame-pointer"], "debug": ["-fno-asynchronous-unwind-tables", "-g"], "gz": ["-fno-asynchronous-unwind-tables", "-g", "-gz=zlib"]}.items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.c").write_text(source)
            options = ["-O1", "-fno-inline", "-fno-stack-protector", "-nostdlib", "-Wl,-z,noseparate-code", *options]
            subprocess.run(["gcc", *options, "a.c", "-o", "a"], cwd=folder, check=True)
            yield "unwind", name, bytes([len(stack) // 8]) + (Path(folder) / "a").read_bytes() + stack


def symbols():
    """Yields names of generated code, and small programs, with the byte that says how they are read."""
    yield "symbols", "map", b"m1000 100 JS:*spin /srv/app.js:3:14\n0x401000 0x200 py::spin:/srv/app.py\n"
    entry = struct.pack("<QII", 0x1000, 5, 0) + b"/srv/A.java\0"
    code = struct.pack("<IIQQQQ", 9, 9, 0x1000, 0x1000, 32, 1) + b"A.run\0" + bytes(32)
    moved = struct.pack("<IIQQQQQ", 9, 9, 0, 0x1000, 0x401000, 32, 1)
    record = lambda kind, body: struct.pack("<IIQ", kind, len(body) + 16, 7) + body
    records = record(2, struct.pack("<QQ", 0x1000, 1) + entry) + record(0, code) + record(1, moved)
    yield "symbols", "dump", b"j" + struct.pack("<6IQQ", 0x4A695444, 1, 40, 62, 0, 9, 0, 0) + records
    yield "symbols", "xz", b"x" + lzma.compress(b"symbols" * 40)
    compiler = shutil.which("clang")
    if compiler is None:
        return
    inline = "static inline __attribute__((always_inline)) int"
    source = f"{inline} a(volatile int *p) {{ return *p * 3; }}\n{inline} b(volatile int *p) {{ return a(p) + 1; }}\n"
    source += "int _start(void) { volatile int x = 1; return b(&x); }\n"
    for name, options in {"dwarf5": [], "dwarf4": ["-gdwarf-4"], "zlib": ["-gz=zlib"], "split": ["-gsplit-dwarf"]}.items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.c").write_text(source)
            options = ["-g", "-O1", "-nostdlib", "-fno-asynchronous-unwind-tables", "-Wl,-z,noseparate-code", *options]
            subprocess.run([compiler, *options, "a.c", "-o", "a"], cwd=folder, check=True)
            yield "symbols", name, b"e" + (Path(folder) / "a").read_bytes()


def sources(target):
    """Returns the source files of a target's reader."""
    folders = {"printed": ["printed/src"], "symbols": ["symbols/src"], "unwind": ["unwind/src"], "machine_text": ["topology/src"], "machine_folder": ["topology/src"]}
    names = folders.get(target, [f"import/src/formats/{target}", f"import/src/formats/{target}.rs"])
    if target not in folders and target not in ("present_mon", "mango_hud", "cap_frame_x", "firefox"):
        names += ["import/src/tracepoint"]
    paths = [ROOT / "crates" / name for name in names]
    return [f for p in paths for f in (sorted(p.rglob("*.rs")) if p.is_dir() else [p]) if f.exists()]


def words(target):
    """Returns the short texts in the source of a target's reader, as libFuzzer reads them."""
    escapes = {"n": "\\x0a", "t": "\\x09", "r": "\\x0d", "0": "\\x00", "'": "'"}
    found = set()
    for source in sources(target):
        code = source.read_text().split("#[cfg(test)]")[0]
        code = re.sub(r"^\s*//.*$", "", code, flags=re.M)
        for text in re.findall(r'"((?:[^"\\\n]|\\[^u\n])*)"', code):
            text = re.sub(r"\\([ntr0'])", lambda m: escapes[m[1]], text)
            # Longer ones are messages.
            if 2 <= len(text) <= 32 and text.isascii() and "{" not in text and text.count(" ") <= 2:
                found.add(text)
    return sorted(found)


def main():
    out = Path(sys.argv[1])
    targets = {file.stem for file in (ROOT / "fuzz/fuzz_targets").glob("*.rs")}
    for target in targets:
        (out / target).mkdir(parents=True, exist_ok=True)
        (out / f"{target}.dict").write_text("".join(f'"{word}"\n' for word in words(target)))
    for target, name, data in seeds():
        (out / target / f"seed-{name}").write_bytes(data)
        # The parity of the length decides how it is read (fuzz/src/lib.rs).
        (out / target / f"seed-{name}-longer").write_bytes(data + b"\n")


main()
