/* Switches that the one who left could not tell: who ran is told by who came in, as far as the kernel's books prove it.
 *
 * A unit of its own, of programs that are loaded only where the kernel hides switches (probe.bpf.c). They are attached before the
 * others, and so run before them at the same tracepoint: what they find on a CPU is what its last switch left there. The other
 * programs do not know of them. */
#ifndef COREWISE_UNSEEN_H
#define COREWISE_UNSEEN_H

/* On some machines nothing that happens while certain tasks are `current` reaches a program, their switch-out included:
 *
 *      X -> H    sched_switch by X: told
 *      H -> Y    sched_switch by H: nobody hears it; Y runs, but H came in last
 *      Y -> ...  sched_switch by Y, or what else Y does: here it is noticed, and told with the kernel's own time of Y's arrival
 *
 * Between H and Y other such tasks may have run, and H again. The kernel counts each CPU's switches, so how many stays there were is
 * known. Whose is told by the last stay of each such task, back from Y:
 *
 *      in            from          until
 *      H ........... K ........... Y        two switches: K's last stay ends where Y came in, H left where K came in
 *
 * Where one of them has come in again since, its earlier stay is not kept, and who left there is not known; seldom another one's
 * stay fits by chance (tests/unseen.rs says how often, of switches that are simulated). */
#define FELLOWS 32
/* Stays between two moments at which somebody was heard. */
#define CHAIN 8

/* A stay on a CPU, by the run queue's clock. */
struct stay {
	u64 task;
	u64 from;
	u64 exec; /* what it has been charged by its end */
	u32 tid;
	s32 prio;
};

/* The stays of a CPU between two that were heard, while they are looked into. */
struct chain {
	struct stay stays[CHAIN]; /* back from the last */
	u64 end; /* of the one that is looked for */
	u32 left; /* who left last, of those told */
	s32 left_prio;
};

/* As many as CPUs. */
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct chain);
} chains SEC(".maps");

INLINE struct chain *chain_of_cpu(void)
{
	u32 cpu = this_cpu();
	return map_lookup(&chains, &cpu);
}

/* What a task was charged, and what was stolen from this CPU at most, explain how long it ran. Too little: somebody else ran
 * meanwhile. Far too much: it ran again since. A little too much is usual, since the charge counts from the clock's last reading
 * before the switch. */
INLINE bool explains(u64 charged, u64 stolen, u64 ran)
{
	u64 slack = ran / 50 > SLACK_NS ? ran / 50 : SLACK_NS;
	return charged + stolen + slack >= ran && charged <= ran + 5 * slack;
}

/* A thread comes in here that came in on another CPU last. If that CPU still has it as the one who runs there, it left
 * unheard, and what it has been charged by now is what it ran there: later it will be more. */
NOINLINE int left_unseen(u32 cpu, u64 task, u64 exec)
{
	struct block *b = lowest(cpu);
	if (b && b->task == task && !b->left)
		b->left = exec;
	return 0;
}

/* When the last stay of `task`, one of `own->process`, began, by the run queue's clock: where that was on this CPU, since `own->in`,
 * and, with an `until`, ended there. One that comes in at `until` has no end of its last stay any more, but what it was charged for it.
 * Else 0. Not static, and of numbers only, here and below: so the kernel verifies it once, and not once for each way into it. */
__attribute__((noinline)) u64 stay_from(u64 task, u64 until, u64 behind)
{
	struct task_struct *p = (void *)task;
	struct block *own = lowest(this_cpu());
	u32 cpu = 0, tid = 0;
	u64 from = 0, counted = 0, exec = 0;
	if (!own || READ(from, p->sched_info.last_arrival) || READ(counted, p->se.exec_start))
		return 0;
	if (FIELD_EXISTS(p->thread_info.cpu))
		READ(cpu, p->thread_info.cpu);
	if (cpu != this_cpu())
		return 0;
	if (!until)
		return from;
	if (from >= until || from + own->skew <= own->in)
		return 0;
	/* `behind` holds what was stolen since its end, too. */
	u64 grown = behind - own->behind, end = counted + behind;
	long long off = end - until;
	if (off >= -STAY_SLACK_NS && off <= (long long)grown + STAY_SLACK_NS)
		return from;
	if (end <= until || READ(tid, p->pid) || READ(exec, p->se.sum_exec_runtime))
		return 0;
	struct seen *s = seen_of(tid);
	return s && explains(exec - s->exec, own->stolen, until - from) ? from : 0;
}

/* Such tasks are of one process: the thread of `h`'s process whose last stay on this CPU ended at `until`, 0 for none; with
 * an `until` of 0 the one whose stay began last. `behind`: that of the run queue (struct readings). */
__attribute__((noinline)) u64 stay_until(u64 h, u64 until, u64 behind)
{
	struct task_struct *of = (void *)h;
	u64 found = 0, latest = 0;
	struct signal_struct *process = 0;
	struct list_head *node = 0, *head = 0;
	if (READ(process, of->signal))
		return 0;
	head = &process->thread_head;
	node = head;
	for (u32 i = 0; i < FELLOWS; i++) {
		if (READ(node, node->next) || node == head)
			break;
		u64 task = (u64)node - FIELD_OFFSET(of->thread_node);
		u64 from = stay_from(task, until, behind);
		if (from > latest) {
			latest = from;
			found = task;
		}
	}
	return found;
}

/* When the idle task came in, by the run queue's clock; 0 where nothing tells. The kernel does not keep its arrivals: it
 * came when the last stay of such a task ended, and is noticed soon after, at its first going to sleep. */
INLINE u64 idle_since(struct block *own, u64 now, u64 behind)
{
	u64 end = 0;
	struct task_struct *last = (void *)stay_until(own->task, 0, behind);
	if (!last || READ(end, last->se.exec_start))
		return 0;
	end += behind;
	return end + own->skew > own->in && now - (end + own->skew) < 5 * SLACK_NS ? end : 0;
}

/* The last stay of a task; without one it is from 0. */
INLINE void read_stay(struct stay *s, u64 task)
{
	struct task_struct *p = (void *)task;
	s->task = task;
	s->from = 0;
	if (task && (READ(s->from, p->sched_info.last_arrival) || READ(s->tid, p->pid) || READ(s->prio, p->prio) ||
		     READ(s->exec, p->se.sum_exec_runtime)))
		s->from = 0;
}

/* What such a task was charged by now: from here on its stays are looked for. */
INLINE void charged_by_now(u32 tid, u64 exec)
{
	struct seen *s = seen_of(tid);
	if (s)
		s->exec = exec;
}

/* One of them (`own->came`) comes in: the charges of all of them are noted, to tell from the next ones who ran until somebody is heard. */
__attribute__((noinline)) int note_charges(u32 on)
{
	struct block *own = lowest(on);
	struct task_struct *of = own ? (void *)own->came : 0;
	struct signal_struct *process = 0;
	struct list_head *node = 0, *head = 0;
	if (!of || READ(process, of->signal))
		return 0;
	head = &process->thread_head;
	node = head;
	for (u32 i = 0; i < FELLOWS; i++) {
		u32 tid = 0;
		u64 exec = 0;
		if (READ(node, node->next) || node == head)
			break;
		struct task_struct *p = (void *)((u8 *)node - FIELD_OFFSET(of->thread_node));
		if (!READ(tid, p->pid) && !READ(exec, p->se.sum_exec_runtime))
			charged_by_now(tid, exec);
	}
	return 0;
}

/* One that nobody heard leave waits: so does the one who hears it come back know that its waking was not heard either. */
INLINE void left_to_wait(u64 task, u32 tid, u64 out)
{
	struct task_struct *p = (void *)task;
	u64 delay = 0, count = 0;
	struct seen *s = seen_of(tid);
	if (!s || READ(delay, p->sched_info.run_delay) || READ(count, p->sched_info.pcount))
		return;
	s->wait = waits(s, tid, out);
	s->books = books(delay, count);
}

NOINLINE int tell_switch(struct rare_switched *r)
{
	r->head.kind = KIND_RARE;
	r->head.type = SWITCHED;
	r->head.cpu = this_cpu();
	return send(r, sizeof(*r));
}

/* One that nobody heard come in: its arrival has wiped out when it was queued, but not how long. */
INLINE void came_from_wait(struct seen *s, u64 task, u32 tid, u64 at)
{
	struct task_struct *p = (void *)task;
	u64 delay = 0, count = 0;
	if (!s || (s->wait & ~(BLOCKED | WOKEN_EARLY)) != tid)
		return;
	if (s->wait & BLOCKED && QUEUE_TIME(p) && !READ(delay, p->sched_info.run_delay) &&
	    !READ(count, p->sched_info.pcount)) {
		u64 more = books(delay, count) - s->books;
		if ((u16)more == 1)
			woken_unseen(tid, at - (more >> 16));
	}
	s->wait = 0;
}

/* Back from the end: who left there is stay `i`, and the next one ends where it came in. Whether that is known. */
__attribute__((noinline)) int add_stay(u32 i, u64 behind)
{
	struct block *own = lowest(this_cpu());
	struct chain *chain = chain_of_cpu();
	if (!own || !chain || i >= CHAIN)
		return 0;
	struct stay *s = &chain->stays[i];
	read_stay(s, stay_until(own->task, chain->end, behind));
	chain->end = s->from;
	return s->from != 0;
}

/* The switch to stay `i`: its thread came in unheard. */
__attribute__((noinline)) int tell_stay(u32 i)
{
	struct rare_switched r = {};
	struct block *own = lowest(this_cpu());
	struct chain *chain = chain_of_cpu();
	if (!own || !chain || i >= CHAIN)
		return 0;
	struct stay *s = &chain->stays[i];
	r.prev = chain->left;
	r.prev_prio = chain->left_prio;
	r.exec = -1;
	r.code = UNTOLD;
	r.head.tid = s->tid;
	r.head.at = s->from + own->skew;
	r.next_prio = s->prio;
	came_from_wait(seen_of(s->tid), s->task, s->tid, r.head.at);
	tell_switch(&r);
	charged_by_now(s->tid, s->exec);
	chain->left = s->tid;
	chain->left_prio = s->prio;
	return 0;
}

__attribute__((noinline)) int came_unseen(u64 now, u64 behind, u64 switches)
{
	struct rare_switched r = {};
	struct block *own = lowest(this_cpu());
	if (!own)
		return 0;
	u64 task = own->came;
	struct task_struct *came = (void *)task;
	u64 at = now, until = 0, came_exec = 0;
	u32 came_tid = 0;
	s32 came_prio = 0;
	if (READ(came_tid, came->pid) || READ(came_prio, came->prio) || READ(came_exec, came->se.sum_exec_runtime))
		return 0;
	if (QUEUE_TIME(came)) {
		if (!came_tid)
			until = idle_since(own, now, behind);
		else if (READ(until, came->sched_info.last_arrival))
			until = 0;
		if (until)
			at = until + own->skew;
	}
	/* Before what is being told, and behind what was. */
	if (at >= now)
		at = now - 1;
	if (at <= own->in)
		at = own->in + 1;
	struct task_struct *prev = (void *)own->task;
	u32 pid = 0, state = 0, exit_state = 0;
	u64 exec = 0;
	long failed = READ(pid, prev->pid) | READ(r.prev_prio, prev->prio) | READ(exit_state, prev->exit_state) |
		      READ(exec, prev->se.sum_exec_runtime) | READ(state, prev->__state);
	u64 charged = (own->left ? own->left : exec) - own->exec;
	/* What was stolen since the switch explains nothing: all of it was before, if that fits, or what must have been. */
	u64 grown = behind - own->behind, since = now - at;
	own->stolen = explains(charged + grown, 0, at - own->in) ? grown : grown > since ? grown - since : 0;
	if (READ(own->process, prev->tgid))
		own->process = 0;
	/* The idle task is charged nothing. */
	bool known = !failed && own->tid && pid == own->tid;
	bool fits = known && explains(charged, own->stolen, at - own->in);
	u64 others = switches - own->switches - 1;
	bool proved = known && (switches ? !others : fits);
	struct chain *chain = chain_of_cpu();
	if (!chain)
		return 0;
	chain->end = until;
	u32 found = 0;
	for (u32 i = 0; i < CHAIN && i < others && known && switches && until; i++) {
		if (!add_stay(i, behind))
			break;
		found = i + 1;
		proved = found == others;
	}
	if (known)
		charged_by_now(pid, own->exec + charged);
	r.prev = proved ? pid : -1;
	r.exec = -1;
	r.code = UNTOLD;
	chain->left = r.prev;
	chain->left_prio = r.prev_prio;
	for (u32 i = CHAIN; i > 0; i--)
		if (i <= found)
			tell_stay(i - 1);
	r.prev = chain->left;
	r.prev_prio = chain->left_prio;
	r.head.tid = came_tid;
	r.head.at = at;
	r.next_prio = came_prio;
	if (proved && fits && !found) {
		r.exec = own->exec + charged;
		/* Long after the switch it may have been woken. */
		if (!own->left && now - at < SLACK_NS)
			r.code = state_code(0, state, exit_state);
	}
	own->by_next += found + 1;
	own->one_sided += !proved;
	if (QUEUE_TIME(prev) && r.code && r.code < 9 && !exit_state)
		left_to_wait(own->task, pid, at);
	struct seen *s = seen_of(came_tid);
	came_from_wait(s, task, came_tid, at);
	if (s && s->cpu != this_cpu()) {
		left_unseen(s->cpu, task, came_exec);
		s->cpu = this_cpu();
	}
	came_in(own, task, came_tid, came_exec, at, behind, switches);
	tell_switch(&r);
	return 0;
}

/* Anything that happens on a CPU shows who runs there. `leaving`: 1 where the switch away from it is counted already. */
INLINE void look_who_runs(struct block *own, struct task_struct *p, u32 leaving)
{
	if (unlikely(own->task != (u64)p) && own->in) {
		own->came = (u64)p;
		struct readings r = readings_of(p);
		came_unseen(ktime(), r.behind, r.switches ? r.switches - leaving : 0);
	}
}

SEC("tp_btf/sched_switch")
int infer_at_switch(u64 *ctx)
{
	u32 cpu = this_cpu();
	struct block *own = lowest(cpu);
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	if (!own)
		return 0;
	look_who_runs(own, prev, 1);
	if (unlikely(own->process && next->tgid == own->process)) {
		own->came = (u64)next;
		note_charges(cpu);
	}
	u32 tid = next->pid;
	struct seen *s = seen_of(tid);
	if (QUEUE_TIME(next) && tid && s && s->cpu != cpu)
		left_unseen(s->cpu, (u64)next, next->se.sum_exec_runtime);
	return 0;
}

INLINE int infer_now(void)
{
	struct block *own = lowest(this_cpu());
	if (own)
		look_who_runs(own, current_task(), 0);
	return 0;
}

SEC("tp_btf/cpu_idle")
int infer_at_idle(u64 *ctx)
{
	return infer_now();
}

/* Run by the recorder on each CPU. */
SEC("raw_tp")
int infer_current(void *ctx)
{
	return infer_now();
}


#endif
