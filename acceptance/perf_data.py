"""A minimal perf.data parser that counts what perf itself reports as lost: perf_data.py FILE.data"""

import json
import mmap
import struct
import subprocess
import sys
from collections import Counter

LOST, SAMPLE, LOST_SAMPLES = 2, 9, 13


def counts(path):
    """Returns records by type, and under "lost" the events that LOST records report. Not for piped or compressed files."""
    seen = Counter()
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:8] != b"PERFILE2":
            raise ValueError(f"{path}: not a perf.data file")
        at, size = struct.unpack_from("<QQ", data, 40)
        end = min(at + size, len(data))
        head = struct.Struct("<IHH")
        while at + 8 <= end:
            kind, _misc, length = head.unpack_from(data, at)
            if length < 8:
                break
            seen[kind] += 1
            if kind == LOST:
                seen["lost"] += struct.unpack_from("<Q", data, at + 16)[0]
            elif kind == LOST_SAMPLES:
                seen["lost"] += struct.unpack_from("<Q", data, at + 8)[0]
            at += length
    return seen


def counts_apart(path):
    """Returns `events` and `lost`, counted by another process: a child of a process that has mapped a large file inherits its maxrss."""
    output = subprocess.run([sys.executable, __file__, str(path)], stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(output)


if __name__ == "__main__":
    seen = counts(sys.argv[1])
    print(json.dumps({"events": seen[SAMPLE], "lost": seen["lost"]}))
