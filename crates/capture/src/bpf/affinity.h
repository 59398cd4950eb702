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

/* A large mask's checksum. Not inline: its stack counts for every caller. */
NOINLINE u64 large_mask_sum(struct task_struct *p)
{
	if (!p)
		return 0;
	u64 mask[MASK_WORDS] = {}, sum = 0;
	u32 words = 0;
	read_mask(p, &words, mask);
	for (int at = 0; at < MASK_WORDS; at++)
		sum = (sum << 7 | sum >> 57) ^ mask[at];
	return sum;
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
	if (FIELD_EXISTS(p->se.sched_delayed) && p->se.sched_delayed)
		return 0;
	return p->on_rq || p->on_cpu;
}

/* Handles a mask that differs from the noted one, or that was not noted yet. */
NOINLINE int send_changed_mask(struct task_struct *p, u64 now, enum activity since)
{
	u32 tid = p->pid;
	struct seen *s = seen_of(tid);
	struct block *own = base_block(this_cpu());
	if (!s || !own)
		return 0;
	bool noted = s->of == tid;
	note_mask(p);
	if (!noted)
		return 0;
	struct rare_mask_changed r = {};
	BEGIN(r, MASK_CHANGED, p);
	r.head.at = now;
	read_mask(p, &r.words, r.mask);
	/* If nothing else is known, the recorder uses the time of its last snapshot. */
	r.since = 1;
	if (since == SLEPT && !is_queued(p))
		r.since = 0;
	else if (since == RAN && own->tid == tid && own->in)
		r.since = own->in;
	else if (since == WAITED && QUEUE_TIME(p) && p->sched_info.last_queued)
		r.since = p->sched_info.last_queued + own->skew;
	return send(&r, sizeof(r));
}

INLINE void compare_mask(struct task_struct *p, u64 now, enum activity since)
{
	if (!compare_masks)
		return;
	u32 tid = p->pid;
	struct seen *s = seen_of(tid);
	if (tid && s && unlikely(s->of != tid || s->mask != mask_sum(p)))
		send_changed_mask(p, now, since);
}

#endif
