/* https://github.com/frankosterfeld/qtkeychain/issues/303: isKwalletAvailable() makes a blocking D-Bus call in the GUI thread while
 * kwalletd is busy with the unlocking of the wallet. Fixed: the call is asynchronous, the event loop takes the answer. */
#include "fault.h"
enum { N = 150 };
static double took[N];

static void kwalletd(int bus) { /* another process: answers calls; unlocking a wallet (deriving its key) takes 30 ms */
    char call;
    prctl(PR_SET_NAME, "kwalletd6");
    for (double unlock = now_ms() + 100;;) {
        struct pollfd p = {bus, POLLIN, 0};
        double left = unlock - now_ms();
        if (left <= 0) { work_us(30000); unlock = now_ms() + 90; continue; }
        if (poll(&p, 1, (int)left + 1) <= 0) continue;
        if (read(bus, &call, 1) != 1) _exit(0);
        work_us(200);
        if (write(bus, &call, 1) != 1) _exit(0);
    }
}
int main(int argc, char **argv) {
    int async = is_fixed(argc, argv), bus[2], answers = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, bus)) return 1;
    pid_t daemon_pid = fork();
    if (daemon_pid == 0) { close(bus[0]); kwalletd(bus[1]); }
    close(bus[1]);
    prctl(PR_SET_NAME, "plasmashell");
    start_sides();
    double due = now_ms();
    for (int i = 0; i < N; i++) { /* 60 frames a second; a plasmoid asks for its password in each third */
        sleep_until_ms(due += 1000. / 60);
        work_us(2500);
        char call = 'w';
        if (i % 3 == 1) {
            if (write(bus[0], &call, 1) != 1) return 1;
            if (!async && read(bus[0], &call, 1) == 1) answers++;
        }
        while (async && recv(bus[0], &call, 1, MSG_DONTWAIT) == 1) answers++;
        work_us(500);
        took[i] = now_ms() - due;
    }
    while (answers < N / 3 && read(bus[0], &(char){0}, 1) == 1) answers++;
    print_late(took, N, 8);
    kill(daemon_pid, SIGKILL);
    waitpid(daemon_pid, NULL, 0);
}
