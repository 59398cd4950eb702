/* launch PROGRAM ARGUMENT…: runs it in a session of its own whose autogroup has nice -10, so that other load of the machine decides less. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
    if (argc < 2) return 2;
    if (setsid() < 0) { /* this is a group leader: its child is not */
        pid_t child = fork();
        int status = 1;
        if (child > 0) return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        if (child < 0 || setsid() < 0) return 1;
    }
    int fd = open("/proc/self/autogroup", O_WRONLY);
    if (fd >= 0) {
        if (write(fd, "-10", 3) != 3) perror("launch: autogroup");
        close(fd);
    }
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
