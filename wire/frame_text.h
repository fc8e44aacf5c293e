/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_text.h - a frame as one line of text, for traces and tests. */
#ifndef WIRE_FRAME_TEXT_H
#define WIRE_FRAME_TEXT_H

#include "wire/frame.h"

enum { WIRE_LINE_MAX = 512 }; /* a buffer of this size holds any line */

/* "WRITE"; "?" for an unknown op. */
const char *wire_op_name(uint8_t op);

/* Writes like "WRITE seq 7 ack 3 FIRST|LAST key 0x2a addr 0x1000 rest 64 payload 64", cut to `size` bytes and always
 * terminated; returns the length written. Head and body must lie together; they need not be valid, but an unknown op
 * has no body. */
size_t wire_text(char *text, size_t size, const struct wire_head *head);

#endif
