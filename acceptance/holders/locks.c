/* Locks whose holders are known: each thread logs when it had which lock, by CLOCK_MONOTONIC, between taking and giving it back.
 *
 *   locks KIND SECONDS LOG   KIND: mutex, pi, robust, rwlock, shared (two processes), condition, semaphore, barrier, join
 *
 * A line of the log: lock, TID in its namespace, begin and end of a hold in ns. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 5
#define HOLDS (1 << 17)

static struct shared {
	pthread_mutex_t mutex[2];
	pthread_rwlock_t rwlock;
	pthread_cond_t condition;
	pthread_barrier_t barrier;
	sem_t semaphore;
	atomic_int holds, over;
	long long queue;
	struct hold { int lock, tid; long long from, to; } hold[HOLDS];
} *s;
static const char *kind;

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void spend(unsigned *seed, int busy_us, int sleep_us)
{
	long long end = now() + (rand_r(seed) % busy_us) * 1000ll;
	while (now() < end)
		;
	if (rand_r(seed) % 3 == 0)
		usleep(rand_r(seed) % sleep_us);
}

static void held(int lock, long long from, long long to)
{
	int at = atomic_fetch_add(&s->holds, 1);
	if (at < HOLDS)
		s->hold[at] = (struct hold){ lock, (int)syscall(SYS_gettid), from, to };
}

static void *use(void *number)
{
	unsigned seed = (unsigned)(long)number + 1;
	while (!s->over) {
		int lock = rand_r(&seed) % 2;
		long long from;
		if (!strcmp(kind, "rwlock")) {
			pthread_rwlock_wrlock(&s->rwlock);
			from = now();
			spend(&seed, 150, 300);
			held(0, from, now());
			pthread_rwlock_unlock(&s->rwlock);
		} else if (!strcmp(kind, "condition")) {
			pthread_mutex_lock(&s->mutex[0]);
			from = now();
			s->queue++;
			pthread_cond_signal(&s->condition);
			held(0, from, now());
			pthread_mutex_unlock(&s->mutex[0]);
			pthread_mutex_lock(&s->mutex[0]);
			from = now();
			while (!s->queue && !s->over) {
				/* It gives the mutex back, and has it again when it returns. */
				held(0, from, now());
				pthread_cond_wait(&s->condition, &s->mutex[0]);
				from = now();
			}
			s->queue--;
			held(0, from, now());
			pthread_mutex_unlock(&s->mutex[0]);
		} else if (!strcmp(kind, "semaphore")) {
			sem_wait(&s->semaphore);
			spend(&seed, 100, 200);
			sem_post(&s->semaphore);
		} else if (!strcmp(kind, "barrier")) {
			pthread_barrier_wait(&s->barrier);
		} else {
			int failed = pthread_mutex_lock(&s->mutex[lock]);
			if (failed)
				fprintf(stderr, "%s\n", strerror(failed)), exit(1);
			from = now();
			spend(&seed, 150, 300);
			held(lock, from, now());
			pthread_mutex_unlock(&s->mutex[lock]);
		}
		spend(&seed, 100, 200);
	}
	return 0;
}

static void *ends_late(void *until)
{
	usleep((long)until);
	return 0;
}

int main(int count, char **words)
{
	if (count < 4)
		return 2;
	kind = words[1];
	s = mmap(0, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int shared = !strcmp(kind, "shared");
	pthread_mutexattr_t of;
	pthread_mutexattr_init(&of);
	if (shared)
		pthread_mutexattr_setpshared(&of, PTHREAD_PROCESS_SHARED);
	if (!strcmp(kind, "pi"))
		pthread_mutexattr_setprotocol(&of, PTHREAD_PRIO_INHERIT);
	if (!strcmp(kind, "robust"))
		pthread_mutexattr_setrobust(&of, PTHREAD_MUTEX_ROBUST);
	for (int n = 0; n < 2; n++)
		pthread_mutex_init(&s->mutex[n], &of);
	pthread_rwlock_init(&s->rwlock, 0);
	pthread_cond_init(&s->condition, 0);
	pthread_barrier_init(&s->barrier, 0, THREADS);
	sem_init(&s->semaphore, 0, 1);
	long long end = now() + (long long)(atof(words[2]) * 1e9);
	if (!strcmp(kind, "join")) {
		while (now() < end) {
			pthread_t t;
			pthread_create(&t, 0, ends_late, (void *)2000l);
			pthread_join(t, 0);
		}
	} else {
		pid_t child = shared ? fork() : 1;
		pthread_t t[THREADS];
		for (long n = 0; n < THREADS; n++)
			pthread_create(&t[n], 0, use, (void *)(n + (child ? 0 : 10)));
		while (now() < end)
			usleep(10000);
		s->over = 1;
		pthread_mutex_lock(&s->mutex[0]);
		pthread_cond_broadcast(&s->condition);
		pthread_mutex_unlock(&s->mutex[0]);
		/* Some of them wait at the barrier for one that has ended. */
		for (int n = 0; n < THREADS && strcmp(kind, "barrier"); n++)
			pthread_join(t[n], 0);
		if (!child)
			_exit(0);
		if (shared)
			waitpid(child, 0, 0);
	}
	FILE *log = fopen(words[3], "w");
	for (int n = 0; n < s->holds && n < HOLDS; n++)
		fprintf(log, "%d %d %lld %lld\n", s->hold[n].lock, s->hold[n].tid, s->hold[n].from, s->hold[n].to);
	return fclose(log);
}
