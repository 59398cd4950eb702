/* https://github.com/nanomsg/nng/pull/54: dispatching a task wakes all threads that sleep on the task queue's condition variable, which
 * then contend for its mutex. Fixed: only one thread is woken. */
#include "fault.h"
enum { NTHREADS = 8, MESSAGES = 45000 };
struct task { struct task *next; void (*cb)(struct task *); int done; };
static struct { pthread_mutex_t mtx; pthread_cond_t cv; struct task *first, **last; } tq = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &tq.first};
static pthread_mutex_t aio_mtx = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t aio_cv = PTHREAD_COND_INITIALIZER;
static int wake_one;

static void *taskq_thread(void *p) {
    pthread_mutex_lock(&tq.mtx);
    for (;;) {
        struct task *t = tq.first;
        if (!t) {
            pthread_cond_wait(&tq.cv, &tq.mtx);
            continue;
        }
        if (!(tq.first = t->next)) tq.last = &tq.first;
        pthread_mutex_unlock(&tq.mtx);
        t->cb(t);
        pthread_mutex_lock(&tq.mtx);
    }
    return p;
}
static void task_dispatch(struct task *t) {
    pthread_mutex_lock(&tq.mtx);
    t->next = NULL;
    *tq.last = t, tq.last = &t->next;
    if (wake_one) pthread_cond_signal(&tq.cv);
    else pthread_cond_broadcast(&tq.cv);
    pthread_mutex_unlock(&tq.mtx);
}
static void recv_done(struct task *t) { /* callback: the message has arrived */
    work_us(20);
    pthread_mutex_lock(&aio_mtx);
    t->done = 1;
    pthread_cond_signal(&aio_cv);
    pthread_mutex_unlock(&aio_mtx);
}
int main(int argc, char **argv) {
    wake_one = is_fixed(argc, argv);
    prctl(PR_SET_NAME, "client");
    start_sides();
    for (long i = 0; i < NTHREADS; i++) start_nth("nng:task", i, taskq_thread);
    sleep_ms(20);
    double began = now_ms();
    for (int i = 0; i < MESSAGES; i++) {
        struct task t = {.cb = recv_done};
        task_dispatch(&t);
        pthread_mutex_lock(&aio_mtx);
        while (!t.done) pthread_cond_wait(&aio_cv, &aio_mtx);
        pthread_mutex_unlock(&aio_mtx);
        work_us(10);
    }
    print_work(began);
}
