/* Requests to block devices: when they are issued to the driver, and when they are done. Part of record.bpf.c. */
#ifndef COREWISE_BLOCK_H
#define COREWISE_BLOCK_H

/* A kind of `struct rare` (wire.h), decoded by src/spool/rare.rs. */
#define BLOCK_REQUEST 26

struct rare_block {
	struct rare head; /* tid 0: issued by an interrupt, or done */
	u64 sector;
	u32 device; /* the kernel's number (MKDEV) */
	u32 bytes;
	u32 operation; /* REQ_OP_... */
	u32 done;
};

struct gendisk {
	int major;
	int first_minor;
} RELOCATED;

struct request_queue {
	struct gendisk *disk;
} RELOCATED;

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
} RELOCATED;

#define REQ_OP_MASK 255
#define SECTOR_NONE (~0ull)

INLINE int on_request(struct request *rq, u32 bytes, u32 done)
{
	struct task_struct *task = current_task();
	struct block *own = base_block(this_cpu());
	struct rare_block record = {};
	BEGIN(record, BLOCK_REQUEST, task);
	if (done || (own && own->interrupts))
		record.head.tid = 0;
	struct gendisk *disk = rq->q->disk;
	if (disk)
		record.device = (u32)disk->major << 20 | ((u32)disk->first_minor & 0xfffff);
	/* Requests without data have no sector. */
	record.sector = rq->__sector == SECTOR_NONE ? 0 : rq->__sector;
	record.bytes = bytes;
	record.operation = rq->cmd_flags & REQ_OP_MASK;
	record.done = done;
	return send(&record, sizeof(record));
}

SEC("tp_btf/block_rq_issue")
int block_rq_issue(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	return on_request(rq, rq->__data_len, 0);
}

SEC("tp_btf/block_rq_complete")
int block_rq_complete(u64 *ctx)
{
	return on_request((void *)ctx[0], ctx[2], 1);
}

#endif
