/* Rare events: each a separate record, never in a block, since some of these programs can be preempted. Part of
 * record.bpf.c. */
#ifndef COREWISE_RARE_H
#define COREWISE_RARE_H

SEC("tp_btf/sched_process_fork")
int sched_process_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	struct rare_fork r = {};
	/* The child inherits the parent's current mask. */
	compare_mask(parent, ktime(), RAN);
	if (unwinds)
		inherit_space(parent->tgid, child->tgid);
	BEGIN(r, FORK, child);
	note_mask(child);
	r.parent = parent->pid;
	r.pid = child->tgid;
	r.inner_tid = inner_of(child, &r.level);
	r.inner_pid = inner_of(child->group_leader, &r.level);
	r.prio = child->prio;
	r.policy = child->policy;
	r.nice = child->static_prio - 120;
	r.cgroup = cgroup_of(child);
	probe_read(r.comm, sizeof(r.comm), &child->comm);
	return send(&r, sizeof(r));
}

SEC("tp_btf/sched_process_exec")
int sched_process_exec(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct linux_binprm *bprm = (void *)ctx[2];
	struct rare_exec r = {};
	u32 process = p->tgid;
	if (unwinds)
		map_delete(&spaces, &process);
	BEGIN(r, EXEC, p);
	r.pid = p->tgid;
	r.old_tid = ctx[1];
	probe_read_str(r.path, sizeof(r.path), bprm->filename);
	return send(&r, sizeof(r));
}

SEC("tp_btf/sched_process_exit")
int sched_process_exit(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct rare_exit r = {};
	BEGIN(r, EXIT, p);
	r.pid = p->tgid;
	return send(&r, sizeof(r));
}

SEC("tp_btf/task_rename")
int task_rename(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct rare_rename r = {};
	BEGIN(r, RENAME, p);
	r.pid = p->tgid;
	probe_read_str(r.comm, sizeof(r.comm), (void *)ctx[1]);
	return send(&r, sizeof(r));
}

/* The clamps are bit fields: of each word the lowest 11 bits are the value, up to 1024. */
INLINE u32 attr_of(struct task_struct *p)
{
	u32 attr = 1u << 31 | (p->normal_prio & 255);
	u32 clamps[2] = {};
	if (FIELD_EXISTS(p->uclamp_req) && !READ(clamps, p->uclamp_req))
		attr |= 1u << 30 | (clamps[0] & 2047) << 8 | (clamps[1] & 2047) << 19;
	return attr;
}

INLINE int on_priority(struct task_struct *p, s32 prio)
{
	struct rare_priority r = {};
	BEGIN(r, PRIORITY, p);
	r.prio = prio;
	r.policy = p->policy;
	r.nice = p->static_prio - 120;
	r.attr = attr_of(p);
	return send(&r, sizeof(r));
}

/* A kind of `struct rare` (wire.h), decoded by src/spool/rare.rs. */
#define INHERIT 27

struct rare_inherit {
	struct rare head;
	s32 prio, old_prio;
	u32 donor; /* 0: none */
	u32 attr;  /* as in rare_priority */
};

/* Runs before the change: the new priority is calculated as in the kernel's event. */
SEC("tp_btf/sched_pi_setprio")
int sched_pi_setprio(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0], *donor = (void *)ctx[1];
	struct rare_inherit r = {};
	BEGIN(r, INHERIT, p);
	r.prio = p->normal_prio;
	r.old_prio = p->prio;
	if (donor) {
		s32 other = donor->prio;
		if (other < r.prio)
			r.prio = other;
		r.donor = donor->pid;
	}
	r.attr = attr_of(p);
	return send(&r, sizeof(r));
}

/* The kernel has no tracepoints for setpriority, sched_setscheduler and the affinity calls. */
SEC("fexit/set_user_nice")
int set_user_nice(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	return on_priority(p, p->prio);
}

SEC("fexit/__sched_setscheduler")
int sched_setscheduler(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	return on_priority(p, p->prio);
}

SEC("fexit/__set_cpus_allowed_ptr")
int set_cpus_allowed(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct rare_affinity r = {};
	BEGIN(r, AFFINITY, p);
	read_mask(p, &r.words, r.mask);
	return send(&r, sizeof(r));
}

INLINE int on_parking(u32 of, u8 what)
{
	struct rare_parking r = {};
	BEGIN(r, what, current_task());
	r.of = of;
	return send(&r, sizeof(r));
}

/* A step of hotplug. Going offline, to a lower target, the first step takes the CPU from the scheduler. Coming online, the last step,
 * right below the target, gives it back. Steps that drivers set up on CPUs that stay online are below that. */
SEC("tp_btf/cpuhp_enter")
int cpuhp_enter(u64 *ctx)
{
	s32 target = ctx[1], step = ctx[2];
	if (target < step)
		return on_parking(ctx[0], PARKED);
	return target - step == 1 ? on_parking(ctx[0], UNPARKED) : 0;
}

/* A CPU has stopped. Its events are no longer delivered, and its last switch, to its idle task, was not delivered either (tracepoints
 * do not fire on an offline CPU). The previous task left when the kernel last updated its charged CPU time, if there was only one
 * switch since. */
__attribute__((noinline)) int stopped(u32 cpu)
{
	struct rare_inferred_switch r = {};
	struct block *own = base_block(cpu);
	hand_over_all(cpu);
	if (!own || !own->in)
		return 0;
	u64 now = ktime(), task = own->task, counted = 0, switches = 0;
	u32 pid = 0, state = 0, exit_state = 0;
	struct task_struct *prev = (void *)task;
	struct cfs_rq *queue = 0;
	struct rq *rq = 0;
	bool known = own->tid && !READ(pid, prev->pid) && pid == own->tid && !READ(counted, prev->se.exec_start) &&
		     !READ(r.prev_prio, prev->prio) && !READ(r.exec, prev->se.sum_exec_runtime) &&
		     !READ(state, prev->__state) && !READ(exit_state, prev->exit_state);
	bool proved = known && QUEUE_TIME(prev) && !READ(queue, prev->se.cfs_rq) && !READ(rq, queue->rq) &&
		      !READ(switches, rq->nr_switches) && switches - own->switches == 1;
	u64 left = counted + own->lag + own->skew;
	/* If `tid` is 0, its idle task runs already. */
	if (own->tid) {
		r.head.at = proved && left > own->in && left < now ? left : now;
		r.prev = proved ? pid : -1;
		r.code = proved ? state_code(0, state, exit_state) : STATE_UNKNOWN;
		if (!proved)
			r.exec = -1;
		r.head.kind = KIND_RARE;
		r.head.type = INFERRED_SWITCH;
		r.head.cpu = cpu;
		r.next_prio = IDLE_PRIO;
		own->inferred_switches++;
		own->prev_unknown += !proved;
		send(&r, sizeof(r));
	}
	/* The next switch on this CPU counts as its first. */
	own->in = 0;
	return 0;
}

/* A step down that fails is undone. A CPU whose state is above a step when the step ends is online. */
SEC("tp_btf/cpuhp_exit")
int cpuhp_exit(u64 *ctx)
{
	s32 state = ctx[1], step = ctx[2], error = ctx[3];
	if (ENUM_EXISTS(enum cpuhp_state, CPUHP_TEARDOWN_CPU) &&
	    step == ENUM_VALUE(enum cpuhp_state, CPUHP_TEARDOWN_CPU) && state < step && !error)
		stopped(ctx[0]);
	if (error ? state >= step : state <= step)
		return 0;
	return on_parking(ctx[0], UNPARKED);
}

/* Only the hierarchy that has the CPU controller. As in `frame` of cgroups.rs, paths of v1 have a prefix. */
SEC("tp_btf/cgroup_attach_task")
int cgroup_attach_task(u64 *ctx)
{
	struct cgroup *to = (void *)ctx[0];
	struct task_struct *p = (void *)ctx[2];
	if (group_of(p) != to)
		return 0;
	struct rare_cgroup r = {};
	BEGIN(r, CGROUP, p);
	r.pid = p->tgid;
	r.whole_process = (bool)ctx[3];
	r.id = to->kn->id;
	if (own_cpu_hierarchy) {
		__builtin_memcpy(r.path, "cpu:", 4);
		probe_read_str(r.path + 4, sizeof(r.path) - 4, (void *)ctx[1]);
	} else {
		probe_read_str(r.path, sizeof(r.path), (void *)ctx[1]);
	}
	return send(&r, sizeof(r));
}

#endif
