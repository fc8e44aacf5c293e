/* SPDX-License-Identifier: BSD-2-Clause */
/* hmem.c - the devices of the process, and the calls of emu/hmem.h.
 *
 * One reservation of addresses holds all devices twice: programs know the bytes by the lower half, which nothing ever maps, and the
 * copy calls and NICs reach them in the upper half, where each allocation's memfd is mapped. So one distance leads from any address
 * to its bytes. Memory of the host is mapped in the lower half, where the program reaches it, too. */
#include "include/emu/hmem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/hmem/hmem_impl.h"

enum { SPACES_MAX = (EMU_HMEM_IFACES - 1) * (HMEM_DEVICES_MAX + 1) };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf; nothing of a device is touched under it */
static struct hmem_config config;                        /* constant after `once`, as is all but the spaces' contents */
static struct hmem_space spaces[SPACES_MAX];
static size_t space_count, span; /* bytes of addresses of each space */
static char *lower, *upper;

/* --- addresses --- */

static struct hmem_space *space_of(const void *addr)
{
	uintptr_t at = (uintptr_t)addr - (uintptr_t)lower;

	return at < space_count * span ? &spaces[at / span] : NULL;
}

/* Where the bytes of the space's addresses are reached. */
static void *reached(const struct hmem_space *space, const void *addr)
{
	return space->device == EMU_HMEM_HOST ? (void *)(uintptr_t)addr : upper + ((const char *)addr - lower);
}

/* "cuda:0", or "the host, by cuda". */
static const char *device_name(const struct hmem_space *space, char text[32])
{
	if (space->device == EMU_HMEM_HOST)
		snprintf(text, 32, "the host, by %s", emu_hmem_iface_name(space->iface));
	else
		snprintf(text, 32, "%s:%d", emu_hmem_iface_name(space->iface), space->device);
	return text;
}

/* For the fault handler: `addr` in either half. A thread that faults holds no lock of ours. */
static void tell_fault(const void *addr)
{
	const char *at = addr;
	struct hmem_space *space = space_of(at);
	const struct hmem_block *block;
	char name[32];

	if (!space) {
		at = lower + ((uintptr_t)at - (uintptr_t)upper);
		space = space_of(at);
	}
	if (!space)
		return;
	pthread_mutex_lock(&lock);
	block = hmem_space_at(space, at);
	if (block)
		hmem_say("SIGSEGV at %p: byte %zu of %s of %zu B at %p, memory of %s, which the CPU cannot reach", (const void *)at,
			 (size_t)(at - block->base), block->fd < 0 ? "a freed allocation" : "an allocation", block->size,
			 (void *)block->base, device_name(space, name));
	else
		hmem_say("SIGSEGV at %p: no allocation of %s, whose addresses these are", (const void *)at,
			 device_name(space, name));
	pthread_mutex_unlock(&lock);
}

/* --- the start --- */

static int space_add(unsigned int iface, int device)
{
	struct hmem_space *space = &spaces[space_count];
	int err = hmem_space_open(space, lower + space_count * span, span / EMU_HMEM_PAGE);

	space->iface = iface;
	space->device = device;
	space_count += !err;
	return err;
}

static int spaces_open(void)
{
	size_t count = 0, reserved;
	int err = 0;

	for (unsigned int i = 0; i < EMU_HMEM_IFACES; i++)
		count += config.devices[i] ? (size_t)config.devices[i] + 1 : 0;
	if (!count)
		return 0;
	span = config.size + EMU_HMEM_PAGE;
	reserved = count * span;
	lower = mmap(NULL, 2 * reserved + EMU_HMEM_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (lower == MAP_FAILED)
		return -errno;
	lower += -(uintptr_t)lower % EMU_HMEM_PAGE;
	upper = lower + reserved;
	for (unsigned int i = 0; i < EMU_HMEM_IFACES && !err; i++)
		for (int device = EMU_HMEM_HOST; config.devices[i] && device < config.devices[i] && !err; device++)
			err = space_add(i, device);
	return err ? err : hmem_fault_install(tell_fault);
}

static void lock_take(void)
{
	pthread_mutex_lock(&lock);
}

static void lock_give(void)
{
	pthread_mutex_unlock(&lock);
}

/* A fork's child shares the memory; another thread of its parent may have held the lock. */
static void hmem_start(void)
{
	int err = hmem_config_read(getenv("FI_EMU_HMEM"), getenv("FI_EMU_HMEM_SIZE"), &config) ? spaces_open() : 0;

	if (!err)
		err = -pthread_atfork(lock_take, lock_give, lock_give);
	if (!err)
		return;
	hmem_say("no devices: %s. FI_EMU_HMEM_SIZE is the size of each", strerror(-err));
	space_count = 0;
	config = (struct hmem_config){ .size = 0 };
}

static void devices_start(void)
{
	pthread_once(&once, hmem_start);
}

/* --- allocations --- */

int emu_hmem_devices(unsigned int iface)
{
	devices_start();
	return iface < EMU_HMEM_IFACES ? config.devices[iface] : 0;
}

static struct hmem_space *space_find(unsigned int iface, int device)
{
	for (size_t i = 0; i < space_count; i++)
		if (spaces[i].iface == iface && spaces[i].device == device)
			return &spaces[i];
	return NULL;
}

/* Gives a block its bytes. */
static int block_map(const struct hmem_space *space, struct hmem_block *block)
{
	size_t length = block->pages * EMU_HMEM_PAGE;
	int fd = memfd_create("emu-hmem", MFD_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)length) ||
	    mmap(reached(space, block->base), length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		err = -errno;
	if (err)
		close(fd);
	else
		block->fd = fd;
	return err;
}

int emu_hmem_alloc(unsigned int iface, int device, size_t size, void **addr)
{
	struct hmem_space *space;
	struct hmem_block *block;
	char name[32];
	int err;

	devices_start();
	space = space_find(iface, device);
	if (!addr || !size) {
		hmem_say("allocation: %s", addr ? "of 0 B" : "addr is NULL");
		return -EINVAL;
	}
	if (!space) {
		const char *words = emu_hmem_iface_name(iface);

		hmem_say("allocation of %zu B: there is no device %d of %s. FI_EMU_HMEM says which there are", size, device,
			 words ? words : "such an interface");
		return -ENODEV;
	}
	pthread_mutex_lock(&lock);
	err = hmem_space_take(space, size, &block);
	if (!err) {
		err = block_map(space, block);
		if (err)
			hmem_space_give(space, block);
		else
			*addr = block->base;
	}
	pthread_mutex_unlock(&lock);
	if (err)
		hmem_say("allocation of %zu B on %s: %s. Each device has %zu B (FI_EMU_HMEM_SIZE)", size, device_name(space, name),
			 strerror(-err), config.size);
	return err;
}

/* The mapping goes at once: an access that is under way faults, and the provider's guard catches it. */
static void block_end(struct hmem_space *space, struct hmem_block *block)
{
	size_t length = block->pages * EMU_HMEM_PAGE;

	if (mmap(reached(space, block->base), length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
	    MAP_FAILED)
		hmem_say("free of %p: %s", (void *)block->base, strerror(errno));
	close(block->fd);
	hmem_space_give(space, block);
}

int emu_hmem_free(void *addr)
{
	struct hmem_space *space;
	struct hmem_block *block;
	const char *wrong = "no address of a device";

	if (!addr)
		return 0;
	devices_start();
	space = space_of(addr);
	if (space) {
		pthread_mutex_lock(&lock);
		block = hmem_space_at(space, addr);
		if (!block || block->base != addr)
			wrong = "not the first byte of an allocation";
		else if (block->fd < 0)
			wrong = "freed already";
		else
			wrong = NULL;
		if (!wrong)
			block_end(space, block);
		pthread_mutex_unlock(&lock);
	}
	if (!wrong)
		return 0;
	hmem_say("free of %p: %s", addr, wrong);
	return -EINVAL;
}

/* --- the bytes --- */

/* Where ranges may end. */
enum reach { LAST_BYTE, LAST_BYTE_OR_A_PAGE };

/* With the lock: is [addr, addr + length) inside one live allocation? `addr` is the space's. */
static struct hmem_block *block_of(const struct hmem_space *space, const void *addr, size_t length, enum reach reach)
{
	struct hmem_block *block = hmem_space_at(space, addr);
	size_t at = block ? (size_t)((const char *)addr - block->base) : 0;

	if (!block || block->fd < 0 || at >= block->size)
		return NULL;
	if (length <= block->size - at)
		return block;
	return reach == LAST_BYTE_OR_A_PAGE && length <= block->pages * EMU_HMEM_PAGE - at &&
			       !((at + length) % (size_t)sysconf(_SC_PAGESIZE))
		       ? block
		       : NULL;
}

static int query_range(const void *addr, size_t length, enum reach reach, struct emu_hmem_info *info)
{
	const struct hmem_space *space;
	const struct hmem_block *block;

	devices_start();
	space = space_of(addr);
	if (!space)
		return -ENOENT;
	pthread_mutex_lock(&lock);
	block = block_of(space, addr, length, reach);
	if (block)
		*info = (struct emu_hmem_info){
			.iface = space->iface,
			.device = space->device,
			.base = block->base,
			.size = block->size,
			.reach = reached(space, addr),
		};
	pthread_mutex_unlock(&lock);
	return block ? 0 : -EFAULT;
}

int emu_hmem_query(const void *addr, size_t length, struct emu_hmem_info *info)
{
	return query_range(addr, length, LAST_BYTE, info);
}

static int query_rounded(const void *addr, size_t length, struct emu_hmem_info *info)
{
	return query_range(addr, length, LAST_BYTE_OR_A_PAGE, info);
}

static void *named_by(void *reach)
{
	uintptr_t at = (uintptr_t)reach - (uintptr_t)upper;

	return at < space_count * span ? lower + at : reach;
}

/* Where to copy to or from: 0 and *at, which is `addr` itself for memory of others. */
static int copy_place(const char *call, const void *addr, size_t length, void **at)
{
	struct emu_hmem_info info;
	int err = emu_hmem_query(addr, length, &info);

	*at = err ? (void *)(uintptr_t)addr : info.reach;
	if (err != -EFAULT)
		return 0;
	hmem_say("%s of %zu B at %p: not inside one allocation, or it has been freed", call, length, addr);
	return err;
}

int emu_hmem_copy(void *to, const void *from, size_t length)
{
	void *target, *source;
	int err;

	if (!length)
		return 0;
	err = copy_place("copy to", to, length, &target);
	if (!err)
		err = copy_place("copy from", from, length, &source);
	if (!err)
		memmove(target, source, length);
	return err;
}

int emu_hmem_set(void *to, int byte, size_t length)
{
	void *target;
	int err = length ? copy_place("set", to, length, &target) : 0;

	if (!err && length)
		memset(target, byte, length);
	return err;
}

int emu_hmem_export(const void *addr, int *fd, uint64_t *offset)
{
	const struct hmem_space *space;
	const struct hmem_block *block = NULL;
	int copy = -1, err = -EINVAL;

	devices_start();
	space = space_of(addr);
	if (space && fd && offset) {
		pthread_mutex_lock(&lock);
		block = block_of(space, addr, 1, LAST_BYTE);
		copy = block ? fcntl(block->fd, F_DUPFD_CLOEXEC, 0) : -1;
		err = block && copy < 0 ? -errno : block ? 0 : -EINVAL;
		if (!err)
			*offset = (uint64_t)((const char *)addr - block->base);
		pthread_mutex_unlock(&lock);
	}
	if (err)
		hmem_say("export of %p: %s", addr, block ? strerror(-err) : "no byte of an allocation, or an argument is NULL");
	else
		*fd = copy;
	return err;
}

const struct emu_hmem_ops emu_hmem_ops = {
	.size = sizeof(emu_hmem_ops),
	.iface_name = emu_hmem_iface_name,
	.devices = emu_hmem_devices,
	.query = query_rounded,
	.named = named_by,
};
