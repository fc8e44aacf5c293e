/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_status.c - the device speaks libfabric's numbers without its headers; here is what holds it to them. Nothing is
 * translated at run time: a refusal's errno, an error code or a flag goes through emu/fi as the device gave it. */
#include <assert.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include "emu/fi/fi_compat.h"
#include "emu/nic/atomic.h"
#include "emu/nic/av.h"
#include "emu/nic/errno.h"
#include "emu/nic/mr.h"
#include "emu/nic/op.h"

static_assert((int)NIC_EAVAIL == FI_EAVAIL, "errors");
static_assert((int)NIC_ETRUNC == FI_ETRUNC, "errors");
static_assert((int)NIC_ENOKEY == FI_ENOKEY, "errors");
static_assert(FI_EAGAIN == EAGAIN && FI_EACCES == EACCES && FI_EFAULT == EFAULT && FI_EBUSY == EBUSY, "errors");
static_assert(FI_EKEYREJECTED == EKEYREJECTED && FI_ECANCELED == ECANCELED && FI_EINVAL == EINVAL, "errors");

static_assert(CQ_F_MSG == FI_MSG && CQ_F_RMA == FI_RMA && CQ_F_TAGGED == FI_TAGGED, "completion flags");
static_assert(CQ_F_ATOMIC == FI_ATOMIC, "completion flags");
static_assert(CQ_F_READ == FI_READ && CQ_F_WRITE == FI_WRITE, "completion flags");
static_assert(CQ_F_RECV == FI_RECV && CQ_F_SEND == FI_SEND, "completion flags");
static_assert(CQ_F_REMOTE_READ == FI_REMOTE_READ && CQ_F_REMOTE_WRITE == FI_REMOTE_WRITE, "completion flags");
static_assert(CQ_F_MULTI_RECV == FI_MULTI_RECV, "completion flags");
static_assert(CQ_F_REMOTE_CQ_DATA == FI_REMOTE_CQ_DATA, "completion flags");

static_assert(POST_COMPLETE == FI_COMPLETION && POST_INJECT == FI_INJECT && POST_FENCE == FI_FENCE, "flags of posts");
static_assert(POST_CQ_DATA == FI_REMOTE_CQ_DATA && POST_COMMIT == FI_COMMIT_COMPLETE, "flags of posts");
static_assert(POST_TAGGED == FI_TAGGED && POST_PEEK == FI_PEEK && POST_MULTI == FI_MULTI_RECV, "flags of posts");
static_assert(MR_READ == FI_READ && MR_WRITE == FI_WRITE && MR_RECV == FI_RECV && MR_SEND == FI_SEND, "access bits");
static_assert(MR_REMOTE_READ == FI_REMOTE_READ && MR_REMOTE_WRITE == FI_REMOTE_WRITE, "access bits");

#define SAME(ours, theirs) static_assert((int)(ours) == (int)(theirs), "atomic datatypes and operations")
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
#endif

static_assert(AV_NONE == FI_ADDR_NOTAVAIL && AV_NONE == FI_ADDR_UNSPEC, "no address");
