/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_negotiate.c - hints against a personality: a sequence of checks, each of which also writes what it grants. */
#include "emu/fi/info/fi_info.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/domain/fi_auth.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/address/fi_addr.h"
#include "emu/fi/personality/fi_mr_mode.h"
#include "emu/fi/provider/fi_words.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_registry.h"

#define TX_CAPS                                                                                                      \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE | FI_FENCE | FI_RMA_PMEM | FI_HMEM | \
	 FI_NAMED_RX_CTX | FI_TRIGGER | FI_COLLECTIVE | EMU_FI_TAGGED_RMA)
#define RX_CAPS                                                                                                                    \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_DIRECTED_RECV | FI_MULTI_RECV | \
	 FI_SOURCE | FI_SOURCE_ERR | FI_RMA_EVENT | FI_RMA_PMEM | FI_HMEM | FI_TRIGGER | FI_COLLECTIVE | ATTR_CAPS_2_0 |           \
	 ATTR_CAPS_KERNEL)
#define TX_FLAGS (FI_COMPLETION | FI_INJECT)
#define RX_FLAGS (FI_COMPLETION | ATTR_LEVELS)
#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV | FI_DIRECTED_RECV)

struct want {
	const struct attr_table *attr;
	const struct settings *settings;
	uint32_t api;
	const struct fi_info *hints;
	const struct attr_type *type;
	uint64_t caps;     /* of endpoints of that type */
	int mr_mode;       /* the bits that the personality asks for */
	uint64_t contexts; /* mode bits that are asked of programs that have them: FI_CONTEXT, FI_CONTEXT2; 0: none */
	char *why;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static bool no_offer(const struct want *want, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(want->why, want->size, format, args);
	va_end(args);
	return false;
}

static bool at_most(const struct want *want, const char *field, uint64_t asked, uint64_t offered)
{
	if (asked <= offered)
		return true;
	return no_offer(want, "%s %#llx asked, at most %#llx offered", field, (unsigned long long)asked,
			(unsigned long long)offered);
}

static const char *names_of(uint64_t bits, enum fi_type type, char text[FLAG_NAMES_MAX])
{
	bool flags = type == FI_TYPE_OP_FLAGS || type == FI_TYPE_CAPS;

	return flags ? flag_names(bits, type, text) : fi_tostr_r(text, FLAG_NAMES_MAX, &bits, type);
}

static bool only(const struct want *want, const char *field, uint64_t asked, uint64_t offered, enum fi_type type)
{
	uint64_t extra = asked & ~offered;
	char text[FLAG_NAMES_MAX], all[FLAG_NAMES_MAX];

	if (!extra)
		return true;
	return no_offer(want, "%s %#llx (%s) not offered: %#llx (%s) is", field, (unsigned long long)extra,
			names_of(extra, type, text), (unsigned long long)offered, names_of(offered, type, all));
}

static bool fit_caps(const struct want *want, struct fi_info *info)
{
	uint64_t asked = want->hints->caps;

	if (asked & FI_HMEM && !(want->caps & FI_HMEM))
		return no_offer(want,
				"FI_HMEM asked, and FI_HMEM_DISABLE_P2P forbids the only way to devices that there is (S155)");
	if (!only(want, "caps", asked, want->caps, FI_TYPE_CAPS))
		return false;
	if (!asked)
		return true;
	if ((asked & RMA_MODIFIERS) && !(asked & (FI_RMA | FI_ATOMIC)))
		return no_offer(want, "FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE require FI_RMA or FI_ATOMIC");
	if ((asked & FI_RMA_PMEM) && !(asked & FI_RMA))
		return no_offer(want, "FI_RMA_PMEM requires FI_RMA");
	if ((asked & FI_MULTI_RECV) && !(asked & FI_MSG))
		return no_offer(want, "FI_MULTI_RECV requires FI_MSG");
	if ((asked & (COMPAT_TAGGED_MULTI_RECV | COMPAT_TAGGED_DIRECTED_RECV)) && !(asked & FI_TAGGED))
		return no_offer(want, "FI_TAGGED_MULTI_RECV, FI_TAGGED_DIRECTED_RECV require FI_TAGGED");
	if ((asked & FI_SOURCE_ERR) && !(asked & FI_SOURCE))
		return no_offer(want, "FI_SOURCE_ERR requires FI_SOURCE");
	if ((asked & EMU_FI_TAGGED_RMA) && (asked & (FI_RMA | FI_TAGGED)) != (FI_RMA | FI_TAGGED))
		return no_offer(want, "EMU_FI_TAGGED_RMA requires FI_RMA and FI_TAGGED");
	info->caps = caps_complete(asked);
	if ((asked & EMU_FI_REGION_EVENTS) && !caps_rma_target(info->caps))
		return no_offer(want, "EMU_FI_REGION_EVENTS requires FI_RMA or FI_ATOMIC with FI_REMOTE_READ or FI_REMOTE_WRITE");
	if ((asked & FI_RMA_EVENT) && !caps_rma_target(info->caps))
		return no_offer(want, "FI_RMA_EVENT requires FI_RMA or FI_ATOMIC with FI_REMOTE_READ or FI_REMOTE_WRITE");
	return true;
}

/* Grants the key asked for, as a copy that the info owns. */
static bool fit_auth(const struct want *want, const uint8_t *asked, size_t size, uint8_t **key, size_t *key_size)
{
	const char *flaw;

	if (!size)
		return true;
	flaw = auth_flaw(asked, size, 0);
	if (flaw)
		return no_offer(want, "%s", flaw);
	*key = malloc(size);
	if (!*key)
		return no_offer(want, "no memory for an authorization key");
	memcpy(*key, asked, size);
	*key_size = size;
	return true;
}

static bool fit_domain_auth(const struct want *want, struct fi_domain_attr *domain)
{
	const struct fi_domain_attr *asked = want->hints->domain_attr;
	const size_t *asked_keys = auth_ep_keys(want->api, (struct fi_domain_attr *)(uintptr_t)asked);
	size_t *keys = auth_ep_keys(want->api, domain);

	if (!auth_known(want->api))
		return true;
	if (auth_by_av(want->api, asked->auth_key_size) && want->type->type == FI_EP_MSG)
		return no_offer(want, "FI_AV_AUTH_KEY asked, and FI_EP_MSG has no address vector");
	if (!auth_by_av(want->api, asked->auth_key_size)) {
		if (!fit_auth(want, asked->auth_key, asked->auth_key_size, &domain->auth_key, &domain->auth_key_size))
			return false;
	} else if (asked->auth_key) {
		return no_offer(want, "auth_key is not NULL beside FI_AV_AUTH_KEY");
	} else {
		domain->auth_key_size = asked->auth_key_size;
		if (keys)
			*keys = LIMIT_AV_KEYS;
	}
	return !keys || at_most(want, "max_ep_auth_key", *asked_keys, *keys);
}

static bool fit_context(const struct want *want, const char *field, size_t asked, size_t *granted)
{
	if (asked != FI_SHARED_CONTEXT && !at_most(want, field, asked, want->type->contexts))
		return false;
	if (asked)
		*granted = asked;
	return true;
}

/* One context per side, a shared one, or those of a scalable endpoint. */
static bool fit_contexts(const struct want *want, struct fi_ep_attr *ep)
{
	const struct fi_ep_attr *asked = want->hints->ep_attr;

	return fit_context(want, "tx_ctx_cnt", asked->tx_ctx_cnt, &ep->tx_ctx_cnt) &&
	       fit_context(want, "rx_ctx_cnt", asked->rx_ctx_cnt, &ep->rx_ctx_cnt);
}

/* All ones asks for order at any size. Reliable endpoints grant it, since no message is longer than max_msg_size. */
static bool fit_ordered(const struct want *want, struct fi_ep_attr *ep)
{
	const struct fi_ep_attr *asked = want->hints->ep_attr;
	bool any = want->type->reliable;

	if (any && asked->max_order_raw_size == SIZE_MAX)
		ep->max_order_raw_size = SIZE_MAX;
	if (any && asked->max_order_war_size == SIZE_MAX)
		ep->max_order_war_size = SIZE_MAX;
	if (any && asked->max_order_waw_size == SIZE_MAX)
		ep->max_order_waw_size = SIZE_MAX;
	return at_most(want, "max_order_raw_size", asked->max_order_raw_size, ep->max_order_raw_size) &&
	       at_most(want, "max_order_war_size", asked->max_order_war_size, ep->max_order_war_size) &&
	       at_most(want, "max_order_waw_size", asked->max_order_waw_size, ep->max_order_waw_size);
}

static bool fit_ep(const struct want *want, struct fi_info *info)
{
	const struct fi_ep_attr *asked = want->hints->ep_attr;
	struct fi_ep_attr *ep = info->ep_attr;

	if (!asked)
		return true;
	if (asked->type != FI_EP_UNSPEC && asked->type != want->type->type) {
		char text[64];

		return no_offer(want, "endpoint type %s not offered: FI_EP_RDM, FI_EP_MSG and FI_EP_DGRAM are",
				fi_tostr_r(text, sizeof(text), &asked->type, FI_TYPE_EP_TYPE));
	}
	if (asked->protocol && asked->protocol != ep->protocol)
		return no_offer(want, "protocol %#x not offered: only %#x", asked->protocol, ep->protocol);
	if (asked->msg_prefix_size)
		return no_offer(want, "msg_prefix_size %zu asked, none offered", asked->msg_prefix_size);
	if (!fit_contexts(want, ep))
		return false;
	if (auth_known(want->api) && !fit_auth(want, asked->auth_key, asked->auth_key_size, &ep->auth_key, &ep->auth_key_size))
		return false;
	if (asked->mem_tag_format && want->caps & FI_TAGGED) /* any fields will do: all bits of a tag are matched */
		ep->mem_tag_format = asked->mem_tag_format;
	return at_most(want, "protocol_version", asked->protocol_version, ep->protocol_version) &&
	       at_most(want, "max_msg_size", asked->max_msg_size, ep->max_msg_size) && fit_ordered(want, ep);
}

/* A DSCP or a label of fi_endpoint(3), which is granted; streams to a peer are all of one class. */
static bool fit_class(const struct want *want, const char *field, uint32_t asked, uint32_t *granted)
{
	bool dscp = asked >= FI_TC_DSCP && asked < FI_TC_DSCP + 64;
	bool label = asked >= FI_TC_LABEL && asked <= FI_TC_NETWORK_CTRL;

	if (asked != FI_TC_UNSPEC && !dscp && !label)
		return no_offer(want, "%s %#x not offered: no DSCP of fi_tc_dscp_set() and no label FI_TC_*", field, asked);
	*granted = asked;
	return true;
}

/* A program that asks for no order gets all that there is, unless what it forgot to ask for is to be found. */
static uint64_t order_given(const struct want *want, uint64_t asked, uint64_t all)
{
	return asked || want->settings->process.order == ORDER_WEAK ? asked : all;
}

static bool fit_tx(const struct want *want, struct fi_info *info)
{
	const struct fi_tx_attr *asked = want->hints->tx_attr;
	struct fi_tx_attr *tx = info->tx_attr;

	tx->caps = info->caps & TX_CAPS;
	if (!asked)
		return true;
	if (!only(want, "tx_attr->caps", asked->caps, info->caps, FI_TYPE_CAPS) ||
	    !only(want, "tx_attr->op_flags", asked->op_flags,
		  TX_FLAGS | want->type->levels | (info->caps & FI_RMA_PMEM ? FI_COMMIT_COMPLETE : 0), FI_TYPE_OP_FLAGS) ||
	    !only(want, "tx_attr->msg_order", asked->msg_order, tx->msg_order, FI_TYPE_MSG_ORDER) ||
	    !at_most(want, "tx_attr->comp_order", asked->comp_order, 0) ||
	    !at_most(want, "tx_attr->inject_size", asked->inject_size, tx->inject_size) ||
	    !at_most(want, "tx_attr->size", asked->size, tx->size) ||
	    !at_most(want, "tx_attr->iov_limit", asked->iov_limit, tx->iov_limit) ||
	    !at_most(want, "tx_attr->rma_iov_limit", asked->rma_iov_limit, tx->rma_iov_limit) ||
	    !fit_class(want, "tx_attr->tclass", asked->tclass, &tx->tclass))
		return false;
	tx->caps = asked->caps ? asked->caps & TX_CAPS : tx->caps;
	tx->op_flags = asked->op_flags;
	tx->msg_order = order_given(want, asked->msg_order, tx->msg_order);
	tx->inject_size = asked->inject_size ? asked->inject_size : tx->inject_size;
	tx->size = asked->size ? asked->size : tx->size;
	tx->iov_limit = asked->iov_limit ? asked->iov_limit : tx->iov_limit;
	tx->rma_iov_limit = asked->rma_iov_limit ? asked->rma_iov_limit : tx->rma_iov_limit;
	return true;
}

static bool fit_rx(const struct want *want, struct fi_info *info)
{
	const struct fi_rx_attr *asked = want->hints->rx_attr;
	struct fi_rx_attr *rx = info->rx_attr;

	rx->caps = info->caps & RX_CAPS;
	if (!asked)
		return true;
	if (!only(want, "rx_attr->caps", asked->caps, info->caps, FI_TYPE_CAPS) ||
	    !only(want, "rx_attr->op_flags", asked->op_flags, RX_FLAGS | caps_multi(info->caps), FI_TYPE_OP_FLAGS) ||
	    !only(want, "rx_attr->msg_order", asked->msg_order, rx->msg_order, FI_TYPE_MSG_ORDER) ||
	    !at_most(want, "rx_attr->comp_order", asked->comp_order, 0) ||
	    !at_most(want, "rx_attr->total_buffered_recv", asked->total_buffered_recv, rx->total_buffered_recv) ||
	    !at_most(want, "rx_attr->size", asked->size, rx->size) ||
	    !at_most(want, "rx_attr->iov_limit", asked->iov_limit, rx->iov_limit))
		return false;
	rx->caps = asked->caps ? asked->caps & RX_CAPS : rx->caps;
	rx->op_flags = asked->op_flags;
	rx->msg_order = order_given(want, asked->msg_order, rx->msg_order);
	rx->size = asked->size ? asked->size : rx->size;
	rx->iov_limit = asked->iov_limit ? asked->iov_limit : rx->iov_limit;
	return true;
}

/* AUTO or MANUAL, as asked. FI_EMU_PROGRESS=manual offers no AUTO. */
static bool fit_progress(const struct want *want, struct fi_info *info)
{
	const struct fi_domain_attr *asked = want->hints->domain_attr;
	struct fi_domain_attr *domain = info->domain_attr;
	int control = (int)asked->control_progress;

	if (want->settings->process.manual && (control == FI_PROGRESS_AUTO || asked->data_progress == FI_PROGRESS_AUTO))
		return no_offer(want, "automatic progress asked, and FI_EMU_PROGRESS=manual takes it away");
	if (control > COMPAT_PROGRESS_CONTROL_UNIFIED || asked->data_progress > FI_PROGRESS_MANUAL)
		return no_offer(want, "progress model %d, %d not offered", control, (int)asked->data_progress);
	if (control != FI_PROGRESS_UNSPEC)
		domain->control_progress = asked->control_progress;
	if (asked->data_progress != FI_PROGRESS_UNSPEC)
		domain->data_progress = asked->data_progress;
	return true;
}

static bool fit_models(const struct want *want, struct fi_info *info)
{
	const struct fi_domain_attr *asked = want->hints->domain_attr;
	struct fi_domain_attr *domain = info->domain_attr;

	if (asked->threading > FI_THREAD_ENDPOINT)
		return no_offer(want, "threading model %d not offered", (int)asked->threading);
	if (asked->resource_mgmt > FI_RM_ENABLED)
		return no_offer(want, "resource_mgmt %d not offered", (int)asked->resource_mgmt);
	if (asked->av_type > FI_AV_TABLE)
		return no_offer(want, "av_type %d not offered", (int)asked->av_type);
	/* Every threading model is granted, as the NIC serves FI_THREAD_SAFE. */
	if (asked->threading != FI_THREAD_UNSPEC)
		domain->threading = asked->threading;
	if (asked->resource_mgmt != FI_RM_UNSPEC)
		domain->resource_mgmt = asked->resource_mgmt;
	if (asked->av_type != FI_AV_UNSPEC)
		domain->av_type = asked->av_type;
	return fit_progress(want, info);
}

static bool fit_domain(const struct want *want, struct fi_info *info)
{
	const struct fi_domain_attr *asked = want->hints->domain_attr;
	struct fi_domain_attr *domain = info->domain_attr;

	if (!asked)
		return true;
	return fit_domain_auth(want, domain) && only(want, "domain_attr->caps", asked->caps, DOMAIN_CAPS, FI_TYPE_CAPS) &&
	       at_most(want, "cq_data_size", asked->cq_data_size, domain->cq_data_size) &&
	       at_most(want, "mr_iov_limit", asked->mr_iov_limit, domain->mr_iov_limit) &&
	       at_most(want, "cq_cnt", asked->cq_cnt, domain->cq_cnt) && at_most(want, "ep_cnt", asked->ep_cnt, domain->ep_cnt) &&
	       at_most(want, "cntr_cnt", asked->cntr_cnt, domain->cntr_cnt) &&
	       at_most(want, "mr_cnt", asked->mr_cnt, domain->mr_cnt) &&
	       at_most(want, "tx_ctx_cnt", asked->tx_ctx_cnt, domain->tx_ctx_cnt) &&
	       at_most(want, "rx_ctx_cnt", asked->rx_ctx_cnt, domain->rx_ctx_cnt) &&
	       at_most(want, "max_ep_tx_ctx", asked->max_ep_tx_ctx, domain->max_ep_tx_ctx) &&
	       at_most(want, "max_ep_rx_ctx", asked->max_ep_rx_ctx, domain->max_ep_rx_ctx) &&
	       at_most(want, "max_ep_stx_ctx", asked->max_ep_stx_ctx, domain->max_ep_stx_ctx) &&
	       at_most(want, "max_ep_srx_ctx", asked->max_ep_srx_ctx, domain->max_ep_srx_ctx) &&
	       at_most(want, "max_err_data", asked->max_err_data, domain->max_err_data) &&
	       fit_class(want, "domain_attr->tclass", asked->tclass, &domain->tclass) && fit_models(want, info);
}

/* S34, S51 */
static size_t key_size(const struct attr_table *attr, int mr_mode)
{
	return mr_mode & FI_MR_RAW ? attr->raw_key_size : attr->mr_key_size;
}

/* A domain that is open already keeps its rules: if the hints name it, they are granted, provided that all were offered. */
static bool fit_open_domain(const struct want *want, const struct fi_domain_attr *asked, struct mr_grant *grant)
{
	int rules;

	if (!domain_rules(asked->domain, &rules) || rules == mr_mode_rules(want->api, grant->mr_mode, grant->mode))
		return true;
	if (rules & ~asked->mr_mode)
		return no_offer(want, "domain_attr->domain is open with mr_mode %#x, and mr_mode %#x is offered", (unsigned)rules,
				(unsigned)asked->mr_mode);
	*grant = (struct mr_grant){ .mr_mode = rules };
	return true;
}

static bool fit_mr_mode(const struct want *want, struct fi_info *info)
{
	const struct fi_domain_attr *asked = want->hints->domain_attr;
	struct mr_grant grant;
	const char *why;

	why = mr_mode_grant(want->api, want->mr_mode, info->caps, asked ? asked->mr_mode : 0, want->hints->mode, &grant);
	if (why)
		return no_offer(want, "mr_mode %#x: %s", (unsigned)(asked ? asked->mr_mode : 0), why);
	if (asked && !fit_open_domain(want, asked, &grant))
		return false;
	info->domain_attr->mr_mode = grant.mr_mode;
	info->domain_attr->mr_key_size = key_size(want->attr, grant.mr_mode);
	info->mode = grant.mode | (want->hints->mode & want->contexts);
	info->domain_attr->mode = info->tx_attr->mode = info->rx_attr->mode = info->mode;
	return !asked || at_most(want, "mr_key_size", asked->mr_key_size, info->domain_attr->mr_key_size);
}

static bool fit_rest(const struct want *want, struct fi_info *info)
{
	const struct fi_fabric_attr *fabric = want->hints->fabric_attr;

	(void)info;
	if (addr_family(want->hints->addr_format) < 0)
		return no_offer(want, "addr_format %u not offered: addresses are of IPv4 or IPv6", want->hints->addr_format);
	if (want->hints->handle && (want->type->type != FI_EP_MSG || !registry_is_a(FI_CLASS_PEP, want->hints->handle)))
		return no_offer(want, "info->handle is not an open passive endpoint, or not for FI_EP_MSG");
	return !fabric || at_most(want, "prov_version", fabric->prov_version, emu_provider.version);
}

/* The personality's values, before any hint. */
static void offer(const struct want *want, struct fi_info *info)
{
	const struct attr_table *attr = want->attr;
	const struct attr_type *type = want->type;
	size_t longest = attr_type_message(attr, type);
	uint64_t caps = want->caps & ~ATTR_CAPS_ASKED;
	struct mr_grant grant;

	mr_mode_default(want->api, want->mr_mode, caps, &grant);
	info->caps = caps;
	info->mode = grant.mode;
	*info->tx_attr = (struct fi_tx_attr){
		.caps = caps & TX_CAPS,
		.mode = grant.mode,
		.msg_order = attr_type_order(attr, type),
		.inject_size = attr->inject_size,
		.size = attr->tx_size,
		.iov_limit = attr->iov_limit,
		.rma_iov_limit = caps & FI_RMA ? attr->rma_iov_limit : 0,
	};
	*info->rx_attr = (struct fi_rx_attr){
		.caps = caps & RX_CAPS,
		.mode = grant.mode,
		.msg_order = attr_type_order(attr, type),
		.total_buffered_recv = type->reliable ? attr->buffered_recv : 0,
		.size = attr->rx_size,
		.iov_limit = attr->iov_limit,
	};
	*info->ep_attr = (struct fi_ep_attr){
		.type = type->type,
		.protocol = type->protocol,
		.protocol_version = ATTR_PROTOCOL_VERSION,
		.max_msg_size = longest,
		.max_order_raw_size = type->reliable ? longest : 0,
		.max_order_war_size = type->reliable ? longest : 0,
		.max_order_waw_size = type->reliable ? longest : 0,
		.mem_tag_format = caps & FI_TAGGED ? ATTR_TAG_FORMAT : 0,
		.tx_ctx_cnt = 1,
		.rx_ctx_cnt = 1,
	};
}

/* Field by field: the structure may be longer than these headers know. */
static void offer_domain(const struct want *want, struct fi_domain_attr *domain)
{
	const struct attr_table *attr = want->attr;
	enum fi_progress progress = want->settings->process.manual ? FI_PROGRESS_MANUAL : FI_PROGRESS_AUTO;
	size_t *auth_keys = auth_ep_keys(want->api, domain);
	struct mr_grant grant;

	mr_mode_default(want->api, want->mr_mode, want->caps, &grant);
	if (auth_keys)
		*auth_keys = 1;
	domain->threading = FI_THREAD_SAFE;
	domain->control_progress = progress;
	domain->data_progress = progress;
	domain->resource_mgmt = FI_RM_ENABLED;
	domain->av_type = FI_AV_UNSPEC; /* both */
	domain->mr_mode = grant.mr_mode;
	domain->mode = grant.mode;
	domain->mr_key_size = key_size(attr, grant.mr_mode);
	domain->cq_data_size = attr->cq_data_size;
	domain->cq_cnt = attr->cq_cnt;
	domain->ep_cnt = attr->ep_cnt;
	domain->tx_ctx_cnt = attr->ctx_cnt;
	domain->rx_ctx_cnt = attr->ctx_cnt;
	domain->max_ep_tx_ctx = want->type->contexts;
	domain->max_ep_rx_ctx = want->type->contexts;
	domain->max_ep_stx_ctx = 1;
	domain->max_ep_srx_ctx = 1;
	domain->cntr_cnt = attr->cntr_cnt;
	domain->mr_iov_limit = attr->mr_iov_limit;
	domain->caps = FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV;
	domain->max_err_data = attr->max_err_data;
	domain->mr_cnt = attr->mr_cnt;
}

/* The loader is searched for devices only if the hints ask for their memory: a child that is forked while another thread searches
 * finds the loader's cache of libraries half unmapped. */
static void negotiate_hmem(struct want *want, const struct fi_info *hints)
{
	bool asked = !hints || !hints->caps || hints->caps & FI_HMEM ||
		     (hints->domain_attr && hints->domain_attr->mr_mode & FI_MR_HMEM);

	if (!asked || !hmem_find())
		want->mr_mode &= ~FI_MR_HMEM; /* S69 */
	if (asked && hmem_forbidden())
		want->caps &= ~FI_HMEM;
}

struct fi_info *negotiate(const struct settings *settings, uint32_t api, const struct fi_info *hints, const struct attr_type *type,
			  bool layered, char *why, size_t size)
{
	struct want want = {
		.attr = settings->attr,
		.settings = settings,
		.api = api,
		.hints = hints,
		.type = type,
		.caps = attr_type_caps(settings->attr, type, api),
		.why = why,
		.size = size,
		.contexts = settings->process.check.on ? FI_CONTEXT | FI_CONTEXT2 : 0,
		.mr_mode = layered ? mr_mode_layered(settings->attr->mr_mode) : settings->attr->mr_mode,
	};
	struct fi_info *info = fi_allocinfo();

	*why = '\0';
	if (!info)
		return NULL;
	negotiate_hmem(&want, hints);
	offer(&want, info);
	offer_domain(&want, info->domain_attr);
	info->fabric_attr->api_version = api;
	if (!hints)
		return info;
	if (fit_ep(&want, info) && fit_caps(&want, info) && fit_tx(&want, info) && fit_rx(&want, info) && fit_domain(&want, info) &&
	    fit_mr_mode(&want, info) && fit_rest(&want, info))
		return info;
	fi_freeinfo(info);
	return NULL;
}
