"""Programs of many trades: mail filters, data bases, chess, genomes, physics, and scripts of users on their run times.

The fifth set, from an author who writes no rules and has not read them in the code, only docs/rules.md. Ports 8200 to 8299 on localhost.
"""

from bed import Healthy, Pair

PAIRS = []
TOOK = dict(metric=r"took ([0-9.]+) s", seconds=1)


def script(name, source):
    return f"cat > {name} <<'END'\n{source.strip()}\nEND\n"


def timed(foreground):
    """Prints how long a program takes."""
    return f"""begin=$(date +%s%N)
{foreground}
echo took $(echo $(($(date +%s%N) - begin)) | sed 's/.........$/.&/') s
"""


def during(batch, foreground):
    """Runs a batch job that would go on for long in a process group of its own (no session), and ends it after the other program."""
    return f"""set -m
{{ {batch}; }} > /dev/null 2>&1 & batch=$!
set +m
sleep 0.2
{foreground}
kill -- -$batch; wait $batch || true
"""


# Pools of libraries and of scripts

SEARCH = script("search.py", """
import sys
import faiss, numpy
r = numpy.random.default_rng(1)
x = r.normal(size=(20000, 32)).astype("float32")
index = faiss.IndexIVFFlat(faiss.IndexFlatL2(32), 32, 64)
index.cp.niter = 2
index.train(x)
index.add(x)
index.nprobe = 8
for n in range(int(sys.argv[1])):
    index.search(x[n * 8 % 10000:][:8], 5)
""")
FAISS = dict(software="FAISS (PyPI) with libgomp", pip=["faiss-cpu", "numpy"], prepare=SEARCH)
FAISS_RUN = "OMP_NUM_THREADS={} OMP_WAIT_POLICY=active OPENBLAS_NUM_THREADS=1 python search.py {}"

SALES = script("make.py", """
import duckdb
for name, rows in (("large", 2_000_000), ("usual", 122_880)):
    duckdb.sql(f\"\"\"copy (select i as id, hash(i) % 1000 as shop, md5(i::varchar) as code, (hash(i * 7) % 100000) / 100.0 as price
        from range(2600000) t(i)) to '{name}.parquet' (row_group_size {rows})\"\"\")
""") + script("sales.py", """
import sys
import duckdb
duckdb.sql("set threads = 2")
for _ in range(int(sys.argv[2])):
    print(duckdb.sql(f\"\"\"select shop % 10, count(*), sum(price), max(regexp_replace(code, '[a-c]+', 'x', 'g'))
        from '{sys.argv[1]}.parquet' group by 1 order by 1\"\"\").fetchall()[0])
""") + "python make.py\n"
DUCKDB = dict(software="DuckDB (PyPI)", pip=["duckdb"], prepare=SALES)

EIGEN = script("sizes.m", """
pkg load parallel
% Eigenvalues of matrices, the largest first.
sizes = round(linspace(620, 20, 24));
work = @(n) sum(abs(eig(reshape(sin(1:n*n), n, n))));
sums = parcellfun(2, work, num2cell(sizes), "VerboseLevel", 0, "ChunksPerProc", str2num(argv(){1}));
printf("%g\\n", sum(sums));
""")
OCTAVE = dict(software="GNU Octave 7 and its parallel (Debian)", apt=["octave", "octave-parallel"], prepare=EIGEN)
OCTAVE_RUN = "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 octave-cli -q sizes.m {}"

PAIRS += [
    Pair(
        name="faiss-4-threads-active", rules=["busy-wait-at-barrier", "oversubscribed", "worker-pool-larger-than-useful"], threads="^python", **FAISS,
        fault="4 threads of FAISS's OpenMP team on 2 CPUs: those that are done with their queries spin (OMP_WAIT_POLICY=active) and keep the "
              "CPUs from those that are ready and still have some; fixed: two threads.",
        bad=FAISS_RUN.format(4, 20000), good=FAISS_RUN.format(2, 20000),
    ),
    Pair(
        name="duckdb-large-row-groups", rules=["chunks-too-large", "static-partition-barrier-tail", "too-few-workers"], threads="^python", **DUCKDB,
        fault="A Parquet file has a row group of 2 million rows and one of 0.6 million, and a row group is the smallest piece for a thread of DuckDB: "
              "one thread has the large one while the other sleeps; fixed: the usual size.",
        bad="python sales.py large 2", good="python sales.py usual 2",
    ),
    Pair(
        name="octave-one-chunk-each", rules=["static-partition-barrier-tail", "chunks-too-large"], threads="octave", **OCTAVE,
        fault="parcellfun gives each of its two processes one half of the matrices (ChunksPerProc 1): one gets the large ones, and the other has ended.",
        bad=OCTAVE_RUN.format(1), good=OCTAVE_RUN.format(12),
    ),
    Healthy(name="duckdb-usual-row-groups", good="python sales.py usual 2", **DUCKDB),
    Healthy(name="faiss-2-threads", good=FAISS_RUN.format(2, 40000), **FAISS),
]

# Locks, collectors, hand-overs

WORDS = script("words.ml", """
(* Counts the words of a text, in two threads or in two processes. *)
let text = String.concat " " (List.init 20000 (fun n -> "word" ^ string_of_int (n * 7919 mod 5003)))
let count () =
  let seen = Hashtbl.create 1000 in
  List.iter (fun w -> Hashtbl.replace seen w (1 + try Hashtbl.find seen w with Not_found -> 0)) (String.split_on_char ' ' text);
  Hashtbl.length seen
let work rounds = for _ = 1 to rounds do ignore (count ()) done
let () =
  let rounds = int_of_string Sys.argv.(2) in
  if Sys.argv.(1) = "threads" then List.iter Thread.join (List.init 2 (fun _ -> Thread.create work rounds))
  else
    let start _ = match Unix.fork () with 0 -> work rounds; exit 0 | pid -> pid in
    List.iter (fun pid -> ignore (Unix.waitpid [] pid)) (List.init 2 start)
""") + "ocamlopt -I +threads unix.cmxa threads.cmxa words.ml -o words\n"

OPTION = script("option.c", """
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* The price of an option by many random paths, in four threads; each random number comes from rand, or from the thread's own seed. */
static int own;
static long paths;
static double uniform(unsigned *seed) { return (1.0 + (own ? rand_r(seed) : rand())) / (2.0 + RAND_MAX); }
static void *price(void *sum) {
    unsigned seed = (unsigned)(long)sum;
    for (long n = 0; n < paths; n++) {
        double z = sqrt(-2 * log(uniform(&seed))) * cos(2 * M_PI * uniform(&seed));
        *(double *)sum += fmax(100 * exp(-0.02 + 0.2 * z) - 100, 0);
    }
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t threads[4];
    static double sums[4][16];
    own = !strcmp(argv[1], "own");
    paths = atol(argv[2]) / 4;
    for (int n = 0; n < 4; n++) pthread_create(&threads[n], NULL, price, sums[n]);
    for (int n = 0; n < 4; n++) pthread_join(threads[n], NULL);
    printf("%f\\n", (sums[0][0] + sums[1][0] + sums[2][0] + sums[3][0]) / (4.0 * paths));
}
""") + "gcc -O2 -pthread option.c -o option -lm\n"

ORDERS = script("orders.clj", """
(let [names (into {} (map (fn [n] [n (str "customer number " n)]) (range 300000)))]
  (println (reduce + (for [orders (partition-all 20000 (range 2200000))]
                       (let [lines (mapv (fn [n] (str (get names (mod n 300000)) ";order " n)) orders)]
                         (reduce + (map count (sort lines))))))))
""")
JARS = ":".join(f"/usr/share/java/{name}.jar" for name in ("clojure", "spec.alpha", "core.specs.alpha"))
CLOJURE = f"java -XX:+UseParallelGC -Xmx1g {{}} -cp {JARS} clojure.main orders.clj"

READ = script("read.js", """
const fs = require('fs');
const sum = require('crypto').createHash('md5');
fs.createReadStream('log', { highWaterMark: Number(process.argv[2]) })
  .on('data', (piece) => sum.update(piece)).on('end', () => console.log(sum.digest('hex')));
""") + "head -c 40000000 /dev/zero | openssl enc -aes-128-ctr -K 5 -iv 5 2> /dev/null > log\n"

INDEX = script("index.py", """
import os, statistics, sys, threading, time
import lmdb
env = lmdb.open("index", map_size=1 << 28, sync=False)
words = [(b"%d" % (n * 7919 % 100003), b"page %d" % n) for n in range(20000)]
def build():
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), int(sys.argv[1]))
    while True:
        with env.begin(write=True) as index:
            index.cursor().putmulti(words)
        time.sleep(0.01)
threading.Thread(target=build, daemon=True).start()
late = []
for n in range(40):
    time.sleep(0.03)
    begin = time.monotonic()
    with env.begin(write=True) as index:
        index.put(b"visits", b"%d" % n)
    late.append(time.monotonic() - begin)
print("mean", statistics.mean(late))
""")
CHESS = "/usr/games/stockfish bench 16 4 60"

PAIRS += [
    Pair(
        name="ocaml-two-threads", software="OCaml 4.13 (Debian)", apt=["ocaml-nox"], prepare=WORDS, rules=["global-lock", "lock-convoy"], threads="^words",
        fault="Two threads of OCaml count words: one has the master lock of the run time and the other waits for it, while a CPU is idle; "
              "fixed: two processes.",
        bad="./words threads 600", good="./words processes 600",
    ),
    Pair(
        name="rand-in-four-threads", software="rand of glibc 2.36, gcc 12 (Debian)", apt=["gcc"], prepare=OPTION,
        rules=["lock-convoy", "global-lock", "wakeup-storm"], threads="^option",
        fault="Four threads take their random numbers from rand, which has one lock for the whole process: they queue for it at each number; "
              "fixed: rand_r with a seed for each thread.",
        bad="./option all 16000000", good="./option own 16000000",
    ),
    Pair(
        name="clojure-small-nursery", software="Clojure 1.11 on OpenJDK 17 (Debian)", apt=["clojure", "openjdk-17-jre-headless"], prepare=ORDERS,
        rules=["collector-pause"], threads="GC|VM Thread",
        fault="The young generation has 1 MiB (-Xmn1m), so the collector stops the program's thread hundreds of times per second and "
              "soon moves all lines to the old one; fixed: its usual size.",
        bad=CLOJURE.format("-Xmn1m"), good=CLOJURE.format(""),
    ),
    Pair(
        name="node-small-high-water-mark", software="Node.js 20, its streams", prepare=READ, rules=["wakeup-storm", "chunks-too-small"],
        threads="node|Main|libuv",
        fault="A stream reads 512 bytes at a time (highWaterMark): for each of them, the main thread of Node.js wakes a thread of libuv's pool "
              "and that one wakes it, for a few microseconds of work; fixed: the usual 64 KiB.",
        bad="node read.js 512", good="node read.js 65536",
    ),
    Pair(
        name="lmdb-indexer-has-the-lock", software="LMDB (PyPI) beside Stockfish 15 (Debian)", pip=["lmdb"], apt=["stockfish"], prepare=INDEX,
        rules=["priority-inversion"], threads="^python",
        fault="The thread that builds the index has nice 10 and LMDB's lock of writers, and is ready while Stockfish (nice 0) runs; the main thread "
              "(nice 0) waits for the lock; fixed: the same priority.",
        bad="rm -rf index; " + during(CHESS, "python index.py 10"), good="rm -rf index; " + during(CHESS, "python index.py 0"),
        metric=r"mean ([0-9.e-]+)", seconds=40,
    ),
]

# Servers

MAILS = script("mails.py", """
import random
r = random.Random(1)
words = ["".join(r.choices("etaoinshrdlu", k=r.randint(2, 9))) for _ in range(3000)]
for n in range(6):
    body = "\\n".join(" ".join(r.choices(words, k=12)) for _ in range(120))
    head = f"From: a{n}@example.org\\nTo: b@example.org\\nSubject: news {n}\\nDate: Mon, 23 Nov 2026 10:0{n}:00 +0000\\nMessage-ID: <{n}@example.org>"
    open(f"mail{n}", "w").write(f"{head}\\n\\n{body}\\n")
""") + "python3 mails.py\n"
SPAMD = dict(software="SpamAssassin 4.0, its spamd and spamc (Debian)", apt=["spamd", "spamc", "spamassassin"], prepare=MAILS,
             ready="spamc -K -p 8201 -d 127.0.0.1")
SPAMD_RUN = "exec spamd -L -x -p 8201 -m {0} --min-children={0} --min-spare=1 --max-spare={0} -u nobody --syslog=stderr"
SPAMC = "seq {} | xargs -P 6 -I_ bash -c 'spamc -p 8201 -d 127.0.0.1 < mail$((_ % 6)) > /dev/null'"

PG = "/usr/lib/postgresql/15/bin"
AS_PG = "setpriv --reuid=postgres --regid=postgres --clear-groups"
PSQL = f'{PG}/psql -q -X -v ON_ERROR_STOP=1 -h "$PWD/data" -U postgres -d postgres'
DUMP = script("tables.sql", """
create table orders as select n, md5(n::text) as code, n * 97 % 100003 as price from generate_series(1, 800000) n;
create table customers as select n, md5((n * 3)::text) as name, md5((n * 7)::text) as town from generate_series(1, 800000) n;
create index on orders(code);
create index on orders(price);
create index on customers(name);
create index on customers(town);
""") + f"""rm -rf data dump; mkdir data; chown postgres data; chmod 700 data
{AS_PG} {PG}/initdb -D "$PWD/data" -A trust -N --locale=C.UTF-8 > /dev/null
{AS_PG} {PG}/pg_ctl -w -D "$PWD/data" -o "-k $PWD/data -c listen_addresses=" -l "$PWD/data/log" start > /dev/null
{PSQL} -c 'create database shop'
{PSQL.replace("-d postgres", "-d shop")} -f tables.sql
{PG}/pg_dump -h "$PWD/data" -U postgres -Fc -Z 1 -f dump shop
{PSQL} -c 'drop database shop'
{AS_PG} {PG}/pg_ctl -w -D "$PWD/data" stop > /dev/null
"""
RESTORE = f"""{PSQL} -c 'drop database if exists shop' -c 'create database shop'
{PG}/pg_restore -h "$PWD/data" -U postgres -d shop -j {{}} dump
"""

PAIRS += [
    Pair(
        name="spamd-one-child", rules=["single-server", "too-few-workers"], threads="^spamd", **SPAMD,
        fault="spamd has one child (--max-children 1), which checks one mail at a time, while the other clients wait and a CPU is idle.",
        server=(SPAMD_RUN.format(1), SPAMD_RUN.format(2)), bad=SPAMC.format(30), good=SPAMC.format(30),
    ),
    Healthy(name="spamd-two-children", server=SPAMD_RUN.format(2), good=SPAMC.format(36), **SPAMD),
    Pair(
        name="pg-restore-one-job", software="pg_restore and PostgreSQL 15 (Debian)", apt=["postgresql"], prepare=DUMP,
        rules=["too-few-workers"], threads="^(postgres|pg_restore)",
        fault="pg_restore without -j has one connection: one backend loads one table or makes one index at a time while a CPU is idle.",
        server=f'exec {AS_PG} {PG}/postgres -D "$PWD/data" -k "$PWD/data" -c listen_addresses= -c max_wal_size=4GB -c fsync=off '
               "-c max_parallel_maintenance_workers=0 -c shared_buffers=512MB -c maintenance_work_mem=256MB",
        ready=f'{PG}/pg_isready -q -h "$PWD/data"', bad=RESTORE.format(1), good=RESTORE.format(2),
    ),
]

# Priorities, groups, masks

GENOME = script("reads.py", """
import random
r = random.Random(1)
genome = "".join(r.choices("ACGT", k=1_200_000))
open("genome.fa", "w").write(f">genome\\n{genome}\\n")
with open("reads.fq", "w") as f:
    for n in range(9000):
        at = r.randrange(len(genome) - 3000)
        read = list(genome[at:at + 3000])
        for _ in range(300):
            read[r.randrange(3000)] = r.choice("ACGT")
        f.write(f"@{n}\\n{''.join(read)}\\n+\\n{'I' * 3000}\\n")
""") + "python3 reads.py\n"
MINIMAP = dict(software="minimap2 2.24 (Debian)", apt=["minimap2"], prepare=GENOME)
MAP = "minimap2 -t 2 -K 3M -a genome.fa reads.fq > out.sam"


def in_cpuset(name, balanced):
    """A command that puts the shell in a cpuset of all CPUs; unless `balanced`, the scheduler balances no CPUs until the command ends (version 1 only)."""
    return (f"c=/sys/fs/cgroup/cpuset; g=$c/{name}; mkdir -p $g; cat $c/cpuset.cpus > $g/cpuset.cpus; cat $c/cpuset.mems > $g/cpuset.mems; "
            "balance() { for d in $c $c/*/; do echo $1 > $d/cpuset.sched_load_balance; done; }; trap 'balance 1' EXIT; "
            f"balance {int(balanced)}; echo $$ > $g/cgroup.procs; ")


PICTURE = script("picture.py", """
import random
from PIL import Image, ImageDraw, ImageFont
r = random.Random(1)
words = ["".join(r.choices("etaoinshrdlu", k=r.randint(2, 9))) for _ in range(500)]
for page in range(4):
    image = Image.new("L", (1000, 1000), 255)
    for line in range(30):
        ImageDraw.Draw(image).text((20, 20 + line * 32), " ".join(r.choices(words, k=12)), font=ImageFont.load_default(22))
    image.save(f"page{page}.png")
""") + "python picture.py\n"
TESSERACT = timed("ls page?.png | OMP_THREAD_LIMIT=1 xargs -P 2 -I_ tesseract _ _ > /dev/null 2>&1")
BESIDE_CHESS = """setsid bash -c '{}exec nice -n 19 /usr/games/stockfish bench 16 2 60' > /dev/null 2>&1 & chess=$!
sleep 0.3
{}kill $chess; wait $chess || true
"""

BOOTSTRAP = script("bootstrap.R", """
set.seed(1)
d <- data.frame(x = rnorm(300), y = rnorm(300), z = rnorm(300))
b <- replicate(2400, coef(lm(x ~ y * z, d[sample(300, replace = TRUE), ])))
print(apply(b, 1, sd))
""")
PHOTO = "convert -size 900x700 -seed 3 plasma:fractal photo.png\n"
CWEBP = "yes photo.png | {} xargs -P {} -n 1 cwebp -quiet -m 6 -o /dev/null"

GAME = script("game.py", """
import os, random, statistics, sys, threading, time
import cv2, numpy, pymunk
cv2.setNumThreads(1)
r = random.Random(1)
space = pymunk.Space()
space.gravity = 0, -900
for a, b in (((0, 0), (600, 0)), ((0, 0), (0, 900)), ((600, 0), (600, 900))):
    space.add(pymunk.Segment(space.static_body, a, b, 5))
for n in range(int(sys.argv[2])):
    ball = pymunk.Body(1, pymunk.moment_for_circle(1, 0, 12))
    ball.position = r.uniform(30, 570), 30 + n * 3
    space.add(ball, pymunk.Circle(ball, 12))

def encode(seed):
    # Textures that are needed later.
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), int(sys.argv[4]))
    texture = numpy.random.default_rng(seed).integers(0, 64, (700, 700, 3), dtype=numpy.uint8)
    while True:
        cv2.imencode(".png", texture)

for seed in range(int(sys.argv[3])):
    threading.Thread(target=encode, args=(seed,), daemon=True).start()
response, begin = [], time.monotonic()
for n in range(int(sys.argv[1])):
    due = begin + n * 0.01
    if len(sys.argv) > 5:
        time.sleep(max(0, due - time.monotonic()))
    space.step(0.01)
    response.append(time.monotonic() - due)
print("response", statistics.mean(response))
os._exit(0)
""")
PYMUNK = dict(software="pymunk and OpenCV (PyPI)", pip=["pymunk", "opencv-python-headless", "numpy"], prepare=GAME)
RESPONSE = dict(metric=r"response ([0-9.e-]+)", seconds=200)

POLARS = script("shops.py", """
import polars as pl
n = 3_000_000
sales = pl.DataFrame({"id": pl.int_range(n, eager=True)}).with_columns(shop=pl.col("id").hash(1) % 5000, price=pl.col("id").hash(2) % 1000)
for _ in range(16):
    shops = sales.group_by("shop").agg(pl.col("price").sum(), pl.col("price").quantile(0.9).alias("high")).sort("shop")
print(shops["high"].mean())
""")


def in_quota(name, percent):
    """A command that puts the shell in a cgroup without a quota of its own, in one that may use `percent` of a CPU (version 1, else 2)."""
    return (f"c=/sys/fs/cgroup; if [ -e $c/cpu ]; then g=$c/cpu/{name}; mkdir -p $g/container; echo {percent * 1000} > $g/cpu.cfs_quota_us; "
            f"else g=$c/{name}; mkdir -p $g; echo +cpu > $g/cgroup.subtree_control; mkdir -p $g/container; echo '{percent * 1000} 100000' > $g/cpu.max; fi; "
            "echo $$ > $g/container/cgroup.procs; ")


PAIRS += [
    Pair(
        name="minimap2-in-unbalanced-cpuset", rules=["serialised-on-one-cpu", "pinned-to-one-cpu"], threads="^minimap2", **MINIMAP,
        fault="The CPUs are isolated (cpuset.sched_load_balance 0), so both threads of minimap2 stay on the CPU on which they began and take turns while "
              "the other CPU, on which they may run, is idle.",
        bad=in_cpuset("real-isolated", False) + MAP, good=in_cpuset("real-isolated", True) + MAP,
    ),
    Healthy(name="minimap2-2-threads", good=MAP, **MINIMAP),
    Pair(
        name="tesseract-beside-nice-19-autogroup", software="Tesseract 5.3 beside Stockfish 15 (Debian), autogroups", pip=["pillow"],
        apt=["tesseract-ocr", "tesseract-ocr-eng", "stockfish"], prepare=PICTURE, rules=["nice-without-effect"], threads="^(tesseract|stockfish)", **TOOK,
        fault="Stockfish has nice 19, but in a session of its own, whose autogroup weighs as much as that of tesseract (nice 0): each gets half of the "
              "CPUs; fixed: the autogroup has nice 19, too.",
        bad=BESIDE_CHESS.format("", TESSERACT), good=BESIDE_CHESS.format("echo 19 > /proc/self/autogroup; ", TESSERACT),
    ),
    Pair(
        name="r-among-nice-5-cwebp", software="R 4.2 and xargs with cwebp (Debian)", apt=["r-base-core", "webp", "imagemagick"], **TOOK,
        prepare=BOOTSTRAP + PHOTO, rules=["low-priority-ran-while-high-was-ready"], threads="^R",
        fault="The script of R (nice 0) is ready while ten cwebp of nice 5 run, five for each CPU, which together weigh more; fixed: SCHED_IDLE.",
        bad=during(CWEBP.format("nice -n 5", 10), timed("Rscript bootstrap.R > /dev/null")),
        good=during(CWEBP.format("chrt -i 0", 10), timed("Rscript bootstrap.R > /dev/null")),
    ),
    Pair(
        name="pymunk-among-its-encoders", rules=["critical-thread-same-priority-as-workers"], threads="^python", **PYMUNK,
        fault="The main thread steps the physics and has the same priority as five threads that encode textures: it is ready while they run; "
              "fixed: nice 19 for these.",
        bad="python game.py 1800 400 5 0", good="python game.py 1800 400 5 19",
    ),
    Pair(
        name="pymunk-ticks-among-cwebp", rules=["periodic-thread-delayed", "critical-thread-same-priority-as-workers"], threads="^python",
        **{**PYMUNK, "software": "pymunk (PyPI) beside xargs with cwebp (Debian)", "apt": ["webp", "imagemagick"], "prepare": GAME + PHOTO}, **RESPONSE,
        fault="A game steps its physics each 10 ms, but has the same priority as four cwebp: its thread is ready when it is due and waits for a CPU; "
              "fixed: SCHED_FIFO.",
        bad=during(CWEBP.format("", 4), "python game.py 200 1500 0 0 ticks"),
        good=during(CWEBP.format("", 4), "chrt -f 20 python game.py 200 1500 0 0 ticks"),
    ),
    Pair(
        name="polars-in-quota-of-parent", software="Polars (PyPI), CPU quota of a parent cgroup", pip=["polars"], prepare=POLARS,
        rules=["throttled-by-quota"], threads="polars|python",
        fault="The container's own cgroup has no quota, but its parent has one of 60 % of a CPU: the two threads of Polars use it up in the first 30 ms "
              "of each period and are throttled until its end.",
        bad=in_quota("real-polars", 60) + "python shops.py", good=in_quota("real-polars", 200) + "python shops.py",
    ),
    Healthy(
        name="pymunk-ticks-fifo", good=during(CWEBP.format("nice -n 10", 2), "chrt -f 20 python game.py 250 1500 0 0 ticks"),
        **{**PYMUNK, "software": "pymunk (PyPI) beside xargs with cwebp (Debian)", "apt": ["webp", "imagemagick"], "prepare": GAME + PHOTO},
    ),
]
