// https://lab.node.vifib.com/nexedi/mariadb/-/commit/358a31df435d2e18f93a48be76bc2224e479948a: DROP TABLE scans the whole LRU list
// under the buffer pool's mutex, for an empty table too. Fixed: only the flush list, which is short, is scanned.
#include "fault.h"
#include <list>
#include <vector>
enum { PAGES = 300000, DIRTY = 600, QUERIES = 3, N = 230 };
struct Page { int space, id; Page *lru_next, *flush_next; };
static pthread_mutex_t buf_pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static std::vector<Page> pool(PAGES);
static Page *lru, *flush;
static bool lazy;
static double took[QUERIES][N];

static void *query(void *arg) { // every 10 ms: looks up pages in the pool, then computes
    long me = (long)arg;
    uint64_t dice = 99 + (uint64_t)me;
    double due = now_ms() + (double)me * 3;
    for (int i = 0; i < N; i++) {
        sleep_until_ms(due += 10);
        for (int k = 0; k < 4; k++) {
            pthread_mutex_lock(&buf_pool_mutex);
            Page &p = pool[draw(&dice, PAGES)];
            work_result = (uint64_t)p.id;
            pthread_mutex_unlock(&buf_pool_mutex);
            work_us(150);
        }
        took[me][i] = now_ms() - due;
    }
    return NULL;
}
static void *drop(void *) { // a client that creates and drops (empty) temporary tables
    for (int table = 1000;; table++) {
        sleep_ms(90);
        work_us(400); // dictionary
        pthread_mutex_lock(&buf_pool_mutex);
        int found = 0;
        if (lazy) for (Page *p = flush; p; p = p->flush_next) found += p->space == table;
        else for (Page *p = lru; p; p = p->lru_next) found += p->space == table;
        pthread_mutex_unlock(&buf_pool_mutex);
        work_result = (uint64_t)found;
    }
    return NULL;
}
int main(int argc, char **argv) {
    lazy = is_fixed(argc, argv);
    std::vector<int> order(PAGES); // pages are used in any order: the list jumps about in memory
    uint64_t dice = 5;
    for (int i = 0; i < PAGES; i++) order[i] = i;
    for (int i = PAGES - 1; i > 0; i--) std::swap(order[i], order[draw(&dice, (unsigned)i + 1)]);
    for (int i = 0; i < PAGES; i++) {
        Page &p = pool[order[i]];
        p = {i % 40, order[i], lru, p.flush_next};
        lru = &p;
        if (i % (PAGES / DIRTY) == 0) p.flush_next = flush, flush = &p;
    }
    start_sides();
    pthread_t q[QUERIES];
    for (long i = 0; i < QUERIES; i++) q[i] = start_nth("query", i, query);
    start("drop-table", drop, NULL);
    for (pthread_t t : q) pthread_join(t, NULL);
    print_late(&took[0][0], QUERIES * N, 8);
}
