/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_words.h - the names in sentences: libfabric's, or kfabric's where the personality says so (attr_table.kernel_words).
 * Any thread; nothing is locked. */
#ifndef EMU_FI_WORDS_H
#define EMU_FI_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* From now on sentences have the names of kfabric, or those of libfabric (at the start). Of the process. */
void words_of_kernel(bool on);
/* With kfabric's names: puts kfi_ and KFI_ in the place of fi_, FI_ and EMU_FI_ at the beginnings of names, but for the settings
 * FI_EMU_*, FI_LOG_* and FI_PROVIDER*. `text` is terminated, in `size` bytes; what gets no room is cut off,
 * and a name at the end may stay. Returns its length. */
size_t words_put(char *text, size_t size);

#endif
