"""Run times and their pools: Go, Java, Python, Rust's rayon, Node; and real-time threads, nice values, affinity and quotas beside a batch job.

Ports 7700 to 7799 on localhost. What cargo, go and Maven Central give is installed by `prepare` below $WORK.
"""

from bed import Healthy, Pair

PAIRS = []


def quota(name, percent, command):
    """Returns `command` run in a cgroup that may use `percent` of one CPU in each 100 ms (cgroup v1, else v2)."""
    v1 = f"mkdir -p $cg/cpu/{name}; echo 100000 >$cg/cpu/{name}/cpu.cfs_period_us; echo {percent * 1000} >$cg/cpu/{name}/cpu.cfs_quota_us"
    v2 = f"mkdir -p $cg/{name}; echo '{percent * 1000} 100000' >$cg/{name}/cpu.max"
    return (f"cg=/sys/fs/cgroup; if [ -e $cg/cpu ]; then {v1}; cg=$cg/cpu; else {v2}; fi; "
            f"echo $$ >$cg/{name}/cgroup.procs; {command}; echo $$ >$cg/cgroup.procs; rmdir $cg/{name}")


def script(name, text):
    return f"cat > {name} <<'EOS'\n{text.strip()}\nEOS\n"


MAVEN = "https://repo1.maven.org/maven2"
HEY = "test -x $WORK/go/bin/hey || GOBIN=$WORK/go/bin go install github.com/rakyll/hey@v0.1.5"
OXIPNG = "test -x $WORK/cargo/bin/oxipng || cargo install --quiet --root $WORK/cargo --locked oxipng"
TOKEI = "test -x $WORK/cargo/bin/tokei || cargo install --quiet --root $WORK/cargo tokei@12.1.2"
PLASMA = "convert -seed 7 -size 1200x1200 plasma:red-blue -depth 8 input.png"
BATCH = "head -c {} /dev/zero | openssl enc -aes-128-ctr -K 0 -iv 0 2>/dev/null | base64 -w 60 > batch"
GOSRC = ("d=$(go env GOROOT)/src; rm -rf src; mkdir src; cp -r $d/net $d/crypto $d/go $d/runtime $d/cmd/compile $d/cmd/link src/; "
         "find src -name testdata -prune -exec rm -r {} +")

# Go

GO = dict(software="gofmt (Go)", prepare=GOSRC)
PAIRS += [
    Pair(name="gofmt-maxprocs-1", rules=["too-few-workers"], threads="gofmt", **GO,
         fault="GOMAXPROCS=1 lets one thread of gofmt format the files at a time, while the other CPU idles.",
         bad="GOMAXPROCS=1 gofmt -s -l src >/dev/null", good="gofmt -s -l src >/dev/null"),
    Pair(name="gofmt-quota", rules=["throttled-by-quota"], threads="gofmt", **GO,
         fault="gofmt's threads use a CPU quota of 60 % in the first part of each period and are throttled for the rest.",
         bad=quota("cw-gofmt", 60, "GODEBUG=containermaxprocs=0 gofmt -s -l src >/dev/null"),
         good=quota("cw-gofmt", 200, "GODEBUG=containermaxprocs=0 gofmt -s -l src >/dev/null")),
    Healthy(name="gofmt-well", good="gofmt -s -l src >/dev/null", **GO),
]

# Java

LUCENE = ("test -d lucene || { curl -sfo s.jar " + MAVEN + "/org/apache/lucene/lucene-core/9.11.1/lucene-core-9.11.1-sources.jar; "
          "mkdir lucene; (cd lucene; unzip -qo ../s.jar); }; find lucene/org/apache/lucene/{util,store} -name '*.java' | sort > some")
JAVAC = "javac {} -J-XX:TieredStopAtLevel=1 -proc:none -nowarn -sourcepath lucene -d out @some 2>/dev/null"
JAVA = dict(software="javac (OpenJDK 17)", apt=["openjdk-17-jdk-headless", "unzip", "curl"], prepare=LUCENE)
PAIRS += [
    Pair(name="javac-serial-small-heap", rules=["collector-pause"], threads="VM Thread", **JAVA,
         fault="The heap hardly holds javac's live objects: the VM thread collects the whole heap again and again while javac's thread waits for it.",
         bad=JAVAC.format("-J-XX:+UseSerialGC -J-Xmx64m"), good=JAVAC.format("-J-XX:+UseSerialGC -J-Xms1g -J-Xmx1g")),
    Pair(name="javac-parallel-small-heap", rules=["collector-pause"], threads="GC Thread|VM Thread", **JAVA,
         fault="The heap hardly holds javac's live objects: the collector's threads collect the whole heap again and again while javac's thread waits.",
         bad=JAVAC.format("-J-XX:+UseParallelGC -J-Xmx64m"), good=JAVAC.format("-J-XX:+UseParallelGC -J-Xms1g -J-Xmx1g")),
    Pair(name="javac-quota", rules=["throttled-by-quota"], threads="javac|C1 Compiler|GC Thread|VM Thread|java", **JAVA,
         fault="javac's compiler, JIT and collector threads together use up a CPU quota of 50 % and are throttled for the rest of each period.",
         bad=quota("cw-javac", 50, JAVAC.format("-J-Xmx1g -J-XX:ActiveProcessorCount=2 -J-XX:+UseParallelGC")),
         good=quota("cw-javac", 200, JAVAC.format("-J-Xmx1g -J-XX:ActiveProcessorCount=2 -J-XX:+UseParallelGC"))),
    Healthy(name="javac-well", good=JAVAC.format("-J-XX:+UseParallelGC -J-Xms1g -J-Xmx1g"), **JAVA),
]

# Python

RENDER = script("render.py", """
import concurrent.futures as cf, sys, markdown
text = "# Title\\n\\nSome *text* with `code`, a [link](http://x.y) and a list:\\n\\n* one\\n* two **bold**\\n\\n" * 150
def render(_):
    return len(markdown.markdown(text))
if __name__ == "__main__":
    kind, workers, items, chunk = sys.argv[1], *map(int, sys.argv[2:])
    pool = cf.ThreadPoolExecutor if kind == "threads" else cf.ProcessPoolExecutor
    with pool(workers) as run:
        print(sum(run.map(render, range(items), chunksize=chunk)))
""")
DATES = script("dates.py", """
import concurrent.futures as cf, sys
from dateutil.parser import isoparse
def day(n):
    return isoparse(f"2026-11-{n % 28 + 1:02d}T04:05:06").day
if __name__ == "__main__":
    with cf.ProcessPoolExecutor(2) as run:
        print(sum(run.map(day, range(40000), chunksize=int(sys.argv[1]))))
""")
SPAWN = script("spawn.py", """
import multiprocessing, sys
def publish(_):
    from docutils.core import publish_string
    return len(publish_string("Title\\n=====\\n\\n" + "* some *text* and ``code``\\n" * 60, writer_name="html"))
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(int(sys.argv[1])) as run:
        print(sum(run.map(publish, range(64), chunksize=1)))
""")
SERVE = script("serve.py", """
import http.server, multiprocessing, sys, threading, markdown
text = "# Title\\n\\nSome *text* with `code` and a [link](http://x.y)\\n\\n" * 100
def batch():
    while True:
        markdown.markdown(text)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = markdown.markdown("some *text*").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
if __name__ == "__main__":
    (threading.Thread if sys.argv[1] == "thread" else multiprocessing.Process)(target=batch, daemon=True).start()
    http.server.ThreadingHTTPServer(("127.0.0.1", 7701), Handler).serve_forever()
""")
MARKDOWN = dict(software="Python, markdown (PyPI)", pip=["markdown"], prepare=RENDER)
PAIRS += [
    Pair(name="python-threads-render", rules=["global-lock", "lock-convoy"], threads="python", **MARKDOWN,
         fault="Two threads of one Python interpreter render pages: one runs and the other waits for the interpreter's lock.",
         bad="python3 render.py threads 2 60 1", good="python3 render.py processes 2 60 1"),
    Pair(name="python-server-batch-thread", software="Python's http.server, markdown (PyPI); hey (Go)", pip=["markdown"], prepare=SERVE + HEY,
         rules=["global-lock", "lock-convoy"], threads="python",
         fault="A batch thread in the server's process holds the interpreter's lock, so each request's thread waits for it, 5 ms at a time.",
         server=("exec python3 serve.py thread", "exec python3 serve.py process"), ready="curl -sf http://127.0.0.1:7701/ >/dev/null",
         bad="$WORK/go/bin/hey -n 60 -c 1 http://127.0.0.1:7701/", good="$WORK/go/bin/hey -n 60 -c 1 http://127.0.0.1:7701/",
         metric=r"Average:\s+([\d.]+)"),
    Pair(name="python-chunks-of-one", software="Python, dateutil (PyPI)", pip=["python-dateutil"], prepare=DATES,
         rules=["chunks-too-small"], threads="python",
         fault="Each date goes to a worker process as a chunk of its own: the processes spend their time with queues and wakeups, not with dates.",
         bad="python3 dates.py 1", good="python3 dates.py 1000"),
    Pair(name="python-one-large-chunk", rules=["chunks-too-large", "static-partition-barrier-tail"], threads="python", **MARKDOWN,
         fault="One worker process gets a chunk of 90 of 100 pages; the other ends early and waits on the queue.",
         bad="python3 render.py processes 2 100 90", good="python3 render.py processes 2 100 2"),
    Pair(name="python-32-spawned", software="Python, docutils (PyPI)", pip=["docutils"], prepare=SPAWN,
         rules=["worker-pool-larger-than-useful", "oversubscribed"], threads="python",
         fault="32 worker processes start on 2 CPUs for 64 documents: all are runnable at once, and each pays its own start and imports.",
         bad="python3 spawn.py 32", good="python3 spawn.py 2"),
    Healthy(name="python-processes-render", good="python3 render.py processes 2 100 4", **MARKDOWN),
]

# Rust

PNG = dict(apt=["imagemagick"], prepare=f"{OXIPNG}; {PLASMA}")
RUN_OXIPNG = "$WORK/cargo/bin/oxipng -q -o 4 --out out.png input.png"
PAIRS += [
    Pair(name="oxipng-rayon-1", software="oxipng (crates.io)", rules=["too-few-workers"], threads="oxipng", **PNG,
         fault="rayon's pool has one thread, which tries one filter of oxipng after the other, while the other CPU idles.",
         bad=f"RAYON_NUM_THREADS=1 {RUN_OXIPNG}", good=RUN_OXIPNG),
    Pair(name="oxipng-taskset", software="oxipng (crates.io)", rules=["pinned-to-one-cpu"], threads="oxipng", **PNG,
         fault="taskset keeps both of oxipng's rayon threads on CPU 0, where one waits while the other runs; CPU 1 idles.",
         bad=f"RAYON_NUM_THREADS=2 taskset -c 0 {RUN_OXIPNG}", good=f"RAYON_NUM_THREADS=2 {RUN_OXIPNG}"),
]

# Real time, nice, affinity

TIMED = r"foreground ([\d.]+)"


def beside(batch, foreground, wait="wait"):
    """Runs the batch job in the background and prints the time of the foreground program, then waits for the batch job."""
    return f"{batch} & sleep 0.1; TIMEFORMAT='foreground %R'; time {foreground}; {wait}"


XZ = "xz -T2 --block-size=1MiB -{} -kc batch >/dev/null"
TWO = dict(apt=["imagemagick", "xz-utils", "openssl"], prepare=f"{OXIPNG}; {PLASMA}; " + BATCH.format(12_000_000), metric=TIMED)
IN_GROUP = "mkdir -p $cg/cw-batch; ( sh -c 'echo $PPID' >$cg/cw-batch/cgroup.procs; exec nice -n 19 " + XZ.format(5) + " )"
CG = "cg=/sys/fs/cgroup; test ! -e $cg/cpu || cg=$cg/cpu; mkdir -p $cg/cw-batch; echo {} >$cg/cw-batch/cpu.idle; "
RTAPP_TICKER = script("ticker.json", """
{"global": {"calibration": 50, "default_policy": "SCHED_OTHER", "lock_pages": false, "logdir": "."},
 "tasks": {"ticker": {"loop": 100, "run": 2000, "timer": {"ref": "tick", "period": 20000, "mode": "absolute"}}}}
""")
INVERSION = """
{"global": {"calibration": 50, "default_policy": "SCHED_FIFO", "pi_enabled": %s, "lock_pages": false, "logdir": ".", "duration": 3},
 "resources": {"m": {"type": "mutex"}},
 "tasks": {
  "low": {"priority": 10, "cpus": [0], "loop": -1, "lock": "m", "run": 4000, "unlock": "m", "timer": {"ref": "tl", "period": 20000}},
  "middle": {"priority": 20, "cpus": [0], "loop": -1, "run": 12000, "timer": {"ref": "tm", "period": 31000}},
  "high": {"priority": 30, "cpus": [0], "loop": -1, "lock": "m", "run": 500, "unlock": "m", "timer": {"ref": "th", "period": 17000}}}}
"""
HIGH = "awk '!/^#/ && NF > 6 {t += $4 - $8; n++} END {print \"response \" t / n}' rt-app-high-*.log"
CYCLIC = "cyclictest -q -t1 -i 2000 -l 1200 {}; wait"
PAIRS += [
    Pair(name="nice-in-own-session", software="oxipng (crates.io) beside xz", rules=["nice-without-effect"], threads="xz", **TWO,
         fault="xz has nice 19, but in a session of its own, so the scheduler's autogroup gives it as much as oxipng: oxipng's threads are ready and wait.",
         bad=beside(f"setsid -w nice -n 19 {XZ.format(5)}", RUN_OXIPNG), good=beside(f"nice -n 19 {XZ.format(5)}", RUN_OXIPNG)),
    Pair(name="nice-in-own-cgroup", software="oxipng (crates.io) beside xz", rules=["nice-without-effect"], threads="xz", **TWO,
         fault="xz has nice 19, but in a cgroup with the default weight, so it gets as much as oxipng: oxipng's threads are ready and wait.",
         bad=CG.format(0) + beside(IN_GROUP, RUN_OXIPNG), good=CG.format(1) + beside(IN_GROUP, RUN_OXIPNG)),
    Pair(name="low-priority-has-a-cpu", software="oxipng (crates.io) beside xz", **TWO,
         rules=["low-priority-ran-while-high-was-ready", "pinned-to-one-cpu"], threads="oxipng|xz",
         fault="oxipng's two threads share CPU 0 by their affinity; one of them is ready while xz runs on CPU 1 with nice 19.",
         bad=beside(f"taskset -c 1 nice -n 19 {XZ.format(5)}", f"RAYON_NUM_THREADS=2 taskset -c 0 {RUN_OXIPNG}"),
         good=beside(f"nice -n 19 {XZ.format(5)}", f"RAYON_NUM_THREADS=2 {RUN_OXIPNG}")),
    Pair(name="cyclictest-other", software="cyclictest (rt-tests) beside stress-ng", apt=["rt-tests", "stress-ng"],
         rules=["critical-thread-same-priority-as-workers", "periodic-thread-delayed"], threads="cyclictest",
         fault="cyclictest's periodic thread has SCHED_OTHER as the batch threads have: it is ready at its time and waits for one of them to be preempted.",
         bad="stress-ng -q --cpu 6 --cpu-method matrixprod -t 3 & sleep 0.2; " + CYCLIC.format("--policy=other"),
         good="stress-ng -q --cpu 6 --cpu-method matrixprod -t 3 & sleep 0.2; " + CYCLIC.format("-p80 --policy=fifo"), metric=r"Avg:\s*(\d+)"),
    Pair(name="fifo-batch-starves-ticker", software="rt-app beside xz", apt=["rt-app", "xz-utils", "openssl"],
         prepare=RTAPP_TICKER + BATCH.format(12_000_000), metric=TIMED,
         rules=["periodic-thread-delayed"], threads="ticker",
         fault="xz's threads hold both CPUs with SCHED_FIFO; the periodic thread of SCHED_OTHER is ready at its time and gets no CPU.",
         bad=beside(f"chrt -f 20 {XZ.format(6)}", "rt-app ticker.json >/dev/null 2>&1"),
         good=beside(f"nice -n 10 {XZ.format(6)}", "rt-app ticker.json >/dev/null 2>&1")),
    Pair(name="rtapp-inversion", software="rt-app", apt=["rt-app"], rules=["priority-inversion"], threads="high|low|middle", metric=r"response ([\d.]+)",
         prepare=script("bad.json", INVERSION % "false") + script("good.json", INVERSION % "true"),
         fault="The thread high waits for a mutex that low holds, and low is ready but middle runs; the mutex does not inherit the priority.",
         bad=f"rm -f *.log; rt-app bad.json >/dev/null 2>&1; {HIGH}", good=f"rm -f *.log; rt-app good.json >/dev/null 2>&1; {HIGH}"),
    Pair(name="messaging-20-groups", software="perf bench sched messaging", apt=["linux-perf"],
         rules=["worker-pool-larger-than-useful", "oversubscribed", "wakeup-storm"], threads="sched-messaging",
         fault="800 processes send the messages of 40: all are woken, ready and wait for 2 CPUs.",
         bad="perf bench sched messaging -g 20 -l 200", good="perf bench sched messaging -g 1 -l 4000"),
    Healthy(name="cyclictest-fifo", software="cyclictest (rt-tests) beside xz", apt=["rt-tests", "xz-utils", "openssl"], prepare=BATCH.format(12_000_000),
            good=f"nice -n 10 {XZ.format(5)} & sleep 0.2; cyclictest -q -t1 -i 2000 -l 1200 -p80 --policy=fifo; wait"),
]

# Node

BCRYPT = script("hash.js", """
const bcrypt = require("bcrypt"), salt = "$2b$10$abcdefghijklmnopqrstuu";
Promise.all(Array.from({length: 56}, (_, n) => bcrypt.hash(`secret ${n}`, salt))).then(all => console.log(all.length));
""")
WEB = script("web.js", """
const cluster = require("cluster"), http = require("http");
const workers = Number(process.argv[2]), text = "# Title\\n\\nSome *text* and `code`\\n\\n* one\\n* two\\n\\n".repeat(120);
if (workers > 1 && cluster.isPrimary) {
  for (let n = 0; n < workers; n++) cluster.fork();
} else {
  import(process.env.NODE_PATH + "/marked/lib/marked.esm.js").then(({marked}) =>
    http.createServer((_, response) => response.end(marked.parse(text))).listen(7702, "127.0.0.1"));
}
""")
LINT = script("eslint.config.mjs", 'export default [{rules: {"no-unused-vars": 1, "indent": 1, "complexity": 1}}];')
LINT += "rm -rf lib; cp -r $WORK/node/node_modules/eslint/lib lib"
NODE_WEB = dict(software="Node, marked (npm); hey (Go)", npm=["marked"], prepare=WEB + HEY, ready="curl -sf http://127.0.0.1:7702/ >/dev/null")
LOAD = "$WORK/go/bin/hey -n 1500 -c 16 http://127.0.0.1:7702/"
PAIRS += [
    Pair(name="bcrypt-uv-pool-1", software="Node, bcrypt (npm)", npm=["bcrypt"], prepare=BCRYPT, rules=["too-few-workers", "single-server"], threads="libuv|node",
         fault="libuv's pool has one thread (UV_THREADPOOL_SIZE=1), which computes one hash after the other, while the other CPU idles.",
         bad="UV_THREADPOOL_SIZE=1 node hash.js", good="UV_THREADPOOL_SIZE=2 node hash.js"),
    Pair(name="node-web-one-process", rules=["single-server", "too-few-workers"], threads="node", **NODE_WEB,
         fault="One process's main thread renders the pages of 16 connections one after the other; the other CPU idles.",
         server=("exec node web.js 1", "exec node web.js 2"), bad=LOAD, good=LOAD, metric=r"Requests/sec:\s+([\d.]+)", higher_is_better=True),
    Pair(name="eslint-12-workers", software="eslint (npm)", npm=["eslint"], prepare=LINT,
         rules=["worker-pool-larger-than-useful", "oversubscribed"], threads="node|eslint",
         fault="12 worker threads on 2 CPUs are runnable at once, and each loads and compiles eslint for itself.",
         bad="eslint --concurrency 12 lib >/dev/null", good="eslint --concurrency 2 lib >/dev/null"),
]
