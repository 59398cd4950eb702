/* https://github.com/ninja-build/ninja/issues/2157: a build with two jobs at a time; the slowest translation unit comes last in the
 * manifest and so starts last. Fixed: the slowest is started first, as the log of the last build would have it. */
#include "fault.h"
#include <spawn.h>
extern char **environ;
enum { UNITS = 31, JOBS = 2, LONG_US = 900000 };

static pid_t compile(const char *self, int us) {
    char amount[16];
    snprintf(amount, sizeof amount, "%d", us);
    char *const argv[] = {(char *)"cc1plus", (char *)"-c", amount, NULL};
    pid_t pid;
    if (posix_spawn(&pid, self, NULL, NULL, argv, environ)) { perror("posix_spawn"); exit(1); }
    return pid;
}
int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "-c")) { /* the compiler */
        prctl(PR_SET_NAME, "cc1plus");
        work_us(atoi(argv[2]));
        return 0;
    }
    int unit_us[UNITS], long_one = is_fixed(argc, argv) ? 0 : UNITS - 1;
    for (int i = 0, k = 0; i < UNITS; i++) unit_us[i] = i == long_one ? LONG_US : 40000 + k++ % 9 * 5000;
    start_sides();
    double began = now_ms();
    int running = 0;
    for (int next = 0; next < UNITS || running;) {
        for (; next < UNITS && running < JOBS; running++) compile("/proc/self/exe", unit_us[next++]);
        if (wait(NULL) > 0) running--;
    }
    print_work(began);
}
