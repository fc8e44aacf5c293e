/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_av.c - the address vector object: insertion in its forms, lookup, text. */
#include "emu/fi/av/fi_av.h"

#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/av/fi_av_impl.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/address/fi_addr.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/fi/queues/fi_eq.h"
#include "emu/nic/queues/av.h"

#define INSERT_FLAGS (FI_MORE | FI_SYNC_ERR | COMPAT_FIREWALL_ADDR)

/* One call of insertion, in any of its forms. */
struct insertion {
	struct emu_av *av;
	fi_addr_t *fi_addr; /* may be NULL */
	bool walled;        /* FI_FIREWALL_ADDR */
	bool keyed;         /* FI_AUTH_KEY: *fi_addr says which key */
	int *errors;        /* FI_SYNC_ERR, else NULL */
	void *context;
	size_t done; /* addresses taken from the array so far */
	size_t good;
};

static struct emu_av *emu_av(struct fid_av *fid)
{
	return (struct emu_av *)fid;
}

static int insertion_begin(struct insertion *ins, struct emu_av *av, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	*ins = (struct insertion){ .av = av, .fi_addr = fi_addr, .context = context };
	if (flags & ~(INSERT_FLAGS | (av->keys ? COMPAT_AUTH_KEY : 0)))
		return REFUSE_FLAGS(AV, "fi_av_insert", flags & ~(INSERT_FLAGS | (av->keys ? COMPAT_AUTH_KEY : 0)));
	if (!domain_usable(av->domain))
		return refuse_inherited("fi_av_insert");
	if (flags & COMPAT_FIREWALL_ADDR && av->shared)
		return REFUSE(AV, -FI_EINVAL,
			      "fi_av_insert: a shared address vector does not keep FI_FIREWALL_ADDR. Open one without a name.");
	ins->walled = flags & COMPAT_FIREWALL_ADDR;
	ins->keyed = flags & COMPAT_AUTH_KEY;
	if (ins->keyed && !fi_addr)
		return REFUSE(AV, -FI_EINVAL,
			      "fi_av_insert: FI_AUTH_KEY is given, and fi_addr is NULL. fi_addr holds the "
			      "fi_addr_t of the keys, as fi_av_insert_auth_key gave them.");
	if (av->events && !av->eq)
		return REFUSE(AV, -FI_ENOEQ,
			      "fi_av_insert: the address vector was opened with FI_EVENT and has no event "
			      "queue. Bind one with fi_av_bind first.");
	if (flags & FI_SYNC_ERR) {
		if (av->events || !context) /* it is for synchronous insertion, and writes errors to context */
			return REFUSE(AV, -FI_EINVAL,
				      "fi_av_insert: FI_SYNC_ERR is for address vectors without FI_EVENT, and "
				      "context points to an array of int, one for each address.");
		ins->errors = context;
	}
	return 0;
}

/* `err`: 0, or why this address was not inserted, a negative errno. */
static void insertion_note(struct insertion *ins, int err, fi_addr_t fi_addr)
{
	size_t at = ins->done++;

	if (ins->fi_addr)
		ins->fi_addr[at] = err ? FI_ADDR_NOTAVAIL : fi_addr;
	if (ins->errors)
		ins->errors[at] = -err;
	if (!err)
		ins->good++;
	else if (ins->av->events)
		emu_eq_push_error(ins->av->eq, &ins->av->fid.fid, ins->context, at, -err);
}

/* NULL, or why the address cannot be that of a peer. */
static const char *address_flaw(const struct sockaddr *addr, int family)
{
	struct sockaddr_storage full = { 0 };

	if (!addr_size(addr))
		return "no IPv4 or IPv6 socket address. Pass what fi_getname wrote at the peer";
	if (family != AF_UNSPEC && family != addr->sa_family)
		return "not of the domain's addr_format. Open both sides with one in hints->addr_format";
	memcpy(&full, addr, addr_size(addr));
	if (addr_is_wildcard(&full))
		return "the wildcard, which is no endpoint's address. Pass what fi_getname wrote at the peer";
	return addr_port(&full) ? NULL : "its port is 0. Pass what fi_getname wrote at the peer after fi_enable";
}

static void insertion_add(struct insertion *ins, const struct sockaddr *addr)
{
	const char *flaw = address_flaw(addr, addr_family(ins->av->domain->addr_format));
	struct sockaddr_storage full = { 0 };
	uint64_t index = FI_ADDR_NOTAVAIL, proof = 0;
	int err = 0;

	if (flaw) {
		insertion_note(ins, REFUSE(AV, -FI_EINVAL, "fi_av_insert: address %zu: %s.", ins->done, flaw), index);
		return;
	}
	memcpy(&full, addr, addr_size(addr));
	if (ins->keyed && av_auth_proof(ins->av->keys, ins->fi_addr[ins->done], &proof))
		err = REFUSE(AV, -FI_EINVAL, "fi_av_insert: address %zu: fi_addr holds %#llx, which is no key's.", ins->done,
			     (unsigned long long)ins->fi_addr[ins->done]);
	if (!err)
		err = ins->av->shared ? av_shared_insert(ins->av->shared, &full, &index)
				      : av_insert(ins->av->av, &full, proof, &index);
	if (!err && ins->walled)
		av_wall(ins->av->av, index);
	if (err == -FI_EACCES)
		REFUSE(AV, err, "fi_av_insert: the address vector was opened with FI_READ, and is not changed here.");
	insertion_note(ins, err, index);
}

/* Returns how many were inserted; with events it returns 0, and the number goes to the queue. */
static int insertion_end(struct insertion *ins)
{
	int err;

	if (!ins->av->events)
		return (int)ins->good;
	err = emu_eq_push(ins->av->eq, FI_AV_COMPLETE, &ins->av->fid.fid, ins->context, ins->good);
	return err < 0 ? err : 0;
}

/* Bytes from one address of the program's array to the next. */
static size_t stride(const struct emu_av *av, const struct sockaddr *addr)
{
	switch (av->domain->addr_format) {
	case FI_SOCKADDR_IN:
		return sizeof(struct sockaddr_in);
	case FI_SOCKADDR_IN6:
		return sizeof(struct sockaddr_in6);
	default:
		return addr_size(addr); /* each as long as its family says */
	}
}

static int av_op_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	const char *at = addr;
	struct insertion ins;
	int err;

	err = insertion_begin(&ins, emu_av(fid), fi_addr, flags, context);
	if (err)
		return err;
	if (count > INT32_MAX || (count && !addr))
		return REFUSE(AV, -FI_EINVAL,
			      "fi_av_insert: addr is NULL, or count %zu is no number of addresses. addr points "
			      "to the addresses as fi_getname wrote them.",
			      count);
	for (size_t i = 0; i < count; i++) {
		const struct sockaddr *one = (const struct sockaddr *)at;
		size_t step = stride(ins.av, one);

		if (!step) { /* an unknown family: the next address may begin anywhere */
			while (ins.done < count)
				insertion_note(&ins,
					       ins.done > i ? -FI_ECANCELED
							    : REFUSE(AV, -FI_EINVAL, "fi_av_insert: address %zu: %s.", i,
								     address_flaw(one, AF_UNSPEC)),
					       FI_ADDR_NOTAVAIL);
			break;
		}
		insertion_add(&ins, one);
		at += step;
	}
	return insertion_end(&ins);
}

static void insert_service(struct insertion *ins, const char *node, const char *service)
{
	struct sockaddr_storage found[RESOLVED_MAX];
	int count;

	count = addr_resolve(node, service, addr_family(ins->av->domain->addr_format), false, false, found);
	if (count < 0)
		insertion_note(ins,
			       REFUSE(AV, count,
				      "fi_av_insertsvc: no address of the domain's addr_format is known by %s, "
				      "%s.",
				      node, service),
			       FI_ADDR_NOTAVAIL);
	else
		insertion_add(ins, (const struct sockaddr *)&found[0]);
}

static int av_op_insertsvc(struct fid_av *fid, const char *node, const char *service, fi_addr_t *fi_addr, uint64_t flags,
			   void *context)
{
	struct insertion ins;
	int err;

	err = insertion_begin(&ins, emu_av(fid), fi_addr, flags, context);
	if (err)
		return err;
	if (!node || !service)
		return REFUSE(AV, -FI_EINVAL,
			      "fi_av_insertsvc: node or service is NULL. Give a host name or address, and a "
			      "port.");
	insert_service(&ins, node, service);
	return insertion_end(&ins);
}

static int av_op_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service, size_t svccnt,
			   fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	char node_name[SYM_NAME_MAX], service_name[SYM_NAME_MAX];
	struct insertion ins;
	int err;

	err = insertion_begin(&ins, emu_av(fid), fi_addr, flags, context);
	if (err)
		return err;
	if (!node || !service || !nodecnt || !svccnt || nodecnt > SYM_COUNT_MAX || svccnt > SYM_COUNT_MAX)
		return REFUSE(AV, -FI_EINVAL, "fi_av_insertsym: node or service is NULL, or a count is not from 1 to %d.",
			      SYM_COUNT_MAX);
	if (!sym_node(node, nodecnt - 1, node_name) || !sym_service(service, svccnt - 1, service_name))
		return REFUSE(AV, -FI_EINVAL,
			      "fi_av_insertsym: \"%s\" and \"%s\" cannot be counted %zu and %zu times upwards. "
			      "They end in a number.",
			      node, service, nodecnt, svccnt);
	for (size_t n = 0; n < nodecnt && sym_node(node, n, node_name); n++) {
		for (size_t s = 0; s < svccnt && sym_service(service, s, service_name); s++)
			insert_service(&ins, node_name, service_name);
	}
	return insertion_end(&ins);
}

static int remove_one(struct emu_av *av, fi_addr_t fi_addr)
{
	return av->shared ? av_shared_remove(av->shared, fi_addr) : av_remove(av->av, fi_addr);
}

static int not_removed(int err, fi_addr_t fi_addr)
{
	const char *why = err == -FI_EBUSY    ? "an enabled endpoint uses the key. Close it first"
			  : err == -FI_EACCES ? "the address vector was opened with FI_READ, and is not changed here"
					      : "not in the address vector. Use what fi_av_insert gave, once";

	return REFUSE(AV, err, "fi_av_remove: fi_addr_t %#llx: %s.", (unsigned long long)fi_addr, why);
}

static int av_op_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct emu_av *av = emu_av(fid);
	int err = 0;

	if (flags & ~(av->keys ? COMPAT_AUTH_KEY : 0))
		return REFUSE_FLAGS(AV, "fi_av_remove", flags & ~(av->keys ? COMPAT_AUTH_KEY : 0));
	if (count && !fi_addr)
		return REFUSE(AV, -FI_EINVAL, "fi_av_remove: fi_addr is NULL and count %zu.", count);
	if (!domain_usable(av->domain))
		return refuse_inherited("fi_av_remove");
	for (size_t i = 0; i < count; i++) {
		int one = flags ? av_auth_remove(av->keys, fi_addr[i]) : remove_one(av, fi_addr[i]);

		if (one && !err)
			err = not_removed(one, fi_addr[i]);
	}
	return err;
}

static int av_op_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	struct sockaddr_storage found;
	uint64_t stamp;
	size_t size;
	int err;

	if (!addrlen || (*addrlen && !addr))
		return REFUSE(AV, -FI_EINVAL, "fi_av_lookup: addrlen is NULL, or says that addr has room and addr is NULL.");
	(void)av_generation(emu_av(fid)->av); /* makes a shared one follow the changes of other processes */
	err = av_lookup(emu_av(fid)->av, fi_addr, &found, &stamp);
	if (err)
		return REFUSE(AV, err, "fi_av_lookup: fi_addr_t %#llx is not in the address vector. Use what fi_av_insert gave.",
			      (unsigned long long)fi_addr);
	size = addr_size((const struct sockaddr *)&found);
	if (*addrlen)
		memcpy(addr, &found, *addrlen < size ? *addrlen : size);
	*addrlen = size;
	return 0;
}

static const char *av_op_straddr(struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	(void)fid;
	if (!addr || !len || (*len && !buf))
		return NULL;
	*len = addr_text(addr, buf, *len);
	return buf;
}

static int av_close_fid(struct fid *fid)
{
	struct emu_av *av = (struct emu_av *)fid;
	int err;

	err = domain_usable(av->domain) ? av_close(av->av) : 0; /* a fork's child: the device keeps its references */
	if (err)
		return REFUSE(AV, err,
			      "fi_close: endpoints are bound to the address vector, or it has sets (fi_av_set). Close them first.");
	av_shared_close(av->shared);
	av_auth_close(av->keys);
	if (av->eq)
		emu_eq_put(av->eq);
	atomic_fetch_sub(&av->domain->users, 1);
	free(av);
	return 0;
}

static int av_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct emu_av *av = (struct emu_av *)fid;

	if (!bfid || bfid->fclass != FI_CLASS_EQ || av->eq)
		return REFUSE(AV, -FI_EINVAL, "fi_av_bind: an address vector takes one event queue, and nothing else.");
	if (flags)
		return REFUSE_FLAGS(AV, "fi_av_bind", flags);
	av->eq = (struct emu_eq *)bfid;
	emu_eq_get(av->eq);
	return 0;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = av_close_fid,
	.bind = av_bind,
	.control = stub_control,
	STUB_FID_OPS,
};

static struct compat_ops_av av_ops = {
	.base = {
		.size = sizeof(struct compat_ops_av),
		.insert = av_op_insert,
		.insertsvc = av_op_insertsvc,
		.insertsym = av_op_insertsym,
		.remove = av_op_remove,
		.lookup = av_op_lookup,
		.straddr = av_op_straddr,
		.av_set = emu_av_set_open,
#if COMPAT_HEADERS >= FI_VERSION(1, 20)
		.insert_auth_key = emu_av_insert_auth_key,
		.lookup_auth_key = emu_av_lookup_auth_key,
		.set_user_id = stub_set_user_id,
	},
#else
	},
	.insert_auth_key = emu_av_insert_auth_key,
	.lookup_auth_key = emu_av_lookup_auth_key,
	.set_user_id = stub_set_user_id,
#endif
};

static int av_check_attr(const struct fi_av_attr *attr)
{
	if (!attr || attr->type > FI_AV_TABLE)
		return REFUSE(AV, -FI_EINVAL,
			      "fi_av_open: attr is NULL, or attr->type %d is none of FI_AV_UNSPEC, FI_AV_MAP, "
			      "FI_AV_TABLE.",
			      attr ? (int)attr->type : 0);
	if (attr->flags & ~(FI_EVENT | FI_SYMMETRIC | FI_READ)) /* FI_SYMMETRIC only helps to save memory */
		return REFUSE_FLAGS(AV, "fi_av_open", attr->flags & ~(FI_EVENT | FI_SYMMETRIC | FI_READ));
	if (attr->rx_ctx_bits < 0 || attr->rx_ctx_bits > AV_CONTEXT_BITS)
		return REFUSE(AV, -FI_EINVAL, "fi_av_open: rx_ctx_bits %d, from 0 to %d are possible.", attr->rx_ctx_bits,
			      AV_CONTEXT_BITS);
	if (attr->flags & FI_READ && !attr->name)
		return REFUSE(AV, -FI_EINVAL,
			      "fi_av_open: FI_READ opens a shared address vector that is there already, and "
			      "name is NULL.");
	return 0;
}

int emu_av_open(struct fid_domain *fid, struct fi_av_attr *attr, struct fid_av **out, void *context)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_av *av;
	int err;

	if (!out)
		return REFUSE(AV, -FI_EINVAL, "fi_av_open: av is NULL.");
	err = av_check_attr(attr);
	if (err)
		return err;
	if (attr->name && domain->av_auth) {
		return REFUSE(AV, -FI_ENOSYS,
			      "fi_av_open: a shared address vector (name) has no authorization keys. Leave the "
			      "name out, or FI_AV_AUTH_KEY in the domain.");
	}
	if (!domain_usable(domain))
		return refuse_inherited("fi_av_open");
	av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	err = domain->av_auth ? av_auth_open(&av->keys) : 0;
	if (!err)
		err = av_open(&av->av, (unsigned int)attr->rx_ctx_bits);
	if (!err && attr->name) {
		err = av_shared_open(av->av, domain->opened.name, attr->name, attr->flags & FI_READ, &av->shared);
		if (err) {
			(void)av_close(av->av); /* nothing uses it yet */
			REFUSE(AV, err, "fi_av_open: the shared address vector \"%s\": %s.", attr->name,
			       err == -FI_ENOENT   ? "FI_READ asks for one that is there, and no process has it open"
			       : err == -FI_EINVAL ? "a name has up to 99 letters, digits and . _ -"
						   : fi_strerror(-err));
		}
	}
	if (err) {
		av_auth_close(av->keys);
		free(av);
		return err;
	}
	if (attr->type == FI_AV_UNSPEC)
		attr->type = FI_AV_TABLE; /* fi_av(3): the program reads it */
	if (av->shared && !attr->map_addr)
		attr->map_addr = av_shared_map(av->shared);
	av->domain = domain;
	av->events = attr->flags & FI_EVENT;
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fid_ops;
	av->fid.ops = &av_ops.base;
	atomic_fetch_add(&domain->users, 1);
	*out = &av->fid;
	return 0;
}
