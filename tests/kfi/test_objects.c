/* SPDX-License-Identifier: BSD-2-Clause */
/* The provider's objects: their life and closing order, options, names and connections, and what a personality does not have. */
#include "tests/kfi/kpair.h"

#include <kfi_cm.h>
#include <kfi_cxi_ext.h>
#include <linux/dma-mapping.h>
#include <linux/ktime.h>
#include <stdlib.h>
#include <string.h>

#include "emu/kfi/provider/kemu_addr.h"
#include "emu/kfi/provider/kemu_provider.h"

enum { GUARD_S = 60 };

static const struct kpair_wish kfi = { 0 }, kcxi = { .personality = "kcxi" };

/* --- closing order --- */

Test(kfi_objects, what_is_used_does_not_close)
{
	struct kfi_poll_attr none = { 0 };
	struct kfid_poll *poll;
	struct kpair pair;
	struct kfid_eq *eq;

	kpair_open(&pair, &kfi);
	RC(-KFI_EBUSY, kemu_unregister());
	RC(-KFI_EBUSY, kfi_close(&pair.a.fabric->fid));
	RC(-KFI_EBUSY, kfi_close(&pair.a.domain->fid));
	RC(-KFI_EBUSY, kfi_close(&pair.a.av->fid));
	RC(-KFI_EBUSY, kfi_close(&pair.a.cq->fid));
	RC(0, kfi_eq_open(pair.a.fabric, NULL, &eq, NULL, NULL));
	RC(0, kfi_domain_bind(pair.a.domain, &eq->fid, 0));
	RC(-KFI_EINVAL, kfi_domain_bind(pair.a.domain, &eq->fid, KFI_REG_MR));
	RC(-KFI_EBUSY, kfi_close(&eq->fid));
	pair.a.eq = eq; /* closed behind the domain */
	RC(0, kfi_close(&pair.b.tx->fid));
	RC(0, kfi_poll_open(pair.b.domain, &none, &poll));
	RC(0, kfi_poll_add(poll, &pair.b.cq->fid, 0));
	RC(-KFI_EBUSY, kfi_close(&pair.b.cq->fid));
	RC(0, kfi_poll_del(poll, &pair.b.cq->fid, 0));
	RC(0, kfi_close(&poll->fid));
	RC(0, kfi_endpoint(pair.b.domain, pair.b.info, &pair.b.tx, NULL));
	pair.b.rx = pair.b.tx;
	kpair_close(&pair);
}

Test(kfi_objects, a_receive_context_stays_while_regions_are_bound)
{
	struct kfid_mr *mr;
	struct kpair pair;
	char buf[64];

	kpair_open(&pair, &kcxi);
	RC(-KFI_EBUSY, kfi_close(&pair.a.sep->fid));
	mr = kend_region(&pair.a, buf, sizeof(buf), KPAIR_REMOTE);
	RC(-KFI_EBUSY, kfi_close(&pair.a.rx->fid));
	RC(0, kfi_close(&mr->fid));
	RC(0, kfi_mr_reg(pair.a.domain, buf, sizeof(buf), KPAIR_REMOTE, 0, kpair_key(), 0, &mr, NULL));
	RC(0, kfi_mr_bind(mr, &pair.a.rx->fid, 0));
	RC(-KFI_EBUSY, kfi_close(&pair.a.rx->fid)); /* also of one that is not enabled */
	RC(0, kfi_close(&mr->fid));
	kpair_close(&pair);
}

/* kfi_mr(3), kfi_close: the region is the last. */
Test(kfi_objects, a_region_outlives_its_endpoint)
{
	static const struct kpair_wish bound = { .mr_mode = KFI_MR_ENDPOINT };
	struct kfid_mr *mr;
	struct kpair pair;
	char buf[64];

	kpair_open(&pair, &bound);
	mr = kend_region(&pair.a, buf, sizeof(buf), KPAIR_REMOTE);
	RC(-KFI_EBUSY, kfi_close(&mr->fid));
	RC(0, kfi_close(&pair.a.tx->fid));
	RC(-KFI_EBUSY, kfi_close(&pair.a.domain->fid));
	RC(0, kfi_close(&mr->fid));
	RC(0, kfi_endpoint(pair.a.domain, pair.a.info, &pair.a.tx, NULL));
	pair.a.rx = pair.a.tx;
	kpair_close(&pair);
}

/* --- what a personality does not have --- */

Test(kfi_objects, kcxi_has_no_counters_nor_waits)
{
	struct kfi_eq_attr eq_attr = { .wait_obj = KFI_WAIT_UNSPEC };
	struct kfi_cq_attr cq_attr = { .wait_obj = KFI_WAIT_QUEUE };
	struct kfi_cq_data_entry entry;
	struct kfid_wait *wait;
	struct kfid_poll *poll;
	struct kfid_cntr *cntr;
	struct kfid_stx *stx;
	struct kfid_pep *pep;
	struct kfid_ep *ep;
	struct kfid_eq *eq;
	struct kfid_cq *cq;
	struct kpair pair;

	kpair_open(&pair, &kcxi);
	RC(-KFI_ENOSYS, kfi_cntr_open(pair.a.domain, NULL, &cntr, NULL));
	RC(-KFI_ENOSYS, kfi_poll_open(pair.a.domain, NULL, &poll));
	RC(-KFI_ENOSYS, kfi_wait_open(pair.a.fabric, NULL, &wait));
	RC(-KFI_ENOSYS, kfi_stx_context(pair.a.domain, NULL, &stx, NULL));
	RC(-KFI_ENOSYS, kfi_srx_context(pair.a.domain, NULL, &ep, NULL));
	RC(-KFI_ENOSYS, kfi_endpoint(pair.a.domain, pair.a.info, &ep, NULL));
	RC(-KFI_ENOSYS, kfi_passive_ep(pair.a.fabric, pair.a.info, &pep, NULL));
	RC(-KFI_ENOSYS, kfi_ep_alias(pair.a.tx, &ep, 0));
	RC(-KFI_ENOSYS, kfi_cq_open(pair.a.domain, &cq_attr, &cq, NULL, NULL));
	RC(-KFI_ENOSYS, kfi_eq_open(pair.a.fabric, &eq_attr, &eq, NULL, NULL));
	RC(-KFI_ENOSYS, kfi_cq_sread(pair.a.cq, &entry, 1, NULL, 0));
	RC(-KFI_ENOSYS, kfi_cq_signal(pair.a.cq));
	kpair_close(&pair);
}

/* --- tables of the provider --- */

Test(kfi_objects, tables_of_provider_cxi)
{
	struct kfi_cxi_fabric_ops *fabric_ops;
	struct kfi_cxi_domain_ops *domain_ops;
	struct device *device = NULL;
	struct kpair pair;
	void *ops;

	kpair_open(&pair, &kcxi);
	RC(0, kfi_open_ops(&pair.a.fabric->fid, KFI_CXI_FAB_OPS_1, 0, (void **)&fabric_ops, NULL));
	RC(0, fabric_ops->enable_dynamic_rsrc_alloc(&pair.a.fabric->fid, true));
	RC(0, kfi_open_ops(&pair.a.domain->fid, KFI_CXI_DOM_OPS_1, 0, (void **)&domain_ops, NULL));
	RC(0, domain_ops->get_device(&pair.a.domain->fid, &device));
	cr_expect(device);
	RC(-KFI_EINVAL, domain_ops->get_device(&pair.a.domain->fid, NULL));
	RC(-KFI_EINVAL, kfi_open_ops(&pair.a.fabric->fid, KFI_CXI_DOM_OPS_1, 0, &ops, NULL));
	RC(-KFI_EINVAL, kfi_open_ops(&pair.a.domain->fid, "other", 0, &ops, NULL));
	RC(-KFI_EINVAL, kfi_open_ops(&pair.a.cq->fid, KFI_CXI_DOM_OPS_1, 0, &ops, NULL));
	kpair_close(&pair);
}

/* --- addresses of kcxi --- */

Test(kfi_objects, pids_and_address_vectors_of_kcxi)
{
	struct kcxi_addr a, b, looked;
	struct kfid_ep *second;
	size_t length = sizeof(a);
	struct kpair pair;
	kfi_addr_t found;
	char text[64], service[8];

	kpair_open(&pair, &kcxi);
	RC(0, kfi_getname(&pair.a.sep->fid, &a, &length));
	cr_expect_eq(length, sizeof(a));
	RC(0, kfi_getname(&pair.b.rx->fid, &b, &length)); /* a context has the name of all */
	cr_expect_eq(a.nic, b.nic);
	cr_expect_neq(a.pid, b.pid, "both have pid %u", (unsigned int)a.pid);
	cr_expect_lt(a.pid, KEMU_PIDS);
	RC(0, kfi_rx_context(pair.b.sep, 1, NULL, &second, NULL));
	RC(0, kfi_ep_bind(second, &pair.b.cq->fid, KFI_RECV));
	RC(0, kfi_enable(second));
	RC(0, kfi_getname(&second->fid, &looked, &length));
	cr_expect_eq(looked.pid, b.pid, "the second context has pid %u", (unsigned int)looked.pid);
	RC(0, kfi_close(&second->fid));
	length = 4;
	RC(-KFI_ETOOSMALL, kfi_getname(&pair.a.sep->fid, &looked, &length));
	cr_expect_eq(length, sizeof(a));
	snprintf(service, sizeof(service), "%u", (unsigned int)b.pid);
	RC(1, kfi_av_insertsvc(pair.a.av, "cxi0", service, &found, 0, NULL));
	length = sizeof(looked);
	RC(0, kfi_av_lookup(pair.a.av, found, &looked, &length));
	cr_expect_eq(looked.nic, b.nic);
	cr_expect_eq(looked.pid, b.pid);
	length = sizeof(text);
	cr_expect_str_eq(kfi_av_straddr(pair.a.av, &(struct kcxi_addr){ .nic = 0x1f, .pid = 5 }, text, &length),
			 "kfi_addr_kcxi://nic=0x1f:pid=5");
	cr_expect_eq(length, strlen(text) + 1);
	RC(0, kfi_av_remove(pair.a.av, &found, 1, 0));
	RC(-KFI_EINVAL, kfi_av_insertsvc(pair.a.av, "cxi0", "no", &found, 0, NULL));
	RC(-KFI_EINVAL, kfi_av_insert(pair.a.av, NULL, 1, &found, 0, NULL));
	looked.pid = KEMU_PID_ANY;
	RC(0, kfi_av_insert(pair.a.av, &looked, 1, &found, 0, NULL));
	cr_expect_eq(found, KFI_ADDR_NOTAVAIL);
	RC(-KFI_ENOSYS, kfi_av_insertsym(pair.a.av, "cxi0", 1, "1", 1, &found, 0, NULL));
	kpair_close(&pair);
}

/* A pid that is asked for is had, or none. */
Test(kfi_objects, a_pid_that_is_taken_is_refused)
{
	struct kcxi_addr taken, *asked;
	size_t length = sizeof(taken);
	struct kfid_ep *sep;
	struct kpair pair;

	kpair_open(&pair, &kcxi);
	RC(0, kfi_getname(&pair.a.sep->fid, &taken, &length));
	asked = pair.a.info->src_addr;
	asked->pid = taken.pid;
	RC(-KFI_EADDRINUSE, kfi_scalable_ep(pair.a.domain, pair.a.info, &sep, NULL));
	kpair_close(&pair);
}

/* --- options, flags, aliases, binds --- */

Test(kfi_objects, options_of_endpoints)
{
	static const struct kpair_wish multi = { .caps = KFI_MULTI_RECV };
	size_t value = 512, length = sizeof(value);
	struct kpair pair;

	kpair_open(&pair, &multi);
	RC(0, kfi_setopt(&pair.a.rx->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &value, sizeof(value)));
	value = 0;
	RC(0, kfi_getopt(&pair.a.rx->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &value, &length));
	cr_expect_eq(value, 512);
	RC(-KFI_ENOPROTOOPT, kfi_getopt(&pair.a.rx->fid, KFI_OPT_ENDPOINT, 9, &value, &length));
	RC(-KFI_ENOPROTOOPT, kfi_setopt(&pair.a.rx->fid, 3, KFI_OPT_MIN_MULTI_RECV, &value, sizeof(value)));
	RC(-KFI_EINVAL, kfi_setopt(&pair.a.rx->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, NULL, sizeof(value)));
	kpair_close(&pair);
}

Test(kfi_objects, aliases_and_flags_of_operations)
{
	uint64_t flags = KFI_TRANSMIT;
	struct kfid_ep *alias = NULL;
	struct kpair pair;

	kpair_open(&pair, &kfi);
	RC(0, kfi_ep_alias(pair.a.tx, &alias, KFI_TRANSMIT | KFI_INJECT_COMPLETE));
	RC(0, kfi_control(&alias->fid, KFI_GETOPSFLAG, &flags));
	cr_expect(flags & KFI_INJECT_COMPLETE);
	RC(-KFI_EBUSY, kfi_close(&pair.a.tx->fid));
	RC(0, kfi_close(&alias->fid));
	RC(-KFI_EINVAL, kfi_control(&pair.a.tx->fid, KFI_GETOPSFLAG, NULL));
	RC(-KFI_ENOSYS, kfi_control(&pair.a.tx->fid, KFI_BACKLOG, NULL));
	kpair_close(&pair);
}

Test(kfi_objects, binds_that_are_refused)
{
	struct kpair pair;
	struct kfid_ep *ep;

	kpair_open(&pair, &kfi);
	RC(0, kfi_endpoint(pair.a.domain, pair.a.info, &ep, NULL));
	RC(-KFI_EINVAL, kfi_ep_bind(ep, NULL, 0));
	RC(-KFI_EINVAL, kfi_ep_bind(ep, &pair.a.domain->fid, 0));
	RC(-KFI_EDOMAIN, kfi_ep_bind(ep, &pair.b.cq->fid, KFI_TRANSMIT));
	RC(-KFI_EBADFLAGS, kfi_ep_bind(ep, &pair.a.cq->fid, 1ULL << 40));
	RC(-KFI_ENOAV, kfi_enable(ep));
	RC(0, kfi_close(&ep->fid));
	RC(-KFI_EINVAL, kfi_domain_bind(pair.a.domain, &pair.a.cq->fid, 0));
	RC(-KFI_EINVAL, kfi_av_bind(pair.a.av, &pair.a.cq->fid, 0));
	RC(-KFI_EINVAL, kfi_endpoint(pair.a.domain, NULL, &ep, NULL));
	RC(-KFI_EINVAL, kfi_rx_context(pair.a.tx, 0, NULL, &ep, NULL));
	kpair_close(&pair);
}

/* --- counters, sets, shared contexts --- */

Test(kfi_objects, counters_and_sets)
{
	struct kfi_cntr_attr attr = { .wait_obj = KFI_WAIT_UNSPEC };
	struct kfid_cntr *cntr;
	struct kfid_poll *poll;
	struct kfid_wait *wait;
	struct kpair pair;
	void *context;

	kpair_open(&pair, &kfi);
	RC(0, kfi_wait_open(pair.a.fabric, NULL, &wait));
	RC(0, kfi_cntr_open(pair.a.domain, &attr, &cntr, &pair));
	RC(0, kfi_cntr_add(cntr, 3));
	cr_expect_eq(kfi_cntr_read(cntr), 3);
	RC(0, kfi_cntr_wait(cntr, 3, 0));
	RC(-KFI_ETIMEDOUT, kfi_cntr_wait(cntr, 4, 0));
	RC(0, kfi_cntr_set(cntr, 0));
	RC(0, kfi_cntr_adderr(cntr, 1));
	cr_expect_eq(kfi_cntr_readerr(cntr), 1);
	RC(0, kfi_cntr_seterr(cntr, 0));
	RC(0, kfi_poll_open(pair.a.domain, NULL, &poll));
	RC(0, kfi_poll_add(poll, &cntr->fid, 0));
	RC(0, kfi_cntr_add(cntr, 1));
	RC(1, kfi_poll(poll, &context, 1));
	cr_expect_eq(context, &pair, "the client's context");
	RC(-KFI_EBUSY, kfi_close(&cntr->fid));
	RC(0, kfi_poll_del(poll, &cntr->fid, 0));
	RC(-KFI_EINVAL, kfi_poll_add(poll, &pair.a.av->fid, 0));
	RC(0, kfi_close(&poll->fid));
	RC(0, kfi_close(&cntr->fid));
	attr = (struct kfi_cntr_attr){ .wait_obj = KFI_WAIT_SET, .wait_set = wait };
	RC(0, kfi_cntr_open(pair.a.domain, &attr, &cntr, NULL));
	RC(-KFI_EBUSY, kfi_close(&wait->kfid));
	RC(0, kfi_close(&cntr->fid));
	RC(0, kfi_close(&wait->kfid));
	kpair_close(&pair);
}

Test(kfi_objects, shared_contexts)
{
	struct kpair pair;
	struct kfid_stx *stx;
	struct kfid_ep *srx, *ep;

	kpair_open(&pair, &kfi);
	RC(0, kfi_stx_context(pair.a.domain, NULL, &stx, NULL));
	RC(0, kfi_srx_context(pair.a.domain, NULL, &srx, NULL));
	pair.a.info->ep_attr->tx_ctx_cnt = pair.a.info->ep_attr->rx_ctx_cnt = KFI_SHARED_CONTEXT;
	RC(0, kfi_endpoint(pair.a.domain, pair.a.info, &ep, NULL));
	RC(0, kfi_ep_bind(ep, &stx->fid, 0));
	RC(0, kfi_ep_bind(ep, &srx->fid, 0));
	RC(-KFI_EBUSY, kfi_close(&stx->fid));
	RC(-KFI_EBUSY, kfi_close(&srx->fid));
	RC(0, kfi_close(&ep->fid));
	RC(0, kfi_close(&srx->fid));
	RC(0, kfi_close(&stx->fid));
	kpair_close(&pair);
}

/* --- connections --- */

static ssize_t next_event(struct kfid_eq *eq, uint32_t want, void *buf, size_t size)
{
	ktime_t late = ktime_add_ns(ktime_get(), GUARD_S * 1000000000ULL);
	uint32_t event = UINT32_MAX;
	ssize_t rc;

	while ((rc = kfi_eq_read(eq, &event, buf, size, 0)) == -KFI_EAGAIN)
		cr_assert(ktime_before(ktime_get(), late), "no event");
	if (rc > 0)
		cr_assert_eq(event, want, "event %u", event);
	return rc;
}

struct connection {
	struct kfi_info *info;
	struct kfid_fabric *fabric;
	struct kfid_domain *domain;
	struct kfid_eq *eq, *passive_eq;
	struct kfid_pep *pep;
	struct kfid_cq *cq;
	uint8_t name[64];
	size_t length;
};

static void connection_open(struct connection *c)
{
	struct kfi_info *hints = kfi_allocinfo();
	struct kfi_cq_attr cq = { .format = KFI_CQ_FORMAT_DATA };

	memset(c, 0, sizeof(*c));
	setenv("FI_EMU_PERSONALITY", "kfi", 1);
	RC(0, kemu_register());
	hints->caps = KFI_MSG;
	hints->ep_attr->type = KFI_EP_MSG;
	RC(0, kfi_getinfo(KFI_VERSION(1, 7), "127.0.0.1", NULL, KFI_SOURCE, hints, &c->info));
	kfi_freeinfo(hints);
	RC(0, kfi_fabric(c->info->fabric_attr, &c->fabric, NULL));
	RC(0, kfi_domain(c->fabric, c->info, &c->domain, NULL));
	RC(0, kfi_eq_open(c->fabric, NULL, &c->eq, NULL, NULL));
	RC(0, kfi_eq_open(c->fabric, NULL, &c->passive_eq, NULL, NULL));
	RC(0, kfi_cq_open(c->domain, &cq, &c->cq, NULL, NULL));
	RC(0, kfi_passive_ep(c->fabric, c->info, &c->pep, NULL));
	RC(0, kfi_pep_bind(c->pep, &c->passive_eq->fid, 0));
	RC(0, kfi_listen(c->pep));
	c->length = sizeof(c->name);
	RC(0, kfi_getname(&c->pep->fid, c->name, &c->length));
}

static void connection_close(struct connection *c)
{
	RC(-KFI_EBUSY, kfi_close(&c->passive_eq->fid));
	RC(0, kfi_close(&c->pep->fid));
	RC(0, kfi_close(&c->cq->fid));
	RC(0, kfi_close(&c->domain->fid));
	RC(0, kfi_close(&c->passive_eq->fid));
	RC(0, kfi_close(&c->eq->fid));
	RC(0, kfi_close(&c->fabric->fid));
	kfi_freeinfo(c->info);
	RC(0, kemu_unregister());
}

static struct kfid_ep *connected_end(struct connection *c, struct kfi_info *info, struct kfid_eq *eq)
{
	struct kfid_ep *ep;

	RC(0, kfi_endpoint(c->domain, info, &ep, NULL));
	RC(0, kfi_ep_bind(ep, &eq->fid, 0));
	RC(0, kfi_ep_bind(ep, &c->cq->fid, KFI_TRANSMIT | KFI_RECV));
	RC(0, kfi_enable(ep));
	return ep;
}

static struct kfi_eq_cm_entry *connect_to(struct connection *c, struct kfid_ep *ep, const char *param, void *buf, size_t size)
{
	struct kfi_eq_cm_entry *entry = buf;
	ssize_t rc;

	RC(0, kfi_connect(ep, c->name, param, strlen(param)));
	rc = next_event(c->passive_eq, KFI_CONNREQ, buf, size);
	RC(sizeof(*entry) + strlen(param), rc);
	cr_assert_eq(entry->fid, &c->pep->fid);
	cr_assert_arr_eq(entry->data, param, strlen(param));
	cr_assert(entry->info && entry->info->handle);
	return entry;
}

Test(kfi_objects, a_connection_is_accepted)
{
	_Alignas(max_align_t) char buf[256], peer[64];
	size_t length = sizeof(peer);
	struct kfi_eq_cm_entry *entry;
	struct connection c;
	struct kfid_ep *active, *passive;

	connection_open(&c);
	active = connected_end(&c, c.info, c.eq);
	entry = connect_to(&c, active, "hello", buf, sizeof(buf));
	passive = connected_end(&c, entry->info, c.eq);
	kfi_freeinfo(entry->info);
	RC(0, kfi_accept(passive, NULL, 0));
	for (int i = 0; i < 2; i++) {
		cr_assert_geq(next_event(c.eq, KFI_CONNECTED, buf, sizeof(buf)), (ssize_t)sizeof(*entry));
		cr_expect(entry->fid == &active->fid || entry->fid == &passive->fid);
		cr_expect_null(entry->info);
	}
	RC(0, kfi_getpeer(active, peer, &length));
	cr_expect_eq(length, c.length);
	cr_expect_arr_eq(peer, c.name, length);
	RC(0, kfi_shutdown(active, 0));
	cr_assert_geq(next_event(c.eq, KFI_SHUTDOWN, buf, sizeof(buf)), (ssize_t)sizeof(*entry));
	RC(0, kfi_close(&active->fid));
	RC(0, kfi_close(&passive->fid));
	connection_close(&c);
}

Test(kfi_objects, a_connection_is_rejected)
{
	_Alignas(max_align_t) char buf[256];
	struct kfi_eq_err_entry error = { 0 };
	struct kfi_eq_cm_entry *entry;
	struct connection c;
	struct kfid_ep *active;

	connection_open(&c);
	active = connected_end(&c, c.info, c.eq);
	entry = connect_to(&c, active, "please", buf, sizeof(buf));
	RC(0, kfi_reject(c.pep, entry->info->handle, "no", 2));
	kfi_freeinfo(entry->info);
	RC(-KFI_EAVAIL, next_event(c.eq, KFI_CONNECTED, buf, sizeof(buf)));
	RC(sizeof(error), kfi_eq_readerr(c.eq, &error, 0));
	cr_expect_eq(error.err, KFI_ECONNREFUSED);
	cr_expect_eq(error.fid, &active->fid);
	cr_expect_eq(error.err_data_size, 2);
	cr_expect_arr_eq(error.err_data, "no", 2);
	RC(0, kfi_close(&active->fid));
	connection_close(&c);
}

/* The side that asks is not answered, and the unread request ends with the queue. */
Test(kfi_objects, a_request_is_left_unread)
{
	struct connection c;
	struct kfid_ep *active;

	connection_open(&c);
	active = connected_end(&c, c.info, c.eq);
	RC(0, kfi_connect(active, c.name, NULL, 0));
	RC(0, kfi_close(&active->fid));
	connection_close(&c);
}

Test(kfi_objects, passive_endpoints_have_no_operations)
{
	size_t value, length = sizeof(value);
	struct connection c;
	int backlog = 4;

	connection_open(&c);
	RC(0, kfi_getopt(&c.pep->fid, KFI_OPT_ENDPOINT, KFI_OPT_CM_DATA_SIZE, &value, &length));
	cr_expect_gt(value, 0);
	RC(-KFI_ENOPROTOOPT, kfi_getopt(&c.pep->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &value, &length));
	RC(0, kfi_control(&c.pep->fid, KFI_BACKLOG, &backlog));
	RC(-KFI_ENOSYS, kfi_control(&c.pep->fid, KFI_ENABLE, NULL));
	RC(-KFI_EINVAL, kfi_pep_bind(c.pep, &c.cq->fid, 0));
	connection_close(&c);
}

/* --- fabrics and domains --- */

Test(kfi_objects, fabrics_and_domains_that_are_refused)
{
	struct kfi_fabric_attr none = { 0 };
	struct kfid_fabric *fabric;
	struct kfid_domain *domain;
	struct kfi_info *bad;
	struct kpair pair;

	kpair_open(&pair, &kcxi);
	none.prov_name = pair.a.info->fabric_attr->prov_name;
	none.name = (char[]){ "cxi/999" };
	RC(-KFI_ENODATA, kfi_fabric(&none, &fabric, NULL));
	none.name = (char[]){ "ethernet" };
	RC(-KFI_ENODATA, kfi_fabric(&none, &fabric, NULL));
	RC(-KFI_EINVAL, kfi_domain(pair.a.fabric, NULL, &domain, NULL));
	RC(-KFI_EINVAL, kfi_domain(pair.a.fabric, pair.a.info, NULL, NULL));
	bad = kfi_dupinfo(pair.a.info);
	bad->caps |= KFI_ATOMIC;
	RC(-KFI_EINVAL, kfi_domain(pair.a.fabric, bad, &domain, NULL));
	kfi_freeinfo(bad);
	kpair_close(&pair);
}
