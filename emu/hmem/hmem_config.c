/* SPDX-License-Identifier: BSD-2-Clause */
/* hmem_config.c - reads "cuda:2,ze:1" and a number of bytes. A wrong value leaves no devices: a test that meant
 * some fails. */
#include "emu/hmem/hmem_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE_DEFAULT ((size_t)4 << 30)
#define SIZE_MOST ((size_t)1 << 40) /* a terabyte of addresses each: the kernel has 128 */

static const char *const iface_names[EMU_HMEM_IFACES] = { "system", "cuda", "rocr", "ze", "neuron", "synapseai" };

const char *emu_hmem_iface_name(unsigned int iface)
{
	return iface < EMU_HMEM_IFACES ? iface_names[iface] : NULL;
}

void hmem_say(const char *format, ...)
{
	char line[256] = "emu-hmem: ";
	size_t at = strlen(line), room = sizeof(line) - at - 1;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line + at, room, format, args);
	va_end(args);
	at += (size_t)length < room ? (size_t)length : room - 1;
	line[at++] = '\n';
	while (write(STDERR_FILENO, line, at) < 0 && errno == EINTR)
		;
}

/* A number that ends where the text or a comma does. */
static bool count_of(const char *text, unsigned long long most, unsigned long long *value, const char **end)
{
	char *after;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &after, 10);
	*end = after;
	return !errno && *value >= 1 && *value <= most && (!*after || *after == ',');
}

/* One "cuda:2" of the list; *text is behind it then. */
static bool read_devices(const char **text, int devices[EMU_HMEM_IFACES])
{
	for (unsigned int i = EMU_HMEM_CUDA; i < EMU_HMEM_IFACES; i++) {
		size_t length = strlen(iface_names[i]);
		unsigned long long count;

		if (strncmp(*text, iface_names[i], length) || (*text)[length] != ':')
			continue;
		if (devices[i] || !count_of(*text + length + 1, HMEM_DEVICES_MAX, &count, text))
			return false;
		devices[i] = (int)count;
		return true;
	}
	return false;
}

static bool read_list(const char *text, int devices[EMU_HMEM_IFACES])
{
	for (;;) {
		if (!read_devices(&text, devices))
			return false;
		if (!*text++)
			return true;
	}
}

bool hmem_config_read(const char *devices, const char *size, struct hmem_config *config)
{
	unsigned long long bytes = SIZE_DEFAULT;
	const char *end = "";

	*config = (struct hmem_config){ .size = 0 };
	if (devices && *devices && !read_list(devices, config->devices)) {
		hmem_say("FI_EMU_HMEM: \"%.64s\" is no list of devices such as cuda:2,ze:1: each of cuda, rocr, ze, neuron and "
			 "synapseai once at most, with 1 to %d devices. There are none now",
			 devices, HMEM_DEVICES_MAX);
		*config = (struct hmem_config){ .size = 0 };
		return false;
	}
	if (size && (!count_of(size, SIZE_MOST, &bytes, &end) || *end)) {
		hmem_say("FI_EMU_HMEM_SIZE: \"%.64s\" is no number of bytes from 1 to %zu. There are no devices now", size,
			 SIZE_MOST);
		*config = (struct hmem_config){ .size = 0 };
		return false;
	}
	config->size = ((size_t)bytes + EMU_HMEM_PAGE - 1) / EMU_HMEM_PAGE * EMU_HMEM_PAGE;
	return true;
}
