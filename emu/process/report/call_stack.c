/* SPDX-License-Identifier: BSD-2-Clause */
/* call_stack.c - taking call stacks by the unwinder of the C library's backtrace(), which finds its tables without a lock.
 *
 * A program posts again and again from the same places. So the stacks that were taken last are kept: one is the same if this
 * code's frame is where it was, and each return address still stands where it stood. From the inner frame to the outer one, each
 * that is the same says where the next one is.
 *
 * Addresses become files by /proc/self/maps, and by the program headers in those files: an offset in a file is not what addr2line
 * wants, since segments may lie elsewhere than in the file. */
#include "emu/process/report/call_stack.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "emu/process/report/json.h"
#include "emu/nic/base/futex_lock.h"

enum { OWN_FRAMES = 16, FRAMES = CALL_STACK_FRAMES + OWN_FRAMES, MODULES = 256, PATHS = 1 << 16, HEADERS = 64 };
enum { SETS = 32, WAYS = 4 };

/* One executable mapping of a file. */
struct module {
	uintptr_t start, end;
	uint64_t at;      /* in the file */
	uint64_t linked;  /* where the file's headers put that byte; */
	bool looked;      /* once it was looked up */
	const char *path; /* in `paths` */
};

static struct {
	struct futex_lock lock;
	uint32_t count;
	struct module module[MODULES];
	size_t used;
	char paths[PATHS];
} known;

/* The provider's code, whose frames tell a program nothing. Equal: it is linked into the program. */
static uintptr_t own_start, own_end;

static int find_own(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t here = (uintptr_t)find_own;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || here < start || here - start >= segment->p_memsz)
			continue;
		if (*(int *)arg > 0) { /* the first one is the program */
			own_start = start;
			own_end = start + segment->p_memsz;
		}
		return 1;
	}
	++*(int *)arg;
	return 0;
}

/* The unwinder, which is not linked: the C library loads it. `walk` is set last; NULL: stacks are not kept. */
static struct {
	_Unwind_Reason_Code (*_Atomic walk)(_Unwind_Trace_Fn see, void *arg);
	uintptr_t (*ip)(struct _Unwind_Context *context);
	uintptr_t (*cfa)(struct _Unwind_Context *context);
} unwinder;

/* Only where a call puts its return address on the stack. */
static void find_unwinder(void)
{
#ifdef __x86_64__
	void *library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);
	_Unwind_Reason_Code (*walk)(_Unwind_Trace_Fn see, void *arg);

	if (!library)
		return;
	*(void **)&walk = dlsym(library, "_Unwind_Backtrace");
	*(void **)&unwinder.ip = dlsym(library, "_Unwind_GetIP");
	*(void **)&unwinder.cfa = dlsym(library, "_Unwind_GetCFA");
	if (walk && unwinder.ip && unwinder.cfa)
		atomic_store(&unwinder.walk, walk);
#endif
}

void call_stack_prime(void)
{
	void *frame[2];
	int number = 0;

	dl_iterate_phdr(find_own, &number);
	backtrace(frame, 2); /* loads its library */
	if (!atomic_load(&unwinder.walk))
		find_unwinder();
}

/* A stack, from the caller of call_stack_take() on. */
struct recent {
	uintptr_t here; /* that function's frame; 0: none */
	bool stands;    /* each return address stands at `at` */
	int count;
	uintptr_t frame[FRAMES];
	const uintptr_t *at[FRAMES];
};

/* By the frame. A set that is taken, by another thread or by the code that a signal handler interrupts, is not waited for. */
static struct recent_set {
	atomic_flag taken;
	unsigned int next;
	struct recent recent[WAYS];
} sets[SETS];

__attribute__((no_sanitize_address)) static _Unwind_Reason_Code see_frame(struct _Unwind_Context *context, void *arg)
{
	struct recent *to = arg;
	uintptr_t address = unwinder.ip(context), at = unwinder.cfa(context) - sizeof(uintptr_t);

	if (!to->count && at < to->here) /* this code's own */
		return _URC_NO_REASON;
	if (!address || to->count == FRAMES)
		return _URC_END_OF_STACK;
	to->frame[to->count] = address;
	to->at[to->count] = (const uintptr_t *)at; /* NOLINT(performance-no-int-to-ptr): the unwinder's */
	to->stands = to->stands && *to->at[to->count] == address;
	to->count++;
	return _URC_NO_REASON;
}

__attribute__((no_sanitize_address)) static bool is_same_stack(const struct recent *recent, uintptr_t here)
{
	if (recent->here != here)
		return false;
	for (int i = 0; i < recent->count; i++)
		if (*(const volatile uintptr_t *)recent->at[i] != recent->frame[i])
			return false;
	return true;
}

static const struct recent *find_recent(const struct recent_set *set, uintptr_t here)
{
	for (unsigned int i = 0; i < WAYS; i++)
		if (is_same_stack(&set->recent[i], here))
			return &set->recent[i];
	return NULL;
}

static void stack_from(struct call_stack *stack, const struct recent *recent)
{
	int from = 0;

	while (from < recent->count && recent->frame[from] - own_start < own_end - own_start)
		from++;
	stack->count = 0;
	for (int i = from; i < recent->count && stack->count < CALL_STACK_FRAMES; i++)
		stack->frame[stack->count++] = recent->frame[i];
}

/* `set` is NULL, or taken. */
static __attribute__((noinline)) void stack_walk(struct call_stack *stack, uintptr_t here, struct recent_set *set)
{
	_Unwind_Reason_Code (*walk)(_Unwind_Trace_Fn see, void *arg) = atomic_load(&unwinder.walk);
	struct recent now = { .here = here, .stands = true };

	walk(see_frame, &now);
	stack_from(stack, &now);
	if (set && now.stands)
		set->recent[set->next++ % WAYS] = now;
}

static __attribute__((noinline)) void stack_plain(struct call_stack *stack)
{
	struct recent now = { .count = 0 };
	void *frame[FRAMES];
	int count = backtrace(frame, FRAMES);

	for (int i = 2; i < count; i++)
		now.frame[now.count++] = (uintptr_t)frame[i];
	stack_from(stack, &now);
}

__attribute__((noinline)) void call_stack_take(struct call_stack *stack)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct recent_set *set = &sets[here * UINT64_C(0x9e3779b97f4a7c15) >> 59];
	const struct recent *recent;

	if (!atomic_load(&unwinder.walk)) {
		stack_plain(stack);
		return;
	}
	if (atomic_flag_test_and_set_explicit(&set->taken, memory_order_acquire)) {
		stack_walk(stack, here, NULL);
		return;
	}
	recent = find_recent(set, here);
	if (recent)
		stack_from(stack, recent);
	else
		stack_walk(stack, here, set);
	atomic_flag_clear_explicit(&set->taken, memory_order_release);
}

/* An address that was interrupted is no return address: others are one byte behind what they stand for. */
void call_stack_take_interrupted(struct call_stack *stack, uintptr_t at, bool deep)
{
	void *frame[FRAMES];
	int count = deep ? backtrace(frame, FRAMES) : 0, from = 0;

	stack->count = 1;
	stack->frame[0] = at + 1;
	while (from < count && (uintptr_t)frame[from] != at)
		from++;
	for (int i = from + 1; i < count && stack->count < CALL_STACK_FRAMES; i++)
		stack->frame[stack->count++] = (uintptr_t)frame[i];
}

uint64_t call_stack_place(const struct call_stack *stack)
{
	uint64_t place = 0;

	for (uint32_t i = 0; i < stack->count && i < 4; i++) /* a helper's frame alone would make all its callers one place */
		place = (place ^ stack->frame[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return place;
}

/* With the lock. `line`: start-end perms offset device inode path. */
static void note_mapping(const char *line)
{
	struct module *module = &known.module[known.count];
	int path = 0;
	char perms[5];
	size_t length;

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %*s %*s %n", &module->start, &module->end, perms, &module->at,
		   &path) < 4 ||
	    !path || perms[2] != 'x' || line[path] != '/')
		return;
	length = strlen(line + path) + 1;
	if (length > PATHS - known.used)
		return;
	module->looked = false;
	module->path = memcpy(known.paths + known.used, line + path, length);
	known.used += length;
	known.count++;
}

void call_stack_refresh(void)
{
	static char text[8192]; /* the lock's */
	int fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t got;

	if (fd < 0)
		return;
	futex_lock(&known.lock);
	known.count = 0;
	known.used = 0;
	while ((got = read(fd, text + have, sizeof(text) - 1 - have)) > 0) {
		char *line = text, *end;

		have += (size_t)got;
		text[have] = '\0';
		for (; (end = strchr(line, '\n')) && known.count < MODULES; line = end + 1) {
			*end = '\0';
			note_mapping(line);
		}
		have = strlen(line);
		memmove(text, line, have);
		if (have == sizeof(text) - 1 || known.count == MODULES)
			break;
	}
	futex_unlock(&known.lock);
	close(fd);
}

static bool read_part(int fd, void *to, size_t size, uint64_t at)
{
	return pread(fd, to, size, (off_t)at) == (ssize_t)size;
}

/* The address that the file's own headers give to its byte `at`. */
static uint64_t linked_at(const char *path, uint64_t at)
{
	ElfW(Phdr) segment[HEADERS];
	ElfW(Ehdr) head;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint64_t to = at;

	if (fd < 0)
		return at;
	if (!read_part(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phnum > HEADERS ||
	    head.e_phentsize != sizeof(*segment) || !read_part(fd, segment, head.e_phnum * sizeof(*segment), head.e_phoff))
		head.e_phnum = 0;
	for (int i = 0; i < head.e_phnum; i++)
		if (segment[i].p_type == PT_LOAD && at >= segment[i].p_offset && at - segment[i].p_offset < segment[i].p_filesz)
			to = at - segment[i].p_offset + segment[i].p_vaddr;
	close(fd);
	return to;
}

/* With the lock. */
static void frame_json(struct json *json, uintptr_t address)
{
	json_object(json, NULL);
	for (uint32_t i = 0; i < known.count; i++) {
		struct module *module = &known.module[i];

		if (address < module->start || address >= module->end)
			continue;
		json_string(json, "file", module->path);
		if (!module->looked)
			module->linked = linked_at(module->path, module->at);
		module->looked = true;
		json_hex(json, "offset", address - module->start + module->linked);
		json_end(json);
		return;
	}
	json_hex(json, "address", address); /* made by the program itself */
	json_end(json);
}

void call_stack_json(struct json *json, const char *name, const struct call_stack *stack)
{
	if (!stack || !stack->count)
		return;
	json_array(json, name);
	futex_lock(&known.lock);
	for (uint32_t i = 0; i < stack->count; i++)
		frame_json(json, stack->frame[i] - 1); /* the call, and not what follows it */
	futex_unlock(&known.lock);
	json_end(json);
}

void call_stack_text(const struct call_stack *stack, char *text, size_t size)
{
	uintptr_t address = stack && stack->count ? stack->frame[0] - 1 : 0;

	*text = '\0';
	if (!address)
		return;
	snprintf(text, size, "%#" PRIxPTR, address);
	futex_lock(&known.lock);
	for (uint32_t i = 0; i < known.count; i++) {
		const struct module *module = &known.module[i];

		if (address >= module->start && address < module->end)
			snprintf(text, size, "%s+%#" PRIx64, module->path,
				 linked_at(module->path, address - module->start + module->at));
	}
	futex_unlock(&known.lock);
}

void call_stack_forked(void)
{
	atomic_store(&known.lock.state, FUTEX_FREE);
	for (int i = 0; i < SETS; i++)
		atomic_flag_clear(&sets[i].taken);
}
