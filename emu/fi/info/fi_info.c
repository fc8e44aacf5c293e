/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_info.c - fi_getinfo: the info of negotiate(), once for each pair of own and peer's address that fits. */
#include "emu/fi/info/fi_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/domain/fi_auth.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/address/fi_addr.h"
#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_registry.h"

#define GETINFO_FLAGS (FI_NUMERICHOST | FI_PROV_ATTR_ONLY | FI_SOURCE | COMPAT_RESCAN | COMPAT_INTERNAL_FLAGS)

struct info_request {
	const char *node, *service;
	uint64_t flags;
	const struct fi_info *hints;
	int family;
	const struct settings *settings;
	struct local_addr *local; /* this machine's */
	size_t local_count;
	struct sockaddr_storage source[RESOLVED_MAX], dest[RESOLVED_MAX];
	int source_count, dest_count; /* 0: not given */
	struct fi_info *made, **end;
	char why[1024];
};

static int info_no_match(struct info_request *req, const char *what, const char *detail)
{
	snprintf(req->why, sizeof(req->why), "%s%s%s", what, detail ? " " : "", detail ? detail : "");
	return -FI_ENODATA;
}

/* Takes an address from the hints. */
static int take_hint(struct info_request *req, const char *field, const void *addr, size_t length, struct sockaddr_storage *out,
		     int *count)
{
	const struct sockaddr *given = addr;

	if (!addr)
		return 0;
	if (length < sizeof(*given) || !addr_size(given) || length < addr_size(given))
		return info_no_match(req, field, "is not an IPv4 or IPv6 address of the length given");
	if (req->family != AF_UNSPEC && req->family != given->sa_family)
		return info_no_match(req, field, "is not of the addr_format asked");
	memset(out, 0, sizeof(*out));
	memcpy(out, given, addr_size(given));
	*count = 1;
	return 0;
}

/* fi_getinfo(3): with FI_SOURCE node and service name the own address, else the peer's; hints give the other one. */
static int find_addresses(struct info_request *req)
{
	const struct fi_info *hints = req->hints;
	bool named = req->node || req->service;
	bool own = req->flags & FI_SOURCE;
	int count, err = 0;

	if (named) {
		count = addr_resolve(req->node, req->service, req->family, req->flags & FI_NUMERICHOST, own,
				     own ? req->source : req->dest);
		if (count < 0)
			return info_no_match(req, "nothing known by the name", req->node ? req->node : req->service);
		*(own ? &req->source_count : &req->dest_count) = count;
	}
	if (hints && !own)
		err = take_hint(req, "src_addr", hints->src_addr, hints->src_addrlen, req->source, &req->source_count);
	if (!err && hints && !req->source_count && emu_pep_address(hints->handle, &req->source[0]))
		req->source_count = 1;
	if (!err && hints && (own || !named))
		err = take_hint(req, "dest_addr", hints->dest_addr, hints->dest_addrlen, req->dest, &req->dest_count);
	return err;
}

/* True if the hints ask for this name, for an open object of this name, or for none. */
static bool name_fits(size_t class, const char *asked, const void *fid, const char *name)
{
	return (!asked || !strcmp(asked, name)) && (!fid || registry_find(class, name, fid, NULL, NULL));
}

static bool names_fit(const struct info_request *req, const struct local_addr *local)
{
	const struct fi_info *hints = req->hints;

	if (!hints)
		return true;
	return (!hints->domain_attr ||
		name_fits(FI_CLASS_DOMAIN, hints->domain_attr->name, hints->domain_attr->domain, local->iface)) &&
	       (!hints->fabric_attr ||
		name_fits(FI_CLASS_FABRIC, hints->fabric_attr->name, hints->fabric_attr->fabric, local->network));
}

/* Names open objects that conform to the info: those in the hints, or any. */
static void name_opened(const struct info_request *req, const struct local_addr *local, struct fi_info *info)
{
	const struct fi_info *hints = req->hints;
	const void *fabric = hints && hints->fabric_attr ? hints->fabric_attr->fabric : NULL;
	const void *domain = hints && hints->domain_attr ? hints->domain_attr->domain : NULL;

	info->fabric_attr->fabric = (struct fid_fabric *)registry_find(FI_CLASS_FABRIC, local->network, fabric, NULL, NULL);
	info->domain_attr->domain = (struct fid_domain *)registry_find(FI_CLASS_DOMAIN, local->iface, domain, domain_is_as, info);
}

static void *copy_addr(const struct sockaddr_storage *addr, size_t *length)
{
	void *copy;

	*length = addr_size((const struct sockaddr *)addr);
	copy = malloc(*length);
	if (copy)
		memcpy(copy, addr, *length);
	return copy;
}

/* Counters have 64 bits, those of errors, too: no hint asks for more. */
static void set_counts(uint32_t api, struct fi_domain_attr *attr)
{
	struct compat_domain_attr *as_of_2_5 = (struct compat_domain_attr *)attr;

	if (FI_VERSION_LT(fi_version(), COMPAT_CNTR_VALUE_SINCE) || FI_VERSION_LT(api, COMPAT_CNTR_VALUE_SINCE))
		return;
#if COMPAT_HEADERS < COMPAT_CNTR_VALUE_SINCE
	as_of_2_5->max_cntr_value = as_of_2_5->max_err_cntr_value = UINT64_MAX;
#else
	as_of_2_5->base.max_cntr_value = as_of_2_5->base.max_err_cntr_value = UINT64_MAX;
#endif
}

/* One more info: from `local` with this port, to `dest` (may be NULL). */
static int info_append(struct info_request *req, const struct fi_info *template, const struct local_addr *local, uint16_t port,
		       const struct sockaddr_storage *dest)
{
	const size_t *keys = auth_ep_keys(template->fabric_attr->api_version, template->domain_attr);
	struct sockaddr_storage source = local->addr;
	struct fi_info *info = fi_dupinfo(template);

	if (!info)
		return -FI_ENOMEM;
	if (keys) /* with old headers it was a fi_dupinfo that does not know the fields: here and in the next */
		*auth_ep_keys(template->fabric_attr->api_version, info->domain_attr) = *keys;
	set_counts(template->fabric_attr->api_version, info->domain_attr);
	*req->end = info;
	req->end = &info->next;
	addr_set_port(&source, port);
	info->handle = req->hints ? req->hints->handle : NULL;
	info->src_addr = copy_addr(&source, &info->src_addrlen);
	if (dest)
		info->dest_addr = copy_addr(dest, &info->dest_addrlen);
	info->addr_format = addr_format(source.ss_family, req->hints ? req->hints->addr_format : FI_FORMAT_UNSPEC);
	info->fabric_attr->name = strdup(local->network);
	info->domain_attr->name = strdup(local->iface);
	info->nic = nic_make(local);
	name_opened(req, local, info);
	if (!info->src_addr || (dest && !info->dest_addr) || !info->fabric_attr->name || !info->domain_attr->name || !info->nic)
		return -FI_ENOMEM;
	return 0;
}

/* All own addresses that are `source` (a wildcard: all of its family; NULL: all), for a peer at `dest` (or NULL). */
static int make_from(struct info_request *req, const struct fi_info *template, const struct sockaddr_storage *source,
		     const struct sockaddr_storage *dest)
{
	int err = 0;

	for (size_t i = 0; i < req->local_count && !err; i++) {
		const struct local_addr *local = &req->local[i];
		int family = local->addr.ss_family;

		if ((source && source->ss_family != family) || (dest && dest->ss_family != family))
			continue;
		if (source && !addr_is_wildcard(source) && !addr_same_host(source, &local->addr))
			continue;
		if (names_fit(req, local))
			err = info_append(req, template, local, source ? addr_port(source) : 0, dest);
	}
	return err;
}

/* To a peer: from the address that the route gives, or from that of the chosen interface. */
static int make_to(struct info_request *req, const struct fi_info *template, const struct sockaddr_storage *dest)
{
	struct sockaddr_storage source;
	int err = 0;

	if (req->source_count) {
		for (int i = 0; i < req->source_count && !err; i++)
			err = make_from(req, template, &req->source[i], dest);
		return err;
	}
	if (req->settings->process.iface)
		return make_from(req, template, NULL, dest);
	if (!addr_route(dest, &source))
		return 0;
	return make_from(req, template, &source, dest);
}

static int make_all(struct info_request *req, const struct fi_info *template)
{
	int err = 0;

	if (req->dest_count) {
		for (int i = 0; i < req->dest_count && !err; i++)
			err = make_to(req, template, &req->dest[i]);
	} else if (req->source_count) {
		for (int i = 0; i < req->source_count && !err; i++)
			err = make_from(req, template, &req->source[i], NULL);
	} else {
		err = make_from(req, template, NULL, NULL);
	}
	if (err)
		return err;
	if (req->made)
		return 0;
	if (!req->local_count)
		return info_no_match(req, "no interface with a usable address is up; FI_EMU_IFACE is",
				     req->settings->process.iface ? req->settings->process.iface : "not set");
	return info_no_match(req,
			     "no own address fits: the source asked is not one of this machine, no route leads to the peer, "
			     "or the domain or fabric asked by name does not exist",
			     NULL);
}

/* Makes one template for each type of endpoint that fits, and returns how many. `why` tells why the type asked for does not fit; if
 * none was asked for, the first. */
static int make_templates(struct info_request *req, uint32_t api, struct fi_info *templates[ATTR_TYPES])
{
	const struct attr_type *told = req->hints && req->hints->ep_attr ? attr_type(req->hints->ep_attr->type) : NULL;
	char unsaid[sizeof(req->why)];
	int count = 0;

	for (int i = 0; i < ATTR_TYPES; i++) {
		const struct attr_type *type = &attr_types[i];
		bool tell = told ? type == told : i == 0;

		templates[count] = negotiate(req->settings, api, req->hints, type, req->flags & COMPAT_CORE_ONLY,
					     tell ? req->why : unsaid, sizeof(req->why));
		count += templates[count] != NULL;
	}
	return count;
}

static int make_infos(struct info_request *req, struct fi_info *const *templates, int count)
{
	int err;

	err = find_addresses(req);
	if (!err)
		err = addr_local(req->settings->process.iface, req->family, &req->local, &req->local_count);
	for (int i = 0; i < count && !err; i++)
		err = make_all(req, templates[i]);
	free(req->local);
	return err;
}

static int collect(struct info_request *req, uint32_t api, struct fi_info **list)
{
	struct fi_info *templates[ATTR_TYPES];
	int count, err;

	req->family = req->hints ? addr_family(req->hints->addr_format) : AF_UNSPEC;
	count = make_templates(req, api, templates);
	if (!count)
		return *req->why ? -FI_ENODATA : -FI_ENOMEM;
	err = make_infos(req, templates, count);
	while (count)
		fi_freeinfo(templates[--count]);
	if (err)
		fi_freeinfo(req->made);
	else
		*list = req->made;
	return err;
}

/* Layered providers (rxm, rxd) ask for infos to build upon whenever a program calls fi_getinfo(): then no line is logged. */
static void say_why(const struct info_request *req)
{
	if (req->flags & COMPAT_CORE_ONLY)
		EMU_INFO(CORE, "no info: %s\n", req->why);
	else
		EMU_WARN(CORE, "no info: %s\n", req->why);
	if (!(req->flags & COMPAT_CORE_ONLY))
		asked_in_vain(req->why);
}

int emu_getinfo(uint32_t api, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		struct fi_info **list)
{
	struct settings settings;
	struct info_request req = {
		.node = node,
		.service = service,
		.flags = flags,
		.hints = hints,
		.settings = &settings,
	};
	int err;

	req.end = &req.made;
	asked_now();
	if (flags & ~GETINFO_FLAGS)
		return REFUSE_FLAGS(CORE, "fi_getinfo", flags & ~GETINFO_FLAGS);
	if (flags & FI_PROV_ATTR_ONLY) {
		*list = fi_allocinfo();
		return *list ? 0 : -FI_ENOMEM;
	}
	if ((flags & FI_SOURCE) && !node && !service)
		return REFUSE(CORE, -FI_EINVAL,
			      "fi_getinfo: FI_SOURCE says that node and service name the own address, and "
			      "both are NULL.");
	err = settings_read(&settings);
	if (err)
		return err;
	err = collect(&req, api, list);
	if (err == -FI_ENODATA)
		say_why(&req);
	return err;
}
