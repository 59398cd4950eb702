/* A cgroup with a CPU quota for one child process, version 1 or 2, removed at the end and on a signal. Needs root. */
#ifndef FAULT_CGROUP_H
#define FAULT_CGROUP_H
#include "fault.h"
#include <sys/stat.h>
static char cgroup_path[128];
static pid_t cgroup_child;

static int cgroup_put(const char *file, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", cgroup_path, file);
    int fd = open(path, O_WRONLY), ok = fd >= 0 && write(fd, text, strlen(text)) > 0;
    if (fd >= 0) close(fd);
    return ok;
}
static void cgroup_remove(int signal) {
    if (signal && cgroup_child > 0) kill(cgroup_child, SIGKILL);
    if (signal) while (waitpid(cgroup_child, NULL, 0) < 0 && errno == EINTR) {}
    for (int i = 0; i < 100 && rmdir(cgroup_path) && errno == EBUSY; i++) usleep(10000);
    if (signal) _exit(128 + signal);
}
/* Runs `inside` in a child process within the quota (us of CPU time in 100 ms; 0: none) and waits for it. */
static int run_in_cgroup(const char *name, int quota_us, void (*inside)(void)) {
    char text[64];
    int first = access("/sys/fs/cgroup/cpu/cpu.shares", F_OK) == 0;
    snprintf(cgroup_path, sizeof cgroup_path, "/sys/fs/cgroup/%s%s-%d", first ? "cpu/" : "", name, getpid());
    if (!first) { /* version 2: the root has to hand out the controller */
        int fd = open("/sys/fs/cgroup/cgroup.subtree_control", O_WRONLY);
        if (fd < 0 || write(fd, "+cpu", 4) != 4) perror("cgroup.subtree_control");
        if (fd >= 0) close(fd);
    }
    if (mkdir(cgroup_path, 0755)) { perror(cgroup_path); return 1; }
    signal(SIGINT, cgroup_remove), signal(SIGTERM, cgroup_remove);
    int ok = 1, status = 1;
    cgroup_put(first ? "cpu.shares" : "cpu.weight", first ? "9000" : "900"); /* other load of the machine decides less */
    if (quota_us) {
        snprintf(text, sizeof text, first ? "%d" : "%d 100000", quota_us);
        ok = cgroup_put(first ? "cpu.cfs_quota_us" : "cpu.max", text);
    }
    if (ok && (cgroup_child = fork()) == 0) {
        signal(SIGINT, SIG_DFL), signal(SIGTERM, SIG_DFL);
        snprintf(text, sizeof text, "%d", getpid());
        if (!cgroup_put("cgroup.procs", text)) { perror("cgroup.procs"); _exit(1); }
        inside();
        _exit(0);
    }
    if (ok) waitpid(cgroup_child, &status, 0);
    else perror("quota");
    cgroup_remove(0);
    return status != 0;
}
#endif
