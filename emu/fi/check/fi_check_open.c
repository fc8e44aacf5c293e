/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_open.c - how objects come to be checked: each open call of a checked object checks what it opens. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include "emu/fi/check/fi_check.h"
#include "emu/fi/check/fi_check_impl.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_watched.h"
#include "emu/net/os/fork.h"
#include "emu/nic/base/mutex.h"
#include "emu/process/front/process_front.h"
#include "emu/process/report/report.h"
#include "emu/process/settings/setting_read.h"

static atomic_bool started; /* some object is checked */

/* The plain tables, which the first object of each kind shows. */
static struct mutex lock = MUTEX_INITIALIZER;
static struct fi_ops_fabric plain_fabric, fabric_ops;
static struct compat_ops_domain plain_domain, domain_ops;
static struct fi_ops_mr plain_mr, mr_ops;
static struct compat_ops_ep plain_scalable, scalable_ops;

static const struct check_object *parent_of(const struct fid *fid)
{
	return check_object_of(fid);
}

/* --- endpoints --- */

static int adopt_ep(struct fid_ep *ep, const struct fid *parent, const struct fi_info *info)
{
	struct check_object *object = check_adopt(&ep->fid, parent_of(parent));

	if (object && info)
		object->contexts = info->mode & (FI_CONTEXT | FI_CONTEXT2);
	check_ep_tables(ep);
	return 0;
}

static int checked_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **ep, void *context)
{
	int err = plain_scalable.base.tx_ctx(sep, index, attr, ep, context);

	return err ? err : adopt_ep(*ep, &sep->fid, NULL);
}

static int checked_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **ep, void *context)
{
	int err = plain_scalable.base.rx_ctx(sep, index, attr, ep, context);

	return err ? err : adopt_ep(*ep, &sep->fid, NULL);
}

static int checked_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context)
{
	int err = plain_domain.base.endpoint(domain, info, ep, context);

	return err ? err : adopt_ep(*ep, &domain->fid, info);
}

static int checked_endpoint2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, uint64_t flags, void *context)
{
	int err = plain_domain.base.endpoint2(domain, info, ep, flags, context);

	return err ? err : adopt_ep(*ep, &domain->fid, info);
}

static int checked_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep, void *context)
{
	int err = plain_domain.base.scalable_ep(domain, info, sep, context);

	if (err)
		return err;
	mutex_lock(&lock);
	if (!scalable_ops.base.size) {
		plain_scalable = scalable_ops = *(const struct compat_ops_ep *)(*sep)->ops;
		scalable_ops.base.tx_ctx = checked_tx_ctx;
		scalable_ops.base.rx_ctx = checked_rx_ctx;
	}
	mutex_unlock(&lock);
	(*sep)->ops = &scalable_ops.base;
	return adopt_ep(*sep, &domain->fid, info);
}

static int checked_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **ep, void *context)
{
	int err = plain_domain.base.srx_ctx(domain, attr, ep, context);

	return err ? err : adopt_ep(*ep, &domain->fid, NULL);
}

static int checked_stx_ctx(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx, void *context)
{
	int err = plain_domain.base.stx_ctx(domain, attr, stx, context);

	if (!err)
		check_adopt(&(*stx)->fid, parent_of(&domain->fid));
	return err;
}

/* --- queues and the like --- */

static int checked_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context)
{
	int err = plain_domain.base.cq_open(domain, attr, cq, context);

	if (err)
		return err;
	check_adopt(&(*cq)->fid, parent_of(&domain->fid));
	check_cq_tables(*cq);
	return 0;
}

static int checked_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context)
{
	int err = plain_domain.base.cntr_open(domain, attr, cntr, context);

	if (!err)
		check_cntr_tables(*cntr);
	return err;
}

static int checked_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **poll)
{
	int err = plain_domain.base.poll_open(domain, attr, poll);

	if (!err)
		check_poll_tables(*poll);
	return err;
}

static int checked_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context)
{
	int err = plain_fabric.eq_open(fabric, attr, eq, context);

	if (!err)
		check_eq_tables(*eq);
	return err;
}

static int checked_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **wait)
{
	int err = plain_fabric.wait_open(fabric, attr, wait);

	if (!err)
		check_wait_tables(*wait);
	return err;
}

static int checked_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int err = plain_fabric.trywait(fabric, fids, count);

	if (!err)
		check_wait_armed(fids, (size_t)count);
	return err;
}

static int checked_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep, void *context)
{
	int err = plain_fabric.passive_ep(fabric, info, pep, context);

	if (!err)
		check_adopt(&(*pep)->fid, NULL);
	return err;
}

/* --- regions --- */

static void check_mr(struct fid_mr *mr, const struct fid *domain, const struct iovec *iov, size_t count, uint64_t access)
{
	struct check_object *object = check_adopt(&mr->fid, domain->fclass == FI_CLASS_DOMAIN ? parent_of(domain) : NULL);

	if (object)
		check_region(object, iov, count, access);
}

static int checked_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags,
		       struct fid_mr **mr, void *context)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	int err = plain_mr.reg(fid, buf, len, access, offset, key, flags, mr, context);

	if (!err)
		check_mr(*mr, fid, &iov, 1, access);
	return err;
}

static int checked_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access, uint64_t offset, uint64_t key,
			uint64_t flags, struct fid_mr **mr, void *context)
{
	int err = plain_mr.regv(fid, iov, count, access, offset, key, flags, mr, context);

	if (!err)
		check_mr(*mr, fid, iov, count, access);
	return err;
}

static int checked_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags, struct fid_mr **mr)
{
	int err = plain_mr.regattr(fid, attr, flags, mr);

	if (!err) /* a dmabuf's bytes are at no address of the program */
		check_mr(*mr, fid, attr->mr_iov, flags & COMPAT_MR_DMABUF ? 0 : attr->iov_count, attr->access);
	return err;
}

/* --- domains and fabrics --- */

static void make_domain_tables(const struct fid_domain *domain)
{
	mutex_lock(&lock);
	if (!domain_ops.base.size) {
		plain_domain = domain_ops = *(const struct compat_ops_domain *)domain->ops;
		domain_ops.base.cq_open = checked_cq_open;
		domain_ops.base.endpoint = checked_endpoint;
		domain_ops.base.endpoint2 = checked_endpoint2;
		domain_ops.base.scalable_ep = checked_scalable_ep;
		domain_ops.base.cntr_open = checked_cntr_open;
		domain_ops.base.poll_open = checked_poll_open;
		domain_ops.base.stx_ctx = checked_stx_ctx;
		domain_ops.base.srx_ctx = checked_srx_ctx;
		plain_mr = mr_ops = *domain->mr;
		mr_ops.reg = checked_reg;
		mr_ops.regv = checked_regv;
		mr_ops.regattr = checked_regattr;
	}
	mutex_unlock(&lock);
}

static int check_domain(struct fid_domain *domain, const struct fi_info *info)
{
	struct check_object *object = check_adopt(&domain->fid, NULL);
	struct settings settings;

	if (object) {
		object->manual = info->domain_attr->data_progress == FI_PROGRESS_MANUAL ||
				 (!settings_read(&settings) && settings.process.manual);
		object->threading = info->domain_attr->threading;
		object->loses = info->domain_attr->resource_mgmt == FI_RM_DISABLED;
	}
	make_domain_tables(domain);
	domain->ops = &domain_ops.base;
	domain->mr = &mr_ops;
	return 0;
}

static int checked_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context)
{
	int err = plain_fabric.domain(fabric, info, domain, context);

	return err ? err : check_domain(*domain, info);
}

static int checked_domain2(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, uint64_t flags,
			   void *context)
{
	int err = plain_fabric.domain2(fabric, info, domain, flags, context);

	return err ? err : check_domain(*domain, info);
}

static void fi_check_forked(void)
{
	mutex_forked(&lock);
	check_tables_forked();
	check_alloc_forked();
	check_open_forked();
	check_posts_forked();
	check_races_forked();
	check_wait_forked();
}

static struct fork_reset reset = { .in_child = fi_check_forked };

/* The setting alone; what is wrong with it is said when the domain is opened. */
static bool is_wanted(void)
{
	const char *value = process_front.setting("check");
	struct check_setting check;

	return value && parse_check(value, &check) && check.on;
}

int check_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	int err = emu_fabric_open(attr, out, context);

	if (err || !is_wanted() || fork_register(&reset))
		return err;
	call_stack_prime();
	atomic_store(&started, true);
	mutex_lock(&lock);
	if (!fabric_ops.size) {
		plain_fabric = fabric_ops = *(*out)->ops;
		fabric_ops.domain = checked_domain;
		fabric_ops.domain2 = checked_domain2;
		fabric_ops.passive_ep = checked_passive_ep;
		fabric_ops.eq_open = checked_eq_open;
		fabric_ops.wait_open = checked_wait_open;
		fabric_ops.trywait = checked_trywait;
	}
	mutex_unlock(&lock);
	(*out)->ops = &fabric_ops;
	return 0;
}

void check_exit(void)
{
	struct check_left left;

	if (!atomic_load(&started) || check_inside || report_inside())
		return;
	check_wait_exit();
	check_posts_settle();
	check_races_exit();
	if (check_posts_left(NULL, &left))
		check_posts_dropped(&left, true);
	check_objects_exit();
}

void check_event_lost(size_t size)
{
	if (atomic_load(&started))
		check_tell(&(struct check_finding){ .cause = CHECK_EQ_OVERRUN },
			   "an event queue of %zu events was full, and an event is lost", size);
}
