/* The format of the kernel side's records, which `src/wire.rs` decodes. All numbers are in the machine's byte order.
 *
 * Frequent events go into blocks, 8 bytes and more each:   u32 dt | u8 type | u8 a | u16 b | ...
 *
 *   SWITCH       a state code   b prev_prio, next_prio   u32 prev   u32 next   u64 exec of prev
 *   SWITCH_WITH_WAKEUP  the same, then u64 (ns since the wakeup << 16 | its target)
 *                both may have WITH_STACKS; then s32 kernel callchain   s32 user callchain   u32 process of prev follow;
 *                and WITH_CALL; then u32 system call | number of its object << 12 follows
 *                With WITH_FUTEX instead, what a futex call waits for:  u32 expected value   u64 the address in the lower 52 bits, 3 bits (FUTEX_…),
 *                and in the upper 9 bits the operation   [u32 the words at address + 0, 8, 12 and 16]
 *   WAKING, WAKEUP, NEW   a prio   b target   u32 tid   u32 waker
 *   MIGRATE      b from   u32 tid   u32 to
 *   IDLE         a state, 255 on leaving
 *   FREQUENCY    u32 cpu   u32 khz
 *   HARD_IN, HARD_OUT     u32 number
 *   SOFT_IN, SOFT_OUT     a vector
 *   TIMER        u32 the lower half of its function's address (struct rare_function)
 *   TIMER_OUT    the innermost function of a timer returned
 *   IPI          a kind (enum ipi)
 *   COUNTED      a first event   b bits: which of the events from there on were counted, COUNTS_SHARED, how many they are
 *                u32 tid, -1: several   u32 0   u64 ns since the reading before   u64 count of each; with COUNTS_SHARED also u64 ns
 *                counting of each
 *   WOKEN_BY_CALL  u32 tid   u32 system call of the waker, all ones: none   u64 its first argument; of a thread that waited for a
 *                futex that may be a lock, if the waker does not wake that futex. Comes before the WAKING.
 *   KERNEL_LOCK  a kind: 0 mutex, 1 semaphore, 2 and 3 rwsem   u32 tid   u32 TID of the holder, 0 if unknown   u64 address; follows the
 *                SWITCH of a thread that waits for a lock of the kernel
 *   READY        u32 tid   u32 number of the object that became ready, of those in the epoll set for which the thread waits. Comes before the
 *                WAKING.
 *   LATE_WAKEUP         u32 tid   u32 0   u64 (ns since the wakeup << 16 | its target), of a wakeup recorded before its switch-in
 *
 * Rare events are sent one by one, after a `struct rare`. A priority byte of 255 is -1 (deadline). */
#ifndef COREWISE_WIRE_H
#define COREWISE_WIRE_H

#define KIND_BLOCK 1
#define KIND_RARE 2
#define KIND_ROW 3

#define LEVELS 4
#define BLOCK_DATA 4096
#define RECORD_MAX 80
/* Number of pending wakeups of each CPU: a power of two. */
#define PENDING 32
/* Number of threads that are followed from their blocking to their switch-in: a power of two. */
#define THREADS 65536
/* The target of a wakeup known from the kernel's queue only: its waking, or the migration after it, records the target. */
#define NO_TARGET 0xffff

/* Flag of a type: callchains follow (stacks.h). */
#define WITH_STACKS 0x80
/* Flag of a type: the number of the system call in which the thread waits follows, and above these bits that of what it waits for, 0 if
 * unknown (objects.h); or PAGE_FAULT (calls.h). */
#define WITH_CALL 0x40
#define CALL_BITS 12
/* A call of another architecture that x86-64 lacks. */
#define UNKNOWN_CALL 0xffe
#define OBJECT_MAX ((1u << (32 - CALL_BITS)) - 1)
#define PAGE_FAULT 0xffffff
/* Flag of a type: the thread waits in a futex call, and what for follows (futexes.h). */
#define WITH_FUTEX 0x20
#define FUTEX_ADDRESS_BITS 52
/* Bits of the upper half of the address: the words could be read; the word is in the thread's own stack or among its variables; the words
 * follow. Above them is the operation. */
#define FUTEX_READ (1u << 20)
#define FUTEX_OWN (1u << 21)
#define FUTEX_WORDS (1u << 22)
#define FUTEX_OPERATION_AT 23
#define FUTEX_OPERATION 0x1ff
/* The number of innermost frames recorded: the kernel's maximum, and in user space a power of two. */
#define KERNEL_DEPTH 127
#define USER_DEPTH 128
/* The numbers of user callchains that were unwound (unwind.h); those of the kernel's map are lower. */
#define FIRST_WALKED (1 << 20)

/* A thread's charged CPU time may differ by this much from how long it ran, or by one part in fifty if that is more. */
#define SLACK_NS 20000

/* A switch reads the run queue's clock once, for the previous and the next task; the charged CPU time may lag a little. */
#define STAY_SLACK_NS 5000ll

/* How many events a COUNTED has at most, and its size then. */
#define COUNTS 8
#define COUNTED_MAX (24 + 2 * COUNTS * 8)
/* Bit of a COUNTED: an event counted for only a part of the time. */
#define COUNTS_SHARED (1u << COUNTS)
/* From this bit on: how many events a COUNTED has. */
#define COUNTS_MANY (COUNTS + 1)
/* The time for which an event was enabled may differ by this much from half or twice the time on the trace's clock. */
#define ENABLED_SLACK_NS 50000ull

/* The idle task's priority in the kernel's events: MAX_PRIO - 20. */
#define IDLE_PRIO 120

/* Maximum time from when a thread leaves the queue to its switch-out. */
#define EARLY_NS 50000ll

enum frequent {
	SWITCH = 1,
	SWITCH_WITH_WAKEUP,
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
	LATE_WAKEUP,
	TIMER,
	IPI,
	COUNTED,
	TIMER_OUT,
	WOKEN_BY_CALL,
	KERNEL_LOCK,
	READY,
};

/* Interrupts that one CPU sends another. */
enum ipi {
	IPI_RESCHEDULE,
	IPI_CALL_FUNCTION,
	IPI_OTHER,
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
	INFERRED_SWITCH,
	MISSED_WAKING,
	MARKER, /* written by the recorder: a text follows the head */
	ENTERED,
	RETURNED,
	THROTTLED = 20,
	UNTHROTTLED,
	PARKED,
	UNPARKED,
	FUNCTION,
	MASK_CHANGED,
	COUNTED_AT_MARK = 29,
	OBJECT = 30,
};

struct block_head {
	u8 kind;
	u8 level;
	u16 cpu;
	u32 events;
	u64 base; /* time of the first event; the others are relative to it */
	u64 last; /* time of the last event */
	u64 lost; /* events of this CPU that could not be delivered before this block */
};

struct block {
	u32 used; /* bytes in `data` */
	u32 busy; /* a program is writing here */
	u64 lost; /* lost events that no block has reported yet */
	/* Only in level 0: the task that this CPU's last switch switched in. */
	u32 inferred_switches; /* switches inferred from the next task, since they were not delivered */
	u32 prev_unknown; /* of these, those whose previous task is unknown */
	u32 tid;
	u32 process; /* the process of the last task with a hidden switch-out */
	u64 left; /* its charged CPU time when it was switched in on another CPU since; 0: it was not */
	u64 in; /* when it was switched in; 0: no switch seen yet */
	u64 skew; /* our clock minus the run queue's, at the last switch */
	u64 lag; /* the run queue's clock minus the one used for charging, when it was switched in */
	u64 stolen; /* growth of `lag` until another task was switched in, while a switch is inferred */
	u64 exec; /* its charged CPU time then */
	u64 switches; /* the number of switches on this CPU by then */
	u64 task; /* its address: to compare, and for probe_read */
	u64 came; /* the task that runs instead, or is switched in, while a switch is inferred */
	u32 interrupts; /* nesting depth of interrupts and timers */
	u32 missing_switches; /* switches by a task that was not switched in last: those between were neither delivered nor inferred */
	u64 compared; /* the task whose affinity differs from the noted one, while it is handled */
	struct block_head head;
	u8 data[BLOCK_DATA + COUNTED_MAX]; /* it is never written beyond BLOCK_DATA, which the verifier cannot see */
};

/* src/ring.rs reads them at these offsets. */
_Static_assert(__builtin_offsetof(struct block, inferred_switches) == 16 && __builtin_offsetof(struct block, tid) == 24 &&
		       __builtin_offsetof(struct block, missing_switches) == 108, "offsets as in src/ring.rs");

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

/* A switch to `head.tid` that was not delivered, inferred from the next task. `prev` -1: the previous task is unknown; its exec is
 * then all ones. `code` STATE_UNKNOWN: its state was read too late to be that of the switch. */
struct rare_inferred_switch {
	struct rare head;
	u32 prev, code;
	s32 prev_prio, next_prio;
	u64 exec;
};

#define STATE_UNKNOWN 10

/* The state code of R+. */
#define MARKED_PREEMPTED 9

/* More state codes of a SWITCH, for a thread that is still runnable (yields.h). */
#define LEFT_TO_USER 11
#define LEFT_YIELDED 12
#define LEFT_THROTTLED 13
#define LEFT_GAVE_WAY 14
#define LEFT_THROTTLED_MARKED 15

/* An event of `head.tid` at `head.at` that was noticed later: it was queued and its waking was not delivered, or throttling by its
 * cgroup's quota began or ended. */
struct rare_late {
	struct rare head;
	u64 pad;
};

struct rare_exit {
	struct rare head;
	u32 pid, pad;
};

/* A call of a marked function or probe, with the mark's number. */
struct rare_call {
	struct rare head;
	u32 pid, mark;
};

/* What COUNTS events from `base` on have counted since the CPU's last reading, `length` ns before the mark at `head.at`. `bits` as in a
 * COUNTED; `ran` is sent with COUNTS_SHARED only. The COUNTED after it contains these counts. */
struct rare_counts {
	struct rare head;
	u32 base, bits;
	u64 length;
	u64 counts[COUNTS];
	u64 ran[COUNTS];
};

/* A CPU whose parking begins or ends at `head.at`. */
struct rare_parking {
	struct rare head;
	u32 of, pad;
};

/* The name of a timer's function, by the lower half of its address (the kernel and its modules lie within 4 GB). Sent before the
 * first timer that has it. */
struct rare_function {
	struct rare head;
	u32 of, pad;
	char name[64];
};

#define PATH_PARTS 8
#define PART_MAX 32
#define FAMILY_UNIX 1
#define FAMILY_INET 2
#define FAMILY_INET6 10
#define MODE_KIND 0170000
#define MODE_SOCKET 0140000
/* Addresses of the kernel are larger. */
#define PAGE 4096

/* How many of the descriptors, or of the futex words, of a set are read. */
#define SET_MAX 8

/* What a number of an object means. `what` is an `enum waits_for` (objects.h). Of a set, `id` is how many it has, `peer` how many of these were
 * read, and `path` has their numbers, 0 if unknown, or the addresses of the words. Of a file the rest says more: its inode's number (`id`), mode
 * and device; the address of its private data; `path`: its name and those of the folders above it, each cut at PART_MAX. Of a socket:
 * family, protocol, own port and that of the other end (in network order), the addresses, of a Unix socket the inode's number of the other
 * end, and as `path` its struct sockaddr_un. The recorder adds the whole path after it, if the descriptor still leads there. */
struct rare_object {
	struct rare head;
	u32 number;
	u16 what, mode;
	u32 device;
	u16 family, protocol;
	u64 id, peer, data;
	u16 ports[2];
	u32 descriptor;
	u8 addresses[2][16];
	char path[PATH_PARTS][PART_MAX];
};

struct rare_rename {
	struct rare head;
	u32 pid, pad;
	char comm[16];
};

/* `attr`: bit 31 is set; bits 0 to 7: its own priority (255 is -1); if bit 30 is set, bits 8 to 18 and 19 to 29: its minimum and
 * maximum utilisation clamp. */
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

/* A mask that differs from the one seen before, at `since`: between the two it is unknown. 0: the thread neither ran nor was
 * ready in between. */
struct rare_mask_changed {
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
	/* If it waits: its call and object as with WITH_CALL, NO_CALL if unknown, and of a futex, else 0, what WITH_FUTEX has. */
	u32 call, expected;
	u64 futex;
};

#define NO_CALL 0xffffffff

#endif
