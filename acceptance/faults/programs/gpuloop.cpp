// https://github.com/dolphin-emu/dolphin/pull/1665: the GPU loop of the emulator spins while its FIFO is empty, which takes a CPU from
// the other threads on a machine with two. Fixed: it sleeps on an event until commands are written.
#include "fault.h"
#include <atomic>
#include <condition_variable>
#include <mutex>
enum { FRAMES = 240 };
static const double FIELD = 1000.0 / 60;
static bool idle_sleeps;
static std::atomic<int> fifo_distance{0};
static double took[FRAMES];

struct Event { // set by one thread, waited for by another
    std::mutex m;
    std::condition_variable c;
    bool set = false;
    void Set() {
        { std::lock_guard<std::mutex> l(m); set = true; }
        c.notify_one();
    }
    void Wait() {
        std::unique_lock<std::mutex> l(m);
        c.wait(l, [&] { return set; });
        set = false;
    }
};
static Event gpu_event, dsp_event, dsp_finished;

static void *RunGpuLoop(void *p) {
    for (;;) {
        while (fifo_distance.load(std::memory_order_acquire) > 0) {
            work_us(500); // decodes a display list, draws
            fifo_distance.fetch_sub(1, std::memory_order_release);
        }
        if (idle_sleeps) gpu_event.Wait();
    }
    return p;
}
static void *dsp(void *p) { // low-level emulation of the sound processor
    for (;;) {
        dsp_event.Wait();
        work_us(9500);
        dsp_finished.Set();
    }
    return p;
}
static void *cpu(void *p) { // emulates one field of the console in each sixtieth of a second
    double due = now_ms() + FIELD;
    for (int i = 0; i < FRAMES; i++, due += FIELD) {
        sleep_until_ms(due);
        dsp_event.Set();
        for (int list = 0; list < 4; list++) {
            work_us(2300);
            fifo_distance.fetch_add(1, std::memory_order_release);
            if (idle_sleeps) gpu_event.Set();
        }
        dsp_finished.Wait();
        took[i] = now_ms() - due;
        if (took[i] > FIELD) due = now_ms() - FIELD; // the emulation gets slower
    }
    return p;
}
int main(int argc, char **argv) {
    idle_sleeps = is_fixed(argc, argv);
    start_sides();
    start("Video thread", RunGpuLoop, NULL);
    start("DSP thread", dsp, NULL);
    pthread_t t = start("CPU thread", cpu, NULL);
    pthread_join(t, NULL);
    print_late(took, FRAMES, 15);
    _exit(0); // others still wait on condition variables
}
