/* SPDX-License-Identifier: BSD-2-Clause */
/* qp_pages.c - see qp_pages.h. */
#include "tests/unit/verbs/qp_pages.h"

#include <criterion/criterion.h>
#include <string.h>

/* One attribute a letter, so that a slip in the device's table is not a slip here. */
static int set_of(const char *letters)
{
	static const char known[] = "sceakpqvmtryRXABSDPCQ";
	int set = 0;

	for (; *letters; letters++) {
		const char *at = strchr(known, *letters);

		cr_assert_not_null(at, "letter %c", *letters);
		set |= 1 << (at - known);
	}
	return set;
}

/* s STATE  c CUR_STATE  e EN_SQD_ASYNC_NOTIFY  a ACCESS_FLAGS  k PKEY_INDEX  p PORT  q QKEY  v AV  m PATH_MTU  t TIMEOUT
 * r RETRY_CNT  y RNR_RETRY  R RQ_PSN  X MAX_QP_RD_ATOMIC  A ALT_PATH  B MIN_RNR_TIMER  S SQ_PSN  D MAX_DEST_RD_ATOMIC
 * P PATH_MIG_STATE  C CAP  Q DEST_QPN */
static const struct page {
	enum ibv_qp_state from, to;
	const char *needs[PAGE_COLUMNS], *allows[PAGE_COLUMNS]; /* RC, UC, UD; NULL: not this type */
} pages[] = {
	{ IBV_QPS_RESET, IBV_QPS_RESET, { "", "", "" }, { "", "", "" } },
	{ IBV_QPS_RESET, IBV_QPS_INIT, { "kpa", "kpa", "kpq" }, { "", "", "" } },
	{ IBV_QPS_INIT, IBV_QPS_RESET, { "", "", "" }, { "", "", "" } },
	{ IBV_QPS_INIT, IBV_QPS_INIT, { "", "", "" }, { "kpa", "kpa", "kpq" } },
	{ IBV_QPS_INIT, IBV_QPS_RTR, { "vmQRDB", "vmQR", "" }, { "Aak", "Aak", "kq" } },
	{ IBV_QPS_INIT, IBV_QPS_ERR, { "", "", "" }, { "", "", "" } },
	{ IBV_QPS_RTR, IBV_QPS_RESET, { "", "", "" }, { "", "", "" } },
	{ IBV_QPS_RTR, IBV_QPS_RTS, { "trySX", "S", "S" }, { "cAaBP", "cAaP", "cq" } },
	{ IBV_QPS_RTR, IBV_QPS_ERR, { "", "", "" }, { "", "", "" } },
	{ IBV_QPS_RTS, IBV_QPS_RESET, { "", "", "" }, { "", "", "" } },
	{ IBV_QPS_RTS, IBV_QPS_RTS, { "", "", "" }, { "cAaBP", "cAaP", "cq" } },
	{ IBV_QPS_RTS, IBV_QPS_SQD, { "", "", "" }, { "e", "e", "e" } },
	{ IBV_QPS_RTS, IBV_QPS_ERR, { "", "", "" }, { "", "", "" } },
	{ IBV_QPS_SQD, IBV_QPS_RESET, { "", "", "" }, { "", "", "" } },
	{ IBV_QPS_SQD, IBV_QPS_RTS, { "", "", "" }, { "cAaBP", "cAaP", "cq" } },
	{ IBV_QPS_SQD, IBV_QPS_SQD, { "", "", "" }, { "pvtryXDAakBP", "vAakP", "kq" } },
	{ IBV_QPS_SQD, IBV_QPS_ERR, { "", "", "" }, { "", "", "" } },
	{ IBV_QPS_SQE, IBV_QPS_RESET, { "", "", "" }, { "", "", "" } },
	{ IBV_QPS_SQE, IBV_QPS_RTS, { NULL, "", "" }, { NULL, "ca", "cq" } },
	{ IBV_QPS_SQE, IBV_QPS_ERR, { "", "", "" }, { "", "", "" } },
	{ IBV_QPS_ERR, IBV_QPS_RESET, { "", "", "" }, { "", "", "" } },
	{ IBV_QPS_ERR, IBV_QPS_ERR, { "", "", "" }, { "", "", "" } },
};

bool qp_page(enum qp_column column, enum ibv_qp_state from, enum ibv_qp_state to, int *needs, int *allows)
{
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
		if (pages[i].from == from && pages[i].to == to && pages[i].needs[column]) {
			*needs = set_of(pages[i].needs[column]);
			*allows = set_of(pages[i].allows[column]);
			return true;
		}
	return false;
}

bool qp_pages_take(enum qp_column column, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	int needs, allows;

	if (!qp_page(column, from, mask & IBV_QP_STATE ? to : from, &needs, &allows))
		return false;
	return (mask & needs) == needs && !(mask & ~(needs | (allows & ~IBV_QP_ALT_PATH) | IBV_QP_STATE));
}
