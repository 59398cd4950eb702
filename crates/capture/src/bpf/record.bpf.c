/* The kernel side of the recorder.
 *
 * Frequent events are written into blocks of 4 KB, several for each CPU, and handed over when full: one ring-buffer
 * reservation for a hundred events. A program may be interrupted by another one on the same CPU (an interrupt that wakes
 * a thread while a program runs with interrupts enabled). Each such level has its own block, and the reader merges them by
 * time:
 *
 *      level 0   a b c . . . d e        c began, was interrupted, and ended after x
 *      level 1         x y              x and y are in a separate block
 *
 * The interrupted and the interrupting program never run at the same time, and the interrupting one ends first, so plain loads
 * and stores of `busy` suffice. Programs that can be preempted (fexit) never use a block. */
#include "kernel.h"
#include "wire.h"

char _license[] SEC("license") = "Dual MIT/GPL";

/* Set before loading. */
const volatile u32 mask_words = 1;
/* Set before loading, in a separate section. If 0, the verifier removes the code that infers switches (hidden_switches.h). */
const volatile u32 infers_switches SEC(".rodata.infer") = 0;

struct {
	UINT(type, MAP_ARRAY);
	UINT(map_flags, F_MMAPABLE);
	UINT(max_entries, LEVELS);
	TYPE(key, u32);
	TYPE(value, struct block);
} blocks SEC(".maps");

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 1 << 24);
} ring SEC(".maps");

/* The last observed state of a thread. Threads whose TIDs share their low bits share a slot. */
struct seen {
	/* The TID and one of
	 *
	 *      BLOCKED      switched out to wait
	 *      WOKEN_EARLY  woken while it ran, or on its way to wait
	 *      WOKEN        woken: its next switch-in records when it was queued */
	u32 wait;
	u32 cpu; /* of its last switch-in */
	u64 early; /* when it was WOKEN_EARLY */
	u64 queue_stats; /* queue_stats_of() at its last switch-out to wait */
	u64 exec; /* its charged CPU time when it was last recorded (hidden_switches.h) */
	/* What it waited for last, in a call that shows it: the address of a futex that may be a lock (futexes.h), or IS_OBJECT and a mix of what else it is, whose
	 * number is `object` (objects.h). */
	u64 waits_for;
	u32 object;
	/* If masks are compared (affinity.h). */
	u32 of; /* the TID of the mask */
	u64 mask; /* the mask's checksum */
	u64 memory_read; /* how often memory of its program was read (objects.h); with it, an entry is a cache line */
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, THREADS);
	TYPE(key, u32);
	TYPE(value, struct seen);
} seen SEC(".maps");

#define IS_OBJECT (1ull << 63)

#define BLOCKED (1u << 31)
#define WOKEN_EARLY (1u << 30)
#define WOKEN 0u

/* If the kernel keeps no time of queueing (QUEUE_TIME): a wakeup that has not been recorded yet. Some slots for each CPU, selected
 * by the TID. The kernel holds that CPU's run-queue lock at the wakeup, at the switch-in and when a queued thread is moved
 * away, so the slots need no lock. (Task storage takes twice the time.) */
struct pending {
	u64 at;
	u32 tid;
	u32 target;
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, PENDING);
	TYPE(key, u32);
	TYPE(value, struct pending);
} pending SEC(".maps");

/* ---- blocks ---- */

/* Claims a free block of a higher level, for a nested program; 0 if all are busy. Rare. */
NOINLINE struct block *claim_higher(u32 key)
{
	for (int level = 1; level < LEVELS; level++) {
		key++;
		struct block *b = map_lookup(&blocks, &key);
		if (b && !b->busy) {
			b->busy = 1;
			BARRIER();
			b->head.level = level;
			return b;
		}
	}
	return 0;
}

INLINE void count_lost(u32 cpu)
{
	u32 key = cpu * LEVELS;
	struct block *b = map_lookup(&blocks, &key);
	if (b)
		__sync_fetch_and_add(&b->lost, 1);
}

/* Sends a single record. */
INLINE int send(void *record, u32 size)
{
	if (ring_output(&ring, record, size, RB_NO_WAKEUP))
		count_lost(this_cpu());
	return 0;
}

#define BEGIN_FOR(record, what, number)                                                                                   \
	record.head.kind = KIND_RARE;                                                                                         \
	record.head.type = what;                                                                                              \
	record.head.cpu = this_cpu();                                                                                         \
	record.head.tid = number;                                                                                             \
	record.head.at = ktime()

#define BEGIN(record, what, task) BEGIN_FOR(record, what, (task)->pid)

INLINE struct block *base_block(u32 cpu)
{
	u32 key = cpu * LEVELS;
	return map_lookup(&blocks, &key);
}

/* `b`: the CPU's block of level 0. */
INLINE struct block *claim_from(struct block *b, u32 cpu)
{
	if (!b)
		return 0;
	if (likely(!b->busy)) {
		b->busy = 1;
		BARRIER();
		return b;
	}
	b = claim_higher(cpu * LEVELS);
	if (!b)
		count_lost(cpu);
	return b;
}

INLINE struct block *claim(u32 cpu)
{
	return claim_from(base_block(cpu), cpu);
}

INLINE void release(struct block *b, u32 bytes)
{
	b->used += bytes;
	BARRIER();
	b->busy = 0;
}

NOINLINE int hand_over(struct block *b, u32 cpu)
{
	if (!b)
		return 0;
	u32 used = b->used;
	u64 lost = b->lost;
	b->head.kind = KIND_BLOCK;
	b->head.cpu = cpu;
	b->head.lost = lost;
	if (used > BLOCK_DATA)
		used = BLOCK_DATA;
	if (ring_output(&ring, &b->head, sizeof(b->head) + used, RB_NO_WAKEUP))
		__sync_fetch_and_add(&b->lost, b->head.events);
	else
		__sync_fetch_and_add(&b->lost, -lost);
	b->used = 0;
	b->head.events = 0;
	return 0;
}

/* Returns how many blocks of a CPU are being written to, and so were not handed over. */
NOINLINE int hand_over_all(u32 cpu)
{
	int left = 0;
	for (int level = 0; level < LEVELS; level++) {
		u32 key = cpu * LEVELS + level;
		struct block *b = map_lookup(&blocks, &key);
		if (!b)
			continue;
		if (b->busy) {
			left++;
			continue;
		}
		b->busy = 1;
		BARRIER();
		if (b->used)
			hand_over(b, cpu);
		BARRIER();
		b->busy = 0;
	}
	return left;
}

/* Reserves room for one record of at most `size` bytes and writes its first eight. */
INLINE void *room_for(struct block *b, u64 now, u32 word, u32 size)
{
	if (unlikely(b->used > BLOCK_DATA - size) || unlikely(b->used && (now - b->head.base) >> 32))
		hand_over(b, this_cpu());
	u32 used = b->used;
	if (!used)
		b->head.base = now;
	b->head.last = now;
	b->head.events++;
	u8 *at = b->data + (used & (BLOCK_DATA - 1));
	*(u64 *)at = (u64)word << 32 | (u32)(now - b->head.base);
	return at;
}

INLINE void *room(struct block *b, u64 now, u32 word)
{
	return room_for(b, now, word, RECORD_MAX);
}

INLINE u32 word(u32 type, u32 a, u32 b)
{
	return type | (a & 255) << 8 | b << 16;
}

/* ---- tasks ---- */

INLINE u32 cpu_of(struct task_struct *p)
{
	if (FIELD_EXISTS(p->thread_info.cpu))
		return p->thread_info.cpu;
	return ((struct task_struct___old *)p)->cpu;
}

/* Whether the CPU controller has a hierarchy of its own (cgroup v1). */
const volatile u32 own_cpu_hierarchy SEC(".rodata.groups") = 0;

/* The thread's cgroup in the hierarchy that has the CPU controller. */
INLINE struct cgroup *group_of(struct task_struct *p)
{
	if (own_cpu_hierarchy && ENUM_EXISTS(enum cgroup_subsys_id, cpu_cgrp_id))
		return p->cgroups->subsys[ENUM_VALUE(enum cgroup_subsys_id, cpu_cgrp_id)]->cgroup;
	return p->cgroups->dfl_cgrp;
}

INLINE u64 cgroup_of(struct task_struct *p)
{
	return group_of(p)->kn->id;
}

/* A thread's TID in its own PID namespace. The pointer is read as a number: Linux 6.1's verifier does not let programs add an unknown
 * number to a pointer. */
INLINE u32 inner_of(struct task_struct *p, s32 *level)
{
	struct pid *pid = 0;
	u32 deep = 0;
	int nr = 0;
	if (READ(pid, p->thread_pid) || !pid || READ(deep, pid->level))
		return 0;
	*level = deep;
	probe_read(&nr, sizeof(nr), (u8 *)&pid->numbers[0] + deep * TYPE_SIZE(struct upid));
	return nr;
}

/* The state's index in "RSDTtXZPI", as the kernel's sched_switch prints it; 9 is R+. */
INLINE u32 state_code(bool preempt, u32 state, u32 exit_state)
{
	if (preempt)
		return MARKED_PREEMPTED;
	u32 bits = (state | exit_state) & 0x7f;
	if ((state & 0x402) == 0x402) /* TASK_IDLE */
		bits = 0x80;
	if (state & 0x9000) /* TASK_RTLOCK_WAIT, TASK_FROZEN */
		bits = 2;
	u32 code = 0;
	/* The highest bit counts. */
	if (bits & 0xf0) {
		code += 4;
		bits >>= 4;
	}
	if (bits & 0xc) {
		code += 2;
		bits >>= 2;
	}
	if (bits & 2)
		return code + 2;
	return code + (bits & 1);
}

/* ---- frequent events ---- */

INLINE struct pending *slot(u32 cpu, u32 tid)
{
	u32 key = cpu * PENDING + (tid & (PENDING - 1));
	return map_lookup(&pending, &key);
}

/* Records a wakeup before its switch-in: its thread is moved away, or its slot is needed for another thread. */
NOINLINE int send_pending(struct pending *w)
{
	struct block *b = claim(this_cpu());
	if (!b || !w)
		return 0;
	u64 now = ktime();
	u32 *at = room(b, now, word(LATE_WAKEUP, 0, 0));
	at[2] = w->tid;
	at[3] = 0;
	*(u64 *)(at + 4) = (now - w->at) << 16 | (w->target & 0xffff);
	w->at = 0;
	release(b, 24);
	return 0;
}

/* The kernel stores when it queues a thread, on the run queue's clock. `sched_wakeup` comes right after the queueing, at the
 * same reading, so wakeups need no program, which would be the most expensive of all: the switch-in records them. */
#define QUEUE_TIME(p) (FIELD_EXISTS((p)->sched_info.last_queued) && FIELD_EXISTS((p)->se.cfs_rq) && \
		       FIELD_EXISTS(((struct cfs_rq *)0)->rq))

/* Values of a run queue, read together: each pointer to follow costs as much as a dozen instructions. All 0 if it cannot be reached. */
struct readings {
	u64 clock;
	/* How far the clock used for charging lags `clock`: time taken by the hypervisor and, in some configurations, by interrupts is
	 * not charged to any task. */
	u64 lag;
	/* The number of switches on that CPU. */
	u64 switches;
};

/* Reads the run queue of `p`. */
INLINE struct readings readings_of(struct task_struct *p)
{
	struct readings r = {};
	if (QUEUE_TIME(p)) {
		struct rq *rq = p->se.cfs_rq->rq;
		r.clock = rq->clock;
		r.lag = r.clock - rq->clock_task;
		r.switches = rq->nr_switches;
	}
	return r;
}

/* Updates how far our clock is ahead of the run queue's. The kernel reads that clock before a switch, and may leave it at an
 * earlier reading of the wakeup, so the difference seen here is too large by some hundred ns, or some ten thousand. The minimum
 * counts, and may rise slowly, as the two clocks drift. */
INLINE void read_clock(struct block *own, u64 clock, u64 now)
{
	if (!clock)
		return;
	u64 seen = now - clock, kept = own->skew;
	if (!kept || (long long)(seen - kept) < 0)
		own->skew = seen;
	else
		own->skew = kept + ((seen - kept) >> 12);
}

/* A thread's total time in the queue, ns (48 bits), and how often it was switched in (16 bits). */
INLINE u64 queue_stats(u64 delay, u64 count)
{
	return delay << 16 | (u16)count;
}

INLINE u64 queue_stats_of(struct task_struct *p)
{
	return queue_stats(p->sched_info.run_delay, p->sched_info.pcount);
}

INLINE struct seen *seen_of(u32 tid)
{
	u32 key = tid & (THREADS - 1);
	return map_lookup(&seen, &key);
}

/* The value of `wait` for a thread that left at `out` to wait. If it was woken right before that, on its way to wait, it is queued
 * again as soon as it is off its CPU. An earlier wakeup ended an earlier wait. */
INLINE u32 wait_state(struct seen *s, u32 tid, u64 out)
{
	bool early = s->wait == (tid | WOKEN_EARLY) && (long long)(out - s->early) < EARLY_NS;
	return tid | (early ? WOKEN : BLOCKED);
}

/* Sends an event of a thread at an earlier time. */
GLOBAL int send_late(u32 tid, u64 at, u32 type)
{
	struct rare_late r = {};
	r.head.kind = KIND_RARE;
	r.head.type = type;
	r.head.cpu = this_cpu();
	r.head.tid = tid;
	r.head.at = at;
	return send(&r, sizeof(r));
}

/* A thread was blocked and runs again, but its waking was not delivered: the waker is a task whose events are hidden
 * (hidden_switches.h). The kernel's time of its queueing shows when it was woken. */
INLINE void send_missed_waking(u32 tid, u64 at)
{
	send_late(tid, at, MISSED_WAKING);
}

#include "quota.h"
#include "affinity.h"

/* When `next` was queued after a waking, and its target, as encoded in wire.h; 0: not woken since it last ran. */
INLINE u64 wakeup_of(struct block *own, u32 cpu, u32 tid, u64 now, struct task_struct *next)
{
	if (QUEUE_TIME(next)) {
		struct seen *s = seen_of(tid);
		if (!s || !tid)
			return 0;
		u32 waited = s->wait, before = s->cpu;
		if (before != cpu)
			s->cpu = cpu;
		if ((waited & ~BLOCKED) != tid) {
			if (unlikely(waited == (tid | QUOTA_THROTTLED))) {
				s->wait = 0;
				if (HAS_QUOTA_FIELDS(next) && before == cpu)
					throttling_ended(next, own->skew, now, s->queue_stats);
			}
			return 0;
		}
		s->wait = 0;
		u64 queued = next->sched_info.last_queued;
		if (!queued)
			return 0;
		u64 ago = now - (queued + own->skew);
		if ((long long)ago <= 0)
			ago = 1;
		if (unlikely(waited & BLOCKED))
			send_missed_waking(tid, now - ago);
		return ago << 16 | NO_TARGET;
	}
	struct pending *w = slot(cpu, tid);
	if (!w || !w->at || w->tid != tid)
		return 0;
	u64 at = w->at;
	w->at = 0;
	return (now - at) << 16 | (w->target & 0xffff);
}

INLINE void note_switch_in(struct block *own, u64 task, u32 tid, u64 exec, u64 at, u64 lag, u64 switches)
{
	own->lag = lag;
	own->switches = switches;
	own->tid = tid;
	own->in = at;
	own->exec = exec;
	own->task = task;
	own->left = 0;
	own->interrupts = 0;
}

#include "counters.h"
#include "yields.h"
#include "calls.h"
#include "unwind.h"
#include "stacks.h"
#include "objects.h"
#include "futexes.h"
#include "hidden_switches.h"

/* Not inline: its stack and that of infer_at_switch() would be too large together. */
NOINLINE int on_switch(void *ctx, bool preempt, struct task_struct *prev, struct task_struct *next, u32 prev_state)
{
	u32 cpu = this_cpu();
	struct block *own = base_block(cpu);
	struct block *b = claim_from(own, cpu);
	if (!b || !own)
		return 0;
	u64 now = ktime();
	u32 code = state_code(preempt, prev_state, prev_state ? prev->exit_state : 0);
	if (!code || code == MARKED_PREEMPTED)
		code = why_runnable(prev, code);
	/* Those that were inferred are not missing. */
	if (unlikely(own->task != (u64)prev) && own->in)
		own->missing_switches++;
	compare_mask(prev, now, RAN);
	compare_mask(next, now, WAITED);
	struct readings r = readings_of(next);
	read_clock(own, r.clock, now);
	note_switch_in(own, (u64)next, next->pid, next->se.sum_exec_runtime, now, r.lag, r.switches);
	bool to_wait = code && code < 9 && prev_state && !prev->exit_state;
	struct seen *s = to_wait ? seen_of(prev->pid) : 0;
	if (QUEUE_TIME(prev) && s) {
		s->wait = wait_state(s, prev->pid, now);
		s->queue_stats = queue_stats_of(prev);
	}
	if (!to_wait)
		check_throttled(prev, now);
	u32 tid = next->pid;
	u64 wakeup = wakeup_of(own, cpu, tid, now, next);
	u32 prios = (prev->prio & 255) | (next->prio & 255) << 8;
	u32 *at = room(b, now, word(wakeup ? SWITCH_WITH_WAKEUP : SWITCH, code, prios));
	at[2] = prev->pid;
	at[3] = tid;
	*(u64 *)(at + 4) = prev->se.sum_exec_runtime;
	u32 bytes = 24;
	if (wakeup) {
		*(u64 *)(at + 6) = wakeup;
		bytes = 32;
	}
	if (to_wait) {
		struct pt_regs *registers = entered_with(prev);
		int number = registers ? call_of(prev, registers) : -1;
		u64 lock = kernel_lock_of(prev);
		/* The last one was a futex: a waking should not take it for what this call waits for. */
		if (records_objects && s && !(s->waits_for & IS_OBJECT))
			s->waits_for = 0;
		u32 object = records_objects && s && !lock ? object_of_current(number, now) : 0;
		/* Nor for the epoll set of an earlier call, which may be closed. */
		if (records_objects && s && !object && s->waits_for >= IS_EPOLL)
			s->waits_for = 0;
		if (keep_stacks)
			bytes = add_stacks(ctx, prev, at, bytes);
		u32 before = bytes;
		if (s && futex_call && !lock)
			bytes = add_futex(prev, registers, number, s, now, at, bytes);
		if (bytes == before && (!keep_stacks || object))
			bytes = add_call(registers, number, object, code, at, bytes);
		if (unlikely(lock)) {
			b->used += bytes;
			bytes = write_kernel_lock(b, now, prev->pid, lock);
		}
	}
	release(b, bytes);
	/* Last, so that the next thread's counts contain as little of this program as possible. */
	if (counters)
		count_until((u64)prev, (u64)next, tid, r.switches, now);
	return 0;
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	if (infers_switches)
		infer_at_switch(prev, next);
	return on_switch(ctx, ctx[0], prev, next, ctx[3]);
}

/* Linux before 5.18: the state is not an argument, and has not been changed yet. */
SEC("tp_btf/sched_switch")
int sched_switch_old(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 state = 0;
	if (FIELD_EXISTS(prev->__state))
		state = prev->__state;
	else
		state = ((struct task_struct___old *)prev)->state;
	if (infers_switches)
		infer_at_switch(prev, next);
	return on_switch(ctx, ctx[0], prev, next, state);
}

/* `waits_for`: the address of the futex for which `p` waits, if it may be a lock, or that of a set of epoll; else 0. */
INLINE int on_wake(struct task_struct *p, u32 type, u64 waits_for)
{
	u32 cpu = this_cpu();
	struct block *own = base_block(cpu);
	struct block *b = claim_from(own, cpu);
	if (!b || !own)
		return 0;
	u64 now = ktime();
	compare_mask(p, now, SLEPT);
	/* A thread that was interrupted is not the waker. */
	struct task_struct *waker = own->interrupts ? 0 : current_task();
	if (records_objects && waits_for) {
		if (unlikely(waits_for & IS_OBJECT))
			write_ready(b, now, p, waits_for);
		else if (waker)
			woken_by_call(b, now, p, waker, waits_for);
	}
	u32 *at = room(b, now, word(type, p->prio, cpu_of(p)));
	at[2] = p->pid;
	at[3] = waker ? waker->pid : 0;
	release(b, 16);
	return 0;
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 waits_for = 0;
	if (QUEUE_TIME(p)) {
		struct seen *s = seen_of(p->pid);
		if (records_objects && s && s->wait == (p->pid | BLOCKED)) {
			waits_for = s->waits_for;
			if ((waits_for & IS_EPOLL) == IS_OBJECT)
				waits_for = 0;
		}
		/* If it is still on its CPU, the wakeup is early only if its switch-out has not been seen. */
		if (s && p->on_cpu && s->wait != (p->pid | BLOCKED)) {
			s->wait = p->pid | WOKEN_EARLY;
			s->early = ktime();
		} else if (s) {
			s->wait = p->pid | WOKEN;
		}
	}
	return on_wake(p, WAKING, waits_for);
}

SEC("tp_btf/sched_wakeup_new")
int sched_wakeup_new(u64 *ctx)
{
	return on_wake((void *)ctx[0], NEW, 0);
}

/* Loaded if the kernel keeps no time of queueing. */
SEC("tp_btf/sched_wakeup")
int sched_wakeup(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	/* Woken while it runs: no switch-in follows for this wakeup. */
	if (p->on_cpu)
		return 0;
	u32 tid = p->pid, target = cpu_of(p);
	struct pending *w = slot(target, tid);
	if (!w)
		return on_wake(p, WAKEUP, 0);
	if (unlikely(w->at && w->tid != tid))
		send_pending(w);
	w->tid = tid;
	w->target = target;
	w->at = ktime();
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int sched_migrate_task(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 tid = p->pid, from = cpu_of(p);
	struct pending *w = QUEUE_TIME(p) ? 0 : slot(from, tid);
	if (w && w->at && w->tid == tid)
		send_pending(w);
	check_moved(p, tid);
	struct block *b = claim(this_cpu());
	if (!b)
		return 0;
	u32 *at = room(b, ktime(), word(MIGRATE, 0, from));
	at[2] = tid;
	at[3] = ctx[1];
	release(b, 16);
	return 0;
}

SEC("tp_btf/cpu_idle")
int cpu_idle(u64 *ctx)
{
	if (infers_switches)
		infer_now();
	u32 cpu = this_cpu();
	struct block *own = base_block(cpu);
	struct block *b = claim_from(own, cpu);
	if (!b || !own)
		return 0;
	u64 now = ktime();
	room(b, now, word(IDLE, ctx[0], 0));
	release(b, 8);
	return 0;
}

SEC("tp_btf/cpu_frequency")
int cpu_frequency(u64 *ctx)
{
	struct block *b = claim(this_cpu());
	if (!b)
		return 0;
	u32 *at = room(b, ktime(), word(FREQUENCY, 0, 0));
	at[2] = ctx[1];
	at[3] = ctx[0];
	release(b, 16);
	return 0;
}

#include "interrupts.h"
#include "block.h"
#include "profile.h"

/* ---- handing over partly filled blocks; run by the recorder on each CPU with pending events ---- */

SEC("raw_tp")
int hand_over_rest(void *ctx)
{
	return hand_over_all(this_cpu());
}

#include "rare.h"
#include "marks.h"

/* ---- snapshot ---- */

/* What a thread has waited for since before the recording. */
NOINLINE int read_wait(struct task_struct *p, struct seen *s, struct rare_row *r)
{
	if (!p || !s || !r)
		return 0;
	struct pt_regs *registers = entered_with(p);
	int number = registers ? call_of(p, registers) : -1;
	if (number < 0 || kernel_lock_of(p))
		return 0;
	r->call = (u32)recorded_number(registers, number) | object_of(p, registers, number, s, r->head.at, 0) << CALL_BITS;
	if (number == futex_call)
		r->futex = futex_of(p, registers, s, &r->expected);
	return 0;
}

SEC("raw_tp")
int report_current_task(void *ctx)
{
	struct task_struct *p = current_task();
	struct rare_current r = {};
	BEGIN(r, CURRENT, p);
	return send(&r, sizeof(r));
}

/* A row of each CPU: it is too large for the stack. */
struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct rare_row);
} row_record SEC(".maps");

SEC("iter/task")
int all_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	if (!p)
		return 0;
	u32 zero = 0;
	struct rare_row *r = map_lookup(&row_record, &zero);
	if (!r)
		return 0;
	__builtin_memset(r, 0, sizeof(*r));
	/* The time stamp first: a change while the fields are read is also recorded by a later event. */
	BEGIN((*r), ROW, p);
	BARRIER();
	r->head.kind = KIND_ROW;
	r->head.cpu = cpu_of(p);
	r->on_cpu = p->on_cpu;
	r->on_rq = p->on_rq;
	if (FIELD_EXISTS(p->se.sched_delayed))
		r->delayed = p->se.sched_delayed;
	if (FIELD_EXISTS(p->__state))
		r->state = p->__state;
	else
		r->state = ((struct task_struct___old *)p)->state;
	r->exit_state = p->exit_state;
	r->exec = p->se.sum_exec_runtime;
	r->pid = p->tgid;
	s32 level = 0;
	r->inner_tid = inner_of(p, &level);
	r->inner_pid = inner_of(p->group_leader, &level);
	r->level = level;
	r->prio = p->prio;
	r->policy = p->policy;
	r->nice = p->static_prio - 120;
	r->cgroup = cgroup_of(p);
	probe_read(r->comm, sizeof(r->comm), &p->comm);
	read_mask(p, &r->words, r->mask);
	r->attr = attr_of(p);
	/* It began to wait before the recording. (If it is woken at this instant, its waking is recorded twice, which does no harm.) */
	struct seen *s = seen_of(p->pid);
	if (s && !s->wait && QUEUE_TIME(p) && r->state && !r->exit_state && !r->on_cpu && (!r->on_rq || r->delayed)) {
		s->queue_stats = queue_stats_of(p);
		s->wait = p->pid | BLOCKED;
	}
	r->call = NO_CALL;
	if (records_objects && s && r->state && !r->exit_state && !r->on_cpu)
		read_wait(p, s, r);
	note_mask(p);
	check_throttled_row(p, r->head.cpu, r->head.at);
	seq_write(ctx->meta->seq, r, sizeof(*r));
	return 0;
}
