/* https://github.com/nodejs/node/issues/14917: child.spawn('echo') blocks the event loop while fork copies the page tables of a large
 * process. Fixed: posix_spawn, which does not copy them. */
#include "fault.h"
#include <spawn.h>
extern char **environ;
enum { N = 400 };
static const size_t HEAP = (size_t)500 << 20;
static double took[N];
static int fixed;

static void spawn_echo(void) {
    char *const argv[] = {(char *)"echo", (char *)"-n", NULL};
    pid_t pid;
    if (fixed) {
        if (posix_spawn(&pid, "/bin/echo", NULL, NULL, argv, environ)) exit(1);
    } else if ((pid = fork()) == 0) {
        execve("/bin/echo", argv, environ);
        _exit(127);
    }
}
int main(int argc, char **argv) {
    fixed = is_fixed(argc, argv);
    prctl(PR_SET_NAME, "node");
    char *heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (heap == MAP_FAILED) return 1;
    madvise(heap, HEAP, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < HEAP; i += 4096) heap[i] = 1;
    start_sides();
    int loop = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct epoll_event e = {.events = EPOLLIN};
    epoll_ctl(loop, EPOLL_CTL_ADD, timer, &e);
    double due = now_ms();
    for (int i = 0; i < N; i++) { /* the event loop: a callback every 6 ms; each fifteenth spawns a child */
        struct itimerspec at = {{0, 0}, as_time(due += 6)};
        timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
        uint64_t n;
        if (epoll_wait(loop, &e, 1, -1) != 1 || read(timer, &n, sizeof n) < 0) return 1;
        work_us(900);
        if (i % 15 == 7) spawn_echo();
        while (waitpid(-1, NULL, WNOHANG) > 0) {}
        took[i] = now_ms() - due;
    }
    print_late(took, N, 6);
}
