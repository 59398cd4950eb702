"""Stores of fsspec for the tests: a folder of this machine as if it were far away."""

import os
import pathlib
import time

import fsspec
from fsspec.implementations.local import LocalFileSystem


class Far(LocalFileSystem):
    """`far://FOLDER`: each request is written to the file `FAR_LOG`. `FAR_FAILS` is a file with a name, how many requests for it fail, and how: `busy`,
    `silent` (for 2 s), `half` (of the content arrives), `refused`."""

    protocol = "far"
    root_marker = "/"

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(str(path).removeprefix("far://"))

    def unstrip_protocol(self, name):
        return f"far://{self._strip_protocol(name)}"

    def _said(self, what, path):
        with open(os.environ["FAR_LOG"], "a") as log:
            log.write(f"{what} {path}\n")
        fails = os.environ.get("FAR_FAILS")
        if fails and os.path.exists(fails):
            name, left, how = pathlib.Path(fails).read_text().split()
            if str(path).endswith(name) and int(left):
                pathlib.Path(fails).write_text(f"{name} {int(left) - 1} {how}")
                if how == "busy":
                    raise OSError(f"{path}: 503 Slow Down")
                if how == "refused":
                    raise PermissionError(f"{path}: 403 Forbidden")
                if how == "silent":
                    time.sleep(2)
                return how == "half"
        return False

    def get_file(self, path, lpath, **rest):
        is_half = self._said("get", path)
        super().get_file(path, lpath, **rest)
        if is_half:
            os.truncate(lpath, os.path.getsize(lpath) // 2)

    def cat_file(self, path, start=None, end=None, **rest):
        self._said(f"part {start} {end}", path)
        return super().cat_file(path, start=start, end=end, **rest)


fsspec.register_implementation("far", Far, clobber=True)
