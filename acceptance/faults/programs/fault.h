/* Shared by the programs here, in C and C++: clock, a fixed amount of arithmetic, named threads, the two printed lines, and two
 * side threads that do no harm in any of them (a metrics reader every 100 ms, a housekeeping timer every 250 ms). */
#ifndef FAULT_H
#define FAULT_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

static inline double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
static inline struct timespec as_time(double ms) {
    struct timespec t;
    t.tv_sec = (time_t)(ms / 1e3);
    t.tv_nsec = (long)((ms - (double)t.tv_sec * 1e3) * 1e6);
    return t;
}
static inline void sleep_until_ms(double at) {
    struct timespec t = as_time(at);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}
static inline void sleep_ms(double ms) { sleep_until_ms(now_ms() + ms); }

/* Dependent multiplications, about `us` microseconds at 3 GHz: an amount of work, not a time. */
static volatile uint64_t work_result UNUSED;
static inline void work_us(double us) {
    uint64_t x = (uint64_t)us | 1;
    for (long i = (long)(us * 750); i > 0; i--) x = x * 2862933555777941757u + 3037000493u;
    work_result = x;
}
/* A small pseudorandom sequence, so that each run draws the same numbers. */
static inline unsigned draw(uint64_t *state, unsigned below) {
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return (unsigned)(*state >> 33) % below;
}

struct named { void *(*run)(void *); void *arg; char name[16]; };
static void *run_named(void *p) {
    struct named n = *(struct named *)p;
    free(p);
    pthread_setname_np(pthread_self(), n.name);
    return n.run(n.arg);
}
static UNUSED pthread_t start(const char *name, void *(*run)(void *), void *arg) {
    struct named *n = (struct named *)malloc(sizeof *n);
    pthread_t t;
    n->run = run, n->arg = arg;
    snprintf(n->name, sizeof n->name, "%s", name);
    if (pthread_create(&t, NULL, run_named, n)) { perror("pthread_create"); exit(1); }
    return t;
}
static UNUSED pthread_t start_nth(const char *name, long nth, void *(*run)(void *)) {
    char full[16];
    snprintf(full, sizeof full, "%.12s-%d", name, (int)(nth & 63));
    return start(full, run, (void *)nth);
}
static UNUSED void be_fifo(int policy, int priority) { /* the calling thread */
    struct sched_param p;
    memset(&p, 0, sizeof p);
    p.sched_priority = priority;
    int e = pthread_setschedparam(pthread_self(), policy, &p);
    if (e) { fprintf(stderr, "pthread_setschedparam: %s\n", strerror(e)); exit(1); }
}

static UNUSED int is_fixed(int argc, char **argv) { return argc > 1 && !strcmp(argv[1], "fixed"); }
static UNUSED void print_work(double since) { printf("work_ms=%.1f\n", now_ms() - since); fflush(stdout); }
static UNUSED int by_size(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }
static UNUSED void print_late(double *ms, int n, double deadline) {
    int missed = 0;
    for (int i = 0; i < n; i++) missed += ms[i] > deadline;
    qsort(ms, (size_t)n, sizeof *ms, by_size);
    printf("p99_ms=%.2f missed=%d\n", ms[n * 99 / 100], missed);
    fflush(stdout);
}

static UNUSED void *side_metrics(void *p) {
    char text[2048];
    for (;; sleep_ms(100)) {
        int fd = open("/proc/self/stat", O_RDONLY);
        if (fd < 0) continue;
        if (read(fd, text, sizeof text) > 0) work_us(40);
        close(fd);
    }
    return p;
}
static UNUSED void *side_housekeeping(void *p) {
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec every = {{0, 250000000}, {0, 250000000}};
    timerfd_settime(fd, 0, &every, NULL);
    for (uint64_t n; read(fd, &n, sizeof n) == sizeof n;) work_us(80);
    return p;
}
static UNUSED void start_sides(void) {
    start("metrics", side_metrics, NULL);
    start("housekeeping", side_housekeeping, NULL);
}
#endif
