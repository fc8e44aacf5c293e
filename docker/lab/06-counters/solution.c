/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 6: eight pieces, and a counter on each side in place of completions. The line to a distant peer makes the later pieces
 * slow: plan.ini. */
#include "lab.h"

enum { PIECES = 8, PIECE = 64, PATIENCE_MS = 10000 };

static void target(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES);
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_REMOTE_WRITE);
	struct lab_region region = { .addr = (uintptr_t)memory, .key = fi_mr_key(mr), .length = LAB_BYTES };
	int here = 0;

	lab_tell(lab, &region, sizeof(region));
	MUST(fi_cntr_wait(lab->cntr, PIECES, PATIENCE_MS));
	for (int i = 0; i < PIECES; i++)
		here += memory[i * PIECE] != 0;
	printf("target has %d of %d pieces\n", here, PIECES);
	lab_tell(lab, "", 1);
	MUST(fi_close(&mr->fid));
	free(memory);
}

static void initiator(struct lab *lab)
{
	char *memory = malloc(LAB_BYTES), seen;
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_WRITE);
	struct lab_region region;

	memset(memory, 'x', LAB_BYTES);
	lab_hear(lab, &region, sizeof(region));
	for (int i = 0; i < PIECES; i++)
		MUST(fi_write(lab->ep, memory + i * PIECE, PIECE, fi_mr_desc(mr), lab->peer, region.addr + (uint64_t)i * PIECE,
			      region.key, NULL));
	MUST(fi_cntr_wait(lab->cntr, PIECES, PATIENCE_MS));
	lab_hear(lab, &seen, sizeof(seen));
	MUST(fi_close(&mr->fid));
	free(memory);
}

int main(void)
{
	struct lab lab;

	lab_fork(&lab);
	lab_open(&lab, FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY, 1);
	if (lab.side == LAB_TARGET)
		target(&lab);
	else
		initiator(&lab);
	return lab_close(&lab);
}
