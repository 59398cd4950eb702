/* Cores with more than two hardware threads. Part of watch.bpf.c.
 *
 * What one CPU adds up of its siblings is when at least one of them is busy, which does not follow from the busy time of each. But while a CPU
 * is busy, another one is too exactly when two or more of the core are. So the core has a single running sum, of the time with two or more:
 *
 *      CPU 0   ####....####        sum of the core up to t, with 2 or more:   ..##....##..
 *      CPU 1   ..####....##..      CPU 0, from the begin to the end of a busy stretch: the difference of the sum
 *      CPU 2   ..##................
 */
#ifndef COREWISE_CORES_H
#define COREWISE_CORES_H

/* In `core_word`: how many are busy, in the high bits; the rest is t - the sum if there are two or more, else the sum. */
#define CORE_BUSY 60
#define CORE_TIME ((1ull << CORE_BUSY) - 1)
/* How often a CPU tries to change the word, which others change at the same time. If it does not succeed, its next change does. */
#define CORE_ATTEMPTS 64

INLINE u64 *core_word(struct cpu_sums *c)
{
	struct cpu_sums *first = cpu_at(c->core);
	return first ? &first->core_word : 0;
}

/* How long two or more have been busy. The clocks of two CPUs differ by some ns, so `t` may be a little before the last change. */
INLINE u64 several_busy(u64 word, u64 t)
{
	u64 time = word & CORE_TIME;
	if (word >> CORE_BUSY < 2)
		return time;
	return t > time ? t - time : 0;
}

INLINE u64 core_several_busy(struct cpu_sums *c, u64 t)
{
	u64 *word = core_word(c);
	return word ? several_busy(*(volatile u64 *)word, t) : 0;
}

/* Publishes whether the CPU is busy from `t` on. */
NOINLINE int publish_in_core(struct cpu_sums *c, u64 t)
{
	if (!c)
		return 0;
	u64 *word = core_word(c);
	u32 busy = c->runs >= RUNS_THREAD;
	if (!word || busy == c->in_core)
		return 0;
	for (int i = 0; i < CORE_ATTEMPTS; i++) {
		u64 before = *(volatile u64 *)word, sum = several_busy(before, t);
		u64 many = busy ? (before >> CORE_BUSY) + 1 : (before >> CORE_BUSY) - 1;
		u64 after = many << CORE_BUSY | ((many > 1 ? t - sum : sum) & CORE_TIME);
		if (__sync_val_compare_and_swap(word, before, after) == before) {
			c->in_core = busy;
			return 0;
		}
	}
	return 0;
}

#endif
