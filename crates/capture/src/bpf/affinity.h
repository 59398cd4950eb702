/* Thread affinity. Part of record.bpf.c.
 *
 * The kernel has no tracepoint for it. If programs may attach to functions, one reports each change (rare.h). Otherwise a thread's
 * mask is compared at its events: when it is switched out, switched in, woken, or forks. A change is recorded when it is
 * seen, with the time when the mask before it was last seen. */
#ifndef COREWISE_AFFINITY_H
#define COREWISE_AFFINITY_H

/* Set before loading. */
const volatile u32 compare_masks SEC(".rodata.masks") = 0;

/* Reads a thread's affinity, not where it is temporarily pinned (`cpus_ptr`, while its migration is disabled). */
INLINE void read_mask(struct task_struct *p, u32 *words, u64 *mask)
{
	u32 n = mask_words;
	if (n > MASK_WORDS)
		n = MASK_WORDS;
	*words = n;
	probe_read(mask, n * 8, &p->cpus_mask);
}

INLINE u64 sum_of(u64 *mask)
{
	u64 sum = 0;
	for (int at = 0; at < MASK_WORDS; at++)
		sum = (sum << 7 | sum >> 57) ^ mask[at];
	return sum;
}

/* A large mask's checksum. Not inline: its stack counts for every caller. */
NOINLINE u64 large_mask_sum(struct task_struct *p)
{
	if (!p)
		return 0;
	u64 mask[MASK_WORDS] = {};
	u32 words = 0;
	read_mask(p, &words, mask);
	return sum_of(mask);
}

/* A mask's checksum. */
INLINE u64 mask_sum(struct task_struct *p)
{
	return mask_words == 1 ? p->cpus_mask.bits[0] : large_mask_sum(p);
}

/* Notes a thread's mask; a different one is recorded from here on. */
INLINE void note_mask(struct task_struct *p)
{
	struct seen *s = compare_masks ? seen_of(p->pid) : 0;
	if (!s)
		return;
	s->of = p->pid;
	s->mask = mask_sum(p);
}

/* What a thread did since its mask was last compared. */
enum activity {
	RAN,
	WAITED, /* for a CPU */
	SLEPT, /* its affinity did not matter */
};

/* Whether it is queued or running. A thread whose dequeue was delayed is not. */
INLINE bool is_queued(struct task_struct *p)
{
	u8 delayed = 0;
	int on_rq = 0, on_cpu = 0;
	if (FIELD_EXISTS(p->se.sched_delayed) && (READ(delayed, p->se.sched_delayed) || delayed))
		return 0;
	READ(on_rq, p->on_rq);
	READ(on_cpu, p->on_cpu);
	return on_rq || on_cpu;
}

/* Handles the mask of `own->compared`: it differs from the noted one, or was not noted yet. `since`: an `enum activity`. */
GLOBAL int send_changed_mask(u64 now, u32 since)
{
	struct block *own = base_block(this_cpu());
	struct task_struct *p = own ? (void *)own->compared : 0;
	struct rare_mask_changed r = {};
	u32 tid = 0;
	if (!own || READ(tid, p->pid))
		return 0;
	struct seen *s = seen_of(tid);
	if (!s)
		return 0;
	read_mask(p, &r.words, r.mask);
	bool noted = s->of == tid;
	s->of = tid;
	s->mask = mask_words == 1 ? r.mask[0] : sum_of(r.mask);
	if (!noted)
		return 0;
	BEGIN_FOR(r, MASK_CHANGED, tid);
	r.head.at = now;
	/* If nothing else is known, the recorder uses the time of its last snapshot. */
	r.since = 1;
	u64 queued = 0;
	if (since == SLEPT && !is_queued(p))
		r.since = 0;
	else if (since == RAN && own->tid == tid && own->in)
		r.since = own->in;
	else if (since == WAITED && QUEUE_TIME(p) && !READ(queued, p->sched_info.last_queued) && queued)
		r.since = queued + own->skew;
	return send(&r, sizeof(r));
}

INLINE void compare_mask(struct task_struct *p, u64 now, enum activity since)
{
	if (!compare_masks)
		return;
	u32 tid = p->pid;
	struct seen *s = seen_of(tid);
	if (!tid || !s || likely(s->of == tid && s->mask == mask_sum(p)))
		return;
	struct block *own = base_block(this_cpu());
	if (own) {
		own->compared = (u64)p;
		send_changed_mask(now, since);
	}
}

#endif
