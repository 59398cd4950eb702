/* On which CPUs threads are allowed. Part of record.bpf.c.
 *
 * There is no tracepoint for that. Where programs may attach to functions, one tells each change (rare.h). Elsewhere a thread's
 * mask is looked at wherever the thread is at hand: when it leaves, comes in, is woken or forks. A change is told when it is
 * seen, with when the mask before it was seen last. */
#ifndef COREWISE_AFFINITY_H
#define COREWISE_AFFINITY_H

/* Set before loading. */
const volatile u32 look_at_masks SEC(".rodata.masks") = 0;

/* What a thread may use, not where it is pinned for a moment (`cpus_ptr`, while its migration is disabled). */
INLINE void read_mask(struct task_struct *p, u32 *words, u64 *mask)
{
	u32 n = mask_words;
	if (n > MASK_WORDS)
		n = MASK_WORDS;
	*words = n;
	probe_read(mask, n * 8, &p->cpus_mask);
}

/* A mask in one number. */
INLINE u64 mask_sum(struct task_struct *p)
{
	if (mask_words == 1)
		return p->cpus_mask.bits[0];
	u64 mask[MASK_WORDS] = {}, sum = 0;
	u32 words = 0;
	read_mask(p, &words, mask);
	for (int at = 0; at < MASK_WORDS; at++)
		sum = (sum << 7 | sum >> 57) ^ mask[at];
	return sum;
}

/* What is seen of a mask from here on is told if it is another one. */
INLINE void note_mask(struct task_struct *p)
{
	struct seen *s = look_at_masks ? seen_of(p->pid) : 0;
	if (!s)
		return;
	s->of = p->pid;
	s->mask = mask_sum(p);
}

/* What a thread that is looked at has done since it was last. */
enum look {
	RAN,
	WAITED, /* for a CPU */
	SLEPT, /* where it was allowed did not matter */
};

/* Whether it has a turn: a thread whose leaving was put off has none. */
INLINE bool is_queued(struct task_struct *p)
{
	if (FIELD_EXISTS(p->se.sched_delayed) && p->se.sched_delayed)
		return 0;
	return p->on_rq || p->on_cpu;
}

/* A mask is not the one that was noted, or none was. */
NOINLINE int other_mask(struct task_struct *p, u64 now, enum look since)
{
	u32 tid = p->pid;
	struct seen *s = seen_of(tid);
	struct block *own = lowest(this_cpu());
	if (!s || !own)
		return 0;
	bool noted = s->of == tid;
	note_mask(p);
	if (!noted)
		return 0;
	struct rare_mask_seen r = {};
	BEGIN(r, MASK_SEEN, p);
	r.head.at = now;
	read_mask(p, &r.words, r.mask);
	/* Where nothing else is known, the recorder knows when it looked at all threads. */
	r.since = 1;
	if (since == SLEPT && !is_queued(p))
		r.since = 0;
	else if (since == RAN && own->tid == tid && own->in)
		r.since = own->in;
	else if (since == WAITED && QUEUE_TIME(p) && p->sched_info.last_queued)
		r.since = p->sched_info.last_queued + own->skew;
	return send(&r, sizeof(r));
}

INLINE void look_at_mask(struct task_struct *p, u64 now, enum look since)
{
	if (!look_at_masks)
		return;
	u32 tid = p->pid;
	struct seen *s = seen_of(tid);
	if (tid && s && unlikely(s->of != tid || s->mask != mask_sum(p)))
		other_mask(p, now, since);
}

#endif
