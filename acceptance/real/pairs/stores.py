"""Web servers, queues and data bases: beanstalkd, memcached, lighttpd, Tornado, MariaDB, SQLite, DuckDB; and a report beside a batch job.

The fifth set, from an author who writes no rules and has not read them in the code, only docs/rules.md. Meant to develop rules on.
Ports 8200 to 8299 on localhost.
"""

from bed import Healthy, Pair

HEY = "test -x $WORK/go/bin/hey || GOBIN=$WORK/go/bin go install github.com/rakyll/hey@v0.1.5\n"
TOOK = dict(metric=r"took ([0-9.]+) s", seconds=1)
OTHER = "head -c 4500000 /dev/zero | openssl enc -aes-128-ctr -K 1 -iv 1 2> /dev/null | od -An -v -tx1 | tr -d ' ' > other\n"

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
sleep 0.3
{foreground}
kill -- -$batch; wait $batch || true
"""


def group(name, v1, v2):
    """A command that moves the shell to a CPU cgroup with settings (FILE=VALUE, for version 1 and 2)."""
    file1, value1 = v1.split("=")
    file2, value2 = v2.split("=")
    return (f"c=/sys/fs/cgroup; if [ -e $c/cpu ]; then g=$c/cpu/{name}; mkdir -p $g; echo {value1} > $g/{file1}; "
            f"else g=$c/{name}; mkdir -p $g; echo '{value2}' > $g/{file2}; fi; echo $$ > $g/cgroup.procs; ")


def quota(name, percent):
    return group(name, f"cpu.cfs_quota_us={percent * 1000}", f"cpu.max={percent * 1000} 100000")


# Queues and data bases

PUT = script("put.py", """
import sys
import greenstalk
with greenstalk.Client(("127.0.0.1", 8201)) as queue:
    for n in range(int(sys.argv[1])):
        queue.put(f"thumbnail of picture {n}")
""")
BEANSTALKD = "rm -rf wal; mkdir wal; exec beanstalkd -l 127.0.0.1 -p 8201 -b wal -f {}"

SALES = script("sales.py", """
import sqlite3, sys, threading
# Four threads of a report ask the same data base, by one connection or each by its own.
def connect():
    return sqlite3.connect("sales.db", check_same_thread=False)
shared = connect() if sys.argv[1] == "shared" else None
def ask(thread):
    base = shared or connect()
    for n in range(22):
        base.execute("select count(*), sum(price * pieces), max(article) from sales where price % 97 <> ?", (n + thread,)).fetchall()
threads = [threading.Thread(target=ask, args=(t,)) for t in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
""") + """rm -f sales.db; python3 -c '
import sqlite3
base = sqlite3.connect("sales.db")
base.execute("create table sales(article text, price int, pieces int)")
base.executemany("insert into sales values (?, ?, ?)", ((f"article {n % 7919}", n * 31 % 1000, n % 13) for n in range(400000)))
base.commit()'
"""

MARIA = ('rm -rf data; mkdir data; chown mysql . data; mariadb-install-db --no-defaults --user=mysql --datadir="$PWD/data" '
         "--auth-root-authentication-method=normal --skip-test-db > /dev/null\n")
MARIADB = ('rm -f db.sock; exec nice -n -10 mariadbd --no-defaults --user=mysql --datadir="$PWD/data" --socket="$PWD/db.sock" '
           '--pid-file="$PWD/db.pid" --skip-networking --skip-log-bin')
QUERY = ('mariadb-slap --no-defaults -u root --socket="$PWD/db.sock" --create-schema=mysql --no-drop -c 2 --number-of-queries=28 '
         '-q "select max(sha1(concat(seq, 1))) from mysql.seq_1_to_700000"')

EVENTS = script("events.py", """
import sys
import duckdb
base = duckdb.connect(config={"threads": 2})
rows = int(sys.argv[1])
for _ in range(int(sys.argv[2])):
    print(base.sql(f"select max(levenshtein(name, 'article of the year')), avg(length(md5(name))) from '{rows}.parquet'").fetchall())
""") + """python3 -c '
import duckdb
duckdb.sql("create table events as select md5(i::text) as name from range(300000) t(i)")
for rows in (245760, 20480):
    duckdb.sql(f"copy events to \\"{rows}.parquet\\" (row_group_size {rows})".replace(chr(34), chr(39)))'
"""

PAIRS += [
    Pair(
        name="beanstalkd-fsync-each", software="beanstalkd 1.12 (Debian), greenstalk (PyPI)", apt=["beanstalkd"], pip=["greenstalk"], prepare=PUT,
        rules=["io-wait-serialised"], threads="^(beanstalkd|python)",
        fault="beanstalkd -f0 writes each job to the disk (fsync) before it answers, and sleeps meanwhile (state D); fixed: -f500, at most each 0.5 s.",
        server=(BEANSTALKD.format(0), BEANSTALKD.format(1000)), ready="bash -c '< /dev/tcp/127.0.0.1/8201'",
        bad="python put.py 16000", good="python put.py 16000",
    ),
    Pair(
        name="sqlite-one-connection", software="Python's sqlite3 with SQLite 3.40 (Debian)", rules=["global-lock", "lock-convoy", "too-few-workers"],
        threads="^python", prepare=SALES,
        fault="Four threads share one connection, whose mutex of SQLite lets one of them run at a time while a CPU is idle; "
              "fixed: a connection for each.",
        bad="python sales.py shared", good="python sales.py own",
    ),
    Pair(
        name="duckdb-one-row-group", software="DuckDB (PyPI)", pip=["duckdb"], rules=["chunks-too-large", "static-partition-barrier-tail", "too-few-workers"],
        threads="^python", prepare=EVENTS,
        fault="A row group of the Parquet file is the smallest piece for a thread of DuckDB: the first of two has four fifths of the rows, and the "
              "other thread waits for it; fixed: ROW_GROUP_SIZE 20480.",
        bad="python events.py 245760 10", good="python events.py 20480 10",
    ),
    Pair(
        name="mariadb-nice-in-service", software="MariaDB 10.11 beside xargs and b2sum (Debian), cgroups", apt=["mariadb-server", "openssl"], **TOOK,
        rules=["nice-without-effect"], threads="^(mariadbd|b2sum|one_connection|connection)", prepare=MARIA + OTHER,
        fault="mariadbd has nice -10, but its service's cgroup weighs as much as the session of four b2sum (nice 0), which get half of the CPUs; "
              "fixed: a larger weight of the cgroup.",
        server=tuple(group("real-mariadb", f"cpu.shares={shares}", f"cpu.weight={weight}") + MARIADB for shares, weight in ((1024, 100), (40960, 4000))),
        ready='mariadb-admin --no-defaults -u root --socket="$PWD/db.sock" ping',
        bad=during("yes other | xargs -P 4 -n 40 b2sum", timed(QUERY)), good=during("yes other | xargs -P 4 -n 40 b2sum", timed(QUERY)),
    ),
    Healthy(
        name="duckdb-2-threads", software="DuckDB (PyPI)", pip=["duckdb"], prepare=EVENTS, good="python events.py 20480 18",
    ),
    Healthy(
        name="memcached-2-threads", software="memcached 1.6 and memcslap of libmemcached (Debian)", apt=["memcached", "libmemcached-tools"],
        server="exec memcached -u nobody -l 127.0.0.1 -p 8202 -t 2", ready="bash -c '< /dev/tcp/127.0.0.1/8202'",
        good="memcslap --servers=127.0.0.1:8202 --concurrency=2 --execute-number=40000 --test=get",
    ),
]

# Web servers, and reports beside batch jobs

LIGHTTPD_CONF = """cat > web.conf <<END
server.document-root = "$PWD"
server.bind = "127.0.0.1"
server.port = 8203
server.max-worker = 2
server.modules = ("mod_deflate")
mimetype.assign = (".txt" => "text/plain")
deflate.mimetypes = ("text/plain")
deflate.allowed-encodings = ("gzip")
deflate.compression-level = 9
END
"""
WEB = dict(software="lighttpd 1.4 (Debian), hey (Go)", apt=["lighttpd", "lighttpd-mod-deflate", "curl"],
           prepare=HEY + "cat /usr/share/common-licenses/*GPL-* | head -c 250000 > text.txt\n" + LIGHTTPD_CONF,
           ready="curl -sf http://127.0.0.1:8203/text.txt > /dev/null")
WEB_HEY = "$WORK/go/bin/hey -disable-keepalive -n {} -c 4 -H 'Accept-Encoding: gzip' http://127.0.0.1:8203/text.txt"

SHOP = script("shop.py", """
import asyncio, json, sys
import tornado.httpserver, tornado.ioloop, tornado.netutil, tornado.process, tornado.template, tornado.web
PAGE = tornado.template.Template("{% for i in items %}<li>{{ i['name'] }}: {{ '%.2f' % i['price'] }}</li>{% end %}")
ITEMS = [{"id": n, "name": f"item {n}", "price": n * 7919 % 1000 / 7} for n in range(300)]
class Shop(tornado.web.RequestHandler):
    def get(self):
        items = json.loads(json.dumps(ITEMS))
        self.write(PAGE.generate(items=sorted(items, key=lambda i: -i["price"])))
sockets = tornado.netutil.bind_sockets(8204, "127.0.0.1")
if sys.argv[1] != "1":
    tornado.process.fork_processes(int(sys.argv[1]))
async def main():
    tornado.httpserver.HTTPServer(tornado.web.Application([("/", Shop)])).add_sockets(sockets)
    await asyncio.Event().wait()
asyncio.run(main())
""")
# Tornado in the session of the batch job: sessions are groups of the scheduler (autogroup).
TORNADO = "python shop.py 1 > server.log 2>&1 & server=$!; until curl -sf http://127.0.0.1:8204/ > /dev/null; do sleep 0.1; done\n"
REQUESTS = "ab -q -n 500 -c 1 http://127.0.0.1:8204/"

REPORT = script("report.R", """
# Bootstraps the mean of a sample.
set.seed(1)
x <- rnorm(20000)
means <- replicate(1500, mean(sort(sample(x, replace = TRUE))))
cat(quantile(means, c(0.05, 0.95)), "\\n")
""")
ZSTD = "zstd -q -T4 -B1MiB -18 -c $(yes other | head -n 99)"

PAIRS += [
    Pair(
        name="lighttpd-in-quota", rules=["throttled-by-quota"], threads="^lighttpd", **WEB,
        fault="The two workers of lighttpd use up the quota of their cgroup (60 % of a CPU) in the first third of each period and are throttled until "
              "its end.",
        server=tuple(quota("real-lighttpd", percent) + "exec lighttpd -D -f web.conf" for percent in (60, 200)),
        bad=WEB_HEY.format(350), good=WEB_HEY.format(350), metric=r"Requests/sec:\s+([\d.]+)", higher_is_better=True,
    ),
    Pair(
        name="tornado-among-nice-5", software="Tornado (PyPI) beside xargs and b2sum (Debian), ab", pip=["tornado"],
        apt=["apache2-utils", "curl", "openssl"], rules=["low-priority-ran-while-high-was-ready"], threads="^python", prepare=SHOP + OTHER,
        fault="The thread of Tornado (nice 0) is ready while ten b2sum of nice 5 run, five for each CPU; fixed: SCHED_IDLE.",
        bad=TORNADO + during("yes other | nice -n 5 xargs -P 10 -n 40 b2sum", REQUESTS) + "kill $server\n",
        good=TORNADO + during("yes other | chrt -i 0 xargs -P 10 -n 40 b2sum", REQUESTS) + "kill $server\n",
        metric=r"Time per request:\s+([\d.]+) \[ms\] \(mean\)", seconds=0.5,
    ),
    Pair(
        name="renice-of-main-thread-only", software="R 4.2 beside zstd 1.5 (Debian)", apt=["r-base-core", "zstd", "openssl"], **TOOK,
        rules=["critical-thread-same-priority-as-workers"], threads="^(R|Rscript)", prepare=REPORT + OTHER,
        fault="renice -p changes the main thread of zstd only; its four workers keep nice 0, and the report of R (nice 0) is ready while they run; "
              "fixed: zstd is started with nice 19.",
        bad=during(ZSTD + " & zstd=$!; sleep 0.2; renice -n 19 -p $zstd; wait", timed("Rscript report.R")),
        good=during("nice -n 19 " + ZSTD, timed("Rscript report.R")),
    ),
    Healthy(name="lighttpd-2-workers", **WEB, server="exec lighttpd -D -f web.conf", good=WEB_HEY.format(1000)),
    Healthy(
        name="tornado-2-processes", software="Tornado (PyPI), ab", pip=["tornado"], apt=["apache2-utils", "curl"], prepare=SHOP,
        server="exec python shop.py 2", ready="curl -sf http://127.0.0.1:8204/ > /dev/null && sleep 0.5", good="ab -q -n 4000 -c 4 http://127.0.0.1:8204/",
    ),
]
