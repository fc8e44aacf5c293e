/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 4: a table of records at the target. The initiator appends each by one operation: a vector of two local pieces, and a
 * vector of two remote ranges, the record's place and the count of records. */
#include "lab.h"

enum { RECORD = 128, RECORDS = (LAB_BYTES - RECORD) / RECORD, COUNT = 0, FIRST = RECORD }; /* the count has a line of its own */

static void target(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES), done;
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_REMOTE_WRITE);
	struct lab_region region = { .addr = (uintptr_t)memory, .key = fi_mr_key(mr), .length = LAB_BYTES };

	lab_tell(lab, &region, sizeof(region));
	lab_hear(lab, &done, sizeof(done));
	printf("count: %s, last record: %s\n", memory + COUNT, memory + FIRST + (RECORDS - 1) * RECORD);
	MUST(fi_close(&mr->fid));
	free(memory);
}

/* Writes the record in `memory` as number `at`, and the count behind it. */
static void append(struct lab *lab, const struct lab_region *region, char *memory, void *desc, int at)
{
	struct iovec local[2] = { { memory, RECORD }, { memory + RECORD, RECORD } };
	void *descs[2] = { desc, desc };
	struct fi_rma_iov remote[2] = {
		{ .addr = region->addr + FIRST + (uint64_t)at * RECORD, .len = RECORD, .key = region->key },
		{ .addr = region->addr + COUNT, .len = RECORD, .key = region->key },
	};
	struct fi_msg_rma msg = {
		.msg_iov = local, .desc = descs, .iov_count = 2, .addr = lab->peer, .rma_iov = remote, .rma_iov_count = 2,
	};

	snprintf(memory, RECORD, "record %d", at);
	snprintf(memory + RECORD, RECORD, "%d", at + 1);
	MUST(fi_writemsg(lab->ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE));
	lab_wait(lab);
}

static void initiator(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES);
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_WRITE);
	struct lab_region region;

	lab_hear(lab, &region, sizeof(region));
	for (int i = 0; i < RECORDS; i++)
		append(lab, &region, memory, fi_mr_desc(mr), i);
	lab_tell(lab, "", 1);
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
