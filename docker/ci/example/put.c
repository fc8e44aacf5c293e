/* SPDX-License-Identifier: BSD-2-Clause */
/* put.c - writes to a region of its own through the NIC, and looks at what arrived: put [N]
 * N bytes go beyond the region's end. A NIC of hardware may write them, or refuse; emu refuses, and says why. */
#include <emu/emu.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, NAME_MAX_BYTES = 256, WAIT_MS = 30000 };

struct nic {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t self;
};

static uint8_t source[2 * BYTES], target[2 * BYTES];

static void must(ssize_t rc, const char *call)
{
	if (!rc)
		return;
	fprintf(stderr, "%s: %s\n", call, fi_strerror((int)-rc));
	exit(1);
}

static void nic_open(struct nic *nic)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	char name[NAME_MAX_BYTES];
	size_t length = sizeof(name);

	if (!hints)
		must(-FI_ENOMEM, "fi_allocinfo");
	hints->caps = FI_RMA;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	must(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &nic->info), "fi_getinfo");
	fi_freeinfo(hints);
	must(fi_fabric(nic->info->fabric_attr, &nic->fabric, NULL), "fi_fabric");
	must(fi_domain(nic->fabric, nic->info, &nic->domain, NULL), "fi_domain");
	must(fi_cq_open(nic->domain, &cq_attr, &nic->cq, NULL), "fi_cq_open");
	must(fi_av_open(nic->domain, &av_attr, &nic->av, NULL), "fi_av_open");
	must(fi_endpoint(nic->domain, nic->info, &nic->ep, NULL), "fi_endpoint");
	must(fi_ep_bind(nic->ep, &nic->av->fid, 0), "fi_ep_bind(av)");
	must(fi_ep_bind(nic->ep, &nic->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind(cq)");
	must(fi_enable(nic->ep), "fi_enable");
	must(fi_getname(&nic->ep->fid, name, &length), "fi_getname");
	if (fi_av_insert(nic->av, name, 1, &nic->self, 0, NULL) != 1)
		must(-FI_EADDRNOTAVAIL, "fi_av_insert");
}

static void nic_close(struct nic *nic)
{
	must(fi_close(&nic->ep->fid), "fi_close(endpoint)");
	must(fi_close(&nic->av->fid), "fi_close(av)");
	must(fi_close(&nic->cq->fid), "fi_close(cq)");
	must(fi_close(&nic->domain->fid), "fi_close(domain)");
	must(fi_close(&nic->fabric->fid), "fi_close(fabric)");
	fi_freeinfo(nic->info);
}

/* Prints why the write was refused: the sentence, and the cause that emu.h names. */
static void tell_refusal(struct nic *nic)
{
	struct fi_cq_err_entry entry = { 0 };
	char text[512];

	if (fi_cq_readerr(nic->cq, &entry, 0) != 1)
		must(-FI_EOTHER, "fi_cq_readerr");
	printf("refused: %s\n", fi_cq_strerror(nic->cq, entry.prov_errno, entry.err_data, text, sizeof(text)));
	if (entry.prov_errno == EMU_CAUSE_RANGE)
		printf("the write goes beyond the region's end\n");
}

/* Writes that many bytes to the target; returns 0 if the write was done. */
static int put(struct nic *nic, struct fid_mr *from, struct fid_mr *to, size_t bytes)
{
	int virtual = (nic->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
	struct fi_cq_entry done;
	ssize_t rc;

	rc = fi_write(nic->ep, source, bytes, fi_mr_desc(from), nic->self, virtual ? (uintptr_t)target : 0, fi_mr_key(to), NULL);
	must(rc, "fi_write");
	rc = fi_cq_sread(nic->cq, &done, 1, NULL, WAIT_MS);
	if (rc == -FI_EAVAIL) {
		tell_refusal(nic);
		return 1;
	}
	if (rc != 1)
		must(rc ? rc : -FI_ETIMEDOUT, "fi_cq_sread");
	return 0;
}

int main(int argc, char **argv)
{
	size_t bytes = BYTES + (argc > 1 ? strtoul(argv[1], NULL, 10) : 0);
	struct fid_mr *from, *to;
	struct nic nic;
	int failed;

	if (bytes > sizeof(source))
		must(-FI_EINVAL, "put takes at most 4096 bytes more");
	nic_open(&nic);
	memset(source, 0x5a, sizeof(source));
	must(fi_mr_reg(nic.domain, source, sizeof(source), FI_WRITE, 0, 1, 0, &from, NULL), "fi_mr_reg(source)");
	must(fi_mr_reg(nic.domain, target, BYTES, FI_REMOTE_WRITE, 0, 2, 0, &to, NULL), "fi_mr_reg(target)");
	failed = put(&nic, from, to, bytes) || memcmp(source, target, bytes) != 0;
	must(fi_close(&to->fid), "fi_close(target)");
	must(fi_close(&from->fid), "fi_close(source)");
	nic_close(&nic);
	printf("%s\n", failed ? "failed" : "passed");
	return failed;
}
