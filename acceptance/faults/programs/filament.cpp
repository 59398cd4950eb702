// https://github.com/google/filament/pull/10128: the main thread waits for a program that the compiler thread, of background priority, has
// still to compile; threads of normal priority keep it from running. Fixed: its priority is raised while the main thread waits.
#include "fault.h"
#include <condition_variable>
#include <deque>
#include <mutex>
enum { FRAMES = 260, JOBS = 2, BACKGROUND = 19, DISPLAY = -4 };
static const double VSYNC = 1000.0 / 60;
static bool mitigate;
static pid_t compiler_tid;
static double took[FRAMES];

struct OpenGLProgramToken { bool ready = false; };
static std::mutex lock;
static std::condition_variable queued, compiled;
static std::deque<OpenGLProgramToken *> programs;

static void set_priority(pid_t tid, int nice) {
    if (setpriority(PRIO_PROCESS, (id_t)tid, nice)) perror("setpriority");
}
static void *compiler_thread(void *p) {
    std::unique_lock<std::mutex> l(lock);
    compiler_tid = (pid_t)syscall(SYS_gettid);
    set_priority(compiler_tid, BACKGROUND);
    for (;;) {
        queued.wait(l, [] { return !programs.empty(); });
        OpenGLProgramToken *token = programs.front();
        programs.pop_front();
        l.unlock();
        work_us(2500); // compiles and links
        l.lock();
        token->ready = true;
        compiled.notify_all();
    }
    return p;
}
static void *job_loop(void *arg) { // decodes textures: 40 ms of work, then waits for the next file
    for (uint64_t dice = 3 + (uint64_t)arg;;) {
        work_us(38000 + draw(&dice, 8000));
        sleep_ms(6);
    }
    return arg;
}
static void wait_for(OpenGLProgramToken *token) {
    std::unique_lock<std::mutex> l(lock);
    if (token->ready) return;
    if (mitigate) set_priority(compiler_tid, DISPLAY);
    compiled.wait(l, [&] { return token->ready; });
    if (mitigate) set_priority(compiler_tid, BACKGROUND);
}
int main(int argc, char **argv) {
    mitigate = is_fixed(argc, argv);
    start("CompilerThread", compiler_thread, NULL);
    for (long i = 0; i < JOBS; i++) start_nth("JobSystem", i, job_loop);
    start_sides();
    set_priority(0, DISPLAY); // of the main thread
    double due = now_ms() + VSYNC;
    for (int i = 0; i < FRAMES; i++, due += VSYNC) {
        sleep_until_ms(due);
        OpenGLProgramToken token;
        bool variant = i % 4 == 3; // a material variant that has not been used yet
        if (variant) {
            std::lock_guard<std::mutex> l(lock);
            programs.push_back(&token);
            queued.notify_one();
        }
        work_us(1500); // culls, records commands
        if (variant) wait_for(&token);
        work_us(800);
        took[i] = now_ms() - due;
    }
    print_late(took, FRAMES, 14);
    _exit(0); // others still wait on condition variables
}
