/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_kinds.c - the kinds of memory (FI_HMEM) where there are no devices: system memory alone. */
#include "tests/rules/harness/harness.h"
#include "tests/rules/harness/newest.h"

#define WISH(bits) ((struct peer_want){ .caps = FI_MSG | FI_RMA | FI_HMEM, .mr_mode = (bits) })

/* Ends the test where FI_HMEM, or an API version that knows of it, is not to be had. */
static void need(uint32_t api)
{
	struct fi_info *info = NULL;
	int rc;

	if (FI_VERSION_LT(peer_api(), api)) {
		NOT_APPLICABLE("the API version has it not yet");
		return;
	}
	rc = peer_getinfo(&WISH(0), &info);
	fi_freeinfo(info);
	CHECK(!rc || !peer_is_emu(), "fi_getinfo with FI_HMEM returned %d", rc);
	if (rc)
		NOT_APPLICABLE("FI_HMEM is not granted");
}

static int reg_kind(struct peer *p, uint32_t iface, uint64_t device, void *data, uint64_t flags)
{
	static char bytes[PAGE];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct newest_attr attr = { .mr_iov = &iov,
				    .iov_count = 1,
				    .access = ALL_LOCAL,
				    .iface = iface,
				    .device = device,
				    .hmem_data = data,
				    .requested_key = region_fresh_key(p) };
	struct fid_mr *mr = NULL;
	int rc = newest_reg(p->domain, &attr, flags, &mr);

	if (!rc)
		CHECK_RC(0, fi_close(&mr->fid));
	return rc;
}

PEER_TEST(memory_kinds, S138_S143_S144_without_hmem)
{
	if (FI_VERSION_LT(peer_api(), FI_VERSION(1, 9)))
		NOT_IN_THIS_MODE("the API version has no kinds of memory");
	CHECK_RC(0, reg_kind(p, 1, 0, NULL, 0));
	CHECK_RC(0, reg_kind(p, 99, UINT64_MAX, NULL, 0));
	CHECK_RC(-FI_EBADFLAGS, reg_kind(p, 0, 0, NULL, FI_HMEM_HOST_ALLOC));
	CHECK_RC(-FI_EBADFLAGS, reg_kind(p, 0, 0, NULL, FI_HMEM_DEVICE_ONLY));
}

/* System memory alone; what needs a device is refused. */
LONE_TEST(memory_kinds, S85_S139_S140_S142_S143_S144_with_hmem)
{
	struct peer p;

	need(FI_VERSION(1, 9));
	peer_open(&p, &WISH(0));
	CHECK_RC(0, reg_kind(&p, FI_HMEM_SYSTEM, 0, NULL, 0));
	CHECK_RC(0, reg_kind(&p, FI_HMEM_SYSTEM, UINT64_MAX, NULL, 0));
	if (peer_is_emu()) {
		for (uint32_t iface = 1; iface < 8; iface++)
			CHECK_RC(-FI_ENOSYS, reg_kind(&p, iface, 0, NULL, 0));
		CHECK_RC(-FI_ENOSYS, reg_kind(&p, UINT32_MAX, 0, NULL, 0));
		CHECK_RC(-FI_EBADFLAGS, reg_kind(&p, 0, 0, NULL, FI_HMEM_HOST_ALLOC));
		CHECK_RC(-FI_EBADFLAGS, reg_kind(&p, 0, 0, NULL, FI_HMEM_DEVICE_ONLY));
	}
	if (FI_VERSION_GE(peer_api(), FI_VERSION(1, 19)))
		CHECK_RC(-FI_EINVAL, reg_kind(&p, FI_HMEM_SYSTEM, 0, &p, 0));
	peer_close(&p);
}

/* For system memory the bit asks nothing of a program. */
LONE_TEST(memory_kinds, S69_S139_the_mode_bit)
{
	struct peer_want want = WISH(NEWEST_MR_HMEM);
	struct peer p;

	need(FI_VERSION(1, 9));
	peer_open(&p, &want);
	CHECK(!peer_is_emu() || !peer_has(&p, NEWEST_MR_HMEM), "FI_MR_HMEM is kept, and there is no device memory");
	CHECK_RC(0, reg_kind(&p, FI_HMEM_SYSTEM, 0, NULL, 0));
	peer_close(&p);
}
