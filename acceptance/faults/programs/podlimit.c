/* https://github.com/kubernetes/kubernetes/issues/67577: a container that uses a quarter of a CPU on average under a limit of 40 % is throttled
 * in each of its bursts. Fixed: no limit. Needs root (a cgroup, which it removes). */
#include "cgroup.h"
enum { N = 200, HANDLERS = 2, CAP = 256 };
struct request { double due, *took; int us; };
static struct request queue[CAP];
static int head, tail, answered;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static double took[N];

static void *handler(void *arg) {
    for (;;) {
        pthread_mutex_lock(&m);
        while (head == tail) pthread_cond_wait(&c, &m);
        struct request r = queue[head++ % CAP];
        pthread_mutex_unlock(&m);
        work_us(r.us);
        *r.took = now_ms() - r.due;
        __atomic_fetch_add(&answered, 1, __ATOMIC_RELEASE);
    }
    return arg;
}
static void pod(void) {
    prctl(PR_SET_NAME, "server");
    start_sides();
    for (long i = 0; i < HANDLERS; i++) start_nth("handler", i, handler);
    double due = now_ms();
    for (int sent = 0; sent < N;) { /* one small request every 20 ms, and every 320 ms ten larger ones together */
        sleep_until_ms(due += 20);
        int burst = (int)(sent % 25) == 15;
        for (int k = 0; k < (burst ? 10 : 1) && sent < N; k++) {
            pthread_mutex_lock(&m);
            queue[tail++ % CAP] = (struct request){due, &took[sent++], burst ? 7500 : 600};
            pthread_cond_signal(&c);
            pthread_mutex_unlock(&m);
        }
    }
    while (__atomic_load_n(&answered, __ATOMIC_ACQUIRE) < N) sleep_ms(5);
    print_late(took, N, 80);
}
int main(int argc, char **argv) { return run_in_cgroup("podlimit", is_fixed(argc, argv) ? 0 : 40000, pod); }
