/* SPDX-License-Identifier: BSD-2-Clause */
/* scene.h - a device and a stranger, and what the next record of an input has either do (scene.c lists the kinds). */
#ifndef TESTS_FUZZ_SCENE_H
#define TESTS_FUZZ_SCENE_H

#include "tests/fuzz/record.h"
#include "tests/fuzz/stranger.h"

struct scene {
	struct plug plug;
	struct memory memory;
	struct av *av;
	struct cq *cq;
	struct ep *ep;
	uint64_t known;    /* the stranger's index */
	bool opened, deaf; /* the program reads no completions */
	struct stranger stranger;
	struct wire_target_fields to; /* what the open WRITE goes on with */
	uint64_t rest, message_rest;  /* bytes that the open WRITE, and RSEND, has still to send */
};

/* Of these there are two, with payload digests and without. */
void scene_open(struct scene *scene, bool full);
/* Does one record; returns how many bytes behind it belong to it. */
size_t scene_do(struct scene *scene, const uint8_t record[RECORD], const uint8_t *behind, size_t left);
/* Reads the program's queue; each op and receive ends once. */
void scene_read(struct scene *scene);

#endif
