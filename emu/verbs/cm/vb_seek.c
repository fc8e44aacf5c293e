/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_seek.c - connections that seek the manager of a service. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "emu/net/os/monotonic.h"
#include "emu/nic/base/address.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/endpoint/service.h"
#include "emu/verbs/cm/vb_manager.h"

struct vb_question {
	struct vb_question *next;
	struct vb_manager *manager;
	struct service *service;
	struct sockaddr_storage at; /* canonical */
	uint64_t shared_until_ns;
	struct vb_cm *first, **end; /* in the order in which they came */
};

static struct vb_question *questions; /* of the process; with the driver role */

static void question_leave(struct vb_question *question)
{
	struct vb_question **at = &questions;

	while (*at && *at != question)
		at = &(*at)->next;
	if (*at)
		*at = question->next;
	free(question);
}

/* One that has just begun is shared: it has all its time before it. */
static struct vb_question *question_shared(const struct vb_manager *manager, const struct sockaddr_storage *at)
{
	struct vb_question *question = questions;
	uint64_t now_ns = monotonic_ns();

	while (question &&
	       (question->manager != manager || now_ns >= question->shared_until_ns || !address_equal(&question->at, at)))
		question = question->next;
	return question;
}

static int question_new(struct vb_manager *manager, const struct sockaddr_storage *at, struct vb_question **out)
	REQUIRES(driver_role)
{
	struct vb_question *question = calloc(1, sizeof(*question));
	int err;

	if (!question)
		return -ENOMEM;
	question->manager = manager;
	question->at = *at;
	question->end = &question->first;
	question->shared_until_ns = monotonic_ns() + TIME_ASK_NS;
	err = service_ask(manager->ep, at, question, &question->service);
	if (err) {
		free(question);
		return err;
	}
	question->next = questions;
	questions = question;
	*out = question;
	return 0;
}

int connection_seek(struct vb_cm *cm, const struct sockaddr_storage *server)
{
	struct vb_question *question;
	struct sockaddr_storage at;
	int err = 0;

	if (!address_canonical((const struct sockaddr *)server, &at))
		return -EAFNOSUPPORT;
	question = question_shared(cm->manager, &at);
	if (!question)
		err = question_new(cm->manager, &at, &question);
	if (err)
		return err;
	cm->question = question;
	cm->next_seeking = NULL;
	*question->end = cm;
	question->end = &cm->next_seeking;
	connection_enter(cm, STAGE_SEEKS);
	return 0;
}

void connection_seek_end(struct vb_cm *cm)
{
	struct vb_question *question = cm->question;
	struct vb_cm **at = &question->first;

	while (*at != cm)
		at = &(*at)->next_seeking;
	*at = cm->next_seeking;
	if (question->end == &cm->next_seeking)
		question->end = at;
	cm->question = NULL;
	if (question->first)
		return;
	service_close(question->service);
	question_leave(question);
}

void question_over(struct vb_question *question, const struct sockaddr_storage *found, int err)
{
	struct vb_cm *cm, *next;

	for (cm = question->first; cm; cm = next) {
		int failed = err;

		next = cm->next_seeking;
		cm->question = NULL;
		if (!failed)
			failed = -connection_request(cm, found);
		if (!failed)
			continue;
		connection_enter(cm, STAGE_OVER);
		cm->tell(cm->owner, &(struct vb_cm_told){ .kind = VB_CM_FAILED, .err = failed });
	}
	question_leave(question);
}

void vb_seek_forked(void)
{
	questions = NULL;
}
