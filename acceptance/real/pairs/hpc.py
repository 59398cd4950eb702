"""Compressors, encoders, renderers, compilers and OpenMP programs: their own thread counts, block sizes, masks and waiting."""

from bed import Healthy, Pair


def text(name, size):
    """A command that makes a file of words, of so many bytes."""
    return f"""python3 - <<'END'
import random
r = random.Random(1)
words = ["".join(r.choice("etaoinshrdlucmfwyp") for _ in range(r.randint(2, 9))) for _ in range(20000)]
with open("{name}", "w") as f:
    while f.tell() < {size}:
        f.write("".join(" ".join(r.choices(words, k=9)) + "\\n" for _ in range(10000)))
    f.truncate({size})
END
"""


def script(name, source):
    return f"cat > {name} <<'END'\n{source}END\n"


def quota(group, value):
    """A command that puts the shell in a cgroup with a quota of so many us in 100 ms (-1: none), in version 1 or 2."""
    of_v2 = "max" if value < 0 else value
    return (f"if [ -d /sys/fs/cgroup/cpu ]; then g=/sys/fs/cgroup/cpu/{group}; mkdir -p $g; echo 100000 > $g/cpu.cfs_period_us; "
            f"echo {value} > $g/cpu.cfs_quota_us; else g=/sys/fs/cgroup/{group}; echo +cpu > /sys/fs/cgroup/cgroup.subtree_control || true; "
            f"mkdir -p $g; echo '{of_v2} 100000' > $g/cpu.max; fi; echo $$ > $g/cgroup.procs; ")


# A video with noise, so that encoding takes time.
RAW = "ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=size={size}:rate=30:duration={s} -vf noise=alls=12:allf=t:all_seed=1 -pix_fmt yuv420p {to}"

LIGHTGBM = """import sys
import lightgbm, numpy
r = numpy.random.default_rng(1)
x = r.normal(size=(4000, 20))
y = (x[:, 0] * x[:, 1] + r.normal(size=4000) > 0).astype(int)
params = {"objective": "binary", "num_leaves": 31, "verbose": -1, "num_threads": int(sys.argv[1]), "deterministic": True, "force_col_wise": True}
lightgbm.train(params, lightgbm.Dataset(x, y), num_boost_round=int(sys.argv[2]))
"""

SKLEARN = """import numpy
from sklearn.ensemble import HistGradientBoostingRegressor
r = numpy.random.default_rng(1)
x = r.normal(size=(6000, 12))
y = x[:, 0] * x[:, 1] + r.normal(size=6000)
HistGradientBoostingRegressor(max_iter=40, early_stopping=False, random_state=1).fit(x, y)
"""

# The batch job never ends by itself; it is ended once the other program is done.
NICE = """$1 nice -n 19 xz -6 -T2 --block-size=1MiB -c other other other > /dev/null &
sleep 0.2
begin=$(date +%s%N)
rm -f out.7z
7z a -bd -y -mx=3 -m0=lzma2:d=256k:c=1m -mmt=2 out.7z input > /dev/null
echo took $(echo $(($(date +%s%N) - begin)) | sed 's/.........$/.&/') s
kill $!
"""

LIVE = """nice -n $1 xz -6 -T8 --block-size=1MiB -c other other other > /dev/null &
sleep 0.2
begin=$(date +%s%N)
ffmpeg -nostdin -v error -y -re -i input.y4m -c:v libx264 -preset medium -threads 2 out.mp4
echo took $(echo $(($(date +%s%N) - begin)) | sed 's/.........$/.&/') s
kill $!
"""

PAIRS = [
    Pair(
        name="zstd-one-job", software="zstd 1.5 (Debian)", apt=["zstd"],
        rules=["too-few-workers", "chunks-too-large"], threads="^zstd",
        fault="One worker of zstd -T2 compresses the whole file as one job (-B512MB) while the other worker sleeps and a CPU is idle.",
        prepare=text("input", 70_000_000),
        bad="zstd -q -11 -T2 -B512MB -c input > out.zst",
        good="zstd -q -11 -T2 -B4MB -c input > out.zst",
    ),
    Pair(
        name="povray-one-block", software="povray 3.7 (Debian)", apt=["povray", "povray-includes", "povray-examples"],
        rules=["chunks-too-large", "too-few-workers"], threads="^povray",
        fault="One render thread of povray traces the whole picture, which is one block (+BS1024), while the other render thread has none.",
        bad="povray /usr/share/doc/povray/examples/advanced/chess2.pov +W240 +H180 +WT2 +BS1024 -D +Oout.png",
        good="povray /usr/share/doc/povray/examples/advanced/chess2.pov +W240 +H180 +WT2 +BS16 -D +Oout.png",
    ),
    Pair(
        name="x264-one-thread", software="x264 0.164 (Debian)", apt=["x264", "ffmpeg"],
        rules=["too-few-workers"], threads="^x264",
        fault="The one thread of x264 --threads 1 encodes all frames while the other CPU is idle.",
        prepare=RAW.format(size="640x360", s=4, to="input.y4m"),
        bad="x264 --quiet --no-progress --preset medium --threads 1 -o out.264 input.y4m",
        good="x264 --quiet --no-progress --preset medium --threads auto -o out.264 input.y4m",
    ),
    Pair(
        name="make-without-j", software="GNU make 4.3 and gcc 12 (Debian) on brotli 1.1 (PyPI)", apt=["make", "gcc"],
        rules=["too-few-workers"], threads="^(make|gcc|cc1|as|sh)$",
        fault="make without -j runs one compiler at a time, so that one cc1 runs while the other CPU is idle.",
        prepare="pip download -q --no-binary :all: --no-deps brotli==1.1.0; tar xzf [Bb]rotli-1.1.0.tar.gz --strip-components=1; "
                + script("Makefile", "all: $(patsubst %.c,%.o,$(wildcard c/common/*.c c/dec/*.c c/enc/*.c))\nCFLAGS = -O0 -Ic/include\n"),
        bad="rm -f c/*/*.o; make -s -j1",
        good="rm -f c/*/*.o; make -s -j2",
    ),
    Pair(
        name="openssl-multi-pinned", software="openssl speed 3.0 (Debian)", apt=["openssl"],
        rules=["pinned-to-one-cpu"], threads="^openssl",
        fault="Both worker processes of openssl speed -multi 2 inherit a mask of CPU 0 and wait for it in turn while CPU 1 is idle.",
        bad="taskset -c 0 openssl speed -seconds 1 -multi 2 rsa2048",
        good="openssl speed -seconds 1 -multi 2 rsa2048",
        metric=r"rsa 2048 bits +\S+s +\S+s +([0-9.]+)", higher_is_better=True,
    ),
    Pair(
        name="lightgbm-8-threads-active", software="lightgbm (PyPI) with libgomp", apt=["libgomp1"], pip=["lightgbm", "numpy"],
        rules=["busy-wait-at-barrier", "oversubscribed"], threads="^python",
        fault="8 threads of LightGBM's OpenMP team on 2 CPUs: those that are done spin at the barrier (OMP_WAIT_POLICY=active) "
              "and keep the CPUs from those that still have work.",
        prepare=script("train.py", LIGHTGBM),
        bad="OMP_WAIT_POLICY=active python train.py 8 150",
        good="OMP_WAIT_POLICY=active python train.py 2 150",
    ),
    Pair(
        name="sklearn-48-threads-passive", software="scikit-learn HistGradientBoosting (PyPI) with libgomp", pip=["scikit-learn", "numpy"],
        rules=["worker-pool-larger-than-useful", "wakeup-storm", "oversubscribed", "chunks-too-small"], threads="^python",
        fault="48 threads of the OpenMP team on 2 CPUs are woken for each short loop of a tree, each for some us, and the main thread waits for all.",
        prepare=script("fit.py", SKLEARN),
        bad="OMP_NUM_THREADS=48 OMP_WAIT_POLICY=passive python fit.py",
        good="OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive python fit.py",
    ),
    Pair(
        name="xargs-uneven-batches", software="GNU xargs and xz (Debian)", apt=["findutils", "xz-utils"],
        rules=["static-partition-barrier-tail", "chunks-too-large"], threads="^(xz|xargs)",
        fault="xargs -P2 -n 20 makes two batches of files of unlike size; the xz with the large files runs alone after the other has ended.",
        prepare=text("all", 32_000_000) + "rm -rf in; mkdir in; for n in $(seq 1 40); do s=$((n > 20 ? 1400000 : 100000)); "
                "head -c $((n * 800000)) all | tail -c $s > in/$(printf %02d $n); done",
        bad="ls in/* | xargs -P 2 -n 20 xz -3 -T1 -k -c > /dev/null",
        good="ls in/* | xargs -P 2 -n 1 xz -3 -T1 -k -c > /dev/null",
    ),
    Pair(
        name="parallel-tiny-jobs", software="GNU parallel 20221122 (Debian)", apt=["parallel"],
        rules=["chunks-too-small", "single-server"], threads="^(perl|parallel|bash|sh|cksum)",
        fault="GNU parallel starts a shell and a cksum for each of 600 files of 4 KiB: its one perl process starts them, longer than they work.",
        prepare=text("all", 2_457_600) + "rm -rf in; mkdir in; split -b 4096 -a 3 all in/f",
        bad="ls in/* | parallel --will-cite -j2 -n1 cksum > /dev/null",
        good="ls in/* | parallel --will-cite -j2 -n100 cksum > /dev/null",
    ),
    Pair(
        name="ffmpeg-quota", software="ffmpeg 5.1 with libx264 (Debian), CPU quota of a cgroup", apt=["ffmpeg"],
        rules=["throttled-by-quota"], threads="^(ffmpeg|enc)",
        fault="The threads of ffmpeg use up their cgroup's quota (0.8 CPU) in the first part of each period and are throttled for the rest of it.",
        prepare=RAW.format(size="640x360", s=2, to="input.y4m"),
        bad=quota("real-ffmpeg", 80000) + "ffmpeg -nostdin -v error -y -i input.y4m -c:v libx264 -preset medium -threads 2 out.mp4",
        good=quota("real-ffmpeg", -1) + "ffmpeg -nostdin -v error -y -i input.y4m -c:v libx264 -preset medium -threads 2 out.mp4",
    ),
    Pair(
        name="graphicsmagick-gomp-affinity", software="GraphicsMagick 1.4 with libgomp (Debian)", apt=["graphicsmagick", "imagemagick"],
        rules=["pinned-to-one-cpu"], threads="^gm",
        fault="GOMP_CPU_AFFINITY=0 binds both threads of GraphicsMagick's OpenMP team to CPU 0, where one waits while the other runs.",
        prepare="convert -size 800x600 -seed 1 plasma:fractal input.png",
        bad="OMP_NUM_THREADS=2 GOMP_CPU_AFFINITY=0 gm convert input.png -median 3 out.bmp",
        good="OMP_NUM_THREADS=2 GOMP_CPU_AFFINITY='0 1' gm convert input.png -median 3 out.bmp",
    ),
    Pair(
        name="7z-beside-nice-19-session", software="7-Zip (Debian) beside xz (Debian), autogroups", apt=["p7zip-full", "xz-utils"],
        rules=["nice-without-effect"], threads="^(7z|xz)",
        fault="xz at nice 19 in a session of its own gets as much CPU as 7z: nice weighs only within an autogroup, and theirs differ.",
        prepare=text("input", 56_000_000) + text("other", 60_000_000) + script("job.sh", NICE),
        bad="bash job.sh setsid",
        good="bash job.sh",
        metric=r"took ([0-9.]+) s", seconds=1,
    ),
    Pair(
        name="ffmpeg-live-beside-batch", software="ffmpeg 5.1 -re with libx264 (Debian) beside xz (Debian)", apt=["ffmpeg", "xz-utils"],
        rules=["critical-thread-same-priority-as-workers", "periodic-thread-delayed"], threads="^(ffmpeg|enc|demux|vf#|mux)",
        fault="ffmpeg, which encodes a live stream of 30 frames per s, waits for a CPU behind 8 batch threads of xz at equal priority and is late.",
        prepare=text("other", 60_000_000) + RAW.format(size="480x270", s=2, to="input.y4m") + "\n" + script("job.sh", LIVE),
        bad="bash job.sh 0",
        good="bash job.sh 19",
        metric=r"took ([0-9.]+) s", seconds=1,
    ),
    Healthy(
        name="pigz-2-threads", software="pigz 2.6 (Debian)", apt=["pigz"],
        prepare=text("input", 70_000_000),
        good="pigz -p 2 -c input > out.gz",
    ),
    Healthy(
        name="pbzip2-2-threads", software="pbzip2 1.1 (Debian)", apt=["pbzip2"],
        prepare=text("input", 30_000_000),
        good="pbzip2 -p2 -b9 -k -c input > out.bz2",
    ),
    Healthy(
        name="povray-2-threads", software="povray 3.7 (Debian)", apt=["povray", "povray-includes", "povray-examples"],
        good="povray /usr/share/doc/povray/examples/advanced/chess2.pov +W300 +H220 +WT2 -D +Oout.png",
    ),
    Healthy(
        name="xargs-2-processes", software="GNU xargs and xz (Debian)", apt=["findutils", "xz-utils"],
        prepare=text("all", 32_000_000) + "rm -rf in; mkdir in; split -b 800000 all in/f",
        good="ls in/* | xargs -P 2 -n 1 xz -3 -T1 -k -c > /dev/null",
    ),
]
