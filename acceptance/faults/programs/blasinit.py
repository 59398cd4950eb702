"""https://github.com/numpy/numpy/pull/4580: OpenBLAS, when loaded, binds the main thread to a CPU (gotoblas_affinity_init); processes that
Python starts later inherit that and share the CPU. Fixed: OPENBLAS_MAIN_FREE leaves the main thread free."""
import multiprocessing
import os
import sys
import threading
import time


def openblas_init():
    """What the library's constructor does on import."""
    if "OPENBLAS_MAIN_FREE" not in os.environ:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def name_process(name):
    with open("/proc/self/comm", "w") as f:
        f.write(name)


def fit(seed):
    x = seed
    for _ in range(330_000):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


def pool_worker(nth, tasks, results):
    name_process(f"pool-{nth}")
    for seed in iter(tasks.get, None):
        results.put(fit(seed))


def metrics():
    while True:
        time.sleep(0.1)
        with open("/proc/self/stat") as f:
            f.read()


def main():
    if "fixed" in sys.argv:
        os.environ["OPENBLAS_MAIN_FREE"] = "1"
    openblas_init()
    context = multiprocessing.get_context("fork")
    tasks, results = context.SimpleQueue(), context.SimpleQueue()
    workers = [context.Process(target=pool_worker, args=(i, tasks, results), daemon=True) for i in range(2)]
    for w in workers:
        w.start()
    threading.Thread(target=metrics, daemon=True).start()
    began = time.monotonic()
    for seed in range(60):
        tasks.put(seed)
    for _ in range(60):
        results.get()
    print(f"work_ms={(time.monotonic() - began) * 1e3:.1f}", flush=True)
    for _ in workers:
        tasks.put(None)
    for w in workers:
        w.join()


main()
