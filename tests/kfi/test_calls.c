/* SPDX-License-Identifier: BSD-2-Clause */
/* test_calls.c - the inlines that open, bind, ask and report.
 * Each call of the header reaches its op with its arguments in their order, and gives the op's result. */
#include "tests/kfi/fake_provider.h"
#include <criterion/criterion.h>

static void on_event(struct kfid_eq *eq, void *context)
{
	(void)eq;
	(void)context;
}

static void on_completion(struct kfid_cq *cq, void *context)
{
	(void)cq;
	(void)context;
}

Test(kfi_calls, the_fabric_comes_from_the_registered_provider)
{
	char name[] = "cable", provider[] = "fake";
	struct kfi_fabric_attr attr = { .name = name, .prov_name = provider, .api_version = KFI_VERSION(1, 5) };
	struct kfid_fabric *fabric = NULL;

	cr_assert_eq(kfi_provider_register(&fake_provider), 0);
	cr_assert_eq(kfi_fabric(&attr, &fabric, P(3)), 0);
	cr_assert_str_eq(fake_last.op, "kfabric");
	cr_assert_eq(fake_last.words[0], (uint64_t)&attr);
	cr_assert_eq(fake_last.words[2], (uint64_t)P(3));
	cr_assert_eq(fabric->api_version, KFI_VERSION(1, 5));
	CALL(fabric_domain, kfi_domain, fabric, P(1), P(2), P(3));
	cr_assert_eq(kfi_provider_deregister(&fake_provider), 0);
}

Test(kfi_calls, any_object)
{
	CALL(fid_close, kfi_close, &fake_ep.fid);
	CALL(fid_control, kfi_control, &fake_ep.fid, 101, P(2));
	CALL(fid_ops_open, kfi_open_ops, &fake_ep.fid, P(1), 102, P(3), P(4));
}

Test(kfi_calls, domains)
{
	CALL(fabric_domain, kfi_domain, &fake_fabric, P(1), P(2), P(3));
	CALL(fid_bind, kfi_domain_bind, &fake_domain, P(1), 102);
	CALL(domain_cq_open, kfi_cq_open, &fake_domain, P(1), P(2), on_completion, P(4));
	CALL(domain_cntr_open, kfi_cntr_open, &fake_domain, P(1), P(2), P(3));
	CALL(fabric_wait_open, kfi_wait_open, &fake_fabric, P(1), P(2));
	CALL(domain_poll_open, kfi_poll_open, &fake_domain, P(1), P(2));
	CALL(fid_bind, kfi_mr_bind, &fake_mr, P(1), 102);
	CALL(domain_av_open, kfi_av_open, &fake_domain, P(1), P(2), P(3));
	CALL(fid_bind, kfi_av_bind, &fake_av, P(1), 102);
}

Test(kfi_calls, registrations)
{
	CALL(mr_reg, kfi_mr_reg, &fake_domain, P(1), 102, 103, 104, 105, 106, P(7), P(8));
	CALL(mr_regv, kfi_mr_regv, &fake_domain, P(1), 102, 103, 104, 105, 106, P(7), P(8));
	CALL(mr_regbv, kfi_mr_regbv, &fake_domain, P(1), 102, 103, 104, 105, 106, P(7), P(8));
	CALL(mr_regsgl, kfi_mr_regsgl, &fake_domain, P(1), 102, 103, 104, 105, 106, P(7), P(8));
	CALL(mr_regattr, kfi_mr_regattr, &fake_domain, P(1), 102, P(3));
}

Test(kfi_calls, address_vectors)
{
	CALL(av_insert, kfi_av_insert, &fake_av, P(1), 102, P(3), 104, P(5));
	CALL(av_insertsvc, kfi_av_insertsvc, &fake_av, P(1), P(2), P(3), 104, P(5));
	CALL(av_insertsym, kfi_av_insertsym, &fake_av, P(1), 102, P(3), 104, P(5), 106, P(7));
	CALL(av_remove, kfi_av_remove, &fake_av, P(1), 102, 103);
	CALL(av_lookup, kfi_av_lookup, &fake_av, 101, P(2), P(3));
	CALL(av_straddr, kfi_av_straddr, &fake_av, P(1), P(2), P(3));
}

Test(kfi_calls, queues_and_counters)
{
	CALL(wait_wait, kfi_wait, &fake_wait, -1);
	CALL(poll_poll, kfi_poll, &fake_poll, P(1), 102);
	CALL(poll_poll_add, kfi_poll_add, &fake_poll, P(1), 102);
	CALL(poll_poll_del, kfi_poll_del, &fake_poll, P(1), 102);
	CALL(fabric_eq_open, kfi_eq_open, &fake_fabric, P(1), P(2), on_event, P(4));
	CALL(eq_read, kfi_eq_read, &fake_eq, P(1), P(2), 103, 104);
	CALL(eq_readerr, kfi_eq_readerr, &fake_eq, P(1), 102);
	CALL(eq_write, kfi_eq_write, &fake_eq, 101, P(2), 103, 104);
	CALL(eq_sread, kfi_eq_sread, &fake_eq, P(1), P(2), 103, -1, 105);
	CALL(eq_strerror, kfi_eq_strerror, &fake_eq, 101, P(2), P(3), 104);
	CALL(cq_read, kfi_cq_read, &fake_cq, P(1), 102);
	CALL(cq_readfrom, kfi_cq_readfrom, &fake_cq, P(1), 102, P(3));
	CALL(cq_readerr, kfi_cq_readerr, &fake_cq, P(1), 102);
	CALL(cq_sread, kfi_cq_sread, &fake_cq, P(1), 102, P(3), -1);
	CALL(cq_sreadfrom, kfi_cq_sreadfrom, &fake_cq, P(1), 102, P(3), P(4), -1);
	CALL(cq_signal, kfi_cq_signal, &fake_cq);
	CALL(cq_strerror, kfi_cq_strerror, &fake_cq, 101, P(2), P(3), 104);
	CALL(cntr_read, kfi_cntr_read, &fake_cntr);
	CALL(cntr_readerr, kfi_cntr_readerr, &fake_cntr);
	CALL(cntr_add, kfi_cntr_add, &fake_cntr, 101);
	CALL(cntr_adderr, kfi_cntr_adderr, &fake_cntr, 101);
	CALL(cntr_set, kfi_cntr_set, &fake_cntr, 101);
	CALL(cntr_seterr, kfi_cntr_seterr, &fake_cntr, 101);
	CALL(cntr_wait, kfi_cntr_wait, &fake_cntr, 101, -1);
}

Test(kfi_calls, endpoints)
{
	CALL(fabric_passive_ep, kfi_passive_ep, &fake_fabric, P(1), P(2), P(3));
	CALL(domain_endpoint, kfi_endpoint, &fake_domain, P(1), P(2), P(3));
	CALL(domain_scalable_ep, kfi_scalable_ep, &fake_domain, P(1), P(2), P(3));
	CALL(fid_bind, kfi_ep_bind, &fake_ep, P(1), 102);
	CALL(fid_bind, kfi_pep_bind, &fake_pep, P(1), 102);
	CALL(fid_bind, kfi_scalable_ep_bind, &fake_ep, P(1), 102);
	CALL(ep_cancel, kfi_cancel, &fake_ep.fid, P(1));
	CALL(ep_setopt, kfi_setopt, &fake_ep.fid, 101, 102, P(3), 104);
	CALL(ep_getopt, kfi_getopt, &fake_ep.fid, 101, 102, P(3), P(4));
	CALL(ep_tx_ctx, kfi_tx_context, &fake_ep, 101, P(2), P(3), P(4));
	CALL(ep_rx_ctx, kfi_rx_context, &fake_ep, 101, P(2), P(3), P(4));
	CALL(domain_stx_ctx, kfi_stx_context, &fake_domain, P(1), P(2), P(3));
	CALL(domain_srx_ctx, kfi_srx_context, &fake_domain, P(1), P(2), P(3));
}

Test(kfi_calls, connections)
{
	CALL(cm_setname, kfi_setname, &fake_ep.fid, P(1), 102);
	CALL(cm_getname, kfi_getname, &fake_ep.fid, P(1), P(2));
	CALL(cm_getpeer, kfi_getpeer, &fake_ep, P(1), P(2));
	CALL(cm_listen, kfi_listen, &fake_pep);
	CALL(cm_connect, kfi_connect, &fake_ep, P(1), P(2), 103);
	CALL(cm_accept, kfi_accept, &fake_ep, P(1), 102);
	CALL(cm_reject, kfi_reject, &fake_pep, P(1), P(2), 103);
	CALL(cm_shutdown, kfi_shutdown, &fake_ep, 101);
	CALL(cm_join, kfi_join, &fake_ep, P(1), 102, P(3), P(4));
}

Test(kfi_calls, enable_takes_no_argument)
{
	int result = kfi_enable(&fake_ep);

	fake_check("fid_control", "kfi_enable", WORDS(&fake_ep, KFI_ENABLE, NULL), 3, (uint64_t)result);
	result = kfi_mr_enable(&fake_mr);
	fake_check("fid_control", "kfi_mr_enable", WORDS(&fake_mr, KFI_ENABLE, NULL), 3, (uint64_t)result);
}

/* The op was reached with a command whose argument the fake provider has copied. */
static void check_command(void *object, int command)
{
	cr_assert_str_eq(fake_last.op, "fid_control");
	cr_assert_eq(fake_last.words[0], (uint64_t)object);
	cr_assert_eq(fake_last.words[1], (uint64_t)command);
}

Test(kfi_calls, raw_keys)
{
	uint64_t result = (uint64_t)kfi_mr_raw_attr(&fake_mr, P(1), P(2), P(3), 104);

	check_command(&fake_mr, KFI_GET_RAW_MR);
	cr_assert_eq(result, fake_last.result);
	cr_assert_eq(fake_last.arg.raw.base_addr, P(1));
	cr_assert_eq(fake_last.arg.raw.raw_key, P(2));
	cr_assert_eq(fake_last.arg.raw.key_size, P(3));
	cr_assert_eq(fake_last.arg.raw.flags, 104);

	result = (uint64_t)kfi_mr_map_raw(&fake_domain, 101, P(2), 103, P(4), 105);
	check_command(&fake_domain, KFI_MAP_RAW_MR);
	cr_assert_eq(result, fake_last.result);
	cr_assert_eq(fake_last.arg.map.base_addr, 101);
	cr_assert_eq(fake_last.arg.map.raw_key, P(2));
	cr_assert_eq(fake_last.arg.map.key_size, 103);
	cr_assert_eq(fake_last.arg.map.key, P(4));
	cr_assert_eq(fake_last.arg.map.flags, 105);

	result = (uint64_t)kfi_mr_unmap_key(&fake_domain, 101);
	check_command(&fake_domain, KFI_UNMAP_KEY);
	cr_assert_eq(result, fake_last.result);
	cr_assert_eq(fake_last.arg.key, 101);
}

Test(kfi_calls, refresh_leaves_the_type_zero)
{
	uint64_t result = (uint64_t)kfi_mr_refresh(&fake_mr, P(1), 102, 103);
	struct kfi_mr_attr *attr = &fake_last.arg.modify.attr;

	check_command(&fake_mr, KFI_REFRESH);
	cr_assert_eq(result, fake_last.result);
	cr_assert_eq(attr->type, 0);
	cr_assert_eq(attr->mr_iov, P(1));
	cr_assert_eq(attr->iov_count, 102);
	cr_assert_eq(fake_last.arg.modify.flags, 103);
	cr_assert_eq(attr->access | attr->offset | attr->requested_key | attr->auth_key_size, 0);
	cr_assert_null(attr->context);
	cr_assert_null(attr->auth_key);
}

Test(kfi_calls, aliases)
{
	struct kfid *alias = NULL;
	struct kfid_ep *ep = NULL;

	cr_assert_eq(kfi_alias(&fake_cq.fid, &alias, 102), 0);
	check_command(&fake_cq, KFI_ALIAS);
	cr_assert_eq(fake_last.arg.alias.fid, &alias);
	cr_assert_eq(fake_last.arg.alias.flags, 102);
	cr_assert_eq(alias, &fake_ep.fid);
	cr_assert_eq(kfi_ep_alias(&fake_ep, &ep, 103), 0);
	check_command(&fake_ep, KFI_ALIAS);
	cr_assert_eq(fake_last.arg.alias.flags, 103);
	cr_assert_eq(ep, &fake_ep);
}

static int refuse(struct kfid *fid, int command, void *arg)
{
	(void)fid;
	(void)command;
	(void)arg;
	return -KFI_EINVAL;
}

Test(kfi_calls, a_refused_alias_leaves_the_output)
{
	struct kfi_ops ops = { .size = sizeof(ops), .control = refuse };
	struct kfid_ep ep = { .fid = { .ops = &ops } }, *alias = P(1);

	cr_assert_eq(kfi_ep_alias(&ep, &alias, 0), -KFI_EINVAL);
	cr_assert_eq(alias, P(1));
}

Test(kfi_calls, values_of_a_region)
{
	struct kfid_mc mc = { .addr = 17 };

	cr_assert_eq(kfi_mr_desc(&fake_mr), P(1));
	cr_assert_eq(kfi_mr_key(&fake_mr), 7);
	cr_assert_eq(kfi_mc_addr(&mc), 17);
}

Test(kfi_calls, receive_contexts_and_traffic_classes)
{
	cr_assert_eq(kfi_rx_addr(5, 3, 8), 0x0300000000000005);
	cr_assert_eq(kfi_rx_addr(5, 255, 8), 0xff00000000000005);
	cr_assert_eq(kfi_rx_addr(5, 0, 1), 5);
	cr_assert_eq(kfi_tc_dscp_set(46), 0x12e);
	cr_assert_eq(kfi_tc_dscp_get(0x12e), 46);
	cr_assert_eq(kfi_tc_dscp_get(KFI_TC_LOW_LATENCY), 0);
}

/* A table of a provider that was written before the op, and one that has no such op. */
Test(kfi_calls, an_op_that_the_provider_lacks_is_not_called)
{
	struct kfi_ops_cntr cntr_ops = *fake_cntr.ops;
	struct kfi_ops_cm cm_ops = *fake_ep.cm;
	struct kfid_cntr cntr = { .ops = &cntr_ops };
	struct kfid_ep ep = { .cm = &cm_ops };

	cntr_ops.size = offsetof(struct kfi_ops_cntr, adderr);
	cr_assert_eq(kfi_cntr_adderr(&cntr, 1), -KFI_ENOSYS);
	cr_assert_eq(kfi_cntr_seterr(&cntr, 1), -KFI_ENOSYS);
	cntr_ops = *fake_cntr.ops;
	cntr_ops.adderr = NULL;
	cr_assert_eq(kfi_cntr_adderr(&cntr, 1), -KFI_ENOSYS);
	cr_assert_neq(kfi_cntr_seterr(&cntr, 1), -KFI_ENOSYS);
	cm_ops.join = NULL;
	cr_assert_eq(kfi_join(&ep, P(1), 0, P(3), P(4)), -KFI_ENOSYS);
	ep.cm = NULL;
	cr_assert_eq(kfi_join(&ep, P(1), 0, P(3), P(4)), -KFI_ENOSYS);
}
