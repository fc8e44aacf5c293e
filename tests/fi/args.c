/* SPDX-License-Identifier: BSD-2-Clause */
/* args.c - wrong arguments and wrong states: the errno that the man page names, and nothing changed. */
#include "tests/fi/world.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/fi/provider/fi_compat.h"

static char buffer[4096];

Test(fi_args, nothing_is_posted_before_enable)
{
	struct world w;

	world_open_disabled(&w, &(struct want){ 0 });
	RC(-FI_EOPBADSTATE, fi_send(w.ep, buffer, 8, NULL, 0, NULL));
	RC(-FI_EOPBADSTATE, fi_recv(w.ep, buffer, 8, NULL, 0, NULL));
	RC(-FI_EOPBADSTATE, fi_inject(w.ep, buffer, 8, 0));
	RC(-FI_EOPBADSTATE, fi_write(w.ep, buffer, 8, NULL, 0, 0, 1, NULL));
	RC(-FI_EOPBADSTATE, fi_read(w.ep, buffer, 8, NULL, 0, 0, 1, NULL));
	RC(-FI_EOPBADSTATE, fi_cancel(&w.ep->fid, NULL));
	world_enable(&w);
	RC(-FI_EOPBADSTATE, fi_enable(w.ep));
	RC(-FI_EOPBADSTATE, fi_ep_bind(w.ep, &w.eq->fid, 0));
	world_close(&w);
}

Test(fi_args, an_endpoint_needs_its_queue_and_vector)
{
	struct fid_ep *ep;
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_RMA });
	RC(0, fi_endpoint(w.domain, w.info, &ep, NULL));
	RC(-FI_ENOAV, fi_enable(ep));
	RC(0, fi_ep_bind(ep, &w.av->fid, 0));
	RC(-FI_EINVAL, fi_ep_bind(ep, &w.av->fid, 0));
	RC(-FI_ENOCQ, fi_enable(ep));
	RC(-FI_EINVAL, fi_ep_bind(ep, &w.cq->fid, 0));
	RC(-FI_EINVAL, fi_ep_bind(ep, &w.cq->fid, FI_SELECTIVE_COMPLETION));
	RC(-FI_EBADFLAGS, fi_ep_bind(ep, &w.cq->fid, FI_TRANSMIT | FI_READ));
	RC(0, fi_ep_bind(ep, &w.cq->fid, FI_TRANSMIT));
	RC(-FI_EINVAL, fi_ep_bind(ep, &w.cq->fid, FI_TRANSMIT | FI_RECV));
	RC(-FI_ENOCQ, fi_enable(ep));
	RC(0, fi_ep_bind(ep, &w.cq->fid, FI_RECV));
	RC(-FI_EINVAL, fi_ep_bind(ep, &w.cntr->fid, 0));
	RC(-FI_EBADFLAGS, fi_ep_bind(ep, &w.cntr->fid, FI_SEND | 1));
	RC(-FI_ENOSYS, fi_ep_bind(ep, &w.cntr->fid, FI_REMOTE_WRITE));
	RC(0, fi_ep_bind(ep, &w.cntr->fid, FI_SEND));
	RC(-FI_EINVAL, fi_ep_bind(ep, &w.cntr->fid, FI_SEND | FI_READ));
	RC(-FI_EINVAL, fi_ep_bind(ep, &w.domain->fid, 0));
	RC(-FI_EINVAL, fi_ep_bind(ep, NULL, 0));
	RC(0, fi_enable(ep));
	RC(0, fi_close(&ep->fid));
	world_close(&w);
}

/* fi_close says -FI_EBUSY while others depend on the object, and the object still works. */
Test(fi_args, what_is_in_use_does_not_close)
{
	struct world w;

	world_open(&w, &(struct want){ 0 });
	RC(-FI_EBUSY, fi_close(&w.av->fid));
	RC(-FI_EBUSY, fi_close(&w.cq->fid));
	RC(-FI_EBUSY, fi_close(&w.cntr->fid));
	RC(-FI_EBUSY, fi_close(&w.eq->fid));
	RC(-FI_EBUSY, fi_close(&w.domain->fid));
	RC(-FI_EBUSY, fi_close(&w.fabric->fid));
	RC(0, fi_inject(w.ep, buffer, 8, w.self));
	world_close(&w);
}

/* Objects of different domains do not go together. */
Test(fi_args, domains_do_not_mix)
{
	struct world a, b;
	struct fid_ep *ep;

	world_open(&a, &(struct want){ 0 });
	world_open(&b, &(struct want){ 0 });
	RC(0, fi_endpoint(a.domain, a.info, &ep, NULL));
	RC(-FI_EDOMAIN, fi_ep_bind(ep, &b.av->fid, 0));
	RC(-FI_EDOMAIN, fi_ep_bind(ep, &b.cq->fid, FI_TRANSMIT));
	RC(-FI_EDOMAIN, fi_ep_bind(ep, &b.cntr->fid, FI_SEND));
	RC(0, fi_close(&ep->fid));
	world_close(&a);
	world_close(&b);
}

Test(fi_args, capabilities_not_opened_are_refused)
{
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_SEND | FI_RMA | FI_READ | FI_REMOTE_WRITE });
	RC(-FI_EOPNOTSUPP, fi_recv(w.ep, buffer, 8, NULL, 0, NULL));
	RC(-FI_EOPNOTSUPP, fi_write(w.ep, buffer, 8, NULL, w.self, 0, 1, NULL));
	RC(-FI_EOPNOTSUPP, fi_inject_write(w.ep, buffer, 8, w.self, 0, 1));
	world_close(&w);
	world_open(&w, &(struct want){ .caps = FI_MSG });
	RC(-FI_EOPNOTSUPP, fi_read(w.ep, buffer, 8, NULL, w.self, 0, 1, NULL));
	world_close(&w);
}

Test(fi_args, transfers)
{
	struct iovec iov[9] = { { buffer, 8 } };
	struct fi_msg msg = { .msg_iov = iov, .iov_count = 1 };
	struct world w;

	world_open(&w, &(struct want){ 0 });
	msg.addr = w.self;
	RC(-FI_EINVAL, fi_send(w.ep, NULL, 8, NULL, w.self, NULL));
	RC(-FI_EINVAL, fi_send(w.ep, buffer, 8, NULL, FI_ADDR_UNSPEC, NULL));
	RC(-FI_EMSGSIZE, fi_send(w.ep, buffer, SIZE_MAX, NULL, w.self, NULL));
	RC(-FI_EMSGSIZE, fi_inject(w.ep, buffer, 257, w.self));
	RC(-FI_EINVAL, fi_sendv(w.ep, iov, NULL, 9, w.self, NULL));
	RC(-FI_EINVAL, fi_sendv(w.ep, NULL, NULL, 1, w.self, NULL));
	RC(-FI_EINVAL, fi_sendmsg(w.ep, NULL, 0));
	RC(-FI_EBADFLAGS, fi_sendmsg(w.ep, &msg, FI_COMMIT_COMPLETE));
	RC(-FI_EBADFLAGS, fi_sendmsg(w.ep, &msg, FI_MULTICAST));
	RC(-FI_EBADFLAGS, fi_sendmsg(w.ep, &msg, 1ull << 63));
	iov[0].iov_len = 257;
	RC(-FI_EMSGSIZE, fi_sendmsg(w.ep, &msg, FI_INJECT));
	RC(-FI_EINVAL, fi_recvv(w.ep, iov, NULL, 9, w.self, NULL));
	RC(-FI_EINVAL, fi_recvmsg(w.ep, NULL, 0));
	RC(-FI_EBADFLAGS, fi_recvmsg(w.ep, &msg, FI_PEEK));
	RC(-FI_EBADFLAGS, fi_recvmsg(w.ep, &msg, FI_CLAIM));
	RC(-FI_EAGAIN, fi_cq_read(w.cq, buffer, 1));
	world_close(&w);
}

/* Nothing is placed there unless a message has payload. */
Test(fi_args, a_receive_at_address_0)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	struct world w;

	world_open(&w, &(struct want){ 0 });
	for (size_t length = 0; length < 2; length++) {
		RC(0, fi_recv(w.ep, NULL, 8, NULL, w.self, &w));
		RC(0, fi_send(w.ep, buffer, length, NULL, w.self, NULL));
		for (int i = 0; i < 2; i++) {
			if (world_next(&w, &entry) == 1)
				continue;
			RC(1, fi_cq_readerr(w.cq, &error, 0));
			RC(FI_EFAULT, error.err);
		}
		RC(length ? FI_EFAULT : 0, error.err);
	}
	world_close(&w);
}

Test(fi_args, remote_ranges)
{
	struct iovec iov = { buffer, 16 };
	struct fi_rma_iov remote[9] = { { 0, 8, 1 }, { 8, 8, 1 } };
	struct fi_msg_rma msg = { .msg_iov = &iov, .iov_count = 1, .rma_iov = remote, .rma_iov_count = 1 };
	struct world w;

	world_open(&w, &(struct want){ 0 });
	msg.addr = w.self;
	RC(-FI_EINVAL, fi_writemsg(w.ep, &msg, 0)); /* 16 bytes here, 8 there */
	msg.rma_iov_count = 0;
	RC(-FI_EINVAL, fi_writemsg(w.ep, &msg, 0));
	msg.rma_iov_count = 9;
	RC(-FI_EINVAL, fi_readmsg(w.ep, &msg, 0));
	remote[1].len = SIZE_MAX - 7; /* the sum of the three wraps to 16 */
	remote[2].len = 16;
	msg.rma_iov_count = 3;
	RC(-FI_EINVAL, fi_readmsg(w.ep, &msg, 0));
	remote[1].len = 8;
	msg.rma_iov_count = 2;
	msg.rma_iov = NULL;
	RC(-FI_EINVAL, fi_readmsg(w.ep, &msg, 0));
	msg.rma_iov = remote;
	RC(-FI_EBADFLAGS, fi_readmsg(w.ep, &msg, FI_INJECT));
	RC(-FI_EBADFLAGS, fi_readmsg(w.ep, &msg, FI_REMOTE_CQ_DATA));
	RC(-FI_EBADFLAGS, fi_readmsg(w.ep, &msg, FI_COMMIT_COMPLETE));
	RC(-FI_EINVAL, fi_writemsg(w.ep, NULL, 0));
	RC(-FI_EMSGSIZE, fi_inject_write(w.ep, buffer, 257, w.self, 0, 1));
	RC(-FI_EINVAL, fi_write(w.ep, buffer, 8, NULL, FI_ADDR_UNSPEC, 0, 1, NULL));
	RC(-FI_EAGAIN, fi_cq_read(w.cq, buffer, 1));
	world_close(&w);
}

Test(fi_args, registration)
{
	struct iovec iov[9];
	struct fi_mr_attr attr = { .mr_iov = iov, .iov_count = 1, .access = FI_SEND, .auth_key_size = 4 };
	struct fid_mr *mr = NULL;
	struct world w;

	for (int i = 0; i < 9; i++)
		iov[i] = (struct iovec){ buffer + i, 1 };
	world_open(&w, &(struct want){ .api = FI_VERSION(1, 9), .caps = FI_MSG | FI_RMA });
	RC(-FI_EINVAL, fi_mr_reg(w.domain, buffer, 0, FI_SEND, 0, 1, 0, &mr, NULL));               /* S3 */
	RC(-FI_EINVAL, fi_mr_reg(w.domain, buffer, 8, FI_SEND, 8, 1, 0, &mr, NULL));               /* S4 */
	RC(-FI_EBADFLAGS, fi_mr_reg(w.domain, buffer, 8, FI_SEND, 0, 1, FI_RMA_EVENT, &mr, NULL)); /* S5 */
	RC(-FI_EBADFLAGS, fi_mr_reg(w.domain, buffer, 8, FI_SEND, 0, 1, 1ull << 41, &mr, NULL));   /* SINGLE_USE: 2.0 */
	RC(-FI_EBADFLAGS, fi_mr_reg(w.domain, buffer, 8, FI_SEND, 0, 1, 1ull << 33, &mr, NULL));
	RC(-FI_EBADFLAGS, fi_mr_reg(w.domain, buffer, 0, 1, 8, 1, 1ull << 33, &mr, NULL)); /* they are looked at first */
	RC(-FI_EINVAL, fi_mr_reg(w.domain, buffer, 8, FI_COLLECTIVE, 0, 1, 0, &mr, NULL));
	RC(-FI_EINVAL, fi_mr_reg(w.domain, buffer, 8, FI_SEND | 1, 0, 1, 0, &mr, NULL));
	RC(-FI_EINVAL, fi_mr_reg(w.domain, buffer, 8, FI_SEND, 0, 1, 0, NULL, NULL));
	RC(-FI_EINVAL, fi_mr_reg(w.domain, buffer, SIZE_MAX, FI_SEND, 0, 1, 0, &mr, NULL)); /* wraps */
	RC(-FI_EINVAL, fi_mr_regv(w.domain, iov, 0, FI_SEND, 0, 1, 0, &mr, NULL));          /* S11 */
	RC(-FI_EINVAL, fi_mr_regv(w.domain, NULL, 1, FI_SEND, 0, 1, 0, &mr, NULL));
	RC(-FI_EINVAL, fi_mr_regv(w.domain, iov, 9, FI_SEND, 0, 1, 0, &mr, NULL)); /* S10 */
	RC(-FI_EINVAL, fi_mr_regattr(w.domain, &attr, 0, &mr));                    /* S159 */
	RC(-FI_EBADFLAGS, fi_mr_regattr(w.domain, &attr, 1ull << 33, &mr));        /* flags first here, too */
	RC(-FI_EINVAL, fi_mr_regattr(w.domain, NULL, 0, &mr));
	RC(-FI_EKEYREJECTED, fi_mr_reg(w.domain, buffer, 8, FI_REMOTE_READ, 0, FI_KEY_NOTAVAIL, 0, &mr, NULL)); /* S36 */
	cr_expect(!mr, "a failed registration wrote its result");
	RC(0, fi_mr_reg(w.domain, NULL, SIZE_MAX, FI_SEND, 0, 1, 0, &mr, NULL)); /* the whole address space */
	RC(0, fi_close(&mr->fid));
	RC(0, fi_mr_reg(w.domain, buffer, 8, 0, 0, 1, 0, &mr, NULL)); /* no access: registers */
	RC(0, fi_close(&mr->fid));
	RC(0, fi_mr_regv(w.domain, iov, 8, FI_SEND, 0, 1, 0, &mr, (void *)1));
	cr_expect(mr->fid.fclass == FI_CLASS_MR && mr->fid.context == (void *)1); /* S13 */
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* Before 1.9 a length of 0 is nothing wrong, before 1.5 there are no authorization keys (S3, S156). */
Test(fi_args, registration_by_older_versions)
{
	struct iovec iov = { buffer, 8 };
	struct fi_mr_attr attr = { .mr_iov = &iov, .iov_count = 1, .access = FI_SEND, .auth_key_size = 4 };
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .api = FI_VERSION(1, 8) });
	RC(0, fi_mr_reg(w.domain, buffer, 0, FI_SEND, 0, 1, 0, &mr, NULL));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
	world_open(&w, &(struct want){ .api = FI_VERSION(1, 4) });
	RC(0, fi_mr_regattr(w.domain, &attr, 0, &mr));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* A program's fi_mr_attr ends where its API version says. Here no memory follows it. */
Test(fi_args, registration_reads_no_newer_field)
{
	struct iovec iov = { buffer, 8 };
	struct fi_mr_attr attr = { .mr_iov = &iov, .iov_count = 1, .access = FI_SEND, .requested_key = 5 };
	size_t known = offsetof(struct fi_mr_attr, iface), page = (size_t)sysconf(_SC_PAGESIZE);
	struct fid_mr *mr;
	struct world w;
	char *pages;

	world_open(&w, &(struct want){ .api = FI_VERSION(1, 8) });
	pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(pages != MAP_FAILED && !munmap(pages + page, page));
	memcpy(pages + page - known, &attr, known);
	RC(0, fi_mr_regattr(w.domain, (struct fi_mr_attr *)(pages + page - known), 0, &mr));
	cr_expect(fi_mr_key(mr) == 5);
	RC(0, fi_close(&mr->fid));
	munmap(pages, page);
	world_close(&w);
}

Test(fi_args, queues_and_counters)
{
	struct fi_cq_attr cq_attr = { .format = 9 };
	struct fi_cntr_attr cntr_attr = { .flags = 1 };
	struct fid_cntr *cntr;
	struct fid_cq *cq;
	struct world w;
	int fd;

	world_open(&w, &(struct want){ 0 });
	RC(-FI_EINVAL, fi_cq_open(w.domain, &cq_attr, &cq, NULL));
	cq_attr = (struct fi_cq_attr){ .flags = 1 };
	RC(-FI_EBADFLAGS, fi_cq_open(w.domain, &cq_attr, &cq, NULL));
	cq_attr = (struct fi_cq_attr){ .size = 1 << 21 };
	RC(-FI_EINVAL, fi_cq_open(w.domain, &cq_attr, &cq, NULL));
	cq_attr = (struct fi_cq_attr){ .wait_obj = FI_WAIT_SET };
	RC(-FI_EINVAL, fi_cq_open(w.domain, &cq_attr, &cq, NULL));
	RC(-FI_EINVAL, fi_cq_open(w.domain, NULL, &cq, NULL));
	RC(-FI_EBADFLAGS, fi_cntr_open(w.domain, &cntr_attr, &cntr, NULL));
	RC(-FI_EINVAL, fi_cntr_open(w.domain, NULL, &cntr, NULL));
	RC(-FI_EINVAL, fi_cq_read(w.cq, NULL, 1));
	RC(-FI_EAGAIN, fi_cq_read(w.cq, NULL, 0));
	RC(-FI_EINVAL, fi_cq_sread(w.cq, buffer, 1, NULL, 0)); /* FI_WAIT_NONE */
	RC(-FI_EINVAL, fi_cq_signal(w.cq));
	RC(-FI_EINVAL, fi_cq_readerr(w.cq, NULL, 0));
	RC(-FI_EINVAL, fi_cntr_wait(w.cntr, 1, 0)); /* FI_WAIT_NONE, too */
	RC(-FI_EINVAL, fi_trywait(w.fabric, &(struct fid *){ &w.cq->fid }, 1));
	RC(-FI_ENODATA, fi_control(&w.cq->fid, FI_GETWAIT, &fd));
	RC(-FI_ENOSYS, fi_control(&w.cq->fid, FI_ALIAS, &fd));
	world_close(&w);
}

/* Nothing reads or writes memory by an endpoint for messages, so there is nothing to ask FI_RMA_EVENT for. */
Test(fi_args, counters_of_what_cannot_happen)
{
	struct world w;

	world_open_disabled(&w, &(struct want){ .caps = FI_MSG });
	RC(0, fi_ep_bind(w.ep, &w.cntr->fid, FI_REMOTE_READ | FI_REMOTE_WRITE));
	world_enable(&w);
	RC(0, (int)fi_cntr_read(w.cntr));
	world_close(&w);
}

/* With personality lax, as libfabric's own programs want it. */
Test(fi_args, lax_waits_for_counters_without_wait_object)
{
	struct world w;

	setenv("FI_EMU_PERSONALITY", "lax", 1);
	world_open(&w, &(struct want){ 0 });
	RC(0, fi_cntr_add(w.cntr, 3));
	RC(0, fi_cntr_wait(w.cntr, 3, -1));
	RC(-FI_ETIMEDOUT, fi_cntr_wait(w.cntr, 4, 1));
	RC(-FI_EINVAL, fi_trywait(w.fabric, &(struct fid *){ &w.cntr->fid }, 1));
	world_close(&w);
}

/* A provider that offers FI_HMEM must know the option. This one has no CUDA to permit. */
Test(fi_args, cuda_is_not_there_to_be_permitted)
{
	bool permitted = true;
	struct world w;

	for (int hmem = 0; hmem < 2; hmem++) {
		world_open(&w, &(struct want){ .caps = FI_MSG | (hmem ? FI_HMEM : 0), .mr_mode = FI_MR_HMEM });
		RC(hmem ? -FI_EINVAL : -FI_ENOPROTOOPT,
		   fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, COMPAT_OPT_CUDA_API_PERMITTED, &permitted, sizeof(permitted)));
		world_close(&w);
	}
}

Test(fi_args, options_and_flags_of_an_endpoint)
{
	uint64_t flags = FI_TRANSMIT | FI_DELIVERY_COMPLETE;
	size_t size = 0, length = sizeof(size);
	struct world w;

	world_open(&w, &(struct want){ .op_flags = FI_COMPLETION });
	RC(0, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &size, &length));
	cr_expect(size == w.info->tx_attr->size);
	length = 4;
	RC(-FI_ETOOSMALL, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &size, &length));
	RC(-FI_ENOPROTOOPT, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, 999, &size, &length));
	RC(-FI_ENOPROTOOPT, fi_getopt(&w.ep->fid, 1, FI_OPT_TX_SIZE, &size, &length));
	RC(-FI_ENOPROTOOPT, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &size, sizeof(size)));
	RC(0, fi_control(&w.ep->fid, FI_SETOPSFLAG, &flags));
	flags = FI_TRANSMIT;
	RC(0, fi_control(&w.ep->fid, FI_GETOPSFLAG, &flags));
	cr_expect(flags == (FI_TRANSMIT | FI_DELIVERY_COMPLETE));
	flags = FI_TRANSMIT | FI_RECV;
	RC(-FI_EINVAL, fi_control(&w.ep->fid, FI_GETOPSFLAG, &flags));
	flags = FI_RECV | FI_COMMIT_COMPLETE;
	RC(-FI_EBADFLAGS, fi_control(&w.ep->fid, FI_SETOPSFLAG, &flags));
	world_close(&w);
}

/* Fields that the program changed in the info are checked again. */
Test(fi_args, infos_that_fi_getinfo_never_gave)
{
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct world w;

	world_open(&w, &(struct want){ 0 });
	RC(-FI_EINVAL, fi_endpoint(w.domain, NULL, &ep, NULL));
	RC(-FI_EINVAL, fi_domain(w.fabric, NULL, &domain, NULL));
	w.info->caps |= FI_MULTICAST;
	RC(-FI_EINVAL, fi_endpoint(w.domain, w.info, &ep, NULL));
	w.info->caps &= ~FI_MULTICAST;
	w.info->tx_attr->inject_size = 4096;
	RC(-FI_EINVAL, fi_endpoint(w.domain, w.info, &ep, NULL));
	w.info->tx_attr->inject_size = 0;
	w.info->ep_attr->type = FI_EP_MSG;
	RC(-FI_EINVAL, fi_endpoint(w.domain, w.info, &ep, NULL));
	w.info->domain_attr->mr_mode = 1 << 30;
	RC(-FI_EINVAL, fi_domain(w.fabric, w.info, &domain, NULL));
	world_close(&w);
}
