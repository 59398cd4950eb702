/* Interrupts and timers. They are always followed, since a thread that was interrupted is not the waker of the thread that the
 * interrupt wakes. They are recorded unless `--no-irq`. Part of record.bpf.c. */
#ifndef COREWISE_INTERRUPTS_H
#define COREWISE_INTERRUPTS_H

/* Set before loading. */
const volatile u32 recorded_kinds SEC(".rodata.interrupts") = 0;
#define RECORD_INTERRUPTS 1
#define RECORD_TIMERS 2

/* Maximum number of timers' functions that are named. */
#define FUNCTIONS 1024

/* The functions of timers whose names were sent (struct rare_function), by the lower half of their addresses. */
struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, FUNCTIONS);
	TYPE(key, u32);
	TYPE(value, u8);
} functions SEC(".maps");

const char function_name[] SEC(".rodata.functions") = "%ps";

INLINE int on_numbered(u32 type, u32 number)
{
	struct block *b = claim(this_cpu());
	if (!b)
		return 0;
	u32 *at = room(b, ktime(), word(type, 0, 0));
	at[2] = number;
	release(b, 12);
	return 0;
}

INLINE void begin_interrupt(void)
{
	struct block *own = base_block(this_cpu());
	if (own)
		own->interrupts++;
}

/* The beginning of an interrupt that began before the recording is missing. */
INLINE int end_interrupt(void)
{
	struct block *own = base_block(this_cpu());
	if (own && own->interrupts)
		own->interrupts--;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int irq_handler_entry(u64 *ctx)
{
	begin_interrupt();
	return recorded_kinds & RECORD_INTERRUPTS ? on_numbered(HARD_IN, ctx[0]) : 0;
}

SEC("tp_btf/irq_handler_exit")
int irq_handler_exit(u64 *ctx)
{
	end_interrupt();
	return recorded_kinds & RECORD_INTERRUPTS ? on_numbered(HARD_OUT, ctx[0]) : 0;
}

INLINE int on_short(u32 type, u32 which)
{
	struct block *b = claim(this_cpu());
	if (!b)
		return 0;
	room(b, ktime(), word(type, which, 0));
	release(b, 8);
	return 0;
}

/* Softirqs of the network: a task that sends to this machine itself runs them on its own behalf, and so wakes the receiver. All others
 * (block devices, timers, RCU, …) do what an interrupt or another CPU asked for, whichever task is current. */
#define NET_TX 2
#define NET_RX 3

INLINE bool is_for_others(u64 vector)
{
	return vector != NET_TX && vector != NET_RX;
}

SEC("tp_btf/softirq_entry")
int softirq_entry(u64 *ctx)
{
	if (is_for_others(ctx[0]))
		begin_interrupt();
	return recorded_kinds & RECORD_INTERRUPTS ? on_short(SOFT_IN, ctx[0]) : 0;
}

SEC("tp_btf/softirq_exit")
int softirq_exit(u64 *ctx)
{
	if (is_for_others(ctx[0]))
		end_interrupt();
	return recorded_kinds & RECORD_INTERRUPTS ? on_short(SOFT_OUT, ctx[0]) : 0;
}

/* The kernel itself formats the function's name: the recorder may not be allowed to read the kernel's list of functions. */
NOINLINE int send_function(u64 function)
{
	struct rare_function r = {};
	u32 of = function;
	u8 sent = 1;
	r.head.kind = KIND_RARE;
	r.head.type = FUNCTION;
	r.head.cpu = this_cpu();
	r.head.at = ktime();
	r.of = of;
	/* Added to the map first: if the map is full, the name would otherwise be sent each time. */
	if (map_update(&functions, &of, &sent, 0))
		return 0;
	if (print(r.name, sizeof(r.name), function_name, &function, sizeof(function)) <= 0 ||
	    ring_output(&ring, &r, sizeof(r), RB_NO_WAKEUP))
		map_delete(&functions, &of);
	return 0;
}

INLINE int on_timer(u64 function)
{
	u32 of = function;
	if (unlikely(!map_lookup(&functions, &of)))
		send_function(function);
	return on_numbered(TIMER, of);
}

/* Without the end, a wakeup would be taken for one by the last timer before it. */
INLINE int end_timer(void)
{
	end_interrupt();
	return recorded_kinds & RECORD_TIMERS ? on_short(TIMER_OUT, 0) : 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int hrtimer_expire_entry(u64 *ctx)
{
	struct hrtimer *timer = (void *)ctx[0];
	u64 function = 0;
	begin_interrupt();
	return !(recorded_kinds & RECORD_TIMERS) || READ(function, timer->function) ? 0 : on_timer(function);
}

SEC("tp_btf/hrtimer_expire_exit")
int hrtimer_expire_exit(u64 *ctx)
{
	return end_timer();
}

SEC("tp_btf/timer_expire_entry")
int timer_expire_entry(u64 *ctx)
{
	struct timer_list *timer = (void *)ctx[0];
	u64 function = 0;
	begin_interrupt();
	return !(recorded_kinds & RECORD_TIMERS) || READ(function, timer->function) ? 0 : on_timer(function);
}

SEC("tp_btf/timer_expire_exit")
int timer_expire_exit(u64 *ctx)
{
	return end_timer();
}

SEC("tp_btf/reschedule_entry")
int reschedule_entry(u64 *ctx)
{
	return on_short(IPI, IPI_RESCHEDULE);
}

SEC("tp_btf/call_function_entry")
int call_function_entry(u64 *ctx)
{
	return on_short(IPI, IPI_CALL_FUNCTION);
}

SEC("tp_btf/call_function_single_entry")
int call_function_single_entry(u64 *ctx)
{
	return on_short(IPI, IPI_CALL_FUNCTION);
}

/* ARM and RISC-V, where the kernel says why in words: "Rescheduling interrupts", "Function call interrupts". */
SEC("tp_btf/ipi_entry")
int ipi_entry(u64 *ctx)
{
	char why[4] = {};
	probe_read_str(why, sizeof(why), (void *)ctx[0]);
	return on_short(IPI, why[0] == 'R' ? IPI_RESCHEDULE : why[0] == 'F' ? IPI_CALL_FUNCTION : IPI_OTHER);
}

#endif
