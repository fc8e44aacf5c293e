/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_refuse.c - the sentences that many calls have in common. */
#include "emu/fi/provider/fi_refuse.h"

#include <rdma/fi_errno.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "emu/fi/provider/fi_words.h"
#include "emu/process/report/report.h"

__attribute__((format(printf, 3, 4))) static void tell_of(enum fi_log_subsys subsystem, const char *call, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	refused_call(subsystem, call, format, args);
	va_end(args);
}

void refuse(enum fi_log_subsys subsystem, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	refused_call(subsystem, format, format, args);
	va_end(args);
}

int refuse_flags(enum fi_log_subsys subsystem, const char *call, uint64_t flags)
{
	char names[FLAG_NAMES_MAX];

	tell_of(subsystem, call,
		"%s: the flags %#llx (%s) mean nothing here, or need a capability that was not asked for. Leave "
		"them out.",
		call, (unsigned long long)flags, flag_names(flags, FI_TYPE_OP_FLAGS, names));
	return -FI_EBADFLAGS;
}

static atomic_bool ending;

void refuse_ending(bool ends)
{
	atomic_store(&ending, ends);
}

int refuse_inherited(const char *call)
{
	if (atomic_load(&ending))
		return -FI_EAGAIN;
	tell_of(FI_LOG_CORE, call,
		"%s: the object was opened before fork(), and the NIC stays the parent's. Open fabric, domain "
		"and the rest in this process.",
		call);
	return -FI_ENODEV;
}

int refuse_missing(const char *call, const char *instead)
{
	tell_of(FI_LOG_CORE, call, "%s: this object has no such call. %s.", call, instead);
	return -FI_ENOSYS;
}

int refuse_probe(const char *call)
{
	EMU_INFO(CORE, "%s: not offered\n", call);
	return -FI_ENOSYS;
}

int refuse_command(const char *object, int command)
{
	return REFUSE(CORE, -FI_ENOSYS, "fi_control: %s has no command %d. Ask the pages of libfabric which there are.", object,
		      command);
}
