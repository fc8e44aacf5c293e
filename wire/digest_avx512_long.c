/* SPDX-License-Identifier: BSD-2-Clause */
/* digest_avx512_long.c - compiled with -mavx512f, called only on such processors. */
#define DIGEST_LONG digest_avx512_long
#include "wire/digest_long.h"
