/* SPDX-License-Identifier: BSD-2-Clause */
/* Each data transfer call of kfabric, between two endpoints: messages, tagged ones, RMA, and RMA on tagged receives. */
#include <emu_kernel.h>
#include <kfi_cm.h>
#include <linux/bvec.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/uio.h>
#include <string.h>

#include "tests/kfi/kpair.h"

enum { PARTS = 3, PART = 8, BYTES = PARTS * PART, DATA = 77, TAG = 0x1234 };
enum how { PLAIN, VECTOR, BVEC, SGL, MSG_KVEC, MSG_BVEC, MSG_SGL, HOWS, INJECT = HOWS, WITH_DATA, INJECT_DATA, SENDS };

static const struct kpair_wish plain = { 0 }, cxi = { .personality = "kcxi" };

/* BYTES bytes in one place, or in three parts of pages. */
struct bytes {
	char one[BYTES];
	struct page *page;
	struct kvec kvec[PARTS];
	struct bio_vec bvec[PARTS];
	struct sg_table table;
};

static void bytes_make(struct bytes *bytes)
{
	struct scatterlist *sg;
	unsigned int i;

	bytes->page = alloc_pages(GFP_KERNEL, 2);
	RC(0, sg_alloc_table(&bytes->table, PARTS, GFP_KERNEL));
	for_each_sgtable_sg(&bytes->table, sg, i) {
		bvec_set_page(&bytes->bvec[i], bytes->page + i, PART, 50 + i);
		bytes->kvec[i] = (struct kvec){ bvec_virt(&bytes->bvec[i]), PART };
		sg_set_page(sg, bytes->page + i, PART, 50 + i);
	}
	RC(0, dma_map_sgtable(NULL, &bytes->table, DMA_BIDIRECTIONAL, 0));
}

static void bytes_free(struct bytes *bytes)
{
	dma_unmap_sgtable(NULL, &bytes->table, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&bytes->table);
	__free_pages(bytes->page, 2);
}

static bool in_parts(enum how how)
{
	return how != PLAIN && how < HOWS;
}

static void bytes_set(struct bytes *bytes, enum how how, char first)
{
	for (int i = 0; i < BYTES; i++)
		*(in_parts(how) ? (char *)bytes->kvec[i / PART].iov_base + i % PART : &bytes->one[i]) = (char)(first + i);
}

static void bytes_are(const struct bytes *bytes, enum how how, char first)
{
	for (int i = 0; i < BYTES; i++)
		cr_assert_eq(in_parts(how) ? ((char *)bytes->kvec[i / PART].iov_base)[i % PART] : bytes->one[i], (char)(first + i),
			     "byte %d", i);
}

static enum kfi_iov_type type_of(enum how how)
{
	return how == MSG_KVEC ? KFI_KVEC : how == MSG_BVEC ? KFI_BVEC : KFI_SGL;
}

static const void *entries_of(const struct bytes *bytes, enum how how)
{
	return how == MSG_KVEC ? (const void *)bytes->kvec : how == MSG_BVEC ? (const void *)bytes->bvec : bytes->table.sgl;
}

/* The member of the union is the type's; all are one pointer. */
static struct kfi_msg_tagged message(struct bytes *bytes, enum how how, kfi_addr_t peer)
{
	return (struct kfi_msg_tagged){ .type = type_of(how),
					.msg_iov = entries_of(bytes, how),
					.iov_count = PARTS,
					.addr = peer,
					.tag = TAG,
					.context = bytes,
					.data = DATA };
}

static ssize_t receive(struct kfid_ep *ep, struct bytes *bytes, enum how how, bool tagged)
{
	struct kfi_msg_tagged t = message(bytes, how, KFI_ADDR_UNSPEC);
	struct kfi_msg m = { .type = t.type, .msg_iov = t.msg_iov, .iov_count = PARTS, .addr = t.addr, .context = bytes };

	switch (how) {
	case PLAIN:
		return tagged ? kfi_trecv(ep, bytes->one, BYTES, NULL, t.addr, TAG, 0, bytes)
			      : kfi_recv(ep, bytes->one, BYTES, NULL, t.addr, bytes);
	case VECTOR:
		return tagged ? kfi_trecvv(ep, bytes->kvec, NULL, PARTS, t.addr, TAG, 0, bytes)
			      : kfi_recvv(ep, bytes->kvec, NULL, PARTS, t.addr, bytes);
	case BVEC:
		return tagged ? kfi_trecvbv(ep, bytes->bvec, NULL, PARTS, t.addr, TAG, 0, bytes)
			      : kfi_recvbv(ep, bytes->bvec, NULL, PARTS, t.addr, bytes);
	case SGL:
		return tagged ? kfi_trecvsgl(ep, bytes->table.sgl, NULL, PARTS, t.addr, TAG, 0, bytes)
			      : kfi_recvsgl(ep, bytes->table.sgl, NULL, PARTS, t.addr, bytes);
	default:
		return tagged ? kfi_trecvmsg(ep, &t, KFI_COMPLETION) : kfi_recvmsg(ep, &m, KFI_COMPLETION);
	}
}

static ssize_t send(const struct kend *end, struct bytes *bytes, enum how how, bool tagged)
{
	struct kfi_msg_tagged t = message(bytes, how, end->peer);
	struct kfi_msg m = {
		.type = t.type, .msg_iov = t.msg_iov, .iov_count = PARTS, .addr = t.addr, .context = bytes, .data = DATA
	};
	struct kfid_ep *ep = end->tx;

	switch (how) {
	case PLAIN:
		return tagged ? kfi_tsend(ep, bytes->one, BYTES, NULL, t.addr, TAG, bytes)
			      : kfi_send(ep, bytes->one, BYTES, NULL, t.addr, bytes);
	case VECTOR:
		return tagged ? kfi_tsendv(ep, bytes->kvec, NULL, PARTS, t.addr, TAG, bytes)
			      : kfi_sendv(ep, bytes->kvec, NULL, PARTS, t.addr, bytes);
	case BVEC:
		return tagged ? kfi_tsendbv(ep, bytes->bvec, NULL, PARTS, t.addr, TAG, bytes)
			      : kfi_sendbv(ep, bytes->bvec, NULL, PARTS, t.addr, bytes);
	case SGL:
		return tagged ? kfi_tsendsgl(ep, bytes->table.sgl, NULL, PARTS, t.addr, TAG, bytes)
			      : kfi_sendsgl(ep, bytes->table.sgl, NULL, PARTS, t.addr, bytes);
	case INJECT:
		return tagged ? kfi_tinject(ep, bytes->one, BYTES, t.addr, TAG) : kfi_inject(ep, bytes->one, BYTES, t.addr);
	case WITH_DATA:
		return tagged ? kfi_tsenddata(ep, bytes->one, BYTES, NULL, DATA, t.addr, TAG, bytes)
			      : kfi_senddata(ep, bytes->one, BYTES, NULL, DATA, t.addr, bytes);
	case INJECT_DATA:
		return tagged ? kfi_tinjectdata(ep, bytes->one, BYTES, DATA, t.addr, TAG)
			      : kfi_injectdata(ep, bytes->one, BYTES, DATA, t.addr);
	default:
		return tagged ? kfi_tsendmsg(ep, &t, KFI_COMPLETION | KFI_REMOTE_CQ_DATA)
			      : kfi_sendmsg(ep, &m, KFI_COMPLETION | KFI_REMOTE_CQ_DATA);
	}
}

/* All posts are made in atomic context, where nothing may sleep. */
static void exchange(struct kpair *pair, enum how from, enum how to, bool tagged)
{
	bool data = from >= MSG_KVEC && from != INJECT;
	uint64_t group = tagged ? KFI_TAGGED : KFI_MSG;
	struct kfi_cq_tagged_entry got;
	struct bytes own, other;

	bytes_make(&own);
	bytes_make(&other);
	bytes_set(&own, from, (char)(16 * from + to));
	emu_kernel_enter_atomic();
	RC(0, receive(pair->b.rx, &other, to, tagged));
	RC(0, send(&pair->a, &own, from, tagged));
	emu_kernel_leave_atomic();
	if (from != INJECT && from != INJECT_DATA)
		cr_assert_eq(kend_done(&pair->a, &own).flags, group | KFI_SEND);
	got = kend_done(&pair->b, &other);
	cr_assert_eq(got.flags, group | KFI_RECV | (data ? KFI_REMOTE_CQ_DATA : 0), "%#llx", (unsigned long long)got.flags);
	cr_assert_eq(got.len, BYTES);
	cr_assert(!tagged || got.tag == TAG);
	cr_assert(!data || got.data == DATA);
	bytes_are(&other, to, (char)(16 * from + to));
	bytes_free(&own);
	bytes_free(&other);
}

static void exchange_all(const struct kpair_wish *wish)
{
	struct kpair pair;

	kpair_open(&pair, wish);
	for (enum how from = 0; from < SENDS; from++)
		for (enum how to = 0; to < HOWS; to++) {
			exchange(&pair, from, to, false);
			exchange(&pair, from, to, true);
		}
	kend_silent(&pair.a);
	kpair_close(&pair);
}

Test(kfi_data, messages)
{
	exchange_all(&plain);
}

Test(kfi_data, messages_of_kcxi)
{
	exchange_all(&cxi);
}

/* --- RMA --- */

static ssize_t rma(const struct kend *end, struct bytes *bytes, enum how how, bool write, uint64_t key)
{
	struct kfi_rma_iov range = { .addr = 1, .len = BYTES, .key = key };
	struct kfi_msg_rma m = { .type = type_of(how),
				 .msg_iov = entries_of(bytes, how),
				 .iov_count = PARTS,
				 .addr = end->peer,
				 .rma_iov = &range,
				 .rma_iov_count = 1,
				 .context = bytes,
				 .data = DATA };
	struct kfid_ep *ep = end->tx;

	switch (how) {
	case PLAIN:
		return write ? kfi_write(ep, bytes->one, BYTES, NULL, m.addr, 1, key, bytes)
			     : kfi_read(ep, bytes->one, BYTES, NULL, m.addr, 1, key, bytes);
	case VECTOR:
		return write ? kfi_writev(ep, bytes->kvec, NULL, PARTS, m.addr, 1, key, bytes)
			     : kfi_readv(ep, bytes->kvec, NULL, PARTS, m.addr, 1, key, bytes);
	case BVEC:
		return write ? kfi_writebv(ep, bytes->bvec, NULL, PARTS, m.addr, 1, key, bytes)
			     : kfi_readbv(ep, bytes->bvec, NULL, PARTS, m.addr, 1, key, bytes);
	case SGL:
		return write ? kfi_writesgl(ep, bytes->table.sgl, NULL, PARTS, m.addr, 1, key, bytes)
			     : kfi_readsgl(ep, bytes->table.sgl, NULL, PARTS, m.addr, 1, key, bytes);
	case INJECT:
		return kfi_inject_write(ep, bytes->one, BYTES, m.addr, 1, key);
	case WITH_DATA:
		return kfi_writedata(ep, bytes->one, BYTES, NULL, DATA, m.addr, 1, key, bytes);
	case INJECT_DATA:
		return kfi_inject_writedata(ep, bytes->one, BYTES, DATA, m.addr, 1, key);
	default:
		return write ? kfi_writemsg(ep, &m, KFI_COMPLETION | KFI_REMOTE_CQ_DATA) : kfi_readmsg(ep, &m, KFI_COMPLETION);
	}
}

static void write_and_read(struct kpair *pair, enum how how, struct kfid_mr *mr, char *target)
{
	bool data = how >= MSG_KVEC && how != INJECT;
	struct bytes own;

	bytes_make(&own);
	bytes_set(&own, how, (char)(how + 30));
	emu_kernel_enter_atomic();
	RC(0, rma(&pair->a, &own, how, true, mr->key));
	emu_kernel_leave_atomic();
	if (how != INJECT && how != INJECT_DATA)
		cr_assert_eq(kend_done(&pair->a, &own).flags, KFI_RMA | KFI_WRITE);
	if (data)
		cr_assert_eq(kend_next(&pair->b).entry.data, DATA);
	if (how < HOWS) { /* a write that completed before this read was posted */
		bytes_set(&own, how, 0);
		RC(0, rma(&pair->a, &own, how, false, mr->key));
		cr_assert_eq(kend_done(&pair->a, &own).flags, KFI_RMA | KFI_READ);
		bytes_are(&own, how, (char)(how + 30));
	} else {
		RC(0, rma(&pair->a, &own, PLAIN, false, mr->key)); /* comes behind it */
		kend_done(&pair->a, &own);
		bytes_are(&own, PLAIN, (char)(how + 30));
	}
	cr_assert_eq(target[1], (char)(how + 30));
	bytes_free(&own);
}

static void write_and_read_all(const struct kpair_wish *wish)
{
	char target[BYTES + 1] = "";
	struct kfid_mr *mr;
	struct kpair pair;

	kpair_open(&pair, wish);
	mr = kend_region(&pair.b, target, sizeof(target), KPAIR_REMOTE);
	for (enum how how = 0; how < SENDS; how++)
		write_and_read(&pair, how, mr, target);
	RC(0, kfi_close(&mr->fid));
	kpair_close(&pair);
}

Test(kfi_data, rma)
{
	write_and_read_all(&plain);
}

Test(kfi_data, rma_of_kcxi)
{
	write_and_read_all(&cxi);
}

/* --- tagged RMA, as Lustre's kfilnd and HPE's own tests compare it --- */

static void tagged_rma(const struct kpair_wish *wish, bool write)
{
	uint64_t way = write ? KFI_WRITE : KFI_READ;
	struct kfi_rma_iov range = { .addr = 0, .len = BYTES, .key = TAG };
	struct kfi_cq_tagged_entry own_entry, other_entry;
	struct bytes own, other;
	struct kfi_msg_rma msg;
	struct kpair pair;

	kpair_open(&pair, wish);
	bytes_make(&own);
	bytes_make(&other);
	bytes_set(&own, BVEC, 1);
	bytes_set(&other, SGL, 60);
	msg = (struct kfi_msg_rma){ .type = KFI_BVEC,
				    .msg_biov = own.bvec,
				    .iov_count = PARTS,
				    .addr = pair.a.peer,
				    .rma_iov = &range,
				    .rma_iov_count = 1,
				    .context = &own };
	RC(0, receive(pair.b.rx, &other, MSG_SGL, true));
	emu_kernel_enter_atomic();
	RC(0, write ? kfi_writemsg(pair.a.tx, &msg, KFI_TAGGED | KFI_COMPLETION)
		    : kfi_readmsg(pair.a.tx, &msg, KFI_TAGGED | KFI_COMPLETION));
	emu_kernel_leave_atomic();
	own_entry = kend_done(&pair.a, &own);
	other_entry = kend_done(&pair.b, &other);
	cr_assert_eq(own_entry.flags, KFI_TAGGED | KFI_RMA | KFI_SEND | way, "%#llx", (unsigned long long)own_entry.flags);
	cr_assert_eq(other_entry.flags, KFI_TAGGED | KFI_RMA | KFI_RECV | way, "%#llx", (unsigned long long)other_entry.flags);
	cr_assert_eq(other_entry.len, BYTES);
	bytes_are(write ? &other : &own, BVEC, write ? 1 : 60);
	bytes_free(&own);
	bytes_free(&other);
	kpair_close(&pair);
}

Test(kfi_data, tagged_writes)
{
	tagged_rma(&(struct kpair_wish){ .caps = KFI_TAGGED_RMA }, true);
	tagged_rma(&(struct kpair_wish){ .personality = "kcxi", .caps = KFI_TAGGED_RMA }, true);
}

Test(kfi_data, tagged_reads)
{
	tagged_rma(&(struct kpair_wish){ .caps = KFI_TAGGED_RMA }, false);
	tagged_rma(&(struct kpair_wish){ .personality = "kcxi", .caps = KFI_TAGGED_RMA }, false);
}

/* --- receives of special kinds --- */

Test(kfi_data, a_directed_receive_waits_for_its_sender)
{
	struct kpair_wish wish = { .caps = KFI_DIRECTED_RECV };
	char own[4] = "own", from_a[4] = "", from_b[4] = "";
	kfi_addr_t self;
	uint8_t name[64];
	size_t length = sizeof(name);
	struct kpair pair;

	kpair_open(&pair, &wish);
	RC(0, kfi_getname(&pair.b.tx->fid, name, &length));
	RC(1, kfi_av_insert(pair.b.av, name, 1, &self, 0, NULL));
	RC(0, kfi_recv(pair.b.rx, from_b, sizeof(from_b), NULL, self, from_b));
	RC(0, kfi_recv(pair.b.rx, from_a, sizeof(from_a), NULL, pair.b.peer, from_a));
	RC(0, kfi_send(pair.a.tx, own, sizeof(own), NULL, pair.a.peer, own));
	kend_done(&pair.a, own);
	kend_done(&pair.b, from_a);
	cr_assert_str_eq(from_a, "own");
	RC(0, kfi_inject(pair.b.tx, "b", 2, self));
	kend_done(&pair.b, from_b);
	kpair_close(&pair);
}

Test(kfi_data, a_buffer_for_many_messages)
{
	struct kpair_wish wish = { .caps = KFI_MULTI_RECV };
	char room[256], own[100] = "many";
	struct kvec iov[2] = { { room, sizeof(room) }, { own, 1 } };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 1, .addr = KFI_ADDR_UNSPEC, .context = room };
	struct kfi_cq_tagged_entry entry;
	struct kpair pair;
	uint64_t last;

	kpair_open(&pair, &wish);
	RC(0, kfi_recvmsg(pair.b.rx, &msg, KFI_MULTI_RECV));
	for (int i = 0; i < 2; i++) {
		RC(0, kfi_send(pair.a.tx, own, sizeof(own), NULL, pair.a.peer, own));
		kend_done(&pair.a, own);
		entry = kend_done(&pair.b, room);
		cr_assert_eq(entry.buf, room + 100 * i);
		last = i == 1 ? KFI_MULTI_RECV : 0; /* 56 bytes are left then, which is less than 64 */
		cr_assert_eq(entry.flags, KFI_MSG | KFI_RECV | last, "%#llx", (unsigned long long)entry.flags);
	}
	kend_silent(&pair.b);
	msg.iov_count = 2;
	RC(-KFI_ENOSYS, kfi_recvmsg(pair.b.rx, &msg, KFI_MULTI_RECV));
	kpair_close(&pair);
}

/* kcxi_msg_rx_req_cb(): `buf` is where a message lies in a buffer for many, and else nothing. */
Test(kfi_data, kcxi_names_the_buffer_of_many_messages_alone)
{
	struct kpair_wish wish = { .personality = "kcxi", .caps = KFI_MULTI_RECV };
	char room[256], own[100] = "one";
	struct kvec iov = { room, sizeof(room) };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = KFI_ADDR_UNSPEC, .context = room };
	struct kfi_cq_tagged_entry entry;
	struct kpair pair;

	kpair_open(&pair, &wish);
	RC(0, kfi_recv(pair.b.rx, room, sizeof(room), NULL, KFI_ADDR_UNSPEC, room));
	RC(0, kfi_send(pair.a.tx, own, sizeof(own), NULL, pair.a.peer, own));
	kend_done(&pair.a, own);
	cr_expect_null(kend_done(&pair.b, room).buf);
	RC(0, kfi_trecv(pair.b.rx, room, sizeof(room), NULL, KFI_ADDR_UNSPEC, 3, 0, room));
	RC(0, kfi_tsend(pair.a.tx, own, sizeof(own), NULL, pair.a.peer, 3, own));
	kend_done(&pair.a, own);
	cr_expect_null(kend_done(&pair.b, room).buf);
	RC(0, kfi_recvmsg(pair.b.rx, &msg, KFI_MULTI_RECV));
	for (int i = 0; i < 2; i++) {
		RC(0, kfi_send(pair.a.tx, own, sizeof(own), NULL, pair.a.peer, own));
		kend_done(&pair.a, own);
		entry = kend_done(&pair.b, room);
		cr_expect_eq(entry.buf, room + 100 * i);
	}
	kpair_close(&pair);
}

/* --- atomics --- */

struct sums {
	uint64_t add[2], result[2], compare[2], target[4];
	struct kfid_mr *mr;
};

static void expect(struct kpair *pair, struct sums *sums, uint64_t first, uint64_t second)
{
	kend_done(&pair->a, sums);
	cr_assert_eq(sums->target[0], first);
	cr_assert_eq(sums->target[1], second);
}

Test(kfi_data, atomics)
{
	struct kpair_wish wish = { .caps = KFI_ATOMIC };
	struct sums sums = { .add = { 5, 6 }, .target = { 1, 2 } };
	struct kfi_ioc add = { sums.add, 2 }, result = { sums.result, 2 }, compare = { sums.compare, 2 };
	struct kfi_rma_ioc range = { .count = 2 };
	struct kfi_msg_atomic msg;
	struct kfid_ep *ep;
	struct kpair pair;
	kfi_addr_t peer;
	uint64_t key;

	kpair_open(&pair, &wish);
	ep = pair.a.tx;
	peer = pair.a.peer;
	sums.mr = kend_region(&pair.b, sums.target, sizeof(sums.target), KPAIR_REMOTE);
	key = range.key = sums.mr->key;
	msg = (struct kfi_msg_atomic){ .msg_iov = &add,
				       .iov_count = 1,
				       .addr = peer,
				       .rma_iov = &range,
				       .rma_iov_count = 1,
				       .datatype = KFI_UINT64,
				       .op = KFI_SUM,
				       .context = &sums };
	emu_kernel_enter_atomic();
	RC(0, kfi_atomic(ep, sums.add, 2, NULL, peer, 0, key, KFI_UINT64, KFI_SUM, &sums));
	expect(&pair, &sums, 6, 8);
	RC(0, kfi_atomicv(ep, &add, NULL, 1, peer, 0, key, KFI_UINT64, KFI_SUM, &sums));
	expect(&pair, &sums, 11, 14);
	RC(0, kfi_atomicmsg(ep, &msg, KFI_COMPLETION));
	expect(&pair, &sums, 16, 20);
	RC(0, kfi_inject_atomic(ep, sums.add, 2, peer, 0, key, KFI_UINT64, KFI_SUM));
	RC(0, kfi_fetch_atomic(ep, sums.add, 2, NULL, sums.result, NULL, peer, 0, key, KFI_UINT64, KFI_SUM, &sums));
	expect(&pair, &sums, 26, 32);
	cr_assert(sums.result[0] == 21 && sums.result[1] == 26);
	RC(0, kfi_fetch_atomicv(ep, &add, NULL, 1, &result, NULL, 1, peer, 0, key, KFI_UINT64, KFI_SUM, &sums));
	expect(&pair, &sums, 31, 38);
	RC(0, kfi_fetch_atomicmsg(ep, &msg, &result, NULL, 1, KFI_COMPLETION));
	expect(&pair, &sums, 36, 44);
	cr_assert_eq(sums.result[1], 38);
	memcpy(sums.compare, (uint64_t[]){ 36, 0 }, sizeof(sums.compare));
	RC(0, kfi_compare_atomic(ep, sums.add, 2, NULL, sums.compare, NULL, sums.result, NULL, peer, 0, key, KFI_UINT64, KFI_CSWAP,
				 &sums));
	expect(&pair, &sums, 5, 44);
	sums.compare[1] = 44;
	RC(0,
	   kfi_compare_atomicv(ep, &add, NULL, 1, &compare, NULL, 1, &result, NULL, 1, peer, 0, key, KFI_UINT64, KFI_CSWAP, &sums));
	expect(&pair, &sums, 5, 6);
	msg.op = KFI_CSWAP_NE;
	sums.add[0] = 9;
	RC(0, kfi_compare_atomicmsg(ep, &msg, &compare, NULL, 1, &result, NULL, 1, KFI_COMPLETION));
	expect(&pair, &sums, 9, 6);
	emu_kernel_leave_atomic();
	RC(0, kfi_close(&sums.mr->fid));
	kpair_close(&pair);
}

Test(kfi_data, what_atomics_there_are)
{
	struct kpair_wish wish = { .caps = KFI_ATOMIC };
	struct kfi_atomic_attr attr = { 0 };
	struct kpair pair;
	size_t count = 0;

	kpair_open(&pair, &wish);
	RC(0, kfi_atomicvalid(pair.a.tx, KFI_UINT32, KFI_SUM, &count));
	cr_assert_gt(count, 0);
	RC(0, kfi_fetch_atomicvalid(pair.a.tx, KFI_DOUBLE, KFI_MIN, &count));
	RC(0, kfi_compare_atomicvalid(pair.a.tx, KFI_INT8, KFI_MSWAP, &count));
	RC(-KFI_EOPNOTSUPP, kfi_atomicvalid(pair.a.tx, KFI_DOUBLE, KFI_BOR, &count));
	RC(0, kfi_query_atomic(pair.a.domain, KFI_INT64, KFI_SUM, &attr, KFI_FETCH_ATOMIC));
	cr_assert(attr.size == 8 && attr.count > 0);
	RC(-KFI_EINVAL, kfi_query_atomic(pair.a.domain, KFI_INT64, KFI_SUM, NULL, 0));
	kpair_close(&pair);
}
