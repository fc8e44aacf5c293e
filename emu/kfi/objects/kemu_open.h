/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_open.h - opening fabrics, domains and what is opened from them. May sleep, unless said. */
#ifndef EMU_KFI_OPEN_H
#define EMU_KFI_OPEN_H

#include <kfabric.h>
#include <kfi_domain.h>

/* kfi_fabric() of the provider. -KFI_ENODATA: there is no fabric of that name. */
int kemu_fabric_open(struct kfi_fabric_attr *attr, struct kfid_fabric **fabric, void *context);
/* How many are open. Any thread. */
unsigned int kemu_fabrics_open(void);

/* What kfi_getinfo() tells of those that are open. Any thread; the handles stay the clients'. */
/* The name of this one, copied; NULL: none is open by this handle, or there is no memory. */
char *kemu_fabric_name(const struct kfid_fabric *fabric);
/* The first one that was opened by this name, or NULL. */
struct kfid_fabric *kemu_fabric_named(const char *name);

/* kfi_domain(). */
int kemu_domain_open(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_domain **domain, void *context);

/* What kfi_getinfo() tells of those that are open. Any thread; the handles stay the clients'. */
/* The name of this one, copied; NULL: none is open by this handle, or there is no memory. With a fabric: in that one. */
char *kemu_domain_name(const struct kfid_domain *domain, const struct kfid_fabric *fabric);
/* The first one that was opened by this name in this fabric, or NULL. */
struct kfid_domain *kemu_domain_named(const char *name, const struct kfid_fabric *fabric);

/* kfi_av_open(). */
int kemu_av_open(struct kfid_domain *domain, struct kfi_av_attr *attr, struct kfid_av **av, void *context);
/* kfi_cntr_open(). */
int kemu_cntr_open(struct kfid_domain *domain, struct kfi_cntr_attr *attr, struct kfid_cntr **cntr, void *context);
/* kfi_cq_open(). Its handler is armed from the beginning. */
int kemu_cq_open(struct kfid_domain *domain, struct kfi_cq_attr *attr, struct kfid_cq **cq, kfi_comp_handler comp_handler,
		 void *context);
/* kfi_eq_open(). Its handler is armed from the beginning. */
int kemu_eq_open(struct kfid_fabric *fabric, struct kfi_eq_attr *attr, struct kfid_eq **eq, kfi_event_handler event_handler,
		 void *context);
/* kfi_poll_open() and kfi_wait_open(). */
int kemu_poll_open(struct kfid_domain *domain, struct kfi_poll_attr *attr, struct kfid_poll **pollset);
int kemu_wait_open(struct kfid_fabric *fabric, struct kfi_wait_attr *attr, struct kfid_wait **waitset);

#endif
