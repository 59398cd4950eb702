// https://github.com/PrincetonUniversity/SPEC/pull/207: field line tracing for a Poincare plot. The trajectories are divided in equal
// blocks (static schedule), but those in chaotic regions take far longer. Fixed: a thread takes the next trajectory when it has done one.
#include "fault.h"
#include <algorithm>
#include <atomic>
enum { VOLUMES = 9, NPTRJ = 40, NPPTS = 1000 };
static bool dynamic;
static std::atomic<int> next_trj;
static pthread_barrier_t fork_, join_;

static double trace(int trj) { // adaptive integration: small steps where the field is chaotic
    bool chaotic = trj >= NPTRJ * 6 / 10;
    work_us(chaotic ? 34 * NPPTS : 5 * NPPTS);
    return trj;
}
static void parallel_do(int tid) {
    if (dynamic)
        for (int trj; (trj = next_trj.fetch_add(1)) < NPTRJ;) trace(trj);
    else
        for (int trj = tid * NPTRJ / 2; trj < (tid + 1) * NPTRJ / 2; trj++) trace(trj);
}
static void *omp_thread(void *p) {
    for (int lvol = 0; lvol < VOLUMES; lvol++) {
        pthread_barrier_wait(&fork_);
        parallel_do(1);
        pthread_barrier_wait(&join_);
    }
    return p;
}
int main(int argc, char **argv) {
    dynamic = is_fixed(argc, argv);
    prctl(PR_SET_NAME, "xspec");
    pthread_barrier_init(&fork_, NULL, 2);
    pthread_barrier_init(&join_, NULL, 2);
    start_sides();
    pthread_t omp = start("omp-1", omp_thread, NULL);
    double began = now_ms();
    for (int lvol = 0; lvol < VOLUMES; lvol++) {
        work_us(8000); // sets the volume up
        next_trj = 0;
        pthread_barrier_wait(&fork_);
        parallel_do(0);
        pthread_barrier_wait(&join_);
    }
    print_work(began);
    pthread_join(omp, NULL);
}
