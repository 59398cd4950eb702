/* https://github.com/nodejs/node/issues/8436: look-ups of names that a server does not answer sleep in all four threads of the pool;
 * file reads wait in its queue. Fixed: look-ups may take half of the threads (as libuv does since). */
#include "fault.h"
enum { WORKERS = 4, N = 220, CAP = 4096 };
struct task { int lookup; double due; double *took; };
struct queue { struct task item[CAP]; int head, tail; };
static struct queue fast, slow; /* without the fix, only `fast` is used, for both */
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int fixed, looking_up;
static double took[N];

static void submit(struct task t) {
    pthread_mutex_lock(&m);
    struct queue *q = fixed && t.lookup ? &slow : &fast;
    q->item[q->tail++ % CAP] = t;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
}
static void getaddrinfo_(void) { sleep_ms(45); } /* a remote name server that answers late */
static void read_file(void) {
    static __thread char text[16384];
    int fd = open("/proc/self/maps", O_RDONLY);
    if (fd >= 0) { if (read(fd, text, sizeof text) > 0) work_us(250); close(fd); }
}
static void *worker(void *arg) {
    for (;;) {
        struct queue *q = NULL;
        pthread_mutex_lock(&m);
        for (;;) {
            if (fast.head != fast.tail) q = &fast;
            else if (slow.head != slow.tail && looking_up < WORKERS / 2) q = &slow;
            if (q) break;
            pthread_cond_wait(&c, &m);
        }
        struct task t = q->item[q->head++ % CAP];
        looking_up += t.lookup;
        pthread_mutex_unlock(&m);
        if (t.lookup) getaddrinfo_(); else read_file();
        if (t.took) *t.took = now_ms() - t.due;
        pthread_mutex_lock(&m);
        looking_up -= t.lookup;
        if (slow.head != slow.tail) pthread_cond_signal(&c);
        pthread_mutex_unlock(&m);
    }
    return arg;
}
int main(int argc, char **argv) {
    fixed = is_fixed(argc, argv);
    prctl(PR_SET_NAME, "node");
    start_sides();
    for (long i = 0; i < WORKERS; i++) start("libuv-worker", worker, (void *)i);
    double due = now_ms();
    for (int i = 0; i < N; i++) { /* the event loop: fs.readFile every 10 ms; a proxy looks names up, six together now and then */
        sleep_until_ms(due += 10);
        if (i % 20 == 5) for (int k = 0; k < 6; k++) submit((struct task){1, due, NULL});
        submit((struct task){0, due, &took[i]});
        work_us(400);
    }
    sleep_ms(300);
    print_late(took, N, 10);
}
