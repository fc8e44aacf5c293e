/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_mode.c - the registration rules that hold for a program, from the mode bits that it offers. */
#include "emu/fi/personality/fi_mr_mode.h"

#include "emu/fi/provider/fi_compat.h"

#define MODE_BASIC (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY) /* S87: FI_MR_BASIC stands for these */
#define MODE_GATES (FI_MR_RMA_EVENT | FI_MR_ENDPOINT)                   /* regions are bound and enabled */
/* Bits that matter only to remote accesses. */
#define MODE_TARGET (FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_MMU_NOTIFY | MODE_GATES)
#define MODE_LEGACY (COMPAT_MR_BASIC | COMPAT_MR_SCALABLE)
#define MODE_RULES (MODE_BASIC | FI_MR_LOCAL | FI_MR_RAW | FI_MR_MMU_NOTIFY | FI_MR_HMEM | FI_MR_COLLECTIVE | MODE_GATES)

bool caps_rma_target(uint64_t caps)
{
	return (caps & (FI_RMA | FI_ATOMIC)) && (caps & (FI_REMOTE_READ | FI_REMOTE_WRITE));
}

/* Clears the bits that do not matter to the capabilities (S69). */
static int relevant(int mr_mode, uint64_t caps)
{
	int raw = caps & (FI_RMA | FI_ATOMIC) ? mr_mode & FI_MR_RAW : 0; /* the initiator maps raw keys */

	if (!(caps & FI_RMA_EVENT))
		mr_mode &= ~FI_MR_RMA_EVENT;
	if (!(caps & FI_HMEM))
		mr_mode &= ~FI_MR_HMEM;
	if (!(caps & FI_COLLECTIVE))
		mr_mode &= ~FI_MR_COLLECTIVE;
	if (caps_rma_target(caps))
		return mr_mode;
	mr_mode &= ~(MODE_TARGET | FI_MR_RAW);
	return (mr_mode & (FI_MR_LOCAL | FI_MR_HMEM | FI_MR_COLLECTIVE) ? mr_mode : 0) | raw; /* nothing has to be registered */
}

int mr_mode_layered(int asked)
{
	return asked & (MODE_BASIC | FI_MR_LOCAL);
}

/* FI_LOCAL_MR counts with the legacy modes only (S78, S90). A program that offers it is asked for it, as with FI_MR_LOCAL. */
static uint64_t local_mode(int asked, uint64_t mode)
{
	return asked & FI_MR_LOCAL ? mode & COMPAT_LOCAL_MR : 0;
}

const char *mr_mode_grant(uint32_t api, int asked, uint64_t caps, int offered, uint64_t mode, struct mr_grant *grant)
{
	bool before_bits = FI_VERSION_LT(api, FI_VERSION(1, 5));

	grant->mode = 0;
	if (before_bits && offered == COMPAT_MR_UNSPEC) {
		mr_mode_default(api, asked, caps, grant);
		grant->mode &= mode;
		return NULL;
	}
	if (offered == COMPAT_MR_BASIC || offered == COMPAT_MR_SCALABLE) { /* kept on output: S86, S89 */
		grant->mr_mode = offered;
		grant->mode = local_mode(asked, mode);
		return NULL;
	}
	if (before_bits)
		return "before API 1.5 mr_mode is FI_MR_UNSPEC, FI_MR_BASIC or FI_MR_SCALABLE (S86)";
	if (offered & MODE_LEGACY)
		return "FI_MR_BASIC and FI_MR_SCALABLE must be the only bit of mr_mode (S88)";
	grant->mr_mode = relevant(asked & offered, caps); /* never a bit that was not offered (S70) */
	return NULL;
}

void mr_mode_default(uint32_t api, int asked, uint64_t caps, struct mr_grant *grant)
{
	grant->mode = 0;
	grant->mr_mode = relevant(asked, caps);
	if (FI_VERSION_GE(api, FI_VERSION(1, 5)))
		return;
	grant->mode = local_mode(asked, COMPAT_LOCAL_MR);
	grant->mr_mode = asked & MODE_BASIC ? COMPAT_MR_BASIC : COMPAT_MR_SCALABLE;
}

int mr_mode_rules(uint32_t api, int mr_mode, uint64_t mode)
{
	int local = mode & COMPAT_LOCAL_MR ? FI_MR_LOCAL : 0;

	if (mr_mode == COMPAT_MR_BASIC)
		return MODE_BASIC | local;
	if (mr_mode == COMPAT_MR_SCALABLE)
		return local;
	if (mr_mode == COMPAT_MR_UNSPEC && FI_VERSION_LT(api, FI_VERSION(1, 5)))
		return local;
	if (FI_VERSION_LT(api, FI_VERSION(1, 5)) || (mr_mode & ~MODE_RULES))
		return -1;
	return mr_mode;
}
