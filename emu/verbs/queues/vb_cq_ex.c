/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_cq_ex.c - extended completion queues: what ibv_create_cq_ex() adds, and the reading of one entry after the other.
 *
 * From ibv_start_poll() to ibv_end_poll() the queue is the calling thread's, as with hardware, whose drivers hold a lock. The
 * times of an entry are those at which the poll found it: the clock of the NIC (hca_core_clock) is CLOCK_MONOTONIC in ns. */
#include <errno.h>
#include <time.h>

#include "emu/process/check/check_object.h"
#include "emu/verbs/queues/vb_cq.h"
#include "emu/verbs/regions/vb_pd.h"
#include "emu/verbs/start/vb_refuse.h"

enum {
	TIMES = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	FIELDS = IBV_WC_STANDARD_FLAGS | TIMES,
	MASK = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD,
	FLAGS = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
};

static struct vb_cq *cq_of(struct ibv_cq_ex *ex)
{
	return (struct vb_cq *)ex;
}

/* --- one entry after the other --- */

static uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* To the next entry: 0, or ENOENT if there is none. */
static int advance(struct vb_cq *cq)
{
	bool got = vb_cq_take(cq, 1, &cq->now);

	if (cq->check && got)
		check_settle_told();
	else if (cq->check)
		check_settle();
	if (!got)
		return ENOENT;
	cq->ex.status = cq->now.status;
	cq->ex.wr_id = cq->now.wr_id;
	if (cq->ex.read_completion_ts)
		cq->now_ns = clock_read_ns(CLOCK_MONOTONIC);
	if (cq->ex.read_completion_wallclock_ns)
		cq->wall_ns = clock_read_ns(CLOCK_REALTIME);
	return 0;
}

/* Between the two the lock is held, unless the program said that it has one thread: its checker (clang) cannot see that. */
static void polls_begin(struct vb_cq *cq) UNCHECKED
{
	if (!cq->alone)
		futex_lock(&cq->polls);
}

static void polls_end(struct vb_cq *cq) UNCHECKED
{
	if (!cq->alone)
		futex_unlock(&cq->polls);
}

/* As advance(), and if it succeeds, the queue is the caller's (V117). */
static int begin_at_one(struct vb_cq *cq)
{
	int err;

	polls_begin(cq);
	err = advance(cq);
	if (err)
		polls_end(cq);
	return err;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	polls_end(cq_of(ex));
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct vb_cq *cq = cq_of(ex);
	int err;

	if (!vb_context_usable(cq->context))
		return vb_is_ending() ? ENOENT : vb_inherited("ibv_start_poll");
	if (attr && attr->comp_mask)
		return vb_refuse(EINVAL, "ibv_start_poll", "comp_mask 0x%x has unknown bits.", attr->comp_mask);
	err = begin_at_one(cq);
	if (!err)
		return 0;
	vb_cq_drive(cq);
	err = begin_at_one(cq);
	if (err)
		vb_cq_found_none(cq);
	return err;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return advance(cq_of(ex));
}

/* --- its fields --- */

#define READER(type, name, member)             \
	static type name(struct ibv_cq_ex *ex) \
	{                                      \
		return cq_of(ex)->member;      \
	}
READER(enum ibv_wc_opcode, read_opcode, now.opcode)
READER(uint32_t, read_vendor_err, now.vendor_err)
READER(uint32_t, read_byte_len, now.byte_len)
READER(__be32, read_imm_data, now.imm_data)
READER(uint32_t, read_qp_num, now.qp_num)
READER(uint32_t, read_src_qp, now.src_qp)
READER(unsigned int, read_wc_flags, now.wc_flags)
READER(uint32_t, read_slid, now.slid)
READER(uint8_t, read_sl, now.sl)
READER(uint8_t, read_dlid_path_bits, now.dlid_path_bits)
READER(uint64_t, read_completion_ts, now_ns)
READER(uint64_t, read_completion_wallclock_ns, wall_ns)

/* Those that were not asked for stay NULL, as with hardware's drivers. */
static void fill_readers(struct ibv_cq_ex *ex, uint64_t fields)
{
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	if (fields & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = read_byte_len;
	if (fields & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = read_imm_data;
	if (fields & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = read_qp_num;
	if (fields & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = read_src_qp;
	if (fields & IBV_WC_EX_WITH_SLID)
		ex->read_slid = read_slid;
	if (fields & IBV_WC_EX_WITH_SL)
		ex->read_sl = read_sl;
	if (fields & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = read_dlid_path_bits;
	if (fields & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = read_completion_ts;
	if (fields & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

/* --- ibv_create_cq_ex --- */

static int ex_check_attr(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	static const char call[] = "ibv_create_cq_ex";
	uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	struct ibv_pd *parent = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD ? attr->parent_domain : NULL;

	if (attr->comp_mask & ~(uint32_t)MASK)
		return vb_refuse(EINVAL, call, "comp_mask 0x%x has unknown bits.", attr->comp_mask);
	if (attr->wc_flags & ~(uint64_t)FIELDS)
		return vb_absent(call, "wc_flags 0x%llx: completions have no such fields (VLAN, flow tag, tag matching).",
				 (unsigned long long)(attr->wc_flags & ~(uint64_t)FIELDS));
	if (flags & ~(uint32_t)FLAGS)
		return vb_absent(call, "flags 0x%x: SINGLE_THREADED and IGNORE_OVERRUN are all that there are.", flags);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (!parent || parent->context != context || vb_pd_of(parent)->root == vb_pd_of(parent)))
		return vb_refuse(EINVAL, call, "parent_domain is no parent domain of this context.");
	return 0;
}

struct ibv_cq_ex *vb_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct vb_cq *cq = ex_check_attr(context, attr) ? NULL : vb_cq_open(context, attr, "ibv_create_cq_ex");

	if (!cq)
		return NULL;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) {
		cq->alone = attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
		cq->tells_overrun = !(attr->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);
	}
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		cq->parent = vb_pd_of(attr->parent_domain);
		vb_pd_get(cq->parent);
	}
	fill_readers(&cq->ex, attr->wc_flags);
	return &cq->ex;
}
