__attribute__((noinline)) int by_library(int (*call)(int), int value) { return call(value) + 1; }
int other_by_library(int value) { return value * 3; }
