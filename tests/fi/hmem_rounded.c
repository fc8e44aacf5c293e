/* SPDX-License-Identifier: BSD-2-Clause */
/* hmem_rounded.c - regions of what device interfaces allocate, rounded to whole pages, as caches of registrations make them. */
#include "tests/fi/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/emu/hmem.h"

enum { LEN = 1024, KEY = 77, MR_HMEM = 1 << 10 };

#define CAPS (FI_MSG | FI_RMA | FI_HMEM)
#define ALL (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

/* What a library reads that is newer than these headers. */
struct newer_attr {
	struct fi_mr_attr attr;
	char newer[64];
};

/* LEN bytes of device 0, or of the host. */
struct memory {
	int device;
	enum fi_hmem_iface iface;
	const char *whose;
	char *at;
};

static struct memory of_device = { 0, FI_HMEM_CUDA, "memory of cuda:0", NULL };
static struct memory of_host = { EMU_HMEM_HOST, FI_HMEM_SYSTEM, "memory of the host by cuda", NULL };
static struct world w;
static size_t page;

static void allocate(struct memory *memory)
{
	void *at = NULL;

	page = (size_t)sysconf(_SC_PAGESIZE);
	setenv("FI_EMU_HMEM", "cuda:1", 1);
	setenv("FI_EMU_HMEM_SIZE", "1048576", 1);
	cr_assert_eq(emu_hmem_alloc(EMU_HMEM_CUDA, memory->device, LEN, &at), 0);
	memory->at = at;
}

static void open_with(int mr_mode)
{
	world_open(&w,
		   &(struct want){ .api = world_has(FI_VERSION(1, 22)) ? FI_VERSION(1, 22) : 0, .caps = CAPS, .mr_mode = mr_mode });
}

static int reg(const struct memory *memory, size_t length, struct fid_mr **mr)
{
	struct iovec iov = { memory->at, length };
	struct newer_attr args = {
		.attr = { .mr_iov = &iov, .iov_count = 1, .access = ALL, .requested_key = KEY, .iface = memory->iface }
	};

	*mr = NULL;
	return fi_mr_regattr(w.domain, &args.attr, 0, mr);
}

static void done(const void *context)
{
	struct fi_cq_tagged_entry entry;

	RC(1, world_next(&w, &entry));
	cr_assert_eq(entry.op_context, context);
}

/* The whole of a rounded region is there for the peer and for posts. */
static void transfers(const struct memory *memory, size_t length)
{
	static char text[EMU_HMEM_PAGE], back[EMU_HMEM_PAGE];
	struct fid_mr *mr, *own;

	RC(0, reg(memory, length, &mr));
	RC(0, fi_mr_reg(w.domain, text, sizeof(text), ALL, 0, KEY + 1, 0, &own, NULL));
	memset(text, 7, sizeof(text));
	memset(back, 0, sizeof(back));
	RC(0, fi_write(w.ep, text, length, fi_mr_desc(own), w.self, 0, KEY, text));
	done(text);
	RC(0, emu_hmem_copy(back, memory->at, LEN));
	cr_expect(!memcmp(back, text, LEN));
	memset(text, 0, sizeof(text));
	RC(0, fi_read(w.ep, text, length, fi_mr_desc(own), w.self, 0, KEY, back));
	done(back);
	cr_expect(text[0] == 7 && text[length - 1] == 7);
	RC(0, fi_write(w.ep, memory->at, length, fi_mr_desc(mr), w.self, 0, KEY + 1, back));
	done(back);
	RC(0, fi_close(&own->fid));
	RC(0, fi_close(&mr->fid));
}

static void each_mode(struct memory *memory)
{
	static const int modes[] = { 0, FI_MR_LOCAL, MR_HMEM, FI_MR_LOCAL | MR_HMEM };

	allocate(memory);
	for (int i = 0; i < 4; i++) {
		open_with(modes[i]);
		transfers(memory, LEN);
		transfers(memory, page);
		transfers(memory, EMU_HMEM_PAGE);
		world_close(&w);
	}
}

Test(fi_hmem_rounded, memory_of_a_device)
{
	each_mode(&of_device);
}

Test(fi_hmem_rounded, memory_of_the_host)
{
	each_mode(&of_host);
}

static void logged(int log, const char *words)
{
	const char *text = world_logged(log);

	cr_expect(strstr(text, words), "no \"%s\" in: %s", words, text);
}

/* What is no rounding runs over the end of the allocation, and the sentence says whose that is. */
static void overruns(struct memory *memory)
{
	int log = world_catch_log("warn");
	struct fid_mr *mr;
	char ends[160];

	allocate(memory);
	open_with(0);
	snprintf(ends, sizeof(ends), "the allocation of %d B at %p, %s, ends before", LEN, (void *)memory->at, memory->whose);
	RC(-FI_EFAULT, reg(memory, LEN + 1, &mr));
	logged(log, ends);
	RC(-FI_EFAULT, reg(memory, EMU_HMEM_PAGE + page, &mr));
	logged(log, ends);
	RC(-FI_EFAULT, fi_send(w.ep, memory->at, LEN + 1, NULL, w.self, NULL));
	logged(log, ends);
	cr_assert_eq(emu_hmem_free(memory->at), 0);
	RC(-FI_EFAULT, reg(memory, LEN, &mr));
	logged(log, "no allocation of an emulated device has this address, or it has been freed");
	world_close(&w);
}

Test(fi_hmem_rounded, overruns_of_a_device)
{
	overruns(&of_device);
}

Test(fi_hmem_rounded, overruns_of_the_host)
{
	overruns(&of_host);
}
