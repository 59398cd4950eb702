// https://github.com/xycaleth/OpenJK/issues/44: the renderer reads back the frame it has just submitted, so that it waits for the GPU
// each time. Fixed: it reads back the frame before (a pixel buffer object), which is done by then.
#include "fault.h"
#include <semaphore.h>
enum { FRAMES = 130 };
static sem_t submitted;
static sem_t done[FRAMES];

static void *gpu(void *arg) { // the device: a frame takes it 8 ms, in which no CPU works
    for (int frame = 0; frame < FRAMES; frame++) {
        sem_wait(&submitted);
        sleep_ms(8);
        sem_post(&done[frame]);
    }
    return arg;
}
static void glReadPixels(int frame) {
    if (frame < 0) return;
    sem_wait(&done[frame]);
    work_us(600); // copies the pixels
}
int main(int argc, char **argv) {
    bool pixel_buffer = is_fixed(argc, argv);
    pthread_setname_np(pthread_self(), "renderer");
    sem_init(&submitted, 0, 0);
    for (sem_t &s : done) sem_init(&s, 0, 0);
    start_sides();
    pthread_t device = start("gpu", gpu, NULL);
    double began = now_ms();
    for (int frame = 0; frame < FRAMES; frame++) {
        work_us(4500); // game and draw calls
        sem_post(&submitted);
        glReadPixels(pixel_buffer ? frame - 1 : frame);
        work_us(2500); // writes the image
    }
    if (pixel_buffer) glReadPixels(FRAMES - 1);
    pthread_join(device, NULL);
    print_work(began);
}
