/* SPDX-License-Identifier: BSD-2-Clause */
/* string_step.c - the memory is reached by the kernel, which fails where the program would fault: then the program does. */
#include "emu/process/races/string_step.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "emu/process/races/exempt_call.h"
#include "emu/process/races/watched_pages.h"

enum { PIECE = 512 /* bytes: the handler's stack may be small */ };

struct string_step {
	size_t element; /* bytes */
	bool loads, stores;
};

static bool string_at(const ucontext_t *interrupted, struct string_step *string)
{
	enum { REPEAT = 0xf3, WORDS = 0x66, REX = 0x40, REX_WIDE = 8, DOWN = 0x400 /* of the flags */ };
	enum { MOVS = 0xa4, STOS = 0xaa, LODS = 0xac /* whose last bit is clear for bytes */ };
	const greg_t *registers = interrupted->uc_mcontext.gregs;
	unsigned char code[4], opcode;
	bool repeats = false, words = false, wide = false;
	size_t i = 0;

	if (registers[REG_EFL] & DOWN || !exempt_peek(code, (void *)registers[REG_RIP], sizeof(code)))
		return false;
	for (; i < 2 && (code[i] == REPEAT || code[i] == WORDS); i++)
		*(code[i] == REPEAT ? &repeats : &words) = true;
	if ((code[i] & 0xf0) == REX)
		wide = code[i++] & REX_WIDE;
	opcode = code[i] & 0xfe;
	string->element = code[i] == opcode ? 1 : wide ? 8 : words ? 2 : 4;
	string->loads = opcode != STOS;
	string->stores = opcode != LODS;
	return repeats && (opcode == MOVS || opcode == STOS || opcode == LODS);
}

size_t string_step_length(const ucontext_t *interrupted)
{
	struct string_step string;

	return string_at(interrupted, &string) ? (size_t)interrupted->uc_mcontext.gregs[REG_RCX] * string.element : 1;
}

static bool kernel_copy(long call, void *here, uintptr_t there, size_t length)
{
	struct iovec own = { here, length }, other = { (void *)there, length }; /* NOLINT(performance-no-int-to-ptr): a register */
	long process = exempt_call(SYS_getpid, 0, 0, 0, 0, 0, 0);

	return exempt_call(call, process, (long)&own, 1, (long)&other, 1, 0) == (long)length;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t to_the_end(uintptr_t at, size_t element)
{
	return (WATCHED_PAGE - at % WATCHED_PAGE) / element;
}

/* `count` elements; they are a piece at most. */
static bool make_piece(const struct string_step *string, greg_t *registers, size_t count)
{
	uintptr_t to = (uintptr_t)registers[REG_RDI], from = (uintptr_t)registers[REG_RSI];
	size_t length = count * string->element;
	unsigned char bytes[PIECE];

	if (!string->loads)
		for (size_t i = 0; i < length; i += string->element)
			memcpy(bytes + i, &registers[REG_RAX], string->element);
	else if (to - from < length || !kernel_copy(SYS_process_vm_readv, bytes, from, length))
		return false;
	if (!kernel_copy(SYS_process_vm_writev, bytes, to, length))
		return false;
	registers[REG_RDI] += (greg_t)length;
	registers[REG_RSI] += string->loads ? (greg_t)length : 0;
	registers[REG_RCX] -= (greg_t)count;
	return true;
}

bool string_step_make(ucontext_t *interrupted)
{
	greg_t *registers = interrupted->uc_mcontext.gregs;
	struct string_step string;
	size_t count;
	bool made = false;

	if (!string_at(interrupted, &string) || !string.stores)
		return false;
	count = smaller((size_t)registers[REG_RCX], to_the_end((uintptr_t)registers[REG_RDI], string.element));
	if (string.loads)
		count = smaller(count, to_the_end((uintptr_t)registers[REG_RSI], string.element));
	while (count) {
		size_t piece = smaller(count, PIECE / string.element);

		if (!make_piece(&string, registers, piece))
			return made;
		made = true;
		count -= piece;
	}
	return made;
}
