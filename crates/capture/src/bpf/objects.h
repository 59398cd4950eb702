/* What a thread waits for in a system call other than futex, and for which lock of the kernel.
 *
 * Each object has a number, which the switch records next to the call (calls.h). What the object is, is sent once, when it gets its number.
 * The same file opened twice has two numbers; the reader joins them by inode, and the two ends of a connection. Part of record.bpf.c. */
#ifndef COREWISE_OBJECTS_H
#define COREWISE_OBJECTS_H

/* What a system call's arguments say that it waits for. */
enum waits_for {
	FOR_NOTHING,
	FOR_FILE, /* the first is a descriptor */
	FOR_FILES, /* poll: the first points to some, the second is their number */
	FOR_SOME, /* select */
	FOR_CHILD, /* wait4: the first is a PID, or which ones */
	FOR_CHILD_OF_KIND, /* waitid: the second is a PID, if the first says so */
	FOR_SEMAPHORES, /* the first is the number of a System V set */
	FOR_MESSAGES, /* the first is the number of a System V queue */
	FOR_READY, /* the first is the descriptor of an epoll set */
	FOR_FIRST_AND_SECOND, /* both are descriptors */
	FOR_FIRST_AND_THIRD,
	FOR_WORDS, /* futex_waitv: the first points to some, the second is their number */
};

/* By the call's number. Set before loading, in a separate section. */
const volatile u8 waits_for[CALLS] SEC(".rodata.calls");

/* Set before loading, in a separate section. If 0, the verifier removes this code. */
const volatile u32 records_objects SEC(".rodata.objects") = 0;

/* Only P_PID says that the second argument of waitid is a PID (UAPI, linux/wait.h). */
#define P_PID 1

/* How many objects are known at a time. Beyond that, the least recently used is forgotten: it gets another number if a thread waits for it
 * again. */
#define OBJECTS 16384

/* An open file and its inode's number; or an `enum waits_for` and which one. */
struct object_key {
	u64 of;
	u64 number;
};

struct {
	UINT(type, MAP_LRU_HASH);
	UINT(max_entries, OBJECTS);
	TYPE(key, struct object_key);
	TYPE(value, u32);
} objects SEC(".maps");

/* A record of each CPU: it is too large for the stack. */
struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct rare_object);
} object_record SEC(".maps");

/* The parts of a set: its first SET_MAX descriptors as poll() has them, or futex words as futex_waitv() has them (UAPI). */
struct polled {
	s32 descriptor;
	u32 events;
};

struct waited_word {
	u64 value, address;
	u32 flags, reserved;
};

#define SELECT_WORDS 16

struct set {
	struct polled polled[SET_MAX];
	struct waited_word words[SET_MAX];
	u32 numbers[SET_MAX];
	u64 addresses[SET_MAX];
	/* How many it has. This and the rest are here because the verifier follows each value of a variable. */
	u32 count;
	/* Of select(): its bits, those of one of its three sets, and which word of them and how many descriptors were taken. */
	u32 at, found;
	u64 bits[SELECT_WORDS], read[SELECT_WORDS];
};

/* One of each CPU: it is too large for the stack. */
struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct set);
} set_record SEC(".maps");

/* How many numbers were given. */
u32 numbers_given;

/* The names of a file and of the folders above it, up to the root of its file system. */
INLINE void read_path(struct file *file, struct rare_object *r)
{
	struct dentry *at = 0;
	READ(at, file->f_path.dentry);
	for (int n = 0; n < PATH_PARTS; n++) {
		struct dentry *above = 0;
		const unsigned char *name = 0;
		if (!at || READ(above, at->d_parent))
			return;
		if (above == at && n)
			return;
		READ(name, at->d_name.name);
		probe_read_str(r->path[n], PART_MAX, name);
		if (above == at)
			return;
		at = above;
	}
}

INLINE void read_unix(struct sock *sk, struct rare_object *r)
{
	struct unix_sock *own = (void *)sk;
	struct sock *peer = 0;
	struct socket *socket = 0;
	struct unix_address *address = 0;
	READ(peer, own->peer);
	if (peer && !READ(socket, peer->sk_socket) && socket) {
		struct inode *inode = (void *)socket + FIELD_OFFSET(((struct socket_alloc *)0)->vfs_inode);
		unsigned long number = 0;
		READ(number, inode->i_ino);
		r->peer = number;
	}
	/* Of the two ends, the one that was bound has a name. */
	READ(address, own->addr);
	if (!address && peer)
		READ(address, ((struct unix_sock *)peer)->addr);
	if (address)
		probe_read(r->path[0], sizeof(struct sockaddr_un), &address->name);
}

INLINE void read_socket(struct file *file, struct rare_object *r)
{
	struct socket *socket = 0;
	struct sock *sk = 0;
	if (READ(socket, file->private_data) || !socket || READ(sk, socket->sk) || !sk)
		return;
	READ(r->family, sk->__sk_common.skc_family);
	READ(r->protocol, sk->sk_protocol);
	READ(r->ports[0], sk->__sk_common.skc_num);
	READ(r->ports[1], sk->__sk_common.skc_dport);
	if (r->family == FAMILY_UNIX) {
		read_unix(sk, r);
	} else if (r->family == FAMILY_INET) {
		probe_read(r->addresses[0], 4, &sk->__sk_common.skc_rcv_saddr);
		probe_read(r->addresses[1], 4, &sk->__sk_common.skc_daddr);
	} else if (r->family == FAMILY_INET6 && FIELD_EXISTS(sk->__sk_common.skc_v6_daddr)) {
		probe_read(r->addresses[0], 16, &sk->__sk_common.skc_v6_rcv_saddr);
		probe_read(r->addresses[1], 16, &sk->__sk_common.skc_v6_daddr);
	}
}

/* Sends what an object is: its key, its number, its descriptor, and a thread that waits for it. */
GLOBAL int send_object(u64 of, u64 id, u32 number, u32 descriptor, u32 tid)
{
	u32 zero = 0;
	struct rare_object *r = map_lookup(&object_record, &zero);
	if (!r)
		return 0;
	__builtin_memset(r, 0, sizeof(*r));
	BEGIN_FOR((*r), OBJECT, tid);
	r->number = number;
	r->id = id;
	r->what = of;
	if (of < PAGE)
		return send(r, sizeof(*r));
	struct file *file = (void *)of;
	struct inode *inode = 0;
	struct super_block *volume = 0;
	r->what = FOR_FILE;
	r->descriptor = descriptor;
	if (!READ(inode, file->f_inode) && inode) {
		READ(r->mode, inode->i_mode);
		if (!READ(volume, inode->i_sb) && volume)
			READ(r->device, volume->s_dev);
	}
	if ((r->mode & MODE_KIND) == MODE_SOCKET) {
		read_socket(file, r);
	} else {
		READ(r->data, file->private_data);
		read_path(file, r);
	}
	return send(r, sizeof(*r));
}

/* Gives an object a number; 0: there are too many. */
INLINE u32 new_number(struct object_key *key)
{
	if (numbers_given >= OBJECT_MAX)
		return 0;
	u32 number = __sync_fetch_and_add(&numbers_given, 1) + 1;
	return number > OBJECT_MAX || map_update(&objects, key, &number, 0) ? 0 : number;
}

/* The number of the object with this key, for which a thread waits; 0: there are too many. */
GLOBAL u32 number_of(u64 of, u64 id, u32 descriptor, u32 tid)
{
	struct object_key key = { of, id };
	u32 *known = map_lookup(&objects, &key);
	if (known)
		return *known;
	u32 number = new_number(&key);
	if (number)
		send_object(of, id, number, descriptor, tid);
	return number;
}

/* A thread's memory is read once in this time on average, and up to READS_TOGETHER times one after the other. It takes 0.3 us (AMD EPYC, in
 * a VM), longer than all else here; and in a short wait who wakes a futex shows who held it. */
#define READ_EVERY_NS 100000ll
#define READS_TOGETHER 20

/* Whether a thread's memory may be read now. `memory_read` is when it could be read again, if it were read at equal distances. */
INLINE bool may_read(struct seen *s, u64 now)
{
	long long early = s->memory_read - now;
	if (early > READS_TOGETHER * READ_EVERY_NS)
		return 0;
	s->memory_read = (early > 0 ? s->memory_read : now) + READ_EVERY_NS;
	return 1;
}

/* Sets the open file that a descriptor of the current task is. Returns whether there is one. */
INLINE bool file_of(struct task_struct *task, u32 descriptor, struct object_key *key)
{
	struct file *file = 0;
	struct inode *inode = 0;
	unsigned long number = 0;
	struct files_struct *files = task->files;
	if (!files)
		return 0;
	struct fdtable *table = files->fdt;
	if (!table || descriptor >= table->max_fds)
		return 0;
	struct file **place = table->fd + descriptor;
	if (bpf_rdonly_cast) {
		/* Any type that begins with a number of 64 bits serves: the verifier does not calculate with pointers. */
		struct timespec64 *entry = bpf_rdonly_cast(place, TYPE_ID(struct timespec64));
		key->of = entry->tv_sec;
		file = bpf_rdonly_cast((void *)key->of, TYPE_ID(struct file));
		key->number = file->f_inode->i_ino;
		return !!key->of;
	}
	if (probe_read(&file, sizeof(file), place) || !file || READ(inode, file->f_inode) || !inode)
		return 0;
	READ(number, inode->i_ino);
	key->of = (u64)file;
	key->number = number;
	return 1;
}

/* ---- sets ---- */

/* How many bits are set. */
INLINE u32 ones(u64 bits)
{
	bits -= bits >> 1 & 0x5555555555555555;
	bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return bits * 0x0101010101010101 >> 56;
}

/* Reads which descriptors select() waits for, of those below 1024, which is the most that libraries have. */
INLINE void read_select(struct pt_regs *registers, struct set *set)
{
	u32 count = first_argument(registers), bytes = (count + 63) / 64 * 8;
	u64 from[3] = { second_argument(registers), third_argument(registers), fourth_argument(registers) };
	OPAQUE(bytes);
	if (bytes > sizeof(set->bits))
		bytes = sizeof(set->bits);
	for (int n = 0; n < 3; n++) {
		if (!from[n] || probe_read_user(set->read, bytes, (void *)from[n]))
			continue;
		for (u32 at = 0; at < SELECT_WORDS; at++)
			set->bits[at] |= set->read[at];
	}
	if (count % 64 && count / 64 < SELECT_WORDS)
		set->bits[count / 64] &= (1ull << count % 64) - 1;
	for (u32 at = 0; at < SELECT_WORDS; at++)
		set->count += ones(set->bits[at]);
	/* One step for each word, and for each descriptor that is kept. */
	for (u32 step = 0; step < SELECT_WORDS + SET_MAX; step++) {
		BARRIER();
		u32 at = set->at, found = set->found;
		if (at >= SELECT_WORDS || found >= SET_MAX)
			return;
		u64 bits = set->bits[at], lowest = bits & -bits;
		if (!bits) {
			set->at = at + 1;
			continue;
		}
		set->polled[found].descriptor = at * 64 + ones(lowest - 1);
		set->found = found + 1;
		set->bits[at] = bits ^ lowest;
	}
}

/* Reads the parts of the set for which the current task waits in this call. */
INLINE void read_set(struct pt_regs *registers, u32 what, struct set *set)
{
	u64 first = first_argument(registers);
	u32 count = second_argument(registers), parts = count < SET_MAX ? count : SET_MAX;
	OPAQUE(parts);
	if (parts > SET_MAX)
		return;
	set->count = count;
	if (what == FOR_FILES) {
		if (probe_read_user(set->polled, parts * sizeof(struct polled), (void *)first))
			set->count = 0;
	} else if (what == FOR_WORDS) {
		if (probe_read_user(set->words, parts * sizeof(struct waited_word), (void *)first))
			set->count = 0;
	} else if (what == FOR_SOME) {
		set->count = 0;
		read_select(registers, set);
	} else {
		set->count = 2;
		set->polled[0].descriptor = first;
		set->polled[1].descriptor = what == FOR_FIRST_AND_SECOND ? count : third_argument(registers);
	}
}

/* Sends what a set has. */
NOINLINE int send_set(struct task_struct *task, struct set *set, u32 what, u32 count, u32 number)
{
	u32 zero = 0;
	struct rare_object *r = map_lookup(&object_record, &zero);
	if (!r || !task || !set)
		return 0;
	__builtin_memset(r, 0, sizeof(*r));
	BEGIN((*r), OBJECT, task);
	r->number = number;
	r->what = what;
	r->id = count;
	r->peer = count < SET_MAX ? count : SET_MAX;
	if (what == FOR_WORDS)
		__builtin_memcpy(r->path, set->addresses, sizeof(set->addresses));
	else
		__builtin_memcpy(r->path, set->numbers, sizeof(set->numbers));
	return send(r, sizeof(*r));
}

/* The number of the set for which the current task waits in a call with these arguments (enum waits_for); 0: unknown. */
GLOBAL u32 number_of_set(u32 what)
{
	u32 zero = 0;
	struct task_struct *task = current_task();
	struct pt_regs *registers = registers_of(task);
	struct set *set = map_lookup(&set_record, &zero);
	if (!set || !registers)
		return 0;
	__builtin_memset(set, 0, sizeof(*set));
	read_set(registers, what, set);
	u32 count = set->count;
	/* FNV-1a, of 32 bits at a time. */
	u64 hash = 0xcbf29ce484222325 ^ count;
	for (u32 n = 0; n < SET_MAX; n++) {
		if (n >= count)
			break;
		if (what == FOR_WORDS) {
			set->addresses[n] = set->words[n].address;
			hash = (hash ^ set->addresses[n]) * 0x100000001b3;
			continue;
		}
		struct object_key key = {};
		s32 descriptor = set->polled[n].descriptor;
		if (descriptor >= 0 && file_of(task, descriptor, &key))
			set->numbers[n] = number_of(key.of, key.number, descriptor, task->pid);
		hash = (hash ^ set->numbers[n]) * 0x100000001b3;
	}
	if (!count)
		return 0;
	/* Words of two processes may have the same addresses. */
	struct object_key key = { what, what == FOR_WORDS ? hash ^ (u64)task->tgid << 32 : hash };
	u32 *known = map_lookup(&objects, &key);
	if (known)
		return *known;
	u32 number = new_number(&key);
	if (number)
		send_set(task, set, what, count, number);
	return number;
}

/* Whether a thread waits for a set of epoll: the address of the set's file, which begins with ones in the kernel. Other marks of what a
 * thread waits for do not begin so. */
#define IS_EPOLL (3ull << 62)

/* Not inline: it is rare, and the common path is shorter without it. `p`, which waits for a set of epoll, is about to be woken. Writes which
 * descriptor became ready, the last one of the set's list. */
NOINLINE int write_ready(struct block *b, u64 now, struct task_struct *p, u64 set)
{
	struct eventpoll *poll = 0;
	struct list_head *last = 0;
	struct inode *inode = 0;
	struct object_key key = {};
	int descriptor = 0;
	if (!b || !p || !FIELD_EXISTS(((struct epitem *)0)->ffd) || READ(poll, ((struct file *)set)->private_data) || !poll)
		return 0;
	if (READ(last, poll->rdllist.prev) || !last || last == (void *)poll + FIELD_OFFSET(((struct eventpoll *)0)->rdllist))
		return 0;
	struct epitem *item = (void *)last - FIELD_OFFSET(((struct epitem *)0)->rdllink);
	if (READ(key.of, item->ffd.file) || READ(descriptor, item->ffd.fd) || READ(inode, ((struct file *)key.of)->f_inode) || !inode)
		return 0;
	unsigned long inode_number = 0;
	READ(inode_number, inode->i_ino);
	key.number = inode_number;
	u32 number = number_of(key.of, key.number, descriptor, p->pid);
	if (!number)
		return 0;
	u32 *at = room(b, now, word(READY, 0, 0));
	at[2] = p->pid;
	at[3] = number;
	BARRIER();
	b->used += 16;
	return 0;
}

/* The number of what `task` waits for in this call; 0: unknown. Only the memory of the current task can be read. */
INLINE u32 object_of(struct task_struct *task, struct pt_regs *registers, int number, struct seen *s, u64 now, bool is_current)
{
	if (!registers || number < 0 || number >= CALLS)
		return 0;
	u32 what = waits_for[number];
	if (!what)
		return 0;
	u64 first = first_argument(registers);
	struct object_key key = { what, (s32)first };
	bool is_set = what >= FOR_FIRST_AND_SECOND || (what == FOR_SOME && first);
	if (what == FOR_FILES || what == FOR_WORDS) {
		key.number = (u32)second_argument(registers);
		is_set = key.number > 1;
	}
	if (is_set && is_current && may_read(s, now)) {
		u32 of_set = number_of_set(what);
		if (of_set) {
			s->waits_for = IS_OBJECT | of_set;
			s->object = of_set;
			return of_set;
		}
	}
	if (what == FOR_FILES && key.number == 1) {
		s32 descriptor = -1;
		if (!is_current || !may_read(s, now))
			return 0;
		bool read = !probe_read_user(&descriptor, sizeof(descriptor), (void *)first);
		if (read && descriptor >= 0) {
			what = FOR_FILE;
			first = descriptor;
		} else if (read) {
			key.number = 0;
		}
	}
	if (what == FOR_SOME) {
		/* Without descriptors, it waits for time only. The number is one more than the highest of them, so it is not how many they are. */
		key.of = first ? FOR_SOME : FOR_FILES;
		key.number = 0;
	}
	if (what == FOR_CHILD_OF_KIND) {
		key.of = FOR_CHILD;
		key.number = first == P_PID ? (s32)second_argument(registers) : -1;
	}
	if (what == FOR_FIRST_AND_SECOND || what == FOR_FIRST_AND_THIRD)
		return 0;
	if ((what == FOR_FILE || what == FOR_READY) && !file_of(task, first, &key))
		return 0;
	u64 mixed = key.of | IS_EPOLL;
	if (what != FOR_READY)
		mixed = ((key.of ^ key.number << 16 ^ key.number << 40) & ~IS_EPOLL) | IS_OBJECT;
	if (likely(s->waits_for == mixed))
		return s->object;
	s->waits_for = mixed;
	s->object = number_of(key.of, key.number, first, task->pid);
	return s->object;
}

/* What the current task waits for in this call. */
GLOBAL u32 object_of_current(int number, u64 now)
{
	struct task_struct *task = current_task();
	struct seen *s = seen_of(task->pid);
	return s ? object_of(task, registers_of(task), number, s, now, 1) : 0;
}

/* ---- locks of the kernel ---- */

/* What the kernel's detector of hung tasks keeps: the address of the lock, and in its low bits which kind it is. */
#define BLOCKER_KIND 3ul
#define BLOCKER_SEMAPHORE 1
/* The low bits of an owner are flags; of an rwsem, the first says that readers hold it. */
#define OWNER_FLAGS 7ul
#define HELD_BY_READERS 1ul

INLINE u64 kernel_lock_of(struct task_struct *p)
{
	return records_objects && FIELD_EXISTS(p->blocker) ? p->blocker : 0;
}

/* Not inline: it is rare, and the common path is shorter without it. `p` leaves its CPU to wait for `lock`. Returns how many bytes it
 * wrote. */
NOINLINE int write_kernel_lock(struct block *b, u64 now, u32 tid, u64 lock)
{
	if (!b)
		return 0;
	u32 kind = lock & BLOCKER_KIND;
	lock &= ~BLOCKER_KIND;
	u64 owner = 0;
	if (!kind)
		READ(owner, ((struct mutex *)lock)->owner);
	else if (kind != BLOCKER_SEMAPHORE && !READ(owner, ((struct rw_semaphore *)lock)->owner) && owner & HELD_BY_READERS)
		owner = 0;
	s32 holder = 0;
	struct task_struct *task = (void *)(owner & ~OWNER_FLAGS);
	if (task)
		READ(holder, task->pid);
	u32 *at = room(b, now, word(KERNEL_LOCK, kind, 0));
	at[2] = tid;
	at[3] = holder;
	*(u64 *)(at + 4) = lock;
	return 24;
}

#endif
