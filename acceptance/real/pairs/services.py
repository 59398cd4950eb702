"""Services, and programs that share two CPUs with others: workers, locks, quotas, priorities, polling, and writes that are waited for.

The third set, from an author who writes no rules and has not read them in the code, only docs/rules.md. Ports 7900 to 7999 on localhost.
"""

from bed import Healthy, Pair

HEY = "test -x $WORK/go/bin/hey || GOBIN=$WORK/go/bin go install github.com/rakyll/hey@v0.1.5\n"
TOOK = dict(metric=r"took ([0-9.]+) s", seconds=1)

PAIRS = []


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


# Servers

HAPROXY = """cat > {0}.cfg <<END
global
  nbthread {0}
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend shop
  bind 127.0.0.1:7901 ssl crt $PWD/both.pem
  http-request return status 200 content-type text/plain string hello
END
"""
PROXY = dict(software="HAProxy 2.6, ab (Debian)", apt=["haproxy", "apache2-utils", "openssl", "curl"],
             ready="curl -sfk https://127.0.0.1:7901/ > /dev/null",
             prepare="openssl req -x509 -newkey rsa:4096 -nodes -keyout key.pem -out cert.pem -subj /CN=localhost -days 3650\n"
                     "cat cert.pem key.pem > both.pem\n" + HAPROXY.format(1) + HAPROXY.format(2))
HANDSHAKES = "seq 4 | xargs -P 4 -I_ ab -q -n {} -c 3 https://127.0.0.1:7901/"

CART = """
<?php
session_start();
$_SESSION["visits"] = ($_SESSION["visits"] ?? 0) + 1;
if (getenv("CLOSE_EARLY")) session_write_close();
for ($n = 0, $h = "x"; $n < 40000; $n++) $h = md5($h . $n);
echo $h;
"""

# Eight requests come together each half a second: a sixth of one CPU.
PRICES = """
const crypto = require('crypto');
require('http').createServer((request, response) => {
  response.end(crypto.pbkdf2Sync('shop', 'salt', 60000, 32, 'sha256').toString('hex'));
}).listen(7903, '127.0.0.1');
"""


def in_quota(percent):
    """A command that puts the shell in a cgroup that may use `percent` of a CPU (version 1, else 2)."""
    return (f"c=/sys/fs/cgroup; if [ -e $c/cpu ]; then g=$c/cpu/real-prices; mkdir -p $g; echo {percent * 1000} > $g/cpu.cfs_quota_us; "
            f"else g=$c/real-prices; mkdir -p $g; echo '{percent * 1000} 100000' > $g/cpu.max; fi; echo $$ > $g/cgroup.procs; ")


THUMBS = script("thumb.js", """
const crypto = require('crypto');
module.exports = (n) => crypto.pbkdf2Sync('picture ' + n, 'salt', 20000, 32, 'sha256').toString('hex');
""") + script("server.js", """
const { Piscina } = require('piscina');
const pool = new Piscina({ filename: __dirname + '/thumb.js', minThreads: 8, maxThreads: 8, niceIncrement: Number(process.argv[2]) });
// All thumbnails are made anew, for ever.
async function again(n) {
  for (;;) await pool.run(n);
}
for (let n = 0; n < 16; n++) again(n);
const items = Array.from({ length: 1500 }, (_, n) => ({ id: n, name: `item ${n}`, price: (n * 7919) % 1000 }));
require('http').createServer((request, response) => {
  response.end(JSON.stringify(JSON.parse(JSON.stringify(items)).sort((a, b) => a.price - b.price)));
}).listen(7904, '127.0.0.1');
""")

PAIRS += [
    Pair(
        name="haproxy-nbthread-one", rules=["single-server", "too-few-workers"], threads="^haproxy", **PROXY,
        fault="The one thread of HAProxy (nbthread 1) makes all TLS handshakes, for which the clients wait, while a CPU is idle.",
        server=("exec haproxy -f 1.cfg", "exec haproxy -f 2.cfg"),
        bad=HANDSHAKES.format(180), good=HANDSHAKES.format(180),
    ),
    Pair(
        name="php-session-lock", software="PHP 8.2 built-in server (Debian), ab", apt=["php-cli", "apache2-utils"],
        rules=["lock-convoy", "global-lock", "too-few-workers"], threads="^php",
        fault="Requests of one session queue for the lock of its file (session_start): of four PHP processes one computes and the others "
              "wait for it, while a CPU is idle; fixed: session_write_close before the work.",
        prepare=script("cart.php", CART),
        server=tuple(f"export PHP_CLI_SERVER_WORKERS=4 {early}; exec php -d session.save_path=. -S 127.0.0.1:7902 cart.php" 
                     for early in ("", "CLOSE_EARLY=1")),
        ready="curl -sf http://127.0.0.1:7902/ > /dev/null",
        bad="ab -q -n 500 -c 4 -C PHPSESSID=abcdefabcdefabcdefabcdefab http://127.0.0.1:7902/",
        good="ab -q -n 500 -c 4 -C PHPSESSID=abcdefabcdefabcdefabcdefab http://127.0.0.1:7902/",
        metric=r"Requests per second:\s+([\d.]+)", higher_is_better=True,
    ),
    Pair(
        name="node-bursts-in-quota", software="Node.js 20, hey (Go)", apt=["curl"], prepare=HEY + script("server.js", PRICES),
        rules=["throttled-by-quota"], threads="node|Main",
        fault="Bursts of eight requests use up the quota of Node's cgroup (25 % of a CPU) at their second or third one: the main thread is "
              "throttled for several periods, though the server needs less than its quota on average.",
        server=(in_quota(25) + "exec node server.js", in_quota(200) + "exec node server.js"), ready="curl -sf http://127.0.0.1:7903/ > /dev/null",
        bad="$WORK/go/bin/hey -n 64 -c 8 -q 2 http://127.0.0.1:7903/", good="$WORK/go/bin/hey -n 64 -c 8 -q 2 http://127.0.0.1:7903/",
        metric=r"Average:\s+([\d.]+)", seconds=64,
    ),
    Pair(
        name="node-server-among-its-workers", software="Node.js 20, Piscina 4 (npm), ab", npm=["piscina@4"], apt=["apache2-utils", "curl"],
        rules=["critical-thread-same-priority-as-workers"], threads="node|Main",
        fault="The main thread of Node.js answers requests, and is ready while eight worker threads of the same priority make thumbnails; "
              "fixed: niceIncrement of the pool.",
        prepare=THUMBS, server=("exec node server.js 0", "exec node server.js 19"), ready="curl -sf http://127.0.0.1:7904/ > /dev/null",
        bad="ab -q -n 700 -c 1 http://127.0.0.1:7904/", good="ab -q -n 700 -c 1 http://127.0.0.1:7904/",
        metric=r"Time per request:\s+([\d.]+) \[ms\] \(mean\)", seconds=0.7,
    ),
    Pair(
        name="bbolt-transaction-per-put", software="bbolt 1.3 (Go)", rules=["io-wait-serialised"], threads="^bbolt",
        fault="bbolt commits a transaction for each key: its thread sleeps (state D) in two fdatasync for each, one after the other; "
              "fixed: a hundred keys in a transaction.",
        prepare="test -x $WORK/go/bin/bbolt || GOBIN=$WORK/go/bin go install go.etcd.io/bbolt/cmd/bbolt@v1.3.11",
        bad="rm -f data.db; $WORK/go/bin/bbolt bench -count 6000 -batch-size 1 -profile-mode w -path data.db",
        good="rm -f data.db; $WORK/go/bin/bbolt bench -count 6000 -batch-size 100 -profile-mode w -path data.db",
    ),
    Healthy(
        name="haproxy-2-threads", **PROXY, server="exec haproxy -f 2.cfg", good=HANDSHAKES.format(300),
    ),
]

# Priorities

REPORT = script("Stock.java", """
import java.util.*;
import java.util.concurrent.*;
import java.util.zip.CRC32;

/** Looks up the stock every 30 ms, while one thread sums it up for a report and others check pictures. */
class Stock {
    static final Map<Integer, Integer> stock = Collections.synchronizedMap(new HashMap<>());

    static void report() {
        for (long sum = 0; ; sum = 0) {
            synchronized (stock) {
                for (int pieces : stock.values()) sum += pieces;
            }
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    static void check() {
        byte[] picture = new byte[1 << 16];
        for (var sum = new CRC32(); ; ) sum.update(picture);
    }

    public static void main(String[] args) throws Exception {
        for (int n = 0; n < 300_000; n++) stock.put(n * 7919, n % 100);
        var report = new Thread(Stock::report, "report");
        report.setPriority(args[0].equals("low") ? Thread.MIN_PRIORITY : Thread.NORM_PRIORITY);
        report.setDaemon(true);
        report.start();
        for (int n = 0; n < 6; n++) {
            var check = new Thread(Stock::check, "check-" + n);
            check.setDaemon(true);
            check.start();
        }
        double late = 0;
        for (int n = 0; n < 50; n++) {
            Thread.sleep(30);
            long begin = System.nanoTime();
            stock.get(n * 7919);
            late += (System.nanoTime() - begin) / 1e6;
        }
        System.out.println("mean " + late / 50);
    }
}
""") + "javac -d . Stock.java\n"
STOCK = "java -XX:ThreadPriorityPolicy=1 -XX:+UseSerialGC -Xmx512m -cp . Stock {}"

SITE = script("site.py", """
import os, random
r = random.Random(4)
words = ["".join(r.choices("etaoinshrdlu", k=r.randint(2, 9))) for _ in range(3000)]
for folder in ("content/post", "layouts/_default"):
    os.makedirs(folder, exist_ok=True)
for n in range(4200):
    text = "\\n\\n".join("## " + r.choice(words) + "\\n\\n" + " ".join(r.choices(words, k=80)) + " **bold** and `code`" for _ in range(10))
    open(f"content/post/{n}.md", "w").write(f"---\\ntitle: post {n}\\ntags: [t{n % 20}]\\n---\\n{text}\\n")
open("layouts/_default/single.html", "w").write("<h1>{{ .Title }}</h1>{{ .TableOfContents }}{{ .Content }}{{ .Summary }}")
open("layouts/_default/list.html", "w").write("{{ range .Pages }}<a href='{{ .Permalink }}'>{{ .Title }}</a>{{ end }}")
open("config.toml", "w").write("baseURL = 'http://localhost/'\\n")
""") + "python3 site.py\n"
BROTLI = ("pip download -q --no-binary :all: --no-deps brotli==1.1.0; tar xzf [Bb]rotli-1.1.0.tar.gz --strip-components=1; "
          + script("Makefile", "all: $(patsubst %.c,%.o,$(wildcard c/common/*.c c/dec/*.c c/enc/*.c))\nCFLAGS = -O1 -Ic/include"))
BUILDS = "while make -B -s -j10; do :; done"

# Rate-monotonic: the shorter the period, the higher the priority.
ROBOT = """
{"global": {"calibration": 18, "default_policy": "SCHED_FIFO", "lock_pages": false, "logdir": ".", "log_basename": "%s", "duration": 2},
 "tasks": {
  "control": {"priority": %d, "loop": -1, "run": 500, "timer": {"ref": "tc", "period": 5000, "mode": "absolute"}},
  "vision": {"instance": 2, "priority": 50, "loop": -1, "run": 14000, "timer": {"ref": "unique", "period": 33000, "mode": "absolute"}}}}
"""
ROBOTS = script("low.json", ROBOT % ("low", 20)) + script("high.json", ROBOT % ("high", 80))
RESPONSE = "; awk '!/^#/ && NF > 6 {{t += $4 - $8; n++}} END {{print \"response \" t / n}}' {}-control-*.log"

PAIRS += [
    Pair(
        name="java-report-has-the-lock", software="OpenJDK 17, Collections.synchronizedMap", apt=["openjdk-17-jdk-headless"], prepare=REPORT,
        rules=["priority-inversion"], threads="^(java|report|main)",
        fault="The thread report has the lock of a map, but MIN_PRIORITY (nice 4 with -XX:ThreadPriorityPolicy=1): it is ready while six threads of "
              "nice 0 run, and the main thread (nice 0) waits for the lock; fixed: the same priority.",
        bad=STOCK.format("low"), good=STOCK.format("same"), metric=r"mean ([0-9.]+)", seconds=0.05,
    ),
    Pair(
        name="hugo-among-nice-5-builds", software="Hugo 0.111, GNU make and gcc (Debian) on brotli 1.1 (PyPI)", apt=["hugo", "make", "gcc"], **TOOK,
        rules=["low-priority-ran-while-high-was-ready"], threads="^hugo",
        fault="The threads of hugo (nice 0) are ready while ten compilers of nice 5 run, which together weigh more; fixed: SCHED_IDLE.",
        prepare=SITE + BROTLI,
        bad=during(f"nice -n 5 bash -c '{BUILDS}'", timed("hugo --quiet -d public --cleanDestinationDir")),
        good=during(f"chrt -i 0 bash -c '{BUILDS}'", timed("hugo --quiet -d public --cleanDestinationDir")),
    ),
    Pair(
        name="rtapp-not-rate-monotonic", software="rt-app 1.0 (Debian)", apt=["rt-app"], prepare=ROBOTS,
        rules=["periodic-thread-delayed"], threads="^control",
        fault="The thread control is due each 5 ms, at priority 20 of SCHED_FIFO: it is ready at its time while both CPUs run the longer work of "
              "vision (priority 50, each 33 ms); fixed: priority 80.",
        bad="rt-app low.json > /dev/null 2>&1" + RESPONSE.format("low"), good="rt-app high.json > /dev/null 2>&1" + RESPONSE.format("high"),
        metric=r"response ([0-9.]+)", seconds=400e-6,
    ),
    Healthy(
        name="rtapp-rate-monotonic", software="rt-app 1.0 during xz (Debian)", apt=["rt-app", "xz-utils"], prepare=ROBOTS,
        good=during("chrt -i 0 xz -T2 --block-size=1MiB -k -c $(yes $(go env GOROOT)/bin/go | head -n 9)", "rt-app high.json > /dev/null 2>&1"),
    ),
    Healthy(
        name="make-j2", software="GNU make and gcc (Debian) on brotli 1.1 (PyPI)", apt=["make", "gcc"], prepare=BROTLI,
        good="make -B -s -j2",
    ),
]
