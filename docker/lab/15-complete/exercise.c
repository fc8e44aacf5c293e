/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 15: a record is written, the write is complete, and the target is told so by another way than the NIC's. */
#include "lab.h"

enum { RECORD = 512 };

static void target(struct lab *lab)
{
	volatile char *memory = calloc(1, LAB_BYTES);
	struct fid_mr *mr = lab_register(lab, (void *)memory, LAB_BYTES, FI_REMOTE_WRITE);
	struct lab_region region = { .addr = (uintptr_t)memory, .key = fi_mr_key(mr), .length = LAB_BYTES };
	int there = 0;
	char word;

	lab_tell(lab, &region, sizeof(region));
	lab_hear(lab, &word, sizeof(word));
	for (int i = 0; i < RECORD; i++)
		there += memory[i] == 'r';
	printf("the record has %d of %d bytes\n", there, RECORD);
	lab_tell(lab, "", 1);
	MUST(fi_close(&mr->fid));
	free((void *)memory);
}

/* Writes the record to the beginning of the region; the flags say when the write is complete. */
static void write_record(struct lab *lab, struct fid_mr *mr, void *memory, const struct lab_region *region, uint64_t flags)
{
	struct iovec from = { memory, RECORD };
	struct fi_rma_iov to = { region->addr, RECORD, region->key };
	void *desc = fi_mr_desc(mr);
	struct fi_msg_rma msg = {
		.msg_iov = &from, .desc = &desc, .iov_count = 1, .addr = lab->peer, .rma_iov = &to, .rma_iov_count = 1
	};

	MUST(fi_writemsg(lab->ep, &msg, flags));
}

static void initiator(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES), seen;
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_WRITE);
	struct lab_region region;

	lab_hear(lab, &region, sizeof(region));
	memset(memory, 'r', RECORD);
	/* BUG: this is complete when the other NIC has the record. Is it in memory then? */
	write_record(lab, mr, memory, &region, FI_TRANSMIT_COMPLETE);
	lab_wait(lab);
	lab_tell(lab, "w", 1);
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
