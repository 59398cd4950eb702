/* Why a thread left its CPU that can still run. Where the kernel does not mark it as preempted, it is one of these; the first may bear
 * the mark too, since the kernel looks who else should run right after it has taken the thread from its queue.
 *
 *      held       its cgroup's CPU quota is used up (quota.h)
 *      gave way   a thread of the kernel's, which never goes back to user mode
 *      to user    preempted on its way back to user mode
 *      yielded    within a call of sched_yield
 *      none       within another call: mostly it was woken before it slept, and the waking tells that
 *
 * The registers with which it entered the kernel tell the last three, so that a call of sched_yield costs nothing: x86 keeps the
 * number of the system call in orig_ax (-1: an interrupt or a fault), and in ax -ENOSYS until the call's result is known. Part of
 * record.bpf.c. */
#ifndef COREWISE_YIELDS_H
#define COREWISE_YIELDS_H

/* Set before loading, in a section of its own; otherwise the verifier leaves out what asks for the registers. */
const volatile u32 reads_registers SEC(".rodata.registers") = 0;

#define PF_KTHREAD 0x00200000
#define ENOSYS 38
/* A call of a program of 32 bits, which has numbers of its own. */
#define TS_COMPAT 2
#define SCHED_YIELD 24
#define SCHED_YIELD_COMPAT 158

INLINE u32 number_of_sched_yield(struct task_struct *p)
{
	if (FIELD_EXISTS(p->thread_info.status) && p->thread_info.status & TS_COMPAT)
		return SCHED_YIELD_COMPAT;
	return SCHED_YIELD;
}

/* `code`: 0, or that of R+. */
INLINE u32 why_runnable(struct task_struct *p, u32 code)
{
	if (TELLS_QUOTA(p) && unlikely(p->throttled))
		return code ? LEFT_HELD_MARKED : LEFT_HELD;
	if (code)
		return code;
	if (p->flags & PF_KTHREAD)
		return LEFT_GAVE_WAY;
	if (!reads_registers)
		return 0;
	struct pt_regs *registers = registers_of(p);
	if (!registers || !FIELD_EXISTS(registers->orig_ax))
		return 0;
	/* A process's worker of io_uring or vhost has no program to go back to. */
	if (!registers->ip)
		return LEFT_GAVE_WAY;
	long long number = registers->orig_ax;
	if (number < 0 || (long long)registers->ax != -ENOSYS)
		return LEFT_TO_USER;
	return number == number_of_sched_yield(p) ? LEFT_YIELDED : 0;
}

#endif
