/* What a message through a pipe costs without a switch: a thread writes some and then reads them, again and again.
 *
 *      load BYTES MESSAGES THREADS
 *
 * With two threads, the other one sleeps: the kernel then counts the users of a file at each call, since they share their files. Prints the median
 * over the repetitions, ns for each message. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPETITIONS 2001
#define AT_ONCE 64

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void *sleeps(void *of)
{
	pause();
	return of;
}

int main(int argc, char **argv)
{
	static double each[REPETITIONS];
	int ends[2], bytes = argc == 4 ? atoi(argv[1]) : 0, messages = argc == 4 ? atoi(argv[2]) : 0;
	pthread_t other;
	char *message = bytes > 0 ? calloc(1, bytes) : NULL;

	/* More would fill the pipe, and wait for ever. */
	if (!message || messages < 1 || (long long)bytes * messages > 65536 || pipe(ends)) {
		fprintf(stderr, "usage: load BYTES MESSAGES THREADS, 65536 bytes together at most\n");
		return 1;
	}
	if (atoi(argv[3]) > 1 && pthread_create(&other, NULL, sleeps, NULL))
		return 1;
	/* So many that reading the clock adds little. */
	int times = (AT_ONCE + messages - 1) / messages;
	for (int i = 0; i < REPETITIONS; i++) {
		long long start = now();
		for (int j = 0; j < times; j++) {
			for (int k = 0; k < messages; k++)
				if (write(ends[1], message, bytes) != bytes)
					return 1;
			for (int k = 0; k < messages; k++)
				if (read(ends[0], message, bytes) != bytes)
					return 1;
		}
		each[i] = (double)(now() - start) / ((double)times * messages);
	}
	qsort(each, REPETITIONS, sizeof(*each), by_value);
	printf("%.1f\n", each[REPETITIONS / 2]);
	return 0;
}
