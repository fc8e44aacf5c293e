/* SPDX-License-Identifier: BSD-2-Clause */
/* bad_input.c - calls with one thing wrong, one after another: every flag bit of every transfer call, every option and every
 * command, arguments that are NULL. The errno is the page's, nothing is posted, and the objects work afterwards. */
#include "tests/fi/world.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>

#include "emu/fi/provider/fi_compat.h"

enum { KEY = 5, PAGE = 4096, OPTIONS = 64, COMMANDS = 64 };
#define LEVELS (FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define PUT_FLAGS (FI_COMPLETION | FI_INJECT | LEVELS | FI_MORE | FI_FENCE | FI_REMOTE_CQ_DATA)

static char near[64], far[64];
static struct fid_mr *mr;

static void open_all(struct world *w, uint64_t caps)
{
	world_open(w, &(struct want){ .caps = caps });
	RC(0, fi_mr_reg(w->domain, far, sizeof(far), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
}

static void quiet(struct world *w)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 50; i++)
		RC(-FI_EAGAIN, fi_cq_read(w->cq, &entry, 1));
}

/* The endpoint has done nothing yet, and still works. */
static void close_all(struct world *w)
{
	struct fi_cq_tagged_entry entry;

	quiet(w);
	cr_expect(fi_cntr_read(w->cntr) == 0 && fi_cntr_readerr(w->cntr) == 0, "counted: %llu, errors %llu",
		  (unsigned long long)fi_cntr_read(w->cntr), (unsigned long long)fi_cntr_readerr(w->cntr));
	RC(0, fi_recv(w->ep, far, 8, NULL, FI_ADDR_UNSPEC, far));
	RC(0, fi_inject(w->ep, "intact!", 8, w->self));
	RC(1, world_next(w, &entry));
	cr_expect(entry.op_context == far && entry.len == 8 && !strcmp(far, "intact!"));
	RC(0, fi_close(&mr->fid));
	world_close(w);
}

struct calls {
	struct fi_msg msg;
	struct fi_msg_tagged tagged;
	struct fi_msg_rma rma;
};

enum call { SEND, RECV, TSEND, TRECV, WRITE, READ, CALLS };

static ssize_t post(struct world *w, const struct calls *calls, enum call call, uint64_t flags)
{
	switch (call) {
	case SEND:
		return fi_sendmsg(w->ep, &calls->msg, flags);
	case RECV:
		return fi_recvmsg(w->ep, &calls->msg, flags);
	case TSEND:
		return fi_tsendmsg(w->ep, &calls->tagged, flags);
	case TRECV:
		return fi_trecvmsg(w->ep, &calls->tagged, flags);
	case WRITE:
		return fi_writemsg(w->ep, &calls->rma, flags);
	default:
		return fi_readmsg(w->ep, &calls->rma, flags);
	}
}

/* fi_msg(3), fi_tagged(3), fi_rma(3): what each call knows, on an endpoint without FI_MULTI_RECV, FI_TRIGGER, FI_RMA_PMEM. */
static const uint64_t known[CALLS] = {
	[SEND] = PUT_FLAGS,
	[TSEND] = PUT_FLAGS | FI_MATCH_COMPLETE,
	[WRITE] = PUT_FLAGS,
	[READ] = FI_COMPLETION | LEVELS | FI_MORE | FI_FENCE,
	[RECV] = FI_COMPLETION | LEVELS | FI_MORE,
	[TRECV] = FI_COMPLETION | LEVELS | FI_MORE | FI_PEEK | FI_CLAIM,
};

Test(fi_bad_input, flags_of_transfers_one_by_one)
{
	struct iovec iov = { near, 8 };
	struct fi_rma_iov remote = { 0, 8, KEY };
	struct calls calls = {
		.msg = { .msg_iov = &iov, .iov_count = 1 },
		.tagged = { .msg_iov = &iov, .iov_count = 1 },
		.rma = { .msg_iov = &iov, .iov_count = 1, .rma_iov = &remote, .rma_iov_count = 1 },
	};
	struct world w;

	open_all(&w, FI_MSG | FI_TAGGED | FI_RMA | FI_DIRECTED_RECV | FI_SOURCE);
	calls.msg.addr = calls.tagged.addr = calls.rma.addr = w.self;
	for (enum call call = SEND; call < CALLS; call++) {
		for (int bit = 0; bit < 64; bit++) {
			uint64_t flag = 1ull << bit;

			if (known[call] & flag)
				continue;
			RC(-FI_EBADFLAGS, post(&w, &calls, call, flag));
			RC(-FI_EBADFLAGS, post(&w, &calls, call, flag | FI_COMPLETION));
		}
		RC(-FI_EBADFLAGS, post(&w, &calls, call, UINT64_MAX));
	}
	RC(-FI_EBADFLAGS, post(&w, &calls, TRECV, FI_DISCARD));
	RC(-FI_EBADFLAGS, post(&w, &calls, TRECV, FI_PEEK | FI_CLAIM | FI_DISCARD));
	RC(-FI_EINVAL, post(&w, &calls, TRECV, FI_CLAIM)); /* of nothing */
	close_all(&w);
}

/* Each known flag is taken. */
Test(fi_bad_input, flags_that_are_known)
{
	struct iovec iov = { near, 8 };
	struct fi_rma_iov remote = { 0, 8, KEY };
	struct calls calls = {
		.msg = { .msg_iov = &iov, .iov_count = 1 },
		.tagged = { .msg_iov = &iov, .iov_count = 1 },
		.rma = { .msg_iov = &iov, .iov_count = 1, .rma_iov = &remote, .rma_iov_count = 1 },
	};
	struct world w;

	open_all(&w, FI_MSG | FI_TAGGED | FI_RMA);
	calls.msg.addr = calls.tagged.addr = calls.rma.addr = w.self;
	for (enum call call = SEND; call < CALLS; call++)
		for (int bit = 0; bit < 64; bit++)
			if (known[call] & 1ull << bit & ~(FI_PEEK | FI_CLAIM))
				RC(0, post(&w, &calls, call, 1ull << bit));
	RC(0, fi_close(&mr->fid));
	RC(0, fi_close(&w.ep->fid));
	w.ep = NULL;
	world_close(&w);
}

/* --- options --- */

static bool known_option(int name)
{
	switch (name) {
	case FI_OPT_MIN_MULTI_RECV:
	case FI_OPT_TX_SIZE:
	case FI_OPT_RX_SIZE:
	case COMPAT_OPT_MAX_MSG_SIZE:
	case COMPAT_OPT_MAX_RMA_SIZE:
	case COMPAT_OPT_INJECT_MSG_SIZE:
	case COMPAT_OPT_INJECT_RMA_SIZE:
		return true;
	default:
		return false;
	}
}

/* fi_getopt: a size where there is too little room is -FI_ETOOSMALL, and the length that is needed. */
Test(fi_bad_input, options_are_told_in_the_room_there_is)
{
	struct world w;

	open_all(&w, FI_MSG | FI_MULTI_RECV | FI_RMA);
	for (int name = -1; name < OPTIONS; name++) {
		if (name == COMPAT_OPT_FIREWALL_ADDR) /* which is no size */
			continue;
		for (size_t room = 0; room < 2 * sizeof(size_t); room++) {
			unsigned char value[2 * sizeof(size_t)];
			int want = !known_option(name) ? -FI_ENOPROTOOPT : room < sizeof(size_t) ? -FI_ETOOSMALL : 0;
			size_t length = room;

			memset(value, 0xa5, sizeof(value));
			RC(want, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, name, value, &length));
			cr_assert_eq(length, want == -FI_ENOPROTOOPT ? room : sizeof(size_t), "option %d", name);
			for (size_t i = want ? 0 : sizeof(size_t); i < sizeof(value); i++)
				cr_assert_eq(value[i], 0xa5, "option %d wrote beyond", name);
			RC(-FI_ENOPROTOOPT, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT + 1, name, value, &length));
		}
	}
	RC(-FI_EINVAL, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, NULL, &(size_t){ 8 }));
	RC(-FI_EINVAL, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &(size_t){ 8 }, NULL));
	close_all(&w);
}

/* fi_setopt: of sizes that can be told, one can be set, and in its own length alone. */
Test(fi_bad_input, options_are_set_in_their_length)
{
	size_t size = 128, told, length;
	struct world w;

	open_all(&w, FI_MSG | FI_MULTI_RECV | FI_RMA);
	for (int name = -1; name < OPTIONS; name++) {
		bool mine = name == FI_OPT_MIN_MULTI_RECV;

		for (size_t given = 0; given < 2 * sizeof(size_t); given++) {
			size_t values[2] = { 99, 99 };
			int want = !mine ? -FI_ENOPROTOOPT : given != sizeof(size_t) ? -FI_EINVAL : 0;

			RC(want, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, name, given == sizeof(size_t) ? &size : values, given));
		}
		RC(mine ? -FI_EINVAL : -FI_ENOPROTOOPT, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, name, NULL, sizeof(size)));
		RC(-FI_ENOPROTOOPT, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT + 1, name, &size, sizeof(size)));
	}
	length = sizeof(told);
	RC(0, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &told, &length));
	cr_expect_eq(told, size);
	close_all(&w);
}

/* --- commands --- */

static void commands_of(struct fid *fid, const int *own, size_t count, const void *nothing)
{
	for (int command = -1; command < COMMANDS; command++) {
		bool its_own = false;

		for (size_t i = 0; i < count; i++)
			its_own |= own[i] == command;
		if (!its_own)
			RC(-FI_ENOSYS, fi_control(fid, command, (void *)(uintptr_t)nothing));
	}
}

#define COMMANDS_OF(fid, ...)                                                    \
	do {                                                                     \
		static const int own_[] = { __VA_ARGS__ };                       \
		commands_of(fid, own_, sizeof(own_) / sizeof(own_[0]), nothing); \
	} while (0)

/* A command that an object has no use for is -FI_ENOSYS, and its argument, which is not there, is not read. */
Test(fi_bad_input, commands_one_by_one)
{
	void *nothing = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fid_ep *srx, *sep, *context, *none;
	struct fid_stx *stx;
	struct fid_pep *pep;
	struct world w;

	cr_assert_neq(nothing, MAP_FAILED);
	open_all(&w, FI_MSG | FI_RMA | FI_NAMED_RX_CTX);
	RC(0, fi_srx_context(w.domain, NULL, &srx, NULL));
	RC(0, fi_stx_context(w.domain, NULL, &stx, NULL));
	RC(0, fi_scalable_ep(w.domain, w.info, &sep, NULL));
	RC(0, fi_tx_context(sep, 0, NULL, &context, NULL));
	COMMANDS_OF(&w.ep->fid, FI_ENABLE, FI_ALIAS, FI_GETOPSFLAG, FI_SETOPSFLAG);
	COMMANDS_OF(&srx->fid, FI_ENABLE, FI_GETOPSFLAG, FI_SETOPSFLAG);
	COMMANDS_OF(&stx->fid, -2);
	COMMANDS_OF(&sep->fid, FI_ENABLE);
	COMMANDS_OF(&context->fid, FI_ENABLE, FI_ALIAS, FI_GETOPSFLAG, FI_SETOPSFLAG);
	COMMANDS_OF(&w.cq->fid, FI_GETWAIT, FI_GETWAITOBJ);
	COMMANDS_OF(&w.cntr->fid, FI_GETWAIT, FI_GETWAITOBJ);
	COMMANDS_OF(&w.eq->fid, FI_GETWAIT, FI_GETWAITOBJ);
	COMMANDS_OF(&w.fabric->fid, -2);
	RC(-FI_EINVAL, fi_control(&w.ep->fid, FI_ALIAS, NULL));
	RC(-FI_EINVAL, fi_control(&w.ep->fid, FI_ALIAS, &(struct fi_alias){ NULL, FI_TRANSMIT }));
	RC(-FI_EINVAL, fi_ep_alias(w.ep, &none, 0));
	RC(-FI_EBADFLAGS, fi_ep_alias(w.ep, &none, FI_TRANSMIT | FI_FENCE));
	RC(-FI_EINVAL, fi_control(&w.ep->fid, FI_GETOPSFLAG, NULL));
	RC(-FI_EINVAL, fi_control(&w.ep->fid, FI_SETOPSFLAG, NULL));
	RC(-FI_EINVAL, fi_control(&w.cq->fid, FI_GETWAITOBJ, NULL));
	w.info->ep_attr->type = FI_EP_MSG;
	RC(0, fi_passive_ep(w.fabric, w.info, &pep, NULL));
	COMMANDS_OF(&pep->fid, FI_BACKLOG);
	RC(-FI_EINVAL, fi_control(&pep->fid, FI_BACKLOG, NULL));
	RC(0, fi_close(&pep->fid));
	RC(0, fi_close(&context->fid));
	RC(0, fi_close(&sep->fid));
	RC(0, fi_close(&stx->fid));
	RC(0, fi_close(&srx->fid));
	munmap(nothing, PAGE);
	close_all(&w);
}

/* --- arguments that are NULL --- */

Test(fi_bad_input, null_where_objects_are_opened)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cq_attr cq_attr = { 0 };
	struct fi_cntr_attr cntr_attr = { 0 };
	struct fi_eq_attr eq_attr = { 0 };
	struct fi_poll_attr poll_attr = { 0 };
	struct fi_wait_attr wait_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_pep *pep;
	struct world w;

	open_all(&w, FI_MSG | FI_RMA);
	RC(-FI_EINVAL, fi_domain(w.fabric, w.info, NULL, NULL));
	RC(-FI_EINVAL, fi_endpoint(w.domain, w.info, NULL, NULL));
	RC(-FI_EINVAL, fi_scalable_ep(w.domain, w.info, NULL, NULL));
	RC(-FI_EINVAL, fi_scalable_ep(w.domain, NULL, NULL, NULL));
	RC(-FI_EINVAL, fi_passive_ep(w.fabric, NULL, &pep, NULL));
	RC(-FI_EINVAL, fi_passive_ep(w.fabric, w.info, NULL, NULL));
	RC(-FI_EINVAL, fi_srx_context(w.domain, NULL, NULL, NULL));
	RC(-FI_EINVAL, fi_stx_context(w.domain, NULL, NULL, NULL));
	RC(-FI_EINVAL, fi_av_open(w.domain, NULL, &w.av, NULL));
	RC(-FI_EINVAL, fi_av_open(w.domain, &av_attr, NULL, NULL));
	RC(-FI_EINVAL, fi_cq_open(w.domain, &cq_attr, NULL, NULL));
	RC(-FI_EINVAL, fi_cntr_open(w.domain, &cntr_attr, NULL, NULL));
	RC(-FI_EINVAL, fi_eq_open(w.fabric, &eq_attr, NULL, NULL));
	RC(-FI_EINVAL, fi_eq_open(w.fabric, NULL, &w.eq, NULL));
	RC(-FI_EINVAL, fi_poll_open(w.domain, &poll_attr, NULL));
	RC(-FI_EINVAL, fi_wait_open(w.fabric, &wait_attr, NULL));
	close_all(&w);
}

Test(fi_bad_input, null_where_objects_are_used)
{
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	uint32_t event;
	struct world w;
	char text[64];

	open_all(&w, FI_MSG | FI_RMA);
	RC(-FI_EINVAL, fi_getname(&w.ep->fid, &name, NULL));
	RC(-FI_EINVAL, fi_getname(&w.ep->fid, NULL, &length));
	RC(-FI_EINVAL, fi_setname(&w.ep->fid, NULL, sizeof(name)));
	RC(-FI_EINVAL, fi_av_insert(w.av, NULL, 1, NULL, 0, NULL));
	RC(-FI_EINVAL, fi_av_lookup(w.av, w.self, NULL, &length));
	RC(-FI_EINVAL, fi_av_lookup(w.av, w.self, &name, NULL));
	RC(-FI_EINVAL, fi_av_remove(w.av, NULL, 1, 0));
	cr_expect_null(fi_av_straddr(w.av, NULL, text, &length));
	RC(-FI_EINVAL, fi_cq_read(w.cq, NULL, 1));
	RC(-FI_EINVAL, fi_cq_readfrom(w.cq, NULL, 1, NULL));
	RC(-FI_EINVAL, fi_cq_readerr(w.cq, NULL, 0));
	RC(-FI_EINVAL, fi_eq_read(w.eq, &event, NULL, 8, 0));
	RC(-FI_EINVAL, fi_eq_readerr(w.eq, NULL, 0));
	RC(-FI_EINVAL, fi_ep_bind(w.ep, NULL, 0));
	RC(-FI_EINVAL, fi_mr_bind(mr, NULL, 0));
	RC(-FI_EINVAL, fi_trywait(w.fabric, NULL, 1));
	cr_expect_null(fi_cq_strerror(w.cq, 0, NULL, NULL, 0) ? NULL : &w, "a phrase for every number");
	close_all(&w);
}

/* fi_cancel of what is not there. */
Test(fi_bad_input, unknown_contexts_are_not_cancelled)
{
	struct world w;
	int here;

	open_all(&w, FI_MSG | FI_TAGGED | FI_RMA);
	RC(0, fi_recv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, far));
	RC(0, fi_trecv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, 1, 0, far + 1));
	RC(-FI_ENOENT, fi_cancel(&w.ep->fid, &here));
	RC(-FI_ENOENT, fi_cancel(&w.ep->fid, NULL));
	quiet(&w);
	for (int i = 0; i < 2; i++) {
		struct fi_cq_err_entry error = { 0 };
		struct fi_cq_tagged_entry entry;

		RC(0, fi_cancel(&w.ep->fid, far + i));
		RC(-FI_EAVAIL, world_next(&w, &entry));
		RC(1, fi_cq_readerr(w.cq, &error, 0));
		cr_expect(error.err == FI_ECANCELED && error.op_context == far + i);
		RC(-FI_ENOENT, fi_cancel(&w.ep->fid, far + i));
	}
	quiet(&w);
	cr_expect_eq(fi_cntr_readerr(w.cntr), 2);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}
