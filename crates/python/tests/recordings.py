"""The recordings that the tests read."""

import pathlib
import shutil
import tempfile

ROOT = pathlib.Path(__file__).parents[3]
FIXTURES = ROOT / "crates/import/fixtures"
SCHED = str(FIXTURES / "perf_data/sched.data")


def copied_runs(test_or_class):
    """A copy of the simulated runs, until the test or the class of tests ends: tables that are made are stored in the folder of their recording."""
    folder = tempfile.TemporaryDirectory()
    add = getattr(test_or_class, "addClassCleanup" if isinstance(test_or_class, type) else "addCleanup")
    add(folder.cleanup)
    return pathlib.Path(shutil.copytree(ROOT / "testdata/notebooks", pathlib.Path(folder.name, "notebooks")))
