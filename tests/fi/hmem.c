/* SPDX-License-Identifier: BSD-2-Clause */
/* hmem.c - memory of emulated devices under every kind of call, as local buffers and in regions. */
#include "tests/fi/world.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_tagged.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/fi/provider/fi_compat.h"
#include "include/emu/hmem.h"
#include "include/emu/mr_cache.h"

enum { LEN = 4096, KEY = 77, MR_HMEM = 1 << 10 };
#define CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_MULTI_RECV | FI_HMEM)

#define ALL (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

/* What a library reads that is newer than these headers. */
struct newer_attr {
	struct fi_mr_attr attr;
	char newer[64];
};

/* Likewise an entry of the queue; the error last read. */
static union {
	struct fi_cq_err_entry entry;
	char newer[sizeof(struct fi_cq_err_entry) + 64];
} error;

static struct world w;
static char *near, *far; /* of devices 0 and 1 */
static char text[LEN];   /* of the host */

static char *device_alloc(int device, size_t size)
{
	void *at = NULL;

	cr_assert_eq(emu_hmem_alloc(EMU_HMEM_CUDA, device, size, &at), 0);
	return at;
}

static void devices(void)
{
	setenv("FI_EMU_HMEM", "cuda:2,ze:1", 1);
	setenv("FI_EMU_HMEM_SIZE", "1048576", 1);
	near = device_alloc(0, LEN);
	far = device_alloc(1, LEN);
}

TestSuite(fi_hmem, .init = devices);

static void open_with(int mr_mode, uint64_t caps)
{
	world_open(&w,
		   &(struct want){ .api = world_has(FI_VERSION(1, 22)) ? FI_VERSION(1, 22) : 0, .caps = caps, .mr_mode = mr_mode });
}

/* What a program reads by the copy call. */
static const char *bytes(const void *at, size_t length)
{
	static char out[LEN];

	cr_assert_eq(emu_hmem_copy(out, at, length), 0);
	return out;
}

static void fill(void *at, const char *words)
{
	cr_assert_eq(emu_hmem_copy(at, words, strlen(words) + 1), 0);
}

static int reg_as(void *at, size_t length, int iface, int device, uint64_t flags, struct fid_mr **mr)
{
	struct iovec iov = { at, length };
	struct newer_attr args = { .attr = {
					   .mr_iov = &iov,
					   .iov_count = 1,
					   .access = ALL,
					   .requested_key = KEY,
					   .iface = (enum fi_hmem_iface)iface,
					   .device.cuda = device,
				   } };

	*mr = NULL;
	return fi_mr_regattr(w.domain, &args.attr, flags, mr);
}

static struct fid_mr *reg(void *at)
{
	struct fid_mr *mr;

	RC(0, reg_as(at, LEN, FI_HMEM_CUDA, at == far, 0, &mr));
	return mr;
}

static uint64_t at_offset(struct fid_mr *mr, const void *base, size_t offset)
{
	(void)mr;
	return (w.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)base : 0) + offset;
}

static void done(void *context)
{
	struct fi_cq_tagged_entry entry;

	RC(1, world_next(&w, &entry));
	cr_assert_eq(entry.op_context, context);
}

static void take_error(void)
{
	memset(&error, 0, sizeof(error));
	RC(1, fi_cq_readerr(w.cq, &error.entry, 0));
}

/* An error completion that has this in its sentence. */
static void failed(int err, const char *words)
{
	const char *said;

	RC(-FI_EAVAIL, world_next(&w, &error));
	take_error();
	said = fi_cq_strerror(w.cq, error.entry.prov_errno, error.entry.err_data, NULL, 0);
	cr_expect(error.entry.err == err && strstr(said, words), "%d, %s", error.entry.err, said);
}

static void rma(void *local, size_t length, void *desc)
{
	struct fid_mr *mr = reg(far);

	fill(local, "there");
	RC(0, fi_write(w.ep, local, length, desc, w.self, at_offset(mr, far, 100), fi_mr_key(mr), local));
	done(local);
	cr_expect_str_eq(bytes(far + 100, 10), "there");
	cr_expect_eq(bytes(far + 99, 1)[0], 0);
	fill(far + 100, "back!");
	RC(0, fi_read(w.ep, local, length, desc, w.self, at_offset(mr, far, 100), fi_mr_key(mr), local));
	done(local);
	cr_expect_str_eq(bytes(local, 10), "back!");
	RC(0, fi_close(&mr->fid));
}

Test(fi_hmem, rma)
{
	open_with(0, CAPS);
	rma(near, 6, NULL);
	rma(text, 6, NULL);
	world_close(&w);
	open_with(FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_MMU_NOTIFY | FI_MR_PROV_KEY, CAPS);
	rma(near, 6, NULL);
	world_close(&w);
}

/* Longer than what goes by the scratch buffer or a ring. */
Test(fi_hmem, megabytes)
{
	enum { MANY = 3 << 18 };
	char *from, *to, *host = malloc(MANY);
	struct fid_mr *mr;

	emu_hmem_free(near);
	emu_hmem_free(far);
	from = device_alloc(0, MANY);
	to = device_alloc(1, MANY);
	open_with(0, CAPS);
	for (int i = 0; i < MANY; i++)
		host[i] = (char)(i * 7 + i / 4096);
	cr_assert_eq(emu_hmem_copy(from, host, MANY), 0);
	RC(0, reg_as(to, MANY, FI_HMEM_CUDA, 1, 0, &mr));
	RC(0, fi_write(w.ep, from, MANY, NULL, w.self, 0, KEY, from));
	done(from);
	memset(host, 0, MANY);
	cr_assert_eq(emu_hmem_copy(host, to, MANY), 0);
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(host[i], (char)(i * 7 + i / 4096));
	RC(0, fi_recv(w.ep, to, MANY, NULL, FI_ADDR_UNSPEC, to));
	cr_assert_eq(emu_hmem_set(from, 'x', MANY), 0);
	RC(0, fi_send(w.ep, from, MANY, NULL, w.self, to));
	done(to);
	done(to);
	cr_assert_eq(emu_hmem_copy(host, to, MANY), 0);
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(host[i], 'x');
	free(host);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_hmem, messages)
{
	struct iovec parts[2] = { { far, 4 }, { text, 20 } };

	open_with(0, CAPS);
	fill(near, "some words");
	RC(0, fi_recv(w.ep, far, LEN, NULL, FI_ADDR_UNSPEC, near));
	RC(0, fi_send(w.ep, near, 11, NULL, w.self, near));
	done(near);
	done(near);
	cr_expect_str_eq(bytes(far, 20), "some words");
	fill(near, "with a tag");
	RC(0, fi_trecv(w.ep, far, LEN, NULL, FI_ADDR_UNSPEC, 5, 0, near));
	RC(0, fi_tsend(w.ep, near, 11, NULL, w.self, 5, near));
	done(near);
	done(near);
	cr_expect_str_eq(bytes(far, 20), "with a tag");
	RC(0, fi_recvv(w.ep, parts, NULL, 2, FI_ADDR_UNSPEC, near)); /* one of a device, one of the host */
	RC(0, fi_inject(w.ep, near, 11, w.self));
	done(near);
	cr_expect(!memcmp(bytes(far, 4), "with", 4));
	cr_expect_str_eq(text, " a tag");
	world_close(&w);
}

/* Completions name the buffer as the program does. */
Test(fi_hmem, many_messages_into_one_buffer)
{
	struct iovec iov = { far, LEN };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = far };
	struct fi_cq_tagged_entry entry;

	open_with(0, CAPS);
	fill(near, "first");
	RC(0, fi_recvmsg(w.ep, &msg, FI_MULTI_RECV));
	RC(0, fi_inject(w.ep, near, 6, w.self));
	RC(1, world_next(&w, &entry));
	cr_expect_eq(entry.buf, far);
	RC(0, fi_inject(w.ep, near, 6, w.self));
	RC(1, world_next(&w, &entry));
	cr_expect_eq(entry.buf, far + 6);
	cr_expect_str_eq(bytes(far + 6, 6), "first");
	RC(0, fi_close(&w.ep->fid));
	w.ep = NULL;
	RC(-FI_EAVAIL, world_next(&w, &entry));
	take_error();
	world_close(&w);
}

Test(fi_hmem, atomics)
{
	int64_t number = 40, *operand = (int64_t *)(void *)near, *result = operand + 8;
	struct fid_mr *mr;

	open_with(0, CAPS);
	mr = reg(far);
	emu_hmem_copy(far + 8, &number, 8);
	number = 2;
	emu_hmem_copy(operand, &number, 8);
	RC(0, fi_fetch_atomic(w.ep, operand, 1, NULL, result, NULL, w.self, 8, KEY, FI_INT64, FI_SUM, far));
	done(far);
	emu_hmem_copy(&number, far + 8, 8);
	cr_expect_eq(number, 42);
	emu_hmem_copy(&number, result, 8);
	cr_expect_eq(number, 40);
	number = 42;
	emu_hmem_copy(operand + 1, &number, 8);
	RC(0, fi_compare_atomic(w.ep, operand, 1, NULL, operand + 1, NULL, result, NULL, w.self, 8, KEY, FI_INT64, FI_CSWAP, far));
	done(far);
	emu_hmem_copy(&number, far + 8, 8);
	cr_expect_eq(number, 2);
	RC(0, fi_inject_atomic(w.ep, operand, 1, w.self, 8, KEY, FI_INT64, FI_SUM));
	while (fi_cntr_read(w.cntr) < 3)
		fi_cq_read(w.cq, NULL, 0);
	emu_hmem_copy(&number, far + 8, 8);
	cr_expect_eq(number, 4);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* S134, by the version of the program's page: what fi_inject and the flag FI_INJECT give for 8 bytes at that place. */
static void expect_injected(uint32_t api, int mr_mode, char *from, int by_call, int by_flag)
{
	struct iovec iov = { from, 8 };
	struct fid_mr *mr;
	void *desc;
	struct fi_msg msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1 };

	world_open(&w, &(struct want){ .fabric_api = api, .caps = CAPS, .mr_mode = mr_mode });
	RC(0, reg_as(from, LEN, from == text ? FI_HMEM_SYSTEM : FI_HMEM_CUDA, 0, 0, &mr));
	desc = fi_mr_desc(mr);
	RC(by_call, fi_inject(w.ep, from, 8, w.self));
	RC(by_flag, fi_sendmsg(w.ep, &msg, FI_INJECT));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_hmem, injected_memory_is_the_hosts_where_devices_need_descriptors)
{
	expect_injected(FI_VERSION(1, 22), MR_HMEM, near, 0, 0);
	expect_injected(FI_VERSION(2, 0), MR_HMEM, near, -FI_EINVAL, 0);
	expect_injected(FI_VERSION(2, 6), MR_HMEM, near, -FI_EINVAL, -FI_EINVAL);
	expect_injected(FI_VERSION(2, 6), MR_HMEM, text, 0, 0);
	expect_injected(FI_VERSION(2, 6), 0, near, 0, 0);
}

/* S136, S137: host and device x FI_MR_LOCAL and FI_MR_HMEM: which of them needs a descriptor. */
Test(fi_hmem, descriptors)
{
	static const int modes[] = { 0, FI_MR_LOCAL, MR_HMEM, FI_MR_LOCAL | MR_HMEM };

	for (int i = 0; i < 4; i++) {
		for (int device = 0; device < 2; device++) {
			char *local = device ? near : text;
			bool needs = modes[i] & (device ? MR_HMEM : FI_MR_LOCAL);
			struct fid_mr *mr;
			int rc;

			open_with(modes[i], CAPS);
			cr_assert_eq(w.info->domain_attr->mr_mode, modes[i]);
			RC(0, reg_as(local, 100, device ? FI_HMEM_CUDA : FI_HMEM_SYSTEM, 0, 0, &mr));
			rc = needs ? -FI_EINVAL : 0;
			RC(0, fi_send(w.ep, local, 8, fi_mr_desc(mr), w.self, local)); /* valid: always right */
			done(local);
			RC(rc, fi_send(w.ep, local, 8, NULL, w.self, local));
			if (!rc)
				done(local);
			RC(rc, fi_write(w.ep, local, 8, NULL, w.self, at_offset(mr, local, 8), KEY, local));
			if (!rc)
				done(local);
			RC(rc, fi_trecv(w.ep, local, 8, NULL, FI_ADDR_UNSPEC, 1, 0, local));
			RC(rc, fi_fetch_atomic(w.ep, text, 1, fi_mr_desc(mr), local, NULL, w.self, 0, KEY, FI_INT8, FI_ATOMIC_READ,
					       local));
			if (!rc)
				done(local);
			RC(0, fi_inject(w.ep, local, 8, w.self));
			if (modes[i]) /* beyond the region; no descriptor; a right that it has not */
				RC(-FI_EINVAL, fi_send(w.ep, local, 101, fi_mr_desc(mr), w.self, local));
			if (modes[i] || world_has(FI_VERSION(1, 22))) /* before, and without both bits, they are ignored (S74) */
				RC(-FI_EINVAL, fi_send(w.ep, local, 8, (void *)(1ull << 63), w.self, local));
			RC(0, fi_close(&mr->fid));
			RC(0, fi_close(&w.ep->fid)); /* the receive with it */
			w.ep = NULL;
			while (fi_cq_read(w.cq, &(struct fi_cq_tagged_entry){ 0 }, 1) == -FI_EAVAIL)
				take_error();
			world_close(&w);
		}
	}
}

/* Under FI_MR_HMEM alone the rights of a device's region count. */
Test(fi_hmem, rights_of_a_descriptor)
{
	struct iovec iov = { near, LEN };
	struct newer_attr args = {
		.attr = { .mr_iov = &iov, .iov_count = 1, .access = FI_SEND, .requested_key = KEY, .iface = FI_HMEM_CUDA }
	};
	struct fid_mr *mr;

	open_with(MR_HMEM, CAPS);
	RC(0, fi_mr_regattr(w.domain, &args.attr, 0, &mr));
	RC(0, fi_send(w.ep, near, 8, fi_mr_desc(mr), w.self, near));
	done(near);
	RC(-FI_EINVAL, fi_recv(w.ep, near, 8, fi_mr_desc(mr), FI_ADDR_UNSPEC, near));
	RC(0, fi_close(&mr->fid));
	RC(-FI_EINVAL, fi_send(w.ep, near, 8, &args, w.self, near));
	world_close(&w);
}

/* S134, S135: which calls register memory of a device. */
Test(fi_hmem, registration)
{
	struct iovec two[2] = { { near, 8 }, { near + 100, 8 } }, mixed[2] = { { near, 8 }, { far, 8 } };
	struct fid_mr *mr;

	open_with(0, CAPS);
	RC(0, fi_mr_reg(w.domain, near, LEN, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	RC(0, fi_inject_write(w.ep, "hello", 6, w.self, 10, KEY));
	while (fi_cntr_read(w.cntr) < 1)
		fi_cq_read(w.cq, NULL, 0);
	cr_expect_str_eq(bytes(near + 10, 6), "hello");
	RC(0, fi_close(&mr->fid));
	RC(0, fi_mr_regv(w.domain, two, 2, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	RC(0, fi_inject_write(w.ep, "0123456789abcdef", 16, w.self, 0, KEY));
	while (fi_cntr_read(w.cntr) < 2)
		fi_cq_read(w.cq, NULL, 0);
	cr_expect(!memcmp(bytes(near + 100, 8), "89abcdef", 8));
	RC(0, fi_close(&mr->fid));
	RC(0, reg_as(near, LEN, FI_HMEM_SYSTEM, 5, 0, &mr));
	RC(0, fi_close(&mr->fid));
	RC(-FI_EINVAL, fi_mr_regv(w.domain, mixed, 2, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	mixed[0].iov_base = text;
	RC(-FI_EINVAL, fi_mr_regv(w.domain, mixed, 2, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	world_close(&w);

	open_with(MR_HMEM, CAPS);
	RC(-FI_EINVAL, fi_mr_reg(w.domain, near, LEN, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	RC(-FI_EINVAL, fi_mr_regv(w.domain, two, 2, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	RC(-FI_EINVAL, reg_as(near, LEN, FI_HMEM_SYSTEM, 0, 0, &mr));
	RC(0, fi_mr_reg(w.domain, text, LEN, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	RC(0, fi_close(&mr->fid));
	mr = reg(near);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* S85, S140, S142 to S144: attributes that name what is not there. */
Test(fi_hmem, attributes)
{
	struct fid_mr *mr;
	void *host, *ze;

	cr_assert_eq(emu_hmem_alloc(EMU_HMEM_CUDA, EMU_HMEM_HOST, LEN, &host), 0);
	cr_assert_eq(emu_hmem_alloc(EMU_HMEM_ZE, 0, LEN, &ze), 0);
	open_with(0, CAPS);
	RC(-FI_ENOSYS, reg_as(near, LEN, FI_HMEM_ROCR, 0, 0, &mr));
	RC(-FI_ENOSYS, reg_as(near, LEN, EMU_HMEM_NEURON, 0, 0, &mr));
	RC(-FI_ENOSYS, reg_as(near, LEN, 99, 0, 0, &mr));
	RC(-FI_ENOSYS, reg_as(near, LEN, -1, 0, 0, &mr));
	RC(-FI_EINVAL, reg_as(near, LEN, FI_HMEM_CUDA, 2, 0, &mr));
	RC(-FI_EINVAL, reg_as(near, LEN, FI_HMEM_CUDA, -1, 0, &mr));
	RC(-FI_EINVAL, reg_as(near, LEN, FI_HMEM_CUDA, 1, 0, &mr));
	RC(-FI_EINVAL, reg_as(near, LEN, FI_HMEM_ZE, 0, 0, &mr));
	RC(-FI_EINVAL, reg_as(ze, LEN, FI_HMEM_ZE, 1 << 16, 0, &mr));
	RC(-FI_EINVAL, reg_as(text, LEN, FI_HMEM_CUDA, 0, 0, &mr));
	RC(-FI_EFAULT, reg_as(near, LEN + 1, FI_HMEM_CUDA, 0, 0, &mr));
	RC(-FI_EBADFLAGS, reg_as(near, LEN, FI_HMEM_CUDA, 0, FI_HMEM_HOST_ALLOC, &mr));
	RC(-FI_EBADFLAGS, reg_as(near, LEN, FI_HMEM_CUDA, 0, FI_HMEM_HOST_ALLOC | FI_HMEM_DEVICE_ONLY, &mr));
	RC(-FI_EBADFLAGS, reg_as(host, LEN, FI_HMEM_CUDA, 0, FI_HMEM_DEVICE_ONLY, &mr));
	RC(-FI_EBADFLAGS, reg_as(text, LEN, FI_HMEM_SYSTEM, 0, FI_HMEM_HOST_ALLOC, &mr));
	RC(-FI_EBADFLAGS, reg_as(text, LEN, FI_HMEM_SYSTEM, 0, FI_HMEM_DEVICE_ONLY, &mr));
	RC(-FI_EINVAL, reg_as(host, LEN, FI_HMEM_ZE, 7, FI_HMEM_HOST_ALLOC, &mr));
	RC(0, reg_as(ze, LEN, FI_HMEM_ZE, 0, FI_HMEM_DEVICE_ONLY, &mr));
	RC(0, fi_close(&mr->fid));
	RC(0, reg_as(host, LEN, FI_HMEM_CUDA, 99, FI_HMEM_HOST_ALLOC, &mr));
	RC(0, fi_inject_write(w.ep, "hello", 6, w.self, 10, KEY));
	while (fi_cntr_read(w.cntr) < 1)
		fi_cq_read(w.cq, NULL, 0);
	cr_expect_str_eq((char *)host + 10, "hello");
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* Freed memory is refused in words, as a local buffer and at the target; a new allocation there is the region's (S85). */
Test(fi_hmem, freed_and_allocated_again)
{
	struct fid_mr *mr;
	char *all;

	cr_assert_eq(emu_hmem_free(near), 0);
	all = device_alloc(0, 1 << 20);
	open_with(0, CAPS);
	RC(0, reg_as(all, 1 << 20, FI_HMEM_CUDA, 0, 0, &mr));
	cr_assert_eq(emu_hmem_free(all), 0);
	RC(0, fi_write(w.ep, text, 8, NULL, w.self, 0, KEY, text));
	failed(FI_EFAULT, "no memory, or none with these rights, backs that range");
	RC(-FI_EFAULT, fi_send(w.ep, all, 8, NULL, w.self, text));
	RC(-FI_EFAULT, reg_as(all, 8, FI_HMEM_CUDA, 0, 0, &(struct fid_mr *){ NULL }));
	cr_assert_eq(device_alloc(0, 1 << 20), all);
	fill(text, "new");
	RC(0, fi_write(w.ep, text, 8, NULL, w.self, 0, KEY, text));
	done(text);
	cr_expect_str_eq(bytes(all, 4), "new");
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* A program that has not asked for FI_HMEM has memory that nobody can touch. */
Test(fi_hmem, without_the_capability)
{
	struct fid_mr *mr;

	open_with(MR_HMEM | FI_MR_ALLOCATED, FI_MSG | FI_RMA);
	cr_expect_eq(w.info->domain_attr->mr_mode, FI_MR_ALLOCATED);
	RC(-FI_EFAULT, fi_mr_reg(w.domain, near, LEN, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	RC(0, fi_send(w.ep, near, 8, NULL, w.self, near));
	failed(FI_EFAULT, "buffer cannot be read");
	world_close(&w);
}

/* The bit is asked of a program that has FI_HMEM, of a program that offers it, by the personality that asks. */
Test(fi_hmem, the_mode_bit)
{
	open_with(MR_HMEM, CAPS);
	cr_expect_eq(w.info->domain_attr->mr_mode, MR_HMEM);
	world_close(&w);
	open_with(MR_HMEM | FI_MR_VIRT_ADDR, FI_MSG | FI_HMEM); /* no target of remote reads and writes */
	cr_expect_eq(w.info->domain_attr->mr_mode, MR_HMEM);
	world_close(&w);
	setenv("FI_EMU_PERSONALITY", "lax", 1);
	open_with(MR_HMEM, CAPS);
	cr_expect_eq(w.info->domain_attr->mr_mode, 0);
	world_close(&w);
}

/* S155. */
Test(fi_hmem, without_peer_to_peer)
{
	struct want want = { .caps = FI_MSG | FI_HMEM };
	struct fi_info *info = NULL;

	world_need_emu();
	setenv("FI_HMEM_DISABLE_P2P", "1", 1);
	RC(-FI_ENODATA, world_getinfo(&want, world_hints(&want), &info));
	want.caps = FI_MSG;
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	cr_expect(!(info->caps & FI_HMEM));
	fi_freeinfo(info);
	setenv("FI_HMEM_DISABLE_P2P", "0", 1);
	want.caps = FI_MSG | FI_HMEM;
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	fi_freeinfo(info);
}

/* A descriptor of an allocation, as FI_MR_DMABUF wants it; peers and local posts name the allocation's own addresses. */
Test(fi_hmem, by_descriptor)
{
	struct dmabuf {
		int fd;
		uint64_t offset;
		size_t len;
		void *base_addr;
	} dmabuf = { .len = 100, .base_addr = near };
	struct newer_attr args = { .attr = { .mr_iov = (void *)&dmabuf,
					     .iov_count = 1,
					     .access = FI_REMOTE_WRITE | FI_SEND,
					     .requested_key = KEY,
					     .iface = FI_HMEM_CUDA } };
	struct fid_mr *mr;

	if (!world_has(FI_VERSION(1, 20)))
		cr_skip_test("no FI_MR_DMABUF");
	cr_assert_eq(emu_hmem_export(near + 16, &dmabuf.fd, &dmabuf.offset), 0);
	world_open(&w, &(struct want){ .api = FI_VERSION(1, 20), .caps = CAPS, .mr_mode = MR_HMEM | FI_MR_VIRT_ADDR });
	RC(0, fi_mr_regattr(w.domain, &args.attr, 1ull << 40, &mr));
	close(dmabuf.fd);
	fill(text, "by a descriptor");
	RC(0, fi_write(w.ep, text, 16, NULL, w.self, (uintptr_t)near + 16, KEY, text));
	done(text);
	cr_expect_str_eq(bytes(near + 16, 16), "by a descriptor");
	RC(0, fi_send(w.ep, near + 16, 8, fi_mr_desc(mr), w.self, near));
	done(near);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* The counts after two sends from one buffer. */
static struct emu_mr_cache_counts cached(void *at)
{
	struct emu_mr_cache_counts counts;
	struct emu_mr_cache_ops *ops;

	open_with(0, CAPS);
	RC(0, fi_open_ops(&w.domain->fid, EMU_MR_CACHE_OPS, 0, (void **)&ops, NULL));
	for (int i = 0; i < 2; i++) {
		RC(0, fi_send(w.ep, at, 8, NULL, w.self, at));
		done(at);
	}
	RC(0, ops->counts(w.domain, &counts));
	world_close(&w);
	if (!counts.on)
		cr_skip_test("no userfaultfd");
	return counts;
}

/* S195: memory of a device is in the registration cache, unless its monitor is switched off. */
Test(fi_hmem, registration_cache)
{
	static const char *const names[] = { "FI_MR_CUDA_CACHE_MONITOR_ENABLED", "FI_MR_ROCR_CACHE_MONITOR_ENABLED",
					     "FI_MR_ZE_CACHE_MONITOR_ENABLED" };
	struct emu_mr_cache_counts counts;
	struct fid_domain *domain;
	void *ze;

	setenv("FI_EMU_MR_CACHE", "1", 1);
	cr_assert_eq(emu_hmem_alloc(EMU_HMEM_ZE, 0, LEN, &ze), 0);
	counts = cached(near);
	cr_expect(counts.misses == 1 && counts.hits == 1 && counts.regions == 1);
	setenv("FI_MR_CUDA_CACHE_MONITOR_ENABLED", "0", 1);
	counts = cached(near);
	cr_expect(counts.misses == 0 && counts.hits == 0 && counts.regions == 0);
	counts = cached(ze);
	cr_expect(counts.misses == 1 && counts.hits == 1 && counts.regions == 1);
	for (int i = 0; i < 3; i++) {
		setenv(names[i], "1", 1);
		cr_expect_eq(cached(near).regions, 1);
		setenv(names[i], "maybe", 1);
		RC(0, world_getinfo(&(struct want){ .caps = CAPS }, world_hints(&(struct want){ .caps = CAPS }), &w.info));
		RC(0, fi_fabric(w.info->fabric_attr, &w.fabric, NULL));
		RC(-FI_EINVAL, fi_domain(w.fabric, w.info, &domain, NULL));
		RC(0, fi_close(&w.fabric->fid));
		fi_freeinfo(w.info);
		setenv(names[i], "1", 1);
	}
}

/* The NIC makes no calls of CUDA, so a program may forbid them as well. */
Test(fi_hmem, calls_of_cuda_permitted_and_not)
{
	bool permitted = false;

	open_with(0, FI_MSG | FI_HMEM);
	RC(0, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, COMPAT_OPT_CUDA_API_PERMITTED, &permitted, sizeof(permitted)));
	permitted = true;
	RC(0, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, COMPAT_OPT_CUDA_API_PERMITTED, &permitted, sizeof(permitted)));
	RC(-FI_EINVAL, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, COMPAT_OPT_CUDA_API_PERMITTED, &permitted, 2));
	RC(-FI_EINVAL, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, COMPAT_OPT_CUDA_API_PERMITTED, NULL, sizeof(permitted)));
	world_close(&w);
}
