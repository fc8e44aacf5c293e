/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_domain.h - fabrics and domains, the NIC that the first of them starts, and the library of emulated devices. Any thread. */
#ifndef EMU_FI_DOMAIN_H
#define EMU_FI_DOMAIN_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/provider/fi_registry.h"
#include "emu/net/thread/net.h"
#include "emu/nic/device/nic.h"
#include "include/emu/hmem.h"

struct binding_end;
struct close_policy;
struct emu_eq;
struct emu_hmem_ops;
struct emu_mr_cache;
struct nic;
struct settings;

/* --- the process's NIC, which the first domain or passive endpoint starts. Any thread. --- */

/* One more user, until net_end(). 0 or -errno, after a line of log. The first call reads the settings. */
int emu_nic_start(struct nic **nic);
int nic_start_by(const struct settings *settings, struct nic **nic);

/* --- the fabric object: a network that this machine has an address in. Holds nothing but its users. --- */

struct emu_fabric {
	struct fid_fabric fid;
	struct opened opened;
	atomic_uint users; /* domains and event queues */
};

static inline struct emu_fabric *emu_fabric(struct fid_fabric *fid)
{
	return (struct emu_fabric *)fid;
}

int emu_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

/* --- The domain object: a protection domain of the process's NIC and the rules it was opened with. Everything but the counts
 * is constant after open. Any thread. --- */

struct emu_domain {
	struct fid_domain fid;
	struct opened opened;
	struct emu_fabric *fabric;
	struct nic *nic;
	const struct net_claim *claim; /* the NIC's */
	struct pd *pd;
	const struct attr_table *attr;
	uint32_t api;         /* the API version that the program was written to */
	uint64_t caps;        /* as asked for when it was opened */
	uint64_t auth;        /* for regions and endpoints that name no other; 0: none (S157) */
	size_t auth_key_size; /* of the domain's key; 0: none given, and its objects' keys may have any size */
	/* The domain of a hook of libfabric (FI_HOOK) stands before it. A hook's fi_mr_reg calls fi_mr_regattr with an attribute on
	 * its stack, and fills in no field that is newer than iface: what is wrong there is not the program's. */
	bool hooked;
	bool av_auth; /* FI_AV_AUTH_KEY: keys are in address vectors; the two above are 0 */
	int rules;    /* FI_MR_LOCAL, VIRT_ADDR, ALLOCATED, PROV_KEY, RMA_EVENT, ENDPOINT, HMEM, COLLECTIVE in force */
	/* S35: the key asked for a region without remote rights is not looked at, as where the provider chooses all keys (S37). */
	bool draws_local_keys;
	/* S74: without FI_MR_LOCAL, and before API 1.22, descriptors are ignored, and so is the array that holds them. */
	bool looks_at_descs;
	bool needs_descs;     /* a buffer without one is refused or registered by the cache */
	uint32_t desc_rights; /* the rights of enum mr_access that are checked in a descriptor */
	const struct close_policy *close;
	bool rc_order;              /* FI_EMU_ORDER=rc: endpoints keep the order of a queue pair */
	bool pinned;                /* FI_EMU_PINNED, and the rules allow it */
	struct emu_mr_cache *cache; /* of local buffers without a descriptor; NULL: they need no registration */
	/* Relaxed. The devices whose memory is translated, since the program has FI_HMEM; NULL: none. Looked for when the domain is
	 * opened and at registrations. */
	const struct emu_hmem_ops *_Atomic hmem;
	uint32_t addr_format;
	struct emu_eq *_Atomic eq; /* bound to it; NULL: none */
	atomic_bool reg_async;     /* with FI_REG_MR */
	atomic_uint users;         /* all objects of the domain */
	atomic_uint eps, cqs, cntrs;
	atomic_uint tx_contexts, rx_contexts; /* contexts that belong to no one endpoint */
};

static inline struct emu_domain *emu_domain(struct fid_domain *fid)
{
	return (struct emu_domain *)fid;
}

int emu_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context);

/* registry_fits: does a domain have the rules of this info (arg), so that it may be used for that info? The mode bits decide,
 * and those capabilities that concern registrations. */
bool domain_is_as(const struct fid *domain, const void *info);
/* The rules of a domain. False: `domain` is not an open one. */
bool domain_rules(const void *domain, int *rules);

/* Is a hook opening a domain? It gives its own as the context. */
bool domain_of_hook(const void *context);

/* False in a fork's child that has inherited it: the NIC is its parent's, and no call may touch it. */
static inline bool domain_usable(const struct emu_domain *domain)
{
	return net_runs(domain->claim);
}

/* As above, for posts. */
static inline const struct emu_hmem_ops *domain_hmem(const struct emu_domain *domain)
{
	return atomic_load_explicit(&domain->hmem, memory_order_relaxed);
}
/* Looks for devices, if the domain has FI_HMEM and none yet. */
const struct emu_hmem_ops *domain_find_hmem(struct emu_domain *domain);

/* The queue for the results of registrations; NULL: they are synchronous (S16, S168). */
struct emu_eq *domain_reg_eq(struct emu_domain *domain);

/* Counts one more object of a kind that has a limit, and the domain's use by it. 0; -FI_ENOMEM at the limit, logged;
 * -FI_ENODEV if the domain is not usable. */
int domain_get(struct emu_domain *domain, atomic_uint *kind, size_t limit, const char *what);
void domain_put(struct emu_domain *domain, atomic_uint *kind);

/* May an endpoint or counter of this domain, which is usable, be closed? 0 or -FI_EBUSY, logged; -FI_EAGAIN as driver_enter().
 * Changes nothing. */
int close_end_check(const struct emu_domain *domain, const struct binding_end *end, const char *what);
/* Dissolves the bindings of one that closes; takes and gives back the driver role a slice at a time. */
void close_end(const struct emu_domain *domain, struct binding_end *end);

/* --- the library of emulated devices (emu/hmem.h), where the program has loaded it. The provider does not depend on it. --- */

/* Its functions; NULL: the program has not loaded it, or it has no devices. Any thread; takes the loader's lock, so not with the
 * driver role. */
const struct emu_hmem_ops *hmem_find(void);

/* Has the user forbidden NICs to reach devices directly (FI_HMEM_DISABLE_P2P=1, S155), and are there devices? This NIC makes no
 * copies instead, so there is no FI_HMEM then. */
bool hmem_forbidden(void);

/* Why query() says -EFAULT of a range: `text`, filled with words for a refusal. */
enum { HMEM_WHY_SIZE = 160 };
const char *hmem_why(const struct emu_hmem_ops *hmem, const void *at, char text[HMEM_WHY_SIZE]);

#endif
