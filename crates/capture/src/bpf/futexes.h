/* What a futex call waits for: its arguments, and the memory at its address, which may name the thread that holds a lock:
 *
 *      address + 0    the word itself: with priority inheritance, in robust mutexes and in musl, the owner's TID
 *              + 8    the owner of a mutex of glibc
 *              + 12   the writer of a rwlock of glibc, of a thread that waits for the word of the writers
 *              + 16   the same, of a thread that waits for the word of the phase
 *
 * What they mean is decided after the recording. A page that is not in memory is not read. Part of record.bpf.c. */
#ifndef COREWISE_FUTEXES_H
#define COREWISE_FUTEXES_H

/* Set before loading, in a separate section: the number of the futex call. If 0, the verifier removes this code. */
const volatile u32 futex_call SEC(".rodata.futex") = 0;

/* The parts of a futex operation (UAPI, linux/futex.h). */
#define FUTEX_COMMAND 0x7f
#define FUTEX_REQUEUE 3
#define FUTEX_CMP_REQUEUE 4
#define FUTEX_WAKE_OP 5
#define FUTEX_LOCK_PI 6
#define FUTEX_CMP_REQUEUE_PI 12
#define FUTEX_LOCK_PI2 13

/* On x86, the variables of a thread lie right below its thread block. The block is above the stack, in the same memory; that of a program's first
 * thread lies elsewhere. */
#define STACK_MAX (1ull << 30)
#define STACK_USUAL (8ull << 20)
#define THREAD_VARIABLES (64ull << 10)

/* Whether an address lies in the thread's own stack or among its variables. */
INLINE bool is_own(struct task_struct *p, struct pt_regs *registers, u64 address)
{
	u64 stack = stack_of(registers);
	if (ON_ARM64(registers)) {
		/* There, the variables lie right above the block. It may be unknown until the thread has left its CPU once. */
		u64 block = ((struct task_struct___arm64 *)p)->thread.uw.tp_value;
		u64 end = block - stack < STACK_MAX ? block - stack + THREAD_VARIABLES : STACK_USUAL;
		return address - stack < end || address - block < THREAD_VARIABLES;
	}
	u64 block = FIELD_EXISTS(p->thread.fsbase) ? p->thread.fsbase : 0;
	if (block - stack < STACK_MAX)
		return address - stack < block - stack;
	return address - stack < STACK_USUAL || block - address < THREAD_VARIABLES;
}

/* The address, as WITH_FUTEX has it with the operation and the bits; sets the expected value. 0: it is too large. */
INLINE u64 futex_of(struct task_struct *p, struct pt_regs *registers, struct seen *s, u32 *expected)
{
	u64 address = first_argument(registers), operation = second_argument(registers) & FUTEX_OPERATION;
	if (unlikely(address >> FUTEX_ADDRESS_BITS))
		return 0;
	*expected = third_argument(registers);
	/* A lock that is free has the value 0, so a thread that waits for 0 waits for something else; with priority inheritance the value is
	 * not used. */
	u32 command = operation & FUTEX_COMMAND;
	s->waits_for = *expected || command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2 ? address : 0;
	return address | (operation << FUTEX_OPERATION_AT | (is_own(p, registers, address) ? FUTEX_OWN : 0)) << 32;
}

/* Adds it after the `bytes` of the switch of `prev`, which is current and waits with these registers in this call. Returns the new number of
 * bytes. */
INLINE u32 add_futex(struct task_struct *prev, struct pt_regs *registers, int number, struct seen *s, u64 now, u32 *at,
		      u32 bytes)
{
	if (!registers || number != futex_call)
		return bytes;
	u32 expected = 0, *more = at + bytes / 4;
	u64 futex = futex_of(prev, registers, s, &expected);
	if (!futex)
		return bytes;
	at[1] |= WITH_FUTEX;
	more[0] = expected;
	more[1] = futex;
	more[2] = futex >> 32;
	if (!s->waits_for || !may_read(s, now))
		return bytes + 12;
	u32 words[5] = {};
	bool read = !probe_read_user(words, sizeof(words), (void *)s->waits_for);
	more[2] |= FUTEX_WORDS | (read ? FUTEX_READ : 0);
	more[3] = words[0];
	more[4] = words[2];
	more[5] = words[3];
	more[6] = words[4];
	return bytes + 28;
}

/* Not inline: it is rare, and the common path is shorter without it. */
NOINLINE int write_woken_by_call(struct block *b, u64 now, u32 tid, u32 number, u64 argument)
{
	if (!b)
		return 0;
	u32 *at = room(b, now, word(WOKEN_BY_CALL, 0, 0));
	at[2] = tid;
	at[3] = number;
	*(u64 *)(at + 4) = argument;
	BARRIER();
	b->used += 24;
	return 0;
}

/* `p`, which waits for a futex that may be a lock, is about to be woken by `waker`, which is current. Writes what that thread does, unless it
 * wakes that futex. */
INLINE void woken_by_call(struct block *b, u64 now, struct task_struct *p, struct task_struct *waker, u64 futex)
{
	struct pt_regs *registers = registers_of(waker);
	/* Most do, so this comes first. */
	if (registers && !ON_ARM64(registers) && likely(registers->orig_ax == futex_call && registers->di == futex))
		return;
	registers = entered_with(waker);
	int number = registers ? call_of(waker, registers) : -1;
	u64 argument = number < 0 ? 0 : first_argument(registers);
	if (number == futex_call) {
		if (argument == futex)
			return;
		/* Of these, the second address counts too. */
		u32 command = second_argument(registers) & FUTEX_COMMAND;
		if ((command >= FUTEX_REQUEUE && command <= FUTEX_WAKE_OP) || command == FUTEX_CMP_REQUEUE_PI)
			return;
	}
	write_woken_by_call(b, now, p->pid, recorded_number(registers, number), argument);
}

#endif
