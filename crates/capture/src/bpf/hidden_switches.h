/* Infers switches that the kernel hides: the thread that was switched in shows which thread ran, as far as the kernel's statistics
 * prove it.
 *
 * Used only if the kernel hides switches (probe.bpf.c), at the begin of the programs at switches and at idle: there it finds the
 * state that a CPU's last switch left. A program of its own would cost a tenth of a microsecond for each switch. */
#ifndef COREWISE_HIDDEN_SWITCHES_H
#define COREWISE_HIDDEN_SWITCHES_H

/* On some machines no event that happens while certain (hidden) tasks are `current` reaches a program, including their switch-out:
 *
 *      X -> H    sched_switch by X: recorded
 *      H -> Y    sched_switch by H: not delivered; Y runs, but H was switched in last
 *      Y -> ...  sched_switch by Y, or any other event of Y: noticed here, and recorded with the kernel's time of Y's arrival
 *
 * Between H and Y other hidden tasks may have run, and H again. The kernel counts each CPU's switches, so the number of stays is
 * known. The tasks follow from the last stay of each hidden task, backwards from Y:
 *
 *      in            from          until
 *      H ........... K ........... Y        two switches: K's last stay ends when Y was switched in, H left when K was switched in
 *
 * If one of them was switched in again since, its earlier stay is not known, and neither is the previous thread there. Rarely,
 * another task's stay fits by chance (tests/it/hidden_switches.rs states how often, for simulated switches). */
#define MAX_PROCESS_THREADS 32
/* Maximum number of stays between two delivered events. */
#define MAX_STAYS 8

/* A stay on a CPU, by the run queue's clock. */
struct stay {
	u64 task;
	u64 from;
	u64 exec; /* the task's charged CPU time at its end */
	u32 tid;
	s32 prio;
};

/* The stays of a CPU between two delivered events, while they are inferred. The records are here because the stack has no room for
 * them: the programs at a switch may use 512 bytes together. */
struct chain {
	struct stay stays[MAX_STAYS]; /* from the last backwards */
	struct rare_inferred_switch to_stay; /* the record of a switch to one of them */
	struct rare_inferred_switch last; /* that of the switch to the thread that came */
	u64 end; /* of the stay that is searched */
	u32 left; /* the last thread switched out, of those sent */
	s32 left_prio;
};

/* As many as CPUs. */
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct chain);
} chains SEC(".maps");

INLINE struct chain *chain_of_cpu(void)
{
	u32 cpu = this_cpu();
	return map_lookup(&chains, &cpu);
}

/* Whether a task's charged CPU time, with at most the time stolen from this CPU, explains how long it ran. Too little: another task
 * ran meanwhile. Far too much: it ran again since. A little too much is common, since the charge counts from the clock's last
 * reading before the switch. */
INLINE bool explains(u64 charged, u64 stolen, u64 ran)
{
	u64 slack = ran / 50 > SLACK_NS ? ran / 50 : SLACK_NS;
	return charged + stolen + slack >= ran && charged <= ran + 5 * slack;
}

/* A thread is switched in here that was last switched in on another CPU. If it is still the current task in that CPU's block, its
 * switch-out was hidden, and its charged CPU time by now is that of its stay there: later it will be more. */
NOINLINE int note_hidden_leave(u32 cpu, u64 task, u64 exec)
{
	struct block *b = base_block(cpu);
	if (b && b->task == task && !b->left)
		b->left = exec;
	return 0;
}

/* When the last stay of `task`, a thread of `own->process`, began, on the run queue's clock, if it was on this CPU, since `own->in`
 * and, with an `until`, ended then; else 0. For a task that is switched in at `until`, the end of its last stay is lost, but not its
 * charged CPU time. */
GLOBAL u64 stay_from(u64 task, u64 until, u64 lag)
{
	struct task_struct *p = (void *)task;
	struct block *own = base_block(this_cpu());
	u32 cpu = 0, tid = 0;
	u64 from = 0, counted = 0, exec = 0;
	if (!own || READ(from, p->sched_info.last_arrival) || READ(counted, p->se.exec_start))
		return 0;
	if (FIELD_EXISTS(p->thread_info.cpu))
		READ(cpu, p->thread_info.cpu);
	if (cpu != this_cpu())
		return 0;
	if (!until)
		return from;
	if (from >= until || from + own->skew <= own->in)
		return 0;
	/* `lag` includes the time stolen since its end. */
	u64 grown = lag - own->lag, end = counted + lag;
	long long off = end - until;
	if (off >= -STAY_SLACK_NS && off <= (long long)grown + STAY_SLACK_NS)
		return from;
	if (end <= until || READ(tid, p->pid) || READ(exec, p->se.sum_exec_runtime))
		return 0;
	struct seen *s = seen_of(tid);
	return s && explains(exec - s->exec, own->stolen, until - from) ? from : 0;
}

/* The thread of `h`'s process whose last stay on this CPU ended at `until` (hidden tasks belong to one process); with
 * an `until` of 0 the thread whose stay began last; 0: none. `lag`: that of the run queue (struct readings). */
GLOBAL u64 stay_until(u64 h, u64 until, u64 lag)
{
	struct task_struct *of = (void *)h;
	u64 found = 0, latest = 0;
	struct signal_struct *process = 0;
	struct list_head *node = 0, *head = 0;
	if (READ(process, of->signal))
		return 0;
	head = &process->thread_head;
	node = head;
	for (u32 i = 0; i < MAX_PROCESS_THREADS; i++) {
		if (READ(node, node->next) || node == head)
			break;
		u64 task = (u64)node - FIELD_OFFSET(of->thread_node);
		u64 from = stay_from(task, until, lag);
		if (from > latest) {
			latest = from;
			found = task;
		}
	}
	return found;
}

/* When the idle task was switched in, on the run queue's clock; 0: unknown. The kernel does not keep its arrivals: it
 * was switched in when the last stay of a hidden task ended, and is noticed soon after, when it first goes to sleep. */
INLINE u64 idle_since(struct block *own, u64 now, u64 lag)
{
	u64 end = 0;
	struct task_struct *last = (void *)stay_until(own->task, 0, lag);
	if (!last || READ(end, last->se.exec_start))
		return 0;
	end += lag;
	return end + own->skew > own->in && now - (end + own->skew) < 5 * SLACK_NS ? end : 0;
}

/* Reads the last stay of a task; without one, `from` is 0. */
INLINE void read_stay(struct stay *s, u64 task)
{
	struct task_struct *p = (void *)task;
	s->task = task;
	s->from = 0;
	if (task && (READ(s->from, p->sched_info.last_arrival) || READ(s->tid, p->pid) || READ(s->prio, p->prio) ||
		     READ(s->exec, p->se.sum_exec_runtime)))
		s->from = 0;
}

/* Notes a hidden task's charged CPU time: its later stays are searched from here on. */
INLINE void note_charge(u32 tid, u64 exec)
{
	struct seen *s = seen_of(tid);
	if (s)
		s->exec = exec;
}

/* A hidden task (`own->came`) is switched in: notes the charged CPU time of all of them, to infer later from the differences which ran. */
GLOBAL int note_charges(u32 on)
{
	struct block *own = base_block(on);
	struct task_struct *of = own ? (void *)own->came : 0;
	struct signal_struct *process = 0;
	struct list_head *node = 0, *head = 0;
	if (!of || READ(process, of->signal))
		return 0;
	head = &process->thread_head;
	node = head;
	for (u32 i = 0; i < MAX_PROCESS_THREADS; i++) {
		u32 tid = 0;
		u64 exec = 0;
		if (READ(node, node->next) || node == head)
			break;
		struct task_struct *p = (void *)((u8 *)node - FIELD_OFFSET(of->thread_node));
		if (!READ(tid, p->pid) && !READ(exec, p->se.sum_exec_runtime))
			note_charge(tid, exec);
	}
	return 0;
}

/* Notes that a thread waits whose switch-out was hidden, so that a missing waking is noticed when it is switched in again. */
INLINE void note_hidden_wait(u64 task, u32 tid, u64 out)
{
	struct task_struct *p = (void *)task;
	u64 delay = 0, count = 0;
	struct seen *s = seen_of(tid);
	if (!s || READ(delay, p->sched_info.run_delay) || READ(count, p->sched_info.pcount))
		return;
	s->wait = wait_state(s, tid, out);
	s->queue_stats = queue_stats(delay, count);
}

NOINLINE int send_switch(struct rare_inferred_switch *r)
{
	r->head.kind = KIND_RARE;
	r->head.type = INFERRED_SWITCH;
	r->head.cpu = this_cpu();
	return send(r, sizeof(*r));
}

/* Ends the wait of a thread whose switch-in was hidden: the switch-in cleared the time of its queueing, but not its duration. */
INLINE void note_wait_end(struct seen *s, u64 task, u32 tid, u64 at)
{
	struct task_struct *p = (void *)task;
	u64 delay = 0, count = 0;
	if (!s || (s->wait & ~(BLOCKED | WOKEN_EARLY)) != tid)
		return;
	if (s->wait & BLOCKED && QUEUE_TIME(p) && !READ(delay, p->sched_info.run_delay) &&
	    !READ(count, p->sched_info.pcount)) {
		u64 more = queue_stats(delay, count) - s->queue_stats;
		if ((u16)more == 1)
			send_missed_waking(tid, at - (more >> 16));
	}
	s->wait = 0;
}

/* Goes one stay back from the end: finds stay `i`; the next one ends when it began. Returns whether it is known. */
GLOBAL int add_stay(u32 i, u64 lag)
{
	struct block *own = base_block(this_cpu());
	struct chain *chain = chain_of_cpu();
	if (!own || !chain || i >= MAX_STAYS)
		return 0;
	struct stay *s = &chain->stays[i];
	read_stay(s, stay_until(own->task, chain->end, lag));
	chain->end = s->from;
	return s->from != 0;
}

/* Sends the hidden switch to stay `i`. */
GLOBAL int send_stay(u32 i)
{
	struct block *own = base_block(this_cpu());
	struct chain *chain = chain_of_cpu();
	if (!own || !chain || i >= MAX_STAYS)
		return 0;
	struct stay *s = &chain->stays[i];
	struct rare_inferred_switch *r = &chain->to_stay;
	r->prev = chain->left;
	r->prev_prio = chain->left_prio;
	r->exec = -1;
	r->code = STATE_UNKNOWN;
	r->head.tid = s->tid;
	r->head.at = s->from + own->skew;
	r->next_prio = s->prio;
	note_wait_end(seen_of(s->tid), s->task, s->tid, r->head.at);
	send_switch(r);
	note_charge(s->tid, s->exec);
	chain->left = s->tid;
	chain->left_prio = s->prio;
	return 0;
}

GLOBAL int infer_switch(u64 now, u64 lag, u64 switches)
{
	struct block *own = base_block(this_cpu());
	struct chain *chain = chain_of_cpu();
	if (!own || !chain)
		return 0;
	struct rare_inferred_switch *r = &chain->last;
	u64 task = own->came;
	struct task_struct *came = (void *)task;
	u64 at = now, until = 0, came_exec = 0;
	u32 came_tid = 0;
	s32 came_prio = 0;
	if (READ(came_tid, came->pid) || READ(came_prio, came->prio) || READ(came_exec, came->se.sum_exec_runtime))
		return 0;
	if (QUEUE_TIME(came)) {
		if (!came_tid)
			until = idle_since(own, now, lag);
		else if (READ(until, came->sched_info.last_arrival))
			until = 0;
		if (until)
			at = until + own->skew;
	}
	/* Before the current event, and after the previous one. */
	if (at >= now)
		at = now - 1;
	if (at <= own->in)
		at = own->in + 1;
	struct task_struct *prev = (void *)own->task;
	u32 pid = 0, state = 0, exit_state = 0;
	u64 exec = 0;
	long failed = READ(pid, prev->pid) | READ(r->prev_prio, prev->prio) | READ(exit_state, prev->exit_state) |
		      READ(exec, prev->se.sum_exec_runtime) | READ(state, prev->__state);
	u64 charged = (own->left ? own->left : exec) - own->exec;
	/* Time stolen after the switch does not count: assume that all of it was before, if that fits, else as much as must have been. */
	u64 grown = lag - own->lag, since = now - at;
	own->stolen = explains(charged + grown, 0, at - own->in) ? grown : grown > since ? grown - since : 0;
	if (READ(own->process, prev->tgid))
		own->process = 0;
	/* The idle task is not charged. */
	bool known = !failed && own->tid && pid == own->tid;
	bool fits = known && explains(charged, own->stolen, at - own->in);
	u64 others = switches - own->switches - 1;
	bool proved = known && (switches ? !others : fits);
	chain->end = until;
	u32 found = 0;
	for (u32 i = 0; i < MAX_STAYS && i < others && known && switches && until; i++) {
		if (!add_stay(i, lag))
			break;
		found = i + 1;
		proved = found == others;
	}
	if (known)
		note_charge(pid, own->exec + charged);
	r->prev = proved ? pid : -1;
	r->exec = -1;
	r->code = STATE_UNKNOWN;
	chain->left = r->prev;
	chain->left_prio = r->prev_prio;
	for (u32 i = MAX_STAYS; i > 0; i--)
		if (i <= found)
			send_stay(i - 1);
	r->prev = chain->left;
	r->prev_prio = chain->left_prio;
	r->head.tid = came_tid;
	r->head.at = at;
	r->next_prio = came_prio;
	if (proved && fits && !found) {
		r->exec = own->exec + charged;
		/* Only shortly after the switch: later it may have been woken. */
		if (!own->left && now - at < SLACK_NS)
			r->code = state_code(0, state, exit_state);
	}
	own->inferred_switches += found + 1;
	own->prev_unknown += !proved;
	if (QUEUE_TIME(prev) && r->code && r->code < 9 && !exit_state)
		note_hidden_wait(own->task, pid, at);
	struct seen *s = seen_of(came_tid);
	note_wait_end(s, task, came_tid, at);
	if (s && s->cpu != this_cpu()) {
		note_hidden_leave(s->cpu, task, came_exec);
		s->cpu = this_cpu();
	}
	note_switch_in(own, task, came_tid, came_exec, at, lag, switches);
	send_switch(r);
	return 0;
}

/* Compares the current task with the one that was switched in last: any event on a CPU shows the current task. `leaving`: 1 if the
 * switch away from it is already counted. */
INLINE void check_current(struct block *own, struct task_struct *p, u32 leaving)
{
	if (unlikely(own->task != (u64)p) && own->in) {
		own->came = (u64)p;
		struct readings r = readings_of(p);
		infer_switch(ktime(), r.lag, r.switches ? r.switches - leaving : 0);
	}
}

/* Runs first at each switch. */
INLINE void infer_at_switch(struct task_struct *prev, struct task_struct *next)
{
	u32 cpu = this_cpu();
	struct block *own = base_block(cpu);
	if (!own)
		return;
	check_current(own, prev, 1);
	if (unlikely(own->process && next->tgid == own->process)) {
		own->came = (u64)next;
		note_charges(cpu);
	}
	u32 tid = next->pid;
	struct seen *s = seen_of(tid);
	if (QUEUE_TIME(next) && tid && s && s->cpu != cpu)
		note_hidden_leave(s->cpu, (u64)next, next->se.sum_exec_runtime);
}

/* Runs at other events of the current task. */
INLINE void infer_now(void)
{
	struct block *own = base_block(this_cpu());
	if (own)
		check_current(own, current_task(), 0);
}

/* Run by the recorder on each CPU. */
SEC("raw_tp")
int infer_current(void *ctx)
{
	infer_now();
	return 0;
}

#endif
