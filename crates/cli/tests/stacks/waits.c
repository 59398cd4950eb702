/* Four threads that each wait 40 times in one system call, each called from its own function with a frame pointer. */
#include <linux/futex.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TIMES 40
#define NOINLINE __attribute__((noinline))

static int ends[2];
static int never;
static const struct timespec a_while = { 0, 10 * 1000 * 1000 };

static NOINLINE int in_nanosleep(void)
{
	return nanosleep(&a_while, 0);
}

static NOINLINE int in_futex(void)
{
	return syscall(SYS_futex, &never, FUTEX_WAIT, 0, &a_while, 0, 0);
}

static NOINLINE int in_read(void)
{
	char one;
	return read(ends[0], &one, 1);
}

static NOINLINE int in_epoll(void)
{
	struct epoll_event event;
	static int of;
	if (!of)
		of = epoll_create1(0);
	return epoll_wait(of, &event, 1, 10);
}

/* The thread's function. The C library has no frame pointers, so the function that calls it may be missing from the callchain, but
 * this one is not. */
#define WAITER(what)                                                                                                      \
	static void *what##_waiter(void *unused)                                                                             \
	{                                                                                                                    \
		prctl(PR_SET_NAME, #what);                                                                                   \
		for (volatile int i = 0; i < TIMES; i++)                                                                     \
			in_##what();                                                                                         \
		return unused;                                                                                               \
	}

WAITER(nanosleep)
WAITER(futex)
WAITER(read)
WAITER(epoll)

int main(void)
{
	void *(*const waiters[])(void *) = { nanosleep_waiter, futex_waiter, read_waiter, epoll_waiter };
	pthread_t threads[4];
	if (pipe(ends))
		return 1;
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], 0, waiters[i], 0))
			return 1;
	for (int i = 0; i < TIMES; i++) {
		nanosleep(&a_while, 0);
		if (write(ends[1], "x", 1) != 1)
			return 1;
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	return 0;
}
