/* SPDX-License-Identifier: BSD-2-Clause */
/* hmem.c - memory of devices: S85, S134 to S137, S140, S143, S144, S155, S195. The devices are emulated (include/emu/hmem.h), so
 * that other providers, which know nothing of them, are not tested here. */
#include "tests/rules/harness/message.h"
#include "tests/rules/harness/newest.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#include "include/emu/hmem.h"
#include "include/emu/mr_cache.h"
#include "tests/unit/nic/sandbox.h"

enum { LEN = 256, DEVICE_LEN = 16 * PAGE };
#define WISH(bits) ((struct peer_want){ .caps = FI_MSG | FI_RMA | FI_HMEM, .mr_mode = (bits) })

/* Before anything else: this process and its targets have devices. */
static void need_devices(void)
{
	if (FI_VERSION_LT(peer_api(), FI_VERSION(1, 9)))
		NOT_APPLICABLE("the API version has no kinds of memory");
	if (!peer_is_emu())
		NOT_APPLICABLE("%s knows no emulated devices", peer_provider());
	setenv("FI_EMU_HMEM", "cuda:2,ze:1", 1);
	setenv("FI_EMU_HMEM_SIZE", "65536", 1); /* DEVICE_LEN */
	CHECK(emu_hmem_devices(EMU_HMEM_CUDA) == 2, "the devices of FI_EMU_HMEM are not there");
}

static uint8_t *device_memory(int device, size_t size)
{
	void *at = NULL;

	CHECK_RC(0, emu_hmem_alloc(EMU_HMEM_CUDA, device, size, &at));
	return at;
}

static int reg_device(struct peer *p, void *at, size_t len, uint32_t iface, uint64_t device, uint64_t flags, struct fid_mr **mr)
{
	struct iovec iov = { at, len };
	struct newest_attr attr = { .mr_iov = &iov,
				    .iov_count = 1,
				    .access = ALL_LOCAL | ALL_REMOTE,
				    .iface = iface,
				    .device = device,
				    .requested_key = region_fresh_key(p) };

	*mr = NULL;
	return newest_reg(p->domain, &attr, flags, mr);
}

/* ---- as local buffers ---- */

/* One write from the buffer and one read into it; the same errno for both, or they carry the right bytes. */
static void move_local(struct pair *p, struct remote *r, void *at, void *desc, int want)
{
	uint8_t bytes[LEN], back[LEN];
	struct op op;

	p->desc = desc;
	pattern_fill(bytes, LEN, ++p->seed);
	CHECK_RC(0, emu_hmem_copy(at, bytes, LEN));
	CHECK_RC(want, pair_post(p, RMA_WRITE, at, LEN, remote_addr(r, 0), r->key, &op));
	if (!want) {
		peer_wait(&p->peer, &op);
		CHECK(!op.err, "a write from the buffer failed: %s", p->peer.text);
		remote_image_set(r, 0, bytes, LEN);
	}
	remote_verify(p, r);
	CHECK_RC(0, emu_hmem_set(at, 0, LEN));
	CHECK_RC(want, pair_post(p, RMA_READ, at, LEN, remote_addr(r, 0), r->key, &op));
	if (!want) {
		peer_wait(&p->peer, &op);
		CHECK(!op.err, "a read into the buffer failed: %s", p->peer.text);
		CHECK_RC(0, emu_hmem_copy(back, at, LEN));
		CHECK(!memcmp(back, bytes, LEN), "a read brought other bytes");
	}
}

/* Host and device x descriptor and none, in this mode. */
static void each_buffer(struct pair *p)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	static uint8_t host[LEN];
	uint8_t *device = device_memory(1, LEN);
	struct fid_mr *host_mr, *device_mr;
	void *desc = p->desc;

	CHECK_RC(0, reg_device(&p->peer, host, LEN, FI_HMEM_SYSTEM, 0, 0, &host_mr));
	CHECK_RC(0, reg_device(&p->peer, device, LEN, FI_HMEM_CUDA, 1, 0, &device_mr));
	move_local(p, r, host, fi_mr_desc(host_mr), 0);
	move_local(p, r, device, fi_mr_desc(device_mr), 0);
	move_local(p, r, host, NULL, peer_has(&p->peer, FI_MR_LOCAL) ? -FI_EINVAL : 0);
	move_local(p, r, device, NULL, peer_has(&p->peer, NEWEST_MR_HMEM) ? -FI_EINVAL : 0);
	CHECK_RC(0, fi_close(&device_mr->fid));
	CHECK_RC(0, fi_close(&host_mr->fid));
	p->desc = desc;
	CHECK_RC(0, emu_hmem_free(device));
	live(p);
}

/* A test that runs in each of these modes. */
static void each_hmem_mode(void (*body)(struct pair *p))
{
	static const uint64_t modes[] = { 0,
					  FI_MR_LOCAL,
					  NEWEST_MR_HMEM,
					  FI_MR_LOCAL | NEWEST_MR_HMEM,
					  FI_MR_BASIC_BITS,
					  FI_MR_BASIC_BITS | NEWEST_MR_HMEM,
					  FI_MR_MMU_NOTIFY };
	static struct pair p;

	need_devices();
	target_start(&p.target);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct peer_want want = WISH(modes[i]);

		pair_open(&p, &want, 0);
		check_label("[mr_mode %#llx]", (unsigned long long)modes[i]);
		body(&p);
		pair_close(&p);
	}
	target_stop(&p.target);
}

LONE_TEST(hmem, S134_S136_S137_buffers_and_their_descriptors)
{
	each_hmem_mode(each_buffer);
}

/* Into memory of a device, and out of it. */
static void messages_of_devices(struct pair *p)
{
	uint8_t *device = device_memory(0, LEN), bytes[LEN], back[LEN];
	struct fid_mr *mr;
	struct op op;

	CHECK_RC(0, reg_device(&p->peer, device, LEN, FI_HMEM_CUDA, 0, 0, &mr));
	target_post_recv(p);
	pattern_fill(bytes, LEN, 5);
	CHECK_RC(0, emu_hmem_copy(device, bytes, LEN));
	CHECK_RC(0, peer_send(&p->peer, p->to, device, LEN, fi_mr_desc(mr), &op));
	peer_wait(&p->peer, &op);
	CHECK(!op.err, "a send failed: %s", p->peer.text);
	target_expect_message(p, LEN, 5);
	CHECK_RC(0, peer_recv(&p->peer, device, LEN, fi_mr_desc(mr), &op));
	target_send_message(p, LEN, 6);
	peer_wait(&p->peer, &op);
	pattern_fill(bytes, LEN, 6);
	CHECK_RC(0, emu_hmem_copy(back, device, LEN));
	CHECK(!op.err && !memcmp(back, bytes, LEN), "a receive failed, or brought other bytes");
	CHECK_RC(0, fi_close(&mr->fid));
	CHECK_RC(0, emu_hmem_free(device));
}

LONE_TEST(hmem, S134_S136_messages)
{
	each_hmem_mode(messages_of_devices);
}

/* ---- registered ---- */

static struct {
	uint8_t *at;
	struct fid_mr *mr;
} held;

struct shown {
	uint64_t key, base;
};

static void show(struct shown *shown)
{
	shown->key = fi_mr_key(held.mr);
	shown->base = peer_has(&target_peer, FI_MR_VIRT_ADDR) ? (uint64_t)(uintptr_t)held.at : 0;
}

/* With all that FI_MR_HMEM asks for, and FI_HMEM_DEVICE_ONLY where the API has it. */
static void step_reg_attr(const void *arg, void *reply)
{
	uint64_t flags = FI_VERSION_GE(peer_api(), FI_VERSION(1, 13)) ? FI_HMEM_DEVICE_ONLY : 0;

	(void)arg;
	held.at = device_memory(0, DEVICE_LEN);
	CHECK_RC(0, reg_device(&target_peer, held.at, DEVICE_LEN, FI_HMEM_CUDA, 0, flags, &held.mr));
	mr_ready(&target_peer, held.mr, 0);
	show(reply);
}

/* By the call that knows nothing of devices: refused under FI_MR_HMEM. */
static void step_reg_plain(const void *arg, void *reply)
{
	bool refused = peer_has(&target_peer, NEWEST_MR_HMEM);

	(void)arg;
	held.at = device_memory(0, DEVICE_LEN);
	CHECK_RC(refused ? -FI_EINVAL : 0, fi_mr_reg(target_peer.domain, held.at, DEVICE_LEN, ALL_REMOTE, 0,
						     region_fresh_key(&target_peer), 0, &held.mr, NULL));
	if (refused)
		CHECK_RC(0, reg_device(&target_peer, held.at, DEVICE_LEN, FI_HMEM_CUDA, 0, 0, &held.mr));
	mr_ready(&target_peer, held.mr, 0);
	show(reply);
}

static void step_free(const void *arg, void *reply)
{
	(void)arg, (void)reply;
	CHECK_RC(0, emu_hmem_free(held.at));
}

static void step_again(const void *arg, void *reply)
{
	(void)arg, (void)reply;
	CHECK(device_memory(0, DEVICE_LEN) == held.at, "the new allocation has other addresses");
}

static void step_read(const void *arg, void *reply)
{
	(void)arg;
	CHECK_RC(0, emu_hmem_copy(reply, held.at, DEVICE_LEN));
}

static sigjmp_buf touched;

static void on_touch(int sig)
{
	(void)sig;
	siglongjmp(touched, 1);
}

/* S143: the program's own CPU cannot. */
static void step_touch(const void *arg, void *reply)
{
	struct sigaction action = { .sa_handler = on_touch }, before;

	(void)arg, (void)reply;
	sigaction(SIGSEGV, &action, &before);
	if (!sigsetjmp(touched, 1)) {
		*(volatile uint8_t *)held.at = 1;
		check_fail(__FILE__, __LINE__, "the CPU reaches memory of a device");
	}
	sigaction(SIGSEGV, &before, NULL);
}

static void step_end(const void *arg, void *reply)
{
	(void)arg, (void)reply;
	CHECK_RC(0, fi_close(&held.mr->fid));
	CHECK_RC(0, emu_hmem_free(held.at));
}

/* Writes of all and of the last byte, a read, and what is refused beside them. */
static void reach_device(struct pair *p, const struct shown *shown)
{
	static uint8_t image[DEVICE_LEN], memory[DEVICE_LEN];
	uint8_t *local = p->local.iov[0].iov_base;
	struct outcome out;

	pattern_fill(local, DEVICE_LEN, ++p->seed);
	memcpy(image, local, DEVICE_LEN);
	out = pair_try(p, RMA_WRITE, shown->base, shown->key, DEVICE_LEN);
	CHECK(!out.rc && !out.err, "a good write failed: %s", out.text);
	local[0] ^= 0xff;
	image[DEVICE_LEN - 1] = local[0];
	out = pair_try(p, RMA_WRITE, shown->base + DEVICE_LEN - 1, shown->key, 1);
	CHECK(!out.rc && !out.err, "a good write failed: %s", out.text);
	deny(p, RMA_WRITE, shown->base + DEVICE_LEN, shown->key, 1, "S65");
	deny(p, RMA_READ, shown->base - 1, shown->key, 1, "S65");
	target_do(&p->target, step_read, NULL, 0, memory, DEVICE_LEN);
	CHECK(!memcmp(memory, image, DEVICE_LEN), "the device's bytes are not those written");
	memset(local, 0, DEVICE_LEN);
	out = pair_try(p, RMA_READ, shown->base, shown->key, DEVICE_LEN);
	CHECK(!out.rc && !out.err && !memcmp(local, image, DEVICE_LEN), "read back other bytes");
}

static void regions_of_devices(struct pair *p)
{
	struct shown shown;

	target_do(&p->target, step_reg_attr, NULL, 0, &shown, sizeof(shown));
	reach_device(p, &shown);
	target_do(&p->target, step_touch, NULL, 0, NULL, 0);
	target_do(&p->target, step_end, NULL, 0, NULL, 0);
	target_do(&p->target, step_reg_plain, NULL, 0, &shown, sizeof(shown));
	reach_device(p, &shown);
	target_do(&p->target, step_end, NULL, 0, NULL, 0);
}

LONE_TEST(hmem, S134_S135_S143_regions)
{
	each_hmem_mode(regions_of_devices);
}

static void freed_regions(struct pair *p)
{
	struct shown shown;

	target_do(&p->target, step_reg_attr, NULL, 0, &shown, sizeof(shown));
	target_do(&p->target, step_free, NULL, 0, NULL, 0);
	deny(p, RMA_WRITE, shown.base, shown.key, LEN, "S18");
	deny(p, RMA_READ, shown.base, shown.key, LEN, "S18");
	target_do(&p->target, step_again, NULL, 0, NULL, 0);
	reach_device(p, &shown);
	target_do(&p->target, step_end, NULL, 0, NULL, 0);
}

/* Freed, and allocated again at the same addresses: nothing there, then the new memory. */
LONE_TEST(hmem, S18_S85_freed_and_allocated_again)
{
	each_hmem_mode(freed_regions);
}

/* ---- attributes ---- */

static int reg_once(struct peer *p, void *at, uint32_t iface, uint64_t device, uint64_t flags)
{
	struct fid_mr *mr;
	int rc = reg_device(p, at, LEN, iface, device, flags, &mr);

	if (!rc)
		CHECK_RC(0, fi_close(&mr->fid));
	return rc;
}

LONE_TEST(hmem, S85_S139_S140_which_devices_there_are)
{
	struct peer_want want = WISH(NEWEST_MR_HMEM);
	static uint8_t host[LEN];
	struct peer p;
	uint8_t *at;

	need_devices();
	peer_open(&p, &want);
	at = device_memory(1, LEN);
	CHECK_RC(0, reg_once(&p, at, FI_HMEM_CUDA, 1, 0));
	CHECK_RC(-FI_EINVAL, reg_once(&p, at, FI_HMEM_CUDA, 0, 0));
	CHECK_RC(-FI_EINVAL, reg_once(&p, at, FI_HMEM_CUDA, 2, 0));
	CHECK_RC(-FI_EINVAL, reg_once(&p, at, FI_HMEM_CUDA, UINT32_MAX, 0));
	CHECK_RC(FI_VERSION_GE(peer_api(), FI_VERSION(1, 11)) ? -FI_EINVAL : -FI_ENOSYS, reg_once(&p, at, FI_HMEM_ZE, 0, 0));
	CHECK_RC(-FI_ENOSYS, reg_once(&p, at, EMU_HMEM_ROCR, 0, 0));
	CHECK_RC(-FI_ENOSYS, reg_once(&p, at, EMU_HMEM_SYNAPSEAI, 0, 0));
	CHECK_RC(-FI_ENOSYS, reg_once(&p, at, UINT32_MAX, 0, 0));
	CHECK_RC(-FI_EINVAL, reg_once(&p, host, FI_HMEM_CUDA, 0, 0));
	CHECK_RC(0, reg_once(&p, host, FI_HMEM_SYSTEM, 77, 0));
	CHECK_RC(0, emu_hmem_free(at));
	CHECK_RC(-FI_EFAULT, reg_once(&p, at, FI_HMEM_CUDA, 1, 0));
	peer_close(&p);
}

LONE_TEST(hmem, S143_S144_memory_of_devices_and_of_the_host)
{
	struct peer_want want = WISH(NEWEST_MR_HMEM);
	static uint8_t host[LEN];
	void *own = NULL;
	struct peer p;
	uint8_t *at;

	need_devices();
	if (FI_VERSION_LT(peer_api(), FI_VERSION(1, 14)))
		NOT_APPLICABLE("the API version has not the flags yet");
	peer_open(&p, &want);
	at = device_memory(1, LEN);
	CHECK_RC(0, emu_hmem_alloc(EMU_HMEM_CUDA, EMU_HMEM_HOST, LEN, &own));
	CHECK_RC(0, reg_once(&p, at, FI_HMEM_CUDA, 1, FI_HMEM_DEVICE_ONLY));
	CHECK_RC(-FI_EBADFLAGS, reg_once(&p, at, FI_HMEM_CUDA, 1, FI_HMEM_HOST_ALLOC));
	CHECK_RC(0, reg_once(&p, own, FI_HMEM_CUDA, 12345, FI_HMEM_HOST_ALLOC));
	CHECK_RC(-FI_EBADFLAGS, reg_once(&p, own, FI_HMEM_CUDA, 0, FI_HMEM_DEVICE_ONLY));
	CHECK_RC(-FI_EINVAL, reg_once(&p, own, FI_HMEM_ZE, 0, FI_HMEM_HOST_ALLOC));
	CHECK_RC(-FI_EBADFLAGS, reg_once(&p, host, FI_HMEM_SYSTEM, 0, FI_HMEM_DEVICE_ONLY));
	CHECK_RC(-FI_EBADFLAGS, reg_once(&p, host, FI_HMEM_SYSTEM, 0, FI_HMEM_HOST_ALLOC));
	peer_close(&p);
}

/* ---- settings ---- */

LONE_TEST(hmem, S155_without_peer_to_peer)
{
	struct peer_want want = WISH(0);
	struct fi_info *info = NULL;

	need_devices();
	setenv("FI_HMEM_DISABLE_P2P", "1", 1);
	CHECK_RC(-FI_ENODATA, peer_getinfo(&want, &info));
	setenv("FI_HMEM_DISABLE_P2P", "0", 1);
	CHECK_RC(0, peer_getinfo(&want, &info));
	CHECK(info->caps & FI_HMEM, "FI_HMEM is not granted");
	fi_freeinfo(info);
}

/* How many regions the cache holds after a write from memory of a device. */
static uint32_t cached_regions(struct pair *p)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	struct emu_mr_cache_counts counts;
	struct emu_mr_cache_ops *ops;
	uint8_t *device;
	uint32_t before;

	CHECK_RC(0, fi_open_ops(&p->peer.domain->fid, EMU_MR_CACHE_OPS, 0, (void **)&ops, NULL));
	CHECK_RC(0, ops->counts(p->peer.domain, &counts));
	CHECK(counts.on, "the cache is off");
	before = counts.regions;
	device = device_memory(1, LEN);
	move_local(p, r, device, NULL, 0);
	CHECK_RC(0, ops->counts(p->peer.domain, &counts));
	CHECK_RC(0, emu_hmem_free(device));
	return counts.regions - before;
}

LONE_TEST(hmem, S195_monitors_of_devices)
{
	static const char *const values[] = { "0", "1" };
	static struct pair p;

	need_devices();
	if (!sandbox_allows_userfaultfd())
		NOT_APPLICABLE("there is no userfaultfd in user mode here, so the cache is off");
	setenv("FI_EMU_MR_CACHE", "1", 1);
	target_start(&p.target);
	for (uint32_t i = 0; i < 2; i++) {
		struct peer_want want = WISH(0);
		uint32_t regions;

		setenv("FI_MR_CUDA_CACHE_MONITOR_ENABLED", values[i], 1);
		setenv("FI_MR_ROCR_CACHE_MONITOR_ENABLED", values[!i], 1);
		setenv("FI_MR_ZE_CACHE_MONITOR_ENABLED", values[!i], 1);
		pair_open(&p, &want, 0);
		regions = cached_regions(&p);
		CHECK(regions == i, "%u regions of a device are cached, and its monitor is %u", regions, i);
		pair_close(&p);
	}
	target_stop(&p.target);
}
