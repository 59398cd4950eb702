/* Programs whose counts are known, by thread: guests_pmu.py compares what `corewise record --counters` booked with what they print.
 *
 *   load known OUT THREADS MILLIONS    thread n executes (n + 1) x MILLIONS million instructions in ten pieces, with sleeps in between
 *   load hop OUT MS                    one thread moves between all CPUs, so between the kinds of PMU
 *   load busy OUT THREADS MS           half of the threads run and sleep, the other half run and move
 *   load varying OUT THREADS MS SEED   threads whose share of user code varies at random; their events are pinned, so never multiplexed
 *   load starve OUT MILLIONS           another process takes all counters of each CPU for the middle part of the run
 *   load one_type OUT MS               one thread per kind of PMU, which never runs on another kind
 *
 * OUT gets JSON: the PMUs, and for each thread its events (value, enabled and running time in ns; state "error" if a pinned event lost its
 * counter) and the instructions that its loops execute, null where unknown. An event belongs to one kind of PMU: only CPUs of that kind
 * count it. Every thread opens its own events (perf_event_open with pid 0) and reads them at its end. Exit status 2: something failed. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PMUS = 4, MOST_EVENTS = 16, MOST_THREADS = 64, STARVING = 10 };

struct pmu {
    char name[64], cpus[64];
    uint32_t type;
    cpu_set_t set;
    int has[2]; /* cycles, instructions */
    uint64_t config[2];
};

struct event {
    const char *pmu, *name;
    int user, fd, lost;
    uint64_t value, enabled, running;
};

struct thread {
    pthread_t handle;
    int number, tid, known;
    char name[16];
    uint64_t instructions;
    int events_count;
    struct event events[MOST_EVENTS];
    const struct pmu *only; /* the kind it runs on, NULL for any */
};

static const char *const names[2] = {"cycles", "instructions"};
static const char *const listed[2] = {"cpu_cycles", "inst_retired"};
static struct pmu pmus[MOST_PMUS];
static int pmus_count;
static struct thread threads[MOST_THREADS];
static int threads_count;
static uint64_t work; /* million instructions, or ms, by case */
static unsigned seed = 1;
static pthread_barrier_t step;

static void fail(const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    fprintf(stderr, "load: ");
    vfprintf(stderr, format, rest);
    fprintf(stderr, "\n");
    va_end(rest);
    exit(2);
}

static int read_line(char *into, size_t size, const char *format, ...) {
    char path[300];
    va_list rest;
    va_start(rest, format);
    vsnprintf(path, sizeof path, format, rest);
    va_end(rest);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    int well = fgets(into, (int)size, file) != NULL;
    fclose(file);
    if (well) into[strcspn(into, "\n")] = 0;
    return well;
}

/* "0-1,3" */
static void parse_cpus(const char *text, cpu_set_t *set) {
    CPU_ZERO(set);
    while (*text) {
        char *end;
        long first = strtol(text, &end, 10), last = first;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        for (long cpu = first; cpu <= last; cpu++) CPU_SET((int)cpu, set);
        if (*end != ',') break;
        text = end + 1;
    }
}

/* The PMUs of CPUs are those with a list of CPUs. */
static void find_pmus(void) {
    const char *folder = "/sys/bus/event_source/devices";
    DIR *all = opendir(folder);
    if (!all) fail("cannot read %s: %s", folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(all)) && pmus_count < MOST_PMUS;) {
        struct pmu *pmu = &pmus[pmus_count];
        char text[64];
        if (entry->d_name[0] == '.' || !read_line(pmu->cpus, sizeof pmu->cpus, "%s/%s/cpus", folder, entry->d_name)) continue;
        if (!read_line(text, sizeof text, "%s/%s/type", folder, entry->d_name)) continue;
        snprintf(pmu->name, sizeof pmu->name, "%.63s", entry->d_name);
        pmu->type = (uint32_t)strtoul(text, NULL, 10);
        parse_cpus(pmu->cpus, &pmu->set);
        for (int i = 0; i < 2; i++) {
            pmu->has[i] = read_line(text, sizeof text, "%s/%s/events/%s", folder, entry->d_name, listed[i]);
            if (pmu->has[i]) pmu->config[i] = strtoull(strchr(text, '=') ? strchr(text, '=') + 1 : text, NULL, 16);
        }
        pmus_count++;
    }
    closedir(all);
}

static int open_event(const struct pmu *pmu, int which, int user, int pinned, int pid, int cpu) {
    struct perf_event_attr attr = {.size = sizeof attr, .type = pmu->type, .config = pmu->config[which], .exclude_kernel = user, .pinned = pinned};
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

enum { CYCLES = 1, INSTRUCTIONS = 2 };

static void count(struct thread *own, int which, int user, int pinned) {
    for (int p = 0; p < pmus_count; p++)
        for (int i = 0; i < 2; i++) {
            if (!(which >> i & 1) || !pmus[p].has[i] || own->events_count == MOST_EVENTS) continue;
            struct event *event = &own->events[own->events_count++];
            *event = (struct event){.pmu = pmus[p].name, .name = names[i], .user = user};
            event->fd = open_event(&pmus[p], i, user, pinned, 0, -1);
            if (event->fd < 0) fail("cannot count %s of %s: %s", event->name, event->pmu, strerror(errno));
        }
}

static void begin(struct thread *own, int pinned) {
    own->tid = (int)syscall(SYS_gettid);
    pthread_setname_np(pthread_self(), own->name);
    count(own, CYCLES | INSTRUCTIONS, 0, pinned);
}

static void end(struct thread *own) {
    for (int i = 0; i < own->events_count; i++) {
        struct event *event = &own->events[i];
        uint64_t read_out[3] = {0};
        /* A pinned event without a counter reads as the end of a file. */
        event->lost = read(event->fd, read_out, sizeof read_out) != (ssize_t)sizeof read_out;
        event->value = read_out[0], event->enabled = read_out[1], event->running = read_out[2];
        close(event->fd);
    }
}

/* Executes two instructions per turn. */
static void loop(struct thread *own, uint64_t turns) {
    own->instructions += 2 * turns;
#if defined __aarch64__
    __asm__ volatile("1: subs %0, %0, #1\n b.ne 1b" : "+r"(turns) : : "cc");
#elif defined __x86_64__
    __asm__ volatile("1: dec %0\n jnz 1b" : "+r"(turns) : : "cc");
#else
#error "this program knows the loops of aarch64 and x86-64"
#endif
}

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void sleep_us(unsigned us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static unsigned drawn(unsigned *state, unsigned below) { return (unsigned)rand_r(state) % below; }

static void allow(const cpu_set_t *set) {
    if (sched_setaffinity(0, sizeof *set, set)) fail("cannot set the affinity: %s", strerror(errno));
}

static void *known(void *arg) {
    struct thread *own = arg;
    begin(own, 0);
    count(own, INSTRUCTIONS, 1, 0);
    own->known = 1;
    for (int piece = 0; piece < 10; piece++) {
        loop(own, work * 50000 * (uint64_t)(own->number + 1));
        sleep_us(1000);
    }
    end(own);
    return NULL;
}

/* Runs on one CPU after the other, a random time on each. */
static void move_until(struct thread *own, uint64_t until) {
    unsigned state = seed * 977 + (unsigned)own->number;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    for (long cpu = own->number; now_ms() < until; cpu++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET((int)(cpu % cpus), &one);
        allow(&one);
        loop(own, 200000 + drawn(&state, 2000000));
    }
}

static void *hop(void *arg) {
    struct thread *own = arg;
    begin(own, 0);
    move_until(own, now_ms() + work);
    end(own);
    return NULL;
}

static void *busy(void *arg) {
    struct thread *own = arg;
    begin(own, 0);
    uint64_t until = now_ms() + work;
    unsigned state = seed * 991 + (unsigned)own->number;
    if (own->number % 2) move_until(own, until);
    else
        while (now_ms() < until) {
            loop(own, 200000 + drawn(&state, 2000000));
            sleep_us(100 + drawn(&state, 3000));
        }
    end(own);
    return NULL;
}

static void *varying(void *arg) {
    struct thread *own = arg;
    begin(own, 1);
    count(own, CYCLES | INSTRUCTIONS, 1, 1);
    unsigned state = seed * 7919 + (unsigned)own->number;
    for (uint64_t until = now_ms() + work; now_ms() < until;) {
        unsigned share = drawn(&state, 1001); /* of user code, in thousandths, for a stretch of 1 to 60 pieces */
        for (unsigned pieces = 1 + drawn(&state, 60); pieces; pieces--) {
            if (drawn(&state, 1000) < share) loop(own, 25000);
            else
                for (int calls = 0; calls < 100; calls++) syscall(SYS_getppid);
        }
        if (!drawn(&state, 4)) sleep_us(drawn(&state, 4000));
    }
    end(own);
    return NULL;
}

/* Thread 0 runs before and after the starving, thread 1 only meanwhile. */
static void *starve(void *arg) {
    struct thread *own = arg;
    begin(own, 0);
    count(own, INSTRUCTIONS, 1, 0);
    own->known = 1;
    for (int part = 0; part < 3; part++) {
        pthread_barrier_wait(&step);
        if (part % 2 == own->number)
            for (int piece = 0; piece < 10; piece++) {
                loop(own, work * 50000);
                sleep_us(1000);
            }
        pthread_barrier_wait(&step);
    }
    end(own);
    return NULL;
}

static void *one_type(void *arg) {
    struct thread *own = arg;
    begin(own, 0);
    for (uint64_t until = now_ms() + work; now_ms() < until;) {
        loop(own, 500000);
        sleep_us(500);
    }
    end(own);
    return NULL;
}

static struct thread *start(const char *name, void *(*body)(void *), const struct pmu *only) {
    struct thread *thread = &threads[threads_count];
    *thread = (struct thread){.number = threads_count, .only = only};
    snprintf(thread->name, sizeof thread->name, "%s-%d", name, threads_count++);
    if (pthread_create(&thread->handle, NULL, body, thread)) fail("cannot start a thread");
    return thread;
}

static void join_all(void) {
    for (int i = 0; i < threads_count; i++) pthread_join(threads[i].handle, NULL);
}

/* Holds more pinned events than each CPU has counters until `stop` is closed. */
static void starving_process(int ready, int stop) {
    for (int p = 0; p < pmus_count; p++)
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            for (int i = 0; CPU_ISSET(cpu, &pmus[p].set) && i < STARVING; i++)
                if (open_event(&pmus[p], 0, 0, 1, -1, cpu) < 0) fail("cannot pin an event to CPU %d: %s", cpu, strerror(errno));
    char byte = 0;
    if (write(ready, &byte, 1) != 1) fail("the starving process cannot report");
    while (read(stop, &byte, 1) > 0) {}
    _exit(0);
}

static void run_starved(void) {
    pthread_barrier_init(&step, NULL, 3);
    start("starve", starve, NULL);
    start("starve", starve, NULL);
    int ready[2], stop[2], status = 0;
    pid_t process = -1;
    if (pipe(ready) || pipe(stop)) fail("no pipe: %s", strerror(errno));
    for (int part = 0; part < 3; part++) {
        if (part == 1) {
            process = fork();
            if (process == 0) {
                close(stop[1]);
                starving_process(ready[1], stop[0]);
            }
            close(ready[1]);
            char byte;
            if (process < 0 || read(ready[0], &byte, 1) != 1) fail("the starving process did not begin");
        }
        if (part == 2) {
            close(stop[1]);
            if (waitpid(process, &status, 0) < 0 || status) fail("the starving process failed");
        }
        pthread_barrier_wait(&step);
        pthread_barrier_wait(&step);
    }
    join_all();
}

static void print_result(const char *path, const char *which) {
    FILE *out = fopen(path, "w");
    if (!out) fail("cannot write %s: %s", path, strerror(errno));
    fprintf(out, "{\"case\": \"%s\", \"pid\": %d, \"pmus\": [", which, getpid());
    for (int p = 0; p < pmus_count; p++)
        fprintf(out, "%s{\"name\": \"%s\", \"type\": %u, \"cpus\": \"%s\"}", p ? ", " : "", pmus[p].name, pmus[p].type, pmus[p].cpus);
    fprintf(out, "], \"threads\": [");
    for (int t = 0; t < threads_count; t++) {
        const struct thread *own = &threads[t];
        fprintf(out, "%s\n {\"tid\": %d, \"name\": \"%s\", \"instructions\": ", t ? "," : "", own->tid, own->name);
        if (own->known) fprintf(out, "%llu", (unsigned long long)own->instructions);
        else fprintf(out, "null");
        if (own->only) fprintf(out, ", \"only\": \"%s\"", own->only->name);
        else fprintf(out, ", \"only\": null");
        fprintf(out, ", \"events\": [");
        for (int i = 0; i < own->events_count; i++) {
            const struct event *e = &own->events[i];
            fprintf(out, "%s\n  {\"pmu\": \"%s\", \"event\": \"%s\", \"user\": %s, \"value\": %llu, \"enabled_ns\": %llu, \"running_ns\": %llu, \"state\": \"%s\"}",
                    i ? "," : "", e->pmu, e->name, e->user ? "true" : "false", (unsigned long long)e->value, (unsigned long long)e->enabled,
                    (unsigned long long)e->running, e->lost ? "error" : "counted");
        }
        fprintf(out, "]}");
    }
    fprintf(out, "]}\n");
    if (fclose(out)) fail("cannot write %s: %s", path, strerror(errno));
}

static uint64_t number(int count, char **words, int at, uint64_t most) {
    if (at >= count) fail("a number is missing after %s", words[count - 1]);
    char *rest;
    uint64_t value = strtoull(words[at], &rest, 10);
    if (*rest || !value || value > most) fail("%s is not a number from 1 to %llu", words[at], (unsigned long long)most);
    return value;
}

int main(int count, char **words) {
    if (count < 4) fail("usage: load known|hop|busy|varying|starve|one_type OUT NUMBER…");
    const char *which = words[1];
    find_pmus();
    void *(*body)(void *) = !strcmp(which, "known") ? known : !strcmp(which, "busy") ? busy : !strcmp(which, "varying") ? varying : NULL;
    if (body) {
        int all = (int)number(count, words, 3, MOST_THREADS);
        work = number(count, words, 4, 100000);
        if (count > 5) seed = (unsigned)number(count, words, 5, UINT32_MAX);
        for (int i = 0; i < all; i++) start(which, body, NULL);
        join_all();
    } else {
        work = number(count, words, 3, 100000);
        if (!strcmp(which, "hop")) {
            start(which, hop, NULL);
            join_all();
        } else if (!strcmp(which, "one_type")) {
            /* A new thread has its parent's affinity, so it never runs elsewhere. */
            for (int p = 0; p < pmus_count; p++) {
                allow(&pmus[p].set);
                start(which, one_type, &pmus[p]);
            }
            join_all();
        } else if (!strcmp(which, "starve")) run_starved();
        else fail("there is no case %s", which);
    }
    print_result(words[2], which);
    return 0;
}
