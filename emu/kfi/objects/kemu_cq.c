/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_cq.c - completion queues: reading, and their handlers. libfabric's queue has the format that holds all others. */
#include "emu/kfi/objects/kemu_open.h"

#include <kfi_domain.h>
#include <kfi_errno.h>
#include <linux/compiler.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/provider/fi_kernel.h"
#include "emu/kfi/objects/kemu_queue_parts.h"
#include "emu/kfi/objects/kemu_object.h"
#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_refuse.h"
#include "emu/kfi/provider/kemu_personality.h"

enum {
	AHEAD = 16,          /* entries that are read at once */
	KEMU_CQ_SIZE = 2048, /* without one: KCXI_CQ_DEF_SZ */
};

_Static_assert(sizeof(struct kfi_cq_tagged_entry) == sizeof(struct fi_cq_tagged_entry), "the formats are libfabric's");

struct kemu_cq_state {
	pthread_mutex_t lock; /* guards all below, and reads of libfabric's queue that do not sleep */
	size_t entry_size;    /* of the client's format; constant, as the next one */
	size_t size;
	struct kemu_source source; /* added where there is a handler */
	bool armed;                /* the handler is to be called; it watches the queue, or is kicked */
	/* Entries that were read, with their sources; the first one is entry[begin]. */
	struct fi_cq_tagged_entry entry[AHEAD];
	fi_addr_t from[AHEAD];
	size_t begin, count;
	struct kemu_lent lent;
};

static struct kemu_cq *kemu_cq_of(struct kfid_cq *kfid)
{
	return container_of(kfid, struct kemu_cq, kfid);
}

/* --- reading ahead --- */

/* Ends what was lent for the entries read, and leaves those out that a client is not to see. */
static void entries_settle(struct kemu_cq_state *state, size_t read)
{
	state->begin = state->count = 0;
	for (size_t i = 0; i < read; i++) {
		if (!kemu_lent_end(&state->lent, &state->entry[i].op_context, &state->entry[i].buf, true))
			continue;
		state->entry[i].flags = kemu_kfi_cq_flags(state->entry[i].flags);
		if (state->count < i) {
			state->entry[state->count] = state->entry[i];
			state->from[state->count] = state->from[i];
		}
		state->count++;
	}
}

/* 0: there are entries; else libfabric's error, -KFI_EAGAIN if there is nothing. */
static ssize_t read_ahead(struct kemu_cq *cq, size_t most)
{
	struct kemu_cq_state *state = cq->state;
	ssize_t read;

	while (!state->count) {
		read = fi_cq_readfrom(cq->fi, state->entry, most < AHEAD ? most : AHEAD, state->from);
		if (read <= 0)
			return read ? read : -KFI_EAGAIN;
		entries_settle(state, (size_t)read);
	}
	return 0;
}

static void hand_out(struct kemu_cq_state *state, void **buf, kfi_addr_t **src_addr)
{
	memcpy(*buf, &state->entry[state->begin], state->entry_size);
	*buf = (char *)*buf + state->entry_size;
	if (*src_addr)
		*(*src_addr)++ = state->from[state->begin];
	state->begin++;
	state->count--;
}

/* --- the handler --- */

static void wake_later(struct kemu_cq *cq)
{
	struct fid *fid = &cq->fi->fid;
	int err = fi_trywait(cq->domain->fabric->fi, &fid, 1);

	if (!err)
		kemu_softirq_watch(&cq->state->source);
	else if (err == -KFI_EAGAIN)
		kemu_softirq_kick(&cq->state->source);
}

static void arm_handler(struct kemu_cq *cq)
{
	if (!cq->kfid.comp_handler || cq->state->armed)
		return;
	cq->state->armed = true;
	wake_later(cq);
}

static void run_handler(struct kemu_source *source)
{
	struct kemu_cq_state *state = container_of(source, struct kemu_cq_state, source);
	struct kemu_cq *cq = state->lent.cq;
	bool call = false;

	pthread_mutex_lock(&state->lock);
	if (state->armed) {
		call = read_ahead(cq, AHEAD) != -KFI_EAGAIN; /* an error is something to read, too */
		state->armed = !call;
		if (!call)
			wake_later(cq);
	}
	pthread_mutex_unlock(&state->lock);
	if (!call)
		return;
	emu_kernel_enter_atomic();
	cq->kfid.comp_handler(&cq->kfid, cq->kfid.fid.context);
	emu_kernel_leave_atomic();
}

/* --- the calls --- */

static bool has_overrun(const struct kemu_cq *cq)
{
	size_t lost = 0;

	return cq->domain->fabric->personality->overflow && !fi_control(&cq->fi->fid, EMU_FI_CQ_LOST, &lost) && lost;
}

/* A read that finds no further entry arms the handler. */
static ssize_t read_now(struct kemu_cq *cq, void *buf, size_t count, kfi_addr_t *src_addr)
{
	struct kemu_cq_state *state = cq->state;
	ssize_t err = 0;
	size_t read;

	pthread_mutex_lock(&state->lock);
	for (read = 0; read < count; read++) {
		err = read_ahead(cq, count - read);
		if (err)
			break;
		hand_out(state, &buf, &src_addr);
	}
	if (err == -KFI_EAGAIN && has_overrun(cq))
		err = -KFI_EOVERRUN;
	else if (err == -KFI_EAGAIN)
		arm_handler(cq);
	pthread_mutex_unlock(&state->lock);
	return read ? (ssize_t)read : err;
}

static ssize_t kemu_cq_read(struct kfid_cq *kfid, void *buf, size_t count)
{
	if (!buf && count)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_cq_read: buf is NULL.");
	return read_now(kemu_cq_of(kfid), buf, count, NULL);
}

static ssize_t kemu_cq_readfrom(struct kfid_cq *kfid, void *buf, size_t count, kfi_addr_t *src_addr)
{
	if ((!buf || !src_addr) && count)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_cq_readfrom: buf or src_addr is NULL.");
	return read_now(kemu_cq_of(kfid), buf, count, src_addr);
}

static int told_error(const struct kemu_cq *cq, int err)
{
	int not_ready = cq->domain->fabric->personality->not_ready;

	return err == FI_ENORX && not_ready ? not_ready : err;
}

static ssize_t kemu_cq_readerr(struct kfid_cq *kfid, struct kfi_cq_err_entry *buf, uint64_t flags)
{
	struct kemu_cq *cq = kemu_cq_of(kfid);
	struct fi_cq_err_entry error = { 0 }; /* with no room for err_data: it is the provider's */
	bool text = cq->domain->fabric->personality->error_text;
	ssize_t read;

	if (!buf)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_cq_readerr: buf is NULL.");
	pthread_mutex_lock(&cq->state->lock);
	read = fi_cq_readerr(cq->fi, &error, flags);
	if (read == 1)
		kemu_lent_end(&cq->state->lent, &error.op_context, &error.buf, false);
	pthread_mutex_unlock(&cq->state->lock);
	if (read == -KFI_EAGAIN && has_overrun(cq))
		return -KFI_EOVERRUN;
	if (read != 1)
		return read;
	*buf = (struct kfi_cq_err_entry){
		.op_context = error.op_context,
		.flags = kemu_kfi_cq_flags(error.flags),
		.len = error.len,
		.buf = error.buf,
		.data = error.data,
		.tag = error.tag,
		.olen = error.olen,
		.err = told_error(cq, error.err),
		.prov_errno = error.prov_errno,
		.err_data = text ? error.err_data : buf->err_data,
		.err_data_size = text ? error.err_data_size : 0,
	};
	return 1;
}

/* Sleeps in libfabric, which gives one entry at most, so that none is lost where the client sees none of it. */
static ssize_t sread(struct kemu_cq *cq, void *buf, size_t count, kfi_addr_t *src_addr, const void *cond, int timeout)
{
	struct kemu_cq_state *state = cq->state;
	uint64_t end = emu_kernel_ns() + (uint64_t)(timeout > 0 ? timeout : 0) * 1000000;
	struct fi_cq_tagged_entry entry;
	fi_addr_t from;

	for (;;) {
		ssize_t rc = read_now(cq, buf, count, src_addr);
		bool seen;

		if (rc != -KFI_EAGAIN)
			return rc;
		rc = fi_cq_sreadfrom(cq->fi, &entry, 1, &from, cond, kemu_time_left(end, timeout));
		if (rc != 1)
			return rc;
		pthread_mutex_lock(&state->lock);
		seen = kemu_lent_end(&state->lent, &entry.op_context, &entry.buf, true);
		pthread_mutex_unlock(&state->lock);
		if (!seen)
			continue;
		entry.flags = kemu_kfi_cq_flags(entry.flags);
		memcpy(buf, &entry, state->entry_size);
		if (src_addr)
			*src_addr = from;
		if (count > 1)
			rc = read_now(cq, (char *)buf + state->entry_size, count - 1, src_addr ? src_addr + 1 : NULL);
		return count > 1 && rc > 0 ? rc + 1 : 1;
	}
}

static ssize_t kemu_cq_sread(struct kfid_cq *kfid, void *buf, size_t count, const void *cond, int timeout)
{
	EMU_KERNEL_SLEEPS("kfi_cq_sread");
	if (!kemu_cq_of(kfid)->domain->fabric->personality->waits)
		return KEMU_REFUSE(-KFI_ENOSYS,
				   "kfi_cq_sread: this provider has no reads that sleep. Wait for the handler's call.");
	if (!buf || !count)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_cq_sread: buf is NULL, or count 0.");
	return sread(kemu_cq_of(kfid), buf, count, NULL, cond, timeout);
}

static ssize_t kemu_cq_sreadfrom(struct kfid_cq *kfid, void *buf, size_t count, kfi_addr_t *src_addr, const void *cond, int timeout)
{
	EMU_KERNEL_SLEEPS("kfi_cq_sreadfrom");
	if (!kemu_cq_of(kfid)->domain->fabric->personality->waits)
		return KEMU_REFUSE(-KFI_ENOSYS,
				   "kfi_cq_sreadfrom: this provider has no reads that sleep. Wait for the handler's call.");
	if (!buf || !src_addr || !count)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_cq_sreadfrom: buf or src_addr is NULL, or count 0.");
	return sread(kemu_cq_of(kfid), buf, count, src_addr, cond, timeout);
}

static int kemu_cq_signal(struct kfid_cq *kfid)
{
	if (!kemu_cq_of(kfid)->domain->fabric->personality->waits)
		return KEMU_REFUSE(-KFI_ENOSYS, "kfi_cq_signal: this provider has no reads that sleep.");
	return fi_cq_signal(kemu_cq_of(kfid)->fi);
}

static const char *kemu_cq_strerror(struct kfid_cq *kfid, int prov_errno, const void *err_data, char *buf, size_t len)
{
	return fi_cq_strerror(kemu_cq_of(kfid)->fi, prov_errno, err_data, buf, len);
}

static struct kfi_ops_cq cq_ops = {
	.size = sizeof(struct kfi_ops_cq),
	.read = kemu_cq_read,
	.readfrom = kemu_cq_readfrom,
	.readerr = kemu_cq_readerr,
	.sread = kemu_cq_sread,
	.sreadfrom = kemu_cq_sreadfrom,
	.signal = kemu_cq_signal,
	.strerror = kemu_cq_strerror,
};

bool kemu_cq_saturated(struct kemu_cq *cq)
{
	size_t unread = 0;

	if (fi_control(&cq->fi->fid, EMU_FI_CQ_UNREAD, &unread))
		return false;
	return unread + READ_ONCE(cq->state->count) >= cq->state->size;
}

/* --- lending --- */

void *kemu_cq_lend(struct kemu_cq *cq, void *context, struct kemu_window *window, bool silent)
{
	void *lent;

	pthread_mutex_lock(&cq->state->lock);
	lent = kemu_lent_begin(&cq->state->lent, context, window, silent);
	pthread_mutex_unlock(&cq->state->lock);
	return lent;
}

void kemu_cq_unlend(struct kemu_cq *cq, void *lent)
{
	pthread_mutex_lock(&cq->state->lock);
	kemu_lent_drop(&cq->state->lent, lent);
	pthread_mutex_unlock(&cq->state->lock);
}

void *kemu_cq_lent(struct kemu_cq *cq, void *context)
{
	void *lent;

	pthread_mutex_lock(&cq->state->lock);
	lent = kemu_lent_find(&cq->state->lent, context);
	pthread_mutex_unlock(&cq->state->lock);
	return lent;
}

/* --- life --- */

static int begin_handler(struct kemu_cq *cq)
{
	int fd, err;

	if (!cq->kfid.comp_handler)
		return 0;
	err = fi_control(&cq->fi->fid, FI_GETWAIT, &fd);
	if (!err)
		err = kemu_softirq_add(cq->domain->fabric->softirq, &cq->state->source, fd);
	if (err)
		return err;
	pthread_mutex_lock(&cq->state->lock);
	arm_handler(cq); /* an empty queue is a drained one */
	pthread_mutex_unlock(&cq->state->lock);
	return 0;
}

static int kemu_cq_close(struct kfid *fid)
{
	struct kemu_cq *cq = container_of(fid, struct kemu_cq, kfid.fid);
	int err;

	EMU_KERNEL_SLEEPS("kfi_close");
	err = KEMU_REFUSE_USED(cq->object.users,
			       "endpoints and contexts to which the completion queue is bound, and poll sets with it");
	if (err)
		return err;
	if (!kemu_softirq_remove(&cq->state->source))
		return KEMU_REFUSE(-KFI_EBUSY,
				   "kfi_close: the caller is the handler of this completion queue. Close it elsewhere.");
	err = fi_close(&cq->fi->fid);
	if (err) {
		cq->state->armed = false;
		begin_handler(cq);
		return err;
	}
	kemu_lent_fini(&cq->state->lent);
	pthread_mutex_destroy(&cq->state->lock);
	free(cq->state);
	kemu_object_end(&cq->object, cq);
	return 0;
}

static struct kfi_ops cq_fid_ops = {
	.size = sizeof(struct kfi_ops),
	.close = kemu_cq_close,
	KEMU_NO_FID_OPS,
};

static size_t size_of_format(enum kfi_cq_format format)
{
	switch (format) {
	case KFI_CQ_FORMAT_CONTEXT:
		return sizeof(struct kfi_cq_entry);
	case KFI_CQ_FORMAT_MSG:
		return sizeof(struct kfi_cq_msg_entry);
	case KFI_CQ_FORMAT_DATA:
		return sizeof(struct kfi_cq_data_entry);
	case KFI_CQ_FORMAT_TAGGED:
		return sizeof(struct kfi_cq_tagged_entry);
	default:
		return 0;
	}
}

/* The client's attributes in libfabric's. */
static int take_cq_attr(struct kemu_cq *cq, struct kfi_cq_attr *attr, struct fi_cq_attr *fi)
{
	struct kfi_cq_attr none = { .format = KFI_CQ_FORMAT_UNSPEC };

	if (!attr)
		attr = &none;
	if (attr->format == KFI_CQ_FORMAT_UNSPEC)
		attr->format = KFI_CQ_FORMAT_DATA;
	cq->state->entry_size = size_of_format(attr->format);
	if (!cq->state->entry_size)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_cq_open: format %d is none of KFI_CQ_FORMAT_UNSPEC to KFI_CQ_FORMAT_TAGGED.",
				   (int)attr->format);
	if (attr->flags & ~(uint64_t)KFI_AFFINITY)
		return KEMU_REFUSE_FLAGS("kfi_cq_open", attr->flags & ~(uint64_t)KFI_AFFINITY, "");
	fi->size = attr->size;
	cq->state->size = attr->size ? attr->size : KEMU_CQ_SIZE;
	fi->format = FI_CQ_FORMAT_TAGGED;
	fi->wait_cond = attr->wait_cond == KFI_CQ_COND_THRESHOLD ? FI_CQ_COND_THRESHOLD : FI_CQ_COND_NONE;
	return kemu_wait_attr(cq->domain->fabric, "kfi_cq_open", attr->wait_obj, attr->wait_set, cq->kfid.comp_handler, &cq->object,
			      &fi->wait_obj, &fi->wait_set);
}

static int open_cq(struct kemu_cq *cq, struct kfi_cq_attr *attr)
{
	const struct kemu_personality *personality = cq->domain->fabric->personality;
	struct fi_cq_attr fi = { 0 };
	int err = take_cq_attr(cq, attr, &fi);
	size_t most = cq->state->size + personality->overflow;

	if (err)
		return err;
	err = fi_cq_open(cq->domain->fi, &fi, &cq->fi, cq);
	if (err)
		return err;
	if (personality->overflow)
		err = fi_control(&cq->fi->fid, EMU_FI_CQ_OVERRUN_AT, &most);
	if (!err)
		err = begin_handler(cq);
	if (err)
		fi_close(&cq->fi->fid);
	return err;
}

int kemu_cq_open(struct kfid_domain *domain, struct kfi_cq_attr *attr, struct kfid_cq **out, kfi_comp_handler comp_handler,
		 void *context)
{
	struct kemu_cq *cq;
	int err;

	EMU_KERNEL_SLEEPS("kfi_cq_open");
	if (!out)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_cq_open: cq is NULL.");
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -KFI_ENOMEM;
	cq->state = calloc(1, sizeof(*cq->state));
	cq->domain = kemu_domain(&domain->fid);
	cq->kfid = (struct kfid_cq){ .fid = { .fclass = KFI_CLASS_CQ, .context = context, .ops = &cq_fid_ops },
				     .ops = &cq_ops,
				     .comp_handler = comp_handler };
	err = cq->state ? 0 : -KFI_ENOMEM;
	if (!err) {
		pthread_mutex_init(&cq->state->lock, NULL);
		cq->state->source.run = run_handler;
		cq->state->lent.cq = cq;
		err = open_cq(cq, attr);
	}
	if (err)
		free(cq->state);
	err = kemu_object_opened(&cq->object, &cq->domain->object.users, cq, err);
	if (!err)
		*out = &cq->kfid;
	return err;
}
