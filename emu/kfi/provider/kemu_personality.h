/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_personality.h - which provider of kfabric a client meets, as data: `kfi` keeps all that kfi_mr(3) promises, `kcxi` is what
 * HPE's provider cxi does. Chosen by FI_EMU_PERSONALITY. Behaviour comes from these fields, never from the name. Constant. */
#ifndef EMU_KFI_PERSONALITY_H
#define EMU_KFI_PERSONALITY_H

#include <kfabric.h>
#include <stdbool.h>

struct kemu_personality {
	const char *name;      /* as FI_EMU_PERSONALITY says it */
	const char *prov_name; /* in fabric_attr, and by which clients ask for it */
	/* Fabrics and domains are called this and the number of the interface; NULL: as libfabric's provider calls them. */
	const char *fabric_prefix, *domain_prefix;
	uint32_t protocol;  /* in ep_attr; KFI_PROTO_UNSPEC: the NIC's own */
	bool cxi_addresses; /* addresses are struct kcxi_addr (KFI_ADDR_CXI), else those of sockets */
	uint64_t caps;      /* all that it offers, and gives to a client that asks for none; 0: what the NIC has */
	bool endpoints;     /* of all types, passive ones, and aliases; else scalable ones of type KFI_EP_RDM alone (-KFI_ENOSYS) */
	bool own_index;     /* without KFI_NAMED_RX_CTX context i of a peer is reached from context i; else the first one */
	bool saturates;     /* posts are -KFI_EAGAIN while a completion queue has as many unread entries as its size */
	/* A completion queue keeps so many entries more than its size, and loses others: then reads end with -KFI_EOVERRUN, and
	 * its handler is called no more. 0: it loses none. */
	size_t overflow;
	bool flags_alone;                     /* KFI_GETOPSFLAG tells the flags without the side that they are of */
	enum kfi_resource_mgmt resource_mgmt; /* told, and nothing else may be asked for; KFI_RM_UNSPEC: as the NIC has it */
	int not_ready;                        /* error of an operation whose receiver was not ready; 0: KFI_ENORX */
	size_t buffered_recv;                 /* at most, of what the NIC has */
	size_t contexts;    /* of each side that an endpoint has, where a client asks for no number; 0: as libfabric has it */
	uint64_t msg_order; /* this and the next two: at most, of what the NIC has */
	size_t inject_size;
	size_t cq_data_size; /* 0 is what the attribute says; completions carry data all the same */
	bool error_text;     /* errors of completion queues have err_data */
	bool waits;          /* wait objects, wait sets, reads that sleep, and kfi_eq_write() are there; else -KFI_ENOSYS */
	int mr_mode;         /* asked of a client, of the bits that it offers */
	bool mr_mode_always; /* mr_mode holds whatever the client offers */
	uint64_t mr_key_max; /* of a key that a client asks for */
	bool reg_flags;      /* registration takes flags; else any is -KFI_EBADFLAGS */
	bool local_bits;     /* a region may be for local access alone; else it needs a remote right */
	bool empty_vectors;  /* a region may be registered of no buffers at all; else -KFI_EINVAL */
	bool regattr;        /* kfi_mr_regattr() is there; else -KFI_ENOSYS */
	bool descriptors;    /* regions have descriptors; else they are NULL */
	bool raw_keys;       /* raw keys and kfi_mr_refresh() are there; else -KFI_EINVAL of a region, -KFI_ENOSYS of a domain */
	bool counters;       /* counters, poll sets and shared contexts are there; else -KFI_ENOSYS */
	bool contexts_only;  /* regions are bound to enabled receive contexts alone; else to any endpoint, and to counters */
	/* kcxi's bug: a bind to a receive context that is not enabled, or lacks KFI_RMA, is logged and returns 0; then
	 * kfi_mr_enable() fails by -KFI_EINVAL. */
	bool binds_blindly;
	bool keys_at_enable; /* a key that is taken is told by kfi_mr_enable(), else by the registration */
	bool region_events;  /* peers' accesses make completions with the region's context */
	bool bound_closes;   /* kfi_close() of a region succeeds while it is bound, and the endpoint's fails; else the reverse */
};

extern const struct kemu_personality kemu_personality_kfi, kemu_personality_kcxi;

/* The one that FI_EMU_PERSONALITY names, `kfi` by default; NULL after a line of log: it is none of the kernel's. */
const struct kemu_personality *kemu_personality(void);

#endif
