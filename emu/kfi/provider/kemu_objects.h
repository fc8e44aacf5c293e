/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_objects.h - what is behind kfabric's handles: each object begins with its handle, and has libfabric's object of provider emu
 * (`fi`), which does the work. Constant from the opening on unless said. */
#ifndef EMU_KFI_OBJECTS_H
#define EMU_KFI_OBJECTS_H

#include <kfi_cxi_ext.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_prov.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <stdatomic.h>
#include <stdbool.h>

struct kemu_cq_state;
struct kemu_eq_state;
struct kemu_mr_request;
struct kemu_personality;
struct kemu_softirq;
struct kemu_window;

/* An address vector, two queues, an event queue, six counters, and two shared contexts. */
enum { KEMU_USES_MAX = 12 };

/* The counts by which an object is known to be in use (kemu_object.h). */
struct kemu_object {
	atomic_uint users;         /* what was opened from it, is bound to it, or has it in a set, and is open */
	atomic_uint *from, *bound; /* `users` of what it was opened from, and of an event queue or wait set; or NULL */
};

struct kemu_fabric {
	struct kfid_fabric kfid;
	struct fid_fabric *fi;
	struct kemu_object object;
	const struct kemu_personality *personality;
	struct kemu_softirq *softirq; /* the thread that calls the handlers of its queues */
	char *name;                   /* kfabric's */
	struct kemu_fabric *next;     /* of those that are open (kemu_fabric.c) */
};

struct kemu_domain {
	struct kfid_domain kfid;
	struct fid_domain *fi;
	struct kemu_object object;
	struct kemu_fabric *fabric;
	int mr_mode;           /* KFI_MR_* that hold */
	uint64_t caps;         /* KFI_* that it was opened with */
	struct kemu_eq *mr_eq; /* bound with KFI_REG_MR; NULL: registration is synchronous */
	pthread_mutex_t lock;  /* guards `closed` */
	/* Endpoints that are closed while regions are bound to them (bound_closes is false): they end with the domain, as regions
	 * look at them until then. */
	struct kemu_ep *closed;
	char *name;               /* kfabric's; NULL: the client gave none */
	struct kemu_domain *next; /* of those that are open (kemu_domain.c) */
};

struct kemu_eq {
	struct kfid_eq kfid;
	struct fid_eq *fi;
	struct kemu_object object;
	struct kemu_fabric *fabric;
	struct kemu_eq_state *state; /* kemu_eq.c */
};

struct kemu_cq {
	struct kfid_cq kfid;
	struct fid_cq *fi;
	struct kemu_object object;
	struct kemu_domain *domain;
	struct kemu_cq_state *state; /* kemu_cq.c */
};

struct kemu_cntr {
	struct kfid_cntr kfid;
	struct fid_cntr *fi;
	struct kemu_object object;
	struct kemu_domain *domain;
};

struct kemu_av {
	struct kfid_av kfid;
	struct fid_av *fi;
	struct kemu_object object;
	struct kemu_domain *domain;
	unsigned int rx_bits; /* of kfabric's addresses name a receive context */
};

/* An endpoint, a scalable endpoint, or a context of one, by kfid.fid.fclass. */
struct kemu_ep {
	struct kfid_ep kfid;
	struct fid_ep *fi; /* of a shared transmit context: NULL, and `stx` */
	struct fid_stx *stx;
	struct kemu_domain *domain;
	struct kemu_ep *scalable; /* of a context: its scalable endpoint; else NULL */
	uint64_t caps;            /* KFI_* */
	struct kemu_av *av;       /* this and those below: bound before kfi_enable(), or NULL */
	struct kemu_cq *tx_cq, *rx_cq;
	bool tx_selective, rx_selective; /* bound to them with KFI_SELECTIVE_COMPLETION */
	atomic_bool enabled;
	atomic_uint regions;  /* bound to it */
	atomic_uint contexts; /* of a scalable endpoint: those that are open; of a shared context: endpoints that it is bound to */
	atomic_uint *uses[KEMU_USES_MAX]; /* `users` of what is bound to it, which its end gives back */
	unsigned int use_count;
	/* Of a scalable endpoint: its pid's descriptor (kemu_addr.h; -1: none), and its ports' distance from the pid's. */
	int claim;
	uint16_t shift;
	/* Of a context: kfabric's addresses name contexts in `rx_bits` bits, and libfabric's in KEMU_CONTEXT_BITS. */
	bool translates;
	bool saturates; /* kemu_personality.h */
	bool named;     /* KFI_NAMED_RX_CTX, else all that it addresses is the context with its own index */
	unsigned int index, rx_bits;
	struct kemu_ep *next; /* of those that are closed, in the domain */
};

/* A passive endpoint. */
struct kemu_pep {
	struct kfid_pep kfid;
	struct fid_pep *fi;
	struct kemu_object object;
	struct kemu_fabric *fabric;
	struct kemu_pep *next; /* of those that are open (kemu_cm.c) */
};

struct kemu_wait {
	struct kfid_wait kfid;
	struct fid_wait *fi;
	struct kemu_object object;
	struct kemu_fabric *fabric;
};

struct kemu_poll {
	struct kfid_poll kfid;
	struct fid_poll *fi;
	struct kemu_object object;
	struct kemu_domain *domain;
};

struct kemu_mr {
	struct kfid_mr kfid;
	struct fid_mr *fi; /* NULL: not registered at the device yet */
	struct kemu_domain *domain;
	struct kemu_window *window; /* the buffers side by side, where they are too many; else NULL */
	/* Where keys are told at enable (keys_at_enable), until then: what to register. Else NULL. */
	struct kemu_mr_request *pending;
	struct kemu_ep *ep; /* the receive context that it was bound to meanwhile; of other regions libfabric knows the bindings */
};

static inline struct kemu_fabric *kemu_fabric(struct kfid_fabric *kfid)
{
	return container_of(kfid, struct kemu_fabric, kfid);
}

static inline struct kemu_domain *kemu_domain(struct kfid *kfid)
{
	return container_of(kfid, struct kemu_domain, kfid.fid);
}

static inline struct kemu_ep *kemu_ep(struct kfid_ep *kfid)
{
	return container_of(kfid, struct kemu_ep, kfid);
}

static inline struct kemu_mr *kemu_mr(struct kfid *kfid)
{
	return container_of(kfid, struct kemu_mr, kfid.fid);
}

#endif
