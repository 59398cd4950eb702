"""Runs `corewise record` while an instance of ftrace records the same as text."""

import os
import subprocess
import sys
from pathlib import Path

TRACING = Path("/sys/kernel/tracing")


def record(folder, events, command, buffer_kb, optional=()):
    """Runs `command`, which records, and returns what it printed. `folder`/ftrace.txt gets ftrace's text of `events`, and of those in
    `optional` that this kernel has, on the monotonic clock. Ends the program if `command` fails. Needs root."""
    if not (TRACING / "instances").exists():
        subprocess.run(["mount", "-t", "tracefs", "nodev", TRACING], check=True)
    # Of this run only: another one may record at the same time.
    instance = TRACING / f"instances/corewise-{os.getpid()}"
    instance.mkdir()

    def put(file, text):
        (instance / file).write_text(text)

    all_events = [*events, *(event for event in optional if (instance / "events" / event).exists())]
    try:
        put("tracing_on", "0")
        put("trace_clock", "mono")
        put("buffer_size_kb", str(buffer_kb))
        for event in all_events:
            put(f"events/{event}/enable", "1")
        put("tracing_on", "1")
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        put("tracing_on", "0")
        for event in all_events:
            put(f"events/{event}/enable", "0")
        (folder / "ftrace.txt").write_bytes((instance / "trace").read_bytes())
    finally:
        instance.rmdir()
    if done.returncode:
        sys.exit(f"corewise record: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout
