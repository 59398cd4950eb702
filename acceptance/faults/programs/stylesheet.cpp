// https://github.com/Framstag/libosmscout/pull/1553: threads that draw and navigate read the map database under a read lock whose
// times overlap; the change of the style sheet (a tunnel: night colours) needs the write lock and waits for a gap among the readers.
#include "fault.h"
enum { CHANGES = 90 };
static pthread_rwlock_t database;
static volatile bool driving = true;

static void *reader(void *arg) { // renderer and navigation: one look-up after another, with each position of the car
    uint64_t dice = 77 + (uint64_t)(long)arg * 131;
    while (driving) {
        pthread_rwlock_rdlock(&database);
        work_us(2500 + draw(&dice, 1500)); // loads tiles
        pthread_rwlock_unlock(&database);
        work_us(300 + draw(&dice, 500)); // puts the result on the screen
    }
    return NULL;
}
static void *style(void *arg) {
    for (int i = 0; i < CHANGES; i++) {
        work_us(4000); // parses the style sheet
        pthread_rwlock_wrlock(&database);
        work_us(1500); // puts it in place
        pthread_rwlock_unlock(&database);
    }
    return arg;
}
int main(int argc, char **argv) {
    pthread_rwlockattr_t attr;
    pthread_rwlockattr_init(&attr);
    if (is_fixed(argc, argv)) pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&database, &attr);
    prctl(PR_SET_NAME, "osmscout");
    start_sides();
    static const char *name[] = {"renderer", "navigation"};
    pthread_t readers[2];
    for (long i = 0; i < 2; i++) readers[i] = start(name[i], reader, (void *)i);
    sleep_ms(50);
    double began = now_ms();
    pthread_join(start("stylesheet", style, NULL), NULL);
    print_work(began);
    driving = false;
    for (pthread_t r : readers) pthread_join(r, NULL);
}
