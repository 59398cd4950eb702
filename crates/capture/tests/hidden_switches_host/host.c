/* The kernel side compiled for the host, with a simulated scheduler: two CPUs and threads, some of them hidden (no program runs
 * while one of them is `current`), drawn from a seed. The inferred switches are checked against the real ones:
 *
 *   - an inferred next thread was switched in on that CPU at about that time;
 *   - an inferred previous thread ran there until then, and its charged CPU time is right;
 *   - each CPU's chain has no gap, except for unknown previous threads.
 *
 * Prints the number of hidden switches, how many of these were inferred, and for how many of those the previous thread is unknown; then
 * how many were made up, how many name a wrong previous thread, and how many have a charge that is off by more than allowed. */
#define map_lookup kernel_map_lookup
#define map_update kernel_map_update
#define map_delete kernel_map_delete
#define ktime kernel_ktime
#define this_cpu kernel_this_cpu
#define get_stackid kernel_get_stackid
#define probe_read kernel_probe_read
#define probe_read_str kernel_probe_read_str
#define seq_write kernel_seq_write
#define ring_output kernel_ring_output
#define current_task kernel_current_task
#define print kernel_print
#define attach_cookie kernel_attach_cookie
#include "../../src/bpf/kernel.h"
#undef map_lookup
#undef map_update
#undef map_delete
#undef ktime
#undef this_cpu
#undef get_stackid
#undef probe_read
#undef probe_read_str
#undef seq_write
#undef ring_output
#undef current_task
#undef print
#undef attach_cookie
/* The simulated kernel has every field; the programs take the offset of one only. */
#undef FIELD_EXISTS
#undef FIELD_OFFSET
#undef TYPE_SIZE
#undef ENUM_EXISTS
#undef ENUM_VALUE
#undef TYPE_ID
#define FIELD_EXISTS(field) 1
#define FIELD_OFFSET(field) __builtin_offsetof(struct task_struct, thread_node)
#define TYPE_SIZE(type) sizeof(type)
#define ENUM_EXISTS(type, name) 0
#define ENUM_VALUE(type, name) 0
#define TYPE_ID(type) 0

static void *map_lookup(void *map, const void *key);
static long ring_output(void *ring, void *data, u64 size, u64 flags);
static u64 now_ns;
static u32 on_cpu;
static struct task_struct *running[2];
static u64 ktime(void) { return now_ns; }
static u32 this_cpu(void) { return on_cpu; }
static struct task_struct *current_task(void) { return running[on_cpu]; }
static long probe_read(void *dst, u32 size, const void *from) { __builtin_memcpy(dst, from, size); return 0; }
static long probe_read_str(void *dst, u32 size, const void *from) { (void)size; (void)from; *(u8 *)dst = 0; return 1; }
static long map_update(void *map, const void *key, const void *value, u64 flags) { return (u64)map + (u64)key + (u64)value + flags == 0; }
static long map_delete(void *map, const void *key) { return (u64)map + (u64)key == 0; }
static long get_stackid(void *ctx, void *map, u64 flags) { return (u64)ctx + (u64)map + flags == 0; }
static long seq_write(struct seq_file *seq, const void *data, u32 len) { return (u64)seq + (u64)data + len == 0; }
static long print(char *out, u32 size, const char *format, const u64 *data, u32 len) { return (u64)out + size + (u64)format + (u64)data + len == 0; }
static u64 attach_cookie(void *ctx) { return (u64)ctx == 0; }

#include "../../src/bpf/record.bpf.c"

int printf(const char *, ...);
unsigned long strtoul(const char *, char **, int);
void abort(void);

#define CPUS 2
/* Threads 1 to HIDDEN belong to the hidden process, the rest to another; both CPUs have an idle task, CPU 1's is hidden. */
#define HIDDEN 3
#define TASKS 9
#define STEPS 4000
/* Our clock is ahead of the run queues' clocks by this; these are read up to JITTER earlier. */
#define AHEAD 5000
#define JITTER 400
/* Maximum error in the time of an inferred switch. */
#define ABOUT 20000

static struct block all_blocks[CPUS * LEVELS];
static struct seen all_seen[THREADS];
static struct pending all_pending[CPUS * PENDING];
static struct chain all_chains[CPUS];
static struct rq queues[CPUS];
static struct cfs_rq fair[CPUS];
static struct task_struct tasks[TASKS], idle[CPUS];
static struct signal_struct processes[3];

/* The real switches, and the inferred previous thread of each: -2 for not inferred. */
static struct event {
	u64 at, exec, came; /* `came`: when `prev` was switched in */
	u32 cpu;
	s32 prev, next, inferred;
	bool delivered;
} happened[STEPS];
static u64 came[CPUS];
static u32 events, made_up, mistaken, overcharged, open;

static void *map_lookup(void *map, const void *key)
{
	u32 at = *(const u32 *)key;
	if (map == &blocks)
		return at < CPUS * LEVELS ? &all_blocks[at] : 0;
	if (map == &seen)
		return at < THREADS ? &all_seen[at] : 0;
	if (map == &pending)
		return at < CPUS * PENDING ? &all_pending[at] : 0;
	if (map == &chains)
		return at < CPUS ? &all_chains[at] : 0;
	return 0;
}

static u64 apart(u64 a, u64 b) { return a > b ? a - b : b - a; }

/* Matches an inferred switch with the hidden switch to its next thread that is closest in time and not matched yet. */
static void check_inferred(struct rare_inferred_switch *r)
{
	struct event *best = 0;
	for (u32 i = 0; i < events; i++) {
		struct event *e = &happened[i];
		if (e->delivered || e->inferred != -2 || e->cpu != r->head.cpu || e->next != (s32)r->head.tid)
			continue;
		if (!best || apart(e->at, r->head.at) < apart(best->at, r->head.at))
			best = e;
	}
	if (!best || apart(best->at, r->head.at) > ABOUT) {
		printf("cpu %u: made up: no switch to %u at %llu\n", r->head.cpu, r->head.tid, r->head.at);
		made_up++;
		return;
	}
	best->inferred = (s32)r->prev;
	if (best->inferred == -1)
		open++;
	else if (best->inferred != best->prev) {
		printf("cpu %u: %d left for %u at %llu, inferred is %d\n", best->cpu, best->prev, r->head.tid, best->at, best->inferred);
		mistaken++;
	} else if (r->exec != ~0ull && best->prev) {
		/* It may have run again since for so short a time that explains() accepts it. */
		u64 ran = best->at - best->came, slack = ran / 50 > SLACK_NS ? ran / 50 : SLACK_NS;
		if (apart(r->exec, best->exec) <= 5 * slack + ABOUT)
			return;
		printf("cpu %u: %d was charged %llu in %llu, inferred is %llu\n", best->cpu, best->prev, best->exec, ran, r->exec);
		overcharged++;
	}
}

static long ring_output(void *ring, void *data, u64 size, u64 flags)
{
	struct rare *head = data;
	(void)ring, (void)size, (void)flags;
	if (head->kind == KIND_RARE && head->type == INFERRED_SWITCH)
		check_inferred(data);
	return 0;
}

static u64 dice;
static u32 below(u32 n)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(dice >> 33) % n;
}

static bool is_hidden(struct task_struct *p)
{
	return p == &idle[1] || (p >= tasks && p < tasks + HIDDEN);
}

static void read_queue(u32 cpu)
{
	queues[cpu].clock = now_ns - AHEAD - below(JITTER);
	queues[cpu].clock_task = queues[cpu].clock;
}

static void charge(struct task_struct *p, u32 cpu)
{
	u64 clock = queues[cpu].clock_task;
	if (p->pid && clock > p->se.exec_start) {
		p->se.sum_exec_runtime += clock - p->se.exec_start;
		p->se.exec_start = clock;
	}
}

static void switch_to(u32 cpu, struct task_struct *next, bool wait_state)
{
	struct task_struct *prev = running[cpu];
	u64 clock;
	on_cpu = cpu;
	read_queue(cpu);
	clock = queues[cpu].clock;
	charge(prev, cpu);
	prev->__state = wait_state ? 1 : 0;
	next->se.exec_start = queues[cpu].clock_task;
	next->thread_info.cpu = cpu;
	next->se.cfs_rq = &fair[cpu];
	queues[cpu].nr_switches++;
	happened[events++] = (struct event){ now_ns, prev->se.sum_exec_runtime, came[cpu], cpu, prev->pid, next->pid, -2, !is_hidden(prev) };
	if (!is_hidden(prev)) {
		u64 ctx[4] = { 0, (u64)prev, (u64)next, prev->__state };
		infer_at_switch(prev, next);
		sched_switch(ctx);
	}
	prev->on_cpu = 0;
	next->on_cpu = 1;
	next->__state = 0;
	if (prev->pid)
		prev->sched_info.last_queued = wait_state ? 0 : clock;
	if (next->pid) {
		if (next->sched_info.last_queued)
			next->sched_info.run_delay += clock - next->sched_info.last_queued;
		next->sched_info.last_queued = 0;
		next->sched_info.last_arrival = clock;
		next->sched_info.pcount++;
	}
	running[cpu] = next;
	came[cpu] = now_ns;
	if (!next->pid && !is_hidden(next)) {
		now_ns += 1500; /* on its way to sleep */
		infer_now();
	}
}

int main(int words, char **word)
{
	u32 hidden = 0, inferred = 0;
	dice = words > 1 ? strtoul(word[1], 0, 10) * 2654435761u + 1 : 1;
	for (u32 i = 0; i < TASKS + CPUS; i++) {
		struct task_struct *p = i < TASKS ? &tasks[i] : &idle[i - TASKS];
		u32 process = i < HIDDEN ? 1 : i < TASKS ? 2 : 0;
		struct signal_struct *s = &processes[process];
		p->pid = i < TASKS ? (int)(100 * process + i) : 0;
		p->tgid = 100 * process;
		p->prio = p->static_prio = 120;
		p->signal = s;
		p->group_leader = p;
		p->se.cfs_rq = &fair[i < TASKS ? 0 : i - TASKS];
		p->thread_info.cpu = i < TASKS ? 0 : i - TASKS;
		/* A ring, whose head is the process's. */
		p->thread_node.next = s->thread_head.next ? s->thread_head.next : &s->thread_head;
		s->thread_head.next = &p->thread_node;
	}
	now_ns = 1000000000;
	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		fair[cpu].rq = &queues[cpu];
		running[cpu] = &idle[cpu];
	}
	while (events < STEPS) {
		u32 cpu = below(CPUS);
		struct task_struct *next = below(4) ? &tasks[below(TASKS)] : &idle[cpu];
		now_ns += 30000 + below(below(8) ? 200000 : 5000000);
		if (next->on_cpu)
			continue;
		if (next->pid && !next->sched_info.last_queued) {
			/* The current thread of the CPU wakes it, some time before. */
			on_cpu = cpu;
			read_queue(cpu);
			if (!is_hidden(running[cpu])) {
				u64 ctx[1] = { (u64)next };
				sched_waking(ctx);
			}
			next->sched_info.last_queued = queues[cpu].clock;
			now_ns += 2000 + below(30000);
		}
		switch_to(cpu, next, running[cpu]->pid && below(2));
	}
	for (u32 i = 0; i < events; i++) {
		hidden += !happened[i].delivered;
		inferred += !happened[i].delivered && happened[i].inferred != -2;
	}
	printf("%u %u %u %u %u %u\n", hidden, inferred, open, made_up, mistaken, overcharged);
	return 0;
}
