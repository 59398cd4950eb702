/* Callchains of threads that leave their CPU to wait (--stacks). Each lies once in a map of the kernel's; the switch tells its
 * number there, below zero where there is none: -17 (EEXIST) and -12 (ENOMEM) where another one has its place or the map is full,
 * -14 (EFAULT) where there is nothing to follow. A place is never given to another, so a number means the same to the end. Part of
 * record.bpf.c. */
#ifndef COREWISE_STACKS_H
#define COREWISE_STACKS_H

/* Set before loading, in a section of its own; otherwise the verifier leaves all of this out. */
__attribute__((section(".rodata.stacks"))) const volatile u32 keep_stacks = 0;

struct kernel_stack {
	u64 at[KERNEL_DEPTH];
};

struct user_stack {
	u64 at[USER_DEPTH];
};

struct {
	UINT(type, MAP_STACK_TRACE);
	UINT(max_entries, 1 << 14);
	TYPE(key, u32);
	TYPE(value, struct kernel_stack);
} kernel_stacks SEC(".maps");

struct {
	UINT(type, MAP_STACK_TRACE);
	UINT(max_entries, 1 << 16);
	TYPE(key, u32);
	TYPE(value, struct user_stack);
} user_stacks SEC(".maps");

/* Adds where in its code `prev`, which is current, goes to wait, behind the `bytes` of its switch; how many bytes it has then. */
INLINE u32 add_stacks(void *ctx, struct task_struct *prev, u32 *at, u32 bytes)
{
	u32 *more = at + bytes / 4;
	at[1] |= WITH_STACKS;
	more[0] = get_stackid(ctx, &kernel_stacks, 0);
	more[1] = get_stackid(ctx, &user_stacks, F_USER_STACK);
	more[2] = prev->tgid;
	return bytes + 12;
}

#endif
