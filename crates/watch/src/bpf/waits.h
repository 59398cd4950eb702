/* Ready threads: when a wait begins, moves and ends, and what the queue's CPU did meanwhile. Part of watch.bpf.c. */
#ifndef COREWISE_WAITS_H
#define COREWISE_WAITS_H

/* How often a CPU's sums are read if it changes them meanwhile, which takes it some ten ns. */
#define READ_ATTEMPTS 16

/* The sums of a CPU at a moment, as far as a waiting thread needs them. */
struct at_moment {
	u64 at; /* 0: they could not be read */
	u64 kernel, idle, unknown, same;
};

/* Reads the sums of a CPU at `at`, or at its last switch if that was later. `slot`: the waiting thread's group. */
INLINE void read_sums(struct at_moment *m, u32 cpu, u32 slot, u64 at)
{
	struct cpu_sums *c = cpu_at(cpu);
	struct group_sums *group = group_at(cpu, slot);
	*m = (struct at_moment){};
	if (!c || !group)
		return;
	for (int i = 0; i < READ_ATTEMPTS; i++) {
		u32 seq = *(volatile u32 *)&c->seq;
		fence();
		u64 since = c->since, time = at > since ? at - since : 0;
		u32 runs = c->runs;
		m->kernel = c->kernel + (runs == RUNS_KERNEL_THREAD ? time : 0);
		m->idle = c->idle + (runs == RUNS_IDLE ? time : 0);
		m->unknown = c->unknown + (runs == RUNS_UNKNOWN ? time : 0);
		m->same = group->running - group->kernel + (runs == RUNS_THREAD && c->slot == slot ? time : 0);
		fence();
		if (likely(!(seq & 1) && *(volatile u32 *)&c->seq == seq)) {
			m->at = since + time;
			return;
		}
	}
}

INLINE void note_sums(struct thread *t, struct at_moment *m)
{
	t->from = m->at;
	t->kernel = m->kernel;
	t->idle = m->idle;
	t->unknown = m->unknown;
	t->same = m->same;
}

/* Takes a part of the time that is left. Another CPU's clock may have been read a moment after a switch that it did not see yet, so the
 * difference of two sums may be some ns too small. */
INLINE u64 take(u64 *left, u64 now, u64 before)
{
	u64 time = now - before;
	if ((long long)time < 0)
		time = 0;
	if (time > *left)
		time = *left;
	*left -= time;
	return time;
}

/* Divides the time since `part`, up to `now`, at which the sums of the queue's CPU are `m`. The parts add up to it. */
INLINE void divide(struct ready_sums *r, struct thread *t, struct at_moment *m, u64 now)
{
	u64 all = now - t->part, left = m->at - t->from;
	if ((long long)all < 0)
		all = 0;
	if (!t->from || !m->at || (long long)left < 0)
		left = 0;
	if (left > all)
		left = all;
	u64 gap = all - left;
	r->kernel = take(&left, m->kernel, t->kernel);
	r->idle = take(&left, m->idle, t->idle);
	r->same = take(&left, m->same, t->same);
	r->unknown = gap + take(&left, m->unknown, t->unknown);
	r->other = left;
}

INLINE void begin_wait(struct thread *t, u32 cpu, u32 slot, u64 now)
{
	struct at_moment m;
	t->start = t->part = now;
	t->queue = cpu;
	t->wait_slot = slot;
	read_sums(&m, cpu, slot, now);
	note_sums(t, &m);
}

/* A thread leaves its CPU, whose sums are those of this moment. `ran`: its group's; 0: not known. */
INLINE void leave(struct cpu_sums *c, struct group_sums *ran, struct task_struct *p, u32 cpu, u32 slot, bool preempted,
		  u32 state)
{
	struct thread *t = claim(c, p->pid, RUNNING);
	if (!t)
		return;
	t->last_cpu = cpu;
	u32 next = READY_PREEMPTED;
	if (state && !preempted) {
		if (state & 0x80) { /* TASK_DEAD: its TID may be used again */
			t->state = BLOCKED;
			t->last_cpu = NO_CPU;
			return;
		}
		/* A waking on another CPU may come at this moment: it sees either RUNNING or BLOCKED. */
		if (__sync_lock_test_and_set(&t->state, BLOCKED) != WOKEN_EARLY)
			return;
		next = READY_EARLY;
	} else if (ran) {
		ran->preemptions++;
	}
	if (next == READY_PREEMPTED && FIELD_EXISTS(p->throttled) && p->throttled) {
		t->state = THROTTLED;
		return;
	}
	struct group_sums *group = ran ? ran : group_at(cpu, slot);
	t->start = t->part = c->since;
	t->queue = cpu;
	t->wait_slot = slot;
	t->from = group ? c->since : 0;
	t->kernel = c->kernel;
	t->idle = c->idle;
	t->unknown = c->unknown;
	t->same = group ? group->running - group->kernel : 0;
	t->state = next;
}

/* The thread is switched in on this CPU, whose sums are those of `now`. */
INLINE void end_wait(struct cpu_sums *c, struct thread *t, struct group_sums *group, u32 cpu, u32 slot, u64 now)
{
	struct at_moment m = { .kernel = c->kernel, .idle = c->idle, .unknown = c->unknown };
	struct ready_sums r;
	/* The sum of another group, or on another CPU, than at the beginning says nothing. */
	m.at = t->queue == cpu && t->wait_slot == slot ? now : 0;
	m.same = group->running - group->kernel;
	u64 length = now - t->start;
	if ((long long)length < 0)
		return;
	divide(&r, t, &m, now);
	group->ready.same += r.same;
	group->ready.other += r.other;
	group->ready.kernel += r.kernel;
	group->ready.idle += r.idle;
	group->ready.unknown += r.unknown;
	group->ready_ns += length;
	count(group->ready_counts, length);
	if (t->state != READY_PREEMPTED) {
		group->wakeups++;
		c->wakeups++;
	}
}

/* A thread is switched in and is not known to wait: its waking, or its switch-out, was not passed on (hidden.h). The kernel keeps
 * since when it is in this queue, but not what ran meanwhile. */
INLINE void missed_wait(struct cpu_sums *c, struct thread *t, struct task_struct *p, u32 cpu, u32 slot)
{
	if (!FIELD_EXISTS(p->sched_info.last_queued) || t->state == THROTTLED || !c->skew)
		return;
	u64 queued = p->sched_info.last_queued, start = queued + c->skew;
	if (!queued || start >= c->since)
		return;
	t->start = t->part = start;
	t->queue = cpu;
	t->wait_slot = slot;
	t->from = 0;
	t->state = READY_WOKEN;
}

NOINLINE int on_waking(struct task_struct *p)
{
	u32 cpu = this_cpu(), tid = p->pid;
	struct cpu_sums *c = cpu_at(cpu);
	if (!c || !c->started || !tid)
		return 0;
	bool on_cpu = p->on_cpu;
	struct thread *t = claim(c, tid, on_cpu ? RUNNING : BLOCKED);
	if (!t)
		return 0;
	u32 state = *(volatile u32 *)&t->state;
	if (state == READY_PREEMPTED || state == READY_WOKEN || state == THROTTLED)
		return 0;
	/* If its switch-out is seen between these two lines, it is blocked by now. */
	if (on_cpu && (state == RUNNING || state == WOKEN_EARLY) &&
	    __sync_val_compare_and_swap(&t->state, RUNNING, WOKEN_EARLY) != BLOCKED)
		return 0;
	begin_wait(t, cpu_of(p), slot_of(c, t, p, cpu, p->flags & KERNEL_THREAD), ktime());
	t->state = READY_WOKEN;
	return 0;
}

NOINLINE int on_new(struct task_struct *p)
{
	u32 cpu = this_cpu();
	struct cpu_sums *c = cpu_at(cpu);
	if (!c || !c->started)
		return 0;
	struct thread *t = claim(c, p->pid, BLOCKED);
	if (!t)
		return 0;
	t->last_cpu = NO_CPU;
	begin_wait(t, cpu_of(p), slot_of(c, t, p, cpu, p->flags & KERNEL_THREAD), ktime());
	t->state = READY_WOKEN;
	return 0;
}

/* A thread is moved to the queue of another CPU. */
NOINLINE int on_move(struct task_struct *p, u32 to)
{
	u32 tid = p->pid, key = tid & set.thread_mask;
	struct thread *t = map_lookup(&threads, &key);
	if (!t || t->tid != tid || t->state < READY_PREEMPTED)
		return 0;
	struct at_moment m;
	u32 slot = t->wait_slot, from = t->queue;
	/* Woken, but in no queue yet: as if it had been woken there. */
	if (!p->on_rq) {
		read_sums(&m, to, slot, t->start);
		note_sums(t, &m);
		t->queue = to;
		return 0;
	}
	struct group_sums *group = group_at(from, slot);
	struct ready_sums r;
	u64 now = ktime();
	read_sums(&m, from, slot, now);
	divide(&r, t, &m, now);
	if (group) {
		__sync_fetch_and_add(&group->moved.same, r.same);
		__sync_fetch_and_add(&group->moved.other, r.other);
		__sync_fetch_and_add(&group->moved.kernel, r.kernel);
		__sync_fetch_and_add(&group->moved.idle, r.idle);
		__sync_fetch_and_add(&group->moved.unknown, r.unknown);
	}
	read_sums(&m, to, slot, now);
	note_sums(t, &m);
	t->part = now;
	t->queue = to;
	return 0;
}

#endif
