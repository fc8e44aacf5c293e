/* SPDX-License-Identifier: BSD-2-Clause */
/* nd_main.c - the module. Without `peer` it serves until it is unloaded. With it threads greet the peer and ask it:
 * immediate messages, bulk data both ways, errors, and requests that the peer never answers. */
#define pr_fmt(format) "nd: " format

#include "nd.h"

static char *node;
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "the address to listen at");
static char *service;
module_param(service, charp, 0444);
static char *peer;
module_param(peer, charp, 0444);
MODULE_PARM_DESC(peer, "the node to ask; without it, serve");
static char *peer_service;
module_param(peer_service, charp, 0444);
static uint count = 50;
module_param(count, uint, 0444);
MODULE_PARM_DESC(count, "transactions of each thread");
static uint threads = 3;
module_param(threads, uint, 0444);

enum { THREADS_MAX = 16, GREETING_S = 60 };

static struct nd_dev dev;
static struct dentry *folder;
static int result;
static DEFINE_MUTEX(result_lock);

/* --- files --- */

static int status_show(struct seq_file *file, void *arg)
{
	(void)arg;
	seq_printf(file, "service %u\npeers %u\nmessages %d\nbytes %d\n", dev.service, nd_peers_count(&dev),
		   atomic_read(&dev.messages), atomic_read(&dev.bytes));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

/* --- the side that asks --- */

static int ask(struct nd_peer *server, unsigned int number)
{
	static const struct {
		enum nd_type type;
		enum nd_wish wish;
		u32 length;
		int rc;
	} kinds[] = {
		{ ND_IMMEDIATE, ND_WELL, ND_INLINE, 0 },      { ND_BULK_PUT, ND_WELL, 1, 0 },
		{ ND_BULK_GET, ND_WELL, 3 * 4096 - 1, 0 },    { ND_BULK_PUT, ND_WELL, ND_PAGES * 4096, 0 },
		{ ND_BULK_GET, ND_WELL, ND_PAGES * 4096, 0 }, { ND_BULK_GET, ND_FAIL, 5000, -EREMOTEIO },
	};
	unsigned int kind = number % ARRAY_SIZE(kinds);
	int rc = nd_tn_run(&dev, server, number, kinds[kind].type, kinds[kind].wish, kinds[kind].length);

	if (rc != kinds[kind].rc)
		pr_err("transaction %u of kind %u: %d in place of %d\n", number, kind, rc, kinds[kind].rc);
	return rc == kinds[kind].rc ? 0 : rc ? rc : -EIO;
}

static int ask_many(void *arg)
{
	struct nd_peer *server = arg;
	int rc = 0;

	for (unsigned int i = 0; i < count && !rc && !signal_pending(current); i++)
		rc = ask(server, i);
	mutex_lock(&result_lock);
	if (rc)
		result = rc;
	mutex_unlock(&result_lock);
	return rc;
}

static struct nd_peer *find_server(void)
{
	struct nd_peer *server = NULL;
	u8 address[ND_ADDRESS] = { 0 };
	size_t length = sizeof(address);
	kfi_addr_t addr;

	if (kfi_av_insertsvc(dev.av, peer, peer_service, &addr, 0, NULL) != 1)
		return NULL;
	if (!kfi_av_lookup(dev.av, addr, address, &length))
		server = nd_peer_get(&dev, address);
	kfi_av_remove(dev.av, &addr, 1, 0);
	return server;
}

static int greet(struct nd_peer *server)
{
	int rc = nd_tn_greet(&dev, server, ND_HELLO_REQ);

	if (!rc && !wait_event_timeout(server->greeted, READ_ONCE(server->session), GREETING_S * HZ))
		rc = -ETIMEDOUT;
	return rc;
}

static int run_threads(struct nd_peer *server)
{
	struct task_struct *thread[THREADS_MAX];
	unsigned int running = 0;

	for (; running < min(threads, (uint)THREADS_MAX); running++) {
		thread[running] = kthread_create(ask_many, server, "nd/%u", running);
		if (IS_ERR(thread[running]))
			break;
		get_task_struct(thread[running]);
		wake_up_process(thread[running]);
	}
	for (unsigned int i = 0; i < running; i++) {
		kthread_stop(thread[i]);
		put_task_struct(thread[i]);
	}
	return result;
}

/* A request that is not answered ends by its timer. */
static int expire_one(struct nd_peer *server)
{
	int rc;

	nd_tn_timeout_set(1);
	rc = nd_tn_run(&dev, server, 1, ND_BULK_GET, ND_IGNORE, 4096);
	if (rc != -ETIMEDOUT)
		pr_err("a request without an answer: %d\n", rc);
	return rc == -ETIMEDOUT ? 0 : -EIO;
}

static int ask_server(void)
{
	struct nd_peer *server = find_server();
	int rc = server ? greet(server) : -EHOSTUNREACH;

	rc = rc ? rc : run_threads(server);
	rc = rc ? rc : expire_one(server);
	if (server)
		nd_peer_put(server);
	if (rc)
		pr_err("a transaction failed: %d\n", rc);
	else
		pr_info("%u threads, %u transactions are right\n", threads, threads * count);
	return rc;
}

/* --- its life --- */

static void end(void)
{
	debugfs_remove_recursive(folder);
	nd_dev_close(&dev);
	nd_tns_fini();
}

static int begin(void)
{
	int rc = nd_tns_init();

	if (rc)
		return rc;
	dev.session = (u32)ktime_to_ns(ktime_get()) | 1;
	rc = nd_dev_open(&dev, node, service);
	folder = debugfs_create_dir("nd", NULL);
	debugfs_create_file("status", 0444, folder, NULL, &status_fops);
	if (!rc && !peer)
		pr_info("ready at service %u\n", dev.service);
	if (!rc && peer)
		rc = ask_server();
	if (rc)
		end();
	return rc;
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("Dual BSD/GPL");
