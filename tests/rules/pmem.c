/* SPDX-License-Identifier: BSD-2-Clause */
/* pmem.c - persistent memory: what may be registered as such, and writes that are complete when they are durable.
 *
 * msync() is this program's own, so that a provider in it calls that: it counts, can hold the caller up, and can fail. A
 * process that is killed proves nothing about durability, since the kernel keeps what it had written. */
#include "tests/rules/harness/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LEN = 4 * PAGE };

/* The target's: written by the provider's threads, too. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t calls;
	bool held; /* callers wait */
	bool failing;
	uintptr_t low, high; /* of all ranges so far */
} syncs = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

__attribute__((visibility("default"))) int msync(void *addr, size_t len, int flags)
{
	bool fails;

	pthread_mutex_lock(&syncs.lock);
	while (syncs.held)
		pthread_cond_wait(&syncs.changed, &syncs.lock);
	fails = syncs.failing;
	syncs.calls++;
	if (!syncs.low || (uintptr_t)addr < syncs.low)
		syncs.low = (uintptr_t)addr;
	if ((uintptr_t)addr + len > syncs.high)
		syncs.high = (uintptr_t)addr + len;
	pthread_mutex_unlock(&syncs.lock);
	if (!fails)
		return (int)syscall(SYS_msync, addr, len, flags);
	errno = EIO;
	return -1;
}

static const struct peer_want wish = { .caps = FI_MSG | FI_RMA | FI_RMA_PMEM };

/* Whether the capability is to be had; the promise of emu. */
static bool have_pmem(void)
{
	struct fi_info *info = NULL;
	int rc = peer_getinfo(&wish, &info);

	fi_freeinfo(info);
	CHECK(!rc || !peer_is_emu(), "fi_getinfo with FI_RMA_PMEM returned %d", rc);
	return !rc;
}

#define PMEM_OR_END()                                                 \
	do {                                                          \
		if (!have_pmem()) {                                   \
			NOT_APPLICABLE("FI_RMA_PMEM is not granted"); \
			return;                                       \
		}                                                     \
	} while (0)

static int make_file(void)
{
	char path[] = "/tmp/emu_pmem_XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0, "mkstemp: %s", strerror(errno));
	unlink(path);
	CHECK(!ftruncate(fd, LEN), "ftruncate: %s", strerror(errno));
	return fd;
}

static void *map(int fd, int flags)
{
	void *at = mmap(NULL, LEN, PROT_READ | PROT_WRITE, flags, fd, 0);

	CHECK(at != MAP_FAILED, "mmap: %s", strerror(errno));
	return at;
}

static int reg(struct peer *p, const struct iovec *iov, size_t count, uint64_t flags, struct fid_mr **mr)
{
	return fi_mr_regv(p->domain, iov, count, ALL_LOCAL | ALL_REMOTE, 0, region_fresh_key(p), flags, mr, NULL);
}

static int reg_one(struct peer *p, void *at, size_t len, uint64_t flags, struct fid_mr **mr)
{
	struct iovec iov = { at, len };

	return reg(p, &iov, 1, flags, mr);
}

static void expect_reg(struct peer *p, int want, const struct iovec *iov, size_t count)
{
	struct fid_mr *mr = (struct fid_mr *)1;
	int rc = reg(p, iov, count, FI_RMA_PMEM, &mr);

	CHECK(rc == want || (!peer_is_emu() && want), "registration with FI_RMA_PMEM returned %d, expected %d", rc, want);
	if (!rc)
		CHECK_RC(0, fi_close(&mr->fid));
	else
		CHECK(mr == (struct fid_mr *)1, "a refused registration wrote *mr");
}

/* Without the capability the flag is none. */
PEER_TEST(pmem, S132_flag_needs_the_capability)
{
	struct fid_mr *mr = NULL;
	int fd = make_file();
	void *at = map(fd, MAP_SHARED);

	CHECK_RC(-FI_EBADFLAGS, reg_one(p, at, LEN, FI_RMA_PMEM, &mr));
	munmap(at, LEN);
	close(fd);
}

LONE_TEST(pmem, S132_capability_needs_rma)
{
	struct peer_want want = { .caps = FI_MSG | FI_RMA_PMEM };
	struct fi_info *info = NULL;

	CHECK_REFUSED(peer_getinfo(&want, &info));
}

LONE_TEST(pmem, S132_shared_file_mappings_alone)
{
	struct iovec two[2];
	struct peer p;
	void *shared, *private, *anonymous, *memory, *nothing, *other;
	int fd, mem;

	PMEM_OR_END();
	peer_open(&p, &wish);
	fd = make_file();
	mem = memfd_create("emu_pmem", 0);
	CHECK(mem >= 0 && !ftruncate(mem, LEN), "memfd: %s", strerror(errno));
	shared = map(fd, MAP_SHARED);
	other = map(fd, MAP_SHARED);
	private = map(fd, MAP_PRIVATE);
	memory = map(mem, MAP_SHARED);
	anonymous = map(-1, MAP_SHARED | MAP_ANONYMOUS);
	nothing = map(-1, MAP_PRIVATE | MAP_ANONYMOUS);
	expect_reg(&p, 0, &(struct iovec){ shared, LEN }, 1);
	expect_reg(&p, 0, &(struct iovec){ (char *)shared + 100, 7 }, 1);
	expect_reg(&p, -FI_EINVAL, &(struct iovec){ private, LEN }, 1);
	expect_reg(&p, -FI_EINVAL, &(struct iovec){ nothing, LEN }, 1);
	expect_reg(&p, -FI_EINVAL, &(struct iovec){ anonymous, LEN }, 1);
	expect_reg(&p, -FI_EINVAL, &(struct iovec){ memory, LEN }, 1);
	two[0] = (struct iovec){ shared, PAGE };
	two[1] = (struct iovec){ other, PAGE };
	expect_reg(&p, 0, two, 2);
	two[1].iov_base = private;
	expect_reg(&p, -FI_EINVAL, two, 2);
	munmap((char *)shared + PAGE, PAGE); /* a hole */
	expect_reg(&p, 0, &(struct iovec){ shared, PAGE }, 1);
	expect_reg(&p, -FI_EINVAL, &(struct iovec){ shared, PAGE + 1 }, 1);
	expect_reg(&p, -FI_EINVAL, &(struct iovec){ (char *)shared + PAGE, 2 * PAGE }, 1);
	peer_close(&p);
	close(fd);
	close(mem);
}

/* The mappings before it and after it do not matter. */
LONE_TEST(pmem, S132_among_other_mappings)
{
	struct peer p;
	char *others, *at;
	int fd;

	PMEM_OR_END();
	peer_open(&p, &wish);
	fd = make_file();
	others = mmap(NULL, 3 * LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(others != MAP_FAILED, "mmap: %s", strerror(errno));
	at = mmap(others + LEN, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	CHECK(at == others + LEN, "mmap: %s", strerror(errno));
	expect_reg(&p, 0, &(struct iovec){ at, LEN }, 1);
	expect_reg(&p, -FI_EINVAL, &(struct iovec){ at - 1, LEN }, 1);
	expect_reg(&p, -FI_EINVAL, &(struct iovec){ at, LEN + 1 }, 1);
	peer_close(&p);
	munmap(others, 3 * LEN);
	close(fd);
}

/* ---- the target's side ---- */

static struct {
	int fd;
	uint8_t *at;
	struct fid_mr *mr, *plain;
} file;

struct told {
	uint64_t key, plain_key, base;
};

static void step_reg(const void *arg, void *reply)
{
	struct told *told = reply;

	(void)arg;
	file.fd = make_file();
	file.at = map(file.fd, MAP_SHARED);
	CHECK_RC(0, reg_one(&target_peer, file.at, LEN, FI_RMA_PMEM, &file.mr));
	CHECK_RC(0, reg_one(&target_peer, file.at, LEN, 0, &file.plain));
	told->key = fi_mr_key(file.mr);
	told->plain_key = fi_mr_key(file.plain);
	told->base = peer_has(&target_peer, FI_MR_VIRT_ADDR) ? (uint64_t)(uintptr_t)file.at : 0;
}

enum { HOLD = 1, FAIL = 2 };

static void step_set(const void *arg, void *reply)
{
	int how = *(const int *)arg;

	(void)reply;
	pthread_mutex_lock(&syncs.lock);
	syncs.held = how & HOLD;
	syncs.failing = how & FAIL;
	pthread_cond_broadcast(&syncs.changed);
	pthread_mutex_unlock(&syncs.lock);
}

struct looked {
	size_t calls;
	uintptr_t low, high; /* in the file */
	uint64_t hash;       /* of the file, read as a file */
};

static void step_look(const void *arg, void *reply)
{
	struct looked *looked = reply;
	static uint8_t bytes[LEN];

	(void)arg;
	CHECK(pread(file.fd, bytes, LEN, 0) == LEN, "pread: %s", strerror(errno));
	looked->hash = pattern_hash(bytes, LEN);
	pthread_mutex_lock(&syncs.lock);
	looked->calls = syncs.calls;
	looked->low = syncs.low - (uintptr_t)file.at;
	looked->high = syncs.high - (uintptr_t)file.at;
	syncs.low = syncs.high = 0;
	pthread_mutex_unlock(&syncs.lock);
}

static void step_close_mr(const void *arg, void *reply)
{
	(void)arg;
	*(int *)reply = fi_close(&file.mr->fid);
	file.mr = NULL;
}

static void step_end(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	if (file.mr)
		CHECK_RC(0, fi_close(&file.mr->fid));
	CHECK_RC(0, fi_close(&file.plain->fid));
	munmap(file.at, LEN);
	close(file.fd);
}

/* ---- the initiator's ---- */

struct durable {
	struct pair p;
	struct told told;
	uint8_t image[LEN];
};

static void set(struct durable *d, int how)
{
	target_do(&d->p.target, step_set, &how, sizeof(how), NULL, 0);
}

static struct looked look(struct durable *d)
{
	struct looked looked;

	target_do(&d->p.target, step_look, NULL, 0, &looked, sizeof(looked));
	return looked;
}

/* Posts a durable write of bytes of the local buffer, and notes them in the image. */
static void post(struct durable *d, uint64_t off, size_t len, uint64_t key, uint64_t flags, struct op *op)
{
	uint8_t *local = (uint8_t *)d->p.local.iov[0].iov_base + off;
	struct iovec iov = { local, len };
	struct fi_rma_iov rma = { .addr = d->told.base + off, .len = len, .key = key };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = &d->p.desc,
				  .iov_count = 1,
				  .addr = d->p.to,
				  .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .data = 0xda7a };

	pattern_fill(local, len, ++d->p.seed);
	CHECK_RC(0, peer_rma(&d->p.peer, RMA_WRITE, &msg, flags, op));
}

static void ok(struct durable *d, uint64_t off, size_t len, uint64_t flags)
{
	struct op op;

	post(d, off, len, d->told.key, flags, &op);
	peer_wait(&d->p.peer, &op);
	CHECK(!op.err, "a durable write failed: err %d, %s", op.err, d->p.peer.text);
	memcpy(d->image + off, (uint8_t *)d->p.local.iov[0].iov_base + off, len);
}

static void each_mode(void (*body)(struct durable *d))
{
	static const uint64_t offers[] = { 0, FI_MR_BASIC_BITS, FI_MR_LOCAL | FI_MR_VIRT_ADDR };
	static struct durable d;

	memset(&d, 0, sizeof(d));
	target_start(&d.p.target);
	for (size_t i = 0; i < sizeof(offers) / sizeof(*offers); i++) {
		struct peer_want want = wish;

		if ((offers[i] & FI_MR_ALLOCATED) && peer_pins())
			continue; /* no NIC pins a file */
		want.mr_mode = offers[i];
		pair_open(&d.p, &want, 0);
		memset(d.image, 0, LEN);
		target_do(&d.p.target, step_reg, NULL, 0, &d.told, sizeof(d.told));
		check_label("[offer %zu]", i);
		body(&d);
		set(&d, 0);
		target_do(&d.p.target, step_end, NULL, 0, NULL, 0);
		pair_close(&d.p);
	}
	target_stop(&d.p.target);
}

#define DURABLE_TEST(name)                          \
	static void name##_body(struct durable *d); \
	LONE_TEST(pmem, name)                       \
	{                                           \
		PMEM_OR_END();                      \
		each_mode(name##_body);             \
	}                                           \
	static void name##_body(struct durable *d)

DURABLE_TEST(S133_durable_before_complete)
{
	struct looked before = look(d), after;

	ok(d, PAGE + 100, 64, FI_COMMIT_COMPLETE);
	after = look(d);
	CHECK(after.calls > before.calls, "complete, and msync was not called");
	CHECK(after.low <= PAGE && after.high >= PAGE + 164, "msync missed the bytes written");
	CHECK(after.hash == pattern_hash(d->image, LEN), "the file holds other bytes");
	ok(d, 0, LEN, FI_COMMIT_COMPLETE);
	before = look(d);
	CHECK(before.calls > after.calls && before.low == 0 && before.high >= LEN, "not all pages were synchronised");
	CHECK(before.hash == pattern_hash(d->image, LEN), "the file holds other bytes");
	ok(d, 8, 16, 0);
	after = look(d);
	CHECK(!peer_is_emu() || after.calls == before.calls, "a plain write called msync");
}

/* As long as msync has not returned there is no answer, and other operations do not wait. */
DURABLE_TEST(S133_no_answer_before_msync_returns)
{
	struct op durable, later;
	struct looked before = look(d), held;

	set(d, HOLD);
	post(d, 0, 64, d->told.key, FI_COMMIT_COMPLETE | FI_REMOTE_CQ_DATA, &durable);
	for (int i = 0; i < 200; i++) {
		post(d, PAGE, 64, d->told.key, 0, &later);
		peer_wait(&d->p.peer, &later);
		CHECK(!later.err, "a write behind a durable one failed: %s", d->p.peer.text);
	}
	live(&d->p);
	held = look(d);
	CHECK(held.calls == before.calls, "msync returned though it is held");
	peer_progress(&d->p.peer);
	CHECK(!durable.done, "complete before msync returned");
	set(d, 0);
	peer_wait(&d->p.peer, &durable);
	CHECK(!durable.err, "a durable write failed: %s", d->p.peer.text);
}

DURABLE_TEST(S133_a_failing_msync_is_an_error)
{
	struct op op;

	set(d, FAIL);
	post(d, 0, 64, d->told.key, FI_COMMIT_COMPLETE, &op);
	peer_wait(&d->p.peer, &op);
	CHECK(op.err, "complete, though msync failed");
	if (peer_is_emu()) {
		CHECK(op.err == FI_EIO, "err %d, expected FI_EIO", op.err);
		CHECK(cites(d->p.peer.text, "S133") && strstr(d->p.peer.text, "EIO"), "the sentence: %s", d->p.peer.text);
	}
	live(&d->p);
	set(d, 0);
	ok(d, 0, 64, FI_COMMIT_COMPLETE);
}

/* The region without the flag is not harmed, nor the connection. */
DURABLE_TEST(S133_a_region_without_the_flag)
{
	struct looked before = look(d), after;
	struct op op;

	post(d, 0, 64, d->told.plain_key, FI_COMMIT_COMPLETE, &op);
	peer_wait(&d->p.peer, &op);
	if (!op.err) {
		CHECK(!peer_is_emu(), "a durable write to plain memory succeeded");
		return;
	}
	CHECK(!peer_is_emu() || (op.err == FI_EACCES && cites(d->p.peer.text, "S133")), "err %d: %s", op.err, d->p.peer.text);
	after = look(d);
	CHECK(before.hash == after.hash, "a refused write changed the region");
	live(&d->p);
	post(d, 0, 64, d->told.plain_key, 0, &op);
	peer_wait(&d->p.peer, &op);
	CHECK(!op.err, "a plain write failed: %s", d->p.peer.text);
}

DURABLE_TEST(S133_S178_closing_meanwhile)
{
	struct op op, beside;
	int rc = -1;

	set(d, HOLD);
	post(d, 0, 64, d->told.key, FI_COMMIT_COMPLETE, &op);
	post(d, PAGE, 64, d->told.plain_key, 0, &beside);
	peer_wait(&d->p.peer, &beside);
	CHECK(!beside.err && !op.done, "a plain write waited for a durable one");
	target_do(&d->p.target, step_close_mr, NULL, 0, &rc, sizeof(rc));
	CHECK_RC(0, rc);
	set(d, 0);
	peer_wait(&d->p.peer, &op);
	CHECK(op.err, "durable, though its region was closed before");
	CHECK(!peer_is_emu() || cites(d->p.peer.text, "S178"), "the sentence: %s", d->p.peer.text);
	live(&d->p);
}

/* Of a pair with these wishes: what a call with the flag says. A call that is taken is seen through. */
static ssize_t call(const struct peer_want *want, enum rma_dir dir)
{
	struct pair p = { 0 };
	struct op op;
	ssize_t rc;

	target_start(&p.target);
	pair_open(&p, want, FI_COMMIT_COMPLETE);
	rc = pair_post(&p, dir, p.local.iov[0].iov_base, 8, remote_addr(p.control, 0), p.control->key, &op);
	if (!rc)
		peer_wait(&p.peer, &op);
	pair_close(&p);
	target_stop(&p.target);
	return rc;
}

LONE_TEST(pmem, S5_S133_the_flag_needs_the_capability)
{
	static const struct peer_want plain;

	PMEM_OR_END();
	CHECK_RC(-FI_EBADFLAGS, call(&plain, RMA_WRITE));
}

/* It is for writes. */
LONE_TEST(pmem, S5_S133_the_flag_is_none_of_reads)
{
	PMEM_OR_END();
	CHECK_RC(-FI_EBADFLAGS, call(&wish, RMA_READ));
}
