/* SPDX-License-Identifier: BSD-2-Clause */
/* report_frames.c - finds the function and the line of stack frames by debugging information. */
#include "tools/report/report_steps.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct report_module {
	Dwfl *dwfl;
	Dwfl_Module *module; /* NULL: nothing is known */
	GElf_Addr bias;
	struct report_module *next;
};

static char *debuginfo_path; /* libdw's default */

/* A stack may name anything, and a pipe, say, could keep its reader for ever: regular files alone. */
static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat stat_of;

	if (fd >= 0 && (fstat(fd, &stat_of) != 0 || !S_ISREG(stat_of.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Debugging information in a file of its own, which the module names: likewise. */
static bool is_regular_or_none(const char *folder, size_t length, const char *below, const char *file)
{
	struct stat stat_of;

	return stat(report_format("%.*s%s%s", (int)length, folder, below, file), &stat_of) != 0 || S_ISREG(stat_of.st_mode);
}

static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *path, const char *link,
			  GElf_Word sum, char **found)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	size_t length = slash ? (size_t)(slash - path) + 1 : 0;

	if (link &&
	    (*link == '/' || !is_regular_or_none(path, length, "", link) || !is_regular_or_none(path, length, ".debug/", link)))
		return -1;
	return dwfl_standard_find_debuginfo(module, data, name, base, path, link, sum, found);
}
static const Dwfl_Callbacks module_callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debuginfo_path,
};

static struct report_table modules_by_path, frames_by_address;
static struct report_module *modules;

static struct report_module *module_find(const char *path)
{
	void **slot = report_slot(&modules_by_path, path);
	struct report_module *module = *slot;
	Dwfl_Module *found;
	int fd;

	if (module)
		return module;
	*slot = module = report_alloc(sizeof(*module));
	if (*path != '/')
		return module;
	fd = open_regular(path);
	if (fd < 0)
		return module;
	module->dwfl = dwfl_begin(&module_callbacks);
	if (!module->dwfl) {
		close(fd);
		return module;
	}
	module->next = modules;
	modules = module;
	found = dwfl_report_offline(module->dwfl, "", path, fd);
	if (!found)
		close(fd); /* else it is libdw's */
	dwfl_report_end(module->dwfl, NULL, NULL);
	if (found && dwfl_module_getelf(found, &module->bias))
		module->module = found;
	return module;
}

/* The compilation unit of an address. Not every compiler writes the table that leads there at once. */
static Dwarf_Die *unit_of(const struct report_module *module, Dwarf_Addr address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(module->module, address, bias);

	if (unit)
		return unit;
	while ((unit = dwfl_module_nextcu(module->module, unit, bias)))
		if (dwarf_haspc(unit, address - *bias) == 1)
			return unit;
	return NULL;
}

/* Takes `.` and `..` out of a path in place: builds in a folder of their own name sources by way of it. */
static char *path_shorten(char *path)
{
	size_t from = 0, to = 0, length;

	while (path[from]) {
		length = 1 + strcspn(path + from + 1, "/");
		if (length == 3 && path[from + 1] == '.' && path[from + 2] == '.') {
			while (to && path[--to] != '/')
				;
		} else if (length > 1 && !(length == 2 && path[from + 1] == '.')) {
			memmove(path + to, path + from, length);
			to += length;
		}
		from += length;
	}
	path[to] = '\0';
	return path;
}

static const char *source_path(Dwarf_Die *unit, const char *source)
{
	Dwarf_Attribute attribute;
	const char *folder;

	if (*source == '/')
		return path_shorten(report_copy(source));
	folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	return folder && *folder == '/' ? path_shorten(report_format("%s/%s", folder, source)) : report_copy(source);
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), wanted = strlen(end);

	return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* Calls of libfabric, and many of libibverbs, are functions in headers, which compilers put into the caller. */
static bool is_call_header(const char *source)
{
	const char *name = source ? strrchr(source, '/') : NULL;

	if (!name || !ends_in(name, ".h"))
		return false;
	return (name - source >= 5 && strncmp(name - 5, "/rdma/f", 7) == 0) || ends_in(source, "/infiniband/verbs.h") ||
	       ends_in(source, "/rdma/rdma_verbs.h");
}

/* The next function at or above scope `at` of the list; -1 if there is none. */
static int function_from(Dwarf_Die *scopes, int count, int at)
{
	for (; at < count; at++)
		if (dwarf_tag(&scopes[at]) == DW_TAG_subprogram || dwarf_tag(&scopes[at]) == DW_TAG_inlined_subroutine)
			return at;
	return -1;
}

/* Where an inlined function was called: sets the line. False if that is not known. */
static bool frame_of_caller(struct report_frame *frame, Dwarf_Die *unit, Dwarf_Die *inlined)
{
	Dwarf_Word file, line;
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	const char *name;
	size_t count;

	if (dwarf_formudata(dwarf_attr_integrate(inlined, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(dwarf_attr_integrate(inlined, DW_AT_call_line, &attribute), &line) != 0 ||
	    dwarf_getsrcfiles(unit, &files, &count) != 0 || !(name = dwarf_filesrc(files, file, NULL, NULL)))
		return false;
	frame->source = source_path(unit, name);
	frame->line = (int)line;
	return true;
}

/* The innermost function that is not libfabric's, and its line. */
static void frame_function(struct report_frame *frame, Dwarf_Die *unit, Dwarf_Addr address)
{
	Dwarf_Die *scopes = NULL, *around = NULL;
	int count = dwarf_getscopes(unit, address, &scopes), at;
	const char *name;

	at = function_from(scopes, count, 0);
	/* What is around an inlined function is told of the place, not of the definition. */
	count = at >= 0 ? dwarf_getscopes_die(&scopes[at], &around) : 0;
	for (at = function_from(around, count, 0); at >= 0; at = function_from(around, count, at + 1)) {
		name = dwarf_diename(&around[at]);
		frame->function = name ? report_copy(name) : NULL;
		if (frame->function && is_call_header(frame->source))
			frame->call = frame->function + strspn(frame->function, "_"); /* __ibv_reg_mr() is a macro's */
		if (!is_call_header(frame->source) || dwarf_tag(&around[at]) != DW_TAG_inlined_subroutine ||
		    !frame_of_caller(frame, unit, &around[at]))
			break;
	}
	free(around);
	free(scopes);
}

static void frame_look_up(struct report_frame *frame)
{
	const struct report_module *module = module_find(frame->module);
	Dwarf_Addr address, bias = 0;
	const char *name;
	Dwarf_Line *line;
	Dwarf_Die *unit;

	if (!module->module || !frame->offset)
		return;
	address = frame->offset + module->bias;
	unit = unit_of(module, address, &bias);
	if (unit) {
		line = dwarf_getsrc_die(unit, address - bias);
		if (line && dwarf_lineno(line, &frame->line) == 0 && (name = dwarf_linesrc(line, NULL, NULL)))
			frame->source = source_path(unit, name);
		frame_function(frame, unit, address - bias);
		frame->below |= is_call_header(frame->source);
	}
	if (!frame->function && (name = dwfl_module_addrname(module->module, address)))
		frame->function = report_copy(name);
}

static void frame_resolve(struct report_frame *frame)
{
	char *address = report_format("%" PRIx64 " %s", frame->offset, frame->module);
	void **slot = report_slot(&frames_by_address, address);
	const struct report_frame *known = *slot;

	if (!known) {
		frame_look_up(frame);
		*slot = frame;
		return;
	}
	frame->function = known->function;
	frame->source = known->source;
	frame->line = known->line;
	frame->call = known->call;
	frame->below = known->below;
}

/* The call that the program made: a process knows the kind of an op, and not which of its calls posted it. */
static void record_call(struct report_record *record)
{
	const struct report_stack *stack = &record->stacks[record->stacks[STACK_POSTED].count ? STACK_POSTED : STACK_HERE];
	unsigned i;

	for (i = 0; i < stack->count; i++) {
		if (stack->frames[i].call)
			record->call = stack->frames[i].call;
		if (!stack->frames[i].below)
			return;
	}
}

void report_resolve(struct report_run *run)
{
	struct report_record *record;
	unsigned i, k;

	unsetenv("DEBUGINFOD_URLS"); /* a report must not wait for a network */
	for (record = run->records; record; record = record->next)
		for (i = 0; i < STACK_NAMES; i++)
			for (k = 0; k < record->stacks[i].count; k++)
				frame_resolve(&record->stacks[i].frames[k]);
	for (record = run->records; record; record = record->next)
		record_call(record);
	for (; modules; modules = modules->next)
		dwfl_end(modules->dwfl);
}

const char *report_frame_place(const struct report_frame *frame)
{
	const char *name = strrchr(frame->module, '/');

	if (frame->source)
		return report_format("%s:%d", frame->source, frame->line);
	return report_format("%s+0x%" PRIx64, name ? name + 1 : frame->module, frame->offset);
}

const char *report_frame_function(const struct report_frame *frame)
{
	size_t length;

	if (frame->function || !frame->symbol)
		return frame->function;
	length = strcspn(frame->symbol, "+");
	return report_format("%.*s", (int)length, frame->symbol);
}
