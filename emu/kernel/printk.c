/* SPDX-License-Identifier: BSD-2-Clause */
/* printk.c - the log on stderr, and the ends that BUG() and WARN() come to. */
#include <linux/printk.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LINE_MAX_BYTES = 1000,
	RATE_BURST = 10,
};
#define RATE_NS 5000000000ULL

/* The level that the text begins with, if any: *format is moved behind it. 'c' is KERN_CONT. */
static int take_level(const char **format, int level)
{
	if ((*format)[0] != KERN_SOH[0] || !(*format)[1])
		return level == EMU_KERNEL_LEVEL_IN_TEXT ? EMU_KERNEL_LEVEL_DEFAULT : level;
	*format += 2;
	return (*format)[-1] == 'c' ? 'c' : (*format)[-1] - '0';
}

static int head(char *line, size_t size, int level, const char *file)
{
	static const char *const names[] = { "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug" };
	const char *name = level >= 0 && level <= 7 ? names[level] : "?";
	const char *base = strrchr(file, '/');
	uint64_t ns = emu_kernel_ns();

	if (level == 'c')
		return 0;
	return snprintf(line, size, "[%5llu.%06llu] %s %s: ", (unsigned long long)(ns / 1000000000),
			(unsigned long long)(ns % 1000000000 / 1000), name, base ? base + 1 : file);
}

int emu_kernel_printk(int level, const char *file, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	size_t length, room;
	va_list args;
	int text;

	level = take_level(&format, level);
	length = (size_t)head(line, sizeof(line) / 2, level, file);
	if (length >= sizeof(line) / 2)
		length = sizeof(line) / 2 - 1;
	room = sizeof(line) - 1 - length; /* a byte is for the end of the line */
	va_start(args, format);
	text = vsnprintf(line + length, room, format, args);
	va_end(args);
	if (text > 0)
		length += (size_t)text < room ? (size_t)text : room - 1;
	if (!length || line[length - 1] != '\n')
		line[length++] = '\n';
	if (write(STDERR_FILENO, line, length) < 0)
		return 0; /* there is nowhere to say so */
	return text;
}

bool emu_kernel_ratelimit(struct emu_kernel_ratelimit *state)
{
	uint64_t now = emu_kernel_ns();

	if (now - __atomic_load_n(&state->begin_ns, __ATOMIC_RELAXED) >= RATE_NS) {
		__atomic_store_n(&state->begin_ns, now, __ATOMIC_RELAXED);
		__atomic_store_n(&state->said, 0, __ATOMIC_RELAXED);
	}
	return __atomic_fetch_add(&state->said, 1, __ATOMIC_RELAXED) < RATE_BURST;
}

void emu_kernel_bug(const char *file, int line, const char *what)
{
	emu_kernel_printk(0, file, "BUG at line %d: %s\n", line, what);
	abort();
}

void emu_kernel_warn(const char *file, int line, const char *what)
{
	emu_kernel_printk(4, file, "WARNING at line %d: %s\n", line, what);
}
