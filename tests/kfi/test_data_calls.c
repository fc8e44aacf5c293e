/* SPDX-License-Identifier: BSD-2-Clause */
/* test_data_calls.c - the inlines that move data.
 * Each call of the header reaches its op with its arguments in their order, and gives the op's result. */
#include "tests/kfi/fake_provider.h"
#include <criterion/criterion.h>

Test(kfi_data_calls, messages)
{
	CALL(msg_recv, kfi_recv, &fake_ep, P(1), 102, P(3), 104, P(5));
	CALL(msg_recvv, kfi_recvv, &fake_ep, P(1), P(2), 103, 104, P(5));
	CALL(msg_recvbv, kfi_recvbv, &fake_ep, P(1), P(2), 103, 104, P(5));
	CALL(msg_recvsgl, kfi_recvsgl, &fake_ep, P(1), P(2), 103, 104, P(5));
	CALL(msg_recvmsg, kfi_recvmsg, &fake_ep, P(1), 102);
	CALL(msg_send, kfi_send, &fake_ep, P(1), 102, P(3), 104, P(5));
	CALL(msg_sendv, kfi_sendv, &fake_ep, P(1), P(2), 103, 104, P(5));
	CALL(msg_sendbv, kfi_sendbv, &fake_ep, P(1), P(2), 103, 104, P(5));
	CALL(msg_sendsgl, kfi_sendsgl, &fake_ep, P(1), P(2), 103, 104, P(5));
	CALL(msg_sendmsg, kfi_sendmsg, &fake_ep, P(1), 102);
	CALL(msg_inject, kfi_inject, &fake_ep, P(1), 102, 103);
	CALL(msg_senddata, kfi_senddata, &fake_ep, P(1), 102, P(3), 104, 105, P(6));
	CALL(msg_injectdata, kfi_injectdata, &fake_ep, P(1), 102, 103, 104);
}

Test(kfi_data_calls, rma)
{
	CALL(rma_read, kfi_read, &fake_ep, P(1), 102, P(3), 104, 105, 106, P(7));
	CALL(rma_readv, kfi_readv, &fake_ep, P(1), P(2), 103, 104, 105, 106, P(7));
	CALL(rma_readbv, kfi_readbv, &fake_ep, P(1), P(2), 103, 104, 105, 106, P(7));
	CALL(rma_readsgl, kfi_readsgl, &fake_ep, P(1), P(2), 103, 104, 105, 106, P(7));
	CALL(rma_readmsg, kfi_readmsg, &fake_ep, P(1), 102);
	CALL(rma_write, kfi_write, &fake_ep, P(1), 102, P(3), 104, 105, 106, P(7));
	CALL(rma_writev, kfi_writev, &fake_ep, P(1), P(2), 103, 104, 105, 106, P(7));
	CALL(rma_writebv, kfi_writebv, &fake_ep, P(1), P(2), 103, 104, 105, 106, P(7));
	CALL(rma_writesgl, kfi_writesgl, &fake_ep, P(1), P(2), 103, 104, 105, 106, P(7));
	CALL(rma_writemsg, kfi_writemsg, &fake_ep, P(1), 102);
	CALL(rma_inject, kfi_inject_write, &fake_ep, P(1), 102, 103, 104, 105);
	CALL(rma_writedata, kfi_writedata, &fake_ep, P(1), 102, P(3), 104, 105, 106, 107, P(8));
	CALL(rma_injectdata, kfi_inject_writedata, &fake_ep, P(1), 102, 103, 104, 105, 106);
}

Test(kfi_data_calls, tagged_messages)
{
	CALL(tagged_recv, kfi_trecv, &fake_ep, P(1), 102, P(3), 104, 105, 106, P(7));
	CALL(tagged_recvv, kfi_trecvv, &fake_ep, P(1), P(2), 103, 104, 105, 106, P(7));
	CALL(tagged_recvbv, kfi_trecvbv, &fake_ep, P(1), P(2), 103, 104, 105, 106, P(7));
	CALL(tagged_recvsgl, kfi_trecvsgl, &fake_ep, P(1), P(2), 103, 104, 105, 106, P(7));
	CALL(tagged_recvmsg, kfi_trecvmsg, &fake_ep, P(1), 102);
	CALL(tagged_send, kfi_tsend, &fake_ep, P(1), 102, P(3), 104, 105, P(6));
	CALL(tagged_sendv, kfi_tsendv, &fake_ep, P(1), P(2), 103, 104, 105, P(6));
	CALL(tagged_sendbv, kfi_tsendbv, &fake_ep, P(1), P(2), 103, 104, 105, P(6));
	CALL(tagged_sendsgl, kfi_tsendsgl, &fake_ep, P(1), P(2), 103, 104, 105, P(6));
	CALL(tagged_sendmsg, kfi_tsendmsg, &fake_ep, P(1), 102);
	CALL(tagged_inject, kfi_tinject, &fake_ep, P(1), 102, 103, 104);
	CALL(tagged_senddata, kfi_tsenddata, &fake_ep, P(1), 102, P(3), 104, 105, 106, P(7));
	CALL(tagged_injectdata, kfi_tinjectdata, &fake_ep, P(1), 102, 103, 104, 105);
}

Test(kfi_data_calls, atomics)
{
	CALL(atomic_write, kfi_atomic, &fake_ep, P(1), 102, P(3), 104, 105, 106, KFI_UINT32, KFI_CSWAP_LE, P(9));
	CALL(atomic_writev, kfi_atomicv, &fake_ep, P(1), P(2), 103, 104, 105, 106, KFI_UINT32, KFI_CSWAP_LE, P(9));
	CALL(atomic_writemsg, kfi_atomicmsg, &fake_ep, P(1), 102);
	CALL(atomic_inject, kfi_inject_atomic, &fake_ep, P(1), 102, 103, 104, 105, KFI_UINT32, KFI_CSWAP_LE);
	CALL(atomic_readwrite, kfi_fetch_atomic, &fake_ep, P(1), 102, P(3), P(4), P(5), 106, 107, 108, KFI_UINT32, KFI_CSWAP_LE,
	     P(11));
	CALL(atomic_readwritev, kfi_fetch_atomicv, &fake_ep, P(1), P(2), 103, P(4), P(5), 106, 107, 108, 109, KFI_UINT32,
	     KFI_CSWAP_LE, P(12));
	CALL(atomic_readwritemsg, kfi_fetch_atomicmsg, &fake_ep, P(1), P(2), P(3), 104, 105);
	CALL(atomic_compwrite, kfi_compare_atomic, &fake_ep, P(1), 102, P(3), P(4), P(5), P(6), P(7), 108, 109, 110, KFI_UINT32,
	     KFI_CSWAP_LE, P(13));
	CALL(atomic_compwritev, kfi_compare_atomicv, &fake_ep, P(1), P(2), 103, P(4), P(5), 106, P(7), P(8), 109, 110, 111, 112,
	     KFI_UINT32, KFI_CSWAP_LE, P(15));
	CALL(atomic_compwritemsg, kfi_compare_atomicmsg, &fake_ep, P(1), P(2), P(3), 104, P(5), P(6), 107, 108);
	CALL(atomic_writevalid, kfi_atomicvalid, &fake_ep, KFI_UINT32, KFI_CSWAP_LE, P(3));
	CALL(atomic_readwritevalid, kfi_fetch_atomicvalid, &fake_ep, KFI_UINT32, KFI_CSWAP_LE, P(3));
	CALL(atomic_compwritevalid, kfi_compare_atomicvalid, &fake_ep, KFI_UINT32, KFI_CSWAP_LE, P(3));
	CALL(domain_query_atomic, kfi_query_atomic, &fake_domain, KFI_UINT32, KFI_CSWAP_LE, P(3), 104);
}

Test(kfi_data_calls, a_provider_that_does_not_tell_of_atomics)
{
	struct kfi_ops_domain ops = *fake_domain.ops;
	struct kfid_domain domain = { .ops = &ops };

	ops.size = offsetof(struct kfi_ops_domain, query_atomic);
	cr_assert_eq(kfi_query_atomic(&domain, KFI_UINT8, KFI_SUM, P(1), 0), -KFI_ENOSYS);
	ops = *fake_domain.ops;
	ops.query_atomic = NULL;
	cr_assert_eq(kfi_query_atomic(&domain, KFI_UINT8, KFI_SUM, P(1), 0), -KFI_ENOSYS);
}
