/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_status.c - numbers of the device into libfabric's. The system's errnos and the atomics' numbers, which are those of the wire,
 * need no translation. Flags of posts are translated where they are made (fi_data.h). */
#include "emu/fi/provider/fi_front_end.h"

#include <assert.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include "emu/fi/provider/fi_compat.h"
#include "emu/nic/atomics/atomic.h"
#include "emu/nic/base/errno.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/regions/mr.h"

static_assert(FI_EAGAIN == EAGAIN && FI_EACCES == EACCES && FI_EFAULT == EFAULT && FI_EBUSY == EBUSY, "errors");
static_assert(FI_EKEYREJECTED == EKEYREJECTED && FI_ECANCELED == ECANCELED && FI_EINVAL == EINVAL, "errors");

ssize_t status_of(ssize_t err)
{
	switch (err < 0 ? -err : err) {
	case NIC_EAVAIL:
		return err < 0 ? -FI_EAVAIL : FI_EAVAIL;
	case NIC_ETRUNC:
		return err < 0 ? -FI_ETRUNC : FI_ETRUNC;
	case NIC_ENORX:
		return err < 0 ? -FI_ENORX : FI_ENORX;
	case NIC_ENOKEY:
		return err < 0 ? -FI_ENOKEY : FI_ENOKEY;
	case NIC_EFIREWALL:
		return err < 0 ? -COMPAT_EFIREWALLADDR : COMPAT_EFIREWALLADDR;
	default:
		return err;
	}
}

uint32_t status_rights(uint64_t access)
{
	return (access & FI_READ ? MR_READ : 0) | (access & FI_WRITE ? MR_WRITE : 0) | (access & FI_RECV ? MR_RECV : 0) |
	       (access & FI_SEND ? MR_SEND : 0) | (access & FI_REMOTE_READ ? MR_REMOTE_READ : 0) |
	       (access & FI_REMOTE_WRITE ? MR_REMOTE_WRITE : 0) | (access & FI_COLLECTIVE ? MR_COLLECTIVE : 0);
}

#define SAME(ours, theirs) static_assert((int)(ours) == (int)(theirs), "atomic datatypes and operations")
/* clang-format off */
SAME(ATOMIC_INT8, FI_INT8); SAME(ATOMIC_UINT8, FI_UINT8); SAME(ATOMIC_INT16, FI_INT16); SAME(ATOMIC_UINT16, FI_UINT16);
SAME(ATOMIC_INT32, FI_INT32); SAME(ATOMIC_UINT32, FI_UINT32); SAME(ATOMIC_INT64, FI_INT64); SAME(ATOMIC_UINT64, FI_UINT64);
SAME(ATOMIC_FLOAT, FI_FLOAT); SAME(ATOMIC_DOUBLE, FI_DOUBLE); SAME(ATOMIC_FLOAT_COMPLEX, FI_FLOAT_COMPLEX);
SAME(ATOMIC_DOUBLE_COMPLEX, FI_DOUBLE_COMPLEX); SAME(ATOMIC_LONG_DOUBLE, FI_LONG_DOUBLE);
SAME(ATOMIC_LONG_DOUBLE_COMPLEX, FI_LONG_DOUBLE_COMPLEX); SAME(ATOMIC_INT128, FI_INT128); SAME(ATOMIC_UINT128, FI_UINT128);
SAME(ATOMIC_MIN, FI_MIN); SAME(ATOMIC_MAX, FI_MAX); SAME(ATOMIC_SUM, FI_SUM); SAME(ATOMIC_PROD, FI_PROD);
SAME(ATOMIC_LOR, FI_LOR); SAME(ATOMIC_LAND, FI_LAND); SAME(ATOMIC_BOR, FI_BOR); SAME(ATOMIC_BAND, FI_BAND);
SAME(ATOMIC_LXOR, FI_LXOR); SAME(ATOMIC_BXOR, FI_BXOR); SAME(ATOMIC_READ, FI_ATOMIC_READ);
SAME(ATOMIC_WRITE, FI_ATOMIC_WRITE); SAME(ATOMIC_CSWAP, FI_CSWAP); SAME(ATOMIC_CSWAP_NE, FI_CSWAP_NE);
SAME(ATOMIC_CSWAP_LE, FI_CSWAP_LE); SAME(ATOMIC_CSWAP_LT, FI_CSWAP_LT); SAME(ATOMIC_CSWAP_GE, FI_CSWAP_GE);
SAME(ATOMIC_CSWAP_GT, FI_CSWAP_GT); SAME(ATOMIC_MSWAP, FI_MSWAP);
#if COMPAT_HEADERS >= FI_VERSION(2, 0)
SAME(ATOMIC_FLOAT16, FI_FLOAT16); SAME(ATOMIC_BFLOAT16, FI_BFLOAT16); SAME(ATOMIC_FLOAT8_E4M3, FI_FLOAT8_E4M3);
SAME(ATOMIC_FLOAT8_E5M2, FI_FLOAT8_E5M2); SAME(ATOMIC_DIFF, FI_DIFF);
/* clang-format on */
#endif

static_assert(AV_NONE == FI_ADDR_NOTAVAIL && AV_NONE == FI_ADDR_UNSPEC, "no address");
