/* Loads of known work for acceptance/compare/record.py. Each does a fixed number of steps, --scale times as many, and prints wall_ns.

   loads busy   one thread computes
   loads pool   four workers take chunks of different sizes from a queue
   loads frames 80 frames at 100 Hz, with two helper threads; its deadlines are absolute
   loads pipe   a client process and a server process exchange 20,000 messages

   --scale X     X times the steps in each piece of work (1)
   --sleep-ms N  N more milliseconds of sleep in all, in 20 equal parts (busy only)
   --pin         all threads on CPU 0
   --rivals      two processes of nice 10 compute in the same autogroup, one pinned to each CPU (autogroups separate sessions)
   --nice N      the nice value of the load itself */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Steps of the loads: 0.6 to 1 s on one core of about 4 GHz. */
#define BUSY_STEPS 500000000ULL
#define POOL_STEPS 400000u
#define FRAME_STEPS 2000000u
#define PIPE_STEPS 5000u

static double scale = 1;
static long sleep_ms;
static volatile uint64_t sink;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Does `steps` dependent steps of xorshift, about 1 ns each, `scale` times. */
static void work(uint64_t steps)
{
	uint64_t x = 88172645463325252ULL;

	for (uint64_t n = (uint64_t)(steps * scale); n; n--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	sink = x;
}

/* The next of a fixed sequence of numbers below `limit`, so that all runs have the same sizes. */
static unsigned next_size(unsigned *state, unsigned limit)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % limit;
}

static void rest_us(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int busy(void)
{
	for (int i = 0; i < 200; i++) {
		work(BUSY_STEPS / 200);
		if (sleep_ms && i % 10 == 0)
			rest_us(sleep_ms * 1000 / 20);
	}
	return 0;
}

/* The pool: a queue of at most 16 chunks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static unsigned queue[16], head, tail;
static int closed;

static void *worker(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", (int)(intptr_t)arg);
	prctl(PR_SET_NAME, name);
	for (;;) {
		pthread_mutex_lock(&lock);
		while (head == tail && !closed)
			pthread_cond_wait(&filled, &lock);
		if (head == tail) {
			pthread_mutex_unlock(&lock);
			return NULL;
		}
		unsigned steps = queue[tail++ % 16];
		pthread_cond_signal(&emptied);
		pthread_mutex_unlock(&lock);
		work(steps);
	}
}

static int pool(void)
{
	pthread_t threads[4];
	unsigned state = 7;

	for (intptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, worker, (void *)i);
	for (int i = 0; i < 2500; i++) {
		unsigned steps = POOL_STEPS / 2 + next_size(&state, POOL_STEPS);

		pthread_mutex_lock(&lock);
		while (head - tail == 16)
			pthread_cond_wait(&emptied, &lock);
		queue[head++ % 16] = steps;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	closed = 1;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* Frames: the main thread works, gives each helper a part, waits for both, and sleeps until the next deadline. */
static pthread_barrier_t begin_part, end_part;
static unsigned part_steps;
static int last_frame;

static void *helper(void *arg)
{
	prctl(PR_SET_NAME, "helper");
	for (;;) {
		pthread_barrier_wait(&begin_part);
		if (last_frame)
			return arg;
		work(part_steps);
		pthread_barrier_wait(&end_part);
	}
}

static int frames(void)
{
	pthread_t helpers[2];
	unsigned state = 3;
	int64_t deadline = now_ns();

	pthread_barrier_init(&begin_part, NULL, 3);
	pthread_barrier_init(&end_part, NULL, 3);
	for (int i = 0; i < 2; i++)
		pthread_create(&helpers[i], NULL, helper, NULL);
	for (int frame = 0; frame < 80; frame++) {
		deadline += 10000000;
		struct timespec until = { deadline / 1000000000, deadline % 1000000000 };

		work(FRAME_STEPS / 2 + next_size(&state, FRAME_STEPS));
		part_steps = FRAME_STEPS / 4 + next_size(&state, FRAME_STEPS / 2);
		pthread_barrier_wait(&begin_part);
		pthread_barrier_wait(&end_part);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	last_frame = 1;
	pthread_barrier_wait(&begin_part);
	for (int i = 0; i < 2; i++)
		pthread_join(helpers[i], NULL);
	return 0;
}

static int exchange(void)
{
	int ends[2];
	char message[64] = "";

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	pid_t server = fork();
	if (server < 0)
		return 1;
	if (server == 0) {
		prctl(PR_SET_NAME, "server");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		while (read(ends[1], message, sizeof(message)) == sizeof(message)) {
			work(PIPE_STEPS);
			if (write(ends[1], message, sizeof(message)) != sizeof(message))
				_exit(1);
		}
		_exit(0);
	}
	close(ends[1]);
	for (int i = 0; i < 20000; i++) {
		work(PIPE_STEPS);
		if (write(ends[0], message, sizeof(message)) != sizeof(message) || read(ends[0], message, sizeof(message)) != sizeof(message))
			return 1;
	}
	close(ends[0]);
	return waitpid(server, NULL, 0) != server;
}

static void be_rival(int cpu)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "rival");
	setpriority(PRIO_PROCESS, 0, 10);
	pin_to(cpu);
	for (;;)
		work(1000000);
}

int main(int argc, char **argv)
{
	int with_rivals = 0, nice_value = 0, failed;
	pid_t rivals[2];
	int64_t begin;

	if (argc < 2)
		return 2;
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--scale") && i + 1 < argc)
			scale = atof(argv[++i]);
		else if (!strcmp(argv[i], "--sleep-ms") && i + 1 < argc)
			sleep_ms = atol(argv[++i]);
		else if (!strcmp(argv[i], "--nice") && i + 1 < argc)
			nice_value = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--pin"))
			pin_to(0);
		else if (!strcmp(argv[i], "--rivals"))
			with_rivals = 1;
		else
			return 2;
	}
	for (int i = 0; with_rivals && i < 2; i++)
		if ((rivals[i] = fork()) == 0)
			be_rival(i);
	if (nice_value)
		setpriority(PRIO_PROCESS, 0, nice_value);
	begin = now_ns();
	if (!strcmp(argv[1], "busy"))
		failed = busy();
	else if (!strcmp(argv[1], "pool"))
		failed = pool();
	else if (!strcmp(argv[1], "frames"))
		failed = frames();
	else if (!strcmp(argv[1], "pipe"))
		failed = exchange();
	else
		return 2;
	printf("wall_ns=%lld\n", (long long)(now_ns() - begin));
	for (int i = 0; with_rivals && i < 2; i++) {
		kill(rivals[i], SIGKILL);
		waitpid(rivals[i], NULL, 0);
	}
	return failed;
}
