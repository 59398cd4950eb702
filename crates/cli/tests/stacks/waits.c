/* Four threads that each wait 40 times in one system call, each called from its own function with a frame pointer.
 *
 * Each of these calls waits, however busy the machine is: the main thread ends a wait only once the kernel says that the thread has left its
 * CPU in that call, and nothing else ends it. The program begins with a byte of its standard input, prints how often the kernel counted that
 * each thread left its CPU to wait meanwhile, and exists until its standard input ends, so that its mappings can be read. */
#define _GNU_SOURCE
#include <ctype.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TIMES 40
#define NOINLINE __attribute__((noinline))

/* Only one of two calls exists on some architectures. */
#ifndef SYS_nanosleep
#define SYS_nanosleep SYS_clock_nanosleep
#endif
#ifndef SYS_epoll_wait
#define SYS_epoll_wait SYS_epoll_pwait
#endif

struct waiter {
	void *(*run)(void *);
	/* Ends one wait. */
	void (*end)(struct waiter *);
	const char *name;
	long calls[2];
	pthread_t thread;
	volatile int tid, begun, done;
	int ended;
	long switches;
};

static int ends[2], polled, bell;
static int never;

static NOINLINE int in_nanosleep(void)
{
	static const struct timespec hours = { 36000, 0 };
	return nanosleep(&hours, 0);
}

static NOINLINE int in_futex(void)
{
	return syscall(SYS_futex, &never, FUTEX_WAIT, 0, 0, 0, 0);
}

static NOINLINE int in_read(void)
{
	char one;
	return read(ends[0], &one, 1);
}

static NOINLINE int in_epoll(void)
{
	struct epoll_event event;
	return epoll_wait(polled, &event, 1, -1);
}

static void end_nanosleep(struct waiter *of)
{
	pthread_kill(of->thread, SIGUSR1);
}

static void end_futex(struct waiter *of)
{
	(void)of;
	syscall(SYS_futex, &never, FUTEX_WAKE, 1, 0, 0, 0);
}

static void end_read(struct waiter *of)
{
	(void)of;
	if (write(ends[1], "x", 1) != 1)
		exit(1);
}

static void end_epoll(struct waiter *of)
{
	uint64_t one = 1;
	(void)of;
	if (write(bell, &one, sizeof(one)) != sizeof(one))
		exit(1);
}

/* How often the calling thread has left its CPU to wait. */
static long switches(void)
{
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* The thread's function. The C library has no frame pointers, so the function that calls it may be missing from the callchain, but
 * this one is not. */
#define WAITER(what)                                                                                                      \
	static void *what##_waiter(void *own)                                                                                \
	{                                                                                                                    \
		struct waiter *of = own;                                                                                     \
		prctl(PR_SET_NAME, #what);                                                                                   \
		of->tid = syscall(SYS_gettid);                                                                               \
		long before = switches();                                                                                    \
		for (volatile int i = 0; i < TIMES; i++) {                                                                   \
			of->begun++;                                                                                         \
			in_##what();                                                                                         \
		}                                                                                                            \
		of->switches = switches() - before;                                                                          \
		of->done = 1;                                                                                                \
		return own;                                                                                                  \
	}

WAITER(nanosleep)
WAITER(futex)
WAITER(read)
WAITER(epoll)

static struct waiter all[] = {
	{ .run = nanosleep_waiter, .end = end_nanosleep, .name = "nanosleep", .calls = { SYS_nanosleep, SYS_clock_nanosleep } },
	{ .run = futex_waiter, .end = end_futex, .name = "futex", .calls = { SYS_futex, SYS_futex } },
	{ .run = read_waiter, .end = end_read, .name = "read", .calls = { SYS_read, SYS_read } },
	{ .run = epoll_waiter, .end = end_epoll, .name = "epoll", .calls = { SYS_epoll_wait, SYS_epoll_pwait } },
};
#define COUNT (int)(sizeof(all) / sizeof(all[0]))

/* Whether a thread has left its CPU in its system call. Of a thread that runs or is ready, the kernel writes "running". */
static int waits(const struct waiter *of)
{
	char path[64], text[32] = "";
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", of->tid);
	int file = open(path, O_RDONLY);
	if (file < 0)
		return 0;
	if (read(file, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(file);
	long call = atol(text);
	return isdigit((unsigned char)text[0]) && (call == of->calls[0] || call == of->calls[1]);
}

static void nothing(int signal)
{
	(void)signal;
}

int main(void)
{
	char byte;
	struct sigaction act = { .sa_handler = nothing };
	struct epoll_event each = { .events = EPOLLIN | EPOLLET };
	if (access("/proc/self/syscall", R_OK) || pipe(ends) || sigaction(SIGUSR1, &act, 0))
		return 1;
	polled = epoll_create1(0);
	bell = eventfd(0, 0);
	if (polled < 0 || bell < 0 || epoll_ctl(polled, EPOLL_CTL_ADD, bell, &each))
		return 1;
	if (read(0, &byte, 1) < 0)
		return 1;
	for (int i = 0; i < COUNT; i++)
		if (pthread_create(&all[i].thread, 0, all[i].run, &all[i]))
			return 1;
	for (int left = COUNT; left;) {
		left = 0;
		for (int i = 0; i < COUNT; i++) {
			struct waiter *of = &all[i];
			int begun = of->begun;
			left += !of->done;
			if (!of->done && begun > of->ended && waits(of)) {
				of->ended = begun;
				of->end(of);
			}
		}
		usleep(100);
	}
	for (int i = 0; i < COUNT; i++) {
		pthread_join(all[i].thread, 0);
		printf("%s %ld\n", all[i].name, all[i].switches);
	}
	fflush(stdout);
	while (read(0, &byte, 1) > 0) {
	}
	return 0;
}
