// Healthy: a pipeline of four stages with bounded queues at about a tenth of both CPUs. Each stage waits most of the time, as it should.
#include "fault.h"
enum { N = 250, STAGES = 4, CAP = 4 };
struct Queue {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t some = PTHREAD_COND_INITIALIZER, room = PTHREAD_COND_INITIALIZER;
    int item[CAP], head = 0, tail = 0;
    void put(int v) {
        pthread_mutex_lock(&m);
        while (tail - head == CAP) pthread_cond_wait(&room, &m);
        item[tail++ % CAP] = v;
        pthread_cond_signal(&some);
        pthread_mutex_unlock(&m);
    }
    int take() {
        pthread_mutex_lock(&m);
        while (tail == head) pthread_cond_wait(&some, &m);
        int v = item[head++ % CAP];
        pthread_cond_signal(&room);
        pthread_mutex_unlock(&m);
        return v;
    }
};
static Queue queue[STAGES];
static double due[N], took[N];

static void *stage(void *arg) {
    static const int us[] = {300, 700, 600, 300};
    long s = (long)arg;
    for (int i = 0; i < N; i++) {
        int v = queue[s].take();
        work_us(us[s] + v % 7 * 30);
        if (s + 1 < STAGES) queue[s + 1].put(v);
        else took[v] = now_ms() - due[v];
    }
    return NULL;
}
int main() {
    static const char *name[] = {"capture", "resample", "mix", "encode"};
    pthread_t t[STAGES];
    start_sides();
    for (long s = 0; s < STAGES; s++) t[s] = start(name[s], stage, (void *)s);
    double at = now_ms();
    for (int i = 0; i < N; i++) {
        sleep_until_ms(at += 10);
        due[i] = at;
        queue[0].put(i);
    }
    for (pthread_t p : t) pthread_join(p, NULL);
    print_late(took, N, 10);
}
