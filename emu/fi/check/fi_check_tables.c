/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_tables.c - tables of calls that watch posts, and count the calls that make progress.
 *
 * A kind of object has one plain table; its first object shows it. */
#include "emu/fi/check/fi_check_impl.h"

#include <pthread.h>

#include "emu/fi/data/fi_data.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/queues/fi_queues.h"
#include "emu/fi/provider/fi_watched.h"
#include "emu/nic/base/mutex.h"

static struct mutex lock = MUTEX_INITIALIZER; /* for the making of tables, which stay as they are once they are made */

void check_tables_forked(void)
{
	mutex_forked(&lock);
}

/* --- posts: those whose flags the endpoint's defaults do not reach --- */

static struct fi_ops_msg msg_ops;
static struct fi_ops_rma rma_ops;
static struct fi_ops_tagged tagged_ops;
static struct fi_ops_atomic atomic_ops;

static struct compat_ops_ep ep_ops;

/* The program may use what it has taken back. */
static ssize_t checked_cancel(fid_t fid, void *context)
{
	ssize_t err = emu_ep_ops.base.cancel(fid, context);

	check_posts_settle();
	return err;
}

/* The program gave a bit that is ours. */
static ssize_t no_such_flag(const char *call)
{
	return REFUSE_FLAGS(EP_DATA, call, DATA_WATCHED);
}

static ssize_t checked_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	return flags & DATA_WATCHED ? no_such_flag("fi_sendmsg") : emu_msg_ops.sendmsg(ep, msg, flags | DATA_WATCHED);
}

static ssize_t checked_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	return flags & DATA_WATCHED ? no_such_flag("fi_recvmsg") : emu_msg_ops.recvmsg(ep, msg, flags | DATA_WATCHED);
}

static ssize_t checked_tsendmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return flags & DATA_WATCHED ? no_such_flag("fi_tsendmsg") : emu_tagged_ops.sendmsg(ep, msg, flags | DATA_WATCHED);
}

static ssize_t checked_trecvmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return flags & DATA_WATCHED ? no_such_flag("fi_trecvmsg") : emu_tagged_ops.recvmsg(ep, msg, flags | DATA_WATCHED);
}

static ssize_t checked_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return flags & DATA_WATCHED ? no_such_flag("fi_readmsg") : emu_rma_ops.readmsg(ep, msg, flags | DATA_WATCHED);
}

static ssize_t checked_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return flags & DATA_WATCHED ? no_such_flag("fi_writemsg") : emu_rma_ops.writemsg(ep, msg, flags | DATA_WATCHED);
}

static ssize_t checked_atomicmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return flags & DATA_WATCHED ? no_such_flag("fi_atomicmsg") : emu_atomic_ops.writemsg(ep, msg, flags | DATA_WATCHED);
}

static ssize_t checked_fetchmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, struct fi_ioc *result, void **desc,
				size_t count, uint64_t flags)
{
	return flags & DATA_WATCHED ? no_such_flag("fi_fetch_atomicmsg")
				    : emu_atomic_ops.readwritemsg(ep, msg, result, desc, count, flags | DATA_WATCHED);
}

static ssize_t checked_compmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, const struct fi_ioc *compare,
			       void **compare_desc, size_t compare_count, struct fi_ioc *result, void **desc, size_t count,
			       uint64_t flags)
{
	return flags & DATA_WATCHED ? no_such_flag("fi_compare_atomicmsg")
				    : emu_atomic_ops.compwritemsg(ep, msg, compare, compare_desc, compare_count, result, desc,
								  count, flags | DATA_WATCHED);
}

static void make_data_tables(void)
{
	mutex_lock(&lock);
	if (!msg_ops.size) {
		msg_ops = emu_msg_ops;
		msg_ops.sendmsg = checked_sendmsg;
		msg_ops.recvmsg = checked_recvmsg;
		tagged_ops = emu_tagged_ops;
		tagged_ops.sendmsg = checked_tsendmsg;
		tagged_ops.recvmsg = checked_trecvmsg;
		rma_ops = emu_rma_ops;
		rma_ops.readmsg = checked_readmsg;
		rma_ops.writemsg = checked_writemsg;
		atomic_ops = emu_atomic_ops;
		atomic_ops.writemsg = checked_atomicmsg;
		atomic_ops.readwritemsg = checked_fetchmsg;
		atomic_ops.compwritemsg = checked_compmsg;
		ep_ops = emu_ep_ops;
		ep_ops.base.cancel = checked_cancel;
	}
	mutex_unlock(&lock);
}

void check_ep_tables(struct fid_ep *fid)
{
	struct emu_ep *ep = emu_ep(fid);

	make_data_tables();
	ep->caps |= DATA_WATCHED;
	ep->tx_flags |= DATA_WATCHED;
	ep->rx_flags |= DATA_WATCHED;
	if (fid->ops == &emu_ep_ops.base)
		fid->ops = &ep_ops.base;
	if (fid->msg == &emu_msg_ops)
		fid->msg = &msg_ops;
	if (fid->tagged == &emu_tagged_ops)
		fid->tagged = &tagged_ops;
	if (ep->tagged == &emu_tagged_ops) /* behind the calls that look at tags */
		ep->tagged = &tagged_ops;
	if (fid->rma == &emu_rma_ops)
		fid->rma = &rma_ops;
	if (fid->atomic == &emu_atomic_ops)
		fid->atomic = &atomic_ops;
}

/* --- progress --- */

static struct compat_ops_cq plain_cq, cq_ops;
static struct compat_ops_cntr plain_cntr, cntr_ops;
static struct fi_ops_eq plain_eq, eq_ops;
static struct fi_ops_poll plain_poll, poll_ops;
static struct fi_ops_wait plain_wait, wait_ops;

/* A look at a queue or counter: `serial` is whose calls exclude each other, or NULL. */
static void look_begin(struct check_object *serial, const char *call)
{
	check_serial_enter(serial, call);
	check_progress_begin();
}

/* The program knows what has ended from here on. */
static void look_end(struct check_object *serial)
{
	check_posts_settle();
	check_progress_end();
	check_serial_leave(serial);
}

/* A look at an object whose calls exclude no others. */
#define LOOK(call)                             \
	({                                     \
		look_begin(NULL, NULL);        \
		__auto_type look_got = (call); \
		look_end(NULL);                \
		look_got;                      \
	})

/* A queue that loses entries when it is full, under FI_RM_DISABLED. */
static void look_at_queue(const struct fid_cq *fid)
{
	struct check_object *object = check_object_of(&fid->fid);
	size_t held = cq_overfull(((const struct emu_cq *)fid)->cq);

	if (object)
		atomic_store_explicit(&object->read, true, memory_order_relaxed);
	if (held && object && object->loses)
		check_tell(&(struct check_finding){ .cause = CHECK_CQ_OVERRUN,
						    .call = "fi_cq_read",
						    .opened = &object->open.opened },
			   "the completion queue holds %zu entries, more than it has room for: hardware has lost some", held);
}

static struct check_object *look_begin_cq(const struct fid_cq *cq, const char *call)
{
	struct check_object *serial = check_serial_of(((const struct emu_cq *)cq)->domain, (const struct emu_cq *)cq);

	struct check_object *object = check_object_of(&cq->fid);

	look_begin(serial, call);
	look_at_queue(cq);
	if (object)
		check_wait_looks(object);
	return serial;
}

/* With what the look gave, which it returns. */
static ssize_t look_end_cq(const struct fid_cq *cq, const char *call, struct check_object *serial, ssize_t got)
{
	struct check_object *object = check_object_of(&cq->fid);

	look_end(serial);
	if (object)
		check_wait_looked(object, call, got);
	if (got > 0)
		check_told();
	return got;
}

static ssize_t checked_cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	struct check_object *serial = look_begin_cq(cq, "fi_cq_read");
	ssize_t got = plain_cq.base.read(cq, buf, count);

	return look_end_cq(cq, "fi_cq_read", serial, got);
}

static ssize_t checked_cq_readfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *source)
{
	struct check_object *serial = look_begin_cq(cq, "fi_cq_readfrom");
	ssize_t got = plain_cq.base.readfrom(cq, buf, count, source);

	return look_end_cq(cq, "fi_cq_readfrom", serial, got);
}

static ssize_t checked_cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *buf, uint64_t flags)
{
	struct check_object *serial = look_begin_cq(cq, "fi_cq_readerr");
	ssize_t got = plain_cq.base.readerr(cq, buf, flags);

	return look_end_cq(cq, "fi_cq_readerr", serial, got);
}

static void look_cancelled(void *serial)
{
	check_serial_leave(serial);
}

static ssize_t checked_cq_sread(struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	struct check_object *serial = look_begin_cq(cq, "fi_cq_sread");
	ssize_t got;

	pthread_cleanup_push(look_cancelled, serial);
	got = plain_cq.base.sread(cq, buf, count, cond, timeout);
	pthread_cleanup_pop(0);
	return look_end_cq(cq, "fi_cq_sread", serial, got);
}

static ssize_t checked_cq_sreadfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *source, const void *cond, int timeout)
{
	struct check_object *serial = look_begin_cq(cq, "fi_cq_sreadfrom");
	ssize_t got;

	pthread_cleanup_push(look_cancelled, serial);
	got = plain_cq.base.sreadfrom(cq, buf, count, source, cond, timeout);
	pthread_cleanup_pop(0);
	return look_end_cq(cq, "fi_cq_sreadfrom", serial, got);
}

static struct check_object *look_begin_cntr(struct fid_cntr *cntr, const char *call)
{
	struct check_object *serial = check_serial_of(((const struct emu_cntr *)cntr)->domain, NULL);

	look_begin(serial, call);
	check_progress_counted();
	return serial;
}

static uint64_t checked_cntr_read(struct fid_cntr *cntr)
{
	struct check_object *serial = look_begin_cntr(cntr, "fi_cntr_read");
	uint64_t value = plain_cntr.base.read(cntr);

	look_end(serial);
	check_told();
	return value;
}

static uint64_t checked_cntr_readerr(struct fid_cntr *cntr)
{
	struct check_object *serial = look_begin_cntr(cntr, "fi_cntr_readerr");
	uint64_t value = plain_cntr.base.readerr(cntr);

	look_end(serial);
	return value;
}

static int checked_cntr_wait(struct fid_cntr *cntr, uint64_t threshold, int timeout)
{
	struct check_object *serial = look_begin_cntr(cntr, "fi_cntr_wait");
	int err;

	pthread_cleanup_push(look_cancelled, serial);
	err = plain_cntr.base.wait(cntr, threshold, timeout);
	pthread_cleanup_pop(0);
	look_end(serial);
	check_told();
	return err;
}

static ssize_t checked_eq_read(struct fid_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	return LOOK(plain_eq.read(eq, event, buf, len, flags));
}

static ssize_t checked_eq_sread(struct fid_eq *eq, uint32_t *event, void *buf, size_t len, int timeout, uint64_t flags)
{
	return LOOK(plain_eq.sread(eq, event, buf, len, timeout, flags));
}

static int checked_poll(struct fid_poll *poll, void **context, int count)
{
	return LOOK(plain_poll.poll(poll, context, count));
}

static int checked_wait(struct fid_wait *wait, int timeout)
{
	return LOOK(plain_wait.wait(wait, timeout));
}

void check_cq_tables(struct fid_cq *cq)
{
	mutex_lock(&lock);
	if (!cq_ops.base.size) {
		plain_cq = cq_ops = *(const struct compat_ops_cq *)cq->ops;
		cq_ops.base.read = checked_cq_read;
		cq_ops.base.readfrom = checked_cq_readfrom;
		cq_ops.base.readerr = checked_cq_readerr;
		cq_ops.base.sread = checked_cq_sread;
		cq_ops.base.sreadfrom = checked_cq_sreadfrom;
	}
	mutex_unlock(&lock);
	cq->ops = &cq_ops.base;
}

void check_cntr_tables(struct fid_cntr *cntr)
{
	mutex_lock(&lock);
	if (!cntr_ops.base.size) {
		plain_cntr = cntr_ops = *(const struct compat_ops_cntr *)cntr->ops;
		cntr_ops.base.read = checked_cntr_read;
		cntr_ops.base.readerr = checked_cntr_readerr;
		cntr_ops.base.wait = checked_cntr_wait;
	}
	mutex_unlock(&lock);
	cntr->ops = &cntr_ops.base;
}

void check_eq_tables(struct fid_eq *eq)
{
	mutex_lock(&lock);
	if (!eq_ops.size) {
		plain_eq = eq_ops = *eq->ops;
		eq_ops.read = checked_eq_read;
		eq_ops.sread = checked_eq_sread;
	}
	mutex_unlock(&lock);
	eq->ops = &eq_ops;
}

void check_poll_tables(struct fid_poll *poll)
{
	mutex_lock(&lock);
	if (!poll_ops.size) {
		plain_poll = poll_ops = *poll->ops;
		poll_ops.poll = checked_poll;
	}
	mutex_unlock(&lock);
	poll->ops = &poll_ops;
}

void check_wait_tables(struct fid_wait *wait)
{
	mutex_lock(&lock);
	if (!wait_ops.size) {
		plain_wait = wait_ops = *wait->ops;
		wait_ops.wait = checked_wait;
	}
	mutex_unlock(&lock);
	wait->ops = &wait_ops;
}
