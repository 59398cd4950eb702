// Waits in a chain of 30 calls, built without frame pointers, and within a signal handler on a stack of its own: each blocking call is at the end of
// the whole chain.
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static const int WAITS = 400;
static const struct timespec WAIT = {0, 5000000};
static volatile int in_handler;

__attribute__((noinline)) static void pause_at_the_end(void)
{
    nanosleep(&WAIT, 0);
    __asm__ volatile("" ::: "memory");
}

// Each function has a frame of another size, which its callee may read.
#define NEXT(name, callee, bytes)                                                                                      \
    __attribute__((noinline)) static int name(volatile char *of)                                                       \
    {                                                                                                                  \
        volatile char own[bytes];                                                                                      \
        own[0] = of[0];                                                                                                \
        return callee(own) + own[0];                                                                                   \
    }

__attribute__((noinline)) static int f00(volatile char *of)
{
    pause_at_the_end();
    return of[0];
}
NEXT(f01, f00, 8) NEXT(f02, f01, 200) NEXT(f03, f02, 16) NEXT(f04, f03, 4096) NEXT(f05, f04, 24)
NEXT(f06, f05, 65000) NEXT(f07, f06, 8) NEXT(f08, f07, 120) NEXT(f09, f08, 48) NEXT(f10, f09, 8)
NEXT(f11, f10, 8) NEXT(f12, f11, 8) NEXT(f13, f12, 8) NEXT(f14, f13, 1000) NEXT(f15, f14, 8)
NEXT(f16, f15, 8) NEXT(f17, f16, 8) NEXT(f18, f17, 8) NEXT(f19, f18, 8) NEXT(f20, f19, 8)
NEXT(f21, f20, 8) NEXT(f22, f21, 8) NEXT(f23, f22, 8) NEXT(f24, f23, 8) NEXT(f25, f24, 8)
NEXT(f26, f25, 8) NEXT(f27, f26, 8) NEXT(f28, f27, 8) NEXT(f29, f28, 8)

static void handler(int signal)
{
    volatile char own[8] = {0};
    in_handler = f03(own) + signal;
}

int main(void)
{
    static char stack[1 << 18];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    volatile char own[8] = {0};
    if (sigaltstack(&other, 0) || sigaction(SIGUSR1, &action, 0))
        return 1;
    for (int i = 0; i < WAITS; i++) {
        f29(own);
        if (i % 4 == 0)
            raise(SIGUSR1);
    }
    return 0;
}
