"""Everyday programs of an office and its build machine: encoders, archives, reports, scripts of users, background jobs.

The fourth set, from an author who writes no rules and has not read them in the code, only docs/rules.md.
"""

from bed import Healthy, Pair

TOOK = dict(metric=r"took ([0-9.]+) s", seconds=1)

PAIRS = []


def script(name, source):
    return f"cat > {name} <<'END'\n{source.strip()}\nEND\n"


def hexadecimal(name, size):
    """A command that makes a file of hexadecimal text, of so many bytes; the same one each time."""
    return (f"head -c {size // 2} /dev/zero | openssl enc -aes-128-ctr -K 4 -iv 4 2> /dev/null | od -An -v -tx1 "
            f"| tr -d ' ' | head -c {size} > {name}\n")


def during(batch, foreground):
    """Prints the time of a program during a batch job, which has a process group of its own (no session) and is ended after it."""
    return f"""set -m
{{ {batch}; }} > /dev/null 2>&1 & batch=$!
set +m
sleep 0.2
begin=$(date +%s%N)
{foreground}
echo took $(echo $(($(date +%s%N) - begin)) | sed 's/.........$/.&/') s
kill -- -$batch; wait $batch || true
"""


def in_cpuset(name, cpus):
    """A command that puts the shell in a cpuset of its own (version 1, else 2)."""
    return (f"c=/sys/fs/cgroup; if [ -e $c/cpuset/cpuset.cpus ]; then g=$c/cpuset/{name}; mkdir -p $g; cat $c/cpuset/cpuset.mems > $g/cpuset.mems; "
            f"else g=$c/{name}; echo +cpuset > $c/cgroup.subtree_control; mkdir -p $g; fi; echo {cpus} > $g/cpuset.cpus; echo $$ > $g/cgroup.procs; ")


def in_quota(name, percent):
    """A command that puts the shell in a cgroup that may use `percent` of a CPU (version 1, else 2)."""
    return (f"c=/sys/fs/cgroup; if [ -e $c/cpu ]; then g=$c/cpu/{name}; mkdir -p $g; echo 100000 > $g/cpu.cfs_period_us; "
            f"echo {percent * 1000} > $g/cpu.cfs_quota_us; else g=$c/{name}; mkdir -p $g; echo '{percent * 1000} 100000' > $g/cpu.max; fi; "
            "echo $$ > $g/cgroup.procs; ")


# Pools and pieces

SONGS = "rm -rf in; mkdir in; for n in $(seq 12); do sox -R -n -r 44100 -c 2 in/$n.wav synth 45 pinknoise synth sine fmod $((n * 100)); done\n"
FLAC = dict(software="FLAC 1.4 (Debian)", apt=["flac", "sox"], prepare=SONGS)
PICTURES = "rm -rf in; mkdir in; for n in $(seq 8); do convert -size 500x400 -seed $n plasma:fractal in/$n.png; done\n"
RESIZE = "MAGICK_THREAD_LIMIT=1 convert {} -resize 200% -unsharp 0x2 -quality 85 out.jpg"

TOOLS = "cat $(go env GOROOT)/bin/* $(go env GOROOT)/pkg/tool/*/* | head -c {} > input"

WORDS = """
import sys
from joblib import Parallel, delayed
from pygments.lexers import PythonLexer
def tokens(n):
    return len(list(PythonLexer().get_tokens(f"x{n} = {n}\\n")))
if __name__ == "__main__":
    print(sum(Parallel(n_jobs=2, batch_size=int(sys.argv[1]), pre_dispatch="all")(delayed(tokens)(n) for n in range(6000))))
"""

PAIRS += [
    Pair(
        name="flac-in-a-loop", rules=["too-few-workers"], threads="^flac", **FLAC,
        fault="The loop of the shell encodes one song at a time: one flac runs while the other CPU is idle.",
        bad="for f in in/*.wav; do flac -s -f -8 -o $f.flac $f; done",
        good="ls in/*.wav | xargs -P 2 -I{} flac -s -f -8 -o {}.flac {}",
    ),
    Pair(
        name="convert-in-flock", software="ImageMagick 6 and flock of util-linux (Debian)", apt=["imagemagick", "util-linux"], prepare=PICTURES,
        rules=["too-few-workers", "lock-convoy", "global-lock"], threads="^(convert|flock|bash|xargs)",
        fault="Each job of xargs -P 2 takes the lock of one file (flock) for its whole work: one convert runs, the other job sleeps in flock "
              "and a CPU is idle; fixed: the lock is only for the line in the log.",
        bad="ls in/*.png | xargs -P 2 -I{} flock log.lock bash -c '" + RESIZE.format("{}") + "-$$; echo {} >> log'; rm -f out.jpg-*",
        good="ls in/*.png | xargs -P 2 -I{} bash -c '" + RESIZE.format("{}") + "-$$; flock log.lock echo {} >> log'; rm -f out.jpg-*",
    ),
    Pair(
        name="xz-usual-block-size", software="xz 5.4 (Debian)", apt=["xz-utils"], prepare=TOOLS.format(15_000_000),
        rules=["chunks-too-large", "static-partition-barrier-tail", "too-few-workers"], threads="^xz",
        fault="xz -T2 makes blocks of 12 MiB at level 4: one thread has the first one, and the other is soon done with the small rest and sleeps.",
        bad="xz -4 -T2 -k -c input > out.xz", good="xz -4 -T2 --block-size=1MiB -k -c input > out.xz",
    ),
    Pair(
        name="joblib-batches-of-one", software="joblib and Pygments (PyPI)", pip=["joblib", "pygments"], prepare=script("words.py", WORDS),
        rules=["chunks-too-small", "wakeup-storm"], threads="python|Queue|Executor|loky",
        fault="joblib sends each line to its two processes as a batch of one (batch_size=1): messages and wakeups take longer than the line.",
        bad="python words.py 1", good="python words.py 300",
    ),
    Healthy(name="flac-two-processes", good="ls in/*.wav | xargs -P 2 -I{} flac -s -f -8 -o {}.flac {}", **FLAC),
    Healthy(
        name="xz-blocks-of-1-mib", software="xz 5.4 (Debian)", apt=["xz-utils"], prepare=TOOLS.format(20_000_000),
        good="xz -4 -T2 --block-size=1MiB -k -c input > out.xz",
    ),
]

# Where and how much a program may run

SEARCH = r"rg -ice '\b\w+(\s+\w+){3,5}\s+(value|number)s?\b' $(go env GOROOT)/src > out"

PAIRS += [
    Pair(
        name="pigz-in-cpuset-of-one", software="pigz 2.6 (Debian), cpuset cgroup", apt=["pigz", "openssl"], prepare=hexadecimal("input", 90_000_000),
        rules=["pinned-to-one-cpu"], threads="^pigz",
        fault="The cpuset of pigz has CPU 0 only, where its two threads take turns while CPU 1 is idle.",
        bad=in_cpuset("real-pigz", "0") + "pigz -p 2 -c input > out.gz", good=in_cpuset("real-pigz", "0-1") + "pigz -p 2 -c input > out.gz",
    ),
    Pair(
        name="ripgrep-in-quota", software="ripgrep 13 (Debian) on Go's sources, CPU quota of a cgroup", apt=["ripgrep"],
        rules=["throttled-by-quota"], threads="^rg",
        fault="The two threads of rg use up the quota of their cgroup (70 % of a CPU) in the first 35 ms of each period and are throttled until its end.",
        bad=in_quota("real-rg", 70) + SEARCH, good=in_quota("real-rg", 200) + SEARCH,
    ),
]

# Background jobs

SALES = script("sales.sql", """
with recursive n(i) as (select 1 union all select i + 1 from n where i < 1800000)
select i % 97, count(*), sum(i * 7919 % 1000), max(printf('%08d', i * 31 % 100003)) from n group by 1 order by 3;
""")
PHP = script("report.php", """
<?php
$sum = [];
for ($n = 0; $n < 6000000; $n++) { $k = md5($n); $sum[$k[0]] = ($sum[$k[0]] ?? 0) + strlen($k) + crc32($k) % 7; }
print_r($sum);
""")

PAIRS += [
    Pair(
        name="sqlite-among-nice-4-zstd", software="sqlite3 3.40 and zstd 1.5 (Debian)", apt=["sqlite3", "zstd", "openssl"], **TOOK,
        rules=["low-priority-ran-while-high-was-ready"], threads="^sqlite3",
        fault="sqlite3 (nice 0) is ready while ten zstd of nice 4 run, five for each CPU, which together weigh twice as much; fixed: SCHED_IDLE.",
        prepare=SALES + hexadecimal("other", 9_000_000),
        bad=during("yes other | nice -n 4 xargs -P 10 -n 1 zstd -q -15 --single-thread -c", "sqlite3 :memory: < sales.sql > out"),
        good=during("yes other | chrt -i 0 xargs -P 10 -n 1 zstd -q -15 --single-thread -c", "sqlite3 :memory: < sales.sql > out"),
    ),
    Pair(
        name="pigz-nice-minus-15-in-session", software="pigz 2.6 and xargs with bzip2 (Debian), autogroups", **TOOK,
        apt=["pigz", "bzip2", "openssl", "util-linux"], rules=["nice-without-effect"], threads="^(pigz|bzip2)",
        fault="pigz has nice -15, but in a session of its own, whose group weighs as much as that of the four bzip2 (nice 0): these get half of the CPUs.",
        prepare=hexadecimal("input", 90_000_000) + hexadecimal("other", 9_000_000),
        bad=during("yes other | xargs -P 4 -n 1 bzip2 -k -c", "setsid -w nice -n -15 pigz -p 2 -c input > out.gz"),
        good=during("yes other | xargs -P 4 -n 1 bzip2 -k -c", "nice -n -15 pigz -p 2 -c input > out.gz"),
    ),
    Pair(
        name="php-report-among-gzip", software="PHP 8.2 and xargs with gzip (Debian)", apt=["php-cli", "gzip", "openssl"], **TOOK,
        rules=["critical-thread-same-priority-as-workers"], threads="^php",
        fault="The report of php is ready while six gzip of the nightly archive run at the same priority on the two CPUs; fixed: SCHED_IDLE.",
        prepare=PHP + hexadecimal("other", 9_000_000),
        bad=during("yes other | xargs -P 6 -n 1 gzip -9 -k -c", "php report.php > out"),
        good=during("yes other | chrt -i 0 xargs -P 6 -n 1 gzip -9 -k -c", "php report.php > out"),
    ),
    Pair(
        name="dd-direct-4k", software="dd of coreutils 9.1 (Debian)", apt=["coreutils"], prepare="head -c 256M /dev/urandom > data; sync data\n",
        rules=["io-wait-serialised"], threads="^dd",
        fault="dd iflag=direct bs=4k reads one block of 4 KiB at a time and sleeps (state D) until the disk has answered; fixed: bs=1M.",
        bad="dd if=data of=/dev/null iflag=direct bs=4k count=51200 status=none",
        good="dd if=data of=/dev/null iflag=direct bs=1M count=200 status=none",
    ),
]
