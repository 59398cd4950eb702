"""Where recordings are: which ones a pattern names, and copies of those that are not in a file system of the machine.

A path with a scheme (``s3://``, ``gs://``, ``hdfs://``, ``zip://...::...``) is read by fsspec: copied into a temporary folder of the executor, which is
removed when the task ends or fails. Any other path, and ``file:``, is read in place.
"""

from __future__ import annotations

import errno
import glob
import os
import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .. import Error

MANIFEST, LABELS = "manifest.json", "labels.json"
# What a trace folder has for the viewer only.
UNUSED = ("levels/",)
# A store that answers with an error is asked again after so many seconds; what does not exist, or is not allowed, is not asked for again.
WAITS_S = (0.5, 2.0)
FINAL = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)
# One that has not answered for so long, and arrives at less than so many bytes per second, is not waited for, whatever its library does. A list of all
# recordings may take longer.
SILENCE_S, SLOWEST, LIST_S = 60.0, 50_000, 600.0
# Requests to a store at the same time, while a query is planned.
REQUESTS = 16


class Place:
    """A recording: ``path`` in the file system ``fs`` of fsspec, or in that of the machine (``None``). ``shown``: how users see it."""

    def __init__(self, path: str, fs: Any = None) -> None:
        self.path, self.fs = path, fs
        self.shown = path if fs is None else fs.unstrip_protocol(path)

    def size(self, name: str) -> int:
        """The length of a file in the folder; 0 if there is none, or if it is unknown."""
        try:
            if self.fs is None:
                return os.path.getsize(os.path.join(self.path, name))
            return again(lambda: self.fs.info(f"{self.path}/{name}")["size"]) or 0
        except Exception:
            return 0

    def parquet(self, name: str) -> Any:
        """The metadata of a Parquet file in the folder, which is all that is read of it. ``None`` if it cannot be read."""
        import pyarrow.parquet

        try:
            if self.fs is None:
                return pyarrow.parquet.read_metadata(os.path.join(self.path, name))

            def read() -> Any:
                with self.fs.open(f"{self.path}/{name}", "rb") as file:
                    return pyarrow.parquet.read_metadata(file)

            return again(read)
        except Exception:
            # The task that reads the table says why.
            return None


class Silent(Error):
    """A store that does not answer."""


def again(work: Callable[[], Any], size: int = 0, limit_s: float | None = None) -> Any:
    """Asks a store for about `size` bytes, some times if it fails."""
    limit_s = (SILENCE_S if limit_s is None else limit_s) + size / SLOWEST
    for wait in WAITS_S:
        try:
            return _within(work, limit_s)
        except (*FINAL, Silent):
            raise
        except OSError as why:
            if why.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            time.sleep(wait)
        except Exception:
            time.sleep(wait)
    return _within(work, limit_s)


def _within(work: Callable[[], Any], limit_s: float) -> Any:
    """Does a request in a thread of its own, which is left behind if it takes too long: not every library has a limit."""
    results: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            results.put((work(), None))
        except BaseException as why:
            results.put((None, why))

    threading.Thread(target=run, daemon=True).start()
    try:
        result, failed = results.get(timeout=limit_s)
    except queue.Empty:
        raise Silent(f"the store has not answered for {limit_s:.0f} s") from None
    if failed is not None:
        raise failed
    return result


def each(work: Callable[[Place], Any], places: list[Place]) -> Iterator[Any]:
    """Does the same for all places, several at a time, and returns the results in order."""
    with ThreadPoolExecutor(REQUESTS) as pool:
        yield from pool.map(work, places)


def places(patterns: Iterable[str], options: dict[str, Any]) -> list[Place]:
    """The recordings that paths and patterns name, in order and each once. A pattern that matches nothing is an error."""
    found: dict[str, Place] = {}
    for pattern in patterns:
        matched = _matching(pattern, options)
        if not matched:
            raise Error(f"{pattern}: no file or folder matches this pattern")
        for place in matched:
            found.setdefault(place.shown, place)
    return list(found.values())


def _matching(pattern: str, options: dict[str, Any]) -> list[Place]:
    is_pattern = any(character in pattern for character in "*?[")
    if pattern.startswith("file:") or not ("://" in pattern or "::" in pattern):
        path = os.path.abspath("/" + pattern[len("file:") :].lstrip("/") if pattern.startswith("file:") else pattern)
        # A name may have the characters of a pattern.
        paths = sorted(glob.glob(path)) if is_pattern and not os.path.exists(path) else [path]
        return [Place(path) for path in paths if not path.endswith(f".{LABELS}")]
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise Error(f"{pattern} needs fsspec, which is not installed: pip install fsspec") from None
    fs, path = url_to_fs(pattern, **options)
    paths = sorted(again(lambda: fs.glob(path), limit_s=LIST_S)) if is_pattern else [path]
    return [Place(path.rstrip("/"), fs) for path in paths if not path.endswith(f".{LABELS}")]


class Copy:
    """A recording where corewise can read it: in place, or copied into a temporary folder as far as needed. A context manager, which removes the copy."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._folder: str | None = None
        # The files of a folder, with their lengths; None if it is a file.
        self._files: dict[str, int] | None = None
        # The length of a file.
        self._size = 0
        self._copied: set[str] = set()

    def __enter__(self) -> Copy:
        return self

    def make(self) -> None:
        """Makes the folder of the copy, if there must be one."""
        if self.place.fs is not None:
            # Spark removes its own folder at the end of the application: even a killed worker leaves nothing for longer.
            under = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
            self._folder = tempfile.mkdtemp(prefix="corewise-", dir=under if os.path.isdir(under) else None)

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def path(self) -> str:
        """Where corewise reads it."""
        return self.place.path if self._folder is None else os.path.join(self._folder, os.path.basename(self.place.path) or "recording")

    def identity(self) -> str:
        """Copies what identifies the recording: of a trace folder, the manifest and the labels. Returns its path."""
        self._list()
        if self._files is not None and MANIFEST in self._files:
            self._copy(name for name in (MANIFEST, LABELS) if name in self._files)
        elif self._folder is not None:
            self.whole()
        return self.path

    def whole(self) -> str:
        """Copies everything that tables are made of. Returns its path."""
        self._list()
        self._copy(self._files if self._files is not None else [""])
        return self.path

    def row_groups(self, name: str, first: int, end: int) -> str:
        """Like :meth:`whole`, without events, and of one Parquet file only some row groups: the rest is a hole. Returns its path."""
        self._list()
        if self._folder is None or not self._files or name not in self._files:
            return self.whole()
        metadata = self.place.parquet(name)
        if metadata is None:
            return self.whole()
        self._copy(other for other in self._files if other != name and not other.startswith("events/"))
        size, begins = self._files[name], [bounds(metadata, group) for group in range(metadata.num_row_groups)]
        # The beginning of the file, the row groups, and what follows all row groups.
        wanted = [(0, 4), *begins[first:end], (max((stop for _, stop in begins), default=4), size)]
        to = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(to, "wb") as out:
            out.truncate(size)
            for start, stop in wanted:
                out.seek(start)
                whole = f"{self.place.path}/{name}"

                def get(start: int = start, stop: int = stop) -> bytes:
                    part: bytes = self.place.fs.cat_file(whole, start=start, end=stop)
                    if len(part) != stop - start:
                        raise Error(f"{self.place.shown}/{name}: the store gave {len(part)} of {stop - start} bytes")
                    return part

                out.write(again(get, stop - start))
        return self.path

    def _list(self) -> None:
        fs, path = self.place.fs, self.place.path
        if fs is None or self._files is not None or self._copied:
            return
        # `isdir` of some stores says no where they do not answer.
        info = again(lambda: fs.info(path))
        self._size = info.get("size") or 0
        if info["type"] == "directory":
            listed = again(lambda: fs.find(path, detail=True))
            names = {name[len(path) :].strip("/"): of.get("size") or 0 for name, of in listed.items()}
            self._files = {name: size for name, size in names.items() if not name.startswith(UNUSED)}

    def _copy(self, names: Iterable[str]) -> None:
        fs, path = self.place.fs, self.place.path
        for name in list(names) if fs is not None else ():
            if name in self._copied:
                continue
            if os.path.isabs(name) or ".." in name.split("/"):
                raise Error(f"{self.place.shown}: the store lists a file outside of this folder: {name}")
            to = os.path.join(self.path, name) if name else self.path
            os.makedirs(os.path.dirname(to), exist_ok=True)
            size = self._size if self._files is None else self._files.get(name, 0)

            def get(name: str = name, to: str = to, size: int = size) -> None:
                fs.get_file(f"{path}/{name}" if name else path, to)
                if size and os.path.getsize(to) != size:
                    raise Error(f"{self.place.shown}/{name}: the store gave {os.path.getsize(to)} of {size} bytes")

            again(get, size)
            self._copied.add(name)
            edited = f"{path}.{LABELS}"
            # Edited labels of a file are next to it.
            if not name and again(lambda: fs.exists(edited)):
                again(lambda to=to: fs.get_file(edited, f"{to}.{LABELS}"))


def bounds(metadata: Any, group: int) -> tuple[int, int]:
    """Where a row group begins and ends in its file, in bytes."""
    columns = [metadata.row_group(group).column(at) for at in range(metadata.num_columns)]
    begins = [of.dictionary_page_offset if of.has_dictionary_page else of.data_page_offset for of in columns]
    return min(begins), max(begin + of.total_compressed_size for begin, of in zip(begins, columns))
