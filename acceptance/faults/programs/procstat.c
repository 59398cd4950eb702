/* https://github.com/influxdata/telegraf/issues/15295: the procstat plugin reads /proc/PID/smaps of a large process; the walk over its
 * page tables holds the address-space lock, for which mmap and munmap of that process wait. Fixed: no memory map collection. */
#include "fault.h"
enum { N = 500 };
static const size_t HEAP = (size_t)1400 << 20;
static double took[N];

static void *worker(void *arg) { /* a request every 5 ms: maps a buffer, uses it, unmaps it */
    double due = now_ms();
    for (int i = 0; i < N; i++) {
        sleep_until_ms(due += 5);
        char *buffer = mmap(NULL, 256 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (buffer == MAP_FAILED) exit(1);
        for (int k = 0; k < 256 << 10; k += 4096) buffer[k] = 1;
        work_us(300);
        munmap(buffer, 256 << 10);
        took[i] = now_ms() - due;
    }
    return arg;
}
static void telegraf(pid_t app, int collect_memmap) { /* another process; gathers every 60 ms */
    static char text[65536];
    char path[64];
    prctl(PR_SET_NAME, "telegraf");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;; sleep_ms(60)) {
        const char *files[] = {"stat", "statm", "smaps"};
        for (int i = 0; i < 2 + collect_memmap; i++) {
            snprintf(path, sizeof path, "/proc/%d/%s", app, files[i]);
            int fd = open(path, O_RDONLY);
            if (fd < 0) _exit(0);
            while (read(fd, text, sizeof text) > 0) {}
            close(fd);
        }
    }
}
int main(int argc, char **argv) {
    pid_t app = getpid(), monitor = fork();
    if (monitor == 0) telegraf(app, !is_fixed(argc, argv));
    char *heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (heap == MAP_FAILED) return 1;
    madvise(heap, HEAP, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < HEAP; i += 4096) heap[i] = 1;
    start_sides();
    pthread_join(start("vm-worker", worker, NULL), NULL);
    print_late(took, N, 6);
    kill(monitor, SIGKILL);
    waitpid(monitor, NULL, 0);
}
