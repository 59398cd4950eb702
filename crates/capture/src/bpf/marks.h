/* Calls of marked functions and USDT probes (--mark): uprobes, attached one by one, each with the mark's number as its cookie.
 * Part of record.bpf.c. */
#ifndef COREWISE_MARKS_H
#define COREWISE_MARKS_H

INLINE int on_call(void *ctx, u32 type)
{
	struct task_struct *p = current_task();
	struct rare_call r = {};
	BEGIN(r, type, p);
	r.pid = p->tgid;
	r.mark = attach_cookie(ctx);
	return send(&r, sizeof(r));
}

SEC("uprobe")
int mark_entered(void *ctx)
{
	return on_call(ctx, ENTERED);
}

SEC("uretprobe")
int mark_returned(void *ctx)
{
	return on_call(ctx, RETURNED);
}

#endif
