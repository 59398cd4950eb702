#!/usr/bin/env python3
"""Writes a long CTF trace: the packets of fixtures/ctf/make.py repeated with increasing times.

    ctf_repeat.py OUT --events 8000000

`COREWISE_CTF=OUT cargo test --release -p corewise-import --test it -- --ignored --nocapture ctf::speed` then measures corewise's
reader alone, and `time babeltrace2 OUT > /dev/null` the other tool.
"""

import argparse
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "crates/import/fixtures/ctf"))

import make  # noqa: E402 (next to the fixtures)

SEQUENCE = 64  # the offset of packet_seq_num in a packet of make.py's modern tracer


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("out", type=Path)
    args.add_argument("--events", type=float, default=1e6)
    args = args.parse_args()
    kind, events = make.modern(), make.recorded()
    # The low 27 bits of the time are unchanged.
    step = (events[-1][0] - events[0][0] + (1 << 27)) >> 27 << 27
    times = max(1, round(args.events / len(events)))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "metadata").write_bytes(make.packed(kind, make.metadata(kind)))
    for cpu in (0, 1):
        packets = make.packets(kind, cpu, [e for e in events if e[1] == cpu], {})
        read = [(bytearray(packet), places, [struct.unpack_from("<Q", packet, at)[0] for at in places]) for packet, places in packets]
        with open(args.out / f"channel0_{cpu}", "wb") as out:
            for turn in range(times):
                for at, (packet, places, stamps) in enumerate(read):
                    struct.pack_into("<Q", packet, SEQUENCE, turn * len(read) + at)
                    for place, stamp in zip(places, stamps):
                        struct.pack_into("<Q", packet, place, stamp + turn * step)
                    out.write(packet)
    print(f"{times * len(events)} events in {args.out}")


if __name__ == "__main__":
    main()
