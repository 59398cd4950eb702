/* Switches that the one who left could not tell: who ran is told by who came in, as far as the kernel's books prove it. Part
 * of record.bpf.c. */
#ifndef COREWISE_UNSEEN_H
#define COREWISE_UNSEEN_H

/* On some machines nothing that happens while certain tasks are `current` reaches a program, their switch-out included:
 *
 *      X -> H    sched_switch by X: told
 *      H -> Y    sched_switch by H: nobody hears it; Y runs, but H came in last
 *      Y -> ...  sched_switch by Y, or what else Y does: here it is noticed, and told with the kernel's own time of Y's arrival
 *
 * Between H and Y other such tasks may have run, and H again. Who ran is told only where the kernel's books prove it for
 * all of the time; otherwise nobody knows who left. The books are what H was charged, and the last stay of each such task:
 *
 *      in            from          until
 *      H ........... K ........... Y        K's last stay ends where Y came in; H's charge is from `in` to where K came in */
#define FELLOWS 32

/* A stay on a CPU, by the run queue's clock. */
struct stay {
	u64 task;
	u64 from;
	u64 exec; /* what it has been charged by its end */
	u32 tid;
	s32 prio;
};

/* What a task was charged explains how long it ran. Too little: somebody else ran meanwhile. Far too much: it ran again since. A
 * little too much is usual, since the charge counts from the clock's last reading before the switch. */
INLINE bool explains(u64 charged, u64 ran)
{
	u64 slack = ran / 50 > SLACK_NS ? ran / 50 : SLACK_NS;
	return charged + slack >= ran && charged <= ran + 5 * slack;
}

/* Such tasks are of one process: the thread of `h`'s process whose last stay on this CPU ended at `until`, 0 for none; with
 * an `until` of 0 the one whose stay ended last. One that comes in at this very moment has no end of its last stay any more,
 * but what it was charged for it. `behind`: behind_of `h`. Not static, and of numbers only: so the kernel
 * verifies it once, and not once for each way into it. */
__attribute__((noinline)) u64 stay_until(u64 h, u64 until, u64 behind)
{
	struct task_struct *of = (void *)h;
	u64 found = 0, latest = 0;
	struct signal_struct *process = 0;
	struct list_head *node = 0, *head = 0;
	if (READ(process, of->signal))
		return 0;
	head = &process->thread_head;
	node = head;
	for (u32 i = 0; i < FELLOWS; i++) {
		u32 cpu = 0;
		u64 from = 0, charged = 0, exec = 0;
		u32 tid = 0;
		if (READ(node, node->next) || node == head)
			break;
		struct task_struct *p = (void *)((u8 *)node - FIELD_OFFSET(of->thread_node));
		if (FIELD_EXISTS(p->thread_info.cpu))
			READ(cpu, p->thread_info.cpu);
		if (READ(from, p->sched_info.last_arrival) || READ(charged, p->se.exec_start))
			return 0;
		u64 end = charged + behind;
		long long off = end - until;
		if (cpu != this_cpu())
			continue;
		if (until && from < until && off >= -STAY_SLACK_NS && off <= STAY_SLACK_NS)
			return (u64)p;
		if (until && from < until && end > until) {
			if (READ(tid, p->pid) || READ(exec, p->se.sum_exec_runtime))
				break;
			struct seen *s = seen_of(tid);
			if (s && explains(exec - s->exec, until - from))
				return (u64)p;
		}
		if (!until && from < end && end > latest) {
			latest = end;
			found = (u64)p;
		}
	}
	return found;
}

/* When the idle task came in, by the run queue's clock; 0 where nothing tells. The kernel does not keep its arrivals: it
 * came when the last stay of such a task ended, and is noticed soon after, at its first going to sleep. */
INLINE u64 idle_since(struct block *own, u64 now, u64 behind)
{
	u64 end = 0;
	struct task_struct *last = (void *)stay_until(own->task, 0, behind);
	if (!last || READ(end, last->se.exec_start))
		return 0;
	end += behind;
	return end + own->skew > own->in && now - (end + own->skew) < 5 * SLACK_NS ? end : 0;
}

INLINE void read_stay(struct stay *s, u64 task)
{
	struct task_struct *p = (void *)task;
	s->task = task;
	if (task && (READ(s->from, p->sched_info.last_arrival) || READ(s->tid, p->pid) || READ(s->prio, p->prio) ||
		     READ(s->exec, p->se.sum_exec_runtime)))
		s->from = 0;
}

/* What a task that left had been charged by then. */
INLINE void left_with(u32 tid, u64 exec)
{
	struct seen *s = seen_of(tid);
	if (s)
		s->exec = exec;
}

/* One that nobody heard leave waits: so does the one who hears it come back know that its waking was not heard either. */
INLINE void left_to_wait(u64 task, u32 tid)
{
	struct task_struct *p = (void *)task;
	u64 delay = 0, count = 0;
	struct seen *s = seen_of(tid);
	if (!s || READ(delay, p->sched_info.run_delay) || READ(count, p->sched_info.pcount))
		return;
	s->wait = tid | (s->wait == (tid | WOKEN_EARLY) ? WOKEN : BLOCKED);
	s->books = books(delay, count);
}

NOINLINE int tell_switch(struct rare_switched *r)
{
	r->head.kind = KIND_RARE;
	r->head.type = SWITCHED;
	r->head.cpu = this_cpu();
	if (ring_output(&ring, r, sizeof(*r), RB_NO_WAKEUP))
		count_lost(this_cpu());
	return 0;
}

/* One that nobody heard come in: its arrival has wiped out when it was queued, but not how long. */
INLINE void came_from_wait(struct seen *s, u64 task, u32 tid, u64 at)
{
	struct task_struct *p = (void *)task;
	u64 delay = 0, count = 0;
	if (!s || (s->wait & ~(BLOCKED | WOKEN_EARLY)) != tid)
		return;
	if (s->wait & BLOCKED && QUEUE_TIME(p) && !READ(delay, p->sched_info.run_delay) &&
	    !READ(count, p->sched_info.pcount)) {
		u64 more = books(delay, count) - s->books;
		if ((u16)more == 1)
			woken_unseen(tid, at - (more >> 16));
	}
	s->wait = 0;
}

__attribute__((noinline)) int came_unseen(u64 now, u64 behind)
{
	struct rare_switched r = {};
	struct stay second = {}, last = {};
	struct block *own = lowest(this_cpu());
	if (!own)
		return 0;
	u64 task = own->came;
	struct task_struct *came = (void *)task;
	u64 at = now, until = 0, came_exec = 0;
	u32 came_tid = 0;
	s32 came_prio = 0;
	if (READ(came_tid, came->pid) || READ(came_prio, came->prio) || READ(came_exec, came->se.sum_exec_runtime))
		return 0;
	if (QUEUE_TIME(came)) {
		if (!came_tid)
			until = idle_since(own, now, behind);
		else if (READ(until, came->sched_info.last_arrival))
			until = 0;
		if (until)
			at = until + own->skew;
	}
	/* Before what is being told, and behind what was. */
	if (at >= now)
		at = now - 1;
	if (at <= own->in)
		at = own->in + 1;
	struct task_struct *prev = (void *)own->task;
	u32 pid = 0, state = 0, exit_state = 0;
	u64 exec = 0;
	long failed = READ(pid, prev->pid) | READ(r.prev_prio, prev->prio) | READ(exit_state, prev->exit_state) |
		      READ(exec, prev->se.sum_exec_runtime) | READ(state, prev->__state);
	u64 charged = (own->left ? own->left : exec) - own->exec;
	/* The idle task is charged nothing. */
	bool known = !failed && own->tid && pid == own->tid;
	bool proved = known && explains(charged, at - own->in);
	if (known)
		left_with(pid, own->exec + charged);
	if (known && !proved && until)
		read_stay(&last, stay_until(own->task, until, behind));
	/* One stay from then to now, some of which was not charged. */
	if (last.from && last.tid == pid && last.from + own->skew - own->in + STAY_SLACK_NS < 2 * STAY_SLACK_NS) {
		proved = 1;
		last.from = 0;
	}
	if (last.from) {
		/* One more ran between, or two, of which one may be H again. */
		u64 from = last.from + own->skew;
		u64 again = last.tid == pid ? until - last.from : 0;
		bool two = from > own->in && charged >= again && !explains(charged - again, from - own->in);
		if (two)
			read_stay(&second, stay_until(own->task, last.from, behind));
		if (second.from) {
			from = second.from + own->skew;
			again += second.tid == pid ? last.from - second.from : 0;
		}
		if (from > own->in && from < at && charged >= again && explains(charged - again, from - own->in)) {
			r.prev = pid;
			r.exec = -1;
			r.code = UNTOLD;
			if (second.from) {
				r.head.tid = second.tid;
				r.head.at = from;
				r.next_prio = second.prio;
				came_from_wait(seen_of(second.tid), second.task, second.tid, from);
				tell_switch(&r);
				left_with(second.tid, second.exec);
				r.prev = second.tid;
				r.prev_prio = second.prio;
				from = last.from + own->skew;
			}
			r.head.tid = last.tid;
			r.head.at = from;
			r.next_prio = last.prio;
			came_from_wait(seen_of(last.tid), last.task, last.tid, from);
			tell_switch(&r);
			left_with(last.tid, last.exec);
			own->by_next += 1 + (second.from != 0);
			proved = 1;
			pid = last.tid;
			exec = -1;
			r.prev_prio = last.prio;
		}
	}
	r.head.tid = came_tid;
	r.head.at = at;
	r.next_prio = came_prio;
	r.prev = proved ? pid : -1;
	r.exec = proved ? exec : -1;
	/* Long after the switch it may have been woken. */
	r.code = proved && !own->left && !last.from && now - at < SLACK_NS ? state_code(0, state, exit_state) : UNTOLD;
	own->by_next++;
	own->one_sided += !proved;
	if (QUEUE_TIME(prev) && r.code && r.code < 9 && !exit_state)
		left_to_wait(own->task, pid);
	struct seen *s = seen_of(came_tid);
	came_from_wait(s, task, came_tid, at);
	if (s && s->cpu != this_cpu()) {
		left_unseen(s->cpu, task, came_exec);
		s->cpu = this_cpu();
	}
	came_in(own, task, came_tid, came_exec, at);
	tell_switch(&r);
	return 0;
}

#endif
