/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 8: a region may be larger than the memory that is there yet. The NIC knows the pages of the time of the registration; of
 * those that come later the program must tell it (FI_MR_MMU_NOTIFY). */
#include "lab.h"

#include <sys/mman.h>

enum { HEAP = 1 << 20, PAGE = 4096, AT = 40 * PAGE };

static void target(struct lab *lab)
{
	char *heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), done;
	struct fid_mr *mr = lab_register(lab, heap, HEAP, FI_REMOTE_WRITE);
	struct lab_region region = { .addr = (uintptr_t)heap, .key = fi_mr_key(mr), .length = HEAP };

	memset(heap + AT, 0, PAGE); /* this page is there from now on */
	/* HOLE: the NIC does not know the page. fi_mr_refresh(3) tells it of a range of the region. */
	lab_tell(lab, &region, sizeof(region));
	lab_hear(lab, &done, sizeof(done));
	printf("target has: %s\n", heap + AT);
	MUST(fi_close(&mr->fid));
	munmap(heap, HEAP);
}

static void initiator(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES);
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_WRITE);
	struct lab_region region;

	lab_hear(lab, &region, sizeof(region));
	strcpy(memory, "hello, page");
	MUST(fi_write(lab->ep, memory, 64, fi_mr_desc(mr), lab->peer, region.addr + AT, region.key, NULL));
	lab_wait(lab);
	lab_tell(lab, "", 1);
	MUST(fi_close(&mr->fid));
	free(memory);
}

int main(void)
{
	struct lab lab;

	lab_fork(&lab);
	lab_open(&lab, FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_MMU_NOTIFY, 0);
	if (lab.side == LAB_TARGET)
		target(&lab);
	else
		initiator(&lab);
	return lab_close(&lab);
}
