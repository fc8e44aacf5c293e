/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_provider.c - the provider at kfabric's core: its registration. */
#include "emu/kfi/provider/kemu_provider.h"

#include <kfi_errno.h>
#include <kfi_prov.h>

#include "emu/kfi/objects/kemu_open.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_personality.h"
#include "emu/kfi/provider/kemu_refuse.h"

static struct kfi_provider provider = {
	.version = KFI_VERSION(1, 0),
	.kfi_version = KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION),
	.kgetinfo = kemu_getinfo,
	.kfabric = kemu_fabric_open,
};

int kemu_register(void)
{
	const struct kemu_personality *personality = kemu_personality();

	if (!personality)
		return -KFI_EINVAL;
	provider.name = personality->prov_name;
	return kfi_provider_register(&provider);
}

int kemu_unregister(void)
{
	unsigned int open = kemu_fabrics_open();

	if (open)
		return KEMU_REFUSE(
			-KFI_EBUSY,
			"clients have left %u fabrics open, with all that was opened from them: kfi_close() each object.", open);
	return kfi_provider_deregister(&provider);
}
