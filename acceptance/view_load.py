"""Draws the load for the limits of `view.py`, as `trace-cmd report` would print it, and a description of the machine.

    acceptance/view_load.py OUT.txt [--slices N] [--threads N] [--cpus N]
    corewise --machine OUT.txt.toml import OUT.txt -o OUT.cw

A quarter of the CPUs are efficient cores, the rest are siblings of performance cores. Each thread runs on its own CPU, for a random
time, until it blocks; the thread that runs next was woken shortly before. No real scheduler does this: it is a load for drawing only.
Slices are the stretches of threads and of CPUs: a turn makes about four (blocked, ready, running, and the CPU's).
"""

import argparse
import heapq
import random
import sys

TURN = 4


def machine(path, cpus):
    performance = cpus * 3 // 4 // 2
    with open(path, "w", encoding="ascii") as out:
        siblings = ", ".join(f'"{2 * core}-{2 * core + 1}"' for core in range(performance))
        out.write(f'[[cpus]]\nids = "0-{2 * performance - 1}"\ntype = "performance"\nsiblings = [{siblings}]\n')
        out.write(f'[[cpus]]\nids = "{2 * performance}-{cpus - 1}"\ntype = "efficient"\n')


def draw(out, slices, threads, cpus):
    dice = random.Random(1)
    of_cpu = [[1000 + t for t in range(threads) if t % cpus == cpu] for cpu in range(cpus)]
    now = [(dice.randrange(100_000), cpu) for cpu in range(cpus)]
    heapq.heapify(now)
    runs = [0] * cpus

    def line(cpu, at, what, words):
        task = f"t{runs[cpu]}-{runs[cpu]}" if runs[cpu] else "<idle>-0"
        out.write(f"{task:>20} [{cpu:03}] {at // 10**9}.{at % 10**9:09}: {what + ':':<22}{words}\n")

    out.write(f"cpus={cpus}\n")
    for turn in range(slices // TURN):
        at, cpu = heapq.heappop(now)
        before = runs[cpu]
        following = dice.choice(of_cpu[cpu])
        if following != before:
            line(cpu, at, "sched_wakeup", f"t{following}:{following} [120] CPU:{cpu:03}")
            at += dice.randrange(1_000, 20_000)
            was = f"t{before}:{before} [120] S" if before else f"swapper/{cpu}:0 [120] R"
            line(cpu, at, "sched_switch", f"{was} ==> t{following}:{following} [120]")
            runs[cpu] = following
        if turn % 50 == 0:
            line(cpu, at, "cpu_frequency", f"state={dice.randrange(8, 50) * 100_000} cpu_id={cpu}")
        heapq.heappush(now, (at + int(dice.expovariate(1 / 60_000)) + 1_000, cpu))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--slices", type=int, default=5_000_000)
    parser.add_argument("--threads", type=int, default=5000)
    parser.add_argument("--cpus", type=int, default=64)
    args = parser.parse_args()
    machine(args.out + ".toml", args.cpus)
    with open(args.out, "w", encoding="ascii") as out:
        draw(out, args.slices, args.threads, args.cpus)
    return 0


if __name__ == "__main__":
    sys.exit(main())
