/* SPDX-License-Identifier: BSD-2-Clause */
/* bvec.h - struct bio_vec.
 * There is no bvec_iter. */
#ifndef EMU_KERNEL_LINUX_BVEC_H
#define EMU_KERNEL_LINUX_BVEC_H

#include <linux/mm.h>
#include <linux/types.h>

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

static inline void bvec_set_page(struct bio_vec *vec, struct page *page, unsigned int len, unsigned int offset)
{
	*vec = (struct bio_vec){ .bv_page = page, .bv_len = len, .bv_offset = offset };
}

static inline void *bvec_virt(const struct bio_vec *vec)
{
	return (char *)page_address(vec->bv_page) + vec->bv_offset;
}

#endif
