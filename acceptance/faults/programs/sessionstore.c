/* https://shawnwilsher.com/2009/08/session-restore-now-writes-to-disk-off-of-the-main-thread/: the browser's main thread writes the
 * session (larger with each tab) and calls fsync. Fixed: a thread of its own writes and syncs. */
#include "fault.h"
#include <semaphore.h>
enum { N = 150, SESSION = 1 << 20 };
static double took[N];
static char session[SESSION];
static sem_t wanted;

static void save_session(void) {
    char path[] = "/var/tmp/sessionstore.js.XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) { perror(path); exit(1); }
    unlink(path);
    if (write(fd, session, sizeof session) != sizeof session) { perror("write"); exit(1); }
    fsync(fd);
    close(fd);
}
static void *writer(void *arg) {
    for (;;) { sem_wait(&wanted); save_session(); }
    return arg;
}
int main(int argc, char **argv) {
    int off_main_thread = is_fixed(argc, argv);
    prctl(PR_SET_NAME, "firefox");
    sem_init(&wanted, 0, 0);
    start_sides();
    start("session-writer", writer, NULL);
    double due = now_ms();
    for (int i = 0; i < N; i++) { /* 60 frames a second; the session is saved every 12 frames (sooner than the browser does) */
        sleep_until_ms(due += 1000. / 60);
        work_us(2600);
        if (i % 12 == 6) {
            memset(session, i, sizeof session);
            if (off_main_thread) sem_post(&wanted);
            else save_session();
        }
        took[i] = now_ms() - due;
    }
    print_late(took, N, 7);
}
