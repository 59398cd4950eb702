"""The notebooks of docs/notebooks run from begin to end, with and without the rights to record; their plots are written as PNG below COREWISE_PICTURES."""

import base64
import os
import pathlib
import shutil
import stat
import tempfile
import unittest

from recordings import ROOT

NOTEBOOKS = ROOT / "docs/notebooks"
PROGRAM = os.environ["COREWISE"]
PICTURES = os.environ.get("COREWISE_PICTURES")
REFUSED = "recording is not permitted on this machine"


def run(name, program, folder):
    """Runs a notebook in a copy of its folder; returns it, with its outputs."""
    import jupytext
    import nbclient
    import nbformat
    import traitlets.config

    # The notebooks find the recordings by a relative path.
    there = pathlib.Path(folder, "docs/notebooks")
    shutil.copytree(NOTEBOOKS, there)
    shutil.copytree(ROOT / "testdata/notebooks", pathlib.Path(folder, "testdata/notebooks"))
    notebook = jupytext.read(there / f"{name}.py")
    # Plots are otherwise HTML with a script.
    notebook.cells.insert(0, nbformat.v4.new_code_cell("import altair\n_ = altair.renderers.enable('png', scale_factor=1.3)"))
    before = os.environ["COREWISE"]
    os.environ["COREWISE"] = str(program)
    try:
        # By sockets in a folder: no port is open to other users of this machine.
        config = traitlets.config.Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"})
        nbclient.NotebookClient(notebook, kernel_name="python3", timeout=120, resources={"metadata": {"path": str(there)}}, config=config).execute()
    finally:
        os.environ["COREWISE"] = before
    return notebook


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def text(notebook):
    """All that was printed or shown as text."""
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs(notebook))


def pictures(notebook):
    """The plots, as PNG."""
    return [base64.b64decode(output["data"]["image/png"]) for output in outputs(notebook) if "image/png" in output.get("data", {})]


class Notebooks(unittest.TestCase):
    def check(self, name, how, program, plots):
        with tempfile.TemporaryDirectory() as folder:
            notebook = run(name, program(folder), folder)
        drawn = pictures(notebook)
        self.assertGreaterEqual(len(drawn), plots, name)
        for number, picture in enumerate(drawn):
            self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
            if PICTURES:
                pathlib.Path(PICTURES).mkdir(parents=True, exist_ok=True)
                pathlib.Path(PICTURES, f"{name}-{how}-{number}.png").write_bytes(picture)
        return notebook

    def without_rights(self, folder):
        """The program, except that it cannot record."""
        program = pathlib.Path(folder, "corewise")
        program.write_text(f'#!/bin/sh\nif [ "$1" = record ]; then echo "corewise: {REFUSED}" >&2; exit 1; fi\nexec "{os.path.abspath(PROGRAM)}" "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return program

    def any_rights(self, _):
        return os.path.abspath(PROGRAM)

    def test_my_first_recording_runs_without_rights(self):
        notebook = self.check("first_recording", "simulated", self.without_rights, 7)
        said = text(notebook)
        self.assertIn(f"No recording on this machine: {REFUSED}", said)
        self.assertIn("simulated run", said)
        self.assertIn("critical-thread-on-efficient-core", said)
        self.assertTrue(any("<iframe" in output.get("data", {}).get("text/html", "") for output in outputs(notebook)))

    def test_did_it_help_runs_without_rights(self):
        notebook = self.check("did_it_help", "simulated", self.without_rights, 3)
        said = text(notebook)
        self.assertIn(f"No recording on this machine: {REFUSED}", said)
        self.assertIn("4 runs before, 4 after", said)
        self.assertIn("Mean frame time", said)

    def test_the_worst_hosts_are_found(self):
        if not shutil.which("java"):
            # Not skipped, which would be a failure: Java is no package of Python.
            print("worst_hosts: left out: no Java (apt-get install openjdk-17-jre-headless)")
            return
        notebook = self.check("worst_hosts", "simulated", self.any_rights, 2)
        said = text(notebook)
        self.assertIn("8 recordings of 8 hosts", said)
        self.assertIn("critical-thread-on-efficient-core", said)

    def test_they_run_with_the_rights_that_this_machine_gives(self):
        for name, plots in [("first_recording", 2), ("did_it_help", 3)]:
            with self.subTest(name):
                notebook = self.check(name, "here", self.any_rights, plots)
                recorded = "No recording on this machine" not in text(notebook)
                print(f"{name}: {'recorded' if recorded else 'simulated runs: no rights to record'}")


if __name__ == "__main__":
    unittest.main()
