/* Threads throttled by their cgroup's CPU quota. Since Linux 6.18 they are throttled one by one: a thread that returns to user mode
 * while the quota is used up leaves its CPU in a runnable state, and is put back on its queue when its group may run on that CPU again.
 * No event reports the latter, but the group's queue keeps a sum of the time in which it had throttled threads:
 *
 *      thread   runs  throttled   waits  runs
 *      sum          s           s+d           throttling began at c: it ended at c + d, recorded at the next switch-in
 *
 * Before 6.18 the kernel throttles whole queues, and it is not visible which threads are on them. Part of record.bpf.c. */
#ifndef COREWISE_QUOTA_H
#define COREWISE_QUOTA_H

/* In `wait` of struct seen: throttled when it was switched out; `queue_stats` is then c - s. */
#define QUOTA_THROTTLED (1u << 29)

#define HAS_QUOTA_FIELDS(p) (QUEUE_TIME(p) && FIELD_EXISTS((p)->throttled) && \
			FIELD_EXISTS(((struct cfs_rq *)0)->throttled_clock_self_time))

/* The thread is throttled from `at` on; `queue_stats` as above. */
NOINLINE int note_throttled(u32 tid, u64 at, u64 queue_stats)
{
	struct seen *s = seen_of(tid);
	if (s) {
		s->wait = tid | QUOTA_THROTTLED;
		s->queue_stats = queue_stats;
	}
	return send_late(tid, at, THROTTLED);
}

/* Checks a thread that has left its CPU in a runnable state. */
INLINE void check_throttled(struct task_struct *p, u64 now)
{
	if (!HAS_QUOTA_FIELDS(p) || likely(!p->throttled))
		return;
	struct cfs_rq *queue = p->se.cfs_rq;
	note_throttled(p->pid, now, queue->throttled_clock_self - queue->throttled_clock_self_time);
}

/* Records when a thread's throttling ended. `skew`: our clock minus the run queue's. */
INLINE void throttling_ended(struct task_struct *p, u64 skew, u64 now, u64 queue_stats)
{
	u64 until = queue_stats + p->se.cfs_rq->throttled_clock_self_time;
	/* Otherwise the sum is that of another queue, and the time is unknown. */
	if (until <= p->sched_info.last_queued)
		return;
	until += skew;
	send_late(p->pid, until < now ? until : now, UNTHROTTLED);
}

/* The thread is moved while it is throttled, to a CPU where its group may not be throttled. */
INLINE void check_moved(struct task_struct *p, u32 tid)
{
	if (HAS_QUOTA_FIELDS(p) && unlikely(p->throttled))
		send_late(tid, ktime(), UNTHROTTLED);
}

/* Checks a thread in a snapshot; `at` is before its fields were read. */
INLINE void check_throttled_row(struct task_struct *p, u32 cpu, u64 at)
{
	if (!HAS_QUOTA_FIELDS(p))
		return;
	u32 tid = p->pid;
	struct seen *s = seen_of(tid);
	struct block *own = base_block(cpu);
	if (p->throttled && s && (!s->wait || s->wait == (tid | QUOTA_THROTTLED)))
		check_throttled(p, at);
	else if (s && own && s->wait == (tid | QUOTA_THROTTLED) && s->cpu == cpu && p->on_rq && !p->on_cpu && !p->throttled)
		throttling_ended(p, own->skew, at, s->queue_stats);
}

#endif
