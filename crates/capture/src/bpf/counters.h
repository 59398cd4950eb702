/* What the events of a CPU counted while each thread ran there (--counters): read at every switch, and from time to time while a thread
 * runs long. Part of record.bpf.c.
 *
 *      switch      A runs          switch   B runs ...
 *   ────┼────────────────┼───────────┼────────┼──────
 *      read             read        read     read        each difference is booked to the thread that ran until then
 *
 * If the switches of a CPU that the kernel counts are more than those seen here, several threads ran since the last reading: what was
 * counted is then booked to none of them. */
#ifndef COREWISE_COUNTERS_H
#define COREWISE_COUNTERS_H

/* How many events each CPU has, at most; a multiple of COUNTS. */
#define MAX_COUNTERS 32

/* How many there are. If 0, the verifier removes the code that reads them. */
const volatile u32 counters SEC(".rodata.counters") = 0;

/* The UAPI's struct bpf_perf_event_value; times in ns. */
struct event_value {
	u64 count, enabled, running;
};

/* A CPU's readings. */
struct readings_taken {
	u64 at; /* 0: none yet */
	u64 task; /* the task that has run since */
	u64 switches; /* the number of switches on this CPU by then; 0: not known */
	u32 tid;
	u32 pad;
	struct event_value last[MAX_COUNTERS]; /* `enabled` 0: not counted */
	/* What was counted since the reading before, of COUNTS events. */
	u64 counts[COUNTS];
	u64 ran[COUNTS];
};

/* As many as CPUs. */
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct readings_taken);
} readings_taken SEC(".maps");

/* MAX_COUNTERS for each CPU, by CPU. */
struct {
	UINT(type, MAP_PERF_EVENT_ARRAY);
	UINT(max_entries, MAX_COUNTERS);
	TYPE(key, u32);
	TYPE(value, u32);
} counter_events SEC(".maps");

/* Whether an event was enabled all the time: it was not if its CPU was offline, or it was opened since. The two times are of different
 * clocks, and the scheduler's is imprecise on some machines. */
INLINE bool was_enabled(u64 length, u64 enabled)
{
	return enabled + ENABLED_SLACK_NS >= length / 2 && enabled <= 2 * length + ENABLED_SLACK_NS;
}

/* Reads COUNTS events from `base` on, and writes what they counted in `length` ns if it is not 0. `tid`: the thread that ran. */
NOINLINE int read_counters(u32 base, u64 now, u64 length, u32 tid)
{
	u32 cpu = this_cpu();
	struct readings_taken *taken = map_lookup(&readings_taken, &cpu);
	if (!taken || base > MAX_COUNTERS - COUNTS)
		return 0;
	u32 counted = 0, shared = 0, many = 0;
	for (u32 n = 0; n < COUNTS; n++) {
		if (base + n >= counters)
			break;
		many++;
		taken->counts[n] = 0;
		taken->ran[n] = 0;
		struct event_value value = {};
		struct event_value *last = &taken->last[base + n];
		if (event_read(&counter_events, cpu * MAX_COUNTERS + base + n, &value, sizeof(value))) {
			last->enabled = 0;
			continue;
		}
		u64 enabled = value.enabled - last->enabled, ran = value.running - last->running;
		if (last->enabled && was_enabled(length, enabled)) {
			counted |= 1u << n;
			taken->counts[n] = value.count - last->count;
			taken->ran[n] = ran;
			shared |= ran != enabled;
		}
		*last = value;
	}
	if (!counted || !length)
		return 0;
	struct block *b = claim(cpu);
	if (!b)
		return 0;
	u32 *at = room_for(b, now, word(COUNTED, base, counted | (shared ? COUNTS_SHARED : 0) | many << COUNTS_MANY), COUNTED_MAX);
	at[2] = tid;
	at[3] = 0;
	u64 *to = (u64 *)(at + 4);
	*to++ = length;
	for (u32 n = 0; n < COUNTS; n++) {
		if (base + n >= counters)
			break;
		*to++ = taken->counts[n];
	}
	if (shared) {
		for (u32 n = 0; n < COUNTS; n++) {
			if (base + n >= counters)
				break;
			*to++ = taken->ran[n];
		}
	}
	release(b, 24 + (shared ? 16 : 8) * many);
	return 0;
}

/* Books what was counted since the last reading to the task that ran until `now`; `next` runs from here on: another one, at a switch.
 * `switches`: the number of switches on this CPU. At a switch, `now` is that of its record, so that the lengths of readings are those of
 * the stretches. */
NOINLINE int count_until(u64 task, u64 next, u32 next_tid, u64 switches, u64 now)
{
	u32 cpu = this_cpu();
	struct readings_taken *taken = map_lookup(&readings_taken, &cpu);
	if (!taken)
		return 0;
	u64 since = task != next;
	u64 length = taken->at ? now - taken->at : 0;
	bool known = taken->task == task && (!switches || !taken->switches || taken->switches + since == switches);
	u32 tid = known ? taken->tid : -1;
	taken->at = now;
	taken->task = next;
	taken->tid = next_tid;
	taken->switches = switches;
	read_counters(0, now, length, tid);
	if (counters > COUNTS)
		read_counters(COUNTS, now, length, tid);
	if (counters > 2 * COUNTS)
		read_counters(2 * COUNTS, now, length, tid);
	if (counters > 3 * COUNTS)
		read_counters(3 * COUNTS, now, length, tid);
	return 0;
}

/* Reads the counters of this CPU while its current task goes on. Run by the recorder on each CPU. */
SEC("raw_tp")
int count_current(void *ctx)
{
	struct task_struct *p = current_task();
	struct readings r = readings_of(p);
	return count_until((u64)p, (u64)p, p->pid, r.switches, ktime());
}

#endif
