"""Libraries and tools that bring thread pools of their own: OpenBLAS, OpenMP, numexpr, SciPy, GROMACS, GStreamer, OpenJDK, Node.js.

The third set, from an author who writes no rules and has not read them in the code, only docs/rules.md.
"""

from bed import Healthy, Pair

PAIRS = []


def script(name, source):
    return f"cat > {name} <<'END'\n{source.strip()}\nEND\n"


# Numeric libraries

# A box of water: GROMACS' own model of it, first relaxed.
WATER = """
rm -f *
cat > topol.top <<'END'
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
water
[ molecules ]
END
cat > md.mdp <<'END'
integrator = md
dt = 0.002
nsteps = 30
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
tcoupl = v-rescale
tc-grps = System
tau-t = 0.5
ref-t = 300
gen-vel = yes
gen-seed = 1
END
sed 's/integrator = md/integrator = steep/; s/nsteps = 30/nsteps = 60/' md.mdp > em.mdp
gmx -quiet solvate -cs spc216 -box 7 7 7 -o box.gro -p topol.top
gmx -quiet grompp -f em.mdp -c box.gro -p topol.top -o em.tpr -maxwarn 3
gmx -quiet mdrun -s em.tpr -deffnm em -ntmpi 1 -ntomp 2
gmx -quiet grompp -f md.mdp -c em.gro -p topol.top -o run.tpr -maxwarn 3
"""
MDRUN = "rm -f o.*; gmx -quiet mdrun -s run.tpr -deffnm o -nsteps {} -ntmpi {} -ntomp 1"

WHITEN = """
import multiprocessing, sys
import numpy
def whiten(seed):
    r = numpy.random.default_rng(seed)
    x = r.normal(size=(400, 120))
    u, s, v = numpy.linalg.svd(x - x.mean(0), full_matrices=False)
    return float((u @ v).sum())
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.imap_unordered(whiten, range(int(sys.argv[1])), 4)))
"""

NUMEXPR = """
import sys
import numexpr, numpy
r = numpy.random.default_rng(1)
a, b, c = (r.normal(size=60_000) for _ in range(3))
for _ in range(int(sys.argv[1])):
    numexpr.evaluate("sqrt(a * a + b * b) * exp(-c * c) + sin(a) * b")
"""

KDTREE = """
import sys
import numpy
from scipy.spatial import cKDTree
r = numpy.random.default_rng(1)
# A dense town and a wide country, in the order of the file: the town first.
town, country = r.normal(0, 0.05, (6000, 2)), r.uniform(-3, 3, (6000, 2))
points = numpy.concatenate([town, country])
tree = cKDTree(points)
if sys.argv[1] == "mixed":
    # A point of the town, a point of the country, and so on.
    points = numpy.stack([town, country], 1).reshape(-1, 2)
total = 0
for _ in range(int(sys.argv[2])):
    total += tree.query_ball_point(points, 0.05, workers=2, return_length=True).sum()
print(total)
"""

# Alignments of 24 related sequences.
ALIGNMENT = script("make.py", """
import random, sys
r = random.Random(int(sys.argv[1]))
def changed(s, p):
    return "".join(r.choice("ACGT") if r.random() < p else c for c in s)
known = {"t0": "".join(r.choice("ACGT") for _ in range(3000))}
while len(known) < 24:
    k = r.choice(list(known))
    known[f"t{len(known)}"], known[k] = changed(known[k], 0.12), changed(known[k], 0.05)
print("\\n".join(f">{k}\\n{s}" for k, s in known.items()))
""")
IQTREE = dict(software="IQ-TREE 2.0 with libgomp (Debian)", apt=["iqtree", "libgomp1"])

PAIRS += [
    Pair(
        name="gromacs-three-ranks", software="GROMACS 2022 with thread-MPI (Debian)", apt=["gromacs"], prepare=WATER,
        rules=["busy-wait-at-barrier", "oversubscribed"], threads="^gmx",
        fault="Three ranks of GROMACS (threads, -ntmpi 3) on 2 CPUs: those that wait for a message or at a barrier spin and keep the CPU "
              "from the one that still computes, which is ready; fixed: two ranks.",
        bad=MDRUN.format(24, 3), good=MDRUN.format(24, 2),
    ),
    Pair(
        name="numexpr-32-threads", software="numexpr (PyPI)", pip=["numexpr", "numpy"],
        rules=["oversubscribed", "worker-pool-larger-than-useful", "wakeup-storm"], threads="python",
        fault="32 threads of numexpr on 2 CPUs (NUMEXPR_NUM_THREADS of another machine) are woken for each expression, most for no or one "
              "short block, and the main thread waits for all of them.",
        prepare=script("evaluate.py", NUMEXPR),
        bad="NUMEXPR_MAX_THREADS=64 NUMEXPR_NUM_THREADS=32 python evaluate.py 3000",
        good="NUMEXPR_MAX_THREADS=64 NUMEXPR_NUM_THREADS=2 python evaluate.py 3000",
    ),
    Pair(
        name="kdtree-sorted-queries", software="scipy's cKDTree (PyPI)", pip=["scipy", "numpy"],
        rules=["static-partition-barrier-tail", "chunks-too-large"], threads="python",
        fault="cKDTree gives each of its two threads one half of the points; the half with the dense town takes nine times as long, "
              "and the other thread has ended; fixed: the points are mixed.",
        prepare=script("near.py", KDTREE),
        bad="python near.py sorted 90", good="python near.py mixed 90",
    ),
    Pair(
        name="iqtree-two-bound-processes", rules=["pinned-to-one-cpu"], threads="^iqtree", **IQTREE,
        fault="Two processes of IQ-TREE with one thread each are both bound to CPU 0 (OMP_PROC_BIND=true binds to the first place): one waits while "
              "the other runs, and CPU 1 is idle.",
        prepare=ALIGNMENT + "for n in 1 2; do python3 make.py $n > $n.fa; done\n",
        bad="ls 1.fa 2.fa | OMP_PROC_BIND=true xargs -P 2 -I{} iqtree2 -s {} -m GTR+G4 -T 1 -seed 1 -redo -quiet -n 6",
        good="ls 1.fa 2.fa | xargs -P 2 -I{} iqtree2 -s {} -m GTR+G4 -T 1 -seed 1 -redo -quiet -n 6",
    ),
    Healthy(
        name="iqtree-2-threads", **IQTREE, prepare=ALIGNMENT + "python3 make.py 1 > 1.fa\n",
        good="iqtree2 -s 1.fa -m GTR+G4 -T 2 -seed 1 -redo -quiet -n 60",
    ),
    Healthy(
        name="openblas-in-two-processes", software="numpy with OpenBLAS (PyPI), Python's multiprocessing", pip=["numpy"],
        prepare=script("whiten.py", WHITEN), good="OPENBLAS_NUM_THREADS=1 python whiten.py 1200",
    ),
]

# Tools

TOOLS = "cat $(go env GOROOT)/bin/* $(go env GOROOT)/pkg/tool/*/* | head -c 84000000 > tools; test $(stat -c %s tools) = 84000000"

RG = (r"-ice '\b\w+(\s+\w+){3,5}\s+(error|failure)s?\b' "
      r"-e '\b(\w{3,12})[ ,.]+(is|was|are)\s+(not|never|no longer)\s+\w+(ed|ing)\b'")

# ADVANCED_OPTIMIZATIONS keeps the whole program in memory.
LODASH = "test -e package/lodash.js || { npm pack --silent lodash@4.17.21; tar xzf lodash-4.17.21.tgz package/lodash.js; }"
CLOSURE = ("java {} -jar /usr/share/java/closure-compiler.jar --compilation_level ADVANCED_OPTIMIZATIONS --warning_level QUIET "
           "--js package/lodash.js --js_output_file out.js")

GST = "gst-launch-1.0 -q audiotestsrc num-buffers=120000 samplesperbuffer=128 ! {0} ! audioconvert ! {0} ! volume volume=0.5 ! {0} ! fakesink"

PAIRS += [
    Pair(
        name="ripgrep-sort-path", software="ripgrep 13 (Debian) on Go's sources", apt=["ripgrep"],
        rules=["too-few-workers"], threads="^rg",
        fault="rg --sort path searches with one thread, which runs while the other CPU is idle; fixed: two threads, and sort sorts the output.",
        bad=f"rg --sort path {RG} $(go env GOROOT)/src $(go env GOROOT)/test > out",
        good=f"rg {RG} $(go env GOROOT)/src $(go env GOROOT)/test | sort > out",
    ),
    Pair(
        name="pbzip2-three-blocks", software="pbzip2 1.1 (Debian)", apt=["pbzip2"],
        rules=["chunks-too-large"], threads="^pbzip2",
        fault="pbzip2 -b280 makes three blocks of the file (28 MB each): one thread does the last one while the other has none.",
        prepare=TOOLS,
        bad="pbzip2 -p2 -b280 -k -c tools > out.bz2", good="pbzip2 -p2 -b9 -k -c tools > out.bz2",
    ),
    Pair(
        name="closure-compiler-small-heap", software="Closure Compiler (Debian) on OpenJDK 17, lodash (npm)", prepare=LODASH,
        apt=["closure-compiler", "openjdk-17-jre-headless"], rules=["collector-pause"], threads="G1|GC|VM Thread",
        fault="A heap of 20 MiB hardly holds the program: G1 collects all of it again and again while the compiler's thread waits for its threads.",
        bad=CLOSURE.format("-Xmx20m"), good=CLOSURE.format("-Xmx1g"),
    ),
    Pair(
        name="gstreamer-queues-of-one", software="GStreamer 1.22 (Debian)", apt=["gstreamer1.0-tools", "gstreamer1.0-plugins-base"],
        rules=["wakeup-storm", "chunks-too-small"], threads="queue|audiotestsrc|gst-launch",
        fault="Queues of one buffer (max-size-buffers=1) make each thread of the pipeline wake the next one for each buffer, which it handles in "
              "a few microseconds; fixed: the queues' usual size.",
        bad=GST.format("queue max-size-buffers=1"), good=GST.format("queue"),
    ),
    Healthy(
        name="mksquashfs-2-processors", software="squashfs-tools 4.5 (Debian) on Go's sources", apt=["squashfs-tools"],
        good="mksquashfs $(go env GOROOT)/src out.sqsh -noappend -quiet -no-progress -processors 2",
    ),
]

# Node.js

ROWS = script("row.js", """
const crypto = require('crypto');
module.exports = (rows) => rows.reduce((sum, row) => sum + row.split(',').length
  + parseInt(crypto.createHash('sha256').update(row).digest('hex').slice(0, 4), 16), 0);
""") + script("rows.js", """
const { Piscina } = require('piscina');
const rows = Array.from({ length: 80000 }, (_, n) => `${n},item ${n},${(n * 7919) % 1000},${n % 97}`);
const size = Number(process.argv[2]);
async function main() {
  const pool = new Piscina({ filename: __dirname + '/row.js', minThreads: 2, maxThreads: 2 });
  const pieces = [];
  for (let n = 0; n < rows.length; n += size) pieces.push(pool.run(rows.slice(n, n + size)));
  console.log((await Promise.all(pieces)).reduce((a, b) => a + b, 0));
  await pool.destroy();
}
main();
""")

PAIRS += [
    Pair(
        name="piscina-task-per-row", software="Node.js 20, Piscina 4 (npm)", npm=["piscina@4"],
        rules=["chunks-too-small", "wakeup-storm"], threads="node|Worker|Main",
        fault="The main thread of Node.js posts each row as a task of its own to two worker threads: a message there and one back cost more than "
              "the row; fixed: 500 rows in a task.",
        prepare=ROWS, bad="node rows.js 1", good="node rows.js 500",
    ),
]
