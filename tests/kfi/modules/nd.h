/* SPDX-License-Identifier: BSD-2-Clause */
/* nd.h - a network driver with the structure of Lustre's kfilnd: a device with several contexts (nd_dev.c), peers in a hash table
 * that greet each other (nd_peer.c), transactions with timers (nd_tn.c), and the module (nd_main.c). */
#ifndef ND_H
#define ND_H

#include <asm/byteorder.h>
#include <kfabric.h>
#include <kfi_cm.h>
#include <kfi_cxi_ext.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_errno.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kmod.h>
#include <linux/ktime.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/stat.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/timer.h>
#include <linux/uaccess.h>
#include <linux/unistd.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 8, 0)
#error "dma_map_sgtable() came with 5.8"
#endif

enum {
	ND_CONTEXTS = 2, /* of each side: messages go from one to the one with its index */
	ND_RX_BITS = 1,
	ND_ADDRESS = 16,
	ND_INLINE = 256, /* bytes of an immediate message */
	ND_PAGES = 24,   /* more than a NIC's vector has */
	ND_BUFFER = 65536,
	ND_BUFFERS = 2, /* for many messages, a context */
	ND_MAGIC = 0x6e64656d,
};

enum nd_type { ND_HELLO_REQ = 1, ND_HELLO_RSP, ND_IMMEDIATE, ND_BULK_PUT, ND_BULK_GET };
/* What a test asks of its peer besides. */
enum nd_wish { ND_WELL, ND_FAIL, ND_IGNORE };

/* As it travels. */
struct nd_msg {
	__le32 magic, session;
	__le16 type, wish;
	__le32 length, seed;
	__le64 tag;
	uint8_t address[ND_ADDRESS]; /* of the sender */
	uint8_t inline_data[ND_INLINE];
} __packed;

/* --- nd_dev.c --- */

struct nd_dev;
struct nd_tn;

struct nd_buffer {
	struct nd_context *context;
	void *memory;
};

struct nd_context {
	struct nd_dev *dev;
	int index;
	struct kfid_cq *cq;
	struct kfid_ep *tx, *rx;
	struct work_struct work; /* reads the queue */
	spinlock_t lock;         /* guards `closing` */
	bool closing;            /* the handler queues no work any more */
	struct nd_buffer buffer[ND_BUFFERS];
};

struct nd_dev {
	struct kfi_info *info;
	struct kfid_fabric *fabric;
	struct kfid_domain *domain;
	struct kfid_av *av;
	struct kfid_ep *sep;
	struct nd_context context[ND_CONTEXTS];
	struct workqueue_struct *workqueue;
	uint8_t address[ND_ADDRESS];
	size_t address_len;
	unsigned int service;
	u32 session;
	bool closing;
	struct rw_semaphore gate; /* those that post hold it for reading, and the end for writing */
	struct rhashtable peers;
	atomic_t messages, bytes;
};

int nd_dev_open(struct nd_dev *dev, const char *node, const char *service);
void nd_dev_close(struct nd_dev *dev);

/* --- nd_peer.c --- */

struct nd_peer {
	struct rhash_head node;
	struct rcu_head rcu;
	u8 address[ND_ADDRESS];
	kfi_addr_t addr;
	refcount_t refs;
	struct nd_dev *dev;
	u32 session; /* its own; 0: it has not greeted */
	wait_queue_head_t greeted;
};

int nd_peers_init(struct nd_dev *dev);
void nd_peers_fini(struct nd_dev *dev);
/* The one with this address, made if it is new. NULL: no memory, or no such address. */
struct nd_peer *nd_peer_get(struct nd_dev *dev, const u8 *address);
void nd_peer_put(struct nd_peer *peer);
/* A greeting of it came. */
void nd_peer_greeted(struct nd_peer *peer, u32 session);
unsigned int nd_peers_count(struct nd_dev *dev);

/* --- nd_tn.c --- */

enum nd_tn_state { TN_NEW, TN_SENT, TN_WAIT, TN_DONE };

struct nd_tn {
	struct nd_context *context;
	struct nd_peer *peer;
	enum nd_tn_state state;
	int status;
	bool expired, sending, receiving; /* under the lock, as the state */
	spinlock_t lock;
	struct timer_list timer;
	struct work_struct work;
	struct completion done;
	struct nd_msg msg;
	u64 tag;
	struct page *block;
	struct bio_vec vec[ND_PAGES];
	unsigned int pages;
	bool serves; /* the peer's: freed at its end */
};

int nd_tns_init(void);
void nd_tns_fini(void);
/* Sends a greeting, and an answer to one. */
int nd_tn_greet(struct nd_dev *dev, struct nd_peer *peer, enum nd_type type);
/* A message of that many bytes; bulk data in pages that do not touch. Waits: 0 or -errno. */
int nd_tn_run(struct nd_dev *dev, struct nd_peer *peer, unsigned int number, enum nd_type type, enum nd_wish wish, u32 length);
/* A message came. */
void nd_tn_take(struct nd_context *context, const struct nd_msg *msg);
/* A completion with the transaction as its context. */
void nd_tn_event(struct nd_tn *tn, u64 flags, u64 data, int err);
void nd_tn_timeout_set(unsigned int seconds);

#endif
