/* SPDX-License-Identifier: BSD-2-Clause */
/* peer.c - opening an endpoint and taking its completions. */
#include "tests/rules/peer.h"

#include <stdlib.h>
#include <string.h>

enum { PEERS_MAX = 32 };

/* fi_cq_err_entry as the newest library may write it: newer fields land in `newer`, whatever headers this was built
 * with. */
struct err_entry {
	struct fi_cq_err_entry entry;
	uint8_t newer[64];
};

static struct peer *manual_peers[PEERS_MAX]; /* those that move only while polled */

const char *peer_provider(void)
{
	const char *name = getenv("EMU_TEST_PROVIDER");

	if (!name || !*name)
		name = getenv("FI_PROVIDER");
	return name && *name ? name : "emu";
}

bool peer_is_emu(void)
{
	return !strcmp(peer_provider(), "emu");
}

/* A test run by hand finds the provider of its own build. */
static void find_provider(void)
{
	if (peer_is_emu())
		setenv("FI_PROVIDER_PATH", EMU_PROVIDER_DIR, 0);
}

int peer_getinfo(const struct peer_want *want, struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int rc;

	CHECK(hints, "fi_allocinfo failed");
	find_provider();
	hints->caps = want->caps ? want->caps : FI_MSG | FI_RMA;
	hints->mode = FI_CONTEXT | FI_CONTEXT2 | want->mode;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = (int)want->mr_mode;
	hints->domain_attr->threading = want->threading;
	hints->domain_attr->data_progress = want->progress;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->fabric_attr->prov_name = strdup(peer_provider());
	rc = fi_getinfo(want->api ? want->api : fi_version(), "127.0.0.1", NULL, FI_SOURCE, hints, info);
	fi_freeinfo(hints);
	return rc;
}

static void open_queues(struct peer *peer)
{
	struct fi_cq_attr cq = { .size = peer->want.cq_size,
				 .format = FI_CQ_FORMAT_TAGGED,
				 .wait_obj = peer->want.wait };
	struct fi_cntr_attr cntr = { .events = FI_CNTR_EVENTS_COMP, .wait_obj = peer->want.wait };
	struct fi_eq_attr eq = { .wait_obj = FI_WAIT_NONE };

	CHECK_RC(0, fi_eq_open(peer->fabric, &eq, &peer->eq, NULL));
	CHECK_RC(0, fi_cq_open(peer->domain, &cq, &peer->cq, NULL));
	CHECK_RC(0, fi_ep_bind(peer->ep, &peer->cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_RC(0, fi_ep_bind(peer->ep, &peer->eq->fid, 0));
	if (!peer->want.counters)
		return;
	CHECK_RC(0, fi_cntr_open(peer->domain, &cntr, &peer->tx_cntr, NULL));
	CHECK_RC(0, fi_cntr_open(peer->domain, &cntr, &peer->rx_cntr, NULL));
	CHECK_RC(0, fi_ep_bind(peer->ep, &peer->tx_cntr->fid, FI_SEND | FI_WRITE | FI_READ));
	CHECK_RC(0, fi_ep_bind(peer->ep, &peer->rx_cntr->fid, FI_RECV));
}

/* tcp (once called net) says that its progress is automatic, and yet answers no connection unless it is called. */
static bool needs_polling(const struct peer *peer)
{
	return peer->info->domain_attr->data_progress == FI_PROGRESS_MANUAL || strstr(peer_provider(), "tcp") ||
	       !strcmp(peer_provider(), "net");
}

static void note_manual(struct peer *peer)
{
	size_t i;

	if (!needs_polling(peer))
		return;
	for (i = 0; i < PEERS_MAX; i++) {
		if (!manual_peers[i]) {
			manual_peers[i] = peer;
			return;
		}
	}
	CHECK(false, "more than %d peers open", PEERS_MAX);
}

bool peer_again(struct peer *peer, ssize_t rc, const struct deadline *guard)
{
	if (rc != -FI_EAGAIN)
		return false;
	if (!peer_progress(peer))
		deadline_check(guard, "room for another operation");
	return true;
}

void peer_open(struct peer *peer, const struct peer_want *want)
{
	struct fi_av_attr av = { .type = FI_AV_TABLE };

	memset(peer, 0, sizeof(*peer));
	peer->want = *want;
	CHECK_RC(0, peer_getinfo(want, &peer->info));
	CHECK_RC(0, fi_fabric(peer->info->fabric_attr, &peer->fabric, NULL));
	CHECK_RC(0, fi_domain(peer->fabric, peer->info, &peer->domain, NULL));
	CHECK_RC(0, fi_endpoint(peer->domain, peer->info, &peer->ep, NULL));
	CHECK_RC(0, fi_av_open(peer->domain, &av, &peer->av, NULL));
	CHECK_RC(0, fi_ep_bind(peer->ep, &peer->av->fid, 0));
	open_queues(peer);
	CHECK_RC(0, fi_enable(peer->ep));
	note_manual(peer);
}

void peer_close(struct peer *peer)
{
	size_t i;

	for (i = 0; i < PEERS_MAX; i++)
		if (manual_peers[i] == peer)
			manual_peers[i] = NULL;
	CHECK_RC(0, fi_close(&peer->ep->fid));
	if (peer->tx_cntr) {
		CHECK_RC(0, fi_close(&peer->tx_cntr->fid));
		CHECK_RC(0, fi_close(&peer->rx_cntr->fid));
	}
	CHECK_RC(0, fi_close(&peer->cq->fid));
	CHECK_RC(0, fi_close(&peer->av->fid));
	CHECK_RC(0, fi_close(&peer->eq->fid));
	CHECK_RC(0, fi_close(&peer->domain->fid));
	CHECK_RC(0, fi_close(&peer->fabric->fid));
	fi_freeinfo(peer->info);
	memset(peer, 0, sizeof(*peer));
}

void peer_name(struct peer *peer, uint8_t name[PEER_ADDR_MAX])
{
	size_t len = PEER_ADDR_MAX;

	memset(name, 0, PEER_ADDR_MAX);
	CHECK_RC(0, fi_getname(&peer->ep->fid, name, &len));
}

fi_addr_t peer_insert(struct peer *peer, const uint8_t name[PEER_ADDR_MAX])
{
	fi_addr_t addr = FI_ADDR_NOTAVAIL;

	CHECK_RC(1, fi_av_insert(peer->av, name, 1, &addr, 0, NULL));
	return addr;
}

bool peer_has(const struct peer *peer, uint64_t mr_mode_bit)
{
	uint64_t mode = (uint64_t)peer->info->domain_attr->mr_mode;

	if (mode == PEER_MR_BASIC) /* S87 */
		mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	return mode & mr_mode_bit;
}

static void take_error(struct peer *peer)
{
	uint8_t err_data[PEER_TEXT_MAX] = { 0 };
	struct err_entry got = { 0 };
	struct op *op;
	ssize_t rc;

	got.entry.err_data = err_data;
	got.entry.err_data_size = sizeof(err_data);
	rc = fi_cq_readerr(peer->cq, &got.entry, 0);
	if (rc == -FI_EAGAIN)
		return;
	CHECK_RC(1, rc);
	CHECK(got.entry.err > 0, "error completion with err %d", got.entry.err);
	memset(peer->text, 0, sizeof(peer->text));
	fi_cq_strerror(peer->cq, got.entry.prov_errno, got.entry.err_data, peer->text, sizeof(peer->text));
	op = got.entry.op_context;
	CHECK(op, "error completion without context: err %d, %s", got.entry.err, peer->text);
	op->err = got.entry.err;
	op->prov_errno = got.entry.prov_errno;
	op->flags = got.entry.flags;
	op->len = got.entry.len;
	op->done = true;
}

static void take_completion(struct peer *peer, const struct fi_cq_tagged_entry *entry)
{
	struct op *op = entry->op_context;

	if (entry->flags & FI_REMOTE_WRITE) {
		peer->remote_data[peer->remote_data_count++ % PEER_REMOTE_DATA_MAX] = entry->data;
		return;
	}
	CHECK(op, "completion without context, flags 0x%llx", (unsigned long long)entry->flags);
	CHECK(!op->done, "one operation completed twice");
	op->flags = entry->flags;
	op->data = entry->data;
	op->len = entry->len;
	op->done = true;
}

static size_t take(struct peer *peer, const struct fi_cq_tagged_entry *entries, ssize_t rc)
{
	ssize_t i;

	if (rc == -FI_EAGAIN)
		return 0;
	if (rc == -FI_EAVAIL) {
		take_error(peer);
		return 1;
	}
	CHECK(rc > 0, "reading the completion queue: %zd (%s)", rc, fi_strerror((int)-rc));
	for (i = 0; i < rc; i++)
		take_completion(peer, &entries[i]);
	return (size_t)rc;
}

size_t peer_progress(struct peer *peer)
{
	struct fi_cq_tagged_entry entries[16];

	return take(peer, entries, fi_cq_read(peer->cq, entries, 16));
}

bool peer_progress_wait(struct peer *peer, int timeout_ms)
{
	struct fi_cq_tagged_entry entries[16];

	return take(peer, entries, fi_cq_sread(peer->cq, entries, 16, NULL, timeout_ms)) > 0;
}

void peer_wait(struct peer *peer, struct op *op)
{
	struct deadline guard = deadline_start();

	while (!op->done)
		if (!peer_progress(peer))
			deadline_check(&guard, "a completion");
}

bool peer_idle(void)
{
	bool any = false;
	size_t i;

	for (i = 0; i < PEERS_MAX; i++) {
		if (!manual_peers[i])
			continue;
		any = true;
		peer_progress(manual_peers[i]);
	}
	return any;
}

ssize_t peer_rma(struct peer *peer, enum rma_dir dir, struct fi_msg_rma *msg, uint64_t flags, struct op *op)
{
	struct deadline guard = deadline_start();
	ssize_t rc;

	memset(op, 0, sizeof(*op));
	msg->context = op;
	do
		rc = dir == RMA_WRITE ? fi_writemsg(peer->ep, msg, FI_COMPLETION | flags)
				      : fi_readmsg(peer->ep, msg, FI_COMPLETION | flags);
	while (peer_again(peer, rc, &guard));
	return rc;
}

ssize_t peer_send(struct peer *peer, fi_addr_t to, const void *buf, size_t len, void *desc, struct op *op)
{
	struct deadline guard = deadline_start();
	ssize_t rc;

	memset(op, 0, sizeof(*op));
	do
		rc = fi_send(peer->ep, buf, len, desc, to, op);
	while (peer_again(peer, rc, &guard));
	return rc;
}

ssize_t peer_recv(struct peer *peer, void *buf, size_t len, void *desc, struct op *op)
{
	struct deadline guard = deadline_start();
	ssize_t rc;

	memset(op, 0, sizeof(*op));
	do
		rc = fi_recv(peer->ep, buf, len, desc, FI_ADDR_UNSPEC, op);
	while (peer_again(peer, rc, &guard));
	return rc;
}
