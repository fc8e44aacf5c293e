/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_peer.c - demo_kfi.sh's other side, a program of libfabric: kfi_peer ADDRESS-IN-HEX KEY
 * It writes to the module's page, reads it back, writes past its end, and offers memory of its own. */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 64, PAGE_BYTES = 4096, NAME_BYTES = 64 };

struct peer_offer {
	uint8_t name[NAME_BYTES];
	uint64_t addr, key;
};

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_cntr *reads;
static struct fid_ep *ep;
static struct fid_mr *mr;
static fi_addr_t module;

static void peer_must(long rc, const char *call)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "kfi_peer: %s: %s\n", call, fi_strerror((int)-rc));
	exit(1);
}
#define MUST(call) peer_must((long)(call), #call)

static void open_endpoint(void)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_cntr_attr cntr_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_attr av_attr = { 0 };
	struct fi_info *hints = fi_allocinfo();

	hints->caps = FI_MSG | FI_RMA | FI_RMA_EVENT;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("emu");
	MUST(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &info));
	fi_freeinfo(hints);
	MUST(fi_fabric(info->fabric_attr, &fabric, NULL));
	MUST(fi_domain(fabric, info, &domain, NULL));
	MUST(fi_av_open(domain, &av_attr, &av, NULL));
	MUST(fi_cq_open(domain, &cq_attr, &cq, NULL));
	MUST(fi_cntr_open(domain, &cntr_attr, &reads, NULL));
	MUST(fi_endpoint(domain, info, &ep, NULL));
	MUST(fi_ep_bind(ep, &av->fid, 0));
	MUST(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	MUST(fi_ep_bind(ep, &reads->fid, FI_REMOTE_READ));
	MUST(fi_enable(ep));
}

static void take_address(const char *hex)
{
	uint8_t name[NAME_BYTES] = { 0 };

	for (size_t i = 0; i < NAME_BYTES && sscanf(hex + 2 * i, "%2hhx", &name[i]) == 1; i++)
		;
	MUST(fi_av_insert(av, name, 1, &module, 0, NULL) - 1);
}

/* Waits for the operation; prints the sentence of one that was refused. */
static void finish(const char *what)
{
	struct fi_cq_entry entry;
	struct fi_cq_err_entry error = { 0 };
	char text[512];
	ssize_t rc;

	while ((rc = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
		;
	if (rc == 1) {
		printf("%s: done\n", what);
		return;
	}
	MUST(fi_cq_readerr(cq, &error, 0));
	printf("%s: refused: %s\n", what, fi_cq_strerror(cq, error.prov_errno, error.err_data, text, sizeof(text)));
}

int main(int argc, char **argv)
{
	static char text[TEXT_BYTES] = "greetings from user space", back[TEXT_BYTES];
	static char mine[TEXT_BYTES] = "a text in the program's memory";
	struct peer_offer offer = { 0 };
	size_t length = sizeof(offer.name);
	uint64_t key;

	if (argc != 3) {
		fprintf(stderr, "usage: kfi_peer ADDRESS-IN-HEX KEY\n");
		return 2;
	}
	key = strtoull(argv[2], NULL, 0);
	open_endpoint();
	take_address(argv[1]);
	MUST(fi_write(ep, text, sizeof(text), NULL, module, 0, key, NULL));
	finish("write to the module's page");
	MUST(fi_read(ep, back, sizeof(back), NULL, module, 0, key, NULL));
	finish("read of the module's page");
	if (strcmp(text, back)) {
		fprintf(stderr, "kfi_peer: the page says otherwise\n");
		return 1;
	}
	MUST(fi_write(ep, text, sizeof(text), NULL, module, PAGE_BYTES - 8, key, NULL));
	finish("write past its end");
	MUST(fi_mr_reg(domain, mine, sizeof(mine), FI_REMOTE_READ, 0, 1, 0, &mr, NULL));
	offer.key = fi_mr_key(mr);
	offer.addr = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)mine : 0;
	MUST(fi_getname(&ep->fid, offer.name, &length));
	MUST(fi_send(ep, &offer, sizeof(offer), NULL, module, NULL));
	finish("offer of memory to the module");
	MUST(fi_cntr_wait(reads, 1, 60000));
	puts("the module has read it");
	return 0;
}
