#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CALLS 40
#define PAGES 500
/* Touched between the calls. */
#define MORE 200

static volatile int over;

/* Touches pages that are not there: one page fault each. */
__attribute__((noinline)) void touch(char *memory, int pages)
{
	for (int n = 0; n < pages; n++)
		((volatile char *)memory)[n * 4096L] = 1;
}

/* The first marked call of a process maps a page for the probes. */
__attribute__((noinline)) void first(void)
{
	__asm__ volatile("");
}

static void pin(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Takes turns with the main thread. */
static void *compete(void *nothing)
{
	pin();
	while (!over) {}
	return nothing;
}

int main(void)
{
	pin();
	int marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY);
	char text[64], *memory = mmap(0, (PAGES + MORE) * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, (PAGES + MORE) * 4096L, MADV_NOHUGEPAGE);
	pthread_t other;
	pthread_create(&other, 0, compete, 0);
	sprintf(text, "B|%d|drawn", getpid());
	first();
	touch(memory, 0);
	for (int n = 0; n < CALLS; n++) {
		if (write(marker, text, strlen(text)) < 0) {}
		touch(memory, PAGES);
		if (write(marker, "E", 1) < 0) {}
		for (int m = 0; m < MORE; m++)
			((volatile char *)memory)[(PAGES + m) * 4096L] = 1;
		madvise(memory, (PAGES + MORE) * 4096L, MADV_DONTNEED);
		struct timespec pause = { 0, 500000 };
		if (n % 4 == 0)
			nanosleep(&pause, 0);
	}
	over = 1;
	pthread_join(other, 0);
	return 0;
}
