/* Where the current thread is, each time that the clock of a CPU interrupts it (--sample). Samples of one loop differ in their innermost
 * address, so their callchains would soon fill the maps of stacks.h: the addresses themselves are sent. Part of record.bpf.c. */
#ifndef COREWISE_PROFILE_H
#define COREWISE_PROFILE_H

#define CPU_SAMPLE 28

/* The lengths of the callchains are in bytes; negative: an error, there is none. `ended`: how that of the program ended (unwind.h), 0 if it is
 * the kernel's. */
struct rare_sample {
	struct rare head;
	u32 pid, ended;
	s32 kernel_bytes, user_bytes;
	u64 kernel[KERNEL_DEPTH];
	u64 user[USER_DEPTH];
};

/* A record of each CPU: it is too large for the stack. */
struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct rare_sample);
} sample_record SEC(".maps");

SEC("perf_event")
int cpu_sample(void *ctx)
{
	struct task_struct *task = current_task();
	u32 key = 0;
	struct rare_sample *record = map_lookup(&sample_record, &key);
	if (!record || !task->pid)
		return 0;
	BEGIN((*record), CPU_SAMPLE, task);
	record->pid = task->tgid;
	record->kernel_bytes = get_stack(ctx, record->kernel, sizeof(record->kernel), 0);
	struct walk *w = unwinds ? walk_of(task, AT_SAMPLE) : 0;
	record->ended = 0;
	if (!w) {
		record->user_bytes = get_stack(ctx, record->user, sizeof(record->user), F_USER_STACK);
		return send(record, sizeof(*record));
	}
	u32 bytes = (w->depth & (2 * WALK_DEPTH - 1)) * 8;
	OPAQUE(bytes);
	if (bytes > sizeof(record->user))
		return 0;
	record->ended = w->ended;
	record->user_bytes = bytes;
	probe_read(record->user, bytes, w->at);
	return send(record, sizeof(*record));
}

#endif
