"""Servers, data bases and their load generators: Redis, nginx, PostgreSQL, MariaDB, fio, Node.js, gunicorn, sysbench, iperf3.

Ports 7600 to 7699 on localhost. The disk is a virtio disk with a write-back cache, on which an fsync of 512 bytes costs about 0.19 ms.
"""

from bed import Healthy, Pair

PG = "/usr/lib/postgresql/15/bin"
AS_PG = "setpriv --reuid=postgres --regid=postgres --clear-groups"
# A fresh cluster in ./data, and what loads its tables.
PG_PREPARE = f"""rm -rf data; mkdir data; chown postgres data; chmod 700 data
{AS_PG} {PG}/initdb -D "$PWD/data" -A trust -N >/dev/null
{AS_PG} {PG}/pg_ctl -w -D "$PWD/data" -o '-k {{0}}' -o "-c listen_addresses=" -l "$PWD/data/log" start >/dev/null
{{1}}
{AS_PG} {PG}/pg_ctl -w -D "$PWD/data" stop >/dev/null"""


def pg_prepare(load, port=5432):
    """Returns a command that makes a cluster in ./data and loads it by `load`; its socket is in ./data."""
    return PG_PREPARE.replace("{0}", '\'"$PWD/data"\'').replace("{1}", load).replace("{{", "{").replace("}}", "}")


def pg_server(*settings):
    return f"exec {AS_PG} {PG}/postgres -D \"$PWD/data\" -k \"$PWD/data\" -c listen_addresses= " + " ".join(f"-c {s}" for s in settings)

PG_READY = f'{PG}/pg_isready -q -h "$PWD/data"'
PSQL = f'{PG}/psql -q -X -v ON_ERROR_STOP=1 -h "$PWD/data" -U postgres -d postgres'


def redis(port, *options, cpu=""):
    return f"{cpu and f'taskset -c {cpu} '}redis-server --port {port} --bind 127.0.0.1 --save '' --appendonly no " + " ".join(options)


def redis_ready(*ports):
    return " && ".join(f"redis-cli -p {p} ping" for p in ports)

# A text of some 220 kB, and an nginx configuration with the directives `main` and `server`.
TEXT = "cat /usr/share/common-licenses/GPL-* /usr/share/common-licenses/LGPL-* | head -c 220000 > text.txt"


def nginx_conf(name, main, server):
    text = f"""user root; pid nginx.pid; error_log error.log; daemon off; {main}
events {{ worker_connections 512; }}
http {{ access_log off; types {{ text/plain txt; }} server {{ {server} }} }}
"""
    return f"cat > {name}.conf <<EOF\n{text}EOF\n"


def nginx(name):
    return f'exec nginx -p "$PWD" -c "$PWD/{name}.conf" -e "$PWD/error.log"'

GZIP = "gzip on; gzip_types text/plain; gzip_http_version 1.0; gzip_comp_level 9;"

SUM_PY = """cat > app.py <<'EOF'
def app(environ, start_response):
    total = 0
    for n in range(150000):
        total += n * n
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(total).encode()]
EOF"""

HELLO_PY = """cat > app.py <<'EOF'
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]
EOF"""


def mariadb(*options):
    return ('rm -f db.sock; exec mariadbd --no-defaults --user=mysql --datadir="$PWD/data" --socket="$PWD/db.sock" --pid-file="$PWD/db.pid" '
            "--skip-networking --skip-log-bin " + " ".join(options))

MARIA_PREPARE = ('rm -rf data; mkdir data; chown mysql . data; mariadb-install-db --no-defaults --user=mysql --datadir="$PWD/data" '
                 "--auth-root-authentication-method=normal --skip-test-db >/dev/null")
MARIA_PREPARE += """
cat > init.sql <<'EOF'
drop table if exists mysql.slow, mysql.fast;
create table mysql.slow(id int primary key, v varchar(50)) engine=MyISAM as select seq - 1 as id, '' as v from mysql.seq_1_to_8;
create table mysql.fast(id int primary key, v varchar(50)) engine=InnoDB as select seq - 1 as id, '' as v from mysql.seq_1_to_8;
EOF"""
# An update of one row, another for each of eight connections, which takes some time to compute.
UPDATE = "update mysql.{} set v = (select max(sha1(seq)) from mysql.seq_1_to_120000) where id = connection_id() % 8"
MARIA_READY = 'mariadb-admin --no-defaults -u root --socket="$PWD/db.sock" ping'


def slap(clients, queries, sql):
    return ('mariadb-slap --no-defaults -u root --socket="$PWD/db.sock" --create-schema=mysql --no-drop '
            f'-c {clients} --number-of-queries={queries} -q "{sql}"')

PAIRS = []

PAIRS += [
    Pair("redis-no-pipelining", "Redis 7, redis-benchmark", ["chunks-too-small", "io-wait-serialised", "wakeup-storm"], "redis",
         "redis-benchmark sends one command and sleeps until redis-server answers it: each wakes the other for a few microseconds of work",
         bad="redis-benchmark -p 7601 -q -t set -n 220000 -c 1 -P 1", good="redis-benchmark -p 7601 -q -t set -n 220000 -c 1 -P 16",
         apt=["redis-server", "redis-tools"], server=f"exec {redis(7601)}", ready=redis_ready(7601)),
    Pair("redis-pinned-with-client", "Redis 7, redis-benchmark", ["pinned-to-one-cpu", "serialised-on-one-cpu"], "redis",
         "redis-server and its client may use CPU 0 only (taskset) and take turns on it while CPU 1 is idle",
         bad="taskset -c 0 redis-benchmark -p 7602 -q -t lrange_300 -n 130000 -c 20 -P 4",
         good="taskset -c 1 redis-benchmark -p 7602 -q -t lrange_300 -n 130000 -c 20 -P 4",
         apt=["redis-server", "redis-tools"], server=f"exec {redis(7602, cpu='0')}", ready=redis_ready(7602)),
    Pair("redis-one-instance", "Redis 7, redis-benchmark", ["single-server", "too-few-workers"], "redis",
         "eight clients wait for the one thread of redis-server that runs their scripts, while a CPU is idle; fixed: the keys in two instances",
         bad="redis-benchmark -p 7603 -q -n 4000 -c 8 --threads 4 EVAL 'local x=0 for i=1,100000 do x=x+i end return x' 0",
         good="for p in 7603 7604; do redis-benchmark -p $p -q -n 2000 -c 4 --threads 2 "
              "EVAL 'local x=0 for i=1,100000 do x=x+i end return x' 0 & done; wait",
         apt=["redis-server", "redis-tools"], server=f"trap : TERM; {redis(7603)} & {redis(7604)} & wait; wait", ready=redis_ready(7603, 7604)),
    Pair("nginx-one-worker-gzip", "nginx 1.22, ab", ["single-server", "too-few-workers"], "nginx",
         "the one worker of nginx (worker_processes 1) compresses all answers, so one CPU is idle",
         bad="ab -q -n 600 -c 8 -H 'Accept-Encoding: gzip' http://127.0.0.1:7621/text.txt",
         good="ab -q -n 600 -c 8 -H 'Accept-Encoding: gzip' http://127.0.0.1:7621/text.txt",
         apt=["nginx-light", "apache2-utils"],
         prepare=TEXT + "\n" + "\n".join(
             nginx_conf(f"{n}-workers", f"worker_processes {n};", f"listen 127.0.0.1:7621; root $PWD; {GZIP}") for n in (1, 2)),
         server=(nginx("1-workers"), nginx("2-workers")), ready="ab -n 1 http://127.0.0.1:7621/text.txt"),
    Pair("postgres-commit-per-row", "PostgreSQL 15, psql", ["io-wait-serialised"], "postgres",
         "the postgres backend commits each row and waits for its log to reach the disk before the next; fixed: psql --single-transaction",
         bad=f'{PSQL} -c "truncate t"; {PSQL} -f rows.sql', good=f'{PSQL} -c "truncate t"; {PSQL} -1 -f rows.sql',
         apt=["postgresql"],
         prepare="for i in $(seq 14000); do echo \"insert into t values ($i, 'row $i');\"; done > rows.sql\n"
                 + pg_prepare(f'{PSQL} -c "create table t(n int, v text)"'),
         server=pg_server(), ready=PG_READY),
    Pair("mariadb-table-lock", "MariaDB 10.11, mariadb-slap", ["lock-convoy", "global-lock"], "mariadbd",
         "eight connections of mariadbd update a row each, but wait for the lock of the whole table (MyISAM), so one works; fixed: InnoDB",
         bad=slap(8, 240, UPDATE.format("slow")), good=slap(8, 240, UPDATE.format("fast")),
         apt=["mariadb-server"], prepare=MARIA_PREPARE, server=mariadb("--init-file=\"$PWD/init.sql\""), ready=MARIA_READY),
    Pair("fio-depth-one", "fio 3.33", ["io-wait-serialised"], "fio",
         "fio reads one block at a time and waits for each, though the disk takes eight at once (psync against libaio with iodepth 8)",
         bad="fio --name=r --filename=data --size=256M --io_size=100M --rw=randread --bs=4k --direct=1 --ioengine=psync",
         good="fio --name=r --filename=data --size=256M --io_size=100M --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=8",
         apt=["fio"], prepare="head -c 256M /dev/urandom > data; sync data"),
    Pair("gunicorn-herd", "gunicorn, ab", ["wakeup-storm", "worker-pool-larger-than-useful"], "gunicorn|python",
         "each connection wakes the 100 gunicorn processes that wait for the same socket, and all but one find nothing and sleep again",
         bad="ab -q -n 4000 -c 1 http://127.0.0.1:7642/", good="ab -q -n 4000 -c 1 http://127.0.0.1:7642/",
         pip=["gunicorn"], apt=["apache2-utils"], prepare=HELLO_PY,
         server=("exec gunicorn -b 127.0.0.1:7642 -w 100 app:app", "exec gunicorn -b 127.0.0.1:7642 -w 2 app:app"),
         ready=tuple(f"test $(grep -c Booting server.log) = {n} && sleep 1 && ab -n 1 http://127.0.0.1:7642/" for n in (100, 2))),
    Pair("sysbench-one-lock", "sysbench 1.0", ["lock-convoy", "wakeup-storm", "worker-pool-larger-than-useful"], "sysbench",
         "16 threads of sysbench take one lock in turns and sleep until another wakes them; fixed: one thread does the same number of turns",
         bad="sysbench threads --threads=16 --thread-locks=1 --thread-yields=1000 --events=6000 --time=0 run",
         good="sysbench threads --threads=1 --thread-locks=1 --thread-yields=1000 --events=6000 --time=0 run", apt=["sysbench"]),
]

PAIRS += [
    Healthy("nginx-gzip", "nginx 1.22, wrk", "wrk -t 1 -c 16 -d 3 -H 'Accept-Encoding: gzip' http://127.0.0.1:7651/text.txt",
            apt=["nginx-light", "wrk"], server=nginx("auto"), ready="ab -n 1 http://127.0.0.1:7651/text.txt",
            prepare=TEXT + "\n" + nginx_conf("auto", "worker_processes auto;", f"listen 127.0.0.1:7651; root $PWD; {GZIP}")),
    Healthy("postgres-bulk-load", "PostgreSQL 15, psql",
            f"{PSQL} -c 'truncate t'; {PSQL} -c '\\copy t from rows.tsv'; {PSQL} -c 'create index on t(n)'",
            apt=["postgresql"], server=pg_server("max_wal_size=4GB", "maintenance_work_mem=256MB"), ready=PG_READY,
            prepare="seq 1500000 | sed 's/.*/&\\trow &/' > rows.tsv\n" + pg_prepare(f'{PSQL} -c "create table t(n int, v text)"')),
    Healthy("mariadb-two-clients", "MariaDB 10.11, mariadb-slap", slap(2, 160, "select max(sha1(seq)) from mysql.seq_1_to_200000"),
            apt=["mariadb-server"], prepare=MARIA_PREPARE, server=mariadb(), ready=MARIA_READY),
    Healthy("gunicorn-two-workers", "gunicorn, ab", "ab -q -n 300 -c 4 http://127.0.0.1:7652/", pip=["gunicorn"],
            apt=["apache2-utils"], prepare=SUM_PY, server="exec gunicorn -b 127.0.0.1:7652 -w 2 app:app",
            ready="ab -n 1 http://127.0.0.1:7652/"),
]
