#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The number of tracers attached to the probe; each tracer increments it, and the probe is only hit while it is not zero. */
__attribute__((section(".probes"))) volatile unsigned short served_watched;

#ifdef GO
/* This section identifies a Go program. */
__attribute__((section(".gopclntab"), used)) static const char lines[] = "none";
#endif

/* A probe as defined by sys/sdt.h: a nop, and a note with its address. */
#define PROBE                                                                                                             \
	__asm__ volatile("990: nop\n"                                                                                         \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"                                                      \
			 ".4byte 992f-991f, 994f-993f, 3\n"                                                                          \
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n"                                                                 \
			 "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte served_watched\n"                                          \
			 ".asciz \"server\"\n.asciz \"served\"\n.asciz \"\"\n"                                                       \
			 "994: .balign 4\n.popsection\n"                                                                             \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                                     \
			 ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                                                            \
			 "_.stapsdt.base: .space 1\n.popsection\n")

__attribute__((noinline)) void handle_request(int depth)
{
	struct timespec pause = { 0, 2000000 };
	nanosleep(&pause, 0);
	if (depth)
		handle_request(depth - 1);
	__asm__ volatile("");
}

int main(void)
{
	int marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY);
	char text[64];
	for (int n = 0; n < 20; n++) {
		sprintf(text, "B|%d|draw", getpid());
		if (write(marker, text, strlen(text)) < 0) {}
		handle_request(n == 0);
		if (served_watched)
			PROBE;
		if (write(marker, "E", 1) < 0) {}
	}
	if (write(marker, "all done\n", 9) < 0) {}
	return 0;
}
