/* User callchains by unwinding: at each address, a row of its file's table (crates/unwind) says where the caller's registers are. The
 * recorder prepares the tables and knows what each process has mapped (src/unwinding.rs). Code without a table is walked by frame
 * pointers. A process that is not known yet has the kernel's callchain, by frame pointers only, and is reported in `missing`. So has a
 * callchain through a file whose table is not read yet.
 *
 *      spaces    process -> a run of mappings, in order of address
 *      mappings  -> the rows of the file's table, which are numbered through all banks
 *      banks     -> rows, in order of address
 *      walked    the callchains of switches, each once
 *      recent    the last callchain of a thread, and on which words of its stack it depends: a thread that waits in a loop has the same one again
 *
 * Part of record.bpf.c. */
#ifndef COREWISE_UNWIND_H
#define COREWISE_UNWIND_H

/* Set before loading, in a separate section. If 0, the verifier removes this code. */
const volatile u32 unwinds SEC(".rodata.unwinds") = 0;

#define WALK_DEPTH USER_DEPTH
#define BANK_BITS 18
#define BANK_ROWS (1u << BANK_BITS)
#define MAX_BANKS 64
#define MAX_MAPPINGS (1u << 17)
/* The most steps of a search: those of one process, and the rows of all banks. */
#define MAPPING_STEPS 14
#define ROW_STEPS 24

/* How a callchain ended, as in src/wire.rs. */
#define ENDED_ROOT 1
#define ENDED_DEPTH 2
#define ENDED_NO_TABLE 3
#define ENDED_UNREADABLE 4
#define ENDED_NOT_CODE 5
/* Not recorded: the callchain is that by frame pointers. */
#define ENDED_NOT_READ 6

/* The lower half of a row, as in crates/unwind/src/row.rs. */
#define ROW_NONE 0
#define ROW_SP 1
#define ROW_FP 2
#define ROW_FP_DEREF 3
#define ROW_PLT 4
#define ROW_SIGNAL 5
#define ROW_END 6
#define ROW_SP_DEREF 7
#define ROW_KIND(rule) ((rule) & 7)
#define ROW_CFA(rule) ((long long)((s32)((rule) << 14) >> 17) * 8)
#define ROW_FP_AT(rule) ((rule) >> 18 & 127)
#define ROW_RA_AT(rule) ((rule) >> 25)
/* In place of the number of rows: the table is not read yet. */
#define NOT_READ 0xffffffff
/* Not in tables: the rule of code without one. */
#define BY_FRAME_POINTER 8

/* Where a signal frame has the registers of the interrupted code, relative to the stack pointer (crates/unwind/src/row.rs). */
#define SIGNAL_FP 120
#define SIGNAL_SP 160
#define SIGNAL_PC 168
#define SIGNAL_FP_ARM64 544
#define SIGNAL_LR_ARM64 552
#define SIGNAL_SP_ARM64 560
#define SIGNAL_PC_ARM64 568
/* Return addresses may be signed in the bits above (pointer authentication). */
#define ADDRESS_ARM64 ((1ull << 48) - 1)

struct mapping {
	u64 from, to;
	u64 base;        /* address of the table's 0 */
	u32 first, rows; /* of the table; 0 rows: it has none */
};

struct space {
	u32 first, count;
	u32 generation; /* another one after each change */
	u32 pad;
};

struct bank {
	u64 at[BANK_ROWS];
};

#define SLOTS 64
#define STACK_WORDS 256

struct walk {
	u64 pc, sp, fp, lr;
	u64 hash;
	u64 begin, first_fp; /* the stack and frame pointers at first */
	u64 check;           /* hash of the words that were read from the stack */
	u32 first, count;    /* the mappings of the process */
	u32 depth, ended;
	u32 slots, words;
	u32 generation;
	s32 number;          /* of the callchain, if it is known without a walk */
	bool exact;          /* pc is an instruction to be executed, not a return address */
	bool has_lr;         /* lr is that of this frame */
	bool arm64;
	bool is_simple;      /* the result depends on nothing but the registers and these words */
	u16 slot[SLOTS];
	u64 at[WALK_DEPTH];
	u64 stack[STACK_WORDS]; /* a copy, to compare */
};

struct recent {
	u64 pc, sp, fp, check;
	u32 tid, generation;
	s32 number;
	u16 slots, words;
	u16 slot[SLOTS]; /* the words of the stack, from the stack pointer on */
};

struct walked {
	u64 hash;
	u32 depth, ended;
	u64 at[WALK_DEPTH];
};

struct {
	UINT(type, MAP_HASH);
	UINT(map_flags, F_NO_PREALLOC);
	UINT(max_entries, 1 << 15);
	TYPE(key, u32);
	TYPE(value, struct space);
} spaces SEC(".maps");

/* Processes that have no space. */
struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 1 << 10);
	TYPE(key, u32);
	TYPE(value, u32);
} missing SEC(".maps");

struct {
	UINT(type, MAP_ARRAY);
	UINT(map_flags, F_MMAPABLE);
	UINT(max_entries, MAX_MAPPINGS);
	TYPE(key, u32);
	TYPE(value, struct mapping);
} mappings SEC(".maps");

struct bank_map {
	UINT(type, MAP_ARRAY);
	UINT(map_flags, F_MMAPABLE);
	UINT(max_entries, 1);
	UINT(key_size, sizeof(u32));
	UINT(value_size, sizeof(struct bank));
};

struct {
	UINT(type, MAP_ARRAY_OF_MAPS);
	UINT(max_entries, MAX_BANKS);
	TYPE(key, u32);
	typeof(struct bank_map) *values[];
} banks SEC(".maps");

#define WALKED_BITS 15
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1 << WALKED_BITS);
	TYPE(key, u32);
	TYPE(value, struct walked);
} walked SEC(".maps");

/* Of each CPU, one of switches and one of samples: a sample can come while a switch is recorded. */
#define AT_SWITCH 0
#define AT_SAMPLE 1
struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct walk);
} walks SEC(".maps");

#define RECENT_BITS 13
struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1 << RECENT_BITS);
	TYPE(key, u32);
	TYPE(value, struct recent);
} recent SEC(".maps");

INLINE u64 mixed(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

INLINE struct mapping *mapping_at(struct walk *w, u64 address)
{
	u32 at = w->first, count = w->count;
	for (int i = 0; i < MAPPING_STEPS && count > 1; i++) {
		u32 half = count / 2, middle = at + half;
		struct mapping *m = map_lookup(&mappings, &middle);
		if (!m)
			return 0;
		if (m->from <= address)
			at = middle;
		count -= half;
	}
	struct mapping *m = map_lookup(&mappings, &at);
	return m && m->from <= address && address < m->to ? m : 0;
}

INLINE u64 numbered_row(u32 number)
{
	u32 key = number >> BANK_BITS, zero = 0;
	void *map = map_lookup(&banks, &key);
	if (!map)
		return 0;
	struct bank *bank = map_lookup(map, &zero);
	return bank ? bank->at[number & (BANK_ROWS - 1)] : 0;
}

/* The rule at an address relative to the table's base. */
NOINLINE u32 rule_at(u32 first, u32 count, u32 address)
{
	u64 found = numbered_row(first);
	if (found >> 32 > address)
		return ROW_NONE;
	for (int i = 0; i < ROW_STEPS && count > 1; i++) {
		u32 half = count / 2;
		u64 row = numbered_row(first + half);
		if (row >> 32 <= address) {
			first += half;
			found = row;
		}
		count -= half;
	}
	return found;
}

INLINE bool word_at(u64 *word, u64 address)
{
	return !probe_read_user(word, sizeof(*word), (void *)address);
}

/* Reads a word of the stack, and notes it. */
INLINE bool word_of(struct walk *w, u64 *word, u64 address)
{
	if (!word_at(word, address))
		return 0;
	u64 place = (address - w->begin) / 8;
	u32 slots = w->slots;
	if (place >= STACK_WORDS || slots >= SLOTS || (address - w->begin) & 7) {
		w->is_simple = 0;
		return 1;
	}
	w->slot[slots & (SLOTS - 1)] = place;
	w->slots = slots + 1;
	if (w->words <= place)
		w->words = place + 1;
	w->check = mixed(w->check, *word);
	return 1;
}

INLINE int ends(struct walk *w, u32 how)
{
	w->ended = how;
	return 1;
}

INLINE int leave_signal(struct walk *w)
{
	u64 sp = w->sp;
	w->is_simple = 0;
	w->exact = 1;
	w->has_lr = w->arm64;
	if (w->arm64) {
		if (!word_at(&w->fp, sp + SIGNAL_FP_ARM64) || !word_at(&w->lr, sp + SIGNAL_LR_ARM64) ||
		    !word_at(&w->sp, sp + SIGNAL_SP_ARM64) || !word_at(&w->pc, sp + SIGNAL_PC_ARM64))
			return ends(w, ENDED_UNREADABLE);
		return 0;
	}
	if (!word_at(&w->fp, sp + SIGNAL_FP) || !word_at(&w->sp, sp + SIGNAL_SP) || !word_at(&w->pc, sp + SIGNAL_PC))
		return ends(w, ENDED_UNREADABLE);
	return 0;
}

/* Adds a frame and goes to its caller. Returns 1 at the end. */
static int step(u64 i, void *which)
{
	u32 key = *(u32 *)which;
	struct walk *w = map_lookup(&walks, &key);
	if (!w || w->depth >= WALK_DEPTH)
		return 1;
	u64 pc = w->pc, code = w->exact ? pc : pc - 1;
	struct mapping *m = mapping_at(w, code);
	if (!m && w->depth)
		return ends(w, ENDED_NOT_CODE);
	u32 depth = w->depth;
	w->at[depth & (WALK_DEPTH - 1)] = pc;
	w->depth = depth + 1;
	w->hash = mixed(w->hash, pc);
	if (!m)
		return ends(w, ENDED_NOT_CODE);
	if (m->rows == NOT_READ)
		return ends(w, ENDED_NOT_READ);
	u32 rule = m->rows ? rule_at(m->first, m->rows, code - m->base) : 0;
	u32 kind = m->rows ? ROW_KIND(rule) : BY_FRAME_POINTER;
	u64 sp = w->sp, fp = w->fp, cfa, ra = w->lr;
	u32 ra_at = 1, fp_at = 0;
	if (kind == BY_FRAME_POINTER) {
		/* Of a frame that has saved none, this is the caller's. */
		if (!fp)
			return ends(w, ENDED_ROOT);
		if (fp & 7 || fp < sp)
			return ends(w, ENDED_NO_TABLE);
		cfa = fp + 16;
		fp_at = 2;
	} else if (kind == ROW_END) {
		return ends(w, ENDED_ROOT);
	} else if (kind == ROW_SIGNAL) {
		return leave_signal(w);
	} else if (kind == ROW_NONE) {
		return ends(w, ENDED_NO_TABLE);
	} else if (kind == ROW_PLT) {
		cfa = sp + 8 + ((pc & 15) >= ROW_RA_AT(rule) ? 8 : 0);
	} else {
		cfa = (kind == ROW_FP || kind == ROW_FP_DEREF ? fp : sp) + ROW_CFA(rule);
		if ((kind == ROW_FP_DEREF || kind == ROW_SP_DEREF) && !word_of(w, &cfa, cfa))
			return ends(w, ENDED_UNREADABLE);
		fp_at = ROW_FP_AT(rule);
		ra_at = ROW_RA_AT(rule);
	}
	bool own = ra_at == 0;
	/* The stack of a caller is above. A function that has not touched its own returns by its link register. */
	if (own ? !w->has_lr || cfa < sp : cfa <= sp)
		return ends(w, ENDED_NO_TABLE);
	if (kind == ROW_FP_DEREF && !word_of(w, &w->fp, fp))
		return ends(w, ENDED_UNREADABLE);
	/* Below the stack pointer it has been restored already: then it may be on a page that is not there. */
	if (fp_at && !word_of(w, &w->fp, cfa - 8 * fp_at) && cfa - 8 * fp_at >= sp)
		return ends(w, ENDED_UNREADABLE);
	if (!own && !word_of(w, &ra, cfa - 8 * ra_at))
		return ends(w, ENDED_UNREADABLE);
	if (w->arm64)
		ra &= ADDRESS_ARM64;
	if (!ra)
		return ends(w, ENDED_ROOT);
	w->pc = ra;
	w->sp = cfa;
	w->exact = 0;
	w->has_lr = 0;
	return 0;
}

/* Whether the callchain is that of the thread's last switch: the registers are the same, and so are the words of the stack from which it came. Then
 * `number` is its number. */
NOINLINE bool is_as_before(struct walk *w, u32 tid)
{
	u32 place = tid & ((1 << RECENT_BITS) - 1);
	struct recent *r = map_lookup(&recent, &place);
	if (!w || !r || r->tid != tid || r->pc != w->pc || r->sp != w->sp || r->fp != w->fp || r->generation != w->generation)
		return 0;
	s32 number = r->number;
	u32 slots = r->slots, bytes = r->words * 8;
	OPAQUE(bytes);
	if (bytes > sizeof(w->stack) || probe_read_user(w->stack, bytes, (void *)w->sp))
		return 0;
	u64 check = w->lr;
	for (u32 i = 0; i < SLOTS && i < slots; i++)
		check = mixed(check, w->stack[r->slot[i] & (STACK_WORDS - 1)]);
	/* Another thread that has the same place may have written it meanwhile. */
	BARRIER();
	if (check != r->check || r->tid != tid || r->pc != w->pc)
		return 0;
	w->number = number;
	return 1;
}

INLINE void remember(struct walk *w, u32 tid, u64 pc, u64 fp, s32 number)
{
	u32 place = tid & ((1 << RECENT_BITS) - 1);
	struct recent *r = map_lookup(&recent, &place);
	if (!r)
		return;
	r->tid = 0;
	BARRIER();
	r->pc = pc;
	r->sp = w->begin;
	r->fp = fp;
	r->check = w->check;
	r->generation = w->generation;
	r->number = number;
	r->slots = w->slots;
	r->words = w->words;
	probe_read(r->slot, sizeof(r->slot), w->slot);
	BARRIER();
	r->tid = tid;
}

/* Walks the user stack of a thread that entered the kernel with these registers. Returns 0 if its process is not known, or a table is not read
 * yet. */
NOINLINE struct walk *walk_of(struct task_struct *p, u32 key)
{
	u32 process = p->tgid, one = 1;
	struct walk *w = map_lookup(&walks, &key);
	struct pt_regs *registers = p->flags & PF_KTHREAD ? 0 : registers_of(p);
	if (!w || !registers || is_compat(p))
		return 0;
	struct space *space = map_lookup(&spaces, &process);
	if (!space) {
		map_update(&missing, &process, &one, NO_EXIST);
		return 0;
	}
	w->first = space->first;
	w->count = space->count;
	w->generation = space->generation;
	w->arm64 = ON_ARM64(registers);
	if (w->arm64) {
		struct pt_regs___arm64 *r = (void *)registers;
		w->pc = r->pc;
		w->sp = r->sp;
		w->fp = r->regs[29];
		w->lr = r->regs[30];
	} else {
		w->pc = registers->ip;
		w->sp = registers->sp;
		w->fp = registers->bp;
		w->lr = 0;
	}
	w->exact = 1;
	w->has_lr = w->arm64;
	if (key == AT_SWITCH && is_as_before(w, p->pid))
		return w;
	w->number = 0;
	w->begin = w->sp;
	w->first_fp = w->fp;
	w->is_simple = 1;
	w->slots = 0;
	w->words = 0;
	w->check = w->lr;
	w->hash = 0;
	w->depth = 0;
	w->ended = ENDED_DEPTH;
	loop(WALK_DEPTH, step, &key, 0);
	return w->ended == ENDED_NOT_READ ? 0 : w;
}

/* A new process has what its parent had mapped. */
INLINE void inherit_space(u32 parent, u32 child)
{
	struct space *space = parent == child ? 0 : map_lookup(&spaces, &parent);
	if (space)
		map_update(&spaces, &child, space, 0);
}

/* The number of the callchain that was walked: its place in `walked`, above the numbers of the kernel's map. Negative: none, as in stacks.h. */
NOINLINE int walked_number(struct walk *w, u32 tid)
{
	if (!w)
		return -14;
	if (w->number)
		return w->number;
	if (!w->depth)
		return -14;
	u64 hash = (w->hash ^ w->ended) | 1;
	u32 bytes = (w->depth & (2 * WALK_DEPTH - 1)) * 8;
	OPAQUE(bytes);
	if (bytes > sizeof(w->at))
		return -14;
	for (u32 i = 0; i < 4; i++) {
		u32 slot = ((hash >> 20) + i) & ((1 << WALKED_BITS) - 1);
		struct walked *to = map_lookup(&walked, &slot);
		if (!to)
			return -14;
		u64 has = to->hash ? to->hash : __sync_val_compare_and_swap(&to->hash, 0, hash);
		if (!has) {
			to->depth = w->depth;
			to->ended = w->ended;
			probe_read(to->at, bytes, w->at);
		}
		if (!has || has == hash) {
			s32 number = FIRST_WALKED + slot;
			if (w->is_simple && w->ended == ENDED_ROOT)
				remember(w, tid, w->at[0], w->first_fp, number);
			return number;
		}
	}
	return -17;
}

#endif
