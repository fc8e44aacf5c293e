/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 1: the initiator writes a greeting to the target's memory, and reads what the target has there for it. */
#include "lab.h"

enum { GREETING = 0, ANSWER = 64, ROOM = 64 }; /* places in the target's memory */

static void target(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES);
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE);
	struct lab_region region = { .addr = (uintptr_t)memory, .key = fi_mr_key(mr), .length = LAB_BYTES };
	char done;

	strcpy(memory + ANSWER, "hello, initiator");
	lab_tell(lab, &region, sizeof(region));
	lab_hear(lab, &done, sizeof(done)); /* meanwhile this program does nothing at all */
	printf("target has: %s\n", memory + GREETING);
	MUST(fi_close(&mr->fid));
	free(memory);
}

static void initiator(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES);
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_READ | FI_WRITE);
	struct lab_region region;

	lab_hear(lab, &region, sizeof(region));
	strcpy(memory, "hello, target");
	MUST(fi_write(lab->ep, memory, ROOM, fi_mr_desc(mr), lab->peer, region.addr + GREETING, region.key, NULL));
	lab_wait(lab);
	MUST(fi_read(lab->ep, memory + ANSWER, ROOM, fi_mr_desc(mr), lab->peer, region.addr + ANSWER, region.key, NULL));
	lab_wait(lab);
	printf("initiator has: %s\n", memory + ANSWER);
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
