/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 9: a record comes as a message; after it the initiator writes a flag, and the target looks at the flag's last byte. */
#include "lab.h"

enum { FLAG = 2048, FLAG_BYTES = 64, RECORD = 64 };

static void target(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES);
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_RECV | FI_REMOTE_WRITE);
	struct lab_region region = { .addr = (uintptr_t)memory, .key = fi_mr_key(mr), .length = LAB_BYTES };

	MUST(fi_recv(lab->ep, memory, RECORD, fi_mr_desc(mr), FI_ADDR_UNSPEC, NULL));
	lab_tell(lab, &region, sizeof(region));
	lab_wait(lab); /* the completion of the receive: the record is here */
	printf("record: %s\n", memory);
	lab_tell(lab, "", 1);
	MUST(fi_close(&mr->fid));
	free(memory);
}

static void initiator(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES), seen;
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_SEND | FI_WRITE);
	struct lab_region region;

	lab_hear(lab, &region, sizeof(region));
	strcpy(memory, "all of it");
	memset(memory + FLAG, 1, FLAG_BYTES);
	MUST(fi_send(lab->ep, memory, RECORD, fi_mr_desc(mr), lab->peer, NULL));
	MUST(fi_write(lab->ep, memory + FLAG, FLAG_BYTES, fi_mr_desc(mr), lab->peer, region.addr + FLAG, region.key, NULL));
	lab_wait(lab);
	lab_wait(lab);
	lab_hear(lab, &seen, sizeof(seen));
	MUST(fi_close(&mr->fid));
	free(memory);
}

int main(void)
{
	struct lab lab;

	lab_fork(&lab);
	lab_open(&lab, FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY, 0);
	if (lab.side == LAB_TARGET)
		target(&lab);
	else
		initiator(&lab);
	return lab_close(&lab);
}
