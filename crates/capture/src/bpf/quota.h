/* Threads that their cgroup's CPU quota holds. Since Linux 6.18 they are held one by one: whoever comes back to user mode while the
 * quota is used up leaves its CPU, runnable as it is, and is put back on its queue when its group may run on that CPU again.
 * Nothing tells of the latter, but the group's queue keeps a sum of the time in which it had threads to hold:
 *
 *      thread   runs  held   waits  runs
 *      sum          s      s+d           the held time began at c: it ended at c + d, told by the next switch-in
 *
 * Before 6.18 the kernel takes whole queues out, and nothing tells which threads are on them. Part of record.bpf.c. */
#ifndef COREWISE_QUOTA_H
#define COREWISE_QUOTA_H

/* In `wait` of struct seen: held when it was switched out, and `books` is c - s. */
#define QUOTA_HELD (1u << 29)

#define TELLS_QUOTA(p) (QUEUE_TIME(p) && FIELD_EXISTS((p)->throttled) && \
			FIELD_EXISTS(((struct cfs_rq *)0)->throttled_clock_self_time))

/* It is held from `at` on; `books` as above. */
NOINLINE int hold(u32 tid, u64 at, u64 books)
{
	struct seen *s = seen_of(tid);
	if (s) {
		s->wait = tid | QUOTA_HELD;
		s->books = books;
	}
	return tell_late(tid, at, HELD);
}

/* It has left its CPU, still runnable. */
INLINE void look_if_held(struct task_struct *p, u64 now)
{
	if (!TELLS_QUOTA(p) || likely(!p->throttled))
		return;
	struct cfs_rq *queue = p->se.cfs_rq;
	hold(p->pid, now, queue->throttled_clock_self - queue->throttled_clock_self_time);
}

/* It was held, and is no longer: since when. `skew`: our clock less the run queue's. */
INLINE void was_held(struct task_struct *p, u64 skew, u64 now, u64 books)
{
	u64 until = books + p->se.cfs_rq->throttled_clock_self_time;
	/* Else that is another queue's sum, and nobody knows. */
	if (until <= p->sched_info.last_queued)
		return;
	until += skew;
	tell_late(p->pid, until < now ? until : now, LET_GO);
}

/* It is moved while it is held, to where its group may not be. */
INLINE void look_if_moved(struct task_struct *p, u32 tid)
{
	if (TELLS_QUOTA(p) && unlikely(p->throttled))
		tell_late(tid, ktime(), LET_GO);
}

/* A snapshot's row: `at` is before its fields were read. */
INLINE void look_at_held(struct task_struct *p, u32 cpu, u64 at)
{
	if (!TELLS_QUOTA(p))
		return;
	u32 tid = p->pid;
	struct seen *s = seen_of(tid);
	struct block *own = lowest(cpu);
	if (p->throttled && s && (!s->wait || s->wait == (tid | QUOTA_HELD)))
		look_if_held(p, at);
	else if (s && own && s->wait == (tid | QUOTA_HELD) && s->cpu == cpu && p->on_rq && !p->on_cpu && !p->throttled)
		was_held(p, own->skew, at, s->books);
}

#endif
