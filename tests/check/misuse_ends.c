/* SPDX-License-Identifier: BSD-2-Clause */
/* misuse_ends.c - two endpoints, and what most cases do with them. */
#include <poll.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/check/misuse.h"

#define FAR ((uintptr_t)1 << 45) /* an address where nothing else is: what is unmapped there stays a hole */

struct misuse_want want = { .mode = FI_CONTEXT | FI_CONTEXT2 };
struct fi_info *info;
struct fid_fabric *fabric;
struct fid_domain *domain;
struct end a, b;
char *area;
struct fid_mr *area_mr;
struct fi_context2 contexts[8];

void end_open(struct end *end)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_CONTEXT, .size = want.cq_size, .wait_obj = want.wait };
	struct fi_av_attr av = { .type = FI_AV_TABLE };

	GOOD(fi_cq_open(domain, &cq, &end->cq, NULL));
	GOOD(fi_av_open(domain, &av, &end->av, NULL));
	GOOD(fi_endpoint(domain, info, &end->ep, NULL));
	GOOD(fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV));
	GOOD(fi_ep_bind(end->ep, &end->av->fid, 0));
	GOOD(fi_enable(end->ep));
}

void end_knows(struct end *end, const struct end *other, fi_addr_t *address)
{
	char name[128];
	size_t size = sizeof(name);

	GOOD(fi_getname(&other->ep->fid, name, &size));
	GOOD(fi_av_insert(end->av, name, 1, address, 0, NULL) - 1);
}

void open_all(void)
{
	struct fi_info *hints = fi_allocinfo();

	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_RMA | want.caps;
	hints->mode = want.mode;
	hints->domain_attr->mr_mode = (int)(FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT |
					    want.mr_mode);
	hints->domain_attr->resource_mgmt = want.management;
	hints->domain_attr->data_progress = want.progress;
	hints->domain_attr->threading = want.threading;
	hints->tx_attr->size = want.tx_size;
	hints->fabric_attr->prov_name = strdup("emu");
	GOOD(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	GOOD(fi_fabric(info->fabric_attr, &fabric, NULL));
	GOOD(fi_domain(fabric, info, &domain, NULL));
	end_open(&a);
	end_open(&b);
	end_knows(&a, &b, &a.peer);
	end_knows(&b, &a, &b.peer);
	end_knows(&a, &a, &a.self);
	end_knows(&b, &b, &b.self);
	area = mmap((void *)FAR, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	GOOD(area == MAP_FAILED);
	GOOD(fi_mr_reg(domain, area, AREA, FI_SEND | FI_RECV | FI_WRITE | FI_READ, 0, 1, 0, &area_mr, NULL));
}

void end_close(struct end *end)
{
	if (end->ep)
		GOOD(fi_close(&end->ep->fid));
	if (end->av)
		GOOD(fi_close(&end->av->fid));
	if (end->cq)
		GOOD(fi_close(&end->cq->fid));
}

void close_all(void)
{
	end_close(&a);
	end_close(&b);
	if (area_mr)
		GOOD(fi_close(&area_mr->fid));
	GOOD(fi_close(&domain->fid));
	GOOD(fi_close(&fabric->fid));
	fi_freeinfo(info);
}

void done(struct end *end, int count)
{
	const struct end *other = end == &a ? &b : &a;
	struct fi_cq_entry entry;

	while (count) {
		ssize_t got = fi_cq_read(end->cq, &entry, 1);

		if (got == -FI_EAGAIN) {
			(void)fi_cq_read(other->cq, NULL, 0);
			continue;
		}
		GOOD(got - 1);
		count--;
	}
}

void send_large(void)
{
	GOOD(fi_send(a.ep, area, LARGE, fi_mr_desc(area_mr), a.peer, &contexts[0]));
}

void receive(int at, size_t length, int context)
{
	GOOD(fi_recv(b.ep, area + LARGE + at, length, fi_mr_desc(area_mr), FI_ADDR_UNSPEC, &contexts[context]));
}

void receive_large(void)
{
	receive(0, LARGE, 1);
	done(&a, 1);
	done(&b, 1);
}

void send_small(int context)
{
	GOOD(fi_send(a.ep, area, SMALL, fi_mr_desc(area_mr), a.peer, &contexts[context]));
	done(&a, 1);
}

struct fid_mr *remote_region(struct end *owner, void *memory, size_t length, uint64_t access)
{
	static uint64_t key = 2;
	struct fid_mr *mr;

	GOOD(fi_mr_reg(domain, memory, length, access, 0, key++, 0, &mr, NULL));
	GOOD(fi_mr_bind(mr, &owner->ep->fid, 0));
	GOOD(fi_mr_enable(mr));
	return mr;
}

void wait_ready(struct fid_cq *cq)
{
	struct fid *fid = &cq->fid;
	struct pollfd ready = { .events = POLLIN };

	GOOD(fi_control(fid, FI_GETWAIT, &ready.fd));
	while (!fi_trywait(fabric, &fid, 1))
		GOOD(poll(&ready, 1, -1) - 1);
}
