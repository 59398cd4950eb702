// https://github.com/OpenGene/fastp/pull/672: workers process packs of reads in parallel, but gzip compression is done by the single writer
// thread. Fixed: each worker compresses its own output, the writer only writes.
#include "fault.h"
#include <atomic>
enum { PACKS = 340, WORKERS = 2, CAP = 8 };
static std::atomic<int> next_pack{0};
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER, room = PTHREAD_COND_INITIALIZER;
static int packs[CAP], head, tail;
static bool compress_in_workers;

static void deflate_pack(int pack) { work_us(4600 + pack % 5 * 200); }

static void *worker(void *arg) {
    for (int pack; (pack = next_pack++) < PACKS;) {
        work_us(2200 + pack % 7 * 60); // parses, trims, filters
        if (compress_in_workers) deflate_pack(pack);
        pthread_mutex_lock(&m);
        while (tail - head == CAP) pthread_cond_wait(&room, &m);
        packs[tail++ % CAP] = pack;
        pthread_cond_signal(&some);
        pthread_mutex_unlock(&m);
    }
    return arg;
}
static void *writer(void *arg) {
    static char block[65536];
    int out = open("/dev/null", O_WRONLY);
    for (int i = 0; i < PACKS; i++) {
        pthread_mutex_lock(&m);
        while (tail == head) pthread_cond_wait(&some, &m);
        int pack = packs[head++ % CAP];
        pthread_cond_signal(&room);
        pthread_mutex_unlock(&m);
        if (!compress_in_workers) deflate_pack(pack);
        if (write(out, block, sizeof block) < 0) exit(1);
    }
    close(out);
    return arg;
}
int main(int argc, char **argv) {
    compress_in_workers = is_fixed(argc, argv);
    start_sides();
    double began = now_ms();
    pthread_t w = start("writer", writer, NULL);
    for (long i = 0; i < WORKERS; i++) start_nth("worker", i, worker);
    pthread_join(w, NULL);
    print_work(began);
}
