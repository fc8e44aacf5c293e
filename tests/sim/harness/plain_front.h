/* SPDX-License-Identifier: BSD-2-Clause */
/* plain_front.h - a front end for the device alone: its own words, and completion flags of its own. */
#ifndef TESTS_SIM_PLAIN_FRONT_H
#define TESTS_SIM_PLAIN_FRONT_H

#include "emu/nic/regions/front_end.h"

enum {
	CQ_F_MSG = 0x1,
	CQ_F_RMA = 0x2,
	CQ_F_TAGGED = 0x4,
	CQ_F_ATOMIC = 0x8,
	CQ_F_READ = 0x10,
	CQ_F_WRITE = 0x20,
	CQ_F_RECV = 0x40,
	CQ_F_SEND = 0x80,
	CQ_F_REMOTE_READ = 0x100,
	CQ_F_REMOTE_WRITE = 0x200,
	CQ_F_MULTI_RECV = 0x400,
	CQ_F_REMOTE_CQ_DATA = 0x800,
	CQ_F_SOLICITED = 0x1000,
	CQ_F_INVALIDATED = 0x2000,
};

static const struct front_end plain_front = {
	.receive_cap = "EP_RECV",
	.asked_key = "is what a region asked for, and it was given another",
	.settings = { [FRONT_SECRET] = "the secret",
		      [FRONT_FAULT] = "the plan",
		      [FRONT_DGRAM_LOSS] = "dgram_loss",
		      [FRONT_ADVERTISE] = "the address to tell" },
	.cq_written = { CQ_F_RMA | CQ_F_REMOTE_CQ_DATA | CQ_F_REMOTE_WRITE, CQ_F_ATOMIC | CQ_F_REMOTE_CQ_DATA | CQ_F_REMOTE_WRITE },
	.cq_fetched = { CQ_F_RMA | CQ_F_REMOTE_CQ_DATA | CQ_F_REMOTE_READ, CQ_F_ATOMIC | CQ_F_REMOTE_CQ_DATA | CQ_F_REMOTE_READ },
	.cq_data = CQ_F_REMOTE_CQ_DATA,
	.cq_tagged = { CQ_F_RMA | CQ_F_REMOTE_WRITE, CQ_F_RMA | CQ_F_REMOTE_READ },
	.cq_solicited = CQ_F_SOLICITED,
	.cq_invalidated = CQ_F_INVALIDATED,
	.cq_multi = CQ_F_MULTI_RECV,
};

#endif
