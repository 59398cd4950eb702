"""Runs corewise and reads what it prints. The binary is COREWISE, or target/release/corewise."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
BINARY = os.environ.get("COREWISE") or str(ROOT / "target/release/corewise")
ORACLE = os.environ.get("ORACLE") or str(ROOT / "testdata/referee/oracle.py")


class Refused(Exception):
    """corewise ended with an error; holds its message."""


def run(*args):
    """Returns what `corewise ARGS` prints."""
    done = subprocess.run([BINARY, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"corewise {' '.join(map(str, args))}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def table(trace, name):
    """Returns a table of a trace as a list of rows, each a dict."""
    return rows_of(run("table", trace, name, "--format", "json"))


def check(trace):
    """Returns the checks and counts of a trace: a dict with broken, unwoken and residuals."""
    return json.loads(run("verify", trace, "--format", "json"))


def rows_of(text):
    """Parses JSON, either an array of objects or one object per line."""
    text = text.strip()
    return json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]


def wait_until_attached(recorder, folder, patience=30):
    """Waits until the recorder that writes to a folder has reported all threads: from then on nothing is missed."""
    spool = Path(folder) / "spool"
    until = time.monotonic() + patience
    while recorder.poll() is None and time.monotonic() < until:
        # What is recorded while the recorder prepares itself is dropped. Until it is attached, a segment contains only its header.
        with contextlib.suppress(OSError, ValueError):
            is_prepared = not json.loads((spool / "meta.json").read_text()).get("preparing")
            if is_prepared and any(segment.stat().st_size > 32 for segment in spool.glob("*.seg")):
                return
        time.sleep(0.01)
    sys.exit(f"corewise record: exit {recorder.poll()} before it had attached")


def need_binary():
    if not os.access(BINARY, os.X_OK):
        sys.exit(f"no corewise at {BINARY}: make build, or set COREWISE")


def residuals_of(checked):
    """Returns all residuals of a `check` by the name of the check, given as a dict or as a list of objects."""
    laws = checked.get("residuals", {})
    if isinstance(laws, dict):
        return {str(law): residual for law, residual in laws.items()}
    return {row.get("law") or row.get("name"): row.get("residual", row.get("residual_ns")) for row in laws}


def print_table(head, rows, file=sys.stdout):
    """Prints columns: text aligned left, numbers aligned right."""
    cells = [list(map(str, row)) for row in rows]
    widths = [max(len(row[i]) for row in [list(head), *cells]) for i in range(len(head))]

    def is_number(text):
        return text[:1].isdigit() or text[:2].lstrip("-+")[:1].isdigit() or text in ("-", "")

    right = [all(is_number(row[i]) for row in cells) for i in range(len(head))]
    for row in [list(head), *cells]:
        line = "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right))
        print(line.rstrip(), file=file, flush=True)


def percent(part, whole):
    return f"{100 * part / whole:.2f} %" if whole else "-"
