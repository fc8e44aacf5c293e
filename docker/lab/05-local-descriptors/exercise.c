/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 5: the initiator writes a head and a body from two buffers of its own. */
#include "lab.h"

enum { PART = 64 };

static void target(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES), done;
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_REMOTE_WRITE);
	struct lab_region region = { .key = fi_mr_key(mr), .length = LAB_BYTES };

	region.addr = lab->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)memory : 0;
	lab_tell(lab, &region, sizeof(region));
	lab_hear(lab, &done, sizeof(done));
	printf("target has: %s %s\n", memory, memory + PART);
	MUST(fi_close(&mr->fid));
	free(memory);
}

/* Posts a write, and says why if that cannot be. */
static void put(struct lab *lab, char *from, void *desc, const struct lab_region *region, uint64_t at)
{
	ssize_t result = fi_write(lab->ep, from, PART, desc, lab->peer, region->addr + at, region->key, NULL);

	if (result)
		printf("fi_write: %s\n", fi_strerror((int)-result));
	else
		lab_wait(lab);
}

static void initiator(struct lab *lab)
{
	char *head = calloc(1, PART), *body = calloc(1, PART);
	struct fid_mr *mr = lab_register(lab, head, PART, FI_WRITE);
	struct lab_region region;

	strcpy(head, "head");
	strcpy(body, "body");
	lab_hear(lab, &region, sizeof(region));
	put(lab, head, NULL, &region, 0); /* BUG: the NIC reads this buffer, and needs to know by which region */
	put(lab, body, fi_mr_desc(mr), &region, PART); /* BUG: is this buffer in that region? */
	lab_tell(lab, "", 1);
	MUST(fi_close(&mr->fid));
	free(head);
	free(body);
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
