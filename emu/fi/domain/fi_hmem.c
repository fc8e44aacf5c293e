/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_hmem.c - looks for the library among those that are loaded. */
#include "emu/fi/domain/fi_domain.h"

#include <dlfcn.h>
#include <rdma/providers/fi_prov.h>
#include <stdatomic.h>
#include <stdio.h>

#include "emu/net/os/fork.h"

static const struct emu_hmem_ops *_Atomic hmem_found; /* it stays, as the library is never unloaded */

/* A child of a fork in the middle would find the loader's list of libraries unmapped, and crash in its next dlopen(). */
static void *find_library(void)
{
	void *library;

	(void)fork_open(); /* without memory forks do not wait */
	fork_hold();
	library = dlopen("libemu-hmem.so", RTLD_LAZY | RTLD_NOLOAD);
	fork_let_go();
	return library;
}

const struct emu_hmem_ops *hmem_find(void)
{
	const struct emu_hmem_ops *ops = atomic_load_explicit(&hmem_found, memory_order_acquire);
	void *library;
	int count = 0;

	if (ops)
		return ops;
	library = find_library();
	ops = library ? dlsym(library, EMU_HMEM_OPS) : NULL;
	if (!ops || ops->size < sizeof(*ops))
		return NULL;
	for (unsigned int i = 0; i < EMU_HMEM_IFACES; i++)
		count += ops->devices(i);
	if (!count)
		return NULL;
	atomic_store_explicit(&hmem_found, ops, memory_order_release);
	return ops;
}

bool hmem_forbidden(void)
{
	int value = 0;

	return hmem_find() && !fi_param_get_bool(NULL, "hmem_disable_p2p", &value) && value;
}

const char *hmem_why(const struct emu_hmem_ops *hmem, const void *at, char text[HMEM_WHY_SIZE])
{
	struct emu_hmem_info info;

	if (hmem->query(at, 1, &info))
		snprintf(text, HMEM_WHY_SIZE, "no allocation of an emulated device has this address, or it has been freed");
	else if (info.device == EMU_HMEM_HOST)
		snprintf(text, HMEM_WHY_SIZE, "the allocation of %zu B at %p, memory of the host by %s, ends before", info.size,
			 info.base, hmem->iface_name(info.iface));
	else
		snprintf(text, HMEM_WHY_SIZE, "the allocation of %zu B at %p, memory of %s:%d, ends before", info.size, info.base,
			 hmem->iface_name(info.iface), info.device);
	return text;
}
