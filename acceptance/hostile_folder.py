#!/usr/bin/env python3
"""Root records into a folder of another user, who swaps what is written there for links at the same time: strace shows the calls.

    acceptance/hostile_folder.py

Once the trace folder is new, once it exists and belongs to the other user too. A process of that user renames what the recorder makes
and puts links to a folder of root's in its place, some thousand times. Required: no call names a path that leads into the folder except the
program's own start; every file and folder there is opened relative to a descriptor, by a name without a slash, and with O_NOFOLLOW or
O_EXCL (or is the descriptor's folder itself, "."); and root's folder is unchanged. Then `stat` of everything written: 0700 and 0600, and
owned by the other user, as after sudo. Needs root and strace. Exit status 1 if any of this fails.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import corewise

NOBODY = 65534
NAMES = ["", "/spool", "/.part", "/events", "/tables", "/manifest.json", "/processes.json", "/processes.json.new"]
CALL = re.compile(r"^\d+\s+(\w+)\((.*)$")
# These calls name no file.
WORDS = {"execve", "write", "writev", "read", "readlink", "readlinkat"}


def main():
    corewise.need_binary()
    with tempfile.TemporaryDirectory(prefix="hostile-") as tmp:
        os.chmod(tmp, 0o755)
        for made in (False, True):
            # The recorder may give up with an error if its folder is gone immediately after it was made: then try
            # again.
            for attempt in range(10):
                folder = Path(tmp) / f"{made:d}{attempt}"
                folder.mkdir()
                well, code = recorded(folder, made)
                if not well:
                    return 1
                if code == 0:
                    break
            else:
                print("no recording ran to its end")
                return 1
    return 0


def recorded(tmp, made):
    home, victim = tmp / "home", tmp / "victim"
    run, log = home / "run.cw", tmp / "strace"
    for folder in (home, victim, *([run] if made else [])):
        folder.mkdir()
    (victim / "secret").write_text("secret")
    for folder in (home, *([run] if made else [])):
        os.chown(folder, NOBODY, NOBODY)
    before = stats(victim)
    swapper = os.fork()
    if swapper == 0:
        swap(run, victim)
    command = ["strace", "-f", "-y", "-s", "4096", "-e", "trace=%file,%desc", "-o", log, corewise.BINARY, "record", "-o", run, "--", "sleep", "0.3"]
    environment = {**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    (home / "stop").touch()
    os.waitpid(swapper, 0)
    counts, bad = calls(log, str(home))
    print(f"\nthe trace folder is {'there, and the other user`s' if made else 'new'}: exit {done.returncode}, {(home / 'swaps').read_text()} swaps")
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1])
    print(f"calls by a path into it, or through what may be a link: {len(bad)}", *bad[:5], sep="\n  ")
    corewise.print_table(["calls", "call", "what keeps it within"], [[n, *what] for what, n in sorted(counts.items())])
    same = stats(victim) == before
    print(f"root's folder is unchanged: {'yes' if same else 'NO'}")
    written = Counter(f"{mode} of uid {uid}" for path, (mode, uid, *_) in stats(home).items() if Path(path).name not in ("stop", "swaps"))
    print("what is there now:", dict(written))
    return same and not bad, done.returncode


def swap(run, victim):
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    n = 0
    while not (run.parent / "stop").exists():
        for name in (f"{run}{name}" for name in NAMES):
            try:
                if os.path.islink(name):
                    os.unlink(name)
                    os.rename(f"{name}.was", name)
                else:
                    os.rename(name, f"{name}.was")
                    os.symlink(victim / "secret" if "json" in name else victim, name)
                    n += 1
            except OSError:
                pass
        time.sleep(0.002)
    (run.parent / "swaps").write_text(str(n))
    os._exit(0)


def calls(log, home):
    """Returns how often each kind of call named something in the folder, and the calls that could be redirected."""
    counts, bad = Counter(), []
    for line in log.read_text(errors="replace").splitlines():
        call = CALL.match(line)
        if not call or home not in line:
            continue
        name, words = call.groups()
        paths = re.findall(r'"([^"]*)"', words)
        if name in WORDS or not paths or name == "statx" and paths == [""] and "AT_EMPTY_PATH" in words:
            continue
        # Of openat's arguments: the name of a descriptor (-y) is not a path that the kernel gets.
        if any("/" in path for path in paths):
            bad.append(line[:200])
        elif name in ("open", "openat", "openat2"):
            kept = next((flag for flag in ("O_NOFOLLOW", "O_EXCL") if flag in words), '"."' if paths == ["."] else None)
            if kept is None:
                bad.append(line[:200])
            counts[name, kept or "nothing"] += 1
        elif name in ("renameat", "renameat2", "unlinkat", "mkdirat", "fchownat", "newfstatat", "readlinkat"):
            follows = name == "newfstatat" and "AT_SYMLINK_NOFOLLOW" not in words and paths != [""]
            follows |= name == "fchownat" and "AT_EMPTY_PATH" not in words
            bad += [line[:200]] if follows else []
            counts[name, "follows no link"] += 1
        else:
            bad.append(line[:200])
    return counts, bad


def stats(folder):
    found = {}
    for path in [folder, *folder.rglob("*")]:
        about = path.lstat()
        found[str(path)] = (f"{about.st_mode:o}", about.st_uid, about.st_size, about.st_mtime_ns)
    return found


if __name__ == "__main__":
    sys.exit(main())
