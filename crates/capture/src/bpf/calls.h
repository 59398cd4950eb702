/* What a thread waits for, if its callchain is not recorded: the system call that it is in, or a page fault. The registers with which it
 * entered the kernel show it (yields.h), which costs a few loads for each switch-out that blocks. A callchain costs a few microseconds.
 *
 *      orig_ax >= 0, ax == -ENOSYS   in the system call of this number
 *      orig_ax == -1                 an interrupt or a fault: in state D, a page fault that waits for a device
 *
 * None for calls of 32-bit programs, whose numbers differ, and for kernel threads. Part of record.bpf.c. */
#ifndef COREWISE_CALLS_H
#define COREWISE_CALLS_H

#define IN_STATE_D 2

/* The registers with which a thread entered the kernel; 0 for kernel threads, and where they do not show the call. */
INLINE struct pt_regs *entered_with(struct task_struct *p)
{
	if (!reads_registers || p->flags & PF_KTHREAD)
		return 0;
	struct pt_regs *registers = registers_of(p);
	if (!registers || !FIELD_EXISTS(registers->orig_ax) || !registers->ip)
		return 0;
	return registers;
}

/* The number of the system call in which `p` is; -1: in none. */
INLINE int call_of(struct task_struct *p, struct pt_regs *registers)
{
	long long number = registers->orig_ax;
	bool in_call = number >= 0 && number < 1 << CALL_BITS && (long long)registers->ax == -ENOSYS && !is_compat(p);
	return in_call ? number : -1;
}

/* Adds it, and the number of what it waits for (objects.h), after the `bytes` of the switch of a thread with these registers, if any.
 * Returns the new number of bytes. */
INLINE u32 add_call(struct pt_regs *registers, int number, u32 object, u32 code, u32 *at, u32 bytes)
{
	if (!registers || (number < 0 && !((long long)registers->orig_ax == -1 && code == IN_STATE_D)))
		return bytes;
	at[1] |= WITH_CALL;
	at[bytes / 4] = number < 0 ? PAGE_FAULT : (u32)number | object << CALL_BITS;
	return bytes + 4;
}

#endif
