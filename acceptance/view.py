"""Measures `corewise view` of a trace folder: how soon the address is printed once the levels of detail are there, how soon
1,000 random ranges are answered, and the server's memory. Only the server is measured, over one connection, as a page asks it.

    acceptance/view.py TRACE [--ranges N] [--cpu N]

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
    args = parser.parse_args()
    if os.path.isdir(args.trace):
        return measure(args.trace, args)
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "imported.cw")
        begin = time.monotonic()
        subprocess.run([COREWISE, "import", args.trace, "-o", trace], check=True, stdout=subprocess.DEVNULL)
        print(f"import: {time.monotonic() - begin:.2f} s")
        return measure(trace, args)


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
    for what, is_, most, unit in held:
        print(f"{what}: {is_:.2f} {unit} (at most {most:g}){'' if is_ <= most else '  DOES NOT HOLD'}")
    print(f"answers: median {part(times, 0.5) * 1e3:.2f} ms, longest {max(times) * 1e3:.2f} ms; {sum(sizes) / len(sizes) / 1024:.0f} KB each")
    return 0 if all(is_ <= most for _, is_, most, _ in held) else 1


if __name__ == "__main__":
    sys.exit(main())
