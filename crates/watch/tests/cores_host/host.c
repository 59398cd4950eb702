/* The kernel side compiled for the host, with a simulated scheduler: the hardware threads of one core, whose busy and idle stretches are drawn
 * from a seed, as events at known times. The sums are compared with those of the drawn stretches, to the nanosecond.
 *
 *   host SEED CPUS HOW     CPUS: hardware threads that exist; HOW: 0: each is the only sibling of another one (of two CPUs), 1: a core of
 *                          several, of which the others do not exist
 *
 * Prints for each CPU its busy time and the part with a busy sibling, and then the time with two or more busy, by the sums and as drawn. */
#define map_lookup kernel_map_lookup
#define map_update kernel_map_update
#define map_push kernel_map_push
#define map_pop kernel_map_pop
#define ktime kernel_ktime
#define this_cpu kernel_this_cpu
#define probe_read kernel_probe_read
#define probe_read_str kernel_probe_read_str
#define current_task kernel_current_task
#include "../../../capture/src/bpf/kernel.h"
#undef map_lookup
#undef map_update
#undef map_push
#undef map_pop
#undef ktime
#undef this_cpu
#undef probe_read
#undef probe_read_str
#undef current_task
/* The simulated kernel has every field. */
#undef FIELD_EXISTS
#undef ENUM_EXISTS
#undef ENUM_VALUE
#define FIELD_EXISTS(field) 1
#define ENUM_EXISTS(type, name) 0
#define ENUM_VALUE(type, name) 0

#define CPUS 4

static u64 now_ns;
static u32 on_cpu;
static struct task_struct *running[CPUS];
static void *map_lookup(void *map, const void *key);
static u64 ktime(void) { return now_ns; }
static u32 this_cpu(void) { return on_cpu; }
static struct task_struct *current_task(void) { return running[on_cpu]; }
static long map_update(void *map, const void *key, const void *value, u64 flags) { return (u64)map + (u64)key + (u64)value + flags == 0; }
static long map_push(void *map, const void *value, u64 flags) { return (u64)map + (u64)value + flags == 0; }
static long map_pop(void *map, void *value) { return (u64)map + (u64)value != 0; }
static long probe_read(void *dst, u32 size, const void *from) { __builtin_memcpy(dst, from, size); return 0; }
static long probe_read_str(void *dst, u32 size, const void *from) { (void)size; (void)from; *(u8 *)dst = 0; return 1; }

#include "../../src/bpf/watch.bpf.c"

int printf(const char *, ...);
unsigned long strtoul(const char *, char **, int);

#define SLOTS 2
#define STEPS 20000

static struct cpu_sums all_cpus[CPUS];
static struct group_sums all_groups[CPUS * SLOTS];
static struct thread all_threads[2];
static struct task_struct idle_tasks[CPUS], tasks[CPUS][2];

static void *map_lookup(void *map, const void *key)
{
	u32 at = *(const u32 *)key;
	if (map == &cpus)
		return at < CPUS ? &all_cpus[at] : 0;
	if (map == &groups)
		return at < CPUS * SLOTS ? &all_groups[at] : 0;
	if (map == &threads)
		return at < 2 ? &all_threads[at] : 0;
	return 0;
}

static u64 dice;
static u32 below(u32 n)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(dice >> 33) % n;
}

/* As drawn. */
static u64 busy[CPUS], with_sibling[CPUS], several;

/* The CPUs stay as they are for a while. */
static void pass(u32 count, u64 ns)
{
	u32 many = 0;
	for (u32 cpu = 0; cpu < count; cpu++)
		many += running[cpu]->pid != 0;
	for (u32 cpu = 0; cpu < count; cpu++) {
		if (running[cpu]->pid) {
			busy[cpu] += ns;
			with_sibling[cpu] += many > 1 ? ns : 0;
		}
	}
	several += many > 1 ? ns : 0;
	now_ns += ns;
}

static void settle_on(u32 cpu)
{
	on_cpu = cpu;
	settle(0);
}

int main(int words, char **word)
{
	u32 count = words > 2 ? strtoul(word[2], 0, 10) : 2;
	bool is_several = words > 3 && word[3][0] == '1';
	dice = words > 1 ? strtoul(word[1], 0, 10) * 2654435761u + 1 : 1;
	if (count < 2 || count > CPUS || (!is_several && count != 2))
		return 2;
	now_ns = 1000000000;
	for (u32 cpu = 0; cpu < count; cpu++) {
		all_cpus[cpu].next_sibling = is_several ? SEVERAL_SIBLINGS : 1 - (s32)cpu;
		for (u32 i = 0; i < 2; i++) {
			tasks[cpu][i].pid = 100 + 2 * cpu + i;
			tasks[cpu][i].flags = i ? KERNEL_THREAD : 0;
			tasks[cpu][i].thread_info.cpu = cpu;
		}
		idle_tasks[cpu].thread_info.cpu = cpu;
		running[cpu] = below(2) ? &tasks[cpu][0] : &idle_tasks[cpu];
		settle_on(cpu);
	}
	for (u32 step = 0; step < STEPS; step++) {
		u32 cpu = below(count);
		struct task_struct *prev = running[cpu];
		struct task_struct *next = below(3) ? &tasks[cpu][below(2)] : &idle_tasks[cpu];
		/* Several events at one time too. */
		pass(count, below(4) ? below(below(8) ? 100000 : 5000000) : 0);
		on_cpu = cpu;
		if (next == prev || !below(10)) {
			settle(0);
			continue;
		}
		u64 ctx[4] = { below(2), (u64)prev, (u64)next, below(2) };
		running[cpu] = next;
		sched_switch(ctx);
	}
	for (u32 cpu = 0; cpu < count; cpu++)
		settle_on(cpu);
	for (u32 cpu = 0; cpu < count; cpu++) {
		struct cpu_sums *c = &all_cpus[cpu];
		printf("%llu %llu %llu %llu\n", c->busy, busy[cpu], c->with_sibling, with_sibling[cpu]);
		if (c->busy + c->idle + c->unknown != c->since - c->started || c->unknown)
			return 1;
	}
	/* Of a core of two, each of two busy CPUs sees the other one. */
	printf("%llu %llu\n", is_several ? several_busy(all_cpus[0].core_word, now_ns) : all_cpus[0].with_sibling, several);
	return 0;
}
