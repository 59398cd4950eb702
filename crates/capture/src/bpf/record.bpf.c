/* The kernel side of the recorder.
 *
 * Frequent events are written into blocks of 4 KB, several for each CPU, and handed over when full: one ring-buffer
 * reservation for a hundred events. A program may be interrupted by another one on the same CPU (an interrupt that wakes
 * somebody while a program runs with interrupts on); each such level has its own block, and the reader merges them by
 * time:
 *
 *      level 0   a b c . . . d e        c began, was interrupted, and ended after x
 *      level 1         x y              x, y lie in a block of their own
 *
 * The interrupted and the interrupter never run at once, and the interrupter ends first, so plain loads and stores of
 * `busy` suffice; programs that can be preempted (fexit) never touch a block. */
#include "kernel.h"
#include "wire.h"

char _license[] SEC("license") = "Dual MIT/GPL";

/* Set before loading. */
const volatile u32 mask_words = 1;

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

/* What was seen last of a thread, of those whose numbers share these bits. */
struct seen {
	/* Its number, and one of
	 *
	 *      BLOCKED      switched out to wait
	 *      WOKEN_EARLY  woken while it ran, or on its way to wait
	 *      WOKEN        woken: its next switch-in tells when it was queued */
	u32 wait;
	u32 cpu; /* of its last switch-in */
	u64 early; /* when it was WOKEN_EARLY */
	u64 books; /* books_of it, at its last switch-out to wait */
	u64 exec; /* what it had been charged when it was last accounted for (unseen.h) */
	/* Where masks are looked at (affinity.h). */
	u32 of; /* whose */
	u64 mask; /* its sum */
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, THREADS);
	TYPE(key, u32);
	TYPE(value, struct seen);
} seen SEC(".maps");

#define BLOCKED (1u << 31)
#define WOKEN_EARLY (1u << 30)
#define WOKEN 0u

/* Where the kernel keeps no time of queueing (QUEUE_TIME): a wakeup that has not been told yet. Some slots for each CPU,
 * chosen by the thread's number: the kernel holds that CPU's run-queue lock at the wakeup, at the switch-in and when a queued thread is moved
 * away, so the slots need no lock of their own. (Task storage does the same for twice the time.) */
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

/* A nested program found every level taken, or claims a higher one. Rare. */
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

/* One record by itself. */
INLINE int send(void *record, u32 size)
{
	if (ring_output(&ring, record, size, RB_NO_WAKEUP))
		count_lost(this_cpu());
	return 0;
}

#define BEGIN(record, what, task)                                                                                         \
	record.head.kind = KIND_RARE;                                                                                         \
	record.head.type = what;                                                                                              \
	record.head.cpu = this_cpu();                                                                                         \
	record.head.tid = (task)->pid;                                                                                        \
	record.head.at = ktime()

INLINE struct block *lowest(u32 cpu)
{
	u32 key = cpu * LEVELS;
	return map_lookup(&blocks, &key);
}

/* `b`: the CPU's lowest block. */
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
	return claim_from(lowest(cpu), cpu);
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

/* How many blocks of a CPU are being written to, and stay. */
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

/* Room for one record; writes its first eight bytes. */
INLINE void *room(struct block *b, u64 now, u32 word)
{
	if (unlikely(b->used > BLOCK_DATA - RECORD_MAX) || unlikely(b->used && (now - b->head.base) >> 32))
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

INLINE u64 cgroup_of(struct task_struct *p)
{
	return p->cgroups->dfl_cgrp->kn->id;
}

/* A thread's number in its own namespace. */
INLINE u32 inner_of(struct task_struct *p, s32 *level)
{
	struct pid *pid = p->thread_pid;
	struct upid *numbers = 0;
	u32 deep = 0;
	int nr = 0;
	if (!pid)
		return 0;
	deep = pid->level;
	numbers = &pid->numbers[0];
	*level = deep;
	probe_read(&nr, sizeof(nr), (u8 *)numbers + deep * TYPE_SIZE(struct upid));
	return nr;
}

/* The state's place in "RSDTtXZPI", as the kernel's own sched_switch prints it; 9 is R+. */
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

/* Tells a wakeup by itself: its thread is moved away, or its slot is wanted for another. */
NOINLINE int tell(struct pending *w)
{
	struct block *b = claim(this_cpu());
	if (!b || !w)
		return 0;
	u64 now = ktime();
	u32 *at = room(b, now, word(TOLD, 0, 0));
	at[2] = w->tid;
	at[3] = 0;
	*(u64 *)(at + 4) = (now - w->at) << 16 | (w->target & 0xffff);
	w->at = 0;
	release(b, 24);
	return 0;
}

/* The kernel notes when it queues a thread, by the run queue's clock. `sched_wakeup` comes right after the queueing, at the
 * same reading, so a wakeup needs no program of its own, which would be the dearest of all: the switch-in tells it. */
#define QUEUE_TIME(p) (FIELD_EXISTS((p)->sched_info.last_queued) && FIELD_EXISTS((p)->se.cfs_rq) && \
		       FIELD_EXISTS(((struct cfs_rq *)0)->rq))

/* What a run queue says, read at once: each step to it costs as much as a dozen instructions. All 0 where it cannot be reached. */
struct readings {
	u64 clock;
	/* By how much the clock that charges is behind that one: what the hypervisor took, and, by some configurations, interrupts,
	 * is charged to nobody. */
	u64 behind;
	/* How many switches that CPU has made. */
	u64 switches;
};

/* Of the run queue on which `p` is. */
INLINE struct readings readings_of(struct task_struct *p)
{
	struct readings r = {};
	if (QUEUE_TIME(p)) {
		struct rq *rq = p->se.cfs_rq->rq;
		r.clock = rq->clock;
		r.behind = r.clock - rq->clock_task;
		r.switches = rq->nr_switches;
	}
	return r;
}

/* By how much our clock is ahead of the run queue's. The kernel reads that one before a switch, and may leave it at an
 * earlier reading of the wakeup, so what is seen here is too much by some hundred ns, or some ten thousand: the least counts,
 * and may rise slowly, as the two clocks drift. */
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

/* How long a thread has been queued in its life, ns of 48 bits, and how often it came in, 16 bits. */
INLINE u64 books(u64 delay, u64 count)
{
	return delay << 16 | (u16)count;
}

INLINE u64 books_of(struct task_struct *p)
{
	return books(p->sched_info.run_delay, p->sched_info.pcount);
}

INLINE struct seen *seen_of(u32 tid)
{
	u32 key = tid & (THREADS - 1);
	return map_lookup(&seen, &key);
}

/* It left at `out` to wait. A waking right before that came upon it on its way: it is queued again as soon as it is off its CPU. An
 * earlier one kept it from waiting then, and has nothing to do with this. */
INLINE u32 waits(struct seen *s, u32 tid, u64 out)
{
	bool early = s->wait == (tid | WOKEN_EARLY) && (long long)(out - s->early) < EARLY_NS;
	return tid | (early ? WOKEN : BLOCKED);
}

/* Tells what happened to a thread at a time that has passed. */
NOINLINE int tell_late(u32 tid, u64 at, u32 type)
{
	struct rare_late r = {};
	r.head.kind = KIND_RARE;
	r.head.type = type;
	r.head.cpu = this_cpu();
	r.head.tid = tid;
	r.head.at = at;
	return send(&r, sizeof(r));
}

/* Blocked, and running again, but nobody told of its waking: whoever woke it is one of those of whom nothing is delivered
 * (unseen.h). The kernel's note of its queueing tells when. */
INLINE void woken_unseen(u32 tid, u64 at)
{
	tell_late(tid, at, WOKEN_UNSEEN);
}

#include "quota.h"
#include "affinity.h"

/* When `next` was queued after a waking, and its target, as the reader wants it; 0: not woken since it last ran. */
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
			if (unlikely(waited == (tid | QUOTA_HELD))) {
				s->wait = 0;
				if (TELLS_QUOTA(next) && before == cpu)
					was_held(next, own->skew, now, s->books);
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
			woken_unseen(tid, now - ago);
		return ago << 16 | NO_TARGET;
	}
	struct pending *told = slot(cpu, tid);
	if (!told || !told->at || told->tid != tid)
		return 0;
	u64 at = told->at;
	told->at = 0;
	return (now - at) << 16 | (told->target & 0xffff);
}

INLINE void came_in(struct block *own, u64 task, u32 tid, u64 exec, u64 at, u64 behind, u64 switches)
{
	own->behind = behind;
	own->switches = switches;
	own->tid = tid;
	own->in = at;
	own->exec = exec;
	own->task = task;
	own->left = 0;
	own->interrupts = 0;
}

#include "stacks.h"
#include "yields.h"

INLINE int on_switch(void *ctx, bool preempt, struct task_struct *prev, struct task_struct *next, u32 prev_state)
{
	u32 cpu = this_cpu();
	struct block *own = lowest(cpu);
	struct block *b = claim_from(own, cpu);
	if (!b || !own)
		return 0;
	u64 now = ktime();
	u32 code = state_code(preempt, prev_state, prev_state ? prev->exit_state : 0);
	if (!code || code == MARKED_PREEMPTED)
		code = why_runnable(prev, code);
	/* Where switches are inferred (unseen.h), that has come first. */
	if (unlikely(own->task != (u64)prev) && own->in)
		own->unlinked++;
	look_at_mask(prev, now, RAN);
	look_at_mask(next, now, WAITED);
	struct readings r = readings_of(next);
	read_clock(own, r.clock, now);
	came_in(own, (u64)next, next->pid, next->se.sum_exec_runtime, now, r.behind, r.switches);
	bool to_wait = code && code < 9 && prev_state && !prev->exit_state;
	if (QUEUE_TIME(prev) && to_wait) {
		struct seen *s = seen_of(prev->pid);
		if (s) {
			s->wait = waits(s, prev->pid, now);
			s->books = books_of(prev);
		}
	}
	if (!to_wait)
		look_if_held(prev, now);
	u32 tid = next->pid;
	u64 told = wakeup_of(own, cpu, tid, now, next);
	u32 prios = (prev->prio & 255) | (next->prio & 255) << 8;
	u32 *at = room(b, now, word(told ? SWITCH_TOLD : SWITCH, code, prios));
	at[2] = prev->pid;
	at[3] = tid;
	*(u64 *)(at + 4) = prev->se.sum_exec_runtime;
	u32 bytes = 24;
	if (told) {
		*(u64 *)(at + 6) = told;
		bytes = 32;
	}
	if (keep_stacks && to_wait)
		bytes = add_stacks(ctx, prev, at, bytes);
	release(b, bytes);
	return 0;
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	return on_switch(ctx, ctx[0], (void *)ctx[1], (void *)ctx[2], ctx[3]);
}

/* Linux before 5.18: the state is not an argument, and has not been changed yet. */
SEC("tp_btf/sched_switch")
int sched_switch_old(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];
	u32 state = 0;
	if (FIELD_EXISTS(prev->__state))
		state = prev->__state;
	else
		state = ((struct task_struct___old *)prev)->state;
	return on_switch(ctx, ctx[0], prev, (void *)ctx[2], state);
}

INLINE int on_wake(struct task_struct *p, u32 type)
{
	u32 cpu = this_cpu();
	struct block *own = lowest(cpu);
	struct block *b = claim_from(own, cpu);
	if (!b || !own)
		return 0;
	u64 now = ktime();
	look_at_mask(p, now, SLEPT);
	u32 *at = room(b, now, word(type, p->prio, cpu_of(p)));
	at[2] = p->pid;
	/* Whom an interrupt came upon woke nobody. */
	at[3] = own->interrupts ? 0 : current_task()->pid;
	release(b, 16);
	return 0;
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	if (QUEUE_TIME(p)) {
		struct seen *s = seen_of(p->pid);
		/* Still on its CPU is not yet early: its switch-out may have come already. */
		if (s && p->on_cpu && s->wait != (p->pid | BLOCKED)) {
			s->wait = p->pid | WOKEN_EARLY;
			s->early = ktime();
		} else if (s) {
			s->wait = p->pid | WOKEN;
		}
	}
	return on_wake(p, WAKING);
}

SEC("tp_btf/sched_wakeup_new")
int sched_wakeup_new(u64 *ctx)
{
	return on_wake((void *)ctx[0], NEW);
}

/* Loaded where the kernel keeps no time of queueing. */
SEC("tp_btf/sched_wakeup")
int sched_wakeup(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	/* Woken while it runs: there will be no switch-in that belongs to this wakeup. */
	if (p->on_cpu)
		return 0;
	u32 tid = p->pid, target = cpu_of(p);
	struct pending *w = slot(target, tid);
	if (!w)
		return on_wake(p, WAKEUP);
	if (unlikely(w->at && w->tid != tid))
		tell(w);
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
		tell(w);
	look_if_moved(p, tid);
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
	u32 cpu = this_cpu();
	struct block *own = lowest(cpu);
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

/* ---- handing over what stays half full; run by the recorder on each CPU that has something ---- */

SEC("raw_tp")
int hand_over_rest(void *ctx)
{
	return hand_over_all(this_cpu());
}

#include "rare.h"
#include "marks.h"
#include "unseen.h"

/* ---- snapshot ---- */

SEC("raw_tp")
int who_runs(void *ctx)
{
	struct task_struct *p = current_task();
	struct rare_current r = {};
	BEGIN(r, CURRENT, p);
	return send(&r, sizeof(r));
}

SEC("iter/task")
int all_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	if (!p)
		return 0;
	struct rare_row r = {};
	/* The stamp first: what changes while the fields are read is told again by an event after it. */
	BEGIN(r, ROW, p);
	BARRIER();
	r.head.kind = KIND_ROW;
	r.head.cpu = cpu_of(p);
	r.on_cpu = p->on_cpu;
	r.on_rq = p->on_rq;
	if (FIELD_EXISTS(p->se.sched_delayed))
		r.delayed = p->se.sched_delayed;
	if (FIELD_EXISTS(p->__state))
		r.state = p->__state;
	else
		r.state = ((struct task_struct___old *)p)->state;
	r.exit_state = p->exit_state;
	r.exec = p->se.sum_exec_runtime;
	r.pid = p->tgid;
	s32 level = 0;
	r.inner_tid = inner_of(p, &level);
	r.inner_pid = inner_of(p->group_leader, &level);
	r.level = level;
	r.prio = p->prio;
	r.policy = p->policy;
	r.nice = p->static_prio - 120;
	r.cgroup = cgroup_of(p);
	probe_read(r.comm, sizeof(r.comm), &p->comm);
	read_mask(p, &r.words, r.mask);
	r.attr = attr_of(p);
	/* It began to wait before anybody looked. (Woken at this very instant, its waking is told twice: that changes nothing.) */
	struct seen *s = seen_of(p->pid);
	if (s && !s->wait && QUEUE_TIME(p) && r.state && !r.exit_state && !r.on_cpu && (!r.on_rq || r.delayed)) {
		s->books = books_of(p);
		s->wait = p->pid | BLOCKED;
	}
	note_mask(p);
	look_at_held(p, r.head.cpu, r.head.at);
	seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
