"""Builds, pipelines, media, games and programs that share the machine.

From an author who writes no rules and has not read them in the code, only docs/rules.md. A set to develop rules on. Port 7901 on localhost.
"""

from bed import Healthy, Pair

PAIRS = []


def script(name, source):
    return f"cat > {name} <<'END'\n{source.strip()}\nEND\n"


def quota(group, value):
    """A command that puts the shell in a cgroup with a quota of so many us in 100 ms (-1: none), in version 1 or 2."""
    of_v2 = "max" if value < 0 else value
    return (f"if [ -d /sys/fs/cgroup/cpu ]; then g=/sys/fs/cgroup/cpu/{group}; mkdir -p $g; echo 100000 > $g/cpu.cfs_period_us; "
            f"echo {value} > $g/cpu.cfs_quota_us; else g=/sys/fs/cgroup/{group}; echo +cpu > /sys/fs/cgroup/cgroup.subtree_control || true; "
            f"mkdir -p $g; echo '{of_v2} 100000' > $g/cpu.max; fi; echo $$ > $g/cgroup.procs; ")


def beside(batch, foreground):
    """Runs a batch job that goes on for long during a program, then ends the batch job, which may be a session of its own."""
    return f"""set -m
{{ {batch}; }} > /dev/null 2>&1 & batch=$!
set +m
sleep 0.3
begin=$(date +%s%N)
{foreground}
echo took $(echo $(($(date +%s%N) - begin)) | sed 's/.........$/.&/') s
kill -- -$batch; wait $batch || true
"""


def beside_session(batch, foreground):
    """The same, with the batch job in a session of its own; R ends late if asked to."""
    text = beside(batch, foreground).replace("set -m\n", "").replace("set +m\n", "").replace("kill --", "kill -KILL --")
    return text.replace("{ " + batch + "; }", f"setsid sh -c '{batch}'")


TOOK = dict(metric=r"took ([0-9.]+) s", seconds=1)

# Builds

CMARK = ("test -d cmark || { pip download -q --no-binary :all: --no-deps cmarkgfm==2025.10.22; tar xzf cmarkgfm-2025.10.22.tar.gz; "
         "mv cmarkgfm-2025.10.22 cmark; }\n")
SUB = CMARK + script("Makefile", """
all:
	+$(SUBMAKE) -C cmark/third_party/cmark -f $(CURDIR)/sub.mk
""") + script("sub.mk", """
CFLAGS = -O1 -Isrc -Iextensions -I../../generated/unix
all: $(patsubst %.c,%.o,$(wildcard src/*.c extensions/*.c))
""")
OBJECTS = "rm -f cmark/third_party/cmark/*/*.o"
NINJA = CMARK + script("CMakeLists.txt", """
cmake_minimum_required(VERSION 3.18)
project(cmark C)
file(GLOB sources cmark/third_party/cmark/src/*.c cmark/third_party/cmark/extensions/*.c)
add_executable(cmark-gfm ${sources})
target_include_directories(cmark-gfm PRIVATE cmark/third_party/cmark/src cmark/third_party/cmark/extensions cmark/generated/unix)
""") + "cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release > /dev/null\n"
BUILD = dict(software="Ninja 1.11, CMake 3.25 and gcc 12 (Debian) on cmark-gfm (PyPI)", apt=["ninja-build", "cmake", "gcc"], prepare=NINJA)
DISTCC = (f"{OBJECTS}; mkdir -p .distcc; DISTCC_HOSTS=127.0.0.1:7901/4 DISTCC_FALLBACK=0 DISTCC_DIR=$PWD/.distcc "
          "make -s -j4 -C cmark/third_party/cmark -f $PWD/sub.mk CC='distcc gcc'")
# distccd leaves the process group, so the shell ends it.
DISTCCD = ("rm -rf tmp; mkdir -m 777 tmp; TMPDIR=$PWD/tmp distccd --no-detach --daemon --allow 127.0.0.1 --listen 127.0.0.1 --port 7901 --jobs {} "
           "--log-file $PWD/distccd.log --enable-tcp-insecure & d=$!; trap 'kill $d; wait' TERM; wait")

CTEST = script("CMakeLists.txt", """
cmake_minimum_required(VERSION 3.18)
project(effects NONE)
enable_testing()
foreach(n RANGE 1 9)
  add_test(NAME short${n} COMMAND sox -R short.wav -n reverb ${n}0 pitch 100 rate -v 22050 stat)
endforeach()
add_test(NAME whole COMMAND sox -R whole.wav -n reverb 90 pitch 100 rate -v 22050 stat)
if(COSTS)
  set_tests_properties(whole PROPERTIES COST 100)
endif()
""") + ("sox -R -n -r 44100 -c 2 whole.wav synth 216 pinknoise; sox -R whole.wav short.wav trim 0 24\n"
        "for n in 0 1; do cmake -S . -B costs$n -DCOSTS=$n > /dev/null; ln -sf $PWD/*.wav costs$n/; done\n")

PAIRS += [
    Pair(
        name="make-calls-make", software="GNU make 4.3 and gcc 12 (Debian) on cmark-gfm (PyPI)", apt=["make", "gcc"], prepare=SUB,
        rules=["too-few-workers"], threads="^(make|gcc|cc1|as|cc|sh)$",
        fault="The Makefile calls `make -j1` for the folder below rather than $(MAKE), so it gets none of the jobs of -j2: one cc1 runs at a time.",
        bad=f"{OBJECTS}; make -s -j2 SUBMAKE='make -j1'", good=f"{OBJECTS}; make -s -j2 SUBMAKE=make",
    ),
    Pair(
        name="distccd-one-job", software="distcc 3.4, GNU make and gcc 12 (Debian) on cmark-gfm (PyPI)", apt=["distcc", "make", "gcc"], prepare=SUB,
        rules=["single-server", "too-few-workers"], threads="^(distcc|distccd|cc1|gcc|as|make)$",
        fault="distccd --jobs 1 compiles one file at a time, for which the four jobs of make wait, while a CPU is idle.",
        server=tuple(DISTCCD.format(n) for n in (1, 2)), ready="bash -c ': < /dev/tcp/127.0.0.1/7901'",
        bad=DISTCC, good=DISTCC,
    ),
    Pair(
        name="ctest-longest-last", software="ctest of CMake 3.25 and SoX 14.4 (Debian)", apt=["cmake", "sox", "make"], prepare=CTEST,
        rules=["chunks-too-large", "static-partition-barrier-tail"], threads="^(sox|ctest)",
        fault="ctest -j2 begins the longest test last, when all others are nearly done, and it runs alone; fixed: COST 100 lets it begin first.",
        bad="cd costs0; rm -rf Testing; ctest -j2", good="cd costs1; rm -rf Testing; ctest -j2",
    ),
    Pair(
        name="ninja-in-quota", rules=["throttled-by-quota"], threads="^(cc1|gcc|cc|as|ninja)$", **BUILD,
        fault="The two compilers of ninja -j2 use up their container's quota (90 % of a CPU) in the first half of each period and are throttled for the "
              "rest of it.",
        bad=quota("real-ninja", 90000) + "ninja -C build -t clean > /dev/null; ninja -C build -j2",
        good=quota("real-ninja", -1) + "ninja -C build -t clean > /dev/null; ninja -C build -j2",
    ),
    Healthy(name="ninja-j2", good="ninja -C build -t clean > /dev/null; ninja -C build -j2", **BUILD),
]

# Command line and media

ROWS = "seq 1 3000000 > rows\n"
MAP = script("simulate.py", """
import sys
import numpy
r = numpy.random.default_rng(1)
state = numpy.memmap("state.bin", dtype="f8", mode="w+", shape=(int(sys.argv[2]), 4096))
row = r.normal(size=4096)
for n in range(len(state)):
    row = numpy.tanh(row + 0.1 * numpy.roll(row, 1))
    state[n] = row
    if sys.argv[1] == "each":
        state.flush()
state.flush()
""")
FILM = ("ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=size=320x180:rate=25:duration={} -vf noise=alls=12:allf=t:all_seed=1 -pix_fmt yuv420p in.y4m\n")
NLMEANS = "ffmpeg -nostdin -v error -y -threads 1 -i in.y4m -filter_threads {} -vf nlmeans=s=3:r=9 -threads 1 -f null -"
PLAIN = "head -c 60M /dev/zero | openssl enc -aes-128-ctr -K 1 -iv 1 2> /dev/null | od -An -v -tx4 | head -n {} > numbers\n"

PAIRS += [
    Pair(
        name="grep-line-buffered", software="GNU grep 3.8, sed 4.9 and gawk 5.2 (Debian)", apt=["grep", "sed", "gawk"], prepare=ROWS,
        rules=["wakeup-storm", "chunks-too-small"], threads="^(grep|sed|gawk)",
        fault="grep --line-buffered and sed -u write each line by itself, and wake the next program of the pipeline for it; fixed: whole buffers.",
        bad="grep --line-buffered 7 rows | sed -u 's/7/seven/' | gawk '{n += length($0)} END {print n}'",
        good="grep 7 rows | sed 's/7/seven/' | gawk '{n += length($0)} END {print n}'",
    ),
    Pair(
        name="memmap-flush-per-row", software="numpy's memmap (PyPI)", pip=["numpy"], prepare=MAP, rules=["io-wait-serialised"], threads="^python",
        fault="The simulation flushes each row (memmap.flush, msync) and sleeps until the disk has it before it computes the next one.",
        bad="rm -f state.bin; python simulate.py each 6000", good="rm -f state.bin; python simulate.py last 6000",
    ),
    Pair(
        name="ffmpeg-nlmeans-two-threads", software="ffmpeg 5.1 (Debian)", apt=["ffmpeg"], prepare=FILM.format(5),
        rules=["chunks-too-small", "wakeup-storm", "worker-pool-larger-than-useful"], threads="^ffmpeg|^av:|nlmeans|^vf",
        fault="nlmeans divides each of hundreds of small steps of a frame among two threads, which wake each other for some ten microseconds of work; "
              "fixed: -filter_threads 1 is faster.",
        bad=NLMEANS.format(2), good=NLMEANS.format(1),
    ),
    Healthy(
        name="tar-zstd-2-threads", software="tar 1.34 and zstd 1.5 (Debian) on Go's sources", apt=["tar", "zstd"],
        good="tar cf - -C $(go env GOROOT) src | zstd -q -12 -T2 > out.tar.zst",
    ),
]

# Games, sharing and real time

GAME = script("game.py", """
import os, sys, threading, time, zlib
import pymunk
space = pymunk.Space()
space.gravity = 0, -900
for x in (-200, 200):
    space.add(pymunk.Segment(space.static_body, (x, 0), (x, 900), 4))
space.add(pymunk.Segment(space.static_body, (-200, 0), (200, 0), 4))
for n in range(500):
    body = pymunk.Body(1, 20)
    body.position = (n % 20) * 19 - 185, 20 + n // 20 * 18
    space.add(body, pymunk.Circle(body, 8))
textures = os.urandom(1_500_000) + bytes(1_500_000)
def load():
    if sys.argv[1] == "idle":
        os.sched_setscheduler(threading.get_native_id(), os.SCHED_IDLE, os.sched_param(0))
    while True:
        zlib.compress(textures, 6)
for _ in range(8):
    threading.Thread(target=load, daemon=True, name="textures").start()
time.sleep(0.1)
begin = time.monotonic()
for frame in range(int(sys.argv[2])):
    space.step(1 / 60)
print("took", time.monotonic() - begin, "s", flush=True)
os._exit(0)
""")

FRAMES = script("frames.py", """
import os, statistics, sys, time
os.environ["SDL_VIDEODRIVER"] = "dummy"
import pygame
screen = pygame.display.set_mode((320, 240))
picture = pygame.Surface((300, 200))
late, begin = [], time.monotonic()
for frame in range(int(sys.argv[1])):
    due = begin + frame * 0.01
    time.sleep(max(0, due - time.monotonic()))
    for n in range(40):
        pygame.draw.circle(picture, (n * 5, frame % 255, 90), (n * 7, 100), 30)
    screen.blit(pygame.transform.smoothscale(pygame.transform.rotate(picture, frame % 360), (320, 240)), (0, 0))
    pygame.display.flip()
    late.append(time.monotonic() - max(due, begin))
print("response", statistics.mean(late) * 1e3)
""")
PYGAME = dict(software="pygame 2 (PyPI) beside stress-ng (Debian)", pip=["pygame"], apt=["stress-ng"], prepare=FRAMES)

PITCH = "sox -R -n -r 48000 -c 2 song.wav synth {} pinknoise\n"
SOX = "sox -R song.wav -n pitch 120 reverb 60 rate -v 22050 stat 2> /dev/null"
REVERB = "yes song.wav | {} xargs -P 12 -I@ sox -R @ -n reverb 80 rate -v 32000"

SUMS = "seq 1 4 | xargs -P 2 -I@ gawk -v n=@ 'BEGIN {for (k = 0; k < 10000000; k++) s += (k * n) % 977; print s}'"
SVD = 'yes "repeat svd(matrix(runif(40000), 200))" | nice -n 19 xargs -P 4 -d "\\n" -n 1 Rscript -e'

CONTROL = script("control.c", """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
/* A control loop, and a thread that compresses its log; both use the log under a lock. */
static pthread_mutex_t lock;
static unsigned char log_[200000], packed[220000];

static void *archive(void *none) {
    setpriority(PRIO_PROCESS, gettid(), 10);
    for (;;) {
        uLongf size = sizeof packed;
        pthread_mutex_lock(&lock);
        compress(packed, &size, log_, sizeof log_);
        pthread_mutex_unlock(&lock);
        usleep(1000);
    }
    return none;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    if (argc > 2 && !strcmp(argv[2], "inherit")) pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&lock, &how);
    for (size_t n = 0; n < sizeof log_; n++) log_[n] = rand() % 40;
    pthread_t thread;
    pthread_create(&thread, NULL, archive, NULL);
    pthread_setname_np(thread, "archive");
    struct sched_param high = {.sched_priority = 60};
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &high)) return 1;
    double waited = 0;
    int steps = atoi(argv[1]);
    for (int n = 0; n < steps; n++) {
        usleep(10000);
        double begin = now();
        pthread_mutex_lock(&lock);
        log_[n % sizeof log_] = n;
        pthread_mutex_unlock(&lock);
        waited += now() - begin;
    }
    printf("mean %f ms\\n", waited / steps * 1e3);
}
""") + "gcc -O2 control.c -o control -lz -lpthread\n"


def balanced(yes):
    """A command that turns load balancing between the CPUs off (as isolcpus does) until the shell ends, or leaves it on.

    Only version 1 of cgroups can do so for all CPUs.
    """
    return ("b=$(find /sys/fs/cgroup/cpuset -name cpuset.sched_load_balance | xargs grep -lx 1); "
            "trap 'for f in $b; do echo 1 > $f; done' EXIT; "
            f"for f in $b; do echo {yes} > $f; done; ")


SORT = "LC_ALL=C sort --parallel=2 -S 800M -k2 numbers numbers > sorted"

PAIRS += [
    Pair(
        name="pymunk-among-texture-threads", software="pymunk 7 (PyPI), Python's zlib", pip=["pymunk"], prepare=GAME, **TOOK,
        rules=["critical-thread-same-priority-as-workers"], threads="^python",
        fault="The main thread, which computes the frames of a game, is ready while eight threads of the same priority compress textures on the two "
              "CPUs; fixed: SCHED_IDLE.",
        bad="python game.py same 1300", good="python game.py idle 1300",
    ),
    Pair(
        name="pygame-frames-among-stress", rules=["periodic-thread-delayed", "critical-thread-same-priority-as-workers"], threads="^python", **PYGAME,
        fault="The frame loop of pygame is due each 10 ms, but four workers of stress-ng have its priority: it is ready and waits for a CPU; fixed: "
              "SCHED_IDLE for stress-ng.",
        bad=beside("stress-ng --matrix 6", "python frames.py 250"), good=beside("chrt -i 0 stress-ng --matrix 6", "python frames.py 250"),
        metric=r"response ([0-9.]+)", seconds=0.25,
    ),
    Pair(
        name="sox-among-nice-5-sox", software="SoX 14.4 (Debian)", apt=["sox"], prepare=PITCH.format(140), **TOOK,
        rules=["low-priority-ran-while-high-was-ready"], threads="^sox",
        fault="sox (nice 0) is ready while 12 others at nice 5 run, six for each CPU, which together weigh twice as much; fixed: SCHED_IDLE.",
        bad=beside(REVERB.format("nice -n 5"), SOX), good=beside(REVERB.format("chrt -i 0"), SOX),
    ),
    Pair(
        name="gawk-beside-nice-19-r-session", software="gawk 5.2, xargs and R 4.2 (Debian), autogroups", apt=["gawk", "r-base-core", "util-linux"], **TOOK,
        rules=["nice-without-effect"], threads="^(gawk|R)",
        fault="R has nice 19, but in a session of its own, whose autogroup weighs as much as that of the gawk: these are ready while R gets half of the "
              "CPUs; fixed: nice 19 for the autogroup.",
        bad=beside_session(SVD, SUMS), good=beside_session("echo 19 > /proc/self/autogroup; " + SVD, SUMS),
    ),
    Pair(
        name="control-loop-without-inheritance", software="glibc's mutexes, zlib and stress-ng (Debian)", apt=["gcc", "zlib1g-dev", "stress-ng"],
        prepare=CONTROL, rules=["priority-inversion"], threads="^(control|archive)",
        fault="The control loop (SCHED_FIFO) waits for a lock that the archive's thread (nice 10) has, which is ready while stress-ng (nice 0) runs; "
              "fixed: PTHREAD_PRIO_INHERIT.",
        bad=beside("stress-ng --cpu 4", "./control 100"), good=beside("stress-ng --cpu 4", "./control 100 inherit"),
        metric=r"mean ([0-9.]+) ms", seconds=0.1,
    ),
    Pair(
        name="sort-without-load-balancing", software="GNU sort 9.1 (Debian), cpusets", apt=["coreutils", "openssl"], prepare=PLAIN.format(3000000),
        rules=["serialised-on-one-cpu"], threads="^sort",
        fault="Without load balancing between the CPUs (cpuset.sched_load_balance=0, as with isolcpus), the second thread of sort stays on the CPU of the "
              "first one, although it may run on the other CPU, which is idle.",
        bad=balanced(0) + SORT, good=balanced(1) + SORT,
    ),
    Healthy(name="pygame-frames-alone", good="python frames.py 300", **PYGAME),
]
