/* https://github.com/flame/blis/issues/604: threads of a team spin in the barrier without any backoff, which is slow when there are more
 * of them than CPUs. Fixed: the loop calls sched_yield. */
#include "fault.h"
enum { TEAM = 4, STEPS = 420 };
struct thrcomm { int barrier_sense, barrier_threads_arrived; };
static struct thrcomm comm;
static int backoff;
static double panel[TEAM][64];

static void bli_thrcomm_barrier(void) {
    int sense = __atomic_load_n(&comm.barrier_sense, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&comm.barrier_threads_arrived, 1, __ATOMIC_ACQ_REL) == TEAM) {
        comm.barrier_threads_arrived = 0;
        __atomic_store_n(&comm.barrier_sense, !sense, __ATOMIC_RELEASE);
        return;
    }
    for (int spins = 1; __atomic_load_n(&comm.barrier_sense, __ATOMIC_ACQUIRE) == sense; spins++) {
        __builtin_ia32_pause();
        if (backoff && spins % 1000 == 0) sched_yield();
    }
}
static void *gemm(void *arg) {
    long me = (long)arg;
    for (int step = 0; step < STEPS; step++) {
        work_us(600); /* packs its part of the panel */
        panel[me][step % 64] = step;
        bli_thrcomm_barrier();
        work_us(1500); /* multiplies with all parts */
        for (int t = 0; t < TEAM; t++) panel[me][(step + 1) % 64] += panel[t][step % 64];
        bli_thrcomm_barrier();
    }
    return NULL;
}
int main(int argc, char **argv) {
    backoff = is_fixed(argc, argv);
    start_sides();
    pthread_t team[TEAM];
    double began = now_ms();
    for (long i = 0; i < TEAM; i++) team[i] = start_nth("gemm", i, gemm);
    for (int i = 0; i < TEAM; i++) pthread_join(team[i], NULL);
    print_work(began);
}
