/* What a thread waits for, if its callchain is not recorded: the system call that it is in, or a page fault. The registers with which it
 * entered the kernel show it, which costs a few loads for each switch-out that blocks. A callchain costs a few microseconds.
 *
 *      x86     orig_ax >= 0, ax == -ENOSYS   in the system call of this number (yields.h)
 *              orig_ax == -1                 an interrupt or a fault: in state D, a page fault that waits for a device
 *      arm64   syscallno >= 0                in the system call of this number, or, which the registers do not distinguish, on the way back from
 *                                            it, where a thread may be stopped but does not wait
 *              syscallno == -1               an interrupt or a fault
 *
 * None for calls of 32-bit programs, whose numbers differ, and for kernel threads. Numbers are recorded as x86-64 has them. Part of
 * record.bpf.c. */
#ifndef COREWISE_CALLS_H
#define COREWISE_CALLS_H

/* Set before loading, in a separate section. If 0, the verifier removes the code that reads the registers for this. */
const volatile u32 reads_calls SEC(".rodata.reads_calls") = 0;

/* The number on x86-64 of each of this machine's calls, if they differ; 0 for those that x86-64 lacks. Set before loading. */
#define CALLS 512
const volatile u16 call_numbers[CALLS] SEC(".rodata.call_numbers");

#define IN_STATE_S 1
#define IN_STATE_D 2
/* Of the flags of a thread on arm64: it runs 32-bit code. */
#define TIF_32BIT_ARM64 (1ul << 22)

#define ON_ARM64(registers) FIELD_EXISTS(((struct pt_regs___arm64 *)(registers))->syscallno)

/* The registers with which a thread entered the kernel; 0 for kernel threads, and where they do not show the call. */
INLINE struct pt_regs *entered_with(struct task_struct *p)
{
	if (!reads_calls || p->flags & PF_KTHREAD)
		return 0;
	struct pt_regs *registers = registers_of(p);
	if (!registers)
		return 0;
	if (ON_ARM64(registers))
		return ((struct pt_regs___arm64 *)registers)->pc ? registers : 0;
	if (!FIELD_EXISTS(registers->orig_ax) || !registers->ip)
		return 0;
	return registers;
}

/* The number of the system call in which `p` is, as this machine has it; -1: in none. */
INLINE int call_of(struct task_struct *p, struct pt_regs *registers)
{
	if (ON_ARM64(registers)) {
		int number = ((struct pt_regs___arm64 *)registers)->syscallno;
		return number >= 0 && number < CALLS && !(p->thread_info.flags & TIF_32BIT_ARM64) ? number : -1;
	}
	long long number = registers->orig_ax;
	bool in_call = number >= 0 && number < CALLS && (long long)registers->ax == -ENOSYS && !is_compat(p);
	return in_call ? number : -1;
}

/* The arguments of the call. On arm64 the first register will have the result, so the kernel keeps a copy. */
INLINE u64 first_argument(struct pt_regs *registers)
{
	return ON_ARM64(registers) ? ((struct pt_regs___arm64 *)registers)->orig_x0 : registers->di;
}

INLINE u64 second_argument(struct pt_regs *registers)
{
	return ON_ARM64(registers) ? ((struct pt_regs___arm64 *)registers)->regs[1] : registers->si;
}

INLINE u64 third_argument(struct pt_regs *registers)
{
	return ON_ARM64(registers) ? ((struct pt_regs___arm64 *)registers)->regs[2] : registers->dx;
}

INLINE u64 fourth_argument(struct pt_regs *registers)
{
	return ON_ARM64(registers) ? ((struct pt_regs___arm64 *)registers)->regs[3] : registers->r10;
}

INLINE u64 stack_of(struct pt_regs *registers)
{
	return ON_ARM64(registers) ? ((struct pt_regs___arm64 *)registers)->sp : registers->sp;
}

/* A call's number on x86-64; -1 for none. */
INLINE int recorded_number(struct pt_regs *registers, int number)
{
	if (number < 0 || !ON_ARM64(registers))
		return number;
	u32 known = number < CALLS ? call_numbers[number] : 0;
	return known ? (int)known - 1 : UNKNOWN_CALL;
}

/* Adds it, and the number of what it waits for (objects.h), after the `bytes` of the switch of a thread with these registers, if any.
 * Returns the new number of bytes. */
INLINE u32 add_call(struct pt_regs *registers, int number, u32 object, u32 code, u32 *at, u32 bytes)
{
	if (!registers)
		return bytes;
	if (number < 0) {
		bool faults = ON_ARM64(registers) || (long long)registers->orig_ax == -1;
		if (!faults || code != IN_STATE_D)
			return bytes;
	} else if (ON_ARM64(registers) && code != IN_STATE_S && code != IN_STATE_D) {
		return bytes;
	}
	at[1] |= WITH_CALL;
	at[bytes / 4] = number < 0 ? PAGE_FAULT : (u32)recorded_number(registers, number) | object << CALL_BITS;
	return bytes + 4;
}

#endif
