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
/* Likewise what the payload of a CONNECT, ACCEPT or REJECT says, of which the first `kept` bytes are there: "READY". "": it is no
 * word of rdma_cm. */
size_t wire_word_text(char *text, size_t size, const struct wire_head *head, const void *payload, size_t kept);
/* Likewise a datagram of `whole` bytes, of which the first `kept` are there: "datagram of 112 bytes from QPN 0x126607 to 0x126842
 * Q_Key 0x11111111", "question for the port of service 18515". */
size_t wire_datagram_text(char *text, size_t size, const void *bytes, size_t kept, size_t whole);

#endif
