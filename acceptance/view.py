"""Measures `corewise view` of a trace folder: how soon the address is printed after the levels of detail are ready, how soon
1,000 random ranges are answered, over one connection, as a page requests them, and the server's memory, including a full diagnosis; with
--browser also the time to the first picture, the smoothness of 10 s of panning and zooming compared with an empty canvas, and the tab's memory.

    acceptance/view.py TRACE [--machine FILE] [--ranges N] [--cpu N] [--browser [--browser-cpu N]]
    acceptance/view.py --growth 1,5,20 [...]

`view_load.py` draws the load for which the limits are defined. To check them: --cpu 0 --browser --browser-cpu 1, on an otherwise idle machine.
--growth draws loads of this many million slices and prints how all figures grow; the limits are those of 5 million, and are printed too.

A recording of another tool is first imported into a temporary folder. The time to prepare its levels and the time of the import with all CPUs
are then printed too.
"""

import argparse
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from urllib.parse import urlsplit

COREWISE = os.environ.get("COREWISE", "target/release/corewise")
ADDRESS_S, ANSWER_S, MEMORY_KB = 0.5, 0.010, 512 * 1024
PICTURE_MS, GAP_MS, GAP_TIMES_EMPTY, TAB_MB = 1500, 20, 1.2, 500
# As viewer/src/model/tiles.ts requests: this many tracks and pixels at the same time.
TRACKS, PIXELS = 16, 1024
# As viewer/src/model/choices.ts writes it.
ALL_OPEN = "#tracks=open.all:groups"


def started(trace, cpu):
    """Starts a server. Returns it, its address, and the time until it answers: the address is printed before the trace is prepared."""
    pin = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
    begin = time.monotonic()
    server = subprocess.Popen([COREWISE, "view", trace, "--no-open"], stdout=subprocess.PIPE, preexec_fn=pin, text=True)
    address = server.stdout.readline().strip()
    if not address:
        sys.exit(f"{COREWISE} view {trace} ended without an address")
    at = urlsplit(address)
    connection = http.client.HTTPConnection(at.netloc)
    connection.request("GET", "/api/about", headers={"Cookie": f"corewise_{at.port}={at.query.removeprefix('token=')}"})
    if connection.getresponse().status != 200:
        sys.exit(f"{COREWISE} view {trace} did not prepare the trace")
    connection.close()
    return server, at, time.monotonic() - begin


def ended(server):
    server.send_signal(signal.SIGTERM)
    server.wait()


def peak_kb(pid):
    """Returns its peak memory, including pages of files that it read."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def ranges(about, count):
    """Yields random places at random zooms: any width of a pixel is as likely as twice it."""
    dice = random.Random(1)
    coarsest = max(1, about["span_ns"] // PIXELS).bit_length()
    cpus = max(cpu["cpu"] for cpu in about["cpus"]) + 1
    for _ in range(count):
        kind = dice.choice(["cpu", "thread"])
        level = dice.randrange(coarsest + 1)
        length = PIXELS << level
        start = dice.randrange(max(1, about["span_ns"] // length + 1)) * length
        first = dice.randrange(cpus if kind == "cpu" else about["threads"]) // TRACKS * TRACKS
        yield (f"/api/slices?kind={kind}&first={first}&last={first + TRACKS - 1}"
               f"&from={start}&to={start + length}&width={1 << level}")


def part(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?")
    parser.add_argument("--growth", help="millions of slices, with commas between")
    parser.add_argument("--ranges", type=int, default=1000)
    parser.add_argument("--cpu", type=int, help="run the server on this CPU only")
    parser.add_argument("--machine", help="the machine description for the import")
    parser.add_argument("--browser", action="store_true", help="measure in Chromium too (viewer/node_modules must be there)")
    parser.add_argument("--browser-cpu", type=int, help="run the browser on this CPU only")
    args = parser.parse_args()
    if (args.trace is None) == (args.growth is None):
        parser.error("name a trace, or --growth")
    if args.growth:
        return grown([float(millions) for millions in args.growth.split(",")], args)
    return judged(imported(args.trace, args.machine, args))


def imported(trace, machine, args):
    """Measures a trace folder, after an import if the trace is a recording of another tool."""
    if os.path.isdir(trace):
        return measure(trace, None, args)
    with tempfile.TemporaryDirectory() as folder:
        to = os.path.join(folder, "imported.cw")
        begin = time.monotonic()
        options = ["--machine", machine] if machine else []
        subprocess.run([COREWISE, *options, "import", trace, "-o", to], check=True, stdout=subprocess.DEVNULL)
        return measure(to, time.monotonic() - begin, args)


def judged(held):
    """Prints a line for each figure; figures without a limit are only printed."""
    for what, is_, most, unit in held:
        limit = "" if most is None else f" (at most {most:.4g}){'' if is_ <= most else '  DOES NOT HOLD'}"
        print(f"{what}: {is_:.2f} {unit}{limit}")
    return 0 if all(most is None or is_ <= most for _, is_, most, _ in held) else 1


def grown(millions, args):
    """Prints the same figures for loads of several sizes, side by side."""
    tables = []
    for size in millions:
        with tempfile.TemporaryDirectory() as folder:
            load = os.path.join(folder, "load.txt")
            draw = os.path.join(os.path.dirname(__file__), "view_load.py")
            subprocess.run([sys.executable, draw, load, "--slices", str(round(size * 1e6))], check=True)
            tables.append(imported(load, load + ".toml", args))
    print("\t".join(["million slices", *(f"{size:g}" for size in millions), "at most, of 5 million"]))
    for rows in zip(*tables):
        what, _, _, unit = rows[0]
        most = {row[2] for row in rows}
        limit = "" if most == {None} else f"{most.pop():.4g}" if len(most) == 1 else "each its own"
        print("\t".join([f"{what}, {unit}", *(f"{row[1]:.2f}" for row in rows), limit]))
    return 0


def in_browser(address, cpu):
    """Returns the measurements of view_smooth.mjs, which opens the address in a browser, with all groups of tracks open."""
    pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
    script = os.path.join(os.path.dirname(__file__), "view_smooth.mjs")
    done = subprocess.run([*pin, "node", script, address.geturl() + ALL_OPEN], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def measure(trace, import_s, args):
    """Returns each measurement, its limit, and its unit."""
    there = os.path.isdir(os.path.join(trace, "levels"))
    server, _, first_s = started(trace, None)
    prepared_kb = peak_kb(server.pid)
    ended(server)
    server, address, address_s = started(trace, args.cpu)
    try:
        asked = http.client.HTTPConnection(address.hostname, address.port)
        cookie = {"Cookie": f"corewise_{address.port}={address.query.partition('=')[2]}"}

        def get(path):
            begin = time.monotonic()
            asked.request("GET", path, headers=cookie)
            answer = asked.getresponse()
            body = answer.read()
            if answer.status not in (200, 202):
                sys.exit(f"{path}: {answer.status} {body.decode(errors='replace')}")
            return body, time.monotonic() - begin, answer.status

        about = json.loads(get("/api/about")[0])
        times, sizes = [], []
        for path in ranges(about, args.ranges):
            body, took, _ = get(path)
            times.append(took)
            sizes.append(len(body))
        smooth = in_browser(address, args.browser_cpu) if args.browser else None
        while get("/api/findings")[2] == 202:
            time.sleep(0.5)
        kb = peak_kb(server.pid)
    finally:
        ended(server)

    levels = os.path.join(trace, "levels")
    size = sum(os.path.getsize(os.path.join(levels, name)) for name in os.listdir(levels)) if os.path.isdir(levels) else 0
    print(f"{trace}: {about['switches']} switches, {about['threads']} threads, {len(about['cpus'])} CPUs")
    held = [("import", import_s, None, "s")] if import_s is not None else []
    if not there:
        held += [("preparing levels, to the address", first_s, None, "s"), ("memory while preparing", prepared_kb / 1024, None, "MB")]
    held += [
        ("levels", size / 2**20, None, "MB"),
        ("address, levels prepared", address_s, ADDRESS_S, "s"),
        (f"answer, 95th percentile of {len(times)}", part(times, 0.95) * 1e3, ANSWER_S * 1e3, "ms"),
        ("answer, median", part(times, 0.5) * 1e3, None, "ms"),
        ("answer, mean size", sum(sizes) / len(sizes) / 1024, None, "KB"),
        ("memory at most, with a diagnosis", kb / 1024, MEMORY_KB / 1024, "MB"),
    ]
    if smooth:
        empty = max(smooth["empty_before_ms"], smooth["empty_after_ms"])
        held += [
            ("first picture", smooth["first_ms"], PICTURE_MS, "ms"),
            ("gap between frames, 95th percentile", smooth["gap_ms"], max(GAP_MS, GAP_TIMES_EMPTY * empty), "ms"),
            ("the same of an empty canvas", empty, None, "ms"),
            ("frames", smooth["frames"], None, "drawn"),
            ("different pictures", smooth["pictures"], None, "seen"),
            ("memory of the tab", smooth["tab_mb"] or float("nan"), TAB_MB, "MB"),  # none found: not measured, so it does not hold
        ]
    return held


if __name__ == "__main__":
    sys.exit(main())
