/* LD_PRELOAD library for failing.py: makes reads of one file fail after a number of bytes.
 *
 *   FAULTY_FILE=path   FAULTY_AFTER=bytes   FAULTY_MODE=eio (reads fail) | cut (the file loses its second half)   FAULTY_LOG=path */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_llong bytes;
static atomic_int done;

/* Whether reads of this descriptor fail from now on. */
static int fails(int fd, long long more)
{
	const char *path = getenv("FAULTY_FILE"), *after = getenv("FAULTY_AFTER"), *mode = getenv("FAULTY_MODE");
	struct stat wanted, here;
	if (!path || !after || !mode || stat(path, &wanted) || fstat(fd, &here))
		return 0;
	if (here.st_ino != wanted.st_ino || here.st_dev != wanted.st_dev)
		return 0;
	if (atomic_fetch_add(&bytes, more) + more < atoll(after))
		return 0;
	if (!atomic_exchange(&done, 1)) {
		int log = open(getenv("FAULTY_LOG"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (write(log, mode, strlen(mode)) < 0)
			_exit(99);
		close(log);
		if (!strcmp(mode, "cut") && truncate(path, here.st_size / 2))
			_exit(99);
	}
	return !strcmp(mode, "eio");
}

ssize_t pread64(int fd, void *to, size_t size, off64_t at)
{
	static ssize_t (*real)(int, void *, size_t, off64_t);
	if (!real)
		real = dlsym(RTLD_NEXT, "pread64");
	if (fails(fd, 0)) {
		errno = EIO;
		return -1;
	}
	ssize_t got = real(fd, to, size, at);
	if (got > 0)
		fails(fd, got);
	return got;
}
