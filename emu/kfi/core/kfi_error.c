/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_error.c - words for error numbers. */
#include <kfi_errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/string.h>

static const char *const kfi_texts[] = {
	[KFI_EOTHER - KFI_ERRNO_OFFSET] = "Error of no particular kind",
	[KFI_ETOOSMALL - KFI_ERRNO_OFFSET] = "Buffer too small",
	[KFI_EOPBADSTATE - KFI_ERRNO_OFFSET] = "Operation not possible in this state",
	[KFI_EAVAIL - KFI_ERRNO_OFFSET] = "An error entry waits to be read",
	[KFI_EBADFLAGS - KFI_ERRNO_OFFSET] = "Flags not supported",
	[KFI_ENOEQ - KFI_ERRNO_OFFSET] = "No event queue",
	[KFI_EDOMAIN - KFI_ERRNO_OFFSET] = "Wrong domain",
	[KFI_ENOCQ - KFI_ERRNO_OFFSET] = "No completion queue",
	[KFI_ECRC - KFI_ERRNO_OFFSET] = "Checksum error",
	[KFI_ETRUNC - KFI_ERRNO_OFFSET] = "Message truncated",
	[KFI_ENOKEY - KFI_ERRNO_OFFSET] = "Key not available",
	[KFI_ENOAV - KFI_ERRNO_OFFSET] = "No address vector",
	[KFI_EOVERRUN - KFI_ERRNO_OFFSET] = "Queue overrun",
};

const char *kfi_strerror(int errnum)
{
	const char *text = NULL;

	if (errnum < KFI_ERRNO_OFFSET)
		text = strerrordesc_np(errnum);
	else if (errnum - KFI_ERRNO_OFFSET < (int)ARRAY_SIZE(kfi_texts))
		text = kfi_texts[errnum - KFI_ERRNO_OFFSET];
	return text ? text : "Unknown error";
}
EXPORT_SYMBOL(kfi_strerror);
