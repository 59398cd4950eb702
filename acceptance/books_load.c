/* Threads with different behaviour for acceptance/books.py; all of them live throughout. Prints "ready" once they have started. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int ping[2], pong[2];

static void burn(long us)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static void rest(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

static void *spinner(void *arg)
{
	for (;;)
		burn(1000);
	return arg;
}

static void *humble(void *arg)
{
	setpriority(PRIO_PROCESS, 0, 15); /* of this thread: on Linux nice values are each thread's own */
	return spinner(arg);
}

static void *frames(void *arg)
{
	for (;;) {
		burn(2000);
		rest(6000);
	}
	return arg;
}

static void *ticker(void *arg)
{
	for (;;) {
		burn(50);
		rest(300);
	}
	return arg;
}

static void *yielder(void *arg)
{
	for (;;) {
		burn(300);
		sched_yield();
	}
	return arg;
}

static void *server(void *arg)
{
	char c;

	while (read(ping[0], &c, 1) == 1) {
		burn(20);
		if (write(pong[1], &c, 1) != 1)
			break;
	}
	return arg;
}

static void *client(void *arg)
{
	char c = 'x';

	while (write(ping[1], &c, 1) == 1 && read(pong[0], &c, 1) == 1)
		burn(100);
	return arg;
}

static const struct { const char *name; void *(*body)(void *); } roles[] = {
	{ "spinner", spinner }, { "humble", humble }, { "frames", frames }, { "ticker", ticker },
	{ "yielder", yielder }, { "server", server }, { "client", client },
};

static void *start(void *arg)
{
	long i = (long)arg;

	prctl(PR_SET_NAME, roles[i].name);
	return roles[i].body(NULL);
}

int main(void)
{
	if (pipe(ping) || pipe(pong))
		return 1;
	for (long i = 0; i < (long)(sizeof roles / sizeof *roles); i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, start, (void *)i))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
