// https://github.com/DISTRHO/JUCE/issues/7: every Thread whose priority (0 to 10, 5 is normal) is not 0 gets SCHED_RR, so that a plugin's
// background work competes with the audio thread. Fixed: below 9 a thread keeps SCHED_OTHER. Needs the right to real-time priorities.
#include "fault.h"
#include <semaphore.h>
enum { CYCLES = 450, THREADS = 2 };
static sem_t work_for[THREADS];
static double took[CYCLES];
static bool fixed;

static void set_thread_priority(int priority) { // as juce_posix_SharedCode.h
    int policy = priority == 0 || (fixed && priority < 9) ? SCHED_OTHER : SCHED_RR;
    int low = sched_get_priority_min(policy), high = sched_get_priority_max(policy);
    be_fifo(policy, (high - low) * priority / 10 + low);
}
static void *background(void *arg) { // analyses what was played, now and then
    set_thread_priority(5);
    for (;;) {
        sem_wait(&work_for[(long)arg]);
        work_us(9000);
    }
    return arg;
}
static void *audio(void *arg) { // 256 frames at 48 kHz; realtime priority 10, JACK's default
    be_fifo(SCHED_FIFO, 10);
    double due = now_ms();
    for (int i = 0; i < CYCLES; i++) {
        sleep_until_ms(due += 256 / 48.);
        work_us(1100);
        if (i % 14 == 5) for (sem_t &s : work_for) sem_post(&s);
        took[i] = now_ms() - due;
    }
    return arg;
}
int main(int argc, char **argv) {
    fixed = is_fixed(argc, argv);
    start_sides();
    for (sem_t &s : work_for) sem_init(&s, 0, 0);
    for (long i = 0; i < THREADS; i++) start("Juce Thread", background, (void *)i);
    pthread_join(start("audio", audio, NULL), NULL);
    print_late(took, CYCLES, 256 / 48.);
}
