/* Calls of marked functions and USDT probes (--mark): uprobes, attached one by one, each with the mark's number as its cookie.
 * Part of record.bpf.c.
 *
 * With --counters, each call also reads the events of its CPU:
 *
 *      switch           call     return          switch
 *   ─────┼────────────────┼─────────┼───────────────┼────
 *        0               +a        +b              +c       counted since the first switch
 *
 * The last switch books c to the thread, as without marks; a and b show which part of it belongs to the call. So these programs only
 * read the CPU's `readings_taken` and never change it, and nothing that they do can spoil what is booked.
 *
 * They may be preempted, but not moved to another CPU while they run. A reading in between is complete before they go on: those who
 * write the state run with preemption disabled, and none of them interrupts another. So it is enough to compare the time of the last
 * reading before and after: if it is the same, no switch came in between, and all values belong to the same interval. */
#ifndef COREWISE_MARKS_H
#define COREWISE_MARKS_H

/* Sends what COUNTS events from `base` on counted between the last reading and `now`. Returns 0 if the interval is not that of the
 * current thread alone, or ended meanwhile. */
NOINLINE int send_counts(u32 base, u64 now)
{
	u32 cpu = this_cpu();
	struct task_struct *p = current_task();
	struct readings_taken *taken = map_lookup(&readings_taken, &cpu);
	if (!taken || base > MAX_COUNTERS - COUNTS)
		return 0;
	struct rare_counts r = {};
	u64 since = taken->at;
	BARRIER();
	u64 switches = readings_of(p).switches;
	/* The kernel counted a switch that was not delivered: several threads ran. */
	bool hidden = switches && taken->switches && switches != taken->switches;
	if (!since || since > now || taken->task != (u64)p || hidden)
		return 0;
	u32 shared = 0;
	r.length = now - since;
	for (u32 n = 0; n < COUNTS; n++) {
		if (base + n >= counters)
			break;
		struct event_value value = {};
		struct event_value *last = &taken->last[base + n];
		if (event_read(&counter_events, cpu * MAX_COUNTERS + base + n, &value, sizeof(value)))
			continue;
		u64 enabled = value.enabled - last->enabled;
		if (!last->enabled || !was_enabled(r.length, enabled))
			continue;
		r.bits |= 1u << n;
		r.counts[n] = value.count - last->count;
		r.ran[n] = value.running - last->running;
		shared |= r.ran[n] != enabled;
	}
	BARRIER();
	if (taken->at != since)
		return 0;
	r.head.kind = KIND_RARE;
	r.head.type = COUNTED_AT_MARK;
	r.head.cpu = cpu;
	r.head.tid = p->pid;
	r.head.at = now;
	r.base = base;
	r.bits |= COUNTS << COUNTS_MANY;
	if (!shared) {
		send(&r, sizeof(r) - sizeof(r.ran));
		return 1;
	}
	r.bits |= COUNTS_SHARED;
	send(&r, sizeof(r));
	return 1;
}

INLINE int on_call(void *ctx, u32 type)
{
	struct task_struct *p = current_task();
	struct rare_call r = {};
	BEGIN(r, type, p);
	if (counters) {
		/* Once more if a switch came in between. */
		if (!send_counts(0, r.head.at)) {
			r.head.at = ktime();
			send_counts(0, r.head.at);
		}
		if (counters > COUNTS)
			send_counts(COUNTS, r.head.at);
		if (counters > 2 * COUNTS)
			send_counts(2 * COUNTS, r.head.at);
		if (counters > 3 * COUNTS)
			send_counts(3 * COUNTS, r.head.at);
	}
	r.pid = p->tgid;
	r.mark = attach_cookie(ctx);
	return send(&r, sizeof(r));
}

SEC("uprobe")
int mark_entered(void *ctx)
{
	return on_call(ctx, ENTERED);
}

SEC("uretprobe")
int mark_returned(void *ctx)
{
	return on_call(ctx, RETURNED);
}

#endif
