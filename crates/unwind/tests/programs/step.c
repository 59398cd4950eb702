// Stops after each instruction between stepping_begins and stepping_ends, and writes what an unwinder needs: registers, the
// stack, and libgcc's own chain from the same place, to which it is compared.
#define _GNU_SOURCE
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST = 3000, BYTES = 16384, FRAMES = 64 };

static FILE *out;
static char *top;
static int steps;
static char handler_stack[1 << 16];
static char written[1 << 20];

static void word(uint64_t value) { fwrite(&value, 8, 1, out); }

static void memory(const char *from, const char *to) {
    if (to - from > BYTES) to = from + BYTES;
    word((uintptr_t)from);
    word(to - from);
    fwrite(from, 1, to - from, out);
}

// A record: pc, sp, fp; the number of addresses and the addresses; the number of stacks, and each one's address, size and bytes.
static void record(const ucontext_t *at, void **chain, int count, int handler) {
    word(at->uc_mcontext.gregs[REG_RIP]);
    word(at->uc_mcontext.gregs[REG_RSP]);
    word(at->uc_mcontext.gregs[REG_RBP]);
    word(count);
    for (int n = 0; n < count; n++) word((uintptr_t)chain[n]);
    word(handler ? 2 : 1);
}

static void on_step(int number, siginfo_t *info, void *interrupted) {
    (void)number, (void)info;
    const ucontext_t *at = interrupted;
    void *chain[FRAMES];
    int count = backtrace(chain, FRAMES);
    if (steps++ >= MOST) return;
    const char *sp = (const char *)at->uc_mcontext.gregs[REG_RSP];
    int first = 0;
    while (first < count && (uintptr_t)chain[first] != (uintptr_t)at->uc_mcontext.gregs[REG_RIP]) first++;
    record(at, chain + first, count - first, 0);
    memory(sp, top);
    if (steps % 100 == 1) {
        // The handler itself: through the signal frame, from one stack to the other.
        ucontext_t here;
        getcontext(&here);
        count = backtrace(chain, FRAMES);
        // Both calls are in this function, at two places.
        chain[0] = (void *)here.uc_mcontext.gregs[REG_RIP];
        record(&here, chain, count, 1);
        memory((const char *)here.uc_mcontext.gregs[REG_RSP], handler_stack + sizeof handler_stack);
        memory(sp, top);
    }
}

// Set and clear the trap flag. The rule for the caller is exact at each instruction.
__asm__(".text\n"
        "trap_on: .cfi_startproc\n pushfq\n .cfi_adjust_cfa_offset 8\n orl $0x100, (%rsp)\n"
        "popfq\n .cfi_adjust_cfa_offset -8\n ret\n .cfi_endproc\n"
        "trap_off: .cfi_startproc\n pushfq\n .cfi_adjust_cfa_offset 8\n andl $~0x100, (%rsp)\n"
        "popfq\n .cfi_adjust_cfa_offset -8\n ret\n .cfi_endproc\n");
void trap_on(void), trap_off(void);

__attribute__((noinline)) void stepping_begins(void) {
    void *chain[4];
    backtrace(chain, 4); // loads libgcc
    out = fopen("steps", "w");
    setvbuf(out, written, _IOFBF, sizeof written);
    // The end of the stack is above the environment.
    extern char **environ;
    top = (char *)((uintptr_t)environ & ~7ul);
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    sigaltstack(&stack, 0);
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGTRAP, &action, 0);
    trap_on();
}

__attribute__((noinline)) void stepping_ends(void) {
    trap_off();
    fclose(out);
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r"), *copy = fopen("maps", "w");
    while (fgets(line, sizeof line, maps)) fputs(line, copy);
    fclose(copy);
}
