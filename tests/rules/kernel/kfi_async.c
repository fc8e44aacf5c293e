/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_async.c - asynchronous registration of kfi_mr(3). */
#include "tests/rules/kernel/kworld.h"

static void await_event(const struct kside *side, struct kfid_mr *mr, void *context)
{
	struct deadline deadline = deadline_start();
	struct kfi_eq_entry entry = { 0 };
	uint32_t event = 0;
	ssize_t rc;

	while ((rc = kfi_eq_read(side->eq, &event, &entry, sizeof(entry), 0)) == -KFI_EAGAIN)
		deadline_check(&deadline, "KFI_MR_COMPLETE");
	CHECK_RC(sizeof(entry), rc);
	CHECK(event == KFI_MR_COMPLETE, "event %u", event);
	CHECK(entry.fid == &mr->fid && entry.context == context, "an event of another region, or with another context");
}

static void expect_silence(const struct kside *side)
{
	struct kfi_eq_entry entry;
	uint32_t event;

	CHECK_RC(-KFI_EAGAIN, kfi_eq_read(side->eq, &event, &entry, sizeof(entry), 0));
}

KTEST(S168_S169_S170_S173_registration_ends_by_an_event)
{
	static const int modes[] = { 0, KFI_MR_VIRT_ADDR | KFI_MR_PROV_KEY };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct kwish wish = { .mr_mode = modes[i], .async = true };
		struct kworld world;

		kworld_open(&world, &wish);
		for (enum kform form = 0; form < KFORMS; form++) {
			struct kask ask = {
				.form = form, .count = KPARTS, .access = KALL_REMOTE, .key = kfresh_key(), .context = &ask
			};
			struct kfid_mr *mr = NULL;
			struct kbuffer buffer;

			kbuffer_make(&buffer, KPARTS);
			CHECK_RC(0, kregister(&world.target, &buffer, &ask, &mr));
			CHECK(mr, "no region");
			await_event(&world.target, mr, &ask);
			CHECK_RC(0, krma(&world, KRMA_WRITE, mr, 0, 8, 1));
			CHECK_RC(0, kfi_close(&mr->fid));
			kbuffer_free(&buffer);
		}
		kworld_close(&world);
	}
}

/* Where regions are enabled, the event is that of kfi_mr_enable(). */
KTEST(S169_under_KFI_MR_ENDPOINT_enabling_ends_by_the_event)
{
	struct kwish wish = { .mr_mode = KFI_MR_ENDPOINT, .async = true };
	struct kask ask = { .form = KFORM_BVEC, .count = KPARTS, .access = KALL_REMOTE, .key = kfresh_key(), .context = &wish };
	struct kfid_mr *mr = NULL;
	struct kbuffer buffer;
	struct kworld world;

	kworld_open(&world, &wish);
	kbuffer_make(&buffer, KPARTS);
	CHECK_RC(0, kregister(&world.target, &buffer, &ask, &mr));
	CHECK_RC(0, kfi_mr_bind(mr, &kside_receiver(&world.target)->fid, 0));
	expect_silence(&world.target);
	CHECK_RC(0, kfi_mr_enable(mr));
	await_event(&world.target, mr, &wish);
	CHECK_RC(0, krma(&world, KRMA_WRITE, mr, 0, 8, 1));
	CHECK_RC(0, kfi_close(&world.target.ep->fid));
	world.target.ep = NULL;
	CHECK_RC(0, kfi_close(&mr->fid));
	kbuffer_free(&buffer);
	kworld_close(&world);
}

KTEST(S171_a_refused_registration_has_no_event)
{
	struct kwish wish = { .async = true };
	struct kask ask = { .form = KFORM_BVEC, .count = KPARTS, .access = KALL_REMOTE, .key = kfresh_key(), .offset = 1 };
	struct kfid_mr *mr = NULL, *good = NULL;
	struct kbuffer buffer;
	struct kworld world;

	kworld_open(&world, &wish);
	kbuffer_make(&buffer, KPARTS);
	CHECK_RC(-KFI_EINVAL, kregister(&world.target, &buffer, &ask, &mr));
	ask.offset = 0;
	ask.context = &good;
	CHECK_RC(0, kregister(&world.target, &buffer, &ask, &good));
	await_event(&world.target, good, &good); /* the first one that there is */
	expect_silence(&world.target);
	CHECK_RC(0, kfi_close(&good->fid));
	kbuffer_free(&buffer);
	kworld_close(&world);
}

KTEST(S173_the_context_of_a_synchronous_registration_is_not_looked_at)
{
	struct kwish wish = { 0 };
	struct kask ask = { .form = KFORM_KVEC, .count = 1, .access = KALL_REMOTE, .context = (void *)1 };
	struct kbuffer buffer;
	struct kworld world;
	struct kfid_mr *mr;

	kworld_open(&world, &wish);
	kbuffer_make(&buffer, 1);
	ask.key = kfresh_key();
	CHECK_RC(0, kregister(&world.target, &buffer, &ask, &mr));
	CHECK_RC(0, kfi_close(&mr->fid));
	kbuffer_free(&buffer);
	kworld_close(&world);
}
