/* SPDX-License-Identifier: BSD-2-Clause */
/* bind.c - fi_mr_bind, fi_mr_enable, base_mr and the order of closing, with every argument wrong, one at a time: the errno
 * says which, and nothing changes (S91 to S105, S121, S122, S126, S180, S181). */
#include "tests/fi/world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/fi/mr/fi_mr.h"

#define EVENTS (FI_MSG | FI_RMA | FI_RMA_EVENT)

static uint8_t buffer[4096];

static struct fid_mr *reg(struct world *w, uint64_t key, uint64_t flags)
{
	struct fid_mr *mr = NULL;

	RC(0, fi_mr_reg(w->domain, buffer, sizeof(buffer), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, key, flags, &mr, NULL));
	return mr;
}

/* A write to the region through the world's own endpoint: 0, or the error. */
static int write_to(struct world *w, struct fid_mr *mr)
{
	struct fi_cq_tagged_entry entry;
	struct {
		struct fi_cq_err_entry entry;
		uint8_t newer[64];
	} error = { 0 };
	static uint8_t word[8];

	RC(0, fi_write(w->ep, word, 8, NULL, w->self, 0, fi_mr_key(mr), NULL));
	if (world_next(w, &entry) == 1)
		return 0;
	RC(1, fi_cq_readerr(w->cq, &error.entry, 0));
	return error.entry.err;
}

Test(fi_bind, what_is_bound)
{
	struct fid_domain *domain;
	struct fid_cntr *strange;
	struct fid_ep *ep;
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .caps = EVENTS, .mr_mode = FI_MR_ENDPOINT | FI_MR_RMA_EVENT });
	cr_assert_eq(w.info->domain_attr->mr_mode, FI_MR_ENDPOINT | FI_MR_RMA_EVENT);
	RC(0, fi_domain(w.fabric, w.info, &domain, NULL));
	RC(0, fi_cntr_open(domain, &(struct fi_cntr_attr){ 0 }, &strange, NULL));
	RC(0, fi_endpoint(domain, w.info, &ep, NULL));
	mr = reg(&w, 1, FI_RMA_EVENT);
	RC(-FI_EINVAL, mr->fid.ops->bind(&mr->fid, NULL, 0));
	RC(-FI_EINVAL, fi_mr_bind(mr, &w.cq->fid, 0));
	RC(-FI_EINVAL, fi_mr_bind(mr, &w.av->fid, 0));
	RC(-FI_EINVAL, fi_mr_bind(mr, &w.domain->fid, 0));
	RC(-FI_EINVAL, fi_mr_bind(mr, &mr->fid, 0));
	RC(-FI_EDOMAIN, fi_mr_bind(mr, &strange->fid, FI_REMOTE_WRITE));
	RC(-FI_EDOMAIN, fi_mr_bind(mr, &ep->fid, 0));
	RC(-FI_EBADFLAGS, fi_mr_bind(mr, &w.cntr->fid, FI_REMOTE_READ));
	RC(-FI_EBADFLAGS, fi_mr_bind(mr, &w.ep->fid, FI_REMOTE_WRITE));
	RC(-FI_ENOSYS, mr->fid.ops->control(&mr->fid, 12345, NULL));
	RC(-FI_EINVAL, fi_mr_enable(mr)); /* nothing of that was a binding */
	cr_expect(write_to(&w, mr) == FI_EACCES);
	RC(0, fi_mr_bind(mr, &w.ep->fid, 0));
	RC(-FI_EINVAL, fi_mr_bind(mr, &w.ep->fid, 0));
	RC(0, fi_mr_bind(mr, &w.cntr->fid, FI_REMOTE_WRITE));
	RC(-FI_EINVAL, fi_mr_bind(mr, &w.cntr->fid, FI_REMOTE_WRITE));
	RC(0, fi_mr_enable(mr));
	RC(-FI_EOPBADSTATE, fi_mr_enable(mr));
	RC(-FI_EOPBADSTATE, fi_mr_bind(mr, &w.ep->fid, 0));
	cr_expect(write_to(&w, mr) == 0);
	RC(0, fi_close(&mr->fid));
	RC(0, fi_close(&strange->fid));
	RC(0, fi_close(&ep->fid));
	RC(0, fi_close(&domain->fid));
	world_close(&w);
}

/* An endpoint is an endpoint before it is enabled, too. */
Test(fi_bind, an_endpoint_that_is_enabled_later)
{
	struct fid_mr *mr;
	struct world w;

	world_open_disabled(&w, &(struct want){ .caps = FI_MSG | FI_RMA, .mr_mode = FI_MR_ENDPOINT });
	mr = reg(&w, 1, 0);
	RC(0, fi_mr_bind(mr, &w.ep->fid, 0));
	RC(0, fi_mr_enable(mr));
	world_enable(&w);
	cr_expect(write_to(&w, mr) == 0);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* Without the mode bits nothing is to be enabled, and no endpoint to be bound; a counter at any time. */
Test(fi_bind, regions_that_are_open_from_the_start)
{
	struct fid_cntr *cntr;
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .caps = EVENTS });
	RC(0, fi_cntr_open(w.domain, &(struct fi_cntr_attr){ 0 }, &cntr, NULL));
	mr = reg(&w, 1, FI_RMA_EVENT);
	RC(-FI_EOPBADSTATE, fi_mr_enable(mr));
	RC(-FI_EINVAL, fi_mr_bind(mr, &w.ep->fid, 0));
	RC(0, fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE));
	cr_expect(write_to(&w, mr) == 0);
	cr_expect(fi_cntr_read(cntr) == 1);
	RC(0, fi_close(&cntr->fid)); /* which dissolves the bond */
	cr_expect(write_to(&w, mr) == 0);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* A counter that an endpoint counts with stays open, and its regions bound. */
Test(fi_bind, a_counter_in_use_keeps_its_regions)
{
	struct fid_mr *mr;
	struct world w;
	uint64_t before;

	world_open(&w, &(struct want){ .caps = EVENTS });
	mr = reg(&w, 1, 0);
	RC(0, fi_mr_bind(mr, &w.cntr->fid, FI_REMOTE_WRITE));
	RC(-FI_EBUSY, fi_close(&w.cntr->fid));
	before = fi_cntr_read(w.cntr);
	cr_expect(write_to(&w, mr) == 0);
	cr_expect(fi_cntr_read(w.cntr) == before + 2); /* as the initiator's write, and as the region's event */
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* The attributes as of API 2.0, whichever headers this is built with. */
static struct fi_mr_attr *attributes(uint8_t room[128], const struct iovec *iov, const struct fid_mr *base)
{
	struct fi_mr_attr *attr = (struct fi_mr_attr *)(void *)room;

	memset(room, 0, 128);
	attr->mr_iov = iov;
	attr->iov_count = 1;
	attr->access = FI_REMOTE_WRITE;
	attr->requested_key = 77;
	memcpy(room + 96, &base, sizeof(base));
	return attr;
}

/* A hook of libfabric opens with its own domain as the context. It passes regions of its own, which have the descriptors and no
 * more of the regions; and its fi_mr_reg leaves the fields that are newer than iface as they lay on its stack. */
Test(fi_bind, a_domain_that_a_hook_stands_before)
{
	struct iovec inside = { buffer + 8, 8 }, outside = { buffer + 4090, 8 };
	uint64_t room[16];
	uint8_t *bytes = (uint8_t *)room;
	struct fi_ops ops = { .size = sizeof(ops) };
	struct fid_domain hook = { .fid = { .fclass = FI_CLASS_DOMAIN, .ops = &ops } }, *domain;
	struct fid_mr hooked = { .fid = { .fclass = FI_CLASS_MR, .ops = &ops } }, *base, *sub = NULL;
	struct fi_mr_attr *attr;
	struct world w;

	if (!world_has(FI_VERSION(2, 0)))
		cr_skip_test("base_mr came with API 2.0");
	world_open(&w, &(struct want){ .api = FI_VERSION(2, 0), .caps = EVENTS });
	base = reg(&w, 1, 0);
	hooked.mem_desc = fi_mr_desc(base);
	RC(-FI_EINVAL, fi_mr_regattr(w.domain, attributes(bytes, &inside, &hooked), 0, &sub)); /* no hook has opened this one */
	cr_expect_null(sub);
	RC(0, fi_close(&base->fid));
	RC(0, fi_domain(w.fabric, w.info, &domain, &hook));
	attr = attributes(bytes, &inside, (struct fid_mr *)0x1234567);
	memset(bytes + 80, 0x5a, 16);                 /* hmem_data, page_size */
	RC(0, fi_mr_regattr(domain, attr, 0, &base)); /* what a hook makes of fi_mr_reg */
	RC(0, fi_close(&base->fid));
	attr->mr_iov = &(struct iovec){ buffer, sizeof(buffer) };
	RC(0, fi_mr_regattr(domain, attr, 0, &base));
	hooked.mem_desc = fi_mr_desc(base);
	attr = attributes(bytes, &outside, &hooked);
	attr->requested_key++;
	RC(-FI_EINVAL, fi_mr_regattr(domain, attr, 0, &sub));
	attr->mr_iov = &inside;
	RC(0, fi_mr_regattr(domain, attr, 0, &sub));
	RC(-FI_EBUSY, fi_close(&base->fid)); /* S126 */
	RC(0, fi_close(&sub->fid));
	RC(0, fi_close(&base->fid));
	RC(0, fi_close(&domain->fid));
	world_close(&w);
}

Test(fi_bind, regions_within_regions)
{
	struct iovec inside = { buffer + 8, 8 }, outside = { buffer + 4090, 8 };
	uint64_t room[16];
	uint8_t *bytes = (uint8_t *)room;
	struct fid_mr *base, *other, *sub = NULL;
	struct fid_domain *domain;
	struct emu_mr alike;
	struct world w;

	if (!world_has(FI_VERSION(2, 0)))
		cr_skip_test("base_mr came with API 2.0");
	world_open(&w, &(struct want){ .api = FI_VERSION(2, 0), .caps = EVENTS });
	base = reg(&w, 1, 0);
	RC(0, fi_domain(w.fabric, w.info, &domain, NULL));
	RC(0, fi_mr_reg(domain, buffer, sizeof(buffer), FI_REMOTE_WRITE, 0, 2, 0, &other, NULL));
	RC(-FI_EINVAL, fi_mr_regattr(w.domain, attributes(bytes, &inside, other), 0, &sub));
	RC(-FI_EINVAL, fi_mr_regattr(w.domain, attributes(bytes, &inside, (struct fid_mr *)&w.cq->fid), 0, &sub));
	RC(-FI_EINVAL, fi_mr_regattr(w.domain, attributes(bytes, &outside, base), 0, &sub));
	alike = *emu_mr(&base->fid); /* all but its class is a region's */
	alike.fid.fid.fclass = FI_CLASS_CQ;
	RC(-FI_EINVAL, fi_mr_regattr(w.domain, attributes(bytes, &inside, &alike.fid), 0, &sub));
	RC(-FI_EBADFLAGS, fi_mr_regattr(w.domain, attributes(bytes, &inside, base), 1ull << 33, &sub));
	cr_expect(!sub, "a failed registration wrote its result");
	RC(0, fi_close(&base->fid)); /* none of them holds it */
	base = reg(&w, 1, 0);
	RC(0, fi_mr_regattr(w.domain, attributes(bytes, &inside, base), 0, &sub));
	RC(-FI_EBUSY, fi_close(&base->fid));
	RC(0, fi_close(&sub->fid));
	RC(0, fi_close(&base->fid));
	RC(0, fi_close(&other->fid));
	RC(0, fi_close(&domain->fid));
	world_close(&w);
}

/* A program of 1.17 has no base_mr: what lies behind its structure is not read. */
Test(fi_bind, older_attributes_are_not_read_beyond)
{
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov = { buffer, 8 };
	uint64_t room[16];
	struct fid_mr *mr;
	struct world w;

	cr_assert(pages != MAP_FAILED && !mprotect(pages + 4096, 4096, PROT_NONE));
	world_open(&w, &(struct want){ .api = FI_VERSION(1, 17), .caps = FI_MSG | FI_RMA });
	memcpy(pages + 4096 - 80, attributes((uint8_t *)room, &iov, NULL), 80);
	RC(0, fi_mr_regattr(w.domain, (struct fi_mr_attr *)(void *)(pages + 4096 - 80), 0, &mr));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
	munmap(pages, 8192);
}

Test(fi_bind, policies_are_words)
{
	struct fid_domain *domain;
	struct world w;

	setenv("FI_EMU_MR_CLOSE", "mr-first", 1);
	world_open(&w, &(struct want){ .caps = EVENTS });
	setenv("FI_EMU_MR_CLOSE", "mr-second", 1);
	cr_expect(fi_domain(w.fabric, w.info, &domain, NULL) == -FI_EINVAL);
	world_close(&w);
}

/* In a fork's child every call fails cleanly, and closing closes the child's objects alone, in whatever order. */
Test(fi_bind, child_of_a_fork)
{
	struct fid_cntr *cntr;
	struct fid_mr *mr, *second;
	struct world w;
	pid_t child;
	int status;

	setenv("FI_EMU_MR_CLOSE", "mr-first", 1);
	world_open(&w, &(struct want){ .caps = EVENTS, .mr_mode = FI_MR_RMA_EVENT | FI_MR_ENDPOINT });
	mr = reg(&w, 1, FI_RMA_EVENT);
	RC(0, fi_mr_bind(mr, &w.ep->fid, 0));
	RC(0, fi_cntr_open(w.domain, &(struct fi_cntr_attr){ 0 }, &cntr, NULL));
	RC(0, fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE));
	child = fork();
	if (!child)
		_exit(fi_mr_reg(w.domain, buffer, 8, FI_SEND, 0, 2, 0, &second, NULL) != -FI_ENODEV ||
		      fi_mr_bind(mr, &w.cntr->fid, FI_REMOTE_WRITE) != -FI_ENODEV || fi_mr_enable(mr) != -FI_ENODEV ||
		      fi_close(&cntr->fid) != 0 || fi_close(&w.ep->fid) != 0 || fi_close(&mr->fid) != 0 ||
		      fi_close(&w.av->fid) != 0 || fi_close(&w.cntr->fid) != 0 || fi_close(&w.cq->fid) != 0 ||
		      fi_close(&w.domain->fid) != 0 || fi_close(&w.eq->fid) != 0 || fi_close(&w.fabric->fid) != 0);
	cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
	cr_expect(WEXITSTATUS(status) == 0);
	RC(0, fi_mr_enable(mr));
	RC(-FI_EBUSY, fi_close(&cntr->fid));
	RC(-FI_EBUSY, fi_close(&w.ep->fid));
	RC(0, fi_close(&mr->fid));
	RC(0, fi_close(&cntr->fid));
	world_close(&w);
}
