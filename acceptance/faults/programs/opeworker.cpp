// https://github.com/uber/neuropod/pull/261: out-of-process execution. The worker's heartbeat thread sleeps for 2 s at a time, and the
// shutdown joins it. Fixed: the heartbeat waits on a condition variable with a timeout, which the shutdown signals.
#include "fault.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
enum { MODELS = 2, REQUESTS = 60 };
static bool fixed;

class OPEWorker { // one loaded model
    std::mutex mutex;
    std::condition_variable stopping;
    bool stop = false, pending = false, done = false, quit = false;
    std::condition_variable request, answer;
    std::thread heartbeat, infer;
    void beat() {
        pthread_setname_np(pthread_self(), "heartbeat");
        for (;;) {
            std::unique_lock<std::mutex> l(mutex);
            if (stop) return;
            if (fixed) stopping.wait_for(l, std::chrono::seconds(2), [&] { return stop; });
            else l.unlock(), std::this_thread::sleep_for(std::chrono::seconds(2));
            work_us(20); // tells the parent that it lives
        }
    }
    void serve() {
        pthread_setname_np(pthread_self(), "infer");
        for (std::unique_lock<std::mutex> l(mutex);;) {
            request.wait(l, [&] { return pending || quit; });
            if (quit) return;
            pending = false;
            l.unlock();
            work_us(15000);
            l.lock();
            done = true;
            answer.notify_one();
        }
    }

  public:
    OPEWorker() : heartbeat([&] { beat(); }), infer([&] { serve(); }) {}
    void run() {
        {
            std::lock_guard<std::mutex> l(mutex);
            pending = true, done = false;
        }
        request.notify_one();
        work_us(4000); // prepares the next inputs
        std::unique_lock<std::mutex> l(mutex);
        answer.wait(l, [&] { return done; });
    }
    ~OPEWorker() {
        {
            std::lock_guard<std::mutex> l(mutex);
            stop = quit = true;
        }
        stopping.notify_one();
        request.notify_one();
        infer.join();
        heartbeat.join();
    }
};
int main(int argc, char **argv) {
    fixed = is_fixed(argc, argv);
    start_sides();
    double began = now_ms();
    for (int model = 0; model < MODELS; model++) {
        OPEWorker worker;
        for (int i = 0; i < REQUESTS; i++) {
            worker.run();
            work_us(3000); // uses the outputs
        }
    }
    print_work(began);
}
