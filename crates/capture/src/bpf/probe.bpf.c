/* Whether this kernel tells of every switch: on some machines nothing that happens while certain tasks are `current` reaches a program,
 * their switch-out included (unseen.h). Loaded for a moment before a recording, while threads sleep on every CPU: then each CPU's
 * idle task comes in and leaves. */
#include "kernel.h"

char _license[] SEC("license") = "Dual MIT/GPL";

/* A CPU's chain of switches; `src/hidden.rs` reads exactly this. */
struct chain {
	u64 task; /* who came in last */
	u32 idled; /* how often that was the idle task */
	u32 hidden; /* switches by another one: what was between was not delivered */
};

/* As many as CPUs. */
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct chain);
} chains SEC(".maps");

SEC("tp_btf/sched_switch")
int follow(u64 *ctx)
{
	u32 cpu = this_cpu();
	struct chain *chain = map_lookup(&chains, &cpu);
	struct task_struct *next = (void *)ctx[2];
	if (!chain)
		return 0;
	if (chain->task && chain->task != ctx[1])
		chain->hidden++;
	chain->task = ctx[2];
	if (!next->pid)
		chain->idled++;
	return 0;
}
