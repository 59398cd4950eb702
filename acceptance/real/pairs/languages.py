"""Programs as users write them on run times and libraries: OpenMP, SciPy, Java, Ruby, Node.js, Python, and periodic threads.

The fourth set, from an author who writes no rules and has not read them in the code, only docs/rules.md. Port 8101 on localhost.
"""

from bed import Healthy, Pair

HEY = "test -x $WORK/go/bin/hey || GOBIN=$WORK/go/bin go install github.com/rakyll/hey@v0.1.5\n"

PAIRS = []


def script(name, source):
    return f"cat > {name} <<'END'\n{source.strip()}\nEND\n"


# Teams

MANDEL = script("mandel.c", """
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
/* Draws pictures of the sky above the set: the rows with much to do are at the end. */
int main(int argc, char **argv) {
    static int picture[300][400];
    long sum = 0;
    for (int frame = 0; frame < atoi(argv[1]); frame++) {
#pragma omp parallel for schedule(runtime)
        for (int y = 0; y < 300; y++)
            for (int x = 0; x < 400; x++) {
                double complex c = (x / 200.0 - 1.5) + (1.6 - y / 200.0) * I, z = 0;
                int n = 0;
                while (n < 300 && creal(z) * creal(z) + cimag(z) * cimag(z) < 4) z = z * z + c, n++;
                picture[y][x] = n;
            }
        for (int y = 0; y < 300; y++) sum += picture[y][200 + frame % 9];
    }
    printf("%ld\\n", sum);
}
""") + "gcc -O2 -ffast-math -fopenmp mandel.c -o mandel -lm\n"
GOMP = dict(software="libgomp of gcc 12 (Debian)", apt=["gcc", "libgomp1"], prepare=MANDEL)

TWICE = "export OMP_NUM_THREADS=2 OMP_SCHEDULE=static OMP_WAIT_POLICY={}; ./mandel 50 & ./mandel 50; wait"

FFT = script("filter.py", """
import sys
import numpy, scipy.fft
x = numpy.random.default_rng(1).normal(size=(64, 64))
for _ in range(int(sys.argv[2])):
    y = scipy.fft.fft2(x, workers=int(sys.argv[1]))
print(abs(y).sum())
""")

PAIRS += [
    Pair(
        name="gomp-static-rows", rules=["static-partition-barrier-tail"], threads="^mandel", **GOMP,
        fault="OMP_SCHEDULE=static gives each of the two threads one half of the rows; the lower half takes many times as long, and the other "
              "thread waits at the barrier.",
        bad="OMP_NUM_THREADS=2 OMP_SCHEDULE=static ./mandel 200", good="OMP_NUM_THREADS=2 OMP_SCHEDULE=dynamic,4 ./mandel 200",
    ),
    Pair(
        name="gomp-two-programs-active", rules=["busy-wait-at-barrier", "oversubscribed"], threads="^mandel", **GOMP,
        fault="Two programs with two OpenMP threads each on 2 CPUs: a thread that is done spins at the barrier (OMP_WAIT_POLICY=active) and keeps the "
              "CPU from the threads that have work and are ready; fixed: passive.",
        bad=TWICE.format("active"), good=TWICE.format("passive"),
    ),
    Pair(
        name="scipy-fft-32-workers", software="SciPy's fft (PyPI)", pip=["scipy", "numpy"], prepare=FFT,
        rules=["oversubscribed", "worker-pool-larger-than-useful", "wakeup-storm"], threads="python",
        fault="fft2 with workers=32 on 2 CPUs wakes up to 32 threads for each small picture, each for a few microseconds, and waits for all of them.",
        bad="python filter.py 32 30000", good="python filter.py 2 30000",
    ),
    Healthy(name="gomp-dynamic-rows", good="OMP_NUM_THREADS=2 OMP_SCHEDULE=dynamic,4 ./mandel 220", **GOMP),
]

# Java

LINES = script("Lines.java", """
import java.util.*;
import java.util.concurrent.*;
import java.util.zip.CRC32;

/** One thread reads lines, another checks them; so many lines are handed over at a time, by a queue for so many. */
class Lines {
    public static void main(String[] args) throws Exception {
        int batch = Integer.parseInt(args[0]), lines = 500_000;
        var queue = new ArrayBlockingQueue<List<String>>(batch == 1 ? 1 : 16);
        var reader = new Thread(() -> {
            try {
                for (int n = 0; n < lines; n += batch) {
                    var some = new ArrayList<String>();
                    for (int k = n; k < n + batch; k++) some.add("line " + k);
                    queue.put(some);
                }
                queue.put(List.of());
            } catch (InterruptedException e) {
                return;
            }
        }, "reader");
        reader.start();
        var sum = new CRC32();
        for (var some = queue.take(); !some.isEmpty(); some = queue.take())
            for (var line : some) sum.update(line.getBytes());
        System.out.println(sum.getValue());
    }
}
""") + "javac -d . Lines.java\n"

STOCK = script("Customers.java", """
import java.util.*;

/** Sums up the orders of customers, all of which it keeps in memory. */
class Customers {
    public static void main(String[] args) {
        var orders = new HashMap<Integer, String>();
        for (int n = 0; n < 250_000; n++) orders.put(n, "customer number " + n);
        long length = 0;
        for (int n = 0; n < 6_000_000; n++) length += String.join(";", orders.get(n % 250_000), "order", Integer.toString(n)).length();
        System.out.println(length);
    }
}
""") + "javac -d . Customers.java\n"
JDK = dict(software="OpenJDK 17 (Debian)", apt=["openjdk-17-jdk-headless"])

PAIRS += [
    Pair(
        name="java-queue-of-one-line", rules=["wakeup-storm", "chunks-too-small"], threads="^(reader|java|main)", prepare=LINES, **JDK,
        fault="The thread reader hands over each line by a queue for one: it and the main thread wake each other for each line, for a few microseconds.",
        bad="java -XX:+UseSerialGC -cp . Lines 1", good="java -XX:+UseSerialGC -cp . Lines 500",
    ),
    Pair(
        name="java-customers-small-heap", rules=["collector-pause"], threads="VM Thread|GC", prepare=STOCK, **JDK,
        fault="A heap of 40 MiB hardly holds the customers: the VM Thread collects all of it again and again while the main thread waits.",
        bad="java -XX:+UseSerialGC -Xmx40m -cp . Customers", good="java -XX:+UseSerialGC -Xms512m -Xmx512m -cp . Customers",
    ),
]

# Ruby, Node.js, Python

RUBY = script("parse.rb", """
require "json"
TEXT = JSON.generate((0...400).map { |n| {"id" => n, "name" => "item #{n}", "price" => n * 1.5} })
def work(count)
  count.times { JSON.generate(JSON.parse(TEXT).sort_by { |i| -i["price"] }) }
end
count = ARGV[1].to_i
if ARGV[0] == "threads"
  2.times.map { Thread.new { work(count) } }.each(&:join)
else
  2.times { fork { work(count) } }
  Process.waitall
end
""")

CLUSTER = script("server.js", """
const cluster = require('cluster');
const crypto = require('crypto');
const workers = Number(process.argv[2]);
if (cluster.isPrimary && workers > 1) {
  for (let n = 0; n < workers; n++) cluster.fork();
  process.on('SIGTERM', () => process.exit());
} else {
  require('http').createServer((request, response) => {
    response.end(crypto.pbkdf2Sync('shop', 'salt', 9000, 32, 'sha256').toString('hex'));
  }).listen(8101, '127.0.0.1');
}
""")
NODE = dict(software="Node.js 20 and its cluster module, hey (Go)", apt=["curl"], prepare=HEY + CLUSTER,
            ready="curl -sf http://127.0.0.1:8101/ > /dev/null && sleep 0.5")

ARCHIVE = script("archive.py", """
import os, statistics, sys, threading, time, zlib
lock = threading.Lock()
page = os.urandom(300_000)
def archive():
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), int(sys.argv[1]))
    while True:
        with lock:
            zlib.compress(page, 6)
        time.sleep(0.01)
threading.Thread(target=archive, daemon=True).start()
late = []
for _ in range(30):
    time.sleep(0.03)
    begin = time.monotonic()
    with lock:
        pass
    late.append(time.monotonic() - begin)
print("mean", statistics.mean(late))
""") + "head -c 9000000 /usr/lib/x86_64-linux-gnu/libc.a > other || head -c 9000000 $(go env GOROOT)/bin/go > other\n"
AMONG = ("set -m; { yes other | xargs -P 4 -n 1 gzip -9 -k -c; } > /dev/null 2>&1 & batch=$!; set +m; sleep 0.2; "
         "python archive.py {}; kill -- -$batch; wait $batch || true")

# Three threads of 14 ms each 30 ms, at the middle priority.
CAMERAS = script("cameras.json", """
{"global": {"calibration": 18, "default_policy": "SCHED_FIFO", "lock_pages": false, "logdir": ".", "duration": 3},
 "tasks": {"camera": {"instance": 3, "priority": 50, "loop": -1, "run": 14000, "timer": {"ref": "unique", "period": 30000, "mode": "absolute"}}}}
""")
CYCLIC = "rt-app cameras.json > /dev/null 2>&1 & sleep 0.3; cyclictest -q -t1 -i 4000 -l 500 --policy=fifo -p {}; wait"

PAIRS += [
    Pair(
        name="ruby-two-threads", software="Ruby 3.1 and its json (Debian)", apt=["ruby"], prepare=RUBY,
        rules=["global-lock", "lock-convoy"], threads="ruby|parse",
        fault="Two threads of Ruby parse JSON: one has the lock of the interpreter and the other waits for it, while a CPU is idle; fixed: two processes.",
        bad="ruby parse.rb threads 3500", good="ruby parse.rb processes 3500",
    ),
    Healthy(
        name="ruby-two-processes", software="Ruby 3.1 and its json (Debian)", apt=["ruby"], prepare=RUBY, good="ruby parse.rb processes 5000",
    ),
    Pair(
        name="node-without-cluster", rules=["single-server", "too-few-workers"], threads="^(node|Main)", **NODE,
        fault="The one thread of Node.js computes the answers, for which eight connections wait, while a CPU is idle; fixed: a cluster of two.",
        server=("exec node server.js 1", "exec node server.js 2"),
        bad="$WORK/go/bin/hey -n 900 -c 8 http://127.0.0.1:8101/", good="$WORK/go/bin/hey -n 900 -c 8 http://127.0.0.1:8101/",
        metric=r"Requests/sec:\s+([\d.]+)", higher_is_better=True,
    ),
    Pair(
        name="python-archive-has-the-lock", software="Python's threading and zlib, xargs with gzip (Debian)", apt=["gzip"], prepare=ARCHIVE,
        rules=["priority-inversion"], threads="^python",
        fault="The archive's thread (nice 5) has a lock and is ready while gzip of nice 0 runs; the main thread (nice 0) waits for the lock; "
              "fixed: the same priority.",
        bad=AMONG.replace("{}", "5"), good=AMONG.replace("{}", "0"), metric=r"mean ([0-9.e-]+)", seconds=30,
    ),
    Pair(
        name="cyclictest-equal-fifo", software="cyclictest of rt-tests and rt-app 1.0 (Debian)", apt=["rt-tests", "rt-app"], prepare=CAMERAS,
        rules=["periodic-thread-delayed"], threads="^cyclictest",
        fault="cyclictest's thread, due each 4 ms, has the same priority of SCHED_FIFO as the cameras' threads (50), which do not yield: it is ready "
              "and waits until one of them is done; fixed: priority 80.",
        bad=CYCLIC.format(50), good=CYCLIC.format(80), metric=r"Avg:\s*(\d+)", seconds=500e-6,
    ),
    Healthy(
        name="node-cluster-of-two", **NODE, server="exec node server.js 2", good="$WORK/go/bin/hey -n 700 -c 8 http://127.0.0.1:8101/",
    ),
]
