"""Starts the corewise program."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from ._corewise import Error

VARIABLE = "COREWISE"


def find() -> str:
    """Returns the program: the one that COREWISE names, the one of this environment, or the one on PATH."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    import sysconfig

    # Where pip installs the program of a wheel: for this environment, or for this user.
    user = sysconfig.get_preferred_scheme("user")
    for folder in [os.path.dirname(sys.executable), sysconfig.get_path("scripts"), sysconfig.get_path("scripts", user)]:
        own = os.path.join(folder, "corewise")
        if os.access(own, os.X_OK):
            return own
    found = shutil.which("corewise")
    if found is None:
        raise Error(f"the program corewise is not on PATH: install a wheel, run `make install` in its checkout, or set {VARIABLE} to its path")
    return found


def _run(arguments: Sequence[str], until_interrupted: bool = False) -> None:
    """Runs the program. With `until_interrupted`, Ctrl-C ends its work, not this function."""
    try:
        child = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    except OSError as why:
        raise Error(f"cannot run {arguments[0]}: {why.strerror}; {VARIABLE} names another one") from None
    with child:
        try:
            _, said = child.communicate()
        except KeyboardInterrupt:
            # In a terminal it has the signal already, which it takes as one; a notebook interrupts only Python.
            child.send_signal(signal.SIGINT)
            _, said = child.communicate()
            if not until_interrupted:
                raise
    if child.returncode != 0:
        raise Error(_reason(said) or f"{arguments[0]} ended with exit code {child.returncode}")


def _reason(said: str) -> str:
    """Why the program failed, as it says: a line that begins with `error:` for arguments, otherwise the last one."""
    lines = [line for line in said.splitlines() if line.strip()]
    invalid = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), None)
    return invalid or (lines[-1].removeprefix("corewise: ") if lines else "")


def record(command: Sequence[str] | None, output: Any, options: dict[str, Any]) -> str:
    """Records, and returns the path of the trace folder."""
    if command is None and not {"duration", "pid", "all"} & {name for name, value in options.items() if value}:
        raise Error("what should be recorded? Name a command, duration= seconds, pid= of a process, or all=True to record until Ctrl-C")
    path = os.fspath(output) if output is not None else time.strftime("corewise-%Y-%m-%d-%H-%M-%S.cw")
    arguments = [find(), "record", "-o", path]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                arguments.append(option)
            elif one is not False and one is not None:
                arguments.append(f"{option}={one}")
    if command is not None:
        arguments += ["--", *([command] if isinstance(command, str) else command)]
    _run(arguments, until_interrupted=True)
    return path


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class Page:
    """A page that a notebook shows."""

    def __init__(self, html: str, height: int) -> None:
        self.html, self.height = html, height

    def _repr_html_(self) -> str:
        page = self.html.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{page}" width="100%" height="{self.height}" sandbox="allow-scripts" style="border:0"></iframe>'


def page(path: str, height: int, limit_mb: float) -> Page:
    """Returns the self-contained page of a trace."""
    with tempfile.TemporaryDirectory() as folder:
        to = os.path.join(folder, "trace.html")
        _run([find(), "view", path, "--html", to, "--html-limit", str(limit_mb)])
        with open(to, encoding="utf-8") as file:
            return Page(file.read(), height)


def view(path: str, height: int, limit_mb: float) -> Any:
    """Shows a trace: as a page in a notebook, otherwise in the browser."""
    if _in_notebook():
        return page(path, height, limit_mb)
    return subprocess.Popen([find(), "view", path])
