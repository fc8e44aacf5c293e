/* SPDX-License-Identifier: BSD-2-Clause */
/* commit.c - FI_COMMIT_COMPLETE as an endpoint's default: it goes with every write, and with nothing else. And a persistent
 * region on a file system that is full. */
#include "tests/fi/world.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

enum { LEN = 4096 };

static char *file;
static struct fid_mr *durable, *plain;

static void open_all(struct world *w)
{
	char path[] = "/tmp/emu_commit_XXXXXX";
	int fd = mkstemp(path);

	cr_assert(fd >= 0 && !unlink(path) && !ftruncate(fd, LEN));
	file = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert(file != MAP_FAILED);
	close(fd);
	world_open(w, &(struct want){ .op_flags = FI_COMMIT_COMPLETE });
	RC(0, fi_mr_reg(w->domain, file, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, FI_RMA_PMEM, &durable, NULL));
	RC(0, fi_mr_reg(w->domain, file, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 2, 0, &plain, NULL));
}

static void close_all(struct world *w)
{
	RC(0, fi_close(&durable->fid));
	RC(0, fi_close(&plain->fid));
	world_close(w);
	munmap(file, LEN);
}

/* The next completion is good, or fails with EACCES. */
static void expect(struct world *w, bool good)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };

	if (good) {
		RC(1, world_next(w, &entry));
		return;
	}
	RC(-FI_EAVAIL, world_next(w, &entry));
	RC(1, fi_cq_readerr(w->cq, &error, 0));
	cr_assert_eq(error.err, FI_EACCES);
}

Test(fi_commit, as_a_default)
{
	char bytes[64] = "durable";
	struct iovec iov = { bytes, sizeof(bytes) };
	struct fi_rma_iov remote = { .addr = 512, .len = sizeof(bytes), .key = 1 };
	struct fi_msg_rma msg = { .msg_iov = &iov, .iov_count = 1, .rma_iov = &remote, .rma_iov_count = 1 };
	struct world w;

	open_all(&w);
	msg.addr = w.self;
	RC(0, fi_write(w.ep, bytes, 64, NULL, w.self, 0, 1, NULL));
	expect(&w, true);
	cr_assert_str_eq(file, "durable");
	RC(0, fi_write(w.ep, bytes, 64, NULL, w.self, 64, 2, NULL));
	expect(&w, false);
	cr_assert_eq(file[64], 0);
	RC(0, fi_writev(w.ep, &iov, NULL, 1, w.self, 64, 1, NULL));
	expect(&w, true);
	RC(0, fi_writedata(w.ep, bytes, 64, NULL, 77, w.self, 128, 1, NULL));
	expect(&w, true);
	expect(&w, true); /* the target's, of the data */
	RC(0, fi_read(w.ep, bytes, 64, NULL, w.self, 0, 2, NULL));
	expect(&w, true);
	RC(0, fi_inject_write(w.ep, bytes, 64, w.self, 256, 2)); /* defaults do not go with it */
	RC(0, fi_recv(w.ep, bytes, 8, NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_send(w.ep, file, 8, NULL, w.self, NULL));
	expect(&w, true);
	expect(&w, true);
	RC(0, fi_writemsg(w.ep, &msg, 0)); /* its own flags count */
	expect(&w, true);
	cr_assert_str_eq(file + 256, "durable");
	close_all(&w);
}

/* A file of `length` bytes, of which none is there, on a file system of its own with room for `room` of them. -1: this process
 * may not mount one. */
static int on_a_small_disk(size_t room, size_t length)
{
	char folder[] = "/tmp/emu_full_XXXXXX", file_name[64], options[64];
	int fd;

	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return -1;
	cr_assert(mkdtemp(folder));
	snprintf(options, sizeof(options), "size=%zu", room);
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("none", folder, "tmpfs", 0, options)) {
		rmdir(folder);
		return -1;
	}
	snprintf(file_name, sizeof(file_name), "%s/pmem", folder);
	fd = open(file_name, O_RDWR | O_CREAT, 0600);
	cr_assert(fd >= 0 && !ftruncate(fd, (off_t)length));
	cr_assert(!umount2(folder, MNT_DETACH) && !rmdir(folder));
	return fd;
}

enum { ROOM = 16 * LEN, FILE_LEN = 4 * ROOM };

/* A range that does not fit is refused, and nothing else: neither the process nor the region, nor the other bytes of it. */
Test(fi_commit, disk_full)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	int fd = on_a_small_disk(ROOM, FILE_LEN), written = 0;
	char *bytes, page[LEN];
	struct world w;
	ssize_t n;

	if (fd < 0)
		cr_skip_test("no file system can be mounted here");
	memset(page, 7, sizeof(page));
	bytes = mmap(NULL, FILE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert(bytes != MAP_FAILED);
	world_open(&w, &(struct want){ .op_flags = FI_COMMIT_COMPLETE });
	RC(0, fi_mr_reg(w.domain, bytes, FILE_LEN, FI_REMOTE_WRITE, 0, 1, FI_RMA_PMEM, &durable, NULL));
	do {
		RC(0, fi_write(w.ep, page, LEN, NULL, w.self, (uint64_t)written * LEN, 1, NULL));
		n = world_next(&w, &entry);
		written += n == 1;
	} while (n == 1 && written < FILE_LEN / LEN);
	RC(-FI_EAVAIL, n);
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_assert(written > 0 && written <= ROOM / LEN, "%d pages", written);
	cr_assert(strstr(fi_cq_strerror(w.cq, error.prov_errno, error.err_data, NULL, 0), "S18"));
	RC(0, fi_write(w.ep, page, LEN, NULL, w.self, 0, 1, NULL));
	RC(1, world_next(&w, &entry));
	RC(0, fi_close(&durable->fid));
	world_close(&w);
	world_open(&w, &(struct want){ .mr_mode = FI_MR_ALLOCATED });
	RC(-FI_EFAULT, fi_mr_reg(w.domain, bytes, FILE_LEN, FI_REMOTE_WRITE, 0, 1, FI_RMA_PMEM, &durable, NULL));
	world_close(&w);
}
