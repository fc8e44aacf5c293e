/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 7: this NIC has its regions belong to endpoints (FI_MR_ENDPOINT). */
#include "lab.h"

static void target(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES), done;
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_REMOTE_WRITE);
	struct lab_region region = { .addr = (uintptr_t)memory, .length = LAB_BYTES };

	MUST(fi_mr_bind(mr, &lab->ep->fid, 0));
	MUST(fi_mr_enable(mr));
	region.key = fi_mr_key(mr);
	lab_tell(lab, &region, sizeof(region));
	lab_hear(lab, &done, sizeof(done));
	printf("target has: %s\n", memory);
	MUST(fi_close(&mr->fid));
	free(memory);
}

static void initiator(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES);
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_WRITE);
	struct lab_region region;

	MUST(fi_mr_bind(mr, &lab->ep->fid, 0)); /* the initiator's own region is right */
	MUST(fi_mr_enable(mr));
	lab_hear(lab, &region, sizeof(region));
	strcpy(memory, "hello, target");
	MUST(fi_write(lab->ep, memory, 64, fi_mr_desc(mr), lab->peer, region.addr, region.key, NULL));
	lab_wait(lab);
	lab_tell(lab, "", 1);
	MUST(fi_close(&mr->fid));
	free(memory);
}

int main(void)
{
	struct lab lab;

	lab_fork(&lab);
	lab_open(&lab, FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT, 0);
	if (lab.side == LAB_TARGET)
		target(&lab);
	else
		initiator(&lab);
	return lab_close(&lab);
}
