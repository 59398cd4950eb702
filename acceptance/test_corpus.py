"""scripts/corpus against a local git mirror."""

import hashlib
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "scripts/corpus"
CONTENT = b"a recording\0\n"


class Corpus(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        repository = self.root / "mirror/owner/project"
        (repository / "data").mkdir(parents=True)
        self.git("init", "--quiet", repository)
        self.git("-C", repository, "config", "uploadpack.allowFilter", "true")
        (repository / "data/a.data").write_bytes(CONTENT)
        self.commit = self.commit_all(repository)
        (repository / "data/a.data").write_bytes(b"changed later")
        self.commit_all(repository)
        self.digest = hashlib.sha256(CONTENT).hexdigest()

    def git(self, *words):
        done = subprocess.run(["git", *map(str, words)], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit_all(self, repository):
        self.git("-C", repository, "add", "-A")
        self.git("-C", repository, "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "-m", "Add")
        return self.git("-C", repository, "rev-parse", "--short=12", "HEAD")

    def fetch(self, **changed):
        row = {"name": "perf-data/a.data", "repository": "owner/project", "commit": self.commit, "path": "data/a.data", "licence": "MIT",
               "digest": self.digest, **changed}
        (self.root / "list.tsv").write_text("# a comment\n" + "\t".join(row.values()) + "\n")
        words = [sys.executable, SCRIPT, "--into", self.root / "corpus", "--list", self.root / "list.tsv", "--from",
                 f"file://{self.root}/mirror"]
        return subprocess.run(list(map(str, words)), capture_output=True, text=True)

    def files(self):
        return [path.name for path in (self.root / "corpus").rglob("*") if path.is_file()]

    def test_fetches_the_file_of_the_commit_once(self):
        done = self.fetch()
        self.assertEqual((done.returncode, done.stdout), (0, "perf-data/a.data: fetched, 13 bytes\n"), done.stderr)
        self.assertEqual((self.root / "corpus/perf-data/a.data").read_bytes(), CONTENT)
        self.assertEqual(self.fetch().stdout, "perf-data/a.data: is there\n")

    def test_another_content_is_refused(self):
        done = self.fetch(digest="0" * 64)
        self.assertEqual(done.returncode, 1)
        self.assertIn("instead of 000", done.stderr)
        self.assertEqual(self.files(), [])

    def test_what_is_not_there_is_named(self):
        for changed, named in [({"commit": "0123456789ab"}, "0123456789ab"), ({"repository": "owner/none"}, "owner/none")]:
            done = self.fetch(**changed)
            self.assertEqual(done.returncode, 1)
            self.assertIn(named, done.stderr)
            self.assertIn("1 of 1 repositories failed", done.stderr)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
