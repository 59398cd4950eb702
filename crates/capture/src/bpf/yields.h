/* Why a runnable thread left its CPU. If the kernel does not mark it as preempted, it is one of these. The first may have the mark
 * too, since the kernel selects the next thread right after it has taken the thread from its queue.
 *
 *      throttled  its cgroup's CPU quota is used up (quota.h)
 *      gave way   a kernel thread, which never returns to user mode
 *      to user    preempted on its way back to user mode
 *      yielded    in a call of sched_yield
 *      none       in another call: usually it was woken before it slept, which its waking shows
 *
 * The registers with which it entered the kernel distinguish the last three, so that calls of sched_yield need no program: x86 keeps
 * the number of the system call in orig_ax (-1: an interrupt or a fault), and -ENOSYS in ax until the call's result is known. Part of
 * record.bpf.c. */
#ifndef COREWISE_YIELDS_H
#define COREWISE_YIELDS_H

/* Set before loading, in a separate section. If 0, the verifier removes the code that reads the registers. */
const volatile u32 reads_registers SEC(".rodata.registers") = 0;

#define PF_KTHREAD 0x00200000
#define ENOSYS 38
/* A call of a 32-bit program, which has different numbers. */
#define TS_COMPAT 2
#define SCHED_YIELD 24
#define SCHED_YIELD_COMPAT 158

INLINE bool is_compat(struct task_struct *p)
{
	return FIELD_EXISTS(p->thread_info.status) && p->thread_info.status & TS_COMPAT;
}

/* `code`: 0, or the code of R+. */
INLINE u32 why_runnable(struct task_struct *p, u32 code)
{
	if (HAS_QUOTA_FIELDS(p) && unlikely(p->throttled))
		return code ? LEFT_THROTTLED_MARKED : LEFT_THROTTLED;
	if (code)
		return code;
	if (p->flags & PF_KTHREAD)
		return LEFT_GAVE_WAY;
	if (!reads_registers)
		return 0;
	struct pt_regs *registers = registers_of(p);
	if (!registers || !FIELD_EXISTS(registers->orig_ax)) /* arm64's do not show the way back to user mode */
		return 0;
	/* A process's io_uring or vhost worker has no user mode to return to. */
	if (!registers->ip)
		return LEFT_GAVE_WAY;
	long long number = registers->orig_ax;
	if (number < 0 || (long long)registers->ax != -ENOSYS)
		return LEFT_TO_USER;
	return number == (is_compat(p) ? SCHED_YIELD_COMPAT : SCHED_YIELD) ? LEFT_YIELDED : 0;
}

#endif
