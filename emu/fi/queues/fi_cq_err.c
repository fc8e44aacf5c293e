/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_cq_err.c - the error side of a completion queue. err_data is the refusal's sentence, terminated; with FI_EADDRNOTAVAIL
 * the address of a sender that is not in the address vector; with FI_ENOMSG there is none. */
#include "emu/fi/queues/fi_queues.h"

#include <rdma/fi_errno.h>
#include <stdio.h>
#include <string.h>

#include "emu/fi/address/fi_addr.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_front_end.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/nic/regions/refusal.h"
#include "emu/nic/role/driver.h"

static void cq_err_remember(struct emu_cq *cq, const struct cq_error *error)
{
	mutex_lock(&cq->lock);
	cq->last_prov_errno = error->prov_errno;
	memcpy(cq->last_text, error->text, sizeof(cq->last_text));
	cq->last_source = error->source;
	mutex_unlock(&cq->lock);
}

/* Copies into the program's buffer, if it names one (API 1.5); else points to `kept`, which is valid until the next read
 * (fi_cq(3)). Returns how many bytes were written. */
static size_t give_data(const struct emu_cq *cq, const void *data, size_t length, void *kept, struct fi_cq_err_entry *entry)
{
	bool sized = FI_VERSION_GE(cq->domain->api, FI_VERSION(1, 5));
	bool ours = !sized || !entry->err_data || !entry->err_data_size;

	if (!ours && length > entry->err_data_size)
		length = entry->err_data_size;
	if (ours)
		entry->err_data = kept;
	else
		memcpy(entry->err_data, data, length);
	if (sized)
		entry->err_data_size = length;
	return ours ? 0 : length;
}

static void cq_err_explain(struct emu_cq *cq, const struct cq_error *error, struct fi_cq_err_entry *entry)
{
	size_t written;

	/* A peek that finds nothing needs no explanation, and the buffer that fabtests names there is not a valid one. */
	if (error->err == FI_ENOMSG) {
		if (FI_VERSION_GE(cq->domain->api, FI_VERSION(1, 5)))
			entry->err_data_size = 0;
		return;
	}
	if (error->source.ss_family) {
		give_data(cq, &error->source, addr_size((const struct sockaddr *)&error->source), &cq->last_source, entry);
		return;
	}
	written = give_data(cq, error->text, strlen(error->text) + 1, cq->last_text, entry);
	if (written)
		((char *)entry->err_data)[written - 1] = '\0';
}

static void cq_write_error_entry(struct emu_cq *cq, const struct cq_error *error, struct fi_cq_err_entry *entry)
{
	entry->op_context = error->c.context;
	entry->flags = error->c.flags;
	entry->len = error->c.length;
	entry->buf = domain_hmem(cq->domain) ? domain_hmem(cq->domain)->named(error->c.buf) : error->c.buf;
	entry->data = error->c.data;
	entry->tag = error->c.tag;
	entry->olen = error->olen;
	entry->err = (int)status_of(error->err);
	entry->prov_errno = error->prov_errno;
	cq_err_explain(cq, error, entry);
	if (FI_VERSION_GE(cq->domain->api, FI_VERSION(1, 20)))
		((struct compat_cq_err_entry *)entry)->src_addr = error->c.source;
}

ssize_t emu_cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
	struct emu_cq *cq = (struct emu_cq *)fid;
	struct cq_error error;
	ssize_t got;

	if (!entry)
		return REFUSE(CQ, -FI_EINVAL, "fi_cq_readerr: buf is NULL.");
	if (flags)
		return REFUSE_FLAGS(CQ, "fi_cq_readerr", flags);
	if (!domain_usable(cq->domain))
		return refuse_inherited("fi_cq_readerr");
	got = cq_take_error(cq->cq, &error);
	if (got == -FI_EAGAIN) {
		driver_poll(nic_driver(cq->domain->nic));
		got = cq_take_error(cq->cq, &error);
	}
	if (got < 0)
		return got;
	cq_err_remember(cq, &error);
	cq_write_error_entry(cq, &error, entry);
	return 1;
}

const char *emu_cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf, size_t len)
{
	struct emu_cq *cq = (struct emu_cq *)fid;
	/* The data of a stranger's message is an address, and a peek that found nothing has none. */
	const char *text = prov_errno == REFUSAL_STRANGER || prov_errno == REFUSAL_NO_MESSAGE ? NULL : err_data;

	mutex_lock(&cq->lock);
	if (!text || !*text)
		text = *cq->last_text && cq->last_prov_errno == prov_errno
			       ? cq->last_text
			       : refusal_phrase(&emu_front_end, (enum refusal_cause)prov_errno);
	if (buf && len) {
		snprintf(buf, len, "%.*s", LIMIT_ERROR_TEXT, text);
		text = buf;
	}
	mutex_unlock(&cq->lock);
	return text;
}
