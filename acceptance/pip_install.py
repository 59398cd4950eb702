#!/usr/bin/env python3
"""`pip install .` from this checkout in a virtual environment that has nothing else: the package opens a recording and finds something.

  pip_install.py [--dev]

pip gets maturin from its index, and builds with the release profile; --dev: with the profile of the tests, which takes less time.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TRACE = ROOT / "crates/import/fixtures/perf_data/sched.data"

LINES = """
import time
begin = time.perf_counter()
import corewise
print(f"import: {time.perf_counter() - begin:.3f} s")
trace = corewise.open(TRACE)
print(trace)
states = trace.table("thread_state")
print(states, len(states), "rows")
running = [ns for ns, state in zip(states["end_ns"], states["state"]) if state == "running"]
print(len(running), "stretches run;", len(trace.findings().checked), "rules were checked")
"""


def main():
    env = dict(os.environ)
    if "--dev" in sys.argv[1:]:
        env["MATURIN_PEP517_ARGS"] = "--profile dev --strip"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
        python = f"{folder}/venv/bin/python3"
        begin = time.monotonic()
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)], check=True, env=env)
        print(f"pip install . took {time.monotonic() - begin:.0f} s")
        listed = subprocess.run([python, "-m", "pip", "list", "--disable-pip-version-check"], check=True, capture_output=True, text=True)
        print(" ".join(line.split()[0] for line in listed.stdout.splitlines()[2:]))
        # From another folder, so that nothing of the checkout is imported.
        done = subprocess.run(
            [python, "-c", LINES.replace("TRACE", repr(str(TRACE)))], cwd=folder, check=False, capture_output=True, text=True
        )
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    return 1 if done.returncode or "rows" not in done.stdout else 0


if __name__ == "__main__":
    sys.exit(main())
