#include <stddef.h>
void stepping_begins(void);
void stepping_ends(void);
int by_library(int (*call)(int), int value);
int other_by_library(int value);

static volatile int sink;

// Calls through the procedure linkage table, the first time by the dynamic linker.
__attribute__((noinline)) int leaf(int value) { return other_by_library(value) + other_by_library(value + 1); }

// A stack that the compiler aligns anew, with a part of a size that is known at run time.
__attribute__((noinline)) int aligned(int value) {
    _Alignas(64) volatile char part[64];
    volatile char *more = __builtin_alloca(value + 16);
    part[value & 63] = more[1] = (char)value;
    int result = by_library(leaf, value) + part[value & 63] + more[1];
    return result;
}

__attribute__((noinline)) int large(int value) {
    volatile char part[5000];
    part[value] = (char)value;
    return aligned(value) + part[value];
}

#define LINK(name, next)                                             \
    __attribute__((noinline)) int name(int value) {                  \
        volatile int kept[(sizeof #name) % 7 + 1];                   \
        kept[0] = value;                                             \
        int result = next(value + 1);                                \
        sink += kept[0];                                             \
        return result + kept[0];                                     \
    }
LINK(link_24, large)
LINK(link_23, link_24) LINK(link_22, link_23) LINK(link_21, link_22) LINK(link_20, link_21) LINK(link_19, link_20)
LINK(link_18, link_19) LINK(link_17, link_18) LINK(link_16, link_17) LINK(link_15, link_16) LINK(link_14, link_15)
LINK(link_13, link_14) LINK(link_12, link_13) LINK(link_11, link_12) LINK(link_10, link_11) LINK(link_09, link_10)
LINK(link_08, link_09) LINK(link_07, link_08) LINK(link_06, link_07) LINK(link_05, link_06) LINK(link_04, link_05)
LINK(link_03, link_04) LINK(link_02, link_03) LINK(link_01, link_02)

int main(void) {
    stepping_begins();
    int result = link_01(1);
    stepping_ends();
    return result == 0;
}
