/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 2: the target has an inbox, which others write, and a board, which others read. Each may do that and no more. */
#include "lab.h"

struct place {
	struct lab_region inbox, board;
};

static struct lab_region told(struct fid_mr *mr, void *memory)
{
	return (struct lab_region){ .addr = (uintptr_t)memory, .key = fi_mr_key(mr), .length = LAB_BYTES };
}

static void target(struct lab *lab)
{
	char *inbox = calloc(1, LAB_BYTES), *board = calloc(1, LAB_BYTES), done;
	/* BUG: these are not the rights that the first comment asks for. */
	struct fid_mr *inbox_mr = lab_register(lab, inbox, LAB_BYTES, FI_REMOTE_WRITE);
	struct fid_mr *board_mr = lab_register(lab, board, LAB_BYTES, FI_REMOTE_WRITE);
	struct place place = { told(inbox_mr, inbox), told(board_mr, board) };

	strcpy(board, "news of today");
	lab_tell(lab, &place, sizeof(place));
	lab_hear(lab, &done, sizeof(done));
	printf("inbox: %s\nboard: %s\n", inbox, board);
	MUST(fi_close(&inbox_mr->fid));
	MUST(fi_close(&board_mr->fid));
	free(inbox);
	free(board);
}

static void initiator(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES);
	struct fid_mr *mr = lab_register(lab, memory, LAB_BYTES, FI_READ | FI_WRITE);
	struct place place;

	lab_hear(lab, &place, sizeof(place));
	MUST(fi_read(lab->ep, memory, 64, fi_mr_desc(mr), lab->peer, place.board.addr, place.board.key, NULL));
	if (!lab_wait(lab))
		printf("read: %s\n", memory);
	strcpy(memory, "a letter");
	MUST(fi_write(lab->ep, memory, 64, fi_mr_desc(mr), lab->peer, place.inbox.addr, place.inbox.key, NULL));
	lab_wait(lab);
	strcpy(memory, "scribbles"); /* what a board must not take: leave this as it is */
	MUST(fi_write(lab->ep, memory, 64, fi_mr_desc(mr), lab->peer, place.board.addr, place.board.key, NULL));
	lab_wait(lab);
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
