/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_option.c - options of ids, and enhanced connection establishment (ECE): what the two sides tell each other of vendors. */
#include <errno.h>

#include "emu/cm/cm_id.h"

enum { TIMEOUT_MOST = 31 };

static int byte_option(const void *value, size_t length, uint8_t most, const char *name, uint8_t *to)
{
	if (length != sizeof(uint8_t) || *(const uint8_t *)value > most)
		return vb_refuse(EINVAL, "rdma_set_option", "%s is one byte, of at most %u.", name, most);
	*to = *(const uint8_t *)value;
	return 0;
}

static int flag_option(const void *value, size_t length, const char *name, bool *to)
{
	if (length != sizeof(int))
		return vb_refuse(EINVAL, "rdma_set_option", "%s is an int.", name);
	*to = *(const int *)value != 0;
	return 0;
}

/* Before the number is taken; of an address of IPv4 it means nothing. */
static int afonly_option(struct cm_id *id, const void *value, size_t length)
{
	if (id->state != ID_FRESH && (id->state != ID_BOUND || id->id.route.addr.src_addr.sa_family == AF_INET6))
		return vb_refuse(EINVAL, "rdma_set_option", "RDMA_OPTION_ID_AFONLY is set before rdma_bind_addr().");
	return flag_option(value, length, "RDMA_OPTION_ID_AFONLY", &id->afonly);
}

/* A bound id may still share its number, but no more take it for itself. */
static int reuse_option(struct cm_id *id, const void *value, size_t length)
{
	bool reuse = false;
	int err = flag_option(value, length, "RDMA_OPTION_ID_REUSEADDR", &reuse);

	if (!err && id->state != ID_FRESH && (!reuse || id->state == ID_LISTENING))
		err = vb_refuse(EINVAL, "rdma_set_option",
				"RDMA_OPTION_ID_REUSEADDR is set before rdma_listen(), and taken back before rdma_bind_addr().");
	if (!err)
		id->reuse = reuse;
	return err;
}

/* V209 */
static int set_option(struct cm_id *id, int level, int name, const void *value, size_t length)
{
	int err;

	if (!id || !value)
		return vb_refuse(EINVAL, "rdma_set_option", "id or optval is NULL.");
	if (level == RDMA_OPTION_IB && name == RDMA_OPTION_IB_PATH)
		return cm_take_path(id, value, length);
	if (level != RDMA_OPTION_ID) {
		vb_inform("rdma_set_option", "level %d (ENOSYS): options are of level RDMA_OPTION_ID, and RDMA_OPTION_IB_PATH.",
			  level);
		return ENOSYS;
	}
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		return byte_option(value, length, UINT8_MAX, "RDMA_OPTION_ID_TOS", &id->tos);
	case RDMA_OPTION_ID_REUSEADDR:
		return reuse_option(id, value, length);
	case RDMA_OPTION_ID_AFONLY:
		return afonly_option(id, value, length);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (cm_is_ud(id))
			return vb_refuse(EINVAL, "rdma_set_option",
					 "RDMA_OPTION_ID_ACK_TIMEOUT: datagrams are not acknowledged, and the id is for them.");
		err = byte_option(value, length, TIMEOUT_MOST, "RDMA_OPTION_ID_ACK_TIMEOUT", &id->ack_timeout);
		id->has_ack_timeout |= !err;
		return err;
	default:
		vb_inform("rdma_set_option", "option %d (ENOSYS) is not known.", name);
		return ENOSYS;
	}
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t length)
{
	int err;

	cm_hold();
	err = set_option(cm_id_of(id), level, name, value, length);
	cm_let_go();
	return cm_result(err);
}

int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!id || !ece || id->qp || !ece->vendor_id || ece->comp_mask)
		return cm_refuse(EINVAL, "rdma_set_local_ece",
				 "id or ece is NULL, ece has no vendor_id or a comp_mask, or the id has a queue pair, whose "
				 "options are known.");
	cm_hold();
	cm_id_of(id)->local_ece = *ece;
	cm_let_go();
	return 0;
}

int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!id || !ece || id->qp)
		return cm_refuse(EINVAL, "rdma_get_remote_ece", "id or ece is NULL, or the id has a queue pair of its own.");
	cm_hold();
	*ece = cm_id_of(id)->remote_ece;
	cm_let_go();
	return 0;
}
