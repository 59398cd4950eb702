"""Scientific programs: MPI, OpenMP, OpenCV, XGBoost, HDF5, Dask, R, pandoc's Haskell run time, and numpy's OpenBLAS in a pool of processes.

From an author who writes no rules and has not read them in the code, only docs/rules.md. A set to develop rules on.
"""

from bed import Healthy, Pair

PAIRS = []


def script(name, source):
    return f"cat > {name} <<'END'\n{source.strip()}\nEND\n"


# MPI

MELT = script("in.melt", """
variable steps index 200
units lj
lattice fcc 0.8442
region box block 0 14 0 14 0 14
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
run ${steps}
""")
MPIRUN = "mpirun --allow-run-as-root --oversubscribe --mca btl self,vader"
LAMMPS = dict(software="LAMMPS 2022 with Open MPI 4.1 (Debian)", apt=["lammps", "openmpi-bin"], prepare=MELT)

HEAT = script("heat.f90", """
! The temperature of a plate, whose rows are divided among the ranks.
program heat
  use mpi
  implicit none
  integer, parameter :: n = 400
  integer :: ierr, rank, ranks, rows, step, up, down
  real(8), allocatable :: t(:, :), next(:, :)
  real(8) :: change, total
  call mpi_init(ierr)
  call mpi_comm_rank(mpi_comm_world, rank, ierr)
  call mpi_comm_size(mpi_comm_world, ranks, ierr)
  rows = n / ranks
  allocate(t(n, 0:rows + 1), next(n, 0:rows + 1))
  t = 0
  if (rank == 0) t(:, 0) = 100
  next = t
  up = merge(rank - 1, mpi_proc_null, rank > 0)
  down = merge(rank + 1, mpi_proc_null, rank < ranks - 1)
  do step = 1, 6000
    call mpi_sendrecv(t(:, rows), n, mpi_double_precision, down, 1, t(:, 0), n, mpi_double_precision, up, 1, &
                      mpi_comm_world, mpi_status_ignore, ierr)
    call mpi_sendrecv(t(:, 1), n, mpi_double_precision, up, 2, t(:, rows + 1), n, mpi_double_precision, down, 2, &
                      mpi_comm_world, mpi_status_ignore, ierr)
    next(2:n - 1, 1:rows) = 0.25d0 * (t(1:n - 2, 1:rows) + t(3:n, 1:rows) &
                                      + t(2:n - 1, 0:rows - 1) + t(2:n - 1, 2:rows + 1))
    change = maxval(abs(next(:, 1:rows) - t(:, 1:rows)))
    t(:, 1:rows) = next(:, 1:rows)
    if (mod(step, 100) == 0) call mpi_allreduce(change, total, 1, mpi_double_precision, mpi_max, mpi_comm_world, ierr)
  end do
  if (rank == 0) print *, total
  call mpi_finalize(ierr)
end program
""") + "mpif90 -O2 heat.f90 -o heat\n"

PAIRS += [
    Pair(
        name="lammps-three-ranks", rules=["busy-wait-at-barrier", "oversubscribed"], threads="^lmp", **LAMMPS,
        fault="Three ranks of LAMMPS on 2 CPUs: a rank that waits for a message spins in Open MPI (mpi_yield_when_idle=0) and keeps the CPU from "
              "the rank that still computes, which is ready; fixed: two ranks.",
        bad=f"{MPIRUN} --mca mpi_yield_when_idle 0 -np 3 lmp -in in.melt -log none", good=f"{MPIRUN} -np 2 lmp -in in.melt -log none",
    ),
    Pair(
        name="openmpi-two-jobs-on-core-0", software="Open MPI 4.1 and gfortran 12 (Debian)", apt=["openmpi-bin", "libopenmpi-dev", "gfortran"],
        rules=["pinned-to-one-cpu"], threads="^heat", prepare=HEAT,
        fault="Two jobs of mpirun --bind-to core with one rank each do not know of one another: both bind their rank to core 0, where one waits while "
              "the other runs, and CPU 1 is idle.",
        bad=f"{MPIRUN} --bind-to core -np 1 ./heat & {MPIRUN} --bind-to core -np 1 ./heat; wait",
        good=f"{MPIRUN} --bind-to none -np 1 ./heat & {MPIRUN} --bind-to none -np 1 ./heat; wait",
    ),
    Healthy(name="lammps-two-ranks", good=f"{MPIRUN} -np 2 lmp -in in.melt -log none -var steps 700", **LAMMPS),
]

# Libraries of Python

XGBOOST = script("train.py", """
import sys
import numpy, xgboost
r = numpy.random.default_rng(1)
x = r.normal(size=(20000, 12))
y = (x[:, 0] * x[:, 1] + r.normal(size=20000) > 0).astype(int)
data = xgboost.QuantileDMatrix(x, y, nthread=2)
xgboost.train({"objective": "binary:logistic", "max_depth": 5, "nthread": int(sys.argv[1])}, data, int(sys.argv[2]))
""")
BOOST = dict(software="XGBoost 3 (PyPI) with libgomp", pip=["xgboost-cpu", "numpy"], prepare=XGBOOST)

TRACK = script("track.py", """
import sys
import cv2, numpy
cv2.setNumThreads(int(sys.argv[1]))
r = numpy.random.default_rng(1)
frame = r.integers(0, 255, size=(240, 320), dtype=numpy.uint8)
total = 0
for n in range(int(sys.argv[2])):
    flat = cv2.medianBlur(cv2.resize(frame, (160, 120)), 3)
    flat = cv2.warpAffine(flat, numpy.float32([[1, 0, n % 9], [0, 1, n % 5]]), (160, 120))
    flat = cv2.GaussianBlur(flat, (9, 9), 0)
    total += int(cv2.threshold(flat, 127, 255, cv2.THRESH_BINARY)[1].sum())
print(total)
""")

H5 = script("make.py", """
import h5py, numpy
r = numpy.random.default_rng(1)
with h5py.File("data.h5", "w") as f:
    for n in range(16):
        f.create_dataset(f"d{n}", data=r.integers(0, 60, size=(1000, 4000)).cumsum(1), chunks=(100, 1000), compression="gzip", compression_opts=4)
""") + script("read.py", """
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import h5py
def total(n):
    with h5py.File("data.h5", "r") as f:
        return int(f[f"d{n % 16}"][:, :].sum())
if __name__ == "__main__":
    pool = ThreadPoolExecutor if sys.argv[1] == "threads" else ProcessPoolExecutor
    with pool(2) as p:
        print(sum(p.map(total, range(int(sys.argv[2])))))
""") + "python make.py\n"

DASK = script("mean.py", """
import sys
import dask, dask.array as da
side = int(sys.argv[1])
x = da.ones((3000, 3000), chunks=(side, side))
y = (da.sin(x) ** 2 + da.cos(x.T) ** 2 + da.exp(-x)).mean(axis=0)
print(y.sum().compute(scheduler="threads", num_workers=2, optimize_graph=False))
""")

POOL = script("fit.py", """
import multiprocessing, sys
import numpy
def fit(seed):
    r = numpy.random.default_rng(seed)
    x = r.normal(size=(1200, 160))
    y = x @ r.normal(size=160)
    return sum(float(numpy.linalg.solve(x.T @ x + k * numpy.eye(160), x.T @ y)[0]) for k in range(1, 9))
if __name__ == "__main__":
    with multiprocessing.Pool(4) as pool:
        print(sum(pool.imap_unordered(fit, range(int(sys.argv[1])))))
""")

PAIRS += [
    Pair(
        name="opencv-64-threads", software="OpenCV 4 (PyPI)", pip=["opencv-python-headless", "numpy"], prepare=TRACK,
        rules=["worker-pool-larger-than-useful", "wakeup-storm", "oversubscribed"], threads="^python",
        fault="cv2.setNumThreads(64) on 2 CPUs: OpenCV wakes the threads of its pool for each filter of a small picture, most of them for nothing, and "
              "waits for those that have a stripe.",
        bad="python track.py 64 34000", good="python track.py 2 34000",
    ),
    Pair(
        name="h5py-two-threads", software="h5py 3 with HDF5 (PyPI)", pip=["h5py", "numpy"], rules=["global-lock", "lock-convoy"], threads="^python",
        fault="Two threads read compressed data sets of HDF5, which decompresses under the one lock of h5py: one thread runs, the other waits for the "
              "lock, and a CPU is idle; fixed: two processes.",
        prepare=H5, bad="python read.py threads 48", good="python read.py processes 48",
    ),
    Pair(
        name="dask-chunks-of-50", software="Dask's array (PyPI)", pip=["dask[array]", "numpy"], rules=["chunks-too-small", "global-lock", "wakeup-storm"],
        threads="^(python|ThreadPool)",
        fault="Chunks of 50 by 50 numbers make some 30,000 tasks of Dask, each of a few microseconds: the main thread hands over each of them to the two "
              "threads of the pool, and back; fixed: 1000 by 1000.",
        prepare=DASK, bad="python mean.py 50", good="python mean.py 1000",
    ),
    Pair(
        name="numpy-pool-times-openblas", software="numpy with OpenBLAS (PyPI), Python's multiprocessing", pip=["numpy"],
        rules=["oversubscribed", "busy-wait-at-barrier", "worker-pool-larger-than-useful"], threads="^python",
        fault="Four processes of a pool, each with two threads of OpenBLAS that spin for one another, run on 2 CPUs; fixed: OPENBLAS_NUM_THREADS=1.",
        prepare=POOL, bad="OPENBLAS_NUM_THREADS=2 python fit.py 60", good="OPENBLAS_NUM_THREADS=1 python fit.py 60",
    ),
    Healthy(name="xgboost-two-threads", good="OMP_WAIT_POLICY=passive python train.py 2 900", **BOOST),
]

# R, Haskell, C++

R = script("cluster.R", """
library(parallel)
# Clusters the regions of a country, which are sorted by their number of towns.
regions <- function(n) { set.seed(n); towns <- matrix(rnorm(n * 40 * 6), ncol = 6); length(hclust(dist(towns), "average")$height) }
cl <- makeCluster(2)
done <- if (commandArgs(TRUE)[1] == "split") parLapply(cl, 1:66, regions) else parLapplyLB(cl, 66:1, regions, chunk.size = 1)
print(sum(unlist(done)))
stopCluster(cl)
""")

PAGES = script("pages.py", """
words = "the sea was calm and *grey* as `x = 1` went by [home](http://a.b) while **all** slept".split()
for n in range(1100):
    print(f"## Chapter {n}\\n\\n" + " ".join(words[(n * k) % len(words)] for k in range(1, 90)) + "\\n\\n- one\\n- two\\n")
""") + "python3 pages.py > pages.md\n"

JSON = script("count.cpp", """
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
// Parses lines of JSON in parallel.
int main() {
    std::vector<std::string> lines;
    std::ifstream in("input");
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    long total = 0;
#pragma omp parallel for schedule(dynamic, 8) reduction(+ : total)
    for (size_t n = 0; n < 6 * lines.size(); n++) total += nlohmann::json::parse(lines[n % lines.size()])["values"].size();
    printf("%ld\\n", total);
}
""") + script("lines.py", """
import json
for n in range(1500):
    print(json.dumps({"id": n, "values": [{"name": f"the item {n * k} with a long name", "tags": ["a" * 30, "b" * 40], "price": k / 7} for k in range(150)]}))
""") + "python3 lines.py > input; g++ -O2 -fopenmp count.cpp -o count\n"

PAIRS += [
    Pair(
        name="r-parlapply-sorted", software="R 4.2 and its parallel (Debian)", apt=["r-base-core"],
        rules=["static-partition-barrier-tail", "chunks-too-large"], threads="^R",
        fault="parLapply gives each of the two R processes one half of the regions, which are sorted by size: that with the large ones computes alone "
              "after the other is done; fixed: parLapplyLB.",
        prepare=R, bad="Rscript cluster.R split", good="Rscript cluster.R balanced",
    ),
    Pair(
        name="pandoc-small-nursery", software="pandoc 2.17 (Debian) with GHC's run time", apt=["pandoc"],
        rules=["collector-pause", "busy-wait-at-barrier"], threads="^(pandoc|ghc)",
        fault="-A64k -N2: the two threads of GHC's parallel collector stop pandoc every 64 KiB, which it allocates in some microseconds; fixed: -A64m.",
        prepare=PAGES, bad="pandoc +RTS -N2 -A64k -RTS pages.md -o out.html", good="pandoc +RTS -N2 -A64m -RTS pages.md -o out.html",
    ),
    Pair(
        name="json-one-malloc-arena", software="JSON for Modern C++ 3.11 and glibc's malloc (Debian)", apt=["nlohmann-json3-dev", "g++"],
        rules=["lock-convoy", "global-lock"], threads="^count",
        fault="MALLOC_ARENA_MAX=1: four threads that parse JSON queue for the lock of malloc's one arena, which each takes for less than a microsecond.",
        prepare=JSON, bad="OMP_NUM_THREADS=4 OMP_WAIT_POLICY=passive MALLOC_ARENA_MAX=1 ./count",
        good="OMP_NUM_THREADS=4 OMP_WAIT_POLICY=passive ./count",
    ),
]
