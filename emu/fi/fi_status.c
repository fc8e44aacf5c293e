/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_status.c - the device speaks libfabric's numbers without its headers; here is what holds it to them. Nothing is
 * translated at run time: a refusal's errno, an error code or a flag goes through emu/fi as the device gave it. */
#include <assert.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

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
static_assert(CQ_F_READ == FI_READ && CQ_F_WRITE == FI_WRITE, "completion flags");
static_assert(CQ_F_RECV == FI_RECV && CQ_F_SEND == FI_SEND, "completion flags");
static_assert(CQ_F_REMOTE_READ == FI_REMOTE_READ && CQ_F_REMOTE_WRITE == FI_REMOTE_WRITE, "completion flags");
static_assert(CQ_F_REMOTE_CQ_DATA == FI_REMOTE_CQ_DATA, "completion flags");

static_assert(MR_READ == FI_READ && MR_WRITE == FI_WRITE && MR_RECV == FI_RECV && MR_SEND == FI_SEND, "access bits");
static_assert(MR_REMOTE_READ == FI_REMOTE_READ && MR_REMOTE_WRITE == FI_REMOTE_WRITE, "access bits");

static_assert(AV_NONE == FI_ADDR_NOTAVAIL && AV_NONE == FI_ADDR_UNSPEC, "no address");
