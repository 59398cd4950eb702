/* Healthy: a batch that uses every CPU to its end: one thread for each CPU takes small pieces from a shared counter. */
#include "fault.h"
enum { PIECES = 2400 };
static int next_piece;

static void *worker(void *arg) {
    for (int i; (i = __atomic_fetch_add(&next_piece, 1, __ATOMIC_RELAXED)) < PIECES;) work_us(1300 + i % 11 * 60);
    return arg;
}
int main(void) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t *t = calloc((size_t)cpus, sizeof *t);
    start_sides();
    double began = now_ms();
    for (long i = 0; i < cpus; i++) t[i] = start_nth("worker", i, worker);
    for (long i = 0; i < cpus; i++) pthread_join(t[i], NULL);
    print_work(began);
    free(t);
}
