/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_av.c - the address vector object: insertion in its forms, lookup, text. */
#include "emu/fi/fi_av.h"

#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/fi_addr.h"
#include "emu/fi/fi_av_auth.h"
#include "emu/fi/fi_av_shared.h"
#include "emu/fi/fi_av_sym.h"
#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_eq.h"
#include "emu/fi/fi_prov.h"
#include "emu/fi/fi_stubs.h"
#include "emu/nic/av.h"

#define INSERT_FLAGS (FI_MORE | FI_SYNC_ERR)

/* One call of insertion, in whatever form. */
struct insertion {
	struct emu_av *av;
	fi_addr_t *fi_addr;	/* may be NULL */
	bool       keyed;	/* FI_AUTH_KEY: *fi_addr says which key */
	int       *errors;	/* FI_SYNC_ERR, else NULL */
	void      *context;
	size_t     done;	/* addresses looked at */
	size_t     good;
};

static struct emu_av *emu_av(struct fid_av *fid)
{
	return (struct emu_av *)fid;
}

static int insertion_begin(struct insertion *ins, struct emu_av *av, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	*ins = (struct insertion){ .av = av, .fi_addr = fi_addr, .context = context };
	if (flags & ~(INSERT_FLAGS | (av->keys ? COMPAT_AUTH_KEY : 0)))
		return -FI_EBADFLAGS;
	if (!domain_usable(av->domain))
		return -FI_ENODEV;
	ins->keyed = flags & COMPAT_AUTH_KEY;
	if (ins->keyed && !fi_addr)
		return -FI_EINVAL;
	if (av->events && !av->eq)
		return -FI_ENOEQ;
	if (flags & FI_SYNC_ERR) {
		if (av->events || !context) /* for synchronous insertion, and context is where the errors go */
			return -FI_EINVAL;
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

static void insertion_add(struct insertion *ins, const struct sockaddr *addr)
{
	struct sockaddr_storage full;
	uint64_t index = FI_ADDR_NOTAVAIL, proof = 0;
	int family = addr_family(ins->av->domain->addr_format);
	int err = -FI_EINVAL;

	memset(&full, 0, sizeof(full));
	if (addr_size(addr) && (family == AF_UNSPEC || family == addr->sa_family)) {
		memcpy(&full, addr, addr_size(addr));
		err = ins->keyed ? av_auth_proof(ins->av->keys, ins->fi_addr[ins->done], &proof) : 0;
		if (!err && (!addr_port(&full) || addr_is_wildcard(&full)))
			err = -FI_EINVAL;
		if (!err)
			err = ins->av->shared ? av_shared_insert(ins->av->shared, &full, &index) :
						av_insert(ins->av->av, &full, proof, &index);
	}
	insertion_note(ins, err, index);
}

/* How many were inserted; with events 0, and the number goes to the queue. */
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

static int av_op_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr, uint64_t flags,
			void *context)
{
	const char *at = addr;
	struct insertion ins;
	int err;

	err = insertion_begin(&ins, emu_av(fid), fi_addr, flags, context);
	if (err)
		return err;
	if (count > INT32_MAX || (count && !addr))
		return -FI_EINVAL;
	for (size_t i = 0; i < count; i++) {
		const struct sockaddr *one = (const struct sockaddr *)at;
		size_t step = stride(ins.av, one);

		if (!step) { /* an unknown family: where the next one begins is unknown, too */
			while (ins.done < count)
				insertion_note(&ins, ins.done == i ? -FI_EINVAL : -FI_ECANCELED, FI_ADDR_NOTAVAIL);
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
		insertion_note(ins, count, FI_ADDR_NOTAVAIL);
	else
		insertion_add(ins, (const struct sockaddr *)&found[0]);
}

static int av_op_insertsvc(struct fid_av *fid, const char *node, const char *service, fi_addr_t *fi_addr,
			   uint64_t flags, void *context)
{
	struct insertion ins;
	int err;

	err = insertion_begin(&ins, emu_av(fid), fi_addr, flags, context);
	if (err)
		return err;
	if (!node || !service)
		return -FI_EINVAL;
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
		return -FI_EINVAL;
	if (!sym_node(node, nodecnt - 1, node_name) || !sym_service(service, svccnt - 1, service_name))
		return -FI_EINVAL; /* no such last name: then nothing is inserted */
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

static int av_op_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct emu_av *av = emu_av(fid);
	int err = 0;

	if (flags & ~(av->keys ? COMPAT_AUTH_KEY : 0))
		return -FI_EBADFLAGS;
	if (count && !fi_addr)
		return -FI_EINVAL;
	if (!domain_usable(av->domain))
		return -FI_ENODEV;
	for (size_t i = 0; i < count; i++) {
		int one = flags ? av_auth_remove(av->keys, fi_addr[i]) : remove_one(av, fi_addr[i]);

		err = err ? err : one;
	}
	return err;
}

static int av_op_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	struct sockaddr_storage found;
	uint64_t stamp;
	size_t   size;
	int      err;

	if (!addrlen || (*addrlen && !addr))
		return -FI_EINVAL;
	(void)av_generation(emu_av(fid)->av); /* which follows what others have done to a shared one */
	err = av_lookup(emu_av(fid)->av, fi_addr, &found, &stamp);
	if (err)
		return err;
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
		return err;
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
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	av->eq = (struct emu_eq *)bfid;
	emu_eq_get(av->eq);
	return 0;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = av_close_fid,
	.bind = av_bind,
	.control = stub_control,
	.ops_open = stub_ops_open,
	.tostr = stub_tostr,
	.ops_set = stub_ops_set,
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
		.av_set = stub_av_set,
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

static int check_attr(const struct fi_av_attr *attr)
{
	if (!attr || attr->type > FI_AV_TABLE)
		return -FI_EINVAL;
	if (attr->flags & ~(FI_EVENT | FI_SYMMETRIC | FI_READ)) /* FI_SYMMETRIC only helps to save memory */
		return -FI_EBADFLAGS;
	if (attr->rx_ctx_bits < 0 || attr->rx_ctx_bits > AV_CONTEXT_BITS)
		return -FI_EINVAL;
	if (attr->flags & FI_READ && !attr->name)
		return -FI_EINVAL; /* to be read, it must be there already */
	return 0;
}

int emu_av_open(struct fid_domain *fid, struct fi_av_attr *attr, struct fid_av **out, void *context)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_av *av;
	int err;

	if (!out)
		return -FI_EINVAL;
	err = check_attr(attr);
	if (err)
		return err;
	if (attr->name && domain->av_auth) {
		EMU_WARN(AV, "a shared address vector (name) has no authorization keys: not with FI_AV_AUTH_KEY\n");
		return -FI_ENOSYS;
	}
	if (!domain_usable(domain))
		return -FI_ENODEV;
	av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	err = domain->av_auth ? av_auth_open(&av->keys) : 0;
	if (!err)
		err = av_open(&av->av, (unsigned int)attr->rx_ctx_bits);
	if (!err && attr->name) {
		err = av_shared_open(av->av, domain->opened.name, attr->name, attr->flags & FI_READ, &av->shared);
		if (err)
			(void)av_close(av->av); /* nobody uses it yet */
	}
	if (err) {
		av_auth_close(av->keys);
		free(av);
		return err;
	}
	if (attr->type == FI_AV_UNSPEC)
		attr->type = FI_AV_TABLE; /* told to the program: fi_av(3) */
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
