"""Run times and their pools: Go, Java, Python; Rust's rayon beside a batch job; real-time threads.

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
PLASMA = "convert -seed 7 -size 1200x1200 plasma:red-blue -depth 8 input.png"
BATCH = "head -c {} /dev/zero | openssl enc -aes-128-ctr -K 0 -iv 0 2>/dev/null | base64 -w 60 > batch"
GOSRC = ("d=$(go env GOROOT)/src; rm -rf src; mkdir src; cp -r $d/net $d/crypto $d/go $d/runtime $d/cmd/compile $d/cmd/link src/; "
         "find src -name testdata -prune -exec rm -r {} +")

# Go

GO = dict(software="gofmt (Go)", prepare=GOSRC)
PAIRS += [
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
         bad=JAVAC.format("-J-XX:+UseSerialGC -J-Xmx36m"), good=JAVAC.format("-J-XX:+UseSerialGC -J-Xms1g -J-Xmx1g")),
    Pair(name="javac-parallel-small-heap", rules=["collector-pause"], threads="GC Thread|VM Thread", **JAVA,
         fault="The heap hardly holds javac's live objects: the collector's threads collect the whole heap again and again while javac's thread waits.",
         bad=JAVAC.format("-J-XX:+UseParallelGC -J-Xmx36m"), good=JAVAC.format("-J-XX:+UseParallelGC -J-Xms1g -J-Xmx1g")),
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
         metric=r"Average:\s+([\d.]+)", seconds=60),
    Pair(name="python-chunks-of-one", software="Python, dateutil (PyPI)", pip=["python-dateutil"], prepare=DATES,
         rules=["chunks-too-small"], threads="python",
         fault="Each date goes to a worker process as a chunk of its own: the processes spend their time with queues and wakeups, not with dates.",
         bad="python3 dates.py 1", good="python3 dates.py 1000"),
    Pair(name="python-one-large-chunk", rules=["chunks-too-large", "static-partition-barrier-tail"], threads="python", **MARKDOWN,
         fault="One worker process gets a chunk of 90 of 100 pages; the other ends early and waits on the queue.",
         bad="python3 render.py processes 2 100 90", good="python3 render.py processes 2 100 2"),
    Healthy(name="python-processes-render", good="python3 render.py processes 2 100 4", **MARKDOWN),
]

RUN_OXIPNG = "$WORK/cargo/bin/oxipng -q -o 4 --out out.png input.png"

# Real time, nice, affinity

TIMED = r"foreground ([\d.]+)"


def beside(batch, foreground, wait="wait"):
    """Runs the batch job in the background and prints the time of the foreground program, then waits for the batch job."""
    return f"{batch} & sleep 0.1; TIMEFORMAT='foreground %R'; time {foreground}; {wait}"

XZ = "xz -T2 --block-size=1MiB -{} -kc batch >/dev/null"
TWO = dict(apt=["imagemagick", "xz-utils", "openssl"], prepare=f"{OXIPNG}; {PLASMA}; " + BATCH.format(12_000_000), metric=TIMED, seconds=1)
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
    Pair(name="cyclictest-other", software="cyclictest (rt-tests) beside stress-ng", apt=["rt-tests", "stress-ng"],
         rules=["periodic-thread-delayed", "critical-thread-same-priority-as-workers"], threads="cyclictest",
         fault="cyclictest's periodic thread has SCHED_OTHER as the batch threads have: it is ready at its time and waits for one of them to be preempted.",
         bad="stress-ng -q --cpu 6 --cpu-method matrixprod -t 3 & sleep 0.2; " + CYCLIC.format("--policy=other"),
         good="stress-ng -q --cpu 6 --cpu-method matrixprod -t 3 & sleep 0.2; " + CYCLIC.format("-p80 --policy=fifo"), metric=r"Avg:\s*(\d+)", seconds=1200e-6),
    Pair(name="rtapp-inversion", software="rt-app", apt=["rt-app"], rules=["priority-inversion"], threads="high|low|middle", metric=r"response ([\d.]+)", seconds=176e-6,
         prepare=script("bad.json", INVERSION % "false") + script("good.json", INVERSION % "true"),
         fault="The thread high waits for a mutex that low holds, and low is ready but middle runs; the mutex does not inherit the priority.",
         bad=f"rm -f *.log; rt-app bad.json >/dev/null 2>&1; {HIGH}", good=f"rm -f *.log; rt-app good.json >/dev/null 2>&1; {HIGH}"),
    Healthy(name="cyclictest-fifo", software="cyclictest (rt-tests) beside xz", apt=["rt-tests", "xz-utils", "openssl"], prepare=BATCH.format(12_000_000),
            good=f"nice -n 10 {XZ.format(5)} & sleep 0.2; cyclictest -q -t1 -i 2000 -l 1200 -p80 --policy=fifo; wait"),
]
