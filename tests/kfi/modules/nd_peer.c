/* SPDX-License-Identifier: BSD-2-Clause */
/* nd_peer.c - peers: found by their addresses, and freed behind the readers of the table. */
#include "nd.h"

static const struct rhashtable_params peer_params = {
	.head_offset = offsetof(struct nd_peer, node),
	.key_offset = offsetof(struct nd_peer, address),
	.key_len = ND_ADDRESS,
	.automatic_shrinking = true,
};

int nd_peers_init(struct nd_dev *dev)
{
	return rhashtable_init(&dev->peers, &peer_params);
}

static void free_peer(struct rcu_head *head)
{
	kfree(container_of(head, struct nd_peer, rcu));
}

void nd_peer_put(struct nd_peer *peer)
{
	struct nd_dev *dev = peer->dev;

	if (!refcount_dec_and_test(&peer->refs))
		return;
	rhashtable_remove_fast(&dev->peers, &peer->node, peer_params);
	kfi_av_remove(dev->av, &peer->addr, 1, 0);
	call_rcu(&peer->rcu, free_peer);
}

static struct nd_peer *find_peer(struct nd_dev *dev, const u8 *address)
{
	struct nd_peer *peer;

	rcu_read_lock();
	peer = rhashtable_lookup(&dev->peers, address, peer_params);
	if (peer && !refcount_inc_not_zero(&peer->refs))
		peer = NULL;
	rcu_read_unlock();
	return peer;
}

/* The table has a reference, too, until the end. */
struct nd_peer *nd_peer_get(struct nd_dev *dev, const u8 *address)
{
	struct nd_peer *peer = find_peer(dev, address), *there;

	if (peer)
		return peer;
	peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	if (!peer)
		return NULL;
	memcpy(peer->address, address, ND_ADDRESS);
	peer->dev = dev;
	refcount_set(&peer->refs, 2);
	init_waitqueue_head(&peer->greeted);
	if (kfi_av_insert(dev->av, address, 1, &peer->addr, 0, NULL) != 1) {
		kfree(peer);
		return NULL;
	}
	there = rhashtable_lookup_get_insert_fast(&dev->peers, &peer->node, peer_params);
	if (!there)
		return peer;
	kfi_av_remove(dev->av, &peer->addr, 1, 0);
	kfree(peer);
	return IS_ERR(there) ? NULL : find_peer(dev, address);
}

void nd_peer_greeted(struct nd_peer *peer, u32 session)
{
	WRITE_ONCE(peer->session, session);
	wake_up_all(&peer->greeted);
}

unsigned int nd_peers_count(struct nd_dev *dev)
{
	struct rhashtable_iter iter;
	unsigned int count = 0;

	rhashtable_walk_enter(&dev->peers, &iter);
	rhashtable_walk_start(&iter);
	while (rhashtable_walk_next(&iter))
		count++;
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	return count;
}

static struct nd_peer *any_peer(struct nd_dev *dev)
{
	struct rhashtable_iter iter;
	struct nd_peer *peer;

	rhashtable_walk_enter(&dev->peers, &iter);
	rhashtable_walk_start(&iter);
	peer = rhashtable_walk_next(&iter);
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	return peer;
}

void nd_peers_fini(struct nd_dev *dev)
{
	struct nd_peer *peer;

	while ((peer = any_peer(dev)))
		nd_peer_put(peer); /* the table's */
	rcu_barrier();
	rhashtable_destroy(&dev->peers);
}
