/* Tests whether this kernel delivers every switch: on some machines no event that happens while certain tasks are `current` reaches a
 * program, including their switch-out (hidden_switches.h). Loaded briefly before a recording, while threads sleep on every CPU, so that
 * each CPU's idle task is switched in and out. */
#include "kernel.h"

char _license[] SEC("license") = "Dual MIT/GPL";

/* A CPU's chain of switches, as `src/hidden.rs` reads it. */
struct chain {
	u64 task; /* the task that was switched in last */
	u32 idled; /* how often the idle task was switched in */
	u32 hidden; /* switches by another task: the switches between were not delivered */
};

/* One entry for each CPU. */
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
