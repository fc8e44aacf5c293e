/* SPDX-License-Identifier: BSD-2-Clause */
/* lab.c - see lab.h. */
#include "lab.h"

enum { API_MAJOR = 1, API_MINOR = 17, QUEUE = 64, NAME_BYTES = 256 };

long lab_must(const char *call, long result)
{
	if (result < 0)
		line_die(call, fi_strerror((int)-result));
	return result;
}

static struct fi_info *find_nic(int mr_mode)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	if (!hints)
		line_die("fi_allocinfo", "out of memory");
	hints->caps = FI_MSG | FI_RMA | FI_RMA_EVENT;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = mr_mode;
	/* Messages keep their order, and nothing else does. */
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	/* A write has completed when its bytes can be seen, unless a call has flags of its own. */
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	line_note("asks for %s", fi_tostr(&mr_mode, FI_TYPE_MR_MODE));
	MUST(fi_getinfo(FI_VERSION(API_MAJOR, API_MINOR), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

/* Each process sends the address of its endpoint to the other. */
static void meet(struct lab *lab)
{
	char mine[NAME_BYTES] = { 0 }, other[NAME_BYTES];
	size_t size = sizeof(mine);

	MUST(fi_getname(&lab->ep->fid, mine, &size));
	lab_tell(lab, mine, sizeof(mine));
	lab_hear(lab, other, sizeof(other));
	if (fi_av_insert(lab->av, other, 1, &lab->peer, 0, NULL) != 1)
		line_die("fi_av_insert", "this is no address");
}

void lab_open(struct lab *lab, int mr_mode, int counters)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_CONTEXT, .size = QUEUE };
	struct fi_cntr_attr cntr = { .events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_attr av = { .type = FI_AV_TABLE };

	lab->info = find_nic(mr_mode);
	MUST(fi_fabric(lab->info->fabric_attr, &lab->fabric, NULL));
	MUST(fi_domain(lab->fabric, lab->info, &lab->domain, NULL));
	MUST(fi_av_open(lab->domain, &av, &lab->av, NULL));
	MUST(fi_cq_open(lab->domain, &cq, &lab->cq, NULL));
	MUST(fi_endpoint(lab->domain, lab->info, &lab->ep, NULL));
	MUST(fi_ep_bind(lab->ep, &lab->av->fid, 0));
	MUST(fi_ep_bind(lab->ep, &lab->cq->fid, FI_TRANSMIT | FI_RECV));
	if (counters) {
		MUST(fi_cntr_open(lab->domain, &cntr, &lab->cntr, NULL));
		MUST(fi_ep_bind(lab->ep, &lab->cntr->fid, lab->side == LAB_INITIATOR ? FI_WRITE | FI_READ : FI_REMOTE_WRITE));
	}
	MUST(fi_enable(lab->ep));
	meet(lab);
}

struct fid_mr *lab_register(struct lab *lab, void *memory, size_t length, uint64_t access)
{
	static uint64_t asked = 1;
	struct fid_mr *mr;

	line_note_memory(memory, length);
	MUST(fi_mr_reg(lab->domain, memory, length, access, 0, asked++, 0, &mr, NULL));
	return mr;
}

int lab_wait(struct lab *lab)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_entry entry;
	const char *before = line_waits_in("lab_wait()");
	ssize_t got;

	do
		got = fi_cq_read(lab->cq, &entry, 1);
	while (got == -FI_EAGAIN);
	line_waits_in(before);
	if (got == 1)
		return 0;
	if (got != -FI_EAVAIL)
		line_die("fi_cq_read", fi_strerror((int)-got));
	MUST(fi_cq_readerr(lab->cq, &error, 0));
	printf("error: %s\n", fi_cq_strerror(lab->cq, error.prov_errno, error.err_data, NULL, 0));
	return error.prov_errno;
}

int lab_close(struct lab *lab)
{
	MUST(fi_close(&lab->ep->fid));
	if (lab->cntr)
		MUST(fi_close(&lab->cntr->fid));
	MUST(fi_close(&lab->cq->fid));
	MUST(fi_close(&lab->av->fid));
	MUST(fi_close(&lab->domain->fid));
	MUST(fi_close(&lab->fabric->fid));
	fi_freeinfo(lab->info);
	return line_close(&lab->line);
}
