/* SPDX-License-Identifier: BSD-2-Clause */
/* sentences.c - a call that is refused says in the log what it was, what was wrong, and what to do: one line a call. */
#include "tests/fi/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_tagged.h>

enum { KEY = 7, BYTES = 64 };
#define ODD_FLAG (1ull << 56)

static uint8_t bytes[BYTES];
static int log_fd;

/* The call has this result, and the log one line more, with these words. */
static void said(const char *file, int line, const char *call, const char *words)
{
	const char *text = world_logged(log_fd), *end = strchr(text, '\n');

	cr_expect(strstr(text, words), "%s:%d: %s: no \"%s\" in: %s", file, line, call, words, text);
	cr_expect(end && !end[1], "%s:%d: %s: not one line: %s", file, line, call, text);
}

#define SAYS(err, call, words)                          \
	do {                                            \
		world_logged(log_fd);                   \
		RC(err, call);                          \
		said(__FILE__, __LINE__, #call, words); \
	} while (0)

static void open_world(struct world *w, const struct want *want)
{
	log_fd = world_catch_log("warn");
	world_open(w, want);
}

Test(fi_sentences, what_is_open_keeps_open)
{
	struct fid_mr *mr;
	struct world w;
	char key[64];

	open_world(&w, &(struct want){ .caps = FI_MSG | FI_RMA });
	RC(0, fi_mr_reg(w.domain, bytes, BYTES, FI_REMOTE_READ, 0, KEY, 0, &mr, NULL));
	SAYS(-FI_EBUSY, fi_close(&w.domain->fid), "fi_close: open in the domain are 1 regions (such as 64 B at 0x");
	snprintf(key, sizeof(key), "with key %#llx), 1 endpoints", (unsigned long long)fi_mr_key(mr));
	SAYS(-FI_EBUSY, fi_close(&w.domain->fid), key);
	SAYS(-FI_EBUSY, fi_close(&w.domain->fid),
	     "1 completion queues, 1 counters, 1 address vectors or poll sets. Close them first");
	SAYS(-FI_EBUSY, fi_close(&w.fabric->fid), "fi_close: open objects of the fabric: 2");
	SAYS(-FI_EBUSY, fi_close(&w.cq->fid), "fi_close: the completion queue is bound");
	SAYS(-FI_EBUSY, fi_close(&w.cntr->fid), "fi_close: the counter is bound");
	SAYS(-FI_EBUSY, fi_close(&w.av->fid), "fi_close: endpoints are bound to the address vector");
	SAYS(-FI_EBUSY, fi_close(&w.eq->fid), "fi_close: the event queue is bound to 1 open objects");
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_sentences, before_fi_enable)
{
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	struct world w;

	log_fd = world_catch_log("warn");
	world_open_disabled(&w, &(struct want){ 0 });
	SAYS(-FI_EOPBADSTATE, fi_getname(&w.ep->fid, &name, &length), "fi_getname: the endpoint has no address before fi_enable");
	SAYS(-FI_EOPBADSTATE, fi_write(w.ep, bytes, 8, NULL, 0, 0, KEY, NULL), "fi_write: the endpoint is not enabled.");
	SAYS(-FI_EOPBADSTATE, fi_send(w.ep, bytes, 8, NULL, 0, NULL), "fi_send: the endpoint is not enabled.");
	SAYS(-FI_EOPBADSTATE, fi_trecv(w.ep, bytes, 8, NULL, 0, 0, 0, NULL), "fi_trecv: the endpoint is not enabled.");
	SAYS(-FI_EOPBADSTATE, fi_cancel(&w.ep->fid, NULL), "fi_cancel: the endpoint is not enabled.");
	world_enable(&w);
	SAYS(-FI_EOPBADSTATE, fi_enable(w.ep), "fi_enable: the endpoint is enabled already");
	RC(0, fi_getname(&w.ep->fid, &name, &length));
	SAYS(-FI_EOPBADSTATE, fi_setname(&w.ep->fid, &name, sizeof(name)), "fi_setname: ");
	world_close(&w);
}

Test(fi_sentences, what_fi_enable_needs)
{
	struct fid_ep *ep;
	struct world w;

	open_world(&w, &(struct want){ .caps = FI_MSG });
	RC(0, fi_endpoint(w.domain, w.info, &ep, NULL));
	SAYS(-FI_ENOAV, fi_enable(ep), "fi_enable: the endpoint needs an address vector");
	RC(0, fi_ep_bind(ep, &w.av->fid, 0));
	SAYS(-FI_ENOCQ, fi_enable(ep), "no completion queue for what it sends");
	SAYS(-FI_EINVAL, fi_ep_bind(ep, &w.cq->fid, 0), "a completion queue is bound with FI_TRANSMIT, FI_RECV or both");
	RC(0, fi_ep_bind(ep, &w.cq->fid, FI_TRANSMIT));
	SAYS(-FI_EINVAL, fi_ep_bind(ep, &w.cq->fid, FI_TRANSMIT), "has a completion queue for FI_TRANSMIT already");
	SAYS(-FI_ENOCQ, fi_enable(ep), "no completion queue for what it receives");
	SAYS(-FI_EINVAL, fi_ep_bind(ep, &w.cntr->fid, 0), "fi_ep_bind: flags is 0");
	SAYS(-FI_EBADFLAGS, fi_ep_bind(ep, &w.cntr->fid, ODD_FLAG), "fi_ep_bind of a counter: the flags 0x100000000000000");
	SAYS(-FI_EINVAL, fi_ep_bind(ep, &w.av->fid, 0), "takes no address vector: it has one");
	SAYS(-FI_EINVAL, fi_ep_bind(ep, &w.fabric->fid, 0), "no kind that an endpoint is bound to");
	RC(0, fi_close(&ep->fid));
	world_close(&w);
}

Test(fi_sentences, flags_that_mean_nothing)
{
	struct iovec iov = { bytes, 8 };
	struct fi_rma_iov to = { 0, 8, KEY };
	struct world w;
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct fi_msg_tagged tagged = { .msg_iov = &iov, .iov_count = 1 };
	struct fi_msg_rma rma = { .msg_iov = &iov, .iov_count = 1, .rma_iov = &to, .rma_iov_count = 1 };

	open_world(&w, &(struct want){ 0 });
	SAYS(-FI_EBADFLAGS, fi_sendmsg(w.ep, &msg, FI_PEEK), "fi_sendmsg: the flags 0x80000 (FI_PEEK) mean nothing here");
	SAYS(-FI_EBADFLAGS, fi_recvmsg(w.ep, &msg, FI_INJECT), "fi_recvmsg: the flags");
	SAYS(-FI_EBADFLAGS, fi_tsendmsg(w.ep, &tagged, FI_PEEK), "fi_tsendmsg: the flags");
	SAYS(-FI_EBADFLAGS, fi_trecvmsg(w.ep, &tagged, FI_DISCARD), "fi_trecvmsg: FI_DISCARD goes with FI_PEEK");
	SAYS(-FI_EBADFLAGS, fi_writemsg(w.ep, &rma, FI_PEEK), "fi_writemsg: the flags");
	SAYS(-FI_EBADFLAGS, fi_readmsg(w.ep, &rma, FI_INJECT), "fi_readmsg: the flags");
	SAYS(-FI_EINVAL, fi_sendmsg(w.ep, NULL, 0), "fi_sendmsg: msg is NULL");
	SAYS(-FI_EINVAL, fi_send(w.ep, bytes, 8, NULL, FI_ADDR_UNSPEC, NULL), "fi_send: the destination is FI_ADDR_UNSPEC");
	SAYS(-FI_EINVAL, fi_read(w.ep, bytes, 8, NULL, FI_ADDR_UNSPEC, 0, KEY, NULL), "fi_read: the destination is");
	SAYS(-FI_EMSGSIZE, fi_inject(w.ep, bytes, w.info->tx_attr->inject_size + 1, w.self), "and inject_size is");
	SAYS(-FI_EOPNOTSUPP, fi_atomic(w.ep, bytes, 1, NULL, w.self, 0, KEY, FI_FLOAT, FI_BAND, NULL),
	     "FI_BAND on FI_FLOAT is not defined");
	world_close(&w);
}

/* Each bit that is too many is named, and no other, whatever kind of bit it is. */
Test(fi_sentences, the_bit_that_is_too_many)
{
	static const uint64_t odd = ODD_FLAG | FI_RMA;
	struct fi_cq_attr cq_attr = { .flags = FI_AFFINITY | odd };
	struct fi_cntr_attr cntr_attr = { .flags = odd };
	struct fid_cntr *cntr;
	struct fid_cq *cq;
	struct fid_mr *mr;
	struct world w;

	open_world(&w, &(struct want){ .mr_mode = FI_MR_ENDPOINT });
	SAYS(-FI_EINVAL, fi_mr_reg(w.domain, bytes, 8, FI_SEND | FI_REMOTE_READ | FI_RMA | FI_MSG | 1ull << 62, 0, 1, 0, &mr, NULL),
	     "(S22): 0x4000000000000006 (FI_MSG, FI_RMA, bit 62)");
	SAYS(-FI_EBADFLAGS, fi_mr_reg(w.domain, bytes, 8, FI_SEND, 0, 1, FI_RMA_EVENT | FI_HMEM_DEVICE_ONLY | FI_INJECT, &mr, NULL),
	     "the flags 0x400002000000 (FI_INJECT, FI_HMEM_DEVICE_ONLY) are not supported");
	RC(0, fi_mr_reg(w.domain, bytes, 8, FI_REMOTE_READ, 0, 1, 0, &mr, NULL));
	SAYS(-FI_EBADFLAGS, fi_mr_bind(mr, &w.ep->fid, FI_REMOTE_READ), "(S105), and not 0x1000 (FI_REMOTE_READ)");
	SAYS(-FI_EBADFLAGS, fi_mr_bind(mr, &w.cntr->fid, FI_REMOTE_READ), "the flags are 0x1000 (FI_REMOTE_READ)");
	SAYS(-FI_EBADFLAGS, fi_mr_bind(mr, &w.cntr->fid, 0), "the flags are 0 (none)");
	SAYS(-FI_EBADFLAGS, fi_cq_open(w.domain, &cq_attr, &cq, NULL),
	     "fi_cq_open: the flags 0x100000000000004 (FI_RMA, FI_RMA_EVENT)");
	SAYS(-FI_EBADFLAGS, fi_cntr_open(w.domain, &cntr_attr, &cntr, NULL), "fi_cntr_open: the flags 0x100000000000004 (FI_RMA,");
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* `lax` passes over the capabilities among the access bits; no peer gets a right by them. */
Test(fi_sentences, access_with_capabilities)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	struct world w;

	setenv("FI_EMU_PERSONALITY", "lax", 1);
	open_world(&w, &(struct want){ 0 });
	RC(0, fi_mr_reg(w.domain, bytes, 8, FI_SEND | FI_REMOTE_READ | FI_RMA | FI_MSG | FI_HMEM, 0, 1, 0, &mr, NULL));
	RC(0, fi_read(w.ep, bytes, 8, NULL, w.self, 0, 1, NULL));
	RC(1, world_next(&w, &entry));
	RC(0, fi_write(w.ep, bytes, 8, NULL, w.self, 0, 1, NULL));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_expect_eq(error.err, FI_EACCES);
	RC(0, fi_close(&mr->fid));
	SAYS(-FI_EINVAL, fi_mr_reg(w.domain, bytes, 8, FI_SEND | FI_RMA | 1ull << 62, 0, 1, 0, &mr, NULL),
	     "(S22): 0x4000000000000000 (bit 62)");
	SAYS(-FI_EINVAL, fi_mr_reg(w.domain, bytes, 8, FI_SEND | FI_COLLECTIVE, 0, 1, 0, &mr, NULL), "(S22): 0x40 (FI_COLLECTIVE)");
	world_close(&w);
}

Test(fi_sentences, without_the_capability)
{
	struct world w;

	open_world(&w, &(struct want){ .caps = FI_MSG });
	SAYS(-FI_EOPNOTSUPP, fi_write(w.ep, bytes, 8, NULL, w.self, 0, KEY, NULL),
	     "fi_write: the endpoint was opened without FI_RMA");
	SAYS(-FI_EOPNOTSUPP, fi_tsend(w.ep, bytes, 8, NULL, w.self, 0, NULL),
	     "fi_tsend: the endpoint was opened without FI_TAGGED");
	world_close(&w);
}

Test(fi_sentences, attributes_out_of_bounds)
{
	struct fi_cq_attr cq_attr = { .format = 77 };
	struct fi_cntr_attr cntr_attr = { .events = 77 };
	struct fi_av_attr av_attr = { .type = 77 };
	struct fi_eq_attr eq_attr = { .flags = ODD_FLAG };
	struct fid_cntr *cntr;
	struct fid_stx *stx;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_eq *eq;
	struct fid_ep *ep;
	struct world w;

	open_world(&w, &(struct want){ 0 });
	SAYS(-FI_EINVAL, fi_cq_open(w.domain, &cq_attr, &cq, NULL), "fi_cq_open: attr is NULL, or format 77");
	cq_attr = (struct fi_cq_attr){ .size = SIZE_MAX };
	SAYS(-FI_EINVAL, fi_cq_open(w.domain, &cq_attr, &cq, NULL), "fi_cq_open: size 18446744073709551615. At most");
	cq_attr = (struct fi_cq_attr){ .wait_obj = FI_WAIT_SET };
	SAYS(-FI_EINVAL, fi_cq_open(w.domain, &cq_attr, &cq, NULL), "fi_cq_open: FI_WAIT_SET asks for a wait set");
	SAYS(-FI_ENOSYS, fi_cntr_open(w.domain, &cntr_attr, &cntr, NULL), "fi_cntr_open: events 77 is not offered");
	SAYS(-FI_EINVAL, fi_av_open(w.domain, &av_attr, &av, NULL), "fi_av_open: attr is NULL, or attr->type 77");
	SAYS(-FI_EBADFLAGS, fi_eq_open(w.fabric, &eq_attr, &eq, NULL), "fi_eq_open: the flags");
	w.info->tx_attr->inject_size = SIZE_MAX;
	SAYS(-FI_EINVAL, fi_endpoint(w.domain, w.info, &ep, NULL), "transmit attributes: inject_size 18446744073709551615");
	SAYS(-FI_EINVAL, fi_stx_context(w.domain, w.info->tx_attr, &stx, NULL), "transmit attributes: inject_size");
	SAYS(-FI_EINVAL, fi_endpoint(w.domain, NULL, &ep, NULL), "fi_endpoint: info or ep is NULL");
	SAYS(-FI_ENOSYS, fi_tx_context(w.ep, 0, NULL, &ep, NULL), "opened by fi_scalable_ep");
	SAYS(-FI_ENOSYS, fi_connect(w.ep, bytes, NULL, 0), "Connections are for endpoints of type FI_EP_MSG");
	SAYS(-FI_ENOSYS, fi_control(&w.ep->fid, 4711, NULL), "fi_control: an endpoint has no command 4711");
	world_close(&w);
}

Test(fi_sentences, queues_that_nobody_waits_on)
{
	struct fi_cq_tagged_entry entry;
	struct fid *fids[1];
	struct world w;
	int fd;

	open_world(&w, &(struct want){ .wait_obj = FI_WAIT_NONE });
	SAYS(-FI_EINVAL, fi_cq_sread(w.cq, &entry, 1, NULL, 0), "fi_cq_sread: the queue was opened with FI_WAIT_NONE");
	SAYS(-FI_ENODATA, fi_control(&w.cq->fid, FI_GETWAIT, &fd), "nothing to wait on. Open it with FI_WAIT_FD");
	fids[0] = &w.cq->fid;
	SAYS(-FI_EINVAL, fi_trywait(w.fabric, fids, 1), "fi_trywait: a completion queue was opened with FI_WAIT_NONE");
	RC(-FI_EAGAIN, fi_cq_read(w.cq, &entry, 1));
	cr_expect_str_empty(world_logged(log_fd), "what a program expects is not said");
	world_close(&w);
}

Test(fi_sentences, addresses_that_are_none)
{
	struct sockaddr_storage name = { .ss_family = AF_INET };
	size_t length = sizeof(name);
	fi_addr_t addr;
	struct world w;

	open_world(&w, &(struct want){ 0 });
	SAYS(0, fi_av_insert(w.av, &name, 1, &addr, 0, NULL), "fi_av_insert: address 0: the wildcard");
	RC(0, fi_getname(&w.ep->fid, &name, &length));
	((struct sockaddr *)&name)->sa_data[0] = ((struct sockaddr *)&name)->sa_data[1] = 0;
	SAYS(0, fi_av_insert(w.av, &name, 1, &addr, 0, NULL), "fi_av_insert: address 0: its port is 0");
	name.ss_family = AF_UNIX;
	SAYS(0, fi_av_insert(w.av, &name, 1, &addr, 0, NULL), "fi_av_insert: address 0: ");
	addr = 4711;
	SAYS(-FI_EINVAL, fi_av_remove(w.av, &addr, 1, 0), "fi_av_remove: fi_addr_t 0x1267: not in the address vector");
	SAYS(-FI_EINVAL, fi_av_lookup(w.av, addr, &name, &length), "fi_av_lookup: fi_addr_t 0x1267");
	world_close(&w);
}

/* However often a program repeats it: a sentence does not fill a disk, and one does not silence another. */
Test(fi_sentences, repeated_is_bounded)
{
	const char *text;
	unsigned lines = 0;
	struct world w;

	open_world(&w, &(struct want){ .caps = FI_MSG });
	for (int i = 0; i < 100000; i++)
		RC(-FI_EOPNOTSUPP, fi_write(w.ep, bytes, 8, NULL, w.self, 0, KEY, NULL));
	for (text = world_logged(log_fd); (text = strchr(text, '\n')); text++)
		lines++;
	cr_expect(lines >= 100 && lines < 1000, "%u lines", lines);
	SAYS(-FI_EINVAL, fi_sendmsg(w.ep, NULL, 0), "fi_sendmsg: msg is NULL");
	world_close(&w);
}

Test(fi_sentences, child_of_a_fork)
{
	struct fi_cq_tagged_entry entry;
	struct world w;
	int status;

	open_world(&w, &(struct want){ 0 });
	if (!fork()) {
		SAYS(-FI_ENODEV, fi_cq_read(w.cq, &entry, 1), "fi_cq_read: the object was opened before fork()");
		SAYS(-FI_ENODEV, fi_send(w.ep, bytes, 8, NULL, w.self, NULL), "fi_send: the object was opened before fork()");
		_exit(0);
	}
	cr_expect(wait(&status) > 0 && WIFEXITED(status) && !WEXITSTATUS(status), "status %d", status);
	world_close(&w);
}

static ssize_t write_from(struct world *w, const void *at, size_t length, void *desc)
{
	return fi_write(w->ep, at, length, desc, w->self, 0, KEY, NULL);
}

/* One errno (S72, S75), and a sentence for each cause. */
Test(fi_sentences, descriptors)
{
	struct fid_domain *domain;
	struct fid_mr *mr, *other, *elsewhere, *closed;
	struct world w;
	uint8_t away[BYTES];
	void *desc, *gone;

	open_world(&w, &(struct want){ .caps = FI_MSG | FI_RMA, .mr_mode = FI_MR_LOCAL });
	RC(0, fi_domain(w.fabric, w.info, &domain, NULL));
	RC(0, fi_mr_reg(w.domain, bytes, BYTES / 2, FI_WRITE, 0, KEY, 0, &mr, NULL));
	RC(0, fi_mr_reg(w.domain, away, sizeof(away), FI_WRITE, 0, KEY + 1, 0, &other, NULL));
	RC(0, fi_mr_reg(w.domain, bytes, BYTES, FI_WRITE, 0, KEY + 2, 0, &closed, NULL));
	RC(0, fi_mr_reg(domain, bytes, BYTES, FI_WRITE, 0, KEY, 0, &elsewhere, NULL));
	desc = fi_mr_desc(mr);
	gone = fi_mr_desc(closed);
	RC(0, fi_close(&closed->fid));

	SAYS(-FI_EINVAL, write_from(&w, bytes, 8, NULL), "descriptor missing (S72). Under FI_MR_LOCAL register the buffer");
	SAYS(-FI_EINVAL, write_from(&w, bytes, BYTES, desc), "runs 32 B past the end of the region of descriptor");
	SAYS(-FI_EINVAL, write_from(&w, bytes, 8, fi_mr_desc(other)), "is that of another region, 64 B at 0x");
	SAYS(-FI_EINVAL, write_from(&w, bytes, 8, gone), "has been closed by fi_close (S75)");
	SAYS(-FI_EINVAL, write_from(&w, bytes, 8, fi_mr_desc(elsewhere)), "names a region of another domain");
	SAYS(-FI_EINVAL, write_from(&w, bytes, 8, mr), "is the struct fid_mr itself. Pass fi_mr_desc() of it");
	SAYS(-FI_EINVAL, write_from(&w, bytes, 8, bytes), "is an address or a number, and no descriptor");
	SAYS(-FI_EINVAL, write_from(&w, bytes, 8, (void *)(uintptr_t)KEY), "is an address or a number, and no descriptor");
	SAYS(-FI_EINVAL, write_from(&w, bytes, 8, (void *)UINTPTR_MAX), "was given by no open domain");
	SAYS(-FI_EINVAL, fi_send(w.ep, bytes, 8, desc, w.self, NULL), "fi_send or fi_tsend: local buffer");
	SAYS(-FI_EINVAL, fi_send(w.ep, bytes, 8, desc, w.self, NULL), "has no right FI_SEND (S23-S26). Add it to the access");

	RC(0, fi_close(&elsewhere->fid));
	RC(0, fi_close(&domain->fid));
	SAYS(-FI_EINVAL, write_from(&w, bytes, 8, (void *)UINTPTR_MAX), "was given by no open domain");
	RC(0, fi_close(&other->fid));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* A key that no region has: the log of the regions' owner guesses what it was meant for, and the completion does not. */
static void wrong_key(struct world *w, uint64_t key, const char *hint)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	const char *text;

	world_logged(log_fd);
	RC(0, fi_write(w->ep, bytes, 8, NULL, w->self, 0, key, NULL));
	RC(-FI_EAVAIL, world_next(w, &entry));
	RC(1, fi_cq_readerr(w->cq, &error, 0));
	cr_expect(error.prov_errno == 1 && !strstr(error.err_data, "looks"), "%s", (char *)error.err_data);
	text = world_logged(log_fd);
	cr_expect(hint ? !!strstr(text, hint) : !strstr(text, "a region has key"), "%#llx: %s", (unsigned long long)key, text);
}

Test(fi_sentences, keys_that_look_like_another)
{
	const uint64_t key = 0x1122334455667788;
	struct fid_mr *mr;
	struct world w;

	open_world(&w, &(struct want){ .caps = FI_MSG | FI_RMA });
	RC(0, fi_mr_reg(w.domain, bytes, BYTES, FI_REMOTE_WRITE, 0, key, 0, &mr, NULL));
	wrong_key(&w, 0x8877665544332211, "key 0x8877665544332211 looks byte-swapped");
	wrong_key(&w, 0x55667788, "key 0x55667788 looks truncated to 32 bits");
	wrong_key(&w, 0x55667789, NULL);
	wrong_key(&w, 0x7788, NULL);
	RC(0, fi_close(&mr->fid));
	wrong_key(&w, 0x55667788, NULL);
	RC(0, fi_mr_reg(w.domain, bytes, BYTES, FI_REMOTE_WRITE, 0, 0x90000001, 0, &mr, NULL));
	wrong_key(&w, 0xffffffff90000001, NULL);
	wrong_key(&w, 1, "key 0x1 looks truncated to 16 bits");
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_sentences, key_that_was_only_asked_for)
{
	struct fid_mr *mr;
	struct world w;

	open_world(&w, &(struct want){ .caps = FI_MSG | FI_RMA, .mr_mode = FI_MR_PROV_KEY });
	RC(0, fi_mr_reg(w.domain, bytes, BYTES, FI_REMOTE_WRITE, 0, 42, 0, &mr, NULL));
	wrong_key(&w, 42, "key 0x2a is what a region asked for, and under FI_MR_PROV_KEY the provider chose another");
	wrong_key(&w, 43, NULL);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* A raw key outlives its region in the hands of a peer, while another region has its plain half by now. */
Test(fi_sentences, raw_key_of_a_closed_region)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	struct world w;
	uint8_t raw[64];
	uint64_t base, key;
	size_t size = sizeof(raw);

	open_world(&w, &(struct want){ .caps = FI_MSG | FI_RMA, .mr_mode = FI_MR_RAW });
	RC(0, fi_mr_reg(w.domain, bytes, BYTES, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	RC(0, fi_mr_raw_attr(mr, &base, raw, &size, 0));
	RC(0, fi_mr_map_raw(w.domain, base, raw, size, &key, 0));
	RC(0, fi_close(&mr->fid));
	RC(0, fi_mr_reg(w.domain, bytes, BYTES, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	RC(0, fi_write(w.ep, bytes, 8, NULL, w.self, 0, key, NULL));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_expect(error.prov_errno == 2 && strstr(error.err_data, "ago by fi_close (S178)"), "%s", (char *)error.err_data);
	RC(0, fi_mr_unmap_key(w.domain, key));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* A receiver's buffer is not its initiator's. */
Test(fi_sentences, receive_into_missing_memory)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *gone = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct world w;

	open_world(&w, &(struct want){ .caps = FI_MSG });
	RC(0, fi_recv(w.ep, gone, page, NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_inject(w.ep, bytes, 8, w.self));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_expect_eq(error.err, FI_EFAULT);
	cr_expect(strstr(error.err_data, "receive of 4096 B: the buffer of the receive that took the message cannot be written"),
		  "%s", (char *)error.err_data);
	world_close(&w);
}
