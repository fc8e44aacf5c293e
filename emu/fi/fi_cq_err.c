/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_cq_err.c - the error side of a completion queue. err_data is the refusal's sentence, terminated; or, with
 * FI_EADDRNOTAVAIL, the address of a sender that the address vector does not hold; with FI_ENOMSG there is none. */
#include "emu/fi/fi_cq_err.h"

#include <rdma/fi_errno.h>
#include <stdio.h>
#include <string.h>

#include "emu/fi/fi_addr.h"
#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_cq.h"
#include "emu/fi/fi_domain.h"
#include "emu/nic/driver.h"
#include "emu/nic/refusal.h"

static void keep(struct emu_cq *cq, const struct cq_error *error)
{
	pthread_mutex_lock(&cq->lock);
	cq->last_prov_errno = error->prov_errno;
	memcpy(cq->last_text, error->text, sizeof(cq->last_text));
	cq->last_source = error->source;
	pthread_mutex_unlock(&cq->lock);
}

/* From API 1.5 on into the program's buffer, if it names one; else `kept`, which is good until the next read (fi_cq(3)).
 * Returns how many bytes were written. */
static size_t give_data(const struct emu_cq *cq, const void *data, size_t length, void *kept,
			struct fi_cq_err_entry *entry)
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

static void give(struct emu_cq *cq, const struct cq_error *error, struct fi_cq_err_entry *entry)
{
	size_t written;

	/* A peek that finds nothing is no fault to be explained, and fabtests names a buffer there that is none. */
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

static void write_entry(struct emu_cq *cq, const struct cq_error *error, struct fi_cq_err_entry *entry)
{
	entry->op_context = error->c.context;
	entry->flags = error->c.flags;
	entry->len = error->c.length;
	entry->buf = error->c.buf;
	entry->data = error->c.data;
	entry->tag = error->c.tag;
	entry->olen = error->olen;
	entry->err = error->err;
	entry->prov_errno = error->prov_errno;
	give(cq, error, entry);
	if (FI_VERSION_GE(cq->domain->api, FI_VERSION(1, 20)))
		((struct compat_cq_err_entry *)entry)->src_addr = error->c.source;
}

ssize_t emu_cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
	struct emu_cq *cq = (struct emu_cq *)fid;
	struct cq_error error;
	ssize_t got;

	if (!entry)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	if (!domain_usable(cq->domain))
		return -FI_ENODEV;
	got = cq_take_error(cq->cq, &error);
	if (got == -FI_EAGAIN) {
		driver_poll(nic_driver(cq->domain->nic));
		got = cq_take_error(cq->cq, &error);
	}
	if (got < 0)
		return got;
	keep(cq, &error);
	write_entry(cq, &error, entry);
	return 1;
}

const char *emu_cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf, size_t len)
{
	struct emu_cq *cq = (struct emu_cq *)fid;
	/* The data of a stranger's message is an address, and a peek that found nothing has none. */
	const char *text = prov_errno == REFUSAL_STRANGER || prov_errno == REFUSAL_NO_MESSAGE ? NULL : err_data;

	pthread_mutex_lock(&cq->lock);
	if (!text || !*text)
		text = *cq->last_text && cq->last_prov_errno == prov_errno ?
		       cq->last_text : refusal_phrase((enum refusal_cause)prov_errno);
	if (buf && len) {
		snprintf(buf, len, "%.*s", LIMIT_ERROR_TEXT, text);
		text = buf;
	}
	pthread_mutex_unlock(&cq->lock);
	return text;
}
