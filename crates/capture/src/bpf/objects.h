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

/* Sends what an object is. */
NOINLINE int send_object(struct task_struct *task, struct object_key *key, u32 number, u32 descriptor)
{
	u32 zero = 0;
	struct rare_object *r = map_lookup(&object_record, &zero);
	if (!r || !key || !task)
		return 0;
	__builtin_memset(r, 0, sizeof(*r));
	BEGIN((*r), OBJECT, task);
	r->number = number;
	r->id = key->number;
	if (key->of < PAGE) {
		r->what = key->of;
		return send(r, sizeof(*r));
	}
	struct file *file = (void *)key->of;
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

/* The number of an object; 0: there are too many. */
NOINLINE u32 number_of(struct task_struct *task, struct object_key *key, u32 descriptor)
{
	if (!key)
		return 0;
	u32 *known = map_lookup(&objects, key);
	if (known)
		return *known;
	if (numbers_given >= OBJECT_MAX)
		return 0;
	u32 number = __sync_fetch_and_add(&numbers_given, 1) + 1;
	if (number > OBJECT_MAX || map_update(&objects, key, &number, 0))
		return 0;
	send_object(task, key, number, descriptor);
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
	if (what == FOR_FILES) {
		key.number = (u32)second_argument(registers);
		s32 descriptor = -1;
		if (key.number == 1) {
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
	if (what == FOR_FILE && !file_of(task, first, &key))
		return 0;
	u64 mixed = IS_OBJECT | (key.of ^ key.number << 16 ^ key.number << 40);
	if (likely(s->waits_for == mixed))
		return s->object;
	s->waits_for = mixed;
	s->object = number_of(task, &key, first);
	return s->object;
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
