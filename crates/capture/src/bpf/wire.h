/* What the kernel side hands to the recorder. `src/wire.rs` reads exactly this. All numbers in the machine's byte order.
 *
 * Frequent events go into blocks, 8 bytes and more each:   u32 dt | u8 type | u8 a | u16 b | ...
 *
 *   SWITCH       a state code   b prev_prio, next_prio   u32 prev   u32 next   u64 exec of prev
 *   SWITCH_TOLD  the same, then u64 (ns since the wakeup << 16 | its target)
 *                either with WITH_STACKS, then s32 kernel's callchain   s32 program's callchain   u32 process of prev
 *   WAKING, WAKEUP, NEW   a prio   b target   u32 tid   u32 waker
 *   MIGRATE      b from   u32 tid   u32 to
 *   IDLE         a state, 255 on leaving
 *   FREQUENCY    u32 cpu   u32 khz
 *   HARD_IN, HARD_OUT     u32 number
 *   SOFT_IN, SOFT_OUT     a vector
 *   TIMER        u32 the lower half of its function's address (struct rare_function)
 *   IPI          a which (enum ipi)
 *   TOLD         u32 tid   u32 0   u64 (ns since the wakeup << 16 | its target), of a wakeup told before its switch-in
 *
 * Rare ones go out one by one, behind a `struct rare`. A priority byte of 255 is -1 (deadline). */
#ifndef COREWISE_WIRE_H
#define COREWISE_WIRE_H

#define KIND_BLOCK 1
#define KIND_RARE 2
#define KIND_ROW 3

#define LEVELS 4
#define BLOCK_DATA 4096
#define RECORD_MAX 48
/* Wakeups of each CPU that wait to be told: a power of two. */
#define PENDING 32
/* Threads that are followed from their blocking to their switch-in: a power of two. */
#define THREADS 65536
/* The target of a wakeup that the kernel's queue tells of: where its waking, or the migration after it, says. */
#define NO_TARGET 0xffff

/* Of a type: callchains follow (stacks.h). */
#define WITH_STACKS 0x80
/* The innermost frames that are kept: the kernel's most, and half as many of programs, which have more callchains. */
#define KERNEL_DEPTH 127
#define USER_DEPTH 64

/* What a thread was charged may differ by this much from how long it ran, besides one part in fifty. */
#define SLACK_NS 20000

/* One switch reads the run queue's clock once, for who leaves and for who comes; what was charged may lag a little. */
#define STAY_SLACK_NS 5000ll

/* What the kernel's events say of the idle task: MAX_PRIO - 20. */
#define IDLE_PRIO 120

/* From a thread's giving up its place in the queue to its switch-out it takes less than this. */
#define EARLY_NS 50000ll

enum frequent {
	SWITCH = 1,
	SWITCH_TOLD,
	WAKING,
	WAKEUP,
	NEW,
	MIGRATE,
	IDLE,
	FREQUENCY,
	HARD_IN,
	HARD_OUT,
	SOFT_IN,
	SOFT_OUT,
	TOLD,
	TIMER,
	IPI,
};

/* Interrupts that one CPU sends another. */
enum ipi {
	IPI_RESCHEDULE,
	IPI_CALL_FUNCTION,
};

enum rare_type {
	FORK = 1,
	EXEC,
	EXIT,
	RENAME,
	PRIORITY,
	AFFINITY,
	CGROUP,
	CURRENT,
	ROW,
	SWITCHED,
	WOKEN_UNSEEN,
	MARKER, /* written by the recorder itself: a text follows the head */
	ENTERED,
	RETURNED,
	HELD = 20,
	LET_GO,
	PARKED,
	UNPARKED,
	FUNCTION,
	MASK_SEEN,
};

struct block_head {
	u8 kind;
	u8 level;
	u16 cpu;
	u32 events;
	u64 base; /* time of the first event; the others count from it */
	u64 last; /* time of the last one */
	u64 lost; /* events of this CPU that could not be delivered before this block */
};

struct block {
	u32 used; /* bytes in `data` */
	u32 busy; /* a program is writing here */
	u64 lost; /* not yet told with a block */
	/* Of level 0 only: who came in at this CPU's last switch, and how that fitted. */
	u32 by_next; /* switches told by who came in, since that of who left was not delivered */
	u32 one_sided; /* of these, those that leave open who left */
	u32 tid;
	u32 process; /* that of the last one that left unheard */
	u64 left; /* what it had been charged when it came in on another CPU since; 0: it did not */
	u64 in; /* when; 0: no switch seen yet */
	u64 skew; /* our clock less the run queue's, by the last switch */
	u64 behind; /* the run queue's clock less the one that charges, when it came in */
	u64 stolen; /* by how much that grew until another came in, while that is looked into */
	u64 exec; /* what it had been charged then */
	u64 switches; /* how many this CPU had made by then */
	u64 task; /* where it stands: to compare, and for probe_read */
	u64 came; /* the one that runs instead, or comes in, while that is looked into */
	u32 interrupts; /* how deep it is in interrupts and timers */
	u32 unlinked; /* switches by another one than who came in last: those between were not delivered, and not inferred */
	struct block_head head;
	u8 data[BLOCK_DATA + RECORD_MAX];
};

/* Where src/ring.rs reads them. */
_Static_assert(__builtin_offsetof(struct block, by_next) == 16 && __builtin_offsetof(struct block, unlinked) == 108, "as there");

struct rare {
	u8 kind;
	u8 type;
	u16 cpu;
	u32 tid;
	u64 at;
};

struct rare_fork {
	struct rare head;
	u32 parent, pid, inner_tid, inner_pid;
	s32 prio, policy, nice, level;
	u64 cgroup;
	char comm[16];
};

struct rare_exec {
	struct rare head;
	u32 pid, old_tid;
	char path[256];
};

/* A switch to `head.tid` that was not delivered, told by who came in. `prev` -1: nobody saw who left; its exec is then all
 * ones. `code` UNTOLD: its state was read too late to be that of the switch. */
struct rare_switched {
	struct rare head;
	u32 prev, code;
	s32 prev_prio, next_prio;
	u64 exec;
};

#define UNTOLD 10

/* The state code of R+. */
#define MARKED_PREEMPTED 9

/* Further state codes of a SWITCH, of a thread that can still run (yields.h). */
#define LEFT_TO_USER 11
#define LEFT_YIELDED 12
#define LEFT_HELD 13
#define LEFT_GAVE_WAY 14
#define LEFT_HELD_MARKED 15

/* What befell `head.tid` at `head.at` and was noticed later: it was queued, and nobody told of its waking; its cgroup's quota held
 * it from then on, or no longer. */
struct rare_late {
	struct rare head;
	u64 pad;
};

struct rare_exit {
	struct rare head;
	u32 pid, pad;
};

/* A function or probe that is marked, by the number of its mark. */
struct rare_call {
	struct rare head;
	u32 pid, mark;
};

/* The CPU that is parked from `head.at` on, or no longer. */
struct rare_parking {
	struct rare head;
	u32 of, pad;
};

/* What a function of timers is called, by the lower half of its address: the kernel and its modules lie within 4 GB. Told before the
 * first timer that has it. */
struct rare_function {
	struct rare head;
	u32 of, pad;
	char name[64];
};

struct rare_rename {
	struct rare head;
	u32 pid, pad;
	char comm[16];
};

/* `attr`: bit 31; bits 0 to 7 its own priority (255 is -1); bit 30: bits 8 to 18 and 19 to 29 what it asks of the capacity at
 * least and at most. */
struct rare_priority {
	struct rare head;
	s32 prio, policy, nice;
	u32 attr;
};

#define MASK_WORDS 16

struct rare_affinity {
	struct rare head;
	u32 words, pad;
	u64 mask[MASK_WORDS];
};

/* A mask that is not the one that was seen before, at `since`: between the two it is not known. 0: the thread neither ran nor was
 * ready between. */
struct rare_mask_seen {
	struct rare head;
	u32 words, pad;
	u64 mask[MASK_WORDS];
	u64 since;
};

struct rare_cgroup {
	struct rare head;
	u32 pid, whole_process;
	u64 id;
	char path[256];
};

struct rare_current {
	struct rare head;
};

struct rare_row {
	struct rare head;
	u32 pid, inner_tid, inner_pid, level;
	s32 prio, policy, nice;
	u32 on_cpu, on_rq, delayed, state, exit_state;
	u64 exec, cgroup;
	char comm[16];
	u32 words, attr; /* as in rare_priority */
	u64 mask[MASK_WORDS];
};

#endif
