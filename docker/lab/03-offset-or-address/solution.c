/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 3: the initiator fills the four quarters of the target's region, one after another. */
#include "lab.h"

enum { QUARTERS = 4, QUARTER = LAB_BYTES / QUARTERS };

static void target(struct lab *lab)
{
	char *memory = malloc(LAB_BYTES), done;
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_REMOTE_WRITE);
	struct lab_region region = { .key = fi_mr_key(mr), .length = LAB_BYTES };

	memset(memory, '-', LAB_BYTES);
	if (lab->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
		region.addr = (uintptr_t)memory;
	lab_tell(lab, &region, sizeof(region));
	lab_hear(lab, &done, sizeof(done));
	printf("quarters: %c%c%c%c\n", memory[0], memory[QUARTER], memory[2 * QUARTER], memory[3 * QUARTER]);
	MUST(fi_close(&mr->fid));
	free(memory);
}

static void initiator(struct lab *lab)
{
	char *memory = malloc(LAB_BYTES);
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_WRITE);
	struct lab_region region;

	lab_hear(lab, &region, sizeof(region));
	for (int i = 0; i < QUARTERS; i++) {
		memset(memory, 'a' + i, QUARTER);
		MUST(fi_write(lab->ep, memory, QUARTER, fi_mr_desc(mr), lab->peer, region.addr + (uint64_t)i * QUARTER, region.key,
			      NULL));
		lab_wait(lab);
	}
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
