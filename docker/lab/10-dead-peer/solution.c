/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 10: the target dies between two writes. */
#include "lab.h"

#include <signal.h>
#include <sys/socket.h>

static void target(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES), done;
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_REMOTE_WRITE);
	struct lab_region region = { .addr = (uintptr_t)memory, .key = fi_mr_key(mr), .length = LAB_BYTES };

	lab_tell(lab, &region, sizeof(region));
	lab_hear(lab, &done, sizeof(done));
	raise(SIGKILL);
}

static void initiator(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES), gone;
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_WRITE);
	struct lab_region region;
	int written = 0;

	lab_hear(lab, &region, sizeof(region));
	for (int i = 0; i < 2; i++) {
		MUST(fi_write(lab->ep, memory, 64, fi_mr_desc(mr), lab->peer, region.addr, region.key, NULL));
		if (!lab_wait(lab))
			written++;
		else
			printf("the peer is gone\n");
		if (!i) {
			lab_tell(lab, "", 1);
			while (recv(lab->line.fd, &gone, 1, 0) > 0) /* until the target is dead */
				;
		}
	}
	printf("%d of 2 writes are done\n", written);
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
	lab_close(&lab); /* which returns 1, as the target was killed */
	return 0;
}
