/* SPDX-License-Identifier: BSD-2-Clause */
/* peer.c - opening an endpoint and taking its completions. */
#include "tests/rules/harness/peer.h"

#include "tests/rules/harness/newest.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

bool peer_pins(void)
{
	const char *setting = getenv("FI_EMU_PINNED");

	return peer_is_emu() && setting && !strcmp(setting, "1");
}

static uint32_t api;

uint32_t peer_api(void)
{
	return api ? api : fi_version();
}

void peer_set_api(uint32_t version)
{
	api = version;
}

/* A test run by hand in a build's tree finds the provider of its own build. */
static void find_provider(void)
{
	static const char there[] = "/../../emu/fi";
	char path[PATH_MAX] = "", *slash;

	if (readlink("/proc/self/exe", path, sizeof(path) - sizeof(there)) <= 0)
		return;
	slash = strrchr(path, '/');
	strcpy(slash, there);
	if (peer_is_emu() && !access(path, R_OK))
		setenv("FI_PROVIDER_PATH", path, 0);
}

/* For hints, which are freed with their keys. */
static size_t auth_copy(const char *text, uint8_t **key)
{
	*key = *text ? (uint8_t *)strdup(text) : NULL;
	return strlen(text);
}

static int getinfo_for(const struct peer_want *want, uint64_t caps, struct fi_info **info)
{
	uint32_t version = want->api ? want->api : peer_api();
	struct fi_info *hints = fi_allocinfo();
	int rc;

	CHECK(hints, "fi_allocinfo failed");
	find_provider();
	hints->caps = caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2 | want->mode;
	hints->ep_attr->type = want->type ? want->type : FI_EP_RDM;
	hints->domain_attr->mr_mode = (int)want->mr_mode;
	hints->domain_attr->threading = want->threading;
	hints->domain_attr->data_progress = want->progress;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	if (want->av_auth)
		hints->domain_attr->auth_key_size = NEWEST_AV_AUTH_KEY;
	else
		hints->domain_attr->auth_key_size = auth_copy(want->auth, &hints->domain_attr->auth_key);
	hints->ep_attr->auth_key_size = auth_copy(want->ep_auth, &hints->ep_attr->auth_key);
	hints->fabric_attr->prov_name = strdup(peer_provider());
	if (!strcmp(peer_provider(), "shm")) { /* within a host: names of its own, no addresses */
		rc = fi_getinfo(version, NULL, NULL, 0, hints, info);
		fi_freeinfo(hints);
		return rc;
	}
	hints->addr_format = FI_SOCKADDR_IN;
	rc = fi_getinfo(version, "127.0.0.1", NULL, FI_SOURCE, hints, info);
	fi_freeinfo(hints);
	return rc;
}

int peer_getinfo(const struct peer_want *want, struct fi_info **info)
{
	int rc;

	if (want->caps)
		return getinfo_for(want, want->caps, info);
	rc = getinfo_for(want, FI_MSG | FI_TAGGED | FI_RMA, info);
	return rc == -FI_ENODATA ? getinfo_for(want, FI_MSG | FI_RMA, info) : rc;
}

static void open_queues(struct peer *peer)
{
	struct fi_cq_attr cq = { .size = peer->want.cq_size, .format = FI_CQ_FORMAT_TAGGED, .wait_obj = peer->want.wait };
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
	if (want->av_auth)
		CHECK_RC(0, newest_insert_auth_key(peer->av, want->auth, strlen(want->auth), &peer->av_key));
	open_queues(peer);
	CHECK_RC(0, fi_enable(peer->ep));
	note_manual(peer);
}

void peer_close_ep(struct peer *peer)
{
	if (peer->ep)
		CHECK_RC(0, fi_close(&peer->ep->fid));
	peer->ep = NULL;
}

void peer_close(struct peer *peer)
{
	size_t i;

	for (i = 0; i < PEERS_MAX; i++)
		if (manual_peers[i] == peer)
			manual_peers[i] = NULL;
	peer_close_ep(peer);
	if (peer->tx_cntr) {
		CHECK_RC(0, fi_close(&peer->tx_cntr->fid));
		CHECK_RC(0, fi_close(&peer->rx_cntr->fid));
	}
	CHECK_RC(0, fi_close(&peer->cq->fid));
	CHECK_RC(0, fi_close(&peer->av->fid));
	CHECK_RC(0, fi_close(&peer->domain->fid)); /* to which a test may have bound the event queue */
	CHECK_RC(0, fi_close(&peer->eq->fid));
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
	uint64_t flags = peer->want.av_auth ? NEWEST_AUTH_KEY : 0;
	fi_addr_t addr = peer->av_key;

	CHECK_RC(1, fi_av_insert(peer->av, name, 1, &addr, flags, NULL));
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

	if (entry->flags & (FI_REMOTE_WRITE | FI_REMOTE_READ)) {
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
		rc = peer->tagged ? fi_tsend(peer->ep, buf, len, desc, to, PEER_TAG, op)
				  : fi_send(peer->ep, buf, len, desc, to, op);
	while (peer_again(peer, rc, &guard));
	return rc;
}

ssize_t peer_recv(struct peer *peer, void *buf, size_t len, void *desc, struct op *op)
{
	struct deadline guard = deadline_start();
	ssize_t rc;

	memset(op, 0, sizeof(*op));
	do
		rc = peer->tagged ? fi_trecv(peer->ep, buf, len, desc, FI_ADDR_UNSPEC, PEER_TAG, 0, op)
				  : fi_recv(peer->ep, buf, len, desc, FI_ADDR_UNSPEC, op);
	while (peer_again(peer, rc, &guard));
	return rc;
}
