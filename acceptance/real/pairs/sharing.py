"""Servers, and programs that share the machine with others: their workers, priorities, groups, quotas and masks.

Written by an author who writes no rules, after the programs of the other files had become the half to develop on.
Ports 7800 to 7899 on localhost.
"""

from bed import Healthy, Pair

PG = "/usr/lib/postgresql/15/bin"
AS_PG = "setpriv --reuid=postgres --regid=postgres --clear-groups"
PG_READY = f'{PG}/pg_isready -q -h "$PWD/data"'
PSQL = f'{PG}/psql -q -X -v ON_ERROR_STOP=1 -h "$PWD/data" -U postgres -d postgres'
PGBENCH = f'{PG}/pgbench -n -h "$PWD/data" -U postgres'
HEY = "test -x $WORK/go/bin/hey || GOBIN=$WORK/go/bin go install github.com/rakyll/hey@v0.1.5\n"
RATE = dict(metric=r"Requests/sec:\s+([\d.]+)", higher_is_better=True)


def script(name, source):
    return f"cat > {name} <<'END'\n{source.strip()}\nEND\n"


def cluster(load):
    """A command that makes a PostgreSQL cluster in ./data and loads it; its socket is in ./data."""
    return f"""rm -rf data; mkdir data; chown postgres data; chmod 700 data
{AS_PG} {PG}/initdb -D "$PWD/data" -A trust -N > /dev/null
{AS_PG} {PG}/pg_ctl -w -D "$PWD/data" -o "-k $PWD/data -c listen_addresses=" -l "$PWD/data/log" start > /dev/null
{load}
{AS_PG} {PG}/pg_ctl -w -D "$PWD/data" stop > /dev/null
"""


def postgres(*settings):
    return f'exec {AS_PG} {PG}/postgres -D "$PWD/data" -k "$PWD/data" -c listen_addresses= ' + " ".join(f"-c {s}" for s in settings)


def group(name, v1, v2):
    """A command that makes a CPU cgroup, sets it (FILE=VALUE, for version 1 and 2) and leaves its folder in $g."""
    def settings(values):
        return "; ".join("echo '{1}' > $g/{0}".format(*value.split("=")) for value in values)
    return (f"if [ -e /sys/fs/cgroup/cpu ]; then g=/sys/fs/cgroup/cpu/{name}; mkdir -p $g; {settings(v1)}; "
            f"else g=/sys/fs/cgroup/{name}; mkdir -p $g; {settings(v2)}; fi; ")


def beside(batch, foreground):
    """Runs a batch job that goes on for long, and prints the time of the foreground program; then ends the batch job.

    The job control of bash (-m) gives the batch job a process group of its own, so that all of it can be ended, but no session.
    """
    return f"""set -m
{{ {batch}; }} & batch=$!
set +m
sleep 0.2
begin=$(date +%s%N)
{foreground}
echo took $(echo $(($(date +%s%N) - begin)) | sed 's/.........$/.&/') s
kill -- -$batch; wait $batch || true
"""


TOOK = dict(metric=r"took ([0-9.]+) s", seconds=1)


def corpus(name, size):
    """A command that makes a file of hexadecimal text, of so many bytes; the same one each time."""
    return (f"head -c {size // 2} /dev/zero | openssl enc -aes-128-ctr -K 1 -iv 1 2> /dev/null | od -An -v -tx1 "
            f"| tr -d ' ' | head -c {size} > {name}\n")


# Batch jobs that end only when they are ended.
XZ = "xz -T{} -6 --block-size=1MiB -k -c $(yes other | head -n 99) > /dev/null"

PHP = """
<?php
for ($n = 0, $h = "x"; $n < 20000; $n++) $h = md5($h . $n);
echo $h;
"""


def fpm(children):
    return script(f"fpm{children}.conf", f"""
[global]
daemonize = no
error_log = fpm.log
[www]
user = www-data
group = www-data
listen = 127.0.0.1:7801
pm = static
pm.max_children = {children}
""")


def nginx(name, main, server):
    return f"""cat > {name}.conf <<END
user root; pid nginx.pid; error_log error.log; daemon off; {main}
events {{ worker_connections 512; }}
http {{ access_log off; server {{ {server} }} }}
END
"""


# PHP-FPM leaves the process group, so the shell ends it.
NGINX = 'exec nginx -p "$PWD" -c "$PWD/{}.conf" -e "$PWD/error.log"'
FCGI = ("listen 127.0.0.1:7802; location / { fastcgi_pass 127.0.0.1:7801; fastcgi_param REQUEST_METHOD GET; "
        "fastcgi_param SCRIPT_FILENAME $PWD/app.php; fastcgi_param QUERY_STRING x; }")
FPM = dict(software="PHP-FPM 8.2 and nginx 1.22 (Debian), hey (Go)", apt=["php-fpm", "nginx-light"],
           prepare=HEY + script("app.php", PHP) + fpm(1) + fpm(2) + nginx("front", "worker_processes 1;", FCGI),
           ready="curl -sf http://127.0.0.1:7802/ > /dev/null")
TLS = "listen 127.0.0.1:7803 ssl; root $PWD; ssl_certificate $PWD/cert.pem; ssl_certificate_key $PWD/key.pem;"

RUBY = """
require "json"
ITEMS = (0...300).map { |n| {"id" => n, "name" => "item #{n}", "price" => n * 1.5} }
run ->(env) {
  rows = ITEMS.sort_by { |i| -i["price"] }.map { |i| "<tr><td>#{i["name"]}</td><td>#{format("%.2f", i["price"])}</td></tr>" }
  8.times { JSON.parse(JSON.generate(ITEMS)) }
  [200, {"content-type" => "text/html"}, [rows.join("\n")]]
}
"""

WSGI = """
import json
ITEMS = [{"id": n, "name": f"item {n}", "price": n * 1.5} for n in range(400)]
def application(environ, start_response):
    for _ in range(8):
        text = json.dumps(sorted(json.loads(json.dumps(ITEMS)), key=lambda i: -i["price"]))
    start_response("200 OK", [("Content-Type", "application/json")])
    return [text.encode()]
"""
UWSGI = "exec uwsgi --plugin python3 --http-socket 127.0.0.1:7805 --wsgi-file app.py --master --processes 2 --disable-logging --die-on-term"
UWSGI_ALL = dict(software="uWSGI 2.0 (Debian), hey (Go)", apt=["uwsgi-core", "uwsgi-plugin-python3"], prepare=HEY + script("app.py", WSGI),
                 ready="curl -sf http://127.0.0.1:7805/ > /dev/null")


def in_quota(us):
    of_v2 = "max" if us < 0 else us
    return (group("real-uwsgi", ["cpu.cfs_period_us=100000", f"cpu.cfs_quota_us={us}"], [f"cpu.max={of_v2} 100000"])
            + "echo $$ > $g/cgroup.procs; ")


def hey(port, requests, clients, scheme="http"):
    return f"$WORK/go/bin/hey -disable-keepalive -n {requests} -c {clients} {scheme}://127.0.0.1:{port}/"


PAIRS = [
    Pair(
        name="php-fpm-one-child", rules=["single-server", "too-few-workers"], threads="^php-fpm", **FPM, **RATE,
        fault="PHP-FPM has one child (pm.max_children = 1), which serves one request at a time, while the others queue and a CPU is idle.",
        server=tuple(f'php-fpm8.2 -R -y "$PWD/fpm{n}.conf" -g "$PWD/fpm.pid" & fpm=$!; ( {NGINX.format("front")} ) & '
                     "trap 'kill $fpm; wait' TERM; wait" for n in (1, 2)),
        bad=hey(7802, 800, 12), good=hey(7802, 800, 12),
    ),
    Pair(
        name="nginx-workers-one-cpu-tls", software="nginx 1.22 (Debian), hey (Go)", apt=["nginx-light", "openssl"],
        rules=["pinned-to-one-cpu"], threads="^nginx",
        fault="Both workers of nginx are bound to CPU 0 (worker_cpu_affinity 01 01), where the handshakes of TLS take turns while CPU 1 is idle.",
        prepare=HEY + "echo hello > text.txt; "
                "openssl req -x509 -newkey rsa:4096 -nodes -keyout key.pem -out cert.pem -subj /CN=localhost -days 3650\n"
                + nginx("one", "worker_processes 2; worker_cpu_affinity 01 01;", TLS)
                + nginx("two", "worker_processes 2; worker_cpu_affinity 01 10;", TLS),
        server=(NGINX.format("one"), NGINX.format("two")), ready="curl -sfk https://127.0.0.1:7803/text.txt > /dev/null",
        bad=hey("7803", 700, 8, "https"), good=hey("7803", 700, 8, "https"), **RATE,
    ),
    Pair(
        name="puma-threads-one-process", software="Puma 5.6 on Ruby 3.1 (Debian), hey (Go)", apt=["puma", "ruby"], **RATE,
        rules=["global-lock", "lock-convoy"], threads="puma|ruby",
        fault="Puma's four threads in one process wait for Ruby's global lock: one at a time computes while a CPU is idle; fixed: two processes.",
        prepare=HEY + script("app.ru", RUBY),
        server=tuple(f"exec puma -q -e production -b tcp://127.0.0.1:7804 {how} app.ru" for how in ("-t 4:4", "-t 2:2 -w 2")),
        ready="curl -sf http://127.0.0.1:7804/ > /dev/null && sleep 2",
        bad=hey(7804, 500, 8), good=hey(7804, 500, 8),
    ),
    Pair(
        name="uwsgi-quota", rules=["throttled-by-quota"], threads="^uwsgi", **UWSGI_ALL, **RATE,
        fault="The two processes of uWSGI use up the quota of their cgroup (0.5 CPU) early in each period and answer nothing for the rest of it.",
        server=(in_quota(50000) + UWSGI, in_quota(-1) + UWSGI),
        bad=hey(7805, 220, 4), good=hey(7805, 220, 4),
    ),
    Pair(
        name="pgbench-scale-one", software="PostgreSQL 15 and pgbench (Debian)", apt=["postgresql"],
        rules=["lock-convoy", "global-lock"], threads="^postgres",
        fault="All 32 clients of pgbench update the one row of pgbench_branches (scale 1): their backends queue for the lock of that row, "
              "which each holds until its commit.",
        prepare=cluster(f"{PSQL} -c 'create database one' -c 'create database many'; {PGBENCH} -i -q -s 1 one; {PGBENCH} -i -q -s 16 many"),
        server=postgres("shared_buffers=1GB", "full_page_writes=off"), ready=PG_READY,
        bad=f"{PGBENCH} -c 32 -j 1 -t 120 one", good=f"{PGBENCH} -c 32 -j 1 -t 120 many",
        metric=r"tps = ([0-9.]+)", higher_is_better=True,
    ),
]

# Programs that share the machine

AUDIO = """
{"global": {"calibration": 50, "default_policy": "%s", "lock_pages": false, "logdir": ".", "log_basename": "%s", "duration": 2},
 "tasks": {"audio": {%s"loop": -1, "run": 1500, "timer": {"ref": "tick", "period": 5000, "mode": "absolute"}}}}
"""
AUDIO_FILES = script("fair.json", AUDIO % ("SCHED_OTHER", "fair", "")) + script("fifo.json", AUDIO % ("SCHED_FIFO", "fifo", '"priority": 40, '))
# The mean time from when a period is due until its work is done, in us.
RESPONSE = "awk '!/^#/ && NF > 6 {{t += $4 - $8; n++}} END {{print \"response \" t / n}}' {}-audio-*.log"

INVERSION = """
import os, statistics, sys, threading, time
import markdown
text = "# Title\\n\\nSome *text* with `code` and a [link](http://x.y)\\n\\n" * 40
def index():
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), int(sys.argv[1]))
    while True:
        markdown.markdown(text)
threading.Thread(target=index, daemon=True).start()
# How late the answers of requests are that come each 50 ms.
late, begin = [], time.monotonic()
for n in range(int(sys.argv[2])):
    due = max(begin + n * 0.05, time.monotonic())
    time.sleep(due - time.monotonic() if due > time.monotonic() else 0)
    markdown.markdown("some *text*")
    late.append(time.monotonic() - due)
print("mean", statistics.mean(late))
"""

# Redis in the session of its client and of the batch job: sessions are groups of the scheduler (autogroup).
REDIS = ("redis-server --port 7811 --bind 127.0.0.1 --save '' --appendonly no > /dev/null & "
         "until redis-cli -p 7811 ping > /dev/null 2>&1; do sleep 0.05; done\n")
REDIS_END = "redis-cli -p 7811 shutdown nosave || true\n"
LRANGE = "redis-benchmark -p 7811 -q -t lrange_600 -n 20000 -c 8"

PAIRS += [
    Pair(
        name="rtapp-audio-among-batch", software="rt-app 1.0 beside xz (Debian)", apt=["rt-app", "xz-utils", "openssl"],
        rules=["periodic-thread-delayed", "critical-thread-same-priority-as-workers"], threads="^audio",
        fault="The thread audio is due every 5 ms, but has the same priority as four threads of xz: it is ready at its time and waits for a CPU.",
        prepare=AUDIO_FILES + corpus("other", 9_000_000),
        bad=beside(XZ.format(4), "rt-app fair.json > /dev/null 2>&1") + RESPONSE.format("fair"),
        good=beside(XZ.format(4), "rt-app fifo.json > /dev/null 2>&1") + RESPONSE.format("fifo"),
        metric=r"response ([0-9.]+)", seconds=400e-6,
    ),
    Pair(
        name="python-nice-thread-has-the-lock", software="Python with markdown (PyPI) beside xz (Debian)",
        pip=["markdown"], apt=["xz-utils", "openssl"],
        rules=["priority-inversion"], threads="^python",
        fault="A background thread of Python at nice 19 holds the interpreter's lock but is ready and not running, as xz at nice 0 has both CPUs; "
              "the main thread (nice 0) waits for the lock.",
        prepare=script("serve.py", INVERSION) + corpus("other", 9_000_000),
        bad=beside(XZ.format(4), "python serve.py 19 30"),
        good=beside(XZ.format(4), "python serve.py 0 30"),
        metric=r"mean ([0-9.e-]+)", seconds=30,
    ),
    Pair(
        name="nice-19-in-own-cgroup", software="plzip 1.10 beside xz (Debian)", apt=["plzip", "xz-utils", "openssl"], **TOOK,
        rules=["nice-without-effect"], threads="^(plzip|xz)",
        fault="xz has nice 19, but a cgroup of its own with the usual weight: plzip's threads (nice 0) are ready while xz gets half of the CPUs.",
        prepare=corpus("input", 14_000_000) + corpus("other", 9_000_000),
        bad=group("real-batch", ["cpu.shares=1024"], ["cpu.weight=100"])
        + beside("echo $BASHPID > $g/cgroup.procs; nice -n 19 " + XZ.format(4), "plzip -n 2 -3 -B 256KiB -k -c input > out.lz"),
        good=group("real-batch", ["cpu.shares=2"], ["cpu.weight=1"])
        + beside("echo $BASHPID > $g/cgroup.procs; nice -n 19 " + XZ.format(4), "plzip -n 2 -3 -B 256KiB -k -c input > out.lz"),
    ),
    Pair(
        name="nice-5-batch-beside-lbzip2", software="lbzip2 2.5 beside xargs and gzip (Debian)", apt=["lbzip2", "gzip", "openssl"], **TOOK,
        rules=["low-priority-ran-while-high-was-ready"], threads="^lbzip2",
        fault="The threads of lbzip2 (nice 0) are ready while 12 gzip at nice 5 run: together these weigh twice as much; fixed: SCHED_IDLE.",
        prepare=corpus("input", 30_000_000) + corpus("other", 9_000_000),
        bad=beside("yes other | nice -n 5 xargs -P 12 -n 1 gzip -9 -k -c > /dev/null", "lbzip2 -n 2 -k -c input > out.bz2"),
        good=beside("yes other | chrt -i 0 xargs -P 12 -n 1 gzip -9 -k -c > /dev/null", "lbzip2 -n 2 -k -c input > out.bz2"),
    ),
    Pair(
        name="redis-among-batch", software="Redis 7 beside xz (Debian)", apt=["redis-server", "redis-tools", "xz-utils", "openssl"],
        rules=["critical-thread-same-priority-as-workers"], threads="^redis",
        fault="redis-server has the same priority as four threads of a batch job: it is ready but waits for a CPU; fixed: SCHED_IDLE.",
        prepare=corpus("other", 9_000_000),
        bad=REDIS + beside(XZ.format(4), LRANGE) + REDIS_END,
        good=REDIS + beside("chrt -i 0 " + XZ.format(4), LRANGE) + REDIS_END, **TOOK,
    ),
    Healthy(
        name="uwsgi-two-processes", **UWSGI_ALL, server=UWSGI, good=hey(7805, 700, 4),
    ),
    Healthy(
        name="pgbench-two-readers", software="PostgreSQL 15 and pgbench (Debian)", apt=["postgresql"],
        prepare=cluster(f"{PSQL} -c 'create database many'; {PGBENCH} -i -q -s 10 many"),
        server=postgres("shared_buffers=512MB"), ready=PG_READY,
        good=f"{PGBENCH} -S -M prepared -c 2 -j 1 -T 2 many",
    ),
    Healthy(
        name="rtapp-audio-fifo", software="rt-app 1.0 beside xz (Debian)", apt=["rt-app", "xz-utils", "openssl"],
        prepare=AUDIO_FILES + corpus("other", 9_000_000),
        good=beside("nice -n 10 " + XZ.format(2), "rt-app fifo.json > /dev/null 2>&1"),
    ),
]
