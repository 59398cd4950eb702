/* The sums in the kernel, as `src/memory.rs` reads them. All times are ns. */
#ifndef COREWISE_SUMS_H
#define COREWISE_SUMS_H

#define CLASSES 8
#define BUCKETS 98
#define IDLE_STATES 10

/* What a CPU runs. */
#define RUNS_UNKNOWN 0
#define RUNS_IDLE 1
#define RUNS_THREAD 2
#define RUNS_KERNEL_THREAD 3

/* `sibling` of a CPU without siblings, of one whose siblings are not known, and of one with several: what is not negative is added up. */
#define NO_SIBLING -1
#define UNKNOWN_SIBLINGS -2
#define SEVERAL_SIBLINGS 0x40000000

/* The sums of a CPU up to `since`. Only its own switches and settle() change them, while `seq` is not even. */
struct cpu_sums {
	u32 seq;
	s32 sibling;
	/* How long the CPU has been busy, in one word, so that its sibling can read it at any time t:
	 *
	 *      highest bit set    busy: t - the rest
	 *      not set            not busy: the rest */
	u64 busy_word;
	u64 since;
	u64 busy;
	u64 idle;
	u64 unknown;
	u64 kernel; /* the part of `busy` with kernel threads */
	u64 task;
	u32 runs;
	u32 tid;
	u32 slot;
	u32 class;
	u64 began; /* when the current thread was switched in */
	u64 sibling_read; /* the sibling's busy time, as far as it was accounted here */
	u64 with_sibling; /* the part of `busy` with a busy sibling */
	u64 switches;
	u64 wakeups;
	u64 inconsistent;
	u64 forgotten;
	u64 overflows;
	u64 migrations_from[CLASSES];
	u64 started; /* 0: not watched yet */
	u64 inferred; /* switches that were not passed on, but are known */
	u64 rq_switches; /* the run queue's number of switches at the last one */
	u64 skew; /* how far our clock is ahead of the run queue's */
	/* Changed by cpu_idle() only. */
	u64 idle_since;
	u32 idle_state;
	u32 in_idle_state;
	s32 next_sibling; /* from the next settle() on */
	/* Of cores with more than two hardware threads (cores.h): */
	u32 core; /* the CPU that has the core's word */
	u64 core_word; /* of the core, if it is this CPU's */
	u32 in_core; /* whether the word has this CPU as busy */
	u32 unused;
};

/* What a queue's CPU did while a thread was ready. */
struct ready_sums {
	u64 same, other, kernel, idle, unknown;
};

/* The sums of a group on a CPU. Counts of 32 bits wrap; their reader adds up the differences. */
struct group_sums {
	u32 generation; /* changes when the slot is given to another group */
	u32 wakeups;
	u64 running;
	u64 with_sibling;
	u64 kernel; /* the part of `running` of kernel threads */
	struct ready_sums ready;
	u64 ready_ns; /* the sum of the histogram */
	u64 run_ns;
	u32 preemptions;
	u32 migrations_from[CLASSES];
	u32 unused[3];
	/* Of threads that were moved to another queue. Other CPUs add to it, atomically. */
	struct ready_sums moved;
	u32 ready_counts[BUCKETS];
	u32 run_counts[BUCKETS];
};

#define NAME 64

/* The cgroup of a slot, read when the slot was given to it: it may be removed before anyone asks for its name. */
struct cgroup_name {
	u64 id;
	u64 parent; /* 0: it is a root */
	char text[NAME];
};

/* The periods of a CPU in an idle state. */
struct idle_sums {
	u64 break_even; /* set before loading; 0: not known */
	u64 periods;
	u64 ns;
	u64 short_periods;
};

#endif
