/* SPDX-License-Identifier: BSD-2-Clause */
/* fake_provider.c - the ops of fake_provider.h, by table. */
#include "tests/kfi/fake_provider.h"
#include <criterion/criterion.h>
#include <string.h>

struct fake_call fake_last;

static uint64_t note(const char *op, const uint64_t *words, size_t count)
{
	static uint64_t results = 1000;

	fake_last = (struct fake_call){ .op = op, .count = count, .result = ++results };
	memcpy(fake_last.words, words, count * sizeof(*words));
	return fake_last.result;
}

void fake_check(const char *op, const char *call, const uint64_t *words, size_t count, uint64_t result)
{
	cr_assert_str_eq(fake_last.op, op, "%s reached %s, not %s", call, fake_last.op, op);
	cr_assert_eq(fake_last.count, count, "%s passed %zu of %zu arguments", call, fake_last.count, count);
	for (size_t i = 0; i < count; i++)
		cr_assert_eq(fake_last.words[i], words[i], "%s passed another argument %zu", call, i);
	cr_assert_eq(result, fake_last.result, "%s gave another result", call);
}

#define OP(type, name, parameters, ...)                                                 \
	static type name parameters                                                     \
	{                                                                               \
		return (type)note(#name, WORDS(__VA_ARGS__), WORDS_COUNT(__VA_ARGS__)); \
	}

OP(int, fid_close, (struct kfid * fid), fid)
OP(int, fid_bind, (struct kfid * fid, struct kfid *bfid, uint64_t flags), fid, bfid, flags)
OP(int, fid_ops_open, (struct kfid * fid, const char *name, uint64_t flags, void **ops, void *context), fid, name, flags, ops,
   context)

/* What a command points to is gone when the inline returns. */
static int fid_control(struct kfid *fid, int command, void *arg)
{
	int result = (int)note("fid_control", WORDS(fid, command, arg), 3);

	switch (command) {
	case KFI_ALIAS:
		fake_last.arg.alias = *(struct kfi_alias *)arg;
		*fake_last.arg.alias.fid = &fake_ep.fid;
		return 0;
	case KFI_GET_RAW_MR:
		fake_last.arg.raw = *(struct kfi_mr_raw_attr *)arg;
		break;
	case KFI_MAP_RAW_MR:
		fake_last.arg.map = *(struct kfi_mr_map_raw *)arg;
		break;
	case KFI_UNMAP_KEY:
		fake_last.arg.key = *(uint64_t *)arg;
		break;
	case KFI_REFRESH:
		fake_last.arg.modify = *(struct kfi_mr_modify *)arg;
		break;
	}
	return result;
}

static struct kfi_ops fid_ops = {
	.size = sizeof(struct kfi_ops),
	.close = fid_close,
	.bind = fid_bind,
	.control = fid_control,
	.ops_open = fid_ops_open,
};

OP(int, fabric_domain, (struct kfid_fabric * fabric, struct kfi_info *info, struct kfid_domain **domain, void *context), fabric,
   info, domain, context)
OP(int, fabric_passive_ep, (struct kfid_fabric * fabric, struct kfi_info *info, struct kfid_pep **pep, void *context), fabric, info,
   pep, context)
OP(int, fabric_eq_open,
   (struct kfid_fabric * fabric, struct kfi_eq_attr *attr, struct kfid_eq **eq, kfi_event_handler event_handler, void *context),
   fabric, attr, eq, event_handler, context)
OP(int, fabric_wait_open, (struct kfid_fabric * fabric, struct kfi_wait_attr *attr, struct kfid_wait **waitset), fabric, attr,
   waitset)

static struct kfi_ops_fabric fabric_ops = {
	.size = sizeof(struct kfi_ops_fabric),
	.domain = fabric_domain,
	.passive_ep = fabric_passive_ep,
	.eq_open = fabric_eq_open,
	.wait_open = fabric_wait_open,
};

OP(int, wait_wait, (struct kfid_wait * waitset, int timeout), waitset, timeout)

static struct kfi_ops_wait wait_ops = {
	.size = sizeof(struct kfi_ops_wait),
	.wait = wait_wait,
};

OP(int, poll_poll, (struct kfid_poll * pollset, void **context, int count), pollset, context, count)
OP(int, poll_poll_add, (struct kfid_poll * pollset, struct kfid *event_kfid, uint64_t flags), pollset, event_kfid, flags)
OP(int, poll_poll_del, (struct kfid_poll * pollset, struct kfid *event_kfid, uint64_t flags), pollset, event_kfid, flags)

static struct kfi_ops_poll poll_ops = {
	.size = sizeof(struct kfi_ops_poll),
	.poll = poll_poll,
	.poll_add = poll_poll_add,
	.poll_del = poll_poll_del,
};

OP(ssize_t, eq_read, (struct kfid_eq * eq, uint32_t *event, void *buf, size_t len, uint64_t flags), eq, event, buf, len, flags)
OP(ssize_t, eq_readerr, (struct kfid_eq * eq, struct kfi_eq_err_entry *buf, uint64_t flags), eq, buf, flags)
OP(ssize_t, eq_write, (struct kfid_eq * eq, uint32_t event, const void *buf, size_t len, uint64_t flags), eq, event, buf, len,
   flags)
OP(ssize_t, eq_sread, (struct kfid_eq * eq, uint32_t *event, void *buf, size_t len, int timeout, uint64_t flags), eq, event, buf,
   len, timeout, flags)
OP(const char *, eq_strerror, (struct kfid_eq * eq, int prov_errno, const void *err_data, char *buf, size_t len), eq, prov_errno,
   err_data, buf, len)

static struct kfi_ops_eq eq_ops = {
	.size = sizeof(struct kfi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

OP(ssize_t, cq_read, (struct kfid_cq * cq, void *buf, size_t count), cq, buf, count)
OP(ssize_t, cq_readfrom, (struct kfid_cq * cq, void *buf, size_t count, kfi_addr_t *src_addr), cq, buf, count, src_addr)
OP(ssize_t, cq_readerr, (struct kfid_cq * cq, struct kfi_cq_err_entry *buf, uint64_t flags), cq, buf, flags)
OP(ssize_t, cq_sread, (struct kfid_cq * cq, void *buf, size_t count, const void *cond, int timeout), cq, buf, count, cond, timeout)
OP(ssize_t, cq_sreadfrom, (struct kfid_cq * cq, void *buf, size_t count, kfi_addr_t *src_addr, const void *cond, int timeout), cq,
   buf, count, src_addr, cond, timeout)
OP(int, cq_signal, (struct kfid_cq * cq), cq)
OP(const char *, cq_strerror, (struct kfid_cq * cq, int prov_errno, const void *err_data, char *buf, size_t len), cq, prov_errno,
   err_data, buf, len)

static struct kfi_ops_cq cq_ops = {
	.size = sizeof(struct kfi_ops_cq),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
};

OP(uint64_t, cntr_read, (struct kfid_cntr * cntr), cntr)
OP(uint64_t, cntr_readerr, (struct kfid_cntr * cntr), cntr)
OP(int, cntr_add, (struct kfid_cntr * cntr, uint64_t value), cntr, value)
OP(int, cntr_set, (struct kfid_cntr * cntr, uint64_t value), cntr, value)
OP(int, cntr_wait, (struct kfid_cntr * cntr, uint64_t threshold, int timeout), cntr, threshold, timeout)
OP(int, cntr_adderr, (struct kfid_cntr * cntr, uint64_t value), cntr, value)
OP(int, cntr_seterr, (struct kfid_cntr * cntr, uint64_t value), cntr, value)

static struct kfi_ops_cntr cntr_ops = {
	.size = sizeof(struct kfi_ops_cntr),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

OP(int, av_insert, (struct kfid_av * av, const void *addr, size_t count, kfi_addr_t *kfi_addr, uint64_t flags, void *context), av,
   addr, count, kfi_addr, flags, context)
OP(int, av_insertsvc,
   (struct kfid_av * av, const char *node, const char *service, kfi_addr_t *kfi_addr, uint64_t flags, void *context), av, node,
   service, kfi_addr, flags, context)
OP(int, av_insertsym,
   (struct kfid_av * av, const char *node, size_t nodecnt, const char *service, size_t svccnt, kfi_addr_t *kfi_addr, uint64_t flags,
    void *context),
   av, node, nodecnt, service, svccnt, kfi_addr, flags, context)
OP(int, av_remove, (struct kfid_av * av, kfi_addr_t *kfi_addr, size_t count, uint64_t flags), av, kfi_addr, count, flags)
OP(int, av_lookup, (struct kfid_av * av, kfi_addr_t kfi_addr, void *addr, size_t *addrlen), av, kfi_addr, addr, addrlen)
OP(const char *, av_straddr, (struct kfid_av * av, const void *addr, char *buf, size_t *len), av, addr, buf, len)

static struct kfi_ops_av av_ops = {
	.size = sizeof(struct kfi_ops_av),
	.insert = av_insert,
	.insertsvc = av_insertsvc,
	.insertsym = av_insertsym,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
};

OP(int, domain_av_open, (struct kfid_domain * domain, struct kfi_av_attr *attr, struct kfid_av **av, void *context), domain, attr,
   av, context)
OP(int, domain_cq_open,
   (struct kfid_domain * domain, struct kfi_cq_attr *attr, struct kfid_cq **cq, kfi_comp_handler comp_handler, void *context),
   domain, attr, cq, comp_handler, context)
OP(int, domain_endpoint, (struct kfid_domain * domain, struct kfi_info *info, struct kfid_ep **ep, void *context), domain, info, ep,
   context)
OP(int, domain_scalable_ep, (struct kfid_domain * domain, struct kfi_info *info, struct kfid_ep **sep, void *context), domain, info,
   sep, context)
OP(int, domain_cntr_open, (struct kfid_domain * domain, struct kfi_cntr_attr *attr, struct kfid_cntr **cntr, void *context), domain,
   attr, cntr, context)
OP(int, domain_poll_open, (struct kfid_domain * domain, struct kfi_poll_attr *attr, struct kfid_poll **pollset), domain, attr,
   pollset)
OP(int, domain_stx_ctx, (struct kfid_domain * domain, struct kfi_tx_attr *attr, struct kfid_stx **stx, void *context), domain, attr,
   stx, context)
OP(int, domain_srx_ctx, (struct kfid_domain * domain, struct kfi_rx_attr *attr, struct kfid_ep **rx_ep, void *context), domain,
   attr, rx_ep, context)
OP(int, domain_query_atomic,
   (struct kfid_domain * domain, enum kfi_datatype datatype, enum kfi_op op, struct kfi_atomic_attr *attr, uint64_t flags), domain,
   datatype, op, attr, flags)

static struct kfi_ops_domain domain_ops = {
	.size = sizeof(struct kfi_ops_domain),
	.av_open = domain_av_open,
	.cq_open = domain_cq_open,
	.endpoint = domain_endpoint,
	.scalable_ep = domain_scalable_ep,
	.cntr_open = domain_cntr_open,
	.poll_open = domain_poll_open,
	.stx_ctx = domain_stx_ctx,
	.srx_ctx = domain_srx_ctx,
	.query_atomic = domain_query_atomic,
};

OP(int, mr_reg,
   (struct kfid * fid, const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t requested_key, uint64_t flags,
    struct kfid_mr **mr, void *context),
   fid, buf, len, access, offset, requested_key, flags, mr, context)
OP(int, mr_regv,
   (struct kfid * fid, const struct kvec *iov, size_t count, uint64_t access, uint64_t offset, uint64_t requested_key,
    uint64_t flags, struct kfid_mr **mr, void *context),
   fid, iov, count, access, offset, requested_key, flags, mr, context)
OP(int, mr_regbv,
   (struct kfid * fid, const struct bio_vec *biov, size_t count, uint64_t access, uint64_t offset, uint64_t requested_key,
    uint64_t flags, struct kfid_mr **mr, void *context),
   fid, biov, count, access, offset, requested_key, flags, mr, context)
OP(int, mr_regattr, (struct kfid * fid, const struct kfi_mr_attr *attr, uint64_t flags, struct kfid_mr **mr), fid, attr, flags, mr)
OP(int, mr_regsgl,
   (struct kfid * fid, const struct scatterlist *sgl, size_t count, uint64_t access, uint64_t offset, uint64_t requested_key,
    uint64_t flags, struct kfid_mr **mr, void *context),
   fid, sgl, count, access, offset, requested_key, flags, mr, context)

static struct kfi_ops_mr mr_ops = {
	.size = sizeof(struct kfi_ops_mr),
	.reg = mr_reg,
	.regv = mr_regv,
	.regbv = mr_regbv,
	.regattr = mr_regattr,
	.regsgl = mr_regsgl,
};

OP(ssize_t, ep_cancel, (kfid_t fid, void *context), fid, context)
OP(int, ep_getopt, (kfid_t fid, int level, int optname, void *optval, size_t *optlen), fid, level, optname, optval, optlen)
OP(int, ep_setopt, (kfid_t fid, int level, int optname, const void *optval, size_t optlen), fid, level, optname, optval, optlen)
OP(int, ep_tx_ctx, (struct kfid_ep * sep, int index, struct kfi_tx_attr *attr, struct kfid_ep **tx_ep, void *context), sep, index,
   attr, tx_ep, context)
OP(int, ep_rx_ctx, (struct kfid_ep * sep, int index, struct kfi_rx_attr *attr, struct kfid_ep **rx_ep, void *context), sep, index,
   attr, rx_ep, context)

static struct kfi_ops_ep ep_ops = {
	.size = sizeof(struct kfi_ops_ep),
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.tx_ctx = ep_tx_ctx,
	.rx_ctx = ep_rx_ctx,
};

OP(ssize_t, msg_recv, (struct kfid_ep * ep, void *buf, size_t len, void *desc, kfi_addr_t src_addr, void *context), ep, buf, len,
   desc, src_addr, context)
OP(ssize_t, msg_recvv, (struct kfid_ep * ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t src_addr, void *context),
   ep, iov, desc, count, src_addr, context)
OP(ssize_t, msg_recvbv,
   (struct kfid_ep * ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t src_addr, void *context), ep, biov, desc,
   count, src_addr, context)
OP(ssize_t, msg_recvmsg, (struct kfid_ep * ep, const struct kfi_msg *msg, uint64_t flags), ep, msg, flags)
OP(ssize_t, msg_send, (struct kfid_ep * ep, const void *buf, size_t len, void *desc, kfi_addr_t dest_addr, void *context), ep, buf,
   len, desc, dest_addr, context)
OP(ssize_t, msg_sendv,
   (struct kfid_ep * ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t dest_addr, void *context), ep, iov, desc,
   count, dest_addr, context)
OP(ssize_t, msg_sendbv,
   (struct kfid_ep * ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t dest_addr, void *context), ep, biov,
   desc, count, dest_addr, context)
OP(ssize_t, msg_sendmsg, (struct kfid_ep * ep, const struct kfi_msg *msg, uint64_t flags), ep, msg, flags)
OP(ssize_t, msg_inject, (struct kfid_ep * ep, const void *buf, size_t len, kfi_addr_t dest_addr), ep, buf, len, dest_addr)
OP(ssize_t, msg_senddata,
   (struct kfid_ep * ep, const void *buf, size_t len, void *desc, uint64_t data, kfi_addr_t dest_addr, void *context), ep, buf, len,
   desc, data, dest_addr, context)
OP(ssize_t, msg_injectdata, (struct kfid_ep * ep, const void *buf, size_t len, uint64_t data, kfi_addr_t dest_addr), ep, buf, len,
   data, dest_addr)
OP(ssize_t, msg_recvsgl,
   (struct kfid_ep * ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t src_addr, void *context), ep, sgl,
   desc, count, src_addr, context)
OP(ssize_t, msg_sendsgl,
   (struct kfid_ep * ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t dest_addr, void *context), ep, sgl,
   desc, count, dest_addr, context)

static struct kfi_ops_msg msg_ops = {
	.size = sizeof(struct kfi_ops_msg),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvbv = msg_recvbv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendbv = msg_sendbv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
	.recvsgl = msg_recvsgl,
	.sendsgl = msg_sendsgl,
};

OP(ssize_t, rma_read,
   (struct kfid_ep * ep, void *buf, size_t len, void *desc, kfi_addr_t src_addr, uint64_t addr, uint64_t key, void *context), ep,
   buf, len, desc, src_addr, addr, key, context)
OP(ssize_t, rma_readv,
   (struct kfid_ep * ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t src_addr, uint64_t addr, uint64_t key,
    void *context),
   ep, iov, desc, count, src_addr, addr, key, context)
OP(ssize_t, rma_readbv,
   (struct kfid_ep * ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t src_addr, uint64_t addr, uint64_t key,
    void *context),
   ep, biov, desc, count, src_addr, addr, key, context)
OP(ssize_t, rma_readmsg, (struct kfid_ep * ep, const struct kfi_msg_rma *msg, uint64_t flags), ep, msg, flags)
OP(ssize_t, rma_write,
   (struct kfid_ep * ep, const void *buf, size_t len, void *desc, kfi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context),
   ep, buf, len, desc, dest_addr, addr, key, context)
OP(ssize_t, rma_writev,
   (struct kfid_ep * ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
    void *context),
   ep, iov, desc, count, dest_addr, addr, key, context)
OP(ssize_t, rma_writebv,
   (struct kfid_ep * ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
    void *context),
   ep, biov, desc, count, dest_addr, addr, key, context)
OP(ssize_t, rma_writemsg, (struct kfid_ep * ep, const struct kfi_msg_rma *msg, uint64_t flags), ep, msg, flags)
OP(ssize_t, rma_inject, (struct kfid_ep * ep, const void *buf, size_t len, kfi_addr_t dest_addr, uint64_t addr, uint64_t key), ep,
   buf, len, dest_addr, addr, key)
OP(ssize_t, rma_writedata,
   (struct kfid_ep * ep, const void *buf, size_t len, void *desc, uint64_t data, kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
    void *context),
   ep, buf, len, desc, data, dest_addr, addr, key, context)
OP(ssize_t, rma_injectdata,
   (struct kfid_ep * ep, const void *buf, size_t len, uint64_t data, kfi_addr_t dest_addr, uint64_t addr, uint64_t key), ep, buf,
   len, data, dest_addr, addr, key)
OP(ssize_t, rma_readsgl,
   (struct kfid_ep * ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t src_addr, uint64_t addr, uint64_t key,
    void *context),
   ep, sgl, desc, count, src_addr, addr, key, context)
OP(ssize_t, rma_writesgl,
   (struct kfid_ep * ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t dest_addr, uint64_t addr,
    uint64_t key, void *context),
   ep, sgl, desc, count, dest_addr, addr, key, context)

static struct kfi_ops_rma rma_ops = {
	.size = sizeof(struct kfi_ops_rma),
	.read = rma_read,
	.readv = rma_readv,
	.readbv = rma_readbv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writebv = rma_writebv,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
	.readsgl = rma_readsgl,
	.writesgl = rma_writesgl,
};

OP(ssize_t, tagged_recv,
   (struct kfid_ep * ep, void *buf, size_t len, void *desc, kfi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context), ep,
   buf, len, desc, src_addr, tag, ignore, context)
OP(ssize_t, tagged_recvv,
   (struct kfid_ep * ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t src_addr, uint64_t tag, uint64_t ignore,
    void *context),
   ep, iov, desc, count, src_addr, tag, ignore, context)
OP(ssize_t, tagged_recvbv,
   (struct kfid_ep * ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t src_addr, uint64_t tag, uint64_t ignore,
    void *context),
   ep, biov, desc, count, src_addr, tag, ignore, context)
OP(ssize_t, tagged_recvmsg, (struct kfid_ep * ep, const struct kfi_msg_tagged *msg, uint64_t flags), ep, msg, flags)
OP(ssize_t, tagged_send,
   (struct kfid_ep * ep, const void *buf, size_t len, void *desc, kfi_addr_t dest_addr, uint64_t tag, void *context), ep, buf, len,
   desc, dest_addr, tag, context)
OP(ssize_t, tagged_sendv,
   (struct kfid_ep * ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t dest_addr, uint64_t tag, void *context), ep,
   iov, desc, count, dest_addr, tag, context)
OP(ssize_t, tagged_sendbv,
   (struct kfid_ep * ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t dest_addr, uint64_t tag, void *context),
   ep, biov, desc, count, dest_addr, tag, context)
OP(ssize_t, tagged_sendmsg, (struct kfid_ep * ep, const struct kfi_msg_tagged *msg, uint64_t flags), ep, msg, flags)
OP(ssize_t, tagged_inject, (struct kfid_ep * ep, const void *buf, size_t len, kfi_addr_t dest_addr, uint64_t tag), ep, buf, len,
   dest_addr, tag)
OP(ssize_t, tagged_senddata,
   (struct kfid_ep * ep, const void *buf, size_t len, void *desc, uint64_t data, kfi_addr_t dest_addr, uint64_t tag, void *context),
   ep, buf, len, desc, data, dest_addr, tag, context)
OP(ssize_t, tagged_injectdata,
   (struct kfid_ep * ep, const void *buf, size_t len, uint64_t data, kfi_addr_t dest_addr, uint64_t tag), ep, buf, len, data,
   dest_addr, tag)
OP(ssize_t, tagged_recvsgl,
   (struct kfid_ep * ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t src_addr, uint64_t tag,
    uint64_t ignore, void *context),
   ep, sgl, desc, count, src_addr, tag, ignore, context)
OP(ssize_t, tagged_sendsgl,
   (struct kfid_ep * ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t dest_addr, uint64_t tag,
    void *context),
   ep, sgl, desc, count, dest_addr, tag, context)

static struct kfi_ops_tagged tagged_ops = {
	.size = sizeof(struct kfi_ops_tagged),
	.recv = tagged_recv,
	.recvv = tagged_recvv,
	.recvbv = tagged_recvbv,
	.recvmsg = tagged_recvmsg,
	.send = tagged_send,
	.sendv = tagged_sendv,
	.sendbv = tagged_sendbv,
	.sendmsg = tagged_sendmsg,
	.inject = tagged_inject,
	.senddata = tagged_senddata,
	.injectdata = tagged_injectdata,
	.recvsgl = tagged_recvsgl,
	.sendsgl = tagged_sendsgl,
};

OP(ssize_t, atomic_write,
   (struct kfid_ep * ep, const void *buf, size_t count, void *desc, kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
    enum kfi_datatype datatype, enum kfi_op op, void *context),
   ep, buf, count, desc, dest_addr, addr, key, datatype, op, context)
OP(ssize_t, atomic_writev,
   (struct kfid_ep * ep, const struct kfi_ioc *iov, void **desc, size_t count, kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
    enum kfi_datatype datatype, enum kfi_op op, void *context),
   ep, iov, desc, count, dest_addr, addr, key, datatype, op, context)
OP(ssize_t, atomic_writemsg, (struct kfid_ep * ep, const struct kfi_msg_atomic *msg, uint64_t flags), ep, msg, flags)
OP(ssize_t, atomic_inject,
   (struct kfid_ep * ep, const void *buf, size_t count, kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
    enum kfi_datatype datatype, enum kfi_op op),
   ep, buf, count, dest_addr, addr, key, datatype, op)
OP(ssize_t, atomic_readwrite,
   (struct kfid_ep * ep, const void *buf, size_t count, void *desc, void *result, void *result_desc, kfi_addr_t dest_addr,
    uint64_t addr, uint64_t key, enum kfi_datatype datatype, enum kfi_op op, void *context),
   ep, buf, count, desc, result, result_desc, dest_addr, addr, key, datatype, op, context)
OP(ssize_t, atomic_readwritev,
   (struct kfid_ep * ep, const struct kfi_ioc *iov, void **desc, size_t count, struct kfi_ioc *resultv, void **result_desc,
    size_t result_count, kfi_addr_t dest_addr, uint64_t addr, uint64_t key, enum kfi_datatype datatype, enum kfi_op op,
    void *context),
   ep, iov, desc, count, resultv, result_desc, result_count, dest_addr, addr, key, datatype, op, context)
OP(ssize_t, atomic_readwritemsg,
   (struct kfid_ep * ep, const struct kfi_msg_atomic *msg, struct kfi_ioc *resultv, void **result_desc, size_t result_count,
    uint64_t flags),
   ep, msg, resultv, result_desc, result_count, flags)
OP(ssize_t, atomic_compwrite,
   (struct kfid_ep * ep, const void *buf, size_t count, void *desc, const void *compare, void *compare_desc, void *result,
    void *result_desc, kfi_addr_t dest_addr, uint64_t addr, uint64_t key, enum kfi_datatype datatype, enum kfi_op op,
    void *context),
   ep, buf, count, desc, compare, compare_desc, result, result_desc, dest_addr, addr, key, datatype, op, context)
OP(ssize_t, atomic_compwritev,
   (struct kfid_ep * ep, const struct kfi_ioc *iov, void **desc, size_t count, const struct kfi_ioc *comparev, void **compare_desc,
    size_t compare_count, struct kfi_ioc *resultv, void **result_desc, size_t result_count, kfi_addr_t dest_addr, uint64_t addr,
    uint64_t key, enum kfi_datatype datatype, enum kfi_op op, void *context),
   ep, iov, desc, count, comparev, compare_desc, compare_count, resultv, result_desc, result_count, dest_addr, addr, key, datatype,
   op, context)
OP(ssize_t, atomic_compwritemsg,
   (struct kfid_ep * ep, const struct kfi_msg_atomic *msg, const struct kfi_ioc *comparev, void **compare_desc,
    size_t compare_count, struct kfi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags),
   ep, msg, comparev, compare_desc, compare_count, resultv, result_desc, result_count, flags)
OP(int, atomic_writevalid, (struct kfid_ep * ep, enum kfi_datatype datatype, enum kfi_op op, size_t *count), ep, datatype, op,
   count)
OP(int, atomic_readwritevalid, (struct kfid_ep * ep, enum kfi_datatype datatype, enum kfi_op op, size_t *count), ep, datatype, op,
   count)
OP(int, atomic_compwritevalid, (struct kfid_ep * ep, enum kfi_datatype datatype, enum kfi_op op, size_t *count), ep, datatype, op,
   count)

static struct kfi_ops_atomic atomic_ops = {
	.size = sizeof(struct kfi_ops_atomic),
	.write = atomic_write,
	.writev = atomic_writev,
	.writemsg = atomic_writemsg,
	.inject = atomic_inject,
	.readwrite = atomic_readwrite,
	.readwritev = atomic_readwritev,
	.readwritemsg = atomic_readwritemsg,
	.compwrite = atomic_compwrite,
	.compwritev = atomic_compwritev,
	.compwritemsg = atomic_compwritemsg,
	.writevalid = atomic_writevalid,
	.readwritevalid = atomic_readwritevalid,
	.compwritevalid = atomic_compwritevalid,
};

OP(int, cm_setname, (kfid_t fid, void *addr, size_t addrlen), fid, addr, addrlen)
OP(int, cm_getname, (kfid_t fid, void *addr, size_t *addrlen), fid, addr, addrlen)
OP(int, cm_getpeer, (struct kfid_ep * ep, void *addr, size_t *addrlen), ep, addr, addrlen)
OP(int, cm_connect, (struct kfid_ep * ep, const void *addr, const void *param, size_t paramlen), ep, addr, param, paramlen)
OP(int, cm_listen, (struct kfid_pep * pep), pep)
OP(int, cm_accept, (struct kfid_ep * ep, const void *param, size_t paramlen), ep, param, paramlen)
OP(int, cm_reject, (struct kfid_pep * pep, kfid_t connreq, const void *param, size_t paramlen), pep, connreq, param, paramlen)
OP(int, cm_shutdown, (struct kfid_ep * ep, uint64_t flags), ep, flags)
OP(int, cm_join, (struct kfid_ep * ep, const void *addr, uint64_t flags, struct kfid_mc **mc, void *context), ep, addr, flags, mc,
   context)

static struct kfi_ops_cm cm_ops = {
	.size = sizeof(struct kfi_ops_cm),
	.setname = cm_setname,
	.getname = cm_getname,
	.getpeer = cm_getpeer,
	.connect = cm_connect,
	.listen = cm_listen,
	.accept = cm_accept,
	.reject = cm_reject,
	.shutdown = cm_shutdown,
	.join = cm_join,
};

struct kfid_fabric fake_fabric = { .fid = { .fclass = KFI_CLASS_FABRIC, .ops = &fid_ops }, .ops = &fabric_ops };
struct kfid_domain fake_domain = { .fid = { .fclass = KFI_CLASS_DOMAIN, .ops = &fid_ops }, .ops = &domain_ops, .mr = &mr_ops };
struct kfid_av fake_av = { .fid = { .fclass = KFI_CLASS_AV, .ops = &fid_ops }, .ops = &av_ops };
struct kfid_mr fake_mr = { .fid = { .fclass = KFI_CLASS_MR, .ops = &fid_ops }, .mem_desc = P(1), .key = 7, .iova = 9 };
struct kfid_wait fake_wait = { .kfid = { .fclass = KFI_CLASS_WAIT, .ops = &fid_ops }, .ops = &wait_ops };
struct kfid_poll fake_poll = { .fid = { .fclass = KFI_CLASS_POLL, .ops = &fid_ops }, .ops = &poll_ops };
struct kfid_eq fake_eq = { .fid = { .fclass = KFI_CLASS_EQ, .ops = &fid_ops }, .ops = &eq_ops };
struct kfid_cq fake_cq = { .fid = { .fclass = KFI_CLASS_CQ, .ops = &fid_ops }, .ops = &cq_ops };
struct kfid_cntr fake_cntr = { .fid = { .fclass = KFI_CLASS_CNTR, .ops = &fid_ops }, .ops = &cntr_ops };
struct kfid_ep fake_ep = {
	.fid = { .fclass = KFI_CLASS_EP, .ops = &fid_ops },
	.ops = &ep_ops,
	.cm = &cm_ops,
	.msg = &msg_ops,
	.rma = &rma_ops,
	.tagged = &tagged_ops,
	.atomic = &atomic_ops,
};
struct kfid_pep fake_pep = { .fid = { .fclass = KFI_CLASS_PEP, .ops = &fid_ops }, .ops = &ep_ops, .cm = &cm_ops };

/* Nothing is offered. */
static int fake_kgetinfo(uint32_t version, const char *node, const char *service, uint64_t flags, struct kfi_info *hints,
			 struct kfi_info **info)
{
	note("kgetinfo", WORDS(version, node, service, flags, hints, info), 6);
	return -KFI_ENODATA;
}

static int fake_kfabric(struct kfi_fabric_attr *attr, struct kfid_fabric **fabric, void *context)
{
	note("kfabric", WORDS(attr, fabric, context), 3);
	*fabric = &fake_fabric;
	return 0;
}

struct kfi_provider fake_provider = {
	.version = KFI_VERSION(0, 1),
	.kfi_version = KFI_VERSION(1, 7),
	.name = "fake",
	.kgetinfo = fake_kgetinfo,
	.kfabric = fake_kfabric,
};
