"""Measures `corewise view` of a trace folder: how soon the address is printed once the levels of detail are there, how soon
1,000 random ranges are answered, over one connection, as a page asks them, and the server's memory; with --browser also how soon
the first picture is there, how smooth 10 s of panning and zooming are beside an empty canvas, and the tab's memory.

    acceptance/view.py TRACE [--machine FILE] [--ranges N] [--cpu N] [--browser [--browser-cpu N]]

`view_load.py` draws the load that the limits are for. For these: --cpu 0 --browser --browser-cpu 1, and nothing else running.

A recording of another tool is imported into a temporary folder first; how long that takes is printed beside.
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
PICTURE_MS, GAP_MS, GAP_BESIDE_EMPTY, TAB_MB = 1500, 20, 1.2, 500
# As viewer/src/model/tiles.ts asks: so many tracks and pixels at once.
TRACKS, PIXELS = 16, 1024


def started(trace, cpu):
    """A server, its address, and the time until it was printed."""
    pin = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
    begin = time.monotonic()
    server = subprocess.Popen([COREWISE, "view", trace, "--no-open"], stdout=subprocess.PIPE, preexec_fn=pin, text=True)
    address = server.stdout.readline().strip()
    if not address:
        sys.exit(f"{COREWISE} view {trace} ended without an address")
    return server, urlsplit(address), time.monotonic() - begin


def ended(server):
    server.send_signal(signal.SIGTERM)
    server.wait()


def peak_kb(pid):
    """The most memory that it held at once, pages of files that it read included."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def ranges(about, count):
    """Random places at random zooms: any width of a pixel is as likely as twice it."""
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
    parser.add_argument("trace")
    parser.add_argument("--ranges", type=int, default=1000)
    parser.add_argument("--cpu", type=int, help="run the server on this CPU only")
    parser.add_argument("--machine", help="what the import is told of the machine")
    parser.add_argument("--browser", action="store_true", help="measure in Chromium too (viewer/node_modules must be there)")
    parser.add_argument("--browser-cpu", type=int, help="run the browser on this CPU only")
    args = parser.parse_args()
    if os.path.isdir(args.trace):
        return measure(args.trace, args)
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "imported.cw")
        begin = time.monotonic()
        machine = ["--machine", args.machine] if args.machine else []
        subprocess.run([COREWISE, *machine, "import", args.trace, "-o", trace], check=True, stdout=subprocess.DEVNULL)
        print(f"import: {time.monotonic() - begin:.2f} s")
        return measure(trace, args)


def in_browser(address, cpu):
    """What view_smooth.mjs measures; the address as a browser opens it."""
    pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
    script = os.path.join(os.path.dirname(__file__), "view_smooth.mjs")
    done = subprocess.run([*pin, "node", script, address.geturl()], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def measure(trace, args):
    server, _, first_s = started(trace, args.cpu)
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
            if answer.status != 200:
                sys.exit(f"{path}: {answer.status} {body.decode(errors='replace')}")
            return body, time.monotonic() - begin

        about = json.loads(get("/api/about")[0])
        times, sizes = [], []
        for path in ranges(about, args.ranges):
            body, took = get(path)
            times.append(took)
            sizes.append(len(body))
        smooth = in_browser(address, args.browser_cpu) if args.browser else None
        kb = peak_kb(server.pid)
    finally:
        ended(server)

    levels = os.path.join(trace, "levels")
    size = sum(os.path.getsize(os.path.join(levels, name)) for name in os.listdir(levels)) if os.path.isdir(levels) else 0
    print(f"{trace}: {about['switches']} switches, {about['threads']} threads, {len(about['cpus'])} CPUs; levels {size >> 20} MB")
    print(f"first address (prepares levels where there are none): {first_s:.2f} s, {prepared_kb >> 10} MB")
    held = [
        ("address, levels prepared", address_s, ADDRESS_S, "s"),
        (f"answer, 95th percentile of {len(times)}", part(times, 0.95) * 1e3, ANSWER_S * 1e3, "ms"),
        ("memory at most", kb / 1024, MEMORY_KB / 1024, "MB"),
    ]
    if smooth:
        beside = max(smooth["empty_before_ms"], smooth["empty_after_ms"])
        held += [
            ("first picture", smooth["first_ms"], PICTURE_MS, "ms"),
            ("gap between frames, 95th percentile", smooth["gap_ms"], max(GAP_MS, GAP_BESIDE_EMPTY * beside), "ms"),
            ("memory of the tab", smooth["tab_mb"] or float("nan"), TAB_MB, "MB"),  # none found: not measured, so it does not hold
        ]
        print(f"in the browser: {smooth['frames']} frames, {smooth['pictures']} different pictures; gaps of an empty canvas "
              f"{smooth['empty_before_ms']:.1f} ms before, {smooth['empty_after_ms']:.1f} ms after")
    for what, is_, most, unit in held:
        print(f"{what}: {is_:.2f} {unit} (at most {most:g}){'' if is_ <= most else '  DOES NOT HOLD'}")
    print(f"answers: median {part(times, 0.5) * 1e3:.2f} ms, longest {max(times) * 1e3:.2f} ms; {sum(sizes) / len(sizes) / 1024:.0f} KB each")
    return 0 if all(is_ <= most for _, is_, most, _ in held) else 1


if __name__ == "__main__":
    sys.exit(main())
