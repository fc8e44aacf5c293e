/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_negotiate.c - hints against a personality: a ladder of checks, each of which also writes what it grants. */
#include "emu/fi/fi_negotiate.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "emu/fi/fi_addr.h"
#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_mr_mode.h"
#include "emu/fi/fi_prov.h"

#define TX_CAPS	(FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE | FI_FENCE)
#define RX_CAPS	(FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_DIRECTED_RECV | FI_SOURCE)
#define MSG_MODIFIERS (FI_SEND | FI_RECV)
#define RMA_MODIFIERS (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define LEVELS	(FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define TX_FLAGS (FI_COMPLETION | FI_INJECT | LEVELS)
#define RX_FLAGS (FI_COMPLETION | LEVELS)
#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM | FI_DIRECTED_RECV)

struct want {
	const struct attr_table *attr;
	const struct settings *settings;
	uint32_t api;
	const struct fi_info *hints;
	char  *why;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static bool no(const struct want *want, const char *format, ...)
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
	return no(want, "%s %#llx asked, at most %#llx offered", field, (unsigned long long)asked,
		  (unsigned long long)offered);
}

static bool only(const struct want *want, const char *field, uint64_t asked, uint64_t offered, enum fi_type type)
{
	uint64_t extra = asked & ~offered;
	char text[512];

	if (!extra)
		return true;
	return no(want, "%s %#llx (%s) not offered", field, (unsigned long long)extra,
		  fi_tostr_r(text, sizeof(text), &extra, type));
}

uint64_t caps_complete(uint64_t caps)
{
	if ((caps & FI_MSG) && !(caps & MSG_MODIFIERS))
		caps |= MSG_MODIFIERS;
	if ((caps & FI_RMA) && !(caps & RMA_MODIFIERS))
		caps |= RMA_MODIFIERS;
	if (!(caps & (FI_LOCAL_COMM | FI_REMOTE_COMM)))
		caps |= FI_LOCAL_COMM | FI_REMOTE_COMM;
	return caps | FI_FENCE; /* costs nothing, asked or not */
}

static bool fit_caps(const struct want *want, struct fi_info *info)
{
	uint64_t asked = want->hints->caps;

	if (!only(want, "caps", asked, want->attr->caps, FI_TYPE_CAPS))
		return false;
	if (!asked)
		return true;
	if ((asked & RMA_MODIFIERS) && !(asked & FI_RMA))
		return no(want, "FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE require FI_RMA");
	info->caps = caps_complete(asked);
	return true;
}

static bool fit_ep(const struct want *want, struct fi_info *info)
{
	const struct fi_ep_attr *asked = want->hints->ep_attr;
	struct fi_ep_attr *ep = info->ep_attr;

	if (!asked)
		return true;
	if (asked->type != FI_EP_UNSPEC && asked->type != FI_EP_RDM) {
		char text[64];

		return no(want, "endpoint type %s not offered: only FI_EP_RDM",
			  fi_tostr_r(text, sizeof(text), &asked->type, FI_TYPE_EP_TYPE));
	}
	if (asked->protocol && asked->protocol != ATTR_PROTOCOL)
		return no(want, "protocol %#x not offered: only %#x", asked->protocol, ATTR_PROTOCOL);
	if (asked->msg_prefix_size)
		return no(want, "msg_prefix_size %zu asked, none offered", asked->msg_prefix_size);
	if (asked->mem_tag_format)
		return no(want, "mem_tag_format asked, FI_TAGGED not offered");
	if (asked->tx_ctx_cnt > 1 || asked->rx_ctx_cnt > 1)
		return no(want, "scalable endpoints and shared contexts (tx_ctx_cnt, rx_ctx_cnt above 1) not offered");
	if (FI_VERSION_GE(want->api, FI_VERSION(1, 5)) && asked->auth_key_size)
		return no(want, "authorization keys not offered");
	/* All ones asks for order at any size: that is kept, since no message is longer than max_msg_size. */
	if (asked->max_order_raw_size == SIZE_MAX)
		ep->max_order_raw_size = SIZE_MAX;
	if (asked->max_order_war_size == SIZE_MAX)
		ep->max_order_war_size = SIZE_MAX;
	if (asked->max_order_waw_size == SIZE_MAX)
		ep->max_order_waw_size = SIZE_MAX;
	return at_most(want, "protocol_version", asked->protocol_version, ep->protocol_version) &&
	       at_most(want, "max_msg_size", asked->max_msg_size, ep->max_msg_size) &&
	       at_most(want, "max_order_raw_size", asked->max_order_raw_size, ep->max_order_raw_size) &&
	       at_most(want, "max_order_war_size", asked->max_order_war_size, ep->max_order_war_size) &&
	       at_most(want, "max_order_waw_size", asked->max_order_waw_size, ep->max_order_waw_size);
}

static bool fit_tx(const struct want *want, struct fi_info *info)
{
	const struct fi_tx_attr *asked = want->hints->tx_attr;
	struct fi_tx_attr *tx = info->tx_attr;

	tx->caps = info->caps & TX_CAPS;
	if (!asked)
		return true;
	if (!only(want, "tx_attr->caps", asked->caps, info->caps, FI_TYPE_CAPS) ||
	    !only(want, "tx_attr->op_flags", asked->op_flags, TX_FLAGS, FI_TYPE_OP_FLAGS) ||
	    !only(want, "tx_attr->msg_order", asked->msg_order, tx->msg_order, FI_TYPE_MSG_ORDER) ||
	    !at_most(want, "tx_attr->comp_order", asked->comp_order, 0) ||
	    !at_most(want, "tx_attr->inject_size", asked->inject_size, tx->inject_size) ||
	    !at_most(want, "tx_attr->size", asked->size, tx->size) ||
	    !at_most(want, "tx_attr->iov_limit", asked->iov_limit, tx->iov_limit) ||
	    !at_most(want, "tx_attr->rma_iov_limit", asked->rma_iov_limit, tx->rma_iov_limit))
		return false;
	tx->caps = asked->caps ? asked->caps & TX_CAPS : tx->caps;
	tx->op_flags = asked->op_flags;
	tx->msg_order = asked->msg_order ? asked->msg_order : tx->msg_order;
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
	    !only(want, "rx_attr->op_flags", asked->op_flags, RX_FLAGS, FI_TYPE_OP_FLAGS) ||
	    !only(want, "rx_attr->msg_order", asked->msg_order, rx->msg_order, FI_TYPE_MSG_ORDER) ||
	    !at_most(want, "rx_attr->comp_order", asked->comp_order, 0) ||
	    !at_most(want, "rx_attr->total_buffered_recv", asked->total_buffered_recv, rx->total_buffered_recv) ||
	    !at_most(want, "rx_attr->size", asked->size, rx->size) ||
	    !at_most(want, "rx_attr->iov_limit", asked->iov_limit, rx->iov_limit))
		return false;
	rx->caps = asked->caps ? asked->caps & RX_CAPS : rx->caps;
	rx->op_flags = asked->op_flags;
	rx->msg_order = asked->msg_order ? asked->msg_order : rx->msg_order;
	rx->size = asked->size ? asked->size : rx->size;
	rx->iov_limit = asked->iov_limit ? asked->iov_limit : rx->iov_limit;
	return true;
}

/* AUTO, MANUAL or what was asked of the two. FI_EMU_PROGRESS=manual takes AUTO off the offer. */
static bool fit_progress(const struct want *want, struct fi_info *info)
{
	const struct fi_domain_attr *asked = want->hints->domain_attr;
	struct fi_domain_attr *domain = info->domain_attr;
	int control = (int)asked->control_progress;

	if (want->settings->manual && (control == FI_PROGRESS_AUTO || asked->data_progress == FI_PROGRESS_AUTO))
		return no(want, "automatic progress asked, and FI_EMU_PROGRESS=manual takes it away");
	if (control > COMPAT_PROGRESS_CONTROL_UNIFIED || asked->data_progress > FI_PROGRESS_MANUAL)
		return no(want, "progress model %d, %d not offered", control, (int)asked->data_progress);
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
		return no(want, "threading model %d not offered", (int)asked->threading);
	if (asked->resource_mgmt > FI_RM_ENABLED)
		return no(want, "resource_mgmt %d not offered", (int)asked->resource_mgmt);
	if (asked->av_type > FI_AV_TABLE)
		return no(want, "av_type %d not offered", (int)asked->av_type);
	/* Every model of threading is served: the program may hold itself to a stricter one. */
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
	const struct fi_domain_attr *domain = info->domain_attr;

	if (!asked)
		return true;
	if (FI_VERSION_GE(want->api, FI_VERSION(1, 5)) && asked->auth_key_size)
		return no(want, "authorization keys not offered");
	return only(want, "domain_attr->caps", asked->caps, DOMAIN_CAPS, FI_TYPE_CAPS) &&
	       at_most(want, "mr_key_size", asked->mr_key_size, domain->mr_key_size) &&
	       at_most(want, "cq_data_size", asked->cq_data_size, domain->cq_data_size) &&
	       at_most(want, "mr_iov_limit", asked->mr_iov_limit, domain->mr_iov_limit) &&
	       at_most(want, "cq_cnt", asked->cq_cnt, domain->cq_cnt) &&
	       at_most(want, "ep_cnt", asked->ep_cnt, domain->ep_cnt) &&
	       at_most(want, "cntr_cnt", asked->cntr_cnt, domain->cntr_cnt) &&
	       at_most(want, "mr_cnt", asked->mr_cnt, domain->mr_cnt) &&
	       at_most(want, "tx_ctx_cnt", asked->tx_ctx_cnt, domain->tx_ctx_cnt) &&
	       at_most(want, "rx_ctx_cnt", asked->rx_ctx_cnt, domain->rx_ctx_cnt) &&
	       at_most(want, "max_ep_tx_ctx", asked->max_ep_tx_ctx, domain->max_ep_tx_ctx) &&
	       at_most(want, "max_ep_rx_ctx", asked->max_ep_rx_ctx, domain->max_ep_rx_ctx) &&
	       at_most(want, "max_ep_stx_ctx", asked->max_ep_stx_ctx, 0) &&
	       at_most(want, "max_ep_srx_ctx", asked->max_ep_srx_ctx, 0) &&
	       at_most(want, "max_err_data", asked->max_err_data, domain->max_err_data) && fit_models(want, info);
}

static bool fit_mr_mode(const struct want *want, struct fi_info *info)
{
	const struct fi_domain_attr *asked = want->hints->domain_attr;
	struct mr_grant grant;
	const char *why;

	why = mr_mode_grant(want->api, want->attr->mr_mode, info->caps, asked ? asked->mr_mode : 0, want->hints->mode,
			    &grant);
	if (why)
		return no(want, "mr_mode %#x: %s", (unsigned)(asked ? asked->mr_mode : 0), why);
	info->domain_attr->mr_mode = grant.mr_mode;
	info->mode = grant.mode;
	info->domain_attr->mode = info->tx_attr->mode = info->rx_attr->mode = grant.mode;
	return true;
}

static bool fit_rest(const struct want *want, struct fi_info *info)
{
	const struct fi_fabric_attr *fabric = want->hints->fabric_attr;

	(void)info;
	if (addr_family(want->hints->addr_format) < 0)
		return no(want, "addr_format %u not offered: FI_SOCKADDR_IN and FI_SOCKADDR_IN6 are",
			  want->hints->addr_format);
	if (want->hints->handle)
		return no(want, "info->handle given, passive endpoints not offered");
	return !fabric || at_most(want, "prov_version", fabric->prov_version, emu_provider.version);
}

/* The personality as it is, before any hint. */
static void offer(const struct want *want, struct fi_info *info)
{
	const struct attr_table *attr = want->attr;
	struct mr_grant grant;

	mr_mode_default(want->api, attr->mr_mode, attr->caps, &grant);
	info->caps = attr->caps;
	info->mode = grant.mode;
	*info->tx_attr = (struct fi_tx_attr){
		.caps = attr->caps & TX_CAPS, .mode = grant.mode, .msg_order = attr->msg_order,
		.inject_size = attr->inject_size, .size = attr->tx_size, .iov_limit = attr->iov_limit,
		.rma_iov_limit = attr->rma_iov_limit,
	};
	*info->rx_attr = (struct fi_rx_attr){
		.caps = attr->caps & RX_CAPS, .mode = grant.mode, .msg_order = attr->msg_order,
		.total_buffered_recv = attr->buffered_recv, .size = attr->rx_size, .iov_limit = attr->iov_limit,
	};
	*info->ep_attr = (struct fi_ep_attr){
		.type = FI_EP_RDM, .protocol = ATTR_PROTOCOL, .protocol_version = ATTR_PROTOCOL_VERSION,
		.max_msg_size = attr->max_msg_size, .max_order_raw_size = attr->max_msg_size,
		.max_order_war_size = attr->max_msg_size, .max_order_waw_size = attr->max_msg_size,
		.tx_ctx_cnt = 1, .rx_ctx_cnt = 1,
	};
}

/* Field by field: the structure may be longer than these headers know. */
static void offer_domain(const struct want *want, struct fi_domain_attr *domain)
{
	const struct attr_table *attr = want->attr;
	enum fi_progress progress = want->settings->manual ? FI_PROGRESS_MANUAL : FI_PROGRESS_AUTO;
	struct mr_grant grant;

	mr_mode_default(want->api, attr->mr_mode, attr->caps, &grant);
	domain->threading = FI_THREAD_SAFE;
	domain->control_progress = progress;
	domain->data_progress = progress;
	domain->resource_mgmt = FI_RM_ENABLED;
	domain->av_type = FI_AV_UNSPEC; /* both */
	domain->mr_mode = grant.mr_mode;
	domain->mode = grant.mode;
	domain->mr_key_size = attr->mr_key_size;
	domain->cq_data_size = attr->cq_data_size;
	domain->cq_cnt = attr->cq_cnt;
	domain->ep_cnt = attr->ep_cnt;
	domain->tx_ctx_cnt = attr->ep_cnt;
	domain->rx_ctx_cnt = attr->ep_cnt;
	domain->max_ep_tx_ctx = 1;
	domain->max_ep_rx_ctx = 1;
	domain->cntr_cnt = attr->cntr_cnt;
	domain->mr_iov_limit = attr->mr_iov_limit;
	domain->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
	domain->max_err_data = attr->max_err_data;
	domain->mr_cnt = attr->mr_cnt;
}

struct fi_info *negotiate(const struct settings *settings, uint32_t api, const struct fi_info *hints,
			  char *why, size_t size)
{
	struct want want = {
		.attr = settings->attr, .settings = settings, .api = api, .hints = hints, .why = why, .size = size,
	};
	struct fi_info *info = fi_allocinfo();

	*why = '\0';
	if (!info)
		return NULL;
	offer(&want, info);
	offer_domain(&want, info->domain_attr);
	info->fabric_attr->api_version = api;
	if (!hints)
		return info;
	if (fit_ep(&want, info) && fit_caps(&want, info) && fit_tx(&want, info) && fit_rx(&want, info) &&
	    fit_domain(&want, info) && fit_mr_mode(&want, info) && fit_rest(&want, info))
		return info;
	fi_freeinfo(info);
	return NULL;
}
