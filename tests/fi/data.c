/* SPDX-License-Identifier: BSD-2-Clause */
/* data.c - an endpoint that addresses itself: which completions come, in which form, and how errors are told. */
#include "tests/fi/world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char here[4096], there[4096];

static void expect_nothing(struct world *w)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 100; i++)
		RC(-FI_EAGAIN, fi_cq_read(w->cq, &entry, 1));
}

static struct fid_mr *target(struct world *w, uint64_t access)
{
	struct fid_mr *mr;

	RC(0, fi_mr_reg(w->domain, there, sizeof(there), access, 0, 77, 0, &mr, NULL));
	return mr;
}

Test(fi_data, rma_with_itself)
{
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ 0 });
	mr = target(&w, FI_REMOTE_READ | FI_REMOTE_WRITE);
	memset(here, 'h', 64);
	RC(0, fi_write(w.ep, here, 64, NULL, w.self, 100, 77, &w));
	RC(1, world_next(&w, &entry));
	cr_expect(entry.op_context == &w && entry.flags == (FI_RMA | FI_WRITE));
	cr_expect(!memcmp(there + 100, here, 64) && !there[99] && !there[164]);
	RC(0, fi_read(w.ep, here + 128, 64, NULL, w.self, 100, 77, &entry));
	RC(1, world_next(&w, &entry));
	cr_expect(entry.op_context == &entry && entry.flags == (FI_RMA | FI_READ) && !memcmp(here + 128, here, 64));
	cr_expect(fi_cntr_read(w.cntr) == 2 && fi_cntr_readerr(w.cntr) == 0);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_data, messages_with_itself)
{
	struct fi_cq_tagged_entry entry;
	uint64_t seen = 0;
	fi_addr_t source;
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_SOURCE });
	RC(0, fi_recv(w.ep, there, 64, NULL, FI_ADDR_UNSPEC, &seen));
	RC(0, fi_senddata(w.ep, here, 32, NULL, 0x1122334455667788, w.self, &w));
	for (int i = 0; i < 2; i++) {
		ssize_t got;

		while ((got = fi_cq_readfrom(w.cq, &entry, 1, &source)) == -FI_EAGAIN)
			;
		RC(1, got);
		seen |= entry.flags;
		if (entry.flags & FI_RECV)
			cr_expect(entry.op_context == &seen && entry.len == 32 && source == w.self &&
				  entry.data == 0x1122334455667788 && entry.flags & FI_REMOTE_CQ_DATA);
	}
	cr_expect((seen & (FI_SEND | FI_RECV | FI_MSG)) == (FI_SEND | FI_RECV | FI_MSG));
	world_close(&w);
}

Test(fi_data, formats_write_no_more_than_they_say)
{
	static const struct {
		enum fi_cq_format format;
		size_t size;
	} formats[] = {
		{ FI_CQ_FORMAT_CONTEXT, sizeof(struct fi_cq_entry) },
		{ FI_CQ_FORMAT_MSG, sizeof(struct fi_cq_msg_entry) },
		{ FI_CQ_FORMAT_DATA, sizeof(struct fi_cq_data_entry) },
		{ FI_CQ_FORMAT_TAGGED, sizeof(struct fi_cq_tagged_entry) },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		unsigned char raw[sizeof(struct fi_cq_tagged_entry) + 1];
		struct fid_mr *mr;
		struct world w;
		void *context;

		memset(raw, 0xa5, sizeof(raw));
		world_open(&w, &(struct want){ .format = formats[i].format });
		mr = target(&w, FI_REMOTE_WRITE);
		RC(0, fi_write(w.ep, here, 8, NULL, w.self, 0, 77, &w));
		RC(1, world_next(&w, raw));
		memcpy(&context, raw, sizeof(context));
		cr_expect(context == &w);
		for (size_t at = formats[i].size; at < sizeof(raw); at++)
			cr_expect(raw[at] == 0xa5, "format %d wrote byte %zu", (int)formats[i].format, at);
		RC(0, fi_close(&mr->fid));
		world_close(&w);
	}
}

/* Completions on FI_COMPLETION only; inject never; errors always. */
Test(fi_data, selective_completion)
{
	struct iovec iov = { here, 8 };
	struct fi_rma_iov remote = { 0, 8, 77 };
	struct fi_msg_rma msg = { .msg_iov = &iov, .iov_count = 1, .rma_iov = &remote, .rma_iov_count = 1 };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .bind = FI_SELECTIVE_COMPLETION });
	mr = target(&w, FI_REMOTE_WRITE);
	msg.addr = w.self;
	RC(0, fi_write(w.ep, here, 8, NULL, w.self, 0, 77, &w));
	RC(0, fi_writemsg(w.ep, &msg, FI_DELIVERY_COMPLETE));
	RC(0, fi_inject_write(w.ep, here, 8, w.self, 0, 77));
	msg.context = &msg;
	RC(0, fi_writemsg(w.ep, &msg, FI_COMPLETION | FI_INJECT | FI_FENCE));
	RC(1, world_next(&w, &entry));
	cr_expect(entry.op_context == &msg);
	expect_nothing(&w);
	cr_expect(fi_cntr_read(w.cntr) == 4);
	RC(0, fi_inject_write(w.ep, here, 8, w.self, 4090, 77));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_expect(error.err == FI_EACCES);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

static struct fi_cq_err_entry provoke(struct world *w, void *err_data, size_t size)
{
	struct fi_cq_err_entry error = { .err_data = err_data, .err_data_size = size };
	struct fi_cq_tagged_entry entry;

	RC(0, fi_write(w->ep, here, 8, NULL, w->self, 0, 0x123456, w));
	RC(-FI_EAVAIL, world_next(w, &entry));
	RC(1, fi_cq_readerr(w->cq, &error, 0));
	cr_expect(error.op_context == w && error.err == FI_EACCES && error.prov_errno > 0);
	return error;
}

/* The sentence comes by err_data, and by fi_cq_strerror however it is asked. */
Test(fi_data, the_sentence_of_a_refusal)
{
	struct fi_cq_err_entry error;
	char own[400] = "", cut[8], text[400];
	const char *said;
	struct world w;

	world_open(&w, &(struct want){ 0 });
	error = provoke(&w, NULL, 0);
	said = error.err_data;
	cr_expect(said && strstr(said, "0x123456") && strstr(said, "S40"), "%s", said);
	cr_expect(strstr(fi_cq_strerror(w.cq, error.prov_errno, error.err_data, NULL, 0), "0x123456"));
	cr_expect(strstr(fi_cq_strerror(w.cq, error.prov_errno, NULL, text, sizeof(text)), "0x123456"));
	error = provoke(&w, own, sizeof(own));
	cr_expect(error.err_data == own && strstr(own, "0x123456") && error.err_data_size == strlen(own) + 1);
	cr_expect(fi_cq_strerror(w.cq, error.prov_errno, own, text, sizeof(text)) == text && !strcmp(own, text));
	error = provoke(&w, cut, sizeof(cut));
	cr_expect(error.err_data_size == sizeof(cut) && !cut[sizeof(cut) - 1]);
	cr_expect(fi_cq_strerror(w.cq, 9999, NULL, NULL, 0)); /* unknown: a phrase, never NULL */
	world_close(&w);
}

/* src_addr is behind what programs before 1.20 know. */
Test(fi_data, error_entries_are_as_long_as_the_version_says)
{
	unsigned char raw[96];
	struct fi_cq_tagged_entry entry;
	struct world w;

	memset(raw, 0xa5, sizeof(raw));
	world_open(&w, &(struct want){ .api = FI_VERSION(1, 4) });
	RC(0, fi_write(w.ep, here, 8, NULL, w.self, 0, 0x123456, &w));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	/* Not by fi_cq_readerr: newer headers' writes src_addr itself. */
	RC(1, w.cq->ops->readerr(w.cq, (struct fi_cq_err_entry *)raw, 0));
	for (size_t at = 80; at < sizeof(raw); at++)
		cr_expect(raw[at] == 0xa5, "byte %zu was written", at);
	world_close(&w);
}

static void local_rules(uint32_t api, int mr_mode, int no_desc, int wild_desc)
{
	struct fid_mr *mr, *local;
	struct iovec iov = { .iov_base = here, .iov_len = 8 };
	struct world w;

	world_open(&w, &(struct want){ .api = api, .mr_mode = mr_mode });
	mr = target(&w, FI_REMOTE_WRITE);
	RC(0, fi_mr_reg(w.domain, here, 64, FI_SEND, 0, 78, 0, &local, NULL));
	RC(no_desc, fi_write(w.ep, here, 8, NULL, w.self, 0, 77, NULL));
	RC(wild_desc, fi_write(w.ep, here, 8, (void *)0x1234, w.self, 0, 77, NULL));
	/* A descriptor in the place of an array of them. */
	RC(wild_desc, fi_writev(w.ep, &iov, fi_mr_desc(local), 1, w.self, 0, 77, NULL));
	RC(wild_desc, fi_sendv(w.ep, &iov, fi_mr_desc(local), 1, w.self, NULL));
	RC(0, fi_send(w.ep, here, 8, fi_mr_desc(local), w.self, NULL));
	RC(0, fi_write(w.ep, NULL, 0, NULL, w.self, 0, 77, NULL)); /* no bytes, no descriptor */
	RC(0, fi_inject(w.ep, here, 8, w.self));                   /* copied: none asked */
	if (mr_mode & FI_MR_LOCAL) {
		/* Its only right is FI_SEND, and it ends after 64 B. */
		RC(-FI_EINVAL, fi_write(w.ep, here, 8, fi_mr_desc(local), w.self, 0, 77, NULL));
		RC(-FI_EINVAL, fi_send(w.ep, here + 60, 8, fi_mr_desc(local), w.self, NULL));
	}
	RC(0, fi_close(&local->fid));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* S72-S75. */
Test(fi_data, local_descriptors)
{
	local_rules(FI_VERSION(1, 17), 0, 0, 0);
	local_rules(FI_VERSION(1, 17), FI_MR_LOCAL, -FI_EINVAL, -FI_EINVAL);
	if (world_has(FI_VERSION(1, 22)))
		local_rules(FI_VERSION(1, 22), 0, 0, -FI_EINVAL);
}

Test(fi_data, blocking_reads)
{
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_UNSPEC });
	mr = target(&w, FI_REMOTE_WRITE);
	RC(-FI_EAGAIN, fi_cq_sread(w.cq, &entry, 1, NULL, 1));
	RC(-FI_ETIMEDOUT, fi_cntr_wait(w.cntr, 1, 1));
	RC(0, fi_cq_signal(w.cq)); /* remembered */
	RC(-FI_EAGAIN, fi_cq_sread(w.cq, &entry, 1, NULL, -1));
	RC(0, fi_write(w.ep, here, 8, NULL, w.self, 0, 77, &w));
	RC(1, fi_cq_sread(w.cq, &entry, 1, NULL, -1));
	RC(0, fi_cntr_wait(w.cntr, 1, -1));
	RC(0, fi_write(w.ep, here, 8, NULL, w.self, 4096, 77, &w));
	RC(-FI_EAVAIL, fi_cntr_wait(w.cntr, 2, -1));
	RC(-FI_EAVAIL, fi_cq_sread(w.cq, &entry, 1, NULL, -1));
	RC(0, fi_cntr_set(w.cntr, 5));
	RC(0, fi_cntr_add(w.cntr, 2));
	RC(0, fi_cntr_seterr(w.cntr, 9));
	RC(0, fi_cntr_adderr(w.cntr, 1));
	cr_expect(fi_cntr_read(w.cntr) == 7 && fi_cntr_readerr(w.cntr) == 10);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* A posted receive is cancelled by its context. */
Test(fi_data, cancel)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	struct world w;

	world_open(&w, &(struct want){ 0 });
	RC(0, fi_recv(w.ep, there, 64, NULL, FI_ADDR_UNSPEC, &w));
	RC(-FI_ENOENT, fi_cancel(&w.ep->fid, &entry));
	RC(0, fi_cancel(&w.ep->fid, &w));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_expect(error.err == FI_ECANCELED && error.op_context == &w);
	world_close(&w);
}

/* fi_getinfo(3): what the attributes say is possible, and no more. */
Test(fi_data, limits_met_exactly)
{
	struct iovec iov[9];
	struct fi_tx_attr *tx;
	struct fid_mr *mr;
	struct world w;

	for (int i = 0; i < 9; i++)
		iov[i] = (struct iovec){ here + i, 1 };
	world_open(&w, &(struct want){ 0 });
	tx = w.info->tx_attr;
	cr_assert(tx->iov_limit == 8 && tx->inject_size < sizeof(here));
	mr = target(&w, FI_REMOTE_WRITE);
	RC(0, fi_writev(w.ep, iov, NULL, 8, w.self, 0, 77, NULL));
	RC(-FI_EINVAL, fi_writev(w.ep, iov, NULL, 9, w.self, 0, 77, NULL));
	RC(0, fi_inject_write(w.ep, here, tx->inject_size, w.self, 0, 77));
	RC(-FI_EMSGSIZE, fi_inject_write(w.ep, here, tx->inject_size + 1, w.self, 0, 77));
	RC(0, fi_recv(w.ep, there, w.info->ep_attr->max_msg_size, NULL, FI_ADDR_UNSPEC, NULL));
	RC(-FI_EMSGSIZE, fi_recv(w.ep, there, w.info->ep_attr->max_msg_size + 1, NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* The device is the parent's alone. */
Test(fi_data, not_in_a_forked_child)
{
	struct world w;
	int status;
	pid_t child;

	world_open(&w, &(struct want){ 0 });
	child = fork();
	if (!child)
		_exit(fi_write(w.ep, here, 8, NULL, w.self, 0, 77, NULL) != -FI_ENODEV ||
		      fi_recv(w.ep, there, 8, NULL, FI_ADDR_UNSPEC, NULL) != -FI_ENODEV);
	cr_assert(child > 0 && waitpid(child, &status, 0) == child);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	world_close(&w);
}

/* Of an op to an address where nobody is no byte has left: it is cancelled by its context, with its counter. */
Test(fi_data, cancel_what_has_not_left)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	struct world w, other;
	fi_addr_t nobody;
	char name[128];
	size_t length = sizeof(name);

	setenv("FI_EMU_RETRY_CNT", "1000000", 1);
	world_open(&other, &(struct want){ 0 });
	RC(0, fi_getname(&other.ep->fid, name, &length));
	world_close(&other);
	world_open(&w, &(struct want){ 0 });
	RC(1, fi_av_insert(w.av, name, 1, &nobody, 0, NULL));
	RC(0, fi_send(w.ep, here, 8, NULL, nobody, &w));
	RC(0, fi_read(w.ep, there, 8, NULL, nobody, 0, 1, &other));
	RC(-FI_ENOENT, fi_cancel(&w.ep->fid, &entry));
	RC(0, fi_cancel(&w.ep->fid, &other));
	RC(0, fi_cancel(&w.ep->fid, &w));
	RC(-FI_ENOENT, fi_cancel(&w.ep->fid, &w));
	RC(2, fi_cntr_readerr(w.cntr));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_expect(error.err == FI_ECANCELED && error.op_context == &other && error.flags & FI_READ);
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_expect(error.err == FI_ECANCELED && error.op_context == &w && error.flags & FI_SEND);
	world_close(&w);
}
