/* SPDX-License-Identifier: BSD-2-Clause */
/* talk_impl.h - single frames of a conversation, sealed and put into a capture. Thread: one. */
#ifndef TESTS_WIRESHARK_TALK_IMPL_H
#define TESTS_WIRESHARK_TALK_IMPL_H

#include "tests/wireshark/capture.h"
#include "wire/codec.h"

extern const struct wire_address_fields talk_at[2]; /* of each side */

void talk_hello(struct capture_stream *stream, int side, uint32_t features, uint64_t epoch);
/* Of a queue pair with that index: version 2. */
void talk_hello_pair(struct capture_stream *stream, int side, uint32_t features, uint8_t index);
void talk_pair(struct capture_stream *stream, int side, uint32_t sq_psn);
/* CONNECT, ACCEPT or REJECT with a payload. */
void talk_cm(struct capture_stream *stream, int side, uint8_t op, uint64_t seq, uint64_t request, const void *bytes, size_t length);
/* A whole message of 8 bytes. */
void talk_rsend(struct capture_stream *stream, int side, uint64_t seq, const struct wire_message_fields *fields);

#endif
