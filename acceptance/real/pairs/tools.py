"""Compressors, encoders, test runners, SQLite and libraries of Python: their pools, chunks and waits.

Written by an author who writes no rules, after the programs of the other files had become the half to develop on.
"""

from bed import Healthy, Pair


def script(name, source):
    return f"cat > {name} <<'END'\n{source.strip()}\nEND\n"


def words(name, size):
    """A command that makes a file of words, of so many bytes; the same ones each time."""
    return f"""python3 - <<'END'
import random
r = random.Random(2)
words = ["".join(r.choices("etaoinshrdlucmfwyp", k=r.randint(2, 10))) for _ in range(30000)]
text, size = [], {size}
while size > 0:
    text.append(" ".join(r.choices(words, k=12)) + "\\n")
    size -= len(text[-1])
open("{name}", "w").write("".join(text)[:{size}])
END
"""


def video(name, size, frames):
    """A command that makes a film with noise, so that encoding takes time."""
    return (f"ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=size={size}:rate=25 -frames:v {frames} "
            f"-vf noise=alls=10:allf=t:all_seed=3 -pix_fmt yuv420p {name}\n")


PAIRS = []

# Pools and chunks of programs

PYTEST = """
import pygments, pygments.formatters, pygments.lexers, pytest
SOURCE = "def f(x):\\n    return {'key': [x, 1.5, None]}  # a comment\\n\\n" * 260
@pytest.mark.parametrize("n", range(%d))
def test_highlights(n):
    assert "key" in pygments.highlight(SOURCE, pygments.lexers.PythonLexer(), pygments.formatters.HtmlFormatter())
"""

NUMBA = """
import sys
import numba, numpy

@numba.njit(parallel=True, cache=True)
def correlate(x, lengths, out):
    for i in numba.prange(len(x)):
        total = 0.0
        for j in range(lengths[i]):
            total += x[i] * x[j] / (1.0 + abs(x[i] - x[j]))
        out[i] = total

x = numpy.random.default_rng(1).normal(size=6000)
# Rows of unlike length, the longest first.
lengths = (6000 * numpy.linspace(1, 0, 6000) ** 3).astype(int)
out = numpy.zeros_like(x)
numba.set_parallel_chunksize(int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    correlate(x, lengths, out)
"""

# The pip package of TBB puts its library where numba does not look.
TBB = "LD_LIBRARY_PATH=$WORK/venv/lib NUMBA_THREADING_LAYER=tbb NUMBA_NUM_THREADS=2"

PAIRS += [
    Pair(
        name="x265-one-pool-thread", software="x265 3.5 (Debian)", apt=["x265", "ffmpeg"],
        rules=["too-few-workers"], threads="^x265",
        fault="x265 --pools 1 --frame-threads 1 has one worker thread, which encodes row after row of each frame while the other CPU is idle.",
        prepare=video("input.y4m", "640x360", 150),
        bad="x265 --log-level none --no-progress --preset medium --pools 1 --frame-threads 1 input.y4m -o out.hevc",
        good="x265 --log-level none --no-progress --preset medium --frame-threads 2 input.y4m -o out.hevc",
    ),
    Pair(
        name="pytest-loadfile", software="pytest-xdist 3 and Pygments (PyPI)", pip=["pytest", "pytest-xdist", "pygments"],
        rules=["chunks-too-large", "static-partition-barrier-tail", "too-few-workers"], threads="python|pytest|execnet",
        fault="pytest-xdist gives all tests of a file to one worker (--dist loadfile): that of the large file works alone after the other is done.",
        prepare="rm -rf t; mkdir t\n" + "".join(script(f"t/test_{name}.py", PYTEST % n) for name, n in (("large", 50), ("a", 4), ("b", 4))),
        bad="python -m pytest -q -p no:cacheprovider -n 2 --dist loadfile t",
        good="python -m pytest -q -p no:cacheprovider -n 2 --dist load --maxschedchunk 1 t",
    ),
    Pair(
        name="numba-uneven-prange", software="numba (PyPI), its tbb layer", pip=["numba", "numpy", "tbb"],
        rules=["static-partition-barrier-tail", "chunks-too-large"], threads="python",
        fault="numba splits the rows of a prange into one piece per thread; the first has the long rows, and the other thread waits.",
        prepare=script("correlate.py", NUMBA) + f"{TBB} python correlate.py 0 1\n",
        bad=f"{TBB} python correlate.py 0 260",
        good=f"{TBB} python correlate.py 100 260",
    ),
    Pair(
        name="xargs-one-file-each", software="GNU xargs and file 5.44 (Debian)", apt=["findutils", "file"],
        rules=["chunks-too-small"], threads="^(file|xargs)",
        fault="xargs -n 1 starts a process for each of 2000 small files; each loads file's data base anew, longer than it looks at the file.",
        prepare="rm -rf in; mkdir in; python3 -c 'for n in range(2000): open(f\"in/{n}\", \"w\").write(f\"#!/bin/sh\\necho {n}\\n\" * 9)'\n",
        bad="ls -d in/* | xargs -P 2 -n 1 file > out",
        good="ls -d in/* | xargs -P 2 -n 100 file > out",
    ),
]

# Locks, wakeups and waits

AIOFILES = """
import asyncio, json, sys
import aiofiles
async def count():
    total = 0
    async with aiofiles.open("input") as file:
        if sys.argv[1] == "lines":
            async for line in file:
                total += len(json.loads(line)["values"])
        else:
            for line in (await file.read()).splitlines():
                total += len(json.loads(line)["values"])
    print(total)
asyncio.run(count())
"""
JSON_LINES = """
import json
with open("input", "w") as f:
    for n in range(32000):
        f.write(json.dumps({"id": n, "values": [{"name": f"item {n + k}", "value": (n * k) % 997 / 7} for k in range(12)]}) + "\\n")
"""

SQLITE_ROWS = """
import sys
rows = ["insert into t values (%d, 'row %d');" % (n, n) for n in range(3500)]
print("drop table if exists t; create table t(n integer, v text);")
print("\\n".join(rows if sys.argv[1] == "each" else ["begin;", *rows, "commit;"]))
print("select count(*) from t a join t b on length(a.v) < length(b.v) - 3;")
"""

ONNX = """
import sys
import numpy, onnx, onnxruntime
from onnx import TensorProto, helper, numpy_helper
r = numpy.random.default_rng(1)
layers, width, nodes, weights = 24, 256, [], []
for n in range(layers):
    weights.append(numpy_helper.from_array((r.normal(size=(width, width)) / 16).astype("float32"), f"w{n}"))
    nodes += [helper.make_node("MatMul", [f"x{n}", f"w{n}"], [f"m{n}"]), helper.make_node("Tanh", [f"m{n}"], [f"x{n + 1}"])]
value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, width])
graph = helper.make_graph(nodes, "layers", [value("x0")], [value(f"x{layers}")], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[1])
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
x = r.normal(size=(64, width)).astype("float32")
for _ in range(int(sys.argv[2])):
    session.run(None, {"x0": x})
"""

PAIRS += [
    Pair(
        name="aiofiles-line-by-line", software="Python's asyncio and aiofiles (PyPI)", pip=["aiofiles"],
        rules=["wakeup-storm", "chunks-too-small"], threads="python|asyncio",
        fault="aiofiles hands each line to a thread of its pool: the event loop's thread and a pool's thread wake each other for each line, "
              "for a few microseconds of work.",
        prepare=script("count.py", AIOFILES) + script("lines.py", JSON_LINES) + "python3 lines.py\n",
        bad="python count.py lines",
        good="python count.py whole",
    ),
    Pair(
        name="sqlite-commit-per-row", software="sqlite3 3.40 (Debian)", apt=["sqlite3"],
        rules=["io-wait-serialised"], threads="^sqlite3",
        fault="sqlite3 commits each inserted row and sleeps until the disk has it (fsync) before it begins the next row.",
        prepare=script("rows.py", SQLITE_ROWS) + "python3 rows.py each > each.sql; python3 rows.py one > one.sql\n",
        bad="rm -f data.db; sqlite3 data.db < each.sql",
        good="rm -f data.db; sqlite3 data.db < one.sql",
    ),
    Pair(
        name="onnxruntime-4-spinning", software="onnxruntime (PyPI)", pip=["onnxruntime", "onnx", "numpy"],
        rules=["busy-wait-at-barrier", "oversubscribed", "worker-pool-larger-than-useful"], threads="python",
        fault="4 threads of onnxruntime on 2 CPUs: those without a piece of work spin, as is its default, and keep the CPUs from those with one.",
        prepare=script("infer.py", ONNX),
        bad="python infer.py 4 700",
        good="python infer.py 2 700",
    ),
]

FOREST = """
import numpy
from sklearn.ensemble import RandomForestClassifier
r = numpy.random.default_rng(1)
x = r.normal(size=(12000, 20))
y = (x[:, 0] * x[:, 1] > x[:, 2]).astype(int)
RandomForestClassifier(n_estimators=80, n_jobs=2, random_state=1).fit(x, y)
"""

PAIRS += [
    Healthy(
        name="lbzip2-2-threads", software="lbzip2 2.5 (Debian)", apt=["lbzip2"],
        prepare=words("input", 40_000_000),
        good="lbzip2 -n 2 -9 -k -c input > out.bz2",
    ),
    Healthy(
        name="x265-2-pool-threads", software="x265 3.5 (Debian)", apt=["x265", "ffmpeg"],
        prepare=video("input.y4m", "640x360", 200),
        good="x265 --log-level none --no-progress --preset medium --frame-threads 2 input.y4m -o out.hevc",
    ),
    Healthy(
        name="forest-2-jobs", software="scikit-learn's random forest (PyPI)", pip=["scikit-learn", "numpy"],
        prepare=script("fit.py", FOREST),
        good="python fit.py",
    ),
]
