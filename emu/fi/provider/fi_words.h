/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_words.h - names in sentences, and flags by name. Any thread. */
#ifndef EMU_FI_WORDS_H
#define EMU_FI_WORDS_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- The names in sentences: libfabric's, or kfabric's where the personality says so (attr_table.kernel_words). Any thread;
 * nothing is locked. --- */

/* From now on sentences have the names of kfabric, or those of libfabric (at the start). Of the process. */
void words_of_kernel(bool on);
/* With kfabric's names: puts kfi_ and KFI_ in the place of fi_, FI_ and EMU_FI_ at the beginnings of names, but for the settings
 * FI_EMU_*, FI_LOG_* and FI_PROVIDER*. `text` is terminated, in `size` bytes; what gets no room is cut off,
 * and a name at the end may stay. Returns its length. */
size_t words_put(char *text, size_t size);

/* --- the bits of a program's argument in words, for sentences. Any thread. --- */

enum { FLAG_NAMES_MAX = 512 };

/* All of them in `text`, which is returned, by libfabric's names, or "bit 55" where it has none. Some have a name as a flag and
 * another as a capability: `first`, FI_TYPE_OP_FLAGS or FI_TYPE_CAPS, says which is meant. "none" for 0. */
const char *flag_names(uint64_t flags, enum fi_type first, char text[FLAG_NAMES_MAX]) __attribute__((cold));

#endif
