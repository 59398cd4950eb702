// https://github.com/dealii/dealii/pull/13018: Threads::Task starts each small task by std::async, for which GCC's library starts a new
// thread. Fixed: a pool of two threads takes the same tasks (as the TBB does).
#include "fault.h"
#include <atomic>
#include <functional>
#include <future>
#include <vector>
enum { ASSEMBLIES = 40, CELLS = 900 };

static void assemble_cell(int cell) { work_us(22 + cell % 5 * 3); }

struct Pool { // two workers that take tasks of one assembly after the other
    std::vector<std::function<void()>> tasks;
    std::atomic<int> next{0}, done{0};
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t more = PTHREAD_COND_INITIALIZER, ready = PTHREAD_COND_INITIALIZER;
    int round = 0;
    void run_some() {
        for (int i; (i = next++) < CELLS;) {
            tasks[i]();
            if (++done == CELLS) {
                pthread_mutex_lock(&m);
                pthread_cond_signal(&ready);
                pthread_mutex_unlock(&m);
            }
        }
    }
    static void *work(void *p) {
        Pool &pool = *static_cast<Pool *>(p);
        for (int seen = 0;;) {
            pthread_mutex_lock(&pool.m);
            while (pool.round == seen) pthread_cond_wait(&pool.more, &pool.m);
            seen = pool.round;
            pthread_mutex_unlock(&pool.m);
            pool.run_some();
        }
        return p;
    }
    void run() {
        pthread_mutex_lock(&m);
        done = 0, next = 0, round++;
        pthread_cond_broadcast(&more);
        while (done < CELLS) pthread_cond_wait(&ready, &m);
        pthread_mutex_unlock(&m);
    }
};
int main(int argc, char **argv) {
    prctl(PR_SET_NAME, "dealii");
    start_sides();
    static Pool pool;
    bool fixed = is_fixed(argc, argv);
    pool.next = CELLS;
    if (fixed) for (long i = 0; i < 2; i++) start_nth("tbb-worker", i, [](void *) -> void * { return Pool::work(&pool); });
    double began = now_ms();
    for (int a = 0; a < ASSEMBLIES; a++) {
        if (fixed) {
            pool.tasks.clear();
            for (int cell = 0; cell < CELLS; cell++) pool.tasks.emplace_back([cell] { assemble_cell(cell); });
            pool.run();
        } else {
            std::vector<std::future<void>> tasks;
            for (int cell = 0; cell < CELLS; cell++) tasks.push_back(std::async(std::launch::async, [cell] { assemble_cell(cell); }));
            for (auto &t : tasks) t.get();
        }
        work_us(500); // solves
    }
    print_work(began);
    fflush(stdout);
    _exit(0);
}
