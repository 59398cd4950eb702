// https://github.com/twvd/snow/pull/267: CD audio underruns in an emulator, because the queue between it and the sound output holds two
// buffers only, less than a long frame takes. Fixed: it holds eight.
#include "fault.h"
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>
enum { SAMPLES = 480, CALLBACKS = 400 };
static const double PERIOD = 10; // 480 samples at 48 kHz
static size_t audio_queue_len = 2;
static std::mutex m;
static std::condition_variable not_empty, not_full;
static std::deque<std::vector<float>> queue;
static double took[CALLBACKS];

static void *emulator(void *p) { // makes one buffer with each tick; now and then a tick takes long
    for (int tick = 0;; tick++) {
        work_us(tick % 12 == 11 ? 46000 : 3000); // CPU and video; also: seeks, decodes sectors of the CD image
        std::vector<float> buffer(SAMPLES, (float)tick);
        std::unique_lock<std::mutex> l(m);
        not_full.wait(l, [] { return queue.size() < audio_queue_len; });
        queue.push_back(std::move(buffer));
        not_empty.notify_one();
    }
    return p;
}
static void *video(void *p) { // draws the last frame
    for (double due = now_ms();; sleep_until_ms(due += 1000.0 / 60)) work_us(1500);
    return p;
}
static void *audio(void *p) { // the sound card wants a buffer every 10 ms
    double due = now_ms() + 100;
    for (int i = 0; i < CALLBACKS; i++, due += PERIOD) {
        sleep_until_ms(due);
        std::unique_lock<std::mutex> l(m);
        not_empty.wait(l, [] { return !queue.empty(); });
        std::vector<float> buffer = std::move(queue.front());
        queue.pop_front();
        not_full.notify_one();
        l.unlock();
        work_us(300); // resamples, copies to the card
        took[i] = now_ms() - due;
    }
    return p;
}
int main(int argc, char **argv) {
    if (is_fixed(argc, argv)) audio_queue_len = 8;
    start_sides();
    start("emulator", emulator, NULL);
    start("video", video, NULL);
    pthread_t t = start("audio", audio, NULL);
    pthread_join(t, NULL);
    print_late(took, CALLBACKS, 5);
    _exit(0); // others still wait on condition variables
}
