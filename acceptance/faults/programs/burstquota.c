/* Healthy: a server in a cgroup with a quota of 60 ms in 100 ms, of which it uses about 25 ms, in bursts: every 50 ms two requests of
 * 6 ms. It is never throttled. Needs root (a cgroup, which it removes). */
#include "cgroup.h"
#include <semaphore.h>
enum { N = 50, HANDLERS = 2 };
static sem_t go, done;
static double due, took[HANDLERS][N];
static int turn;

static void *handler(void *arg) {
    for (;;) {
        sem_wait(&go);
        work_us(6000);
        took[(long)arg][turn] = now_ms() - due;
        sem_post(&done);
        sleep_ms(1); /* so that each takes one of the two */
    }
    return arg;
}
static void server(void) {
    prctl(PR_SET_NAME, "server");
    sem_init(&go, 0, 0), sem_init(&done, 0, 0);
    start_sides();
    for (long i = 0; i < HANDLERS; i++) start_nth("handler", i, handler);
    sleep_ms(20);
    due = now_ms();
    for (turn = 0; turn < N; turn++) {
        sleep_until_ms(due += 50);
        for (int k = 0; k < HANDLERS; k++) sem_post(&go);
        for (int k = 0; k < HANDLERS; k++) sem_wait(&done);
    }
    print_late(&took[0][0], N * HANDLERS, 25);
}
int main(void) { return run_in_cgroup("burstquota", 60000, server); }
