// Three functions that take 50, 30 and 20 % of the thread's CPU time, each in turn for some milliseconds. Prints the CPU time of each, ns.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t cpu_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// Each function has a loop of its own, so that no sample falls into a function that they share. The clock is read every 100 us or so.
#define WORK(name)                                                                  \
    __attribute__((noinline)) static uint64_t name(int64_t ns, uint64_t x) {         \
        for (int64_t end = cpu_time() + ns; cpu_time() < end;)                      \
            for (int i = 0; i < 100000; i++) x = x * 6364136223846793005u + 1;       \
        return x;                                                                   \
    }
WORK(half)
WORK(three_tenths)
WORK(fifth)

int main(int argc, char **argv) {
    int64_t whole = atof(argc > 1 ? argv[1] : "1") * 1e9, took[3] = {0};
    uint64_t x = 1;
    while (took[0] + took[1] + took[2] < whole) {
        // Not a multiple of the sampling period.
        int64_t at = cpu_time(), next;
        x = half(11350000, x), next = cpu_time(), took[0] += next - at, at = next;
        x = three_tenths(6810000, x), next = cpu_time(), took[1] += next - at, at = next;
        x = fifth(4540000, x), next = cpu_time(), took[2] += next - at;
    }
    printf("half %lld\nthree_tenths %lld\nfifth %lld\n", (long long)took[0], (long long)took[1], (long long)took[2]);
    return x == 0;
}
