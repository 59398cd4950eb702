/* Log-linear histograms, as src/histogram.rs documents them. Part of watch.bpf.c. */
#ifndef COREWISE_HISTOGRAM_H
#define COREWISE_HISTOGRAM_H

#define FIRST_POWER 10
#define LAST_POWER 34
#define MAX_DURATION (1ull << 45)

INLINE u32 bucket_of(u64 ns)
{
	if (ns > MAX_DURATION)
		ns = MAX_DURATION;
	/* In units of 2^-30 s. A bucket includes its upper bound. */
	u64 below = ns + (ns * 309296 >> 22);
	if (below)
		below--;
	if (!(below >> FIRST_POWER))
		return 0;
	if (below >> LAST_POWER)
		return BUCKETS - 1;
	u32 power = 0;
	u64 rest = below;
	for (u32 step = 32; step; step >>= 1) {
		if (rest >> step) {
			rest >>= step;
			power += step;
		}
	}
	return 1 + (power - FIRST_POWER) * 4 + (below >> (power - 2) & 3);
}

INLINE void count(u32 *counts, u64 ns)
{
	u32 bucket = bucket_of(ns);
	if (bucket < BUCKETS)
		counts[bucket]++;
}

#endif
