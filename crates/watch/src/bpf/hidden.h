/* Switches that the kernel does not pass on. On some virtual machines no event reaches a program while certain (hidden) tasks are current,
 * including their switch-out:
 *
 *      X -> H    passed on
 *      H -> Y    not passed on
 *      Y -> Z    passed on: Y is not the thread that was switched in last
 *
 * The run queue counts its switches. If it had exactly one between, H ran until Y came, at a time that the kernel keeps. Otherwise the time
 * until Y came is unknown. Part of watch.bpf.c. */
#ifndef COREWISE_HIDDEN_H
#define COREWISE_HIDDEN_H

#define HAS_RUN_QUEUE(p) (FIELD_EXISTS((p)->sched_info.last_arrival) && FIELD_EXISTS((p)->se.cfs_rq) && \
			  FIELD_EXISTS(((struct cfs_rq *)0)->rq))

/* Reads the number of switches, and how far our clock is ahead of the run queue's. The kernel reads that clock some hundred ns before
 * a switch, so the least difference counts; it may rise slowly, as the two clocks drift. */
INLINE u64 read_run_queue(struct cpu_sums *c, struct task_struct *p, u64 now)
{
	if (!HAS_RUN_QUEUE(p))
		return 0;
	struct rq *rq = p->se.cfs_rq->rq;
	u64 clock = rq->clock, switches = rq->nr_switches;
	if (!clock)
		return switches;
	u64 seen = now - clock;
	if (!c->skew || (long long)(seen - c->skew) < 0)
		c->skew = seen;
	else
		c->skew += (seen - c->skew) >> 12;
	return switches;
}

/* The number of switches of the run queue of a thread. */
INLINE u64 switches_of(struct task_struct *p)
{
	return set.infers_switches && HAS_RUN_QUEUE(p) ? p->se.cfs_rq->rq->nr_switches : 0;
}

/* `p` runs on this CPU, and its switch-in was not passed on. `hidden`: how many switches were not. */
NOINLINE int came_unseen(struct cpu_sums *c, u32 cpu, struct task_struct *p, u64 now, u64 hidden)
{
	u64 at = now;
	u32 tid = 0;
	if (!c)
		return 0;
	if (set.infers_switches && HAS_RUN_QUEUE(p) && c->skew) {
		at = p->sched_info.last_arrival + c->skew;
		if (at < c->since || at > now)
			at = now;
	}
	bool known = set.infers_switches && at < now && hidden == 1;
	tid = c->tid;
	if (known) {
		c->inferred++;
	} else {
		c->inconsistent += c->runs != RUNS_UNKNOWN;
		begin_change(c);
		account_unknown(c, at);
		end_change(c);
	}
	switch_to(c, cpu, p, at);
	/* Why the hidden task left is not known. */
	if (tid) {
		struct thread *t = claim(c, tid, BLOCKED);
		if (t && t->state == RUNNING)
			t->state = BLOCKED;
	}
	return 0;
}

#endif
