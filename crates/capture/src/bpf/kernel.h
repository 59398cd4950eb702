/* The kernel types, fields and helpers that the recorder uses. Every field is relocated at load time (CO-RE) by its
 * name in the running kernel's BTF, so the order and the offsets here do not matter. */
#ifndef COREWISE_KERNEL_H
#define COREWISE_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef _Bool bool;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
/* A function that the verifier verifies once, and not on each way to it. Its arguments are numbers. */
#define GLOBAL __attribute__((noinline))
#define RELOCATED __attribute__((preserve_access_index))
/* Keeps the compiler from moving memory accesses across it. Only interrupts on the same CPU access the same memory. */
#define BARRIER() __asm__ volatile("" ::: "memory")
/* Before a bound is checked: the compiler would compare one variable and use another one, which the verifier does not follow. */
#define OPAQUE(variable) __asm__ volatile("" : "+r"(variable))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* CO-RE relocation kinds (UAPI). */
#define FIELD_EXISTS(field) __builtin_preserve_field_info(field, 2)
#define TYPE_SIZE(type) __builtin_preserve_type_info(*(type *)0, 1)
#define FIELD_OFFSET(field) __builtin_preserve_field_info(field, 0)
#define ENUM_EXISTS(type, name) __builtin_preserve_enum_value(*(type *)name, 0)
#define ENUM_VALUE(type, name) __builtin_preserve_enum_value(*(type *)name, 1)

/* Map definitions in BTF. */
#define UINT(name, value) int(*name)[value]
#define TYPE(name, value) typeof(value) *name

#define MAP_HASH 1
#define MAP_ARRAY 2
#define MAP_PERF_EVENT_ARRAY 4
#define MAP_PERCPU_ARRAY 6
#define MAP_STACK_TRACE 7
#define MAP_LRU_HASH 9
#define MAP_ARRAY_OF_MAPS 12
#define MAP_QUEUE 22
#define MAP_RINGBUF 27
#define F_NO_PREALLOC 1
#define F_MMAPABLE 1024
#define NO_EXIST 1
#define RB_NO_WAKEUP 1
#define F_USER_STACK 256

struct thread_info {
	u32 cpu;
	u32 status; /* on x86 */
	unsigned long flags;
} RELOCATED;

struct rq {
	u64 nr_switches;
	u64 clock;
	u64 clock_task;
} RELOCATED;

struct cfs_rq {
	struct rq *rq;
	u64 throttled_clock_self;
	u64 throttled_clock_self_time;
} RELOCATED;

struct list_head {
	struct list_head *next;
	struct list_head *prev;
} RELOCATED;

struct timespec64 {
	u64 tv_sec;
} RELOCATED;

struct signal_struct {
	struct list_head thread_head;
} RELOCATED;

struct sched_info {
	unsigned long pcount;
	u64 run_delay;
	u64 last_arrival;
	u64 last_queued;
} RELOCATED;

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
	unsigned char sched_delayed;
} RELOCATED;

struct kernfs_node {
	u64 id;
	const char *name;
	struct kernfs_node *__parent; /* since Linux 6.15 */
} RELOCATED;

/* As Linux up to 6.14 has it. */
struct kernfs_node___old {
	struct kernfs_node *parent;
} RELOCATED;

struct cgroup {
	struct kernfs_node *kn;
} RELOCATED;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
} RELOCATED;

/* Only the name is used; the value is the running kernel's. */
enum cgroup_subsys_id {
	cpu_cgrp_id = 1,
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
} RELOCATED;

struct upid {
	int nr;
} RELOCATED;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} RELOCATED;

/* Bit fields; only the offset is used. */
struct uclamp_se {
	unsigned int value;
} RELOCATED;

struct cpumask {
	u64 bits[1];
} RELOCATED;

/* The registers with which a thread entered the kernel, on x86. */
struct pt_regs {
	unsigned long ax;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long r10;
	unsigned long bp;
	unsigned long sp;
} RELOCATED;

/* The same on arm64. */
struct pt_regs___arm64 {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 orig_x0;
	int syscallno;
} RELOCATED;

/* On x86. */
struct thread_struct {
	unsigned long fsbase;
} RELOCATED;

/* On arm64. */
struct thread_words {
	unsigned long tp_value;
} RELOCATED;

struct thread_struct___arm64 {
	struct thread_words uw;
} RELOCATED;

/* Open files, and what they are. */
struct super_block {
	u32 s_dev;
} RELOCATED;

struct inode {
	u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
} RELOCATED;

struct qstr {
	const unsigned char *name;
} RELOCATED;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
} RELOCATED;

struct path {
	struct dentry *dentry;
} RELOCATED;

struct file {
	struct inode *f_inode;
	void *private_data;
	struct path f_path;
} RELOCATED;

/* A set of epoll, and a descriptor in it. */
struct eventpoll {
	struct list_head rdllist;
} RELOCATED;

struct epoll_filefd {
	struct file *file;
	int fd;
} RELOCATED;

struct epitem {
	struct list_head rdllink;
	struct epoll_filefd ffd;
} RELOCATED;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} RELOCATED;

struct files_struct {
	struct fdtable *fdt;
} RELOCATED;

struct in6_addr {
	u8 u6_addr8[16];
} RELOCATED;

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} RELOCATED;

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	struct socket *sk_socket;
} RELOCATED;

struct sockaddr_un {
	u16 sun_family;
	char sun_path[108];
} RELOCATED;

struct unix_address {
	int len;
	struct sockaddr_un name[1];
} RELOCATED;

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
} RELOCATED;

struct socket {
	struct sock *sk;
} RELOCATED;

struct socket_alloc {
	struct inode vfs_inode;
} RELOCATED;

/* Locks of the kernel; only the offsets are used. */
struct atomic_long {
	u64 counter;
} RELOCATED;

struct mutex {
	struct atomic_long owner;
} RELOCATED;

struct rw_semaphore {
	struct atomic_long owner;
} RELOCATED;

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int on_rq;
	int prio;
	int static_prio;
	int normal_prio;
	struct sched_entity se;
	struct sched_info sched_info;
	struct uclamp_se uclamp_req[2];
	struct signal_struct *signal;
	struct list_head thread_node;
	bool throttled;
	unsigned int policy;
	struct cpumask cpus_mask;
	int exit_state;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct css_set *cgroups;
	struct files_struct *files;
	unsigned long blocker; /* since Linux 6.16, in some configurations */
	struct thread_struct thread;
	char comm[16];
} RELOCATED;

/* Both kinds of timers; only the offset is used. */
struct hrtimer {
	void *function;
} RELOCATED;

struct timer_list {
	void *function;
} RELOCATED;

struct task_struct___arm64 {
	struct thread_struct___arm64 thread;
} RELOCATED;

/* Before 5.14 the state was called `state`; before 5.16 some architectures kept the CPU in the task. */
struct task_struct___old {
	volatile long state;
	unsigned int cpu;
} RELOCATED;

/* Only the names are used; the values are the running kernel's. */
enum cpuhp_state {
	CPUHP_TEARDOWN_CPU = 1,
};

struct linux_binprm {
	const char *filename;
} RELOCATED;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} RELOCATED;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} RELOCATED;

/* Helpers by their number (UAPI). */
static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static u64 (*const ktime)(void) = (void *)5;
static u32 (*const this_cpu)(void) = (void *)8;
static long (*const event_read)(void *map, u64 index, void *value, u32 size) = (void *)55;
static long (*const get_stackid)(void *ctx, void *map, u64 flags) = (void *)27;
static long (*const get_stack)(void *ctx, void *to, u32 bytes, u64 flags) = (void *)67;
static long (*const map_push)(void *map, const void *value, u64 flags) = (void *)87;
static long (*const map_pop)(void *map, void *value) = (void *)88;
static long (*const probe_read)(void *dst, u32 size, const void *from) = (void *)113;
static long (*const probe_read_str)(void *dst, u32 size, const void *from) = (void *)115;
static long (*const probe_read_user)(void *dst, u32 size, const void *from) = (void *)112;
/* Reads a pointer as one to a kernel type, without a call: since Linux 6.2. */
extern void *bpf_rdonly_cast(const void *from, u32 type) __attribute__((section(".ksyms"), weak));
#define TYPE_ID(type) __builtin_btf_type_id(*(type *)0, 1)
#define READ(into, field) probe_read(&(into), sizeof(into), &(field))
static long (*const seq_write)(struct seq_file *seq, const void *data, u32 len) = (void *)127;
static long (*const ring_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static struct task_struct *(*const current_task)(void) = (void *)158;
static long (*const print)(char *out, u32 size, const char *format, const u64 *data, u32 len) = (void *)165;
static u64 (*const attach_cookie)(void *ctx) = (void *)174;
static long (*const loop)(u32 times, void *step, void *context, u64 flags) = (void *)181; /* since Linux 5.17 */
static struct pt_regs *(*const registers_of)(struct task_struct *task) = (void *)175;

#endif
