/* SPDX-License-Identifier: BSD-2-Clause */
/* must_use.h - marks functions that return an error, a breach of the protocol, or memory to free: the compiler warns of a
 * caller that ignores the result. Calls after which nothing can be done are not marked: rejecting a request, closing an
 * object that is known to be empty. */
#ifndef EMU_NIC_MUST_USE_H
#define EMU_NIC_MUST_USE_H

#define MUST_USE __attribute__((warn_unused_result))

#endif
