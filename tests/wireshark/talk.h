/* SPDX-License-Identifier: BSD-2-Clause */
/* talk.h - a conversation with each frame in its place, as two endpoints have it. */
#ifndef TESTS_WIRESHARK_TALK_H
#define TESTS_WIRESHARK_TALK_H

#include "tests/wireshark/capture.h"

/* Writes it to the stream, a frame a piece. */
void talk(struct capture_stream *stream);
/* Two connections of one session, from the same port, and what may not stand at the end. */
void talk_resumed(struct capture *capture);
/* A connection whose greeting is not in the capture. */
void talk_midstream(struct capture_stream *stream);
/* A few datagrams: a good one, one with everything, one that its receiver drops. */
void talk_datagrams(struct capture *capture);
/* A connection of rdma_cm, from the question for the port to the last note, with payloads that are no words; and queue pairs of
 * types XRC and UC. */
void talk_rdma(struct capture *capture);

#endif
