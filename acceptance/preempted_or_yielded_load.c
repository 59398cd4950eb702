/* On one CPU: a thread that calls sched_yield() in every other phase, an equal thread that never does, and a SCHED_FIFO thread that
 * takes the CPU from both of them a thousand times a second. Prints the number of calls.
 *
 *	yields   call, call, …  │ only works  │ call, call, …  │
 *	equal    works          │ works       │ works          │
 *	fifo     ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌ ▌
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000L

static atomic_int over;
static long calls;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void work(long ns)
{
	for (long until = now() + ns; now() < until;)
		;
}

static void *yields(void *unused)
{
	prctl(PR_SET_NAME, "yields");
	for (int phase = 0; !atomic_load(&over); phase++)
		for (long until = now() + 20 * MS; now() < until && !atomic_load(&over);) {
			work(30000);
			if (phase % 2 == 0) {
				sched_yield();
				calls++;
			}
		}
	return unused;
}

static void *equal(void *unused)
{
	prctl(PR_SET_NAME, "equal");
	while (!atomic_load(&over))
		work(MS);
	return unused;
}

static void *fifo(void *unused)
{
	struct sched_param priority = {.sched_priority = 10};
	struct timespec pause = {.tv_nsec = MS};
	prctl(PR_SET_NAME, "fifo");
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority))
		exit(2);
	while (!atomic_load(&over)) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		work(50000);
	}
	return unused;
}

int main(int count, char **words)
{
	void *(*threads[])(void *) = {yields, equal, fifo};
	pthread_t all[3];
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return 2;
	for (int i = 0; i < 3; i++)
		pthread_create(&all[i], NULL, threads[i], NULL);
	usleep(count > 1 ? atoi(words[1]) * 1000 : 3000000);
	atomic_store(&over, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(all[i], NULL);
	printf("%ld\n", calls);
	return 0;
}
