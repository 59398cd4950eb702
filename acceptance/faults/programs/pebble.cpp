// https://github.com/cockroachdb/pebble/issues/44: a commit writes to the log while it holds DB.mu, so that the disk decides how long.
// Fixed: the log has a mutex of its own; DB.mu is taken to apply the batch to the memtable.
#include "fault.h"
#include <map>
enum { READERS = 3, N = 350, BLOCK = 4 << 20, BLOCKS = 4, KEYS = 20000 };
static pthread_mutex_t db_mu = PTHREAD_MUTEX_INITIALIZER, log_mu = PTHREAD_MUTEX_INITIALIZER;
static std::map<int, int> memtable;
static char *batch;
static int log_fd;
static bool split;
static double took[READERS][N];

static void log_append() { // the batch fills several blocks of the log, and each is synced when it is full
    for (int block = 0; block < BLOCKS; block++) {
        if (pwrite(log_fd, batch, BLOCK, (off_t)block * BLOCK) != BLOCK) { perror("log"); exit(1); }
        fdatasync(log_fd);
    }
}
static void memtable_apply(uint64_t *dice) {
    for (int k = 0; k < 50; k++) memtable[(int)draw(dice, KEYS)] = k;
}
static void *commit(void *p) {
    uint64_t dice = 7;
    for (;;) {
        sleep_ms(80);
        batch[0]++;
        if (split) {
            pthread_mutex_lock(&log_mu);
            log_append();
            pthread_mutex_unlock(&log_mu);
            pthread_mutex_lock(&db_mu);
        } else {
            pthread_mutex_lock(&db_mu);
            log_append();
        }
        memtable_apply(&dice);
        pthread_mutex_unlock(&db_mu);
    }
    return p;
}
static void *get(void *arg) { // a read every 10 ms
    long me = (long)arg;
    uint64_t dice = 99 + (uint64_t)me;
    double due = now_ms() + (double)me * 3;
    for (int i = 0; i < N; i++) {
        sleep_until_ms(due += 10);
        pthread_mutex_lock(&db_mu); // the memtable and the version that are read
        auto found = memtable.find((int)draw(&dice, KEYS));
        work_result = found == memtable.end() ? 0 : (uint64_t)found->second;
        pthread_mutex_unlock(&db_mu);
        work_us(300);
        took[me][i] = now_ms() - due;
    }
    return NULL;
}
int main(int argc, char **argv) {
    split = is_fixed(argc, argv);
    char path[] = "/var/tmp/pebble.log.XXXXXX";
    if ((log_fd = mkstemp(path)) < 0) { perror(path); return 1; }
    unlink(path);
    fcntl(log_fd, F_SETFL, O_DIRECT); // not to depend on the page cache
    batch = (char *)aligned_alloc(4096, BLOCK);
    memset(batch, 'v', BLOCK);
    log_append();
    start_sides();
    pthread_t r[READERS];
    for (long i = 0; i < READERS; i++) r[i] = start_nth("get", i, get);
    start("commit", commit, NULL);
    for (pthread_t t : r) pthread_join(t, NULL);
    print_late(&took[0][0], READERS * N, 4);
    _exit(0); // commit still uses the memtable
}
