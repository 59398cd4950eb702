/* Callchains at blocking switch-outs (--stacks). A map of the kernel contains each callchain once, and the switch records its number.
 * Negative numbers mean none: -17 (EEXIST) if another callchain has its slot, -12 (ENOMEM) if the map is full, -14 (EFAULT) if there
 * are no frames. A slot is never reused, so a number means the same callchain to the end. Part of record.bpf.c. */
#ifndef COREWISE_STACKS_H
#define COREWISE_STACKS_H

/* Set before loading, in a separate section. If 0, the verifier removes this code. */
__attribute__((section(".rodata.stacks"))) const volatile u32 keep_stacks = 0;

struct kernel_stack {
	u64 at[KERNEL_DEPTH];
};

struct user_stack {
	u64 at[KERNEL_DEPTH]; /* the kernel's maximum, too */
};

struct {
	UINT(type, MAP_STACK_TRACE);
	UINT(max_entries, 1 << 14);
	TYPE(key, u32);
	TYPE(value, struct kernel_stack);
} kernel_stacks SEC(".maps");

struct {
	UINT(type, MAP_STACK_TRACE);
	UINT(max_entries, 1 << 14);
	TYPE(key, u32);
	TYPE(value, struct user_stack);
} user_stacks SEC(".maps");

/* Adds the callchains of `prev`, which is current, after the `bytes` of its switch. Returns the new number of bytes. */
INLINE u32 add_stacks(void *ctx, struct task_struct *prev, u32 *at, u32 bytes)
{
	u32 *more = at + bytes / 4;
	at[1] |= WITH_STACKS;
	more[0] = get_stackid(ctx, &kernel_stacks, 0);
	struct walk *w = unwinds ? walk_of(prev, AT_SWITCH) : 0;
	more[1] = w ? walked_number(w, prev->pid) : get_stackid(ctx, &user_stacks, F_USER_STACK);
	more[2] = prev->tgid;
	return bytes + 12;
}

#endif
