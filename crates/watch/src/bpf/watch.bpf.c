/* Adds up what a machine does: by CPU and by group of threads. No event leaves the kernel.
 *
 * Every sum belongs to one CPU, whose own switches change it. What needs a view of two CPUs is the difference of running sums:
 *
 *      waking          now                the queue's CPU, all the time
 *      |  ready        |                  A A A k k . . A A B B
 *      a               b                  sums of kernel, idle, group of the waiting thread at a, and at b
 *
 * So a wait is divided exactly, without looking at it again before it ends, and so is the running time with a busy sibling. */
#include "kernel.h"
#include "sums.h"

char _license[] SEC("license") = "Dual MIT/GPL";

#define NOT_GROUPED 0
#define BY_CGROUP 1
#define BY_CPU_CGROUP 2
#define BY_PROCESS 3

/* Set before loading, in this order (src/memory.rs). */
const volatile struct {
	u32 slots; /* groups with sums of their own, and slot 0 for all others */
	u32 group_by;
	u32 chosen_only; /* groups are only those that are in `slot_of_key` */
	u32 weak_order; /* the processor may reorder loads, and stores */
	u32 thread_mask;
	u32 infers_switches; /* the kernel may hide switches (hidden.h) */
} set SEC(".rodata") = { .slots = 2, .thread_mask = 1 };

struct {
	UINT(type, MAP_ARRAY);
	UINT(map_flags, F_MMAPABLE);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct cpu_sums);
} cpus SEC(".maps");

/* Entry `cpu * slots + slot`. */
struct {
	UINT(type, MAP_ARRAY);
	UINT(map_flags, F_MMAPABLE);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct group_sums);
} groups SEC(".maps");

struct {
	UINT(type, MAP_ARRAY);
	UINT(map_flags, F_MMAPABLE);
	UINT(max_entries, IDLE_STATES);
	TYPE(key, u32);
	TYPE(value, struct idle_sums);
} idle SEC(".maps");

/* A cgroup's ID, or the name of a process. */
struct group_key {
	u64 word[2];
};

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1);
	TYPE(key, struct group_key);
	TYPE(value, u32);
} slot_of_key SEC(".maps");

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct cgroup_name);
} names SEC(".maps");

/* Slots that no group has. */
struct {
	UINT(type, MAP_QUEUE);
	UINT(max_entries, 1);
	TYPE(value, u32);
} free_slots SEC(".maps");

/* States of a thread. From READY_PREEMPTED on it is ready. */
#define BLOCKED 0
#define RUNNING 1
#define WOKEN_EARLY 2 /* woken while it runs or is on its way to wait */
#define THROTTLED 3
#define READY_PREEMPTED 4
#define READY_EARLY 5 /* had been woken early when it was switched out to wait; a later waking counts instead */
#define READY_WOKEN 6

#define NO_CPU (~0u)
#define NO_SLOT (~0u)

/* A thread. Threads whose TIDs share their low bits share a place: the one that needs it takes it. */
struct thread {
	u32 tid;
	u32 state;
	u32 last_cpu;
	u32 slot;
	u32 generation;
	/* While it is ready: */
	u32 queue; /* the CPU in whose queue it waits */
	u32 wait_slot;
	u32 unused;
	u64 start;
	u64 part; /* since when it is in this queue */
	u64 from; /* since when the sums below count; 0: they could not be read */
	u64 kernel, idle, unknown, same; /* the sums of the queue's CPU at `from` */
	struct group_key key; /* of `slot` */
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct thread);
} threads SEC(".maps");

/* Orders loads and stores between CPUs where the processor does not; a full barrier. */
INLINE void fence(void)
{
	u64 word = 0;
	if (set.weak_order)
		__sync_fetch_and_add(&word, 1);
	BARRIER();
}

INLINE struct cpu_sums *cpu_at(u32 cpu)
{
	return map_lookup(&cpus, &cpu);
}

INLINE struct group_sums *group_at(u32 cpu, u32 slot)
{
	u32 key = cpu * set.slots + slot;
	return map_lookup(&groups, &key);
}

INLINE u32 cpu_of(struct task_struct *p)
{
	if (FIELD_EXISTS(p->thread_info.cpu))
		return p->thread_info.cpu;
	return ((struct task_struct___old *)p)->cpu;
}

#define KERNEL_THREAD 0x200000 /* PF_KTHREAD */

INLINE u32 what_runs(struct task_struct *p)
{
	if (!p->pid)
		return RUNS_IDLE;
	return p->flags & KERNEL_THREAD ? RUNS_KERNEL_THREAD : RUNS_THREAD;
}

#include "histogram.h"
#include "groups.h"
#include "waits.h"
#include "cores.h"

/* ---- CPUs ---- */

/* In `busy_word`. */
#define IS_BUSY (1ull << 63)

/* Publishes whether the CPU is busy from `t` on, which is `since` if it is. */
INLINE void publish(struct cpu_sums *c, u64 t)
{
	bool busy = c->runs >= RUNS_THREAD;
	*(volatile u64 *)&c->busy_word = busy ? IS_BUSY | (c->since - c->busy) : c->busy;
	if (unlikely(c->sibling == SEVERAL_SIBLINGS))
		publish_in_core(c, t);
}

/* How long the only sibling has been busy, or two CPUs of a core with several. */
INLINE u64 sibling_busy(struct cpu_sums *c, u64 now)
{
	if (unlikely(c->sibling == SEVERAL_SIBLINGS))
		return core_several_busy(c, now);
	struct cpu_sums *sibling = c->sibling < 0 ? 0 : cpu_at(c->sibling);
	u64 word = sibling ? *(volatile u64 *)&sibling->busy_word : 0;
	return word & IS_BUSY ? now - (word & ~IS_BUSY) : word;
}

/* Adds the time up to `now` to what the CPU runs. A sibling that changes at this moment may be read as it was before, some hundred ns
 * too long: what is too much here is missing in the next stretch. Returns the sums of the group that ran; 0: none. */
INLINE struct group_sums *account(struct cpu_sums *c, u32 cpu, u64 now)
{
	u64 time = now - c->since, with_sibling = 0;
	if ((long long)time < 0)
		time = 0;
	c->since += time;
	if (c->sibling >= 0) {
		with_sibling = sibling_busy(c, now) - c->sibling_read;
		if ((long long)with_sibling < 0)
			with_sibling = 0;
		if (with_sibling > time)
			with_sibling = time;
		c->sibling_read += with_sibling;
	}
	if (c->runs == RUNS_IDLE) {
		c->idle += time;
		return 0;
	}
	struct group_sums *group = c->runs ? group_at(cpu, c->slot) : 0;
	if (!group) {
		c->unknown += time;
		return 0;
	}
	c->busy += time;
	c->with_sibling += with_sibling;
	group->running += time;
	group->with_sibling += with_sibling;
	if (c->runs == RUNS_KERNEL_THREAD) {
		c->kernel += time;
		group->kernel += time;
	}
	return group;
}

/* What ran up to `at` is not known. */
INLINE void account_unknown(struct cpu_sums *c, u64 at)
{
	c->unknown += at - c->since;
	c->since = at;
	c->sibling_read = sibling_busy(c, at);
	c->runs = RUNS_UNKNOWN;
	publish(c, at);
}

INLINE void begin_change(struct cpu_sums *c)
{
	c->seq++;
	fence();
}

INLINE void end_change(struct cpu_sums *c)
{
	fence();
	c->seq++;
}

INLINE void set_current(struct cpu_sums *c, struct task_struct *p, u32 runs, u32 slot)
{
	c->task = (u64)p;
	c->tid = p->pid;
	c->runs = runs;
	c->slot = slot;
	c->began = c->since;
	publish(c, c->since);
}

/* A thread is switched in at `now`. Returns the group of the one that ran before; 0: none, or it is not known. */
INLINE struct group_sums *switch_to(struct cpu_sums *c, u32 cpu, struct task_struct *next, u64 now)
{
	u32 tid = next->pid, runs = what_runs(next), slot = 0;
	struct thread *t = 0;
	if (tid) {
		t = claim(c, tid, BLOCKED);
		slot = slot_of(c, t, next, cpu, runs == RUNS_KERNEL_THREAD);
	}
	begin_change(c);
	struct group_sums *ran = account(c, cpu, now);
	u64 length = c->since - c->began;
	set_current(c, next, runs, slot);
	end_change(c);
	c->switches++;
	if (ran) {
		ran->run_ns += length;
		count(ran->run_counts, length);
	}
	struct group_sums *group = t ? group_at(cpu, slot) : 0;
	if (!group || !t)
		return ran;
	if (set.infers_switches && unlikely(t->state < READY_PREEMPTED))
		missed_wait(c, t, next, cpu, slot);
	if (t->state >= READY_PREEMPTED)
		end_wait(c, t, group, cpu, slot, c->since);
	u32 from = t->last_cpu;
	if (from != cpu) {
		struct cpu_sums *before = from == NO_CPU ? 0 : cpu_at(from);
		if (before) {
			u32 class = before->class & (CLASSES - 1);
			c->migrations_from[class]++;
			group->migrations_from[class]++;
		}
		t->last_cpu = cpu;
	}
	t->state = RUNNING;
	return ran;
}

#include "hidden.h"

/* Not inline: the verifier's limit of a function's stack. */
NOINLINE int on_switch(bool preempted, struct task_struct *prev, struct task_struct *next, u32 prev_state)
{
	u32 cpu = this_cpu();
	struct cpu_sums *c = cpu_at(cpu);
	if (!c || !c->started)
		return 0;
	u64 now = ktime();
	u64 switches = set.infers_switches ? read_run_queue(c, next, now) : 0;
	if (unlikely(c->task != (u64)prev))
		came_unseen(c, cpu, prev, now, switches - 1 - c->rq_switches);
	c->rq_switches = switches;
	u32 slot = c->slot;
	struct group_sums *ran = switch_to(c, cpu, next, now);
	if (prev->pid)
		leave(c, ran, prev, cpu, slot, preempted, prev_state);
	return 0;
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	return on_switch(ctx[0], (void *)ctx[1], (void *)ctx[2], ctx[3]);
}

/* Linux before 5.18: the state is not an argument, and has not been changed yet. */
SEC("tp_btf/sched_switch")
int sched_switch_old(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];
	u32 state = 0;
	if (FIELD_EXISTS(prev->__state))
		state = prev->__state;
	else
		state = ((struct task_struct___old *)prev)->state;
	return on_switch(ctx[0], prev, (void *)ctx[2], state);
}

/* Accounts for the time of this CPU up to now; the first time, it begins to watch it. Run on each CPU at a reading, with interrupts
 * disabled, so never during a switch. */
SEC("raw_tp")
int settle(void *ctx)
{
	u32 cpu = this_cpu();
	struct cpu_sums *c = cpu_at(cpu);
	struct task_struct *p = current_task();
	if (!c)
		return 0;
	u64 now = ktime();
	if (c->started) {
		if (unlikely(c->task != (u64)p)) {
			u64 switches = switches_of(p);
			came_unseen(c, cpu, p, now, switches - c->rq_switches);
			c->rq_switches = switches;
		}
		begin_change(c);
		account(c, cpu, now);
		if (unlikely(c->sibling != c->next_sibling)) {
			c->sibling = c->next_sibling;
			c->sibling_read = sibling_busy(c, c->since);
			publish(c, c->since);
		}
		end_change(c);
		return 0;
	}
	c->sibling = c->next_sibling;
	c->since = now;
	c->sibling_read = sibling_busy(c, now);
	c->rq_switches = switches_of(p);
	u32 runs = what_runs(p), slot = 0;
	if (p->pid) {
		struct thread *t = claim(c, p->pid, RUNNING);
		slot = slot_of(c, t, p, cpu, runs == RUNS_KERNEL_THREAD);
		if (t)
			t->last_cpu = cpu;
	}
	begin_change(c);
	account(c, cpu, now);
	set_current(c, p, runs, slot);
	end_change(c);
	c->started = now;
	return 0;
}

/* ---- wakeups and migrations ---- */

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	return on_waking(p);
}

SEC("tp_btf/sched_wakeup_new")
int sched_wakeup_new(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	return on_new(p);
}

SEC("tp_btf/sched_migrate_task")
int sched_migrate_task(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	return on_move(p, ctx[1]);
}

/* ---- idle states ---- */

SEC("tp_btf/cpu_idle")
int cpu_idle(u64 *ctx)
{
	u32 cpu = this_cpu(), state = ctx[0];
	struct cpu_sums *c = cpu_at(cpu);
	if (!c)
		return 0;
	u64 now = ktime();
	if (state < IDLE_STATES) {
		c->idle_since = now;
		c->idle_state = state;
		c->in_idle_state = 1;
		return 0;
	}
	u32 key = cpu * IDLE_STATES + c->idle_state;
	struct idle_sums *sums = map_lookup(&idle, &key);
	if (!sums || !c->in_idle_state)
		return 0;
	c->in_idle_state = 0;
	u64 time = now - c->idle_since;
	sums->periods++;
	sums->ns += time;
	if (time < sums->break_even)
		sums->short_periods++;
	return 0;
}

/* ---- hotplug ---- */

/* A CPU has stopped: its last switch, to its idle task, was not passed on. Its time is unknown since then. */
SEC("tp_btf/cpuhp_exit")
int cpuhp_exit(u64 *ctx)
{
	s32 state = ctx[1], step = ctx[2], error = ctx[3];
	if (!ENUM_EXISTS(enum cpuhp_state, CPUHP_TEARDOWN_CPU) || step != ENUM_VALUE(enum cpuhp_state, CPUHP_TEARDOWN_CPU) ||
	    state >= step || error)
		return 0;
	u32 cpu = ctx[0];
	struct cpu_sums *c = cpu_at(cpu);
	if (!c)
		return 0;
	begin_change(c);
	c->runs = RUNS_UNKNOWN;
	c->task = 0;
	c->tid = 0;
	c->in_idle_state = 0;
	publish(c, ktime());
	end_change(c);
	return 0;
}
