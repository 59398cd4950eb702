"""A second reader of frame logs: prints the metrics of each log's main swap chain as JSON, one line per log.

Reads with pandas and calculates with numpy (percentiles by `inverted_cdf`, the nearest rank), independently of corewise. The test
`crates/compare/tests/it/frames_by_numpy.rs` compares corewise's values with these. Needs numpy and pandas.

    frames.py LOG…
"""

import io
import json
import math
import sys

import numpy as np
import pandas as pd

COMPOSITOR = "dwm.exe"


def lines(path):
    """Returns the lines of a log from its header on; lines before it describe the machine."""
    with open(path, encoding="utf-8-sig", errors="replace") as log:
        every = log.read().splitlines()
    begin = next(at for at, line in enumerate(every) if line.startswith(("Application,", "fps,")))
    return every[begin:]


def frame_times(path):
    """Returns the frame times of the swap chain with the most frames, in ms."""
    log = pd.read_csv(io.StringIO("\n".join(lines(path))), on_bad_lines="skip", na_values=["NA"])
    if "frametime" in log.columns:
        return mangohud(log)
    # A PresentMon 2 log has the time from one begin to the next; in newer versions it is MsBetweenAppStart.
    column = next(name for name in ("FrameTime", "MsBetweenAppStart", "MsBetweenPresents", "msBetweenPresents") if name in log.columns)
    log[column] = pd.to_numeric(log[column], errors="coerce")
    log = log[log[column] > 0]
    chains = [(key, chain) for key, chain in log.groupby(["Application", "ProcessID", "SwapChainAddress"])]
    others = [chain for (program, _, _), chain in chains if program != COMPOSITOR]
    return max(others or [chain for _, chain in chains], key=len)[column].to_numpy(float)


def mangohud(log):
    """MangoHud wrote microseconds and now writes milliseconds: fps shows which."""
    numbers = log[["fps", "frametime"]].apply(pd.to_numeric, errors="coerce").dropna()
    is_us = (numbers["fps"] * numbers["frametime"]).median() > 1e5
    return (numbers["frametime"] / (1000 if is_us else 1)).to_numpy(float)


def metrics(ms):
    """Returns the metrics by id: times in ns, rates per second, shares from 0 to 1."""
    count, total = len(ms), float(ms.sum())
    rank = lambda share: float(np.quantile(ms, share, method="inverted_cdf"))
    out = {"frames": count, "frame.mean": float(ms.mean()) * 1e6, "fps.average": 1000 / float(ms.mean()),
           "frame.max": float(ms.max()) * 1e6, "frame.p50": rank(0.5) * 1e6}
    descending = np.sort(ms)[::-1]
    for one_of, share, low, name in ((20, 0.95, None, "frame.p95"), (100, 0.99, "fps.low1", "frame.p99"),
                                     (1000, 0.999, "fps.low01", "frame.p999")):
        if count < one_of:
            continue
        out[name] = rank(share) * 1e6
        if low:
            out[low] = 1000 / rank(share)
            out[low + "_average"] = 1000 / float(descending[:math.ceil(count / one_of)].mean())
            reached = int(np.searchsorted(np.cumsum(descending), total / one_of))
            out[low + "_integral"] = 1000 / float(descending[reached])
    average = pd.Series(ms).rolling(max(1, round(10 * math.sqrt(ms.mean()))), min_periods=1).mean().to_numpy()
    stutters = ms > 2.5 * average
    out["frame.stutter"] = float(ms[stutters].sum()) / total
    out["frame.low_fps"] = float(ms[~stutters & (ms > 40)].sum()) / total
    return out


def main():
    for path in sys.argv[1:]:
        print(json.dumps(metrics(frame_times(path))))


if __name__ == "__main__":
    main()
