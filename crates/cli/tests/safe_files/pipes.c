/* Two processes on one CPU that answer each other through pipes: each round has two switches, whatever else runs. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void or_die(int done, const char *what)
{
	if (!done) {
		perror(what);
		_exit(1);
	}
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000;
	cpu_set_t allowed, one;
	int there[2], back[2], cpu = 0;
	char byte = 0;
	or_die(sched_getaffinity(0, sizeof(allowed), &allowed) == 0, "sched_getaffinity");
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	or_die(sched_setaffinity(0, sizeof(one), &one) == 0, "sched_setaffinity");
	or_die(pipe(there) == 0 && pipe(back) == 0, "pipe");
	pid_t child = fork();
	or_die(child >= 0, "fork");
	int in = child ? back[0] : there[0], out = child ? there[1] : back[1];
	for (long n = 0; n < rounds; n++) {
		if (child)
			or_die(write(out, &byte, 1) == 1, "write");
		or_die(read(in, &byte, 1) == 1, "read");
		if (!child)
			or_die(write(out, &byte, 1) == 1, "write");
	}
	if (child)
		or_die(waitpid(child, NULL, 0) == child, "waitpid");
	return 0;
}
