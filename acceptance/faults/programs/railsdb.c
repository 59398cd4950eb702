/* https://github.com/rails/rails/pull/51958: a connection to an SQLite database that is locked sleeps before it tries again, each time
 * longer, so that it loses to newer ones. Fixed: a busy handler with a constant interval of 1 ms. */
#include "fault.h"
#include <sys/file.h>
enum { THREADS = 5, REQUESTS = 130 };
static const double PERIOD = 32;
static char path[] = "/tmp/railsdb.sqlite3.XXXXXX";
static int fair;
static double took[THREADS][REQUESTS];

static void busy_handler(int count) {
    static const double delays[] = {1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100};
    sleep_ms(fair ? 1 : delays[count < 11 ? count : 11]);
}
static void begin_immediate(int connection) {
    for (int count = 0; flock(connection, LOCK_EX | LOCK_NB); count++) busy_handler(count); /* SQLITE_BUSY */
}
static void *puma(void *arg) { /* a request every 32 ms: reads, then one short transaction */
    long me = (long)arg;
    uint64_t dice = 11 + (uint64_t)me;
    int connection = open(path, O_RDWR | O_CLOEXEC);
    double due = now_ms() + (double)me * 2;
    for (int i = 0; i < REQUESTS; i++) {
        sleep_until_ms(due += PERIOD);
        work_us(500 + draw(&dice, 2500)); /* reads, renders */
        begin_immediate(connection);
        work_us(3000 + draw(&dice, 1500)); /* inserts, commits */
        flock(connection, LOCK_UN);
        took[me][i] = now_ms() - due;
    }
    close(connection);
    return NULL;
}
int main(int argc, char **argv) {
    fair = is_fixed(argc, argv);
    int fd = mkstemp(path);
    if (fd < 0) { perror(path); return 1; }
    start_sides();
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) t[i] = start_nth("puma", i, puma);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    unlink(path);
    print_late(&took[0][0], THREADS * REQUESTS, 30);
}
