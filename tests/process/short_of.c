/* SPDX-License-Identifier: BSD-2-Clause */
/* short_of.c - opens everything, has an endpoint write, read and send to itself, and closes everything, while memory or
 * descriptors are short: short_of memory|descriptors N.
 *
 * memory: the Nth allocation that the provider asks for fails, and none after it. descriptors: N may be opened beside those
 * that are open, until a call has failed for that. The call that fails is made again, and must succeed then. */
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "tests/process/short_of.h"

enum { KEY = 7, BYTES = 100000, GUARD_S = 30, LOOKS = 1000 };

static struct rlimit enough; /* of descriptors */
static bool limited;
static atomic_bool fired; /* something was refused */

/* --- memory --- */

#ifndef __SANITIZE_ADDRESS__
#define SEEN __attribute__((visibility("default"))) /* by libraries, in the place of libc's */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static atomic_long countdown;     /* allocations until the one that fails; 0: none */
static atomic_uintptr_t from, to; /* the provider's code */

static int find(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (!strstr(info->dlpi_name, "libemu-fi"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
			atomic_store(&from, info->dlpi_addr + part->p_vaddr);
			atomic_store(&to, info->dlpi_addr + part->p_vaddr + part->p_memsz);
		}
	}
	return 1;
}

static bool refuse(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	if (at < atomic_load(&from) || at >= atomic_load(&to) || !atomic_load(&countdown) || atomic_fetch_sub(&countdown, 1) != 1)
		return false;
	atomic_store(&fired, true);
	errno = ENOMEM;
	return true;
}

SEEN void *malloc(size_t size)
{
	return refuse(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

SEEN void *calloc(size_t count, size_t size)
{
	return refuse(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

SEEN void *realloc(void *old, size_t size)
{
	return refuse(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

/* Loaded before libfabric loads it, so that its first allocation counts. */
static void short_of_memory(long nth)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/libemu-fi.so", getenv("FI_PROVIDER_PATH"));
	if (!dlopen(path, RTLD_NOW))
		errx(1, "%s", dlerror());
	if (!dl_iterate_phdr(find, NULL))
		errx(1, "no libemu-fi.so in this process");
	atomic_store(&countdown, nth);
}
#else
static void short_of_memory(long nth)
{
	errx(1, "allocation %ld is the sanitizer's", nth);
}
#endif

/* --- descriptors --- */

static void short_of_descriptors(long room)
{
	struct rlimit few;
	int next = dup(0);

	if (next < 0 || getrlimit(RLIMIT_NOFILE, &enough))
		err(1, "descriptors");
	close(next);
	few = enough;
	few.rlim_cur = (rlim_t)(next + room);
	if (setrlimit(RLIMIT_NOFILE, &few))
		err(1, "setrlimit");
	limited = true;
}

/* There are some again: to be called once something has failed, or waits. */
static void enough_again(void)
{
	if (limited && setrlimit(RLIMIT_NOFILE, &enough))
		err(1, "setrlimit");
	if (limited)
		atomic_store(&fired, true);
	limited = false;
}

/* --- what is done --- */

static struct fi_info *hints, *info;
static struct fid_fabric *fabric;
static struct fid_eq *eq;
static struct fid_domain *domain;
static struct fid_cq *cq;
static struct fid_cntr *cntr;
static struct fid_av *av;
static struct fid_ep *ep;
static struct fid_mr *mr;
static fi_addr_t self;
static uint8_t near[BYTES], far[BYTES];
static time_t began;

/* A call that may fail once. */
#define TWICE(call)                                                                   \
	do {                                                                          \
		long rc_ = (call);                                                    \
		if (rc_ < 0) {                                                        \
			enough_again();                                               \
			if (!atomic_load(&fired))                                     \
				errx(1, "%s: %s", #call, fi_strerror((int)-rc_));     \
			rc_ = (call);                                                 \
		}                                                                     \
		if (rc_ < 0)                                                          \
			errx(1, "%s, made again: %s", #call, fi_strerror((int)-rc_)); \
	} while (0)

static void open_all(void)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD };
	struct fi_cntr_attr cntr_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	uint8_t name[128];
	size_t length = sizeof(name);

	TWICE(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	TWICE(fi_fabric(info->fabric_attr, &fabric, NULL));
	TWICE(fi_eq_open(fabric, &eq_attr, &eq, NULL));
	TWICE(fi_domain(fabric, info, &domain, NULL));
	TWICE(fi_cq_open(domain, &cq_attr, &cq, NULL));
	TWICE(fi_cntr_open(domain, &cntr_attr, &cntr, NULL));
	TWICE(fi_av_open(domain, &av_attr, &av, NULL));
	TWICE(fi_endpoint(domain, info, &ep, NULL));
	TWICE(fi_ep_bind(ep, &av->fid, 0));
	TWICE(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	TWICE(fi_ep_bind(ep, &cntr->fid, FI_SEND | FI_WRITE | FI_READ));
	TWICE(fi_enable(ep));
	TWICE(fi_getname(&ep->fid, name, &length));
	TWICE(fi_av_insert(av, name, 1, &self, 0, NULL) == 1 ? 0 : -FI_ENOMEM);
	TWICE(fi_mr_reg(domain, far, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
}

/* --- what is exchanged: posted again where it failed, since something was short at either end --- */

static const struct exchange {
	const char *what;
	size_t length;         /* that must have come to `far` */
	void (*receive)(void); /* NULL: one-sided */
	void (*start)(void);
	bool unexpected;
} * now;

static bool received, started; /* ended well */

static void post(bool receive)
{
	(receive ? now->receive : now->start)();
}

static void look(void)
{
	struct fi_cq_err_entry error = { .err_data_size = 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t n = fi_cq_read(cq, &entry, 1);

	if (n == 1) {
		received |= (entry.flags & FI_RECV) != 0;
		started |= !(entry.flags & FI_RECV);
	} else if (n == -FI_EAVAIL && fi_cq_readerr(cq, &error, 0) == 1) {
		if (!atomic_load(&fired))
			errx(1, "%s: %s", now->what, fi_cq_strerror(cq, error.prov_errno, error.err_data, NULL, 0));
		if (error.flags & FI_RECV)
			post(true);
		if (received)
			started = true; /* what was sent is there, and nobody could tell */
		else
			post(false);
	}
}

static void exchange(const struct exchange *one)
{
	now = one;
	received = !one->receive;
	started = false;
	memset(far, 0, BYTES);
	if (one->receive && !one->unexpected)
		post(true);
	post(false);
	if (one->unexpected)
		post(true);
	for (long looks = 0; !received || !started; looks++) {
		look();
		if (looks > LOOKS)
			enough_again();
		if (time(NULL) - began > GUARD_S)
			errx(1, "%s has not ended", one->what);
	}
	if (memcmp(near, far, one->length))
		errx(1, "%s: wrong bytes", one->what);
}

static void receive_short(void)
{
	TWICE(fi_recv(ep, far, 64, NULL, FI_ADDR_UNSPEC, NULL));
}

static void send_short(void)
{
	TWICE(fi_send(ep, near, 64, NULL, self, NULL));
}

static void receive_long(void)
{
	TWICE(fi_trecv(ep, far, BYTES, NULL, FI_ADDR_UNSPEC, 3, 0, NULL));
}

static void send_long(void)
{
	TWICE(fi_tsend(ep, near, BYTES, NULL, self, 3, NULL));
}

static void receive_kept(void)
{
	TWICE(fi_trecv(ep, far, BYTES, NULL, FI_ADDR_UNSPEC, 4, 0, NULL));
}

static void send_kept(void)
{
	TWICE(fi_tsend(ep, near, 5000, NULL, self, 4, NULL));
}

static void write_all(void)
{
	TWICE(fi_write(ep, near, BYTES, NULL, self, 0, KEY, NULL));
}

static void read_some(void)
{
	memcpy(far, near, BYTES);
	TWICE(fi_read(ep, far, 4096, NULL, self, 4096 * 3, KEY, NULL));
}

static void fetch(void)
{
	static uint64_t operand, result;

	memcpy(far, near, BYTES);
	TWICE(fi_fetch_atomic(ep, &operand, 1, NULL, &result, NULL, self, 0, KEY, FI_UINT64, FI_SUM, NULL));
}

static void use_all(void)
{
	static const struct exchange exchanges[] = {
		{ "a short message", 64, receive_short, send_short, false },
		{ "a long message", BYTES, receive_long, send_long, false },
		{ "an unexpected message", 5000, receive_kept, send_kept, true },
		{ "a write", BYTES, NULL, write_all, false },
		{ "a read", 0, NULL, read_some, false },
		{ "a fetching sum", BYTES, NULL, fetch, false },
	};

	for (size_t i = 0; i < sizeof(exchanges) / sizeof(exchanges[0]); i++)
		exchange(&exchanges[i]);
}

static void close_all(void)
{
	struct fid *fids[] = { &mr->fid, &ep->fid, &av->fid, &cntr->fid, &cq->fid, &domain->fid, &eq->fid, &fabric->fid };

	for (size_t i = 0; i < sizeof(fids) / sizeof(fids[0]); i++)
		TWICE(fi_close(fids[i]));
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

int main(int argc, char **argv)
{
	bool memory = argc == 3 && !strcmp(argv[1], "memory");

	if (!memory && (argc != 3 || strcmp(argv[1], "descriptors")))
		errx(2, "usage: short_of memory|descriptors N");
	began = time(NULL);
	setenv("FI_PROVIDER", "emu", 1);
	hints = fi_allocinfo();
	if (!hints)
		errx(1, "fi_allocinfo");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	hints->mode = ~0ull;
	for (int i = 0; i < BYTES; i++)
		near[i] = (uint8_t)(1 + i % 251);
	(memory ? short_of_memory : short_of_descriptors)(atol(argv[2]));
	open_all();
	use_all();
	close_all();
	return atomic_load(&fired) ? 0 : SHORT_OF_NOTHING;
}
