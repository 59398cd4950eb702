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
INLINE void note_mask(struct task_struct *p, u64 now)
{
	struct seen *s = look_at_masks ? seen_of(p->pid) : 0;
	if (!s)
		return;
	s->of = p->pid;
	s->mask = mask_sum(p);
	s->looked = now;
}

NOINLINE int tell_mask(struct task_struct *p, u64 now, u64 since)
{
	struct rare_mask_seen r = {};
	BEGIN(r, MASK_SEEN, p);
	r.head.at = now;
	r.since = since;
	read_mask(p, &r.words, r.mask);
	return send(&r, sizeof(r));
}

/* `idle`: it has neither run nor been ready since it was looked at last. */
INLINE void look_at_mask(struct task_struct *p, u64 now, bool idle)
{
	u32 tid = p->pid;
	struct seen *s = look_at_masks && tid ? seen_of(tid) : 0;
	if (!s)
		return;
	if (unlikely(s->of == tid && s->mask != mask_sum(p)))
		tell_mask(p, now, idle ? 0 : s->looked);
	note_mask(p, now);
}

#endif
