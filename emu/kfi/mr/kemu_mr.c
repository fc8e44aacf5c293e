/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_mr.c - the registration calls, and the region object. */
#include "emu/kfi/mr/kemu_mr.h"

#include <kfi_errno.h>
#include <linux/bvec.h>
#include <linux/uio.h>
#include <stdlib.h>

#include "emu/kfi/mr/kemu_memory.h"
#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_refuse.h"
#include "emu/kfi/provider/kemu_personality.h"

#define REMOTE_RIGHTS (KFI_REMOTE_READ | KFI_REMOTE_WRITE)
#define RIGHTS (KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE | REMOTE_RIGHTS)

static const struct kemu_personality *personality_of(const struct kemu_domain *domain)
{
	return domain->fabric->personality;
}

/* --- the object --- */

/* Asynchronous, and not at its end before kfi_mr_enable(). */
static bool completes_at_enable(const struct kemu_domain *domain)
{
	return domain->mr_eq && (domain->mr_mode & KFI_MR_ENDPOINT);
}

static int kmr_close(struct kfid *fid)
{
	struct kemu_mr *mr = kemu_mr(fid);
	int err;

	EMU_KERNEL_SLEEPS("kfi_close");
	err = mr->fi ? fi_close(&mr->fi->fid) : 0; /* after it has returned nobody touches the memory */
	if (err)
		return err;
	if (mr->domain->mr_eq)
		kemu_eq_forget(mr->domain->mr_eq, fid);
	if (mr->ep)
		atomic_fetch_sub(&mr->ep->regions, 1);
	if (mr->window)
		kemu_desc_forget(mr->window);
	kemu_window_free(mr->window);
	atomic_fetch_sub(&mr->domain->object.users, 1);
	free(mr->pending);
	free(mr);
	return 0;
}

int kemu_mr_unknown_command(const char *what, int command)
{
	return KEMU_REFUSE(-KFI_EINVAL, "kfi_control: %s does not know command %d.", what, command);
}

static int kmr_control(struct kfid *fid, int command, void *arg)
{
	struct kemu_mr *mr = kemu_mr(fid);
	bool raw = personality_of(mr->domain)->raw_keys;

	EMU_KERNEL_SLEEPS("kfi_control");
	if (command == KFI_ENABLE)
		return kemu_mr_enable(mr);
	if (command == KFI_GET_RAW_MR && raw)
		return kemu_mr_raw_attr(mr, arg);
	if (command == KFI_REFRESH && raw)
		return kemu_mr_refresh(mr, arg);
	return kemu_mr_unknown_command("a region of this provider", command);
}

static int kmr_ops_open(struct kfid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	(void)fid, (void)name, (void)flags, (void)ops, (void)context;
	return -KFI_ENOSYS;
}

static struct kfi_ops kmr_fid_ops = {
	.size = sizeof(struct kfi_ops),
	.close = kmr_close,
	.bind = kemu_mr_bind,
	.control = kmr_control,
	.ops_open = kmr_ops_open,
};

int kemu_mr_to_device(struct kemu_mr *mr, const struct kemu_mr_request *request)
{
	struct iovec empty = { &mr->kfid, 0 }; /* of a region without a byte, as HPE's provider has them */
	struct fi_mr_attr attr = {
		.mr_iov = request->memory.count ? request->memory.run : &empty,
		.iov_count = request->memory.count ? request->memory.count : 1,
		.access = request->access,
		.offset = request->offset,
		.requested_key = request->key,
		.context = request->context,
		.auth_key_size = request->auth_key_size,
		.auth_key = request->auth_key,
	};

	return fi_mr_regattr(mr->domain->fi, &attr, request->flags, &mr->fi);
}

/* Atomic stores, as another thread may read when its event queue has told. */
int kemu_mr_completed(struct kemu_mr *mr)
{
	const struct kemu_personality *personality = personality_of(mr->domain);
	void *desc = personality->descriptors ? fi_mr_desc(mr->fi) : NULL;

	if (desc && mr->window && (mr->domain->mr_mode & KFI_MR_LOCAL) && !kemu_desc_add(mr->domain, desc, mr->window))
		return -KFI_ENOMEM;
	__atomic_store_n(&mr->kfid.key, fi_mr_key(mr->fi), __ATOMIC_RELAXED);
	__atomic_store_n(&mr->kfid.mem_desc, desc, __ATOMIC_RELEASE);
	return mr->domain->mr_eq ? kemu_eq_tell_mr(mr->domain->mr_eq, &mr->kfid.fid, mr->kfid.fid.context, 0) : 0;
}

/* --- registration --- */

static int check_access(const struct kemu_domain *domain, const char *call, uint64_t access)
{
	if (access & ~RIGHTS)
		return KEMU_REFUSE(-KFI_EINVAL, "%s: access %#llx has bits that are none of the six rights (S22).", call,
				   (unsigned long long)access);
	if (!personality_of(domain)->local_bits && !(access & REMOTE_RIGHTS))
		return KEMU_REFUSE(-KFI_EINVAL,
				   "%s: access has neither KFI_REMOTE_READ nor KFI_REMOTE_WRITE. Provider %s registers memory for "
				   "peers alone; buffers of local operations are not registered.",
				   call, personality_of(domain)->prov_name);
	return 0;
}

static int check_flags(const struct kemu_domain *domain, const char *call, uint64_t flags, uint64_t *fi_flags)
{
	if (flags && !personality_of(domain)->reg_flags)
		return KEMU_REFUSE_FLAGS(call, flags, " (S5)");
	if (!kemu_fi_flags(flags, fi_flags))
		return KEMU_REFUSE_FLAGS(call, flags & ~*fi_flags, " (S5)");
	return 0;
}

/* The device checks keys that it is told at once. */
static int check_key(const struct kemu_domain *domain, const char *call, uint64_t key)
{
	const struct kemu_personality *personality = personality_of(domain);

	if (!personality->keys_at_enable || key <= personality->mr_key_max)
		return 0;
	return KEMU_REFUSE(-KFI_EKEYREJECTED, "%s: key %#llx is more than %#llx, the last of provider %s (S36).", call,
			   (unsigned long long)key, (unsigned long long)personality->mr_key_max, personality->prov_name);
}

static int check_request(const struct kemu_domain *domain, const char *call, struct kemu_mr_request *request)
{
	int err = check_flags(domain, call, request->flags, &request->flags);

	if (!err && request->offset)
		err = KEMU_REFUSE(-KFI_EINVAL, "%s: offset is %llu. It is reserved and must be 0 (S4).", call,
				  (unsigned long long)request->offset);
	if (!err)
		err = check_access(domain, call, request->access);
	return err ? err : check_key(domain, call, request->key);
}

static int check_count(const struct kemu_domain *domain, const struct kemu_vector *vector)
{
	if (vector->count || personality_of(domain)->empty_vectors)
		return 0;
	return KEMU_REFUSE(-KFI_EINVAL, "%s: the count of buffers is 0 (S11).", vector->call);
}

/* Keeps the request for kfi_mr_enable(), or registers. */
static int kmr_begin(struct kemu_mr *mr, const struct kemu_mr_request *request)
{
	if (personality_of(mr->domain)->keys_at_enable) {
		mr->pending = malloc(sizeof(*mr->pending));
		if (!mr->pending)
			return -KFI_ENOMEM;
		*mr->pending = *request;
		mr->kfid.key = request->key;
		return 0;
	}
	return kemu_mr_to_device(mr, request);
}

static int kmr_open(struct kemu_domain *domain, const struct kemu_mr_request *request, struct kemu_mr **out)
{
	struct kemu_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return -KFI_ENOMEM;
	mr->domain = domain;
	mr->kfid.fid.fclass = KFI_CLASS_MR;
	mr->kfid.fid.context = request->context;
	mr->kfid.fid.ops = &kmr_fid_ops;
	mr->kfid.key = KFI_KEY_NOTAVAIL;
	if (domain->mr_mode & KFI_MR_VIRT_ADDR && request->memory.count)
		mr->kfid.iova = (uintptr_t)request->memory.run[0].iov_base;
	err = kmr_begin(mr, request);
	if (err) {
		free(mr);
		return err;
	}
	mr->window = request->memory.window;
	atomic_fetch_add(&domain->object.users, 1);
	*out = mr;
	return 0;
}

static int kmr_register(struct kfid *fid, const struct kemu_vector *vector, struct kemu_mr_request *request, struct kfid_mr **out)
{
	struct kemu_domain *domain = kemu_domain(fid);
	struct kfid_mr *before;
	struct kemu_mr *mr;
	int err;

	if (!out)
		return KEMU_REFUSE(-KFI_EINVAL, "%s: mr is NULL (S7).", vector->call);
	before = *out;
	err = check_request(domain, vector->call, request);
	if (!err)
		err = check_count(domain, vector);
	if (!err)
		err = kemu_memory_take(&request->memory, vector);
	if (err)
		return err;
	err = kmr_open(domain, request, &mr);
	if (err) {
		kemu_window_free(request->memory.window);
		return err;
	}
	*out = &mr->kfid; /* before its event can be read (S170) */
	if (mr->pending || completes_at_enable(domain))
		return 0;
	err = kemu_mr_completed(mr);
	if (err) {
		*out = before; /* no event has told of the region (S13) */
		kmr_close(&mr->kfid.fid);
	}
	return err;
}

static int kmr_regattr(struct kfid *fid, const struct kfi_mr_attr *attr, uint64_t flags, struct kfid_mr **mr)
{
	struct kemu_vector vector = { .call = "kfi_mr_regattr" };
	struct kemu_mr_request request;

	EMU_KERNEL_SLEEPS("kfi_mr_regattr");
	if (!personality_of(kemu_domain(fid))->regattr)
		return KEMU_REFUSE(-KFI_ENOSYS, "kfi_mr_regattr: provider %s does not have it. Call kfi_mr_regv() or its siblings.",
				   personality_of(kemu_domain(fid))->prov_name);
	if (!attr)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_mr_regattr: attr is NULL (S7).");
	vector.type = attr->type;
	vector.entries = attr->mr_iov;
	vector.count = attr->iov_count;
	request = (struct kemu_mr_request){
		.access = attr->access,
		.offset = attr->offset,
		.key = attr->requested_key,
		.flags = flags,
		.context = attr->context,
		.auth_key = attr->auth_key,
		.auth_key_size = attr->auth_key_size,
	};
	return kmr_register(fid, &vector, &request, mr);
}

static int kmr_regv(struct kfid *fid, const struct kvec *iov, size_t count, uint64_t access, uint64_t offset, uint64_t key,
		    uint64_t flags, struct kfid_mr **mr, void *context)
{
	struct kemu_vector vector = { .call = "kfi_mr_regv", .type = KFI_KVEC, .entries = iov, .count = count };
	struct kemu_mr_request request = { .access = access, .offset = offset, .key = key, .flags = flags, .context = context };

	EMU_KERNEL_SLEEPS("kfi_mr_regv");
	return kmr_register(fid, &vector, &request, mr);
}

static int kmr_reg(struct kfid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags,
		   struct kfid_mr **mr, void *context)
{
	struct kvec iov = { (void *)(uintptr_t)buf, len };
	struct kemu_vector vector = { .call = "kfi_mr_reg", .type = KFI_KVEC, .entries = &iov, .count = 1 };
	struct kemu_mr_request request = { .access = access, .offset = offset, .key = key, .flags = flags, .context = context };

	EMU_KERNEL_SLEEPS("kfi_mr_reg");
	return kmr_register(fid, &vector, &request, mr);
}

static int kmr_regbv(struct kfid *fid, const struct bio_vec *biov, size_t count, uint64_t access, uint64_t offset, uint64_t key,
		     uint64_t flags, struct kfid_mr **mr, void *context)
{
	struct kemu_vector vector = { .call = "kfi_mr_regbv", .type = KFI_BVEC, .entries = biov, .count = count };
	struct kemu_mr_request request = { .access = access, .offset = offset, .key = key, .flags = flags, .context = context };

	EMU_KERNEL_SLEEPS("kfi_mr_regbv");
	return kmr_register(fid, &vector, &request, mr);
}

static int kmr_regsgl(struct kfid *fid, const struct scatterlist *sgl, size_t count, uint64_t access, uint64_t offset, uint64_t key,
		      uint64_t flags, struct kfid_mr **mr, void *context)
{
	struct kemu_vector vector = { .call = "kfi_mr_regsgl", .type = KFI_SGL, .entries = sgl, .count = count };
	struct kemu_mr_request request = { .access = access, .offset = offset, .key = key, .flags = flags, .context = context };

	EMU_KERNEL_SLEEPS("kfi_mr_regsgl");
	return kmr_register(fid, &vector, &request, mr);
}

struct kfi_ops_mr kemu_mr_ops = {
	.size = sizeof(struct kfi_ops_mr),
	.reg = kmr_reg,
	.regv = kmr_regv,
	.regbv = kmr_regbv,
	.regattr = kmr_regattr,
	.regsgl = kmr_regsgl,
};
