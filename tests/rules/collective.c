/* SPDX-License-Identifier: BSD-2-Clause */
/* collective.c - the buffers of collectives: S184, S185, S186, S187. A group of one member is enough, as each call has its buffers
 * looked at before a message is sent. */
#include "tests/rules/harness/harness.h"

#include <rdma/fi_collective.h>
#include <string.h>

enum { COUNT = 8, BYTES = COUNT * 8 };

/* A member with a group of its own. */
struct lone {
	struct peer peer;
	struct fid_av_set *set;
	struct fid_mc *mc;
};

/* False: the provider has no collectives; the test is not applicable. */
static bool lone_open(struct lone *lone, uint64_t mr_mode)
{
	const struct peer_want want = { .caps = FI_MSG | FI_COLLECTIVE, .mr_mode = mr_mode };
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL };
	struct deadline guard = deadline_start();
	struct fi_eq_entry entry;
	uint8_t name[PEER_ADDR_MAX];
	struct fi_info *info;
	fi_addr_t self, address;
	uint32_t event;

	if (peer_getinfo(&want, &info))
		return false;
	fi_freeinfo(info);
	peer_open(&lone->peer, &want);
	peer_name(&lone->peer, name);
	self = peer_insert(&lone->peer, name);
	CHECK_RC(0, fi_av_set(lone->peer.av, &attr, &lone->set, NULL));
	CHECK_RC(0, fi_av_set_insert(lone->set, self));
	CHECK_RC(0, fi_av_set_addr(lone->set, &address));
	CHECK_RC(0, fi_join_collective(lone->peer.ep, address, lone->set, 0, &lone->mc, NULL));
	while (fi_eq_read(lone->peer.eq, &event, &entry, sizeof(entry), 0) == -FI_EAGAIN) {
		peer_progress(&lone->peer);
		deadline_check(&guard, "the end of a join");
	}
	CHECK(event == FI_JOIN_COMPLETE, "event %u in place of FI_JOIN_COMPLETE", event);
	return true;
}

static void lone_close(struct lone *lone)
{
	CHECK_RC(0, fi_close(&lone->mc->fid));
	CHECK_RC(0, fi_close(&lone->set->fid));
	peer_close(&lone->peer);
}

/* An all-reduce with this buffer: did it give the sum of one? */
static bool reduces(struct lone *lone, uint64_t *in, void *in_desc, uint64_t *out, void *out_desc)
{
	struct op op = { 0 };
	ssize_t rc;

	memset(out, 0, BYTES);
	pattern_fill(in, BYTES, 7);
	rc = fi_allreduce(lone->peer.ep, in, COUNT, in_desc, out, out_desc, fi_mc_addr(lone->mc), FI_UINT64, FI_SUM, 0, &op);
	if (rc) {
		CHECK(rc == -FI_EINVAL, "refused with %zd (%s), expected -FI_EINVAL", rc, fi_strerror((int)-rc));
		CHECK(!out[0] && !memcmp(out, out + 1, BYTES - 8), "a refused collective has changed the result's buffer");
		return false;
	}
	peer_wait(&lone->peer, &op);
	CHECK(!op.err, "the collective failed: %s", lone->peer.text);
	CHECK(!memcmp(in, out, BYTES), "the reduction of one member is another than its own part");
	return true;
}

/* S184: pairs with FI_SEND or FI_RECV; alone it is refused. */
LONE_TEST(rules, S184_collective_access_is_paired)
{
	static const struct {
		uint64_t access;
		int rc;
	} tries[] = {
		{ FI_COLLECTIVE, -FI_EINVAL },
		{ FI_COLLECTIVE | FI_READ | FI_WRITE | FI_REMOTE_READ, -FI_EINVAL },
		{ FI_COLLECTIVE | FI_SEND, 0 },
		{ FI_COLLECTIVE | FI_RECV, 0 },
		{ FI_COLLECTIVE | FI_SEND | FI_RECV, 0 },
	};
	uint64_t bytes[COUNT];
	struct lone lone;
	struct fid_mr *mr;

	if (!lone_open(&lone, 0))
		NOT_APPLICABLE("%s has no collectives", peer_provider());
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		CHECK_RC(tries[i].rc, fi_mr_reg(lone.peer.domain, bytes, sizeof(bytes), tries[i].access, 0,
						region_fresh_key(&lone.peer), 0, &mr, NULL));
		if (!tries[i].rc)
			CHECK_RC(0, fi_close(&mr->fid));
	}
	lone_close(&lone);
}

/* S185: under FI_MR_COLLECTIVE both buffers lie in regions with that access. */
LONE_TEST(rules, S185_collective_buffers_are_registered)
{
	static const uint64_t accesses[] = { 0, FI_SEND | FI_RECV, FI_COLLECTIVE | FI_SEND, FI_COLLECTIVE | FI_RECV,
					     FI_COLLECTIVE | FI_SEND | FI_RECV };
	enum { ACCESSES = sizeof(accesses) / sizeof(accesses[0]) };
	struct region region[2 * ACCESSES];
	struct lone lone;

	if (!lone_open(&lone, FI_MR_COLLECTIVE))
		NOT_APPLICABLE("%s has no collectives", peer_provider());
	if (!peer_has(&lone.peer, FI_MR_COLLECTIVE))
		NOT_APPLICABLE("%s does not ask for FI_MR_COLLECTIVE", peer_provider());
	for (int i = 0; i < 2 * ACCESSES; i++)
		region_open(&region[i], &lone.peer, &(struct region_want){ .len = { BYTES }, .access = accesses[i / 2] }, 1);
	for (int in = 0; in < ACCESSES; in++) {
		for (int out = 0; out < ACCESSES; out++) {
			const uint64_t sends = FI_COLLECTIVE | FI_SEND, receives = FI_COLLECTIVE | FI_RECV;
			bool good = (accesses[in] & sends) == sends && (accesses[out] & receives) == receives;
			struct region *from = &region[2 * in], *to = &region[2 * out + 1];

			CHECK(reduces(&lone, from->iov[0].iov_base, fi_mr_desc(from->mr), to->iov[0].iov_base,
				      fi_mr_desc(to->mr)) == good,
			      "buffers with access 0x%llx and 0x%llx: %s", (unsigned long long)accesses[in],
			      (unsigned long long)accesses[out], good ? "refused" : "taken");
			CHECK(!reduces(&lone, from->iov[0].iov_base, NULL, to->iov[0].iov_base, fi_mr_desc(to->mr)),
			      "a buffer without a descriptor was taken");
		}
	}
	for (int i = 0; i < 2 * ACCESSES; i++)
		region_close(&region[i]);
	lone_close(&lone);
}

/* S186: without the bit nothing need be registered, and a descriptor may be given. S187: FI_SEND and FI_RECV cover collectives. */
LONE_TEST(rules, S186_S187_without_the_bit)
{
	uint64_t in[COUNT], out[COUNT];
	struct region region[2];
	struct lone lone;

	for (int local = 0; local < 2; local++) {
		if (!lone_open(&lone, local ? FI_MR_LOCAL : 0))
			NOT_APPLICABLE("%s has no collectives", peer_provider());
		region_open(&region[0], &lone.peer, &(struct region_want){ .len = { BYTES }, .access = FI_SEND }, 1);
		region_open(&region[1], &lone.peer, &(struct region_want){ .len = { BYTES }, .access = FI_RECV }, 2);
		CHECK(reduces(&lone, region[0].iov[0].iov_base, fi_mr_desc(region[0].mr), region[1].iov[0].iov_base,
			      fi_mr_desc(region[1].mr)),
		      "regions with FI_SEND and FI_RECV were refused");
		if (!peer_has(&lone.peer, FI_MR_LOCAL))
			CHECK(reduces(&lone, in, NULL, out, NULL), "buffers that are not registered were refused");
		region_close(&region[0]);
		region_close(&region[1]);
		lone_close(&lone);
	}
}
