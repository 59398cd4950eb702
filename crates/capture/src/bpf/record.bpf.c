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

/* The thread that was woken last of those whose numbers share these bits, until it is switched in. */
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, WOKEN);
	TYPE(key, u32);
	TYPE(value, u32);
} woken SEC(".maps");

/* Where the kernel keeps no such time (QUEUE_TIME): a wakeup that has not been told yet. Some slots for each CPU, chosen by the thread's
 * number: the kernel holds that CPU's run-queue lock at the wakeup, at the switch-in and when a queued thread is moved
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

NOINLINE int hand_over(struct block *b)
{
	if (!b)
		return 0;
	u32 used = b->used;
	u64 lost = b->lost;
	b->head.kind = KIND_BLOCK;
	b->head.cpu = this_cpu();
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

/* Room for one record; writes its first eight bytes. */
INLINE void *room(struct block *b, u64 now, u32 word)
{
	if (unlikely(b->used > BLOCK_DATA - RECORD_MAX) || unlikely(b->used && (now - b->head.base) >> 32))
		hand_over(b);
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
		return 9;
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

/* The kernel notes when it queues a thread, by the run queue's clock, and has just read that clock at a switch. So a wakeup
 * (`sched_wakeup` comes right after the queueing, at the same reading) needs no program of its own, which would be the
 * dearest of all; the switch-in tells it. What lies between the kernel's reading and ours, some hundred ns, makes it late. */
#define QUEUE_TIME(p) (FIELD_EXISTS((p)->sched_info.last_queued) && FIELD_EXISTS((p)->se.cfs_rq) && \
		       FIELD_EXISTS(((struct cfs_rq *)0)->rq))

INLINE u32 *woken_slot(u32 tid)
{
	u32 key = tid & (WOKEN - 1);
	return map_lookup(&woken, &key);
}

/* When `next` was queued after a waking, and its target, as the reader wants it; 0: not woken since it last ran. */
INLINE u64 wakeup_of(u32 cpu, u32 tid, u64 now, struct task_struct *next)
{
	if (QUEUE_TIME(next)) {
		u32 *w = woken_slot(tid);
		if (!w || *w != tid)
			return 0;
		*w = 0;
		u64 queued = next->sched_info.last_queued, clock = next->se.cfs_rq->rq->clock;
		return queued && clock >= queued ? (clock - queued) << 16 | NO_TARGET : 0;
	}
	struct pending *told = slot(cpu, tid);
	if (!told || !told->at || told->tid != tid)
		return 0;
	u64 at = told->at;
	told->at = 0;
	return (now - at) << 16 | (told->target & 0xffff);
}

/* The switch to `next`, with its wakeup where that has not been told. */
INLINE int put_switch(struct block *b, u32 cpu, u64 now, u32 code, u32 prio, u32 prev, u64 exec, struct task_struct *next)
{
	u32 tid = next->pid;
	u64 told = wakeup_of(cpu, tid, now, next);
	u32 prios = (prio & 255) | (next->prio & 255) << 8;
	u32 *at = room(b, now, word(told ? SWITCH_TOLD : SWITCH, code, prios));
	at[2] = prev;
	at[3] = tid;
	*(u64 *)(at + 4) = exec;
	if (told) {
		*(u64 *)(at + 6) = told;
		release(b, 32);
	} else {
		release(b, 24);
	}
	return 0;
}

INLINE void came_in(struct block *own, struct task_struct *next, u64 now)
{
	own->tid = next->pid;
	own->in = now;
	own->exec = next->se.sum_exec_runtime;
	own->task = (u64)next;
}

INLINE int on_switch(bool preempt, struct task_struct *prev, struct task_struct *next, u32 prev_state)
{
	u32 cpu = this_cpu();
	struct block *own = lowest(cpu);
	struct block *b = claim_from(own, cpu);
	if (!b || !own)
		return 0;
	u64 now = ktime();
	u32 code = state_code(preempt, prev_state, prev_state ? prev->exit_state : 0);
	if (unlikely(own->task != (u64)prev) && own->in)
		own->unlinked++;
	came_in(own, next, now);
	return put_switch(b, cpu, now, code, prev->prio, prev->pid, prev->se.sum_exec_runtime, next);
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	return on_switch(ctx[0], (void *)ctx[1], (void *)ctx[2], ctx[3]);
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
	return on_switch(ctx[0], prev, (void *)ctx[2], state);
}

/* On some machines nothing that happens while certain tasks are `current` reaches a program, their switch-out included.
 * The kernel is asked again on the other side of each switch, where the next one is `current` already:
 *
 *      X -> H    sched_switch by X: told          sched_exit_tp by H: nobody hears it
 *      H -> Y    sched_switch by H: not heard     sched_exit_tp by Y: Y runs, but H came in last: told here
 *
 * Between the two another such task may have run. That H ran all the time is told only where the kernel's charge proves
 * it; otherwise nobody knows who left.
 *
 * This runs with interrupts on and without the run-queue's lock: a wakeup that another CPU files in Y's slot in between
 * may get lost, and the reader then takes its waking alone. A new thread does not come by here at its first switch-in. */
NOINLINE int switched_unseen(struct block *own, u32 cpu)
{
	struct task_struct *next = current_task();
	if (!own)
		return 0;
	struct block *b = claim_from(own, cpu);
	if (!b)
		return 0;
	u64 now = ktime();
	if (!own->in) { /* the first switch of this CPU: before it nothing is known anyway */
		came_in(own, next, now);
		release(b, 0);
		return 0;
	}
	struct task_struct *prev = (void *)own->task;
	u32 tid = own->tid, pid = 0, state = 0, exit_state = 0, prio = 0;
	u64 exec = 0;
	long failed = probe_read(&pid, sizeof(pid), &prev->pid) | probe_read(&prio, sizeof(prio), &prev->prio) |
		      probe_read(&exit_state, sizeof(exit_state), &prev->exit_state) |
		      probe_read(&exec, sizeof(exec), &prev->se.sum_exec_runtime) |
		      probe_read(&state, sizeof(state), &prev->__state);
	u64 ran = now - own->in, charged = exec - own->exec;
	u64 slack = ran / 50 > SLACK_NS ? ran / 50 : SLACK_NS;
	bool proved = !failed && pid == tid && charged + slack >= ran && charged <= ran + slack;
	if (!tid) /* the idle task is charged nothing */
		proved = 0;
	u32 code = state_code(0, state, exit_state);
	own->by_next++;
	if (!proved) {
		own->one_sided++;
		tid = -1;
		exec = -1;
		prio = 0;
		code = 0;
	}
	came_in(own, next, now);
	return put_switch(b, cpu, now, code, prio, tid, exec, next);
}

/* Linux 6.17 and later. Costs about 55 ns a switch, all of it the call: the recorder attaches it only where it has something
 * to tell. */
SEC("tp_btf/sched_exit_tp")
int sched_exit_tp(u64 *ctx)
{
	u32 cpu = this_cpu();
	struct block *own = lowest(cpu);
	if (!own || likely(own->task == (u64)current_task()))
		return 0;
	return switched_unseen(own, cpu);
}

INLINE int on_wake(struct task_struct *p, u32 type)
{
	struct block *b = claim(this_cpu());
	if (!b)
		return 0;
	u64 now = ktime();
	u32 *at = room(b, now, word(type, p->prio, cpu_of(p)));
	at[2] = p->pid;
	at[3] = current_task()->pid;
	release(b, 16);
	return 0;
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	/* On a CPU still: no switch-in will belong to this waking. */
	if (QUEUE_TIME(p) && !p->on_cpu) {
		u32 *w = woken_slot(p->pid);
		if (w)
			*w = p->pid;
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
	struct block *b = claim(this_cpu());
	if (!b)
		return 0;
	room(b, ktime(), word(IDLE, ctx[0], 0));
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

INLINE int on_hard(u32 type, u32 number)
{
	struct block *b = claim(this_cpu());
	if (!b)
		return 0;
	u32 *at = room(b, ktime(), word(type, 0, 0));
	at[2] = number;
	release(b, 12);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int irq_handler_entry(u64 *ctx)
{
	return on_hard(HARD_IN, ctx[0]);
}

SEC("tp_btf/irq_handler_exit")
int irq_handler_exit(u64 *ctx)
{
	return on_hard(HARD_OUT, ctx[0]);
}

INLINE int on_soft(u32 type, u32 vector)
{
	struct block *b = claim(this_cpu());
	if (!b)
		return 0;
	room(b, ktime(), word(type, vector, 0));
	release(b, 8);
	return 0;
}

SEC("tp_btf/softirq_entry")
int softirq_entry(u64 *ctx)
{
	return on_soft(SOFT_IN, ctx[0]);
}

SEC("tp_btf/softirq_exit")
int softirq_exit(u64 *ctx)
{
	return on_soft(SOFT_OUT, ctx[0]);
}

/* ---- handing over what stays half full; run by the recorder on each CPU that has something ---- */

SEC("raw_tp")
int hand_over_rest(void *ctx)
{
	u32 first = this_cpu() * LEVELS;
	int left = 0;
	for (int level = 0; level < LEVELS; level++) {
		u32 key = first + level;
		struct block *b = map_lookup(&blocks, &key);
		if (!b)
			continue;
		if (b->busy) {
			left = 1;
			continue;
		}
		b->busy = 1;
		BARRIER();
		if (b->used)
			hand_over(b);
		BARRIER();
		b->busy = 0;
	}
	return left;
}

#include "rare.h"

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
	seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
