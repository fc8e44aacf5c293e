/* SPDX-License-Identifier: BSD-2-Clause */
/* record.h - what an input of the responder's target consists of: a record that says how, and others (scene.c). */
#ifndef TESTS_FUZZ_RECORD_H
#define TESTS_FUZZ_RECORD_H

enum { RECORD = 8 };      /* bytes, of which the first is the kind */
enum { RECORD_RAW = 28 }; /* the last kind: what is behind it is a frame as it stands */

#endif
