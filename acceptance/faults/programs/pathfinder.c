/* http://research.microsoft.com/en-us/um/people/mbj/mars_pathfinder/: one CPU; bc_dist needs a mutex that ASI/MET (low priority) holds,
 * while tasks of middle priority run. Fixed: priority inheritance. Needs the right to real-time priorities. */
#include "fault.h"
enum { CYCLES = 110 };
static pthread_mutex_t mutex;
static double took[CYCLES], epoch;

static void *bc_dist(void *arg) { /* distributes the data of the 1553 bus; has to be done before the next cycle's set-up */
    be_fifo(SCHED_FIFO, 80);
    for (int i = 0; i < CYCLES; i++) {
        double due = epoch + i * 23;
        sleep_until_ms(due);
        work_us(800);
        pthread_mutex_lock(&mutex); /* in select() */
        work_us(200);
        pthread_mutex_unlock(&mutex);
        work_us(500);
        took[i] = now_ms() - due;
    }
    return arg;
}
static void *asi_met(void *arg) { /* the weather task */
    be_fifo(SCHED_FIFO, 20);
    for (double due = epoch;; sleep_until_ms(due += 19)) {
        pthread_mutex_lock(&mutex);
        work_us(5000);
        pthread_mutex_unlock(&mutex);
        work_us(700);
    }
    return arg;
}
static void *comm(void *arg) { /* tasks of middle priority: communication, images */
    be_fifo(SCHED_FIFO, 50);
    double period = (long)arg ? 41 : 29;
    for (double due = epoch;; sleep_until_ms(due += period)) work_us(9000);
    return arg;
}
int main(int argc, char **argv) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    if (is_fixed(argc, argv)) pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex, &attr);
    cpu_set_t one; /* the spacecraft has one CPU */
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    if (sched_setaffinity(0, sizeof one, &one)) { perror("sched_setaffinity"); return 1; }
    start_sides();
    epoch = now_ms() + 50;
    start("ASI/MET", asi_met, NULL);
    for (long i = 0; i < 2; i++) start_nth("comm", i, comm);
    pthread_join(start("bc_dist", bc_dist, NULL), NULL);
    print_late(took, CYCLES, 8);
}
