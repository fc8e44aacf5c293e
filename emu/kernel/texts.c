/* SPDX-License-Identifier: BSD-2-Clause */
/* texts.c - text to numbers, and copies of text. */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t length = strnlen(from, size);

	if (!size)
		return -E2BIG;
	memcpy(to, from, min(length, size - 1));
	to[min(length, size - 1)] = '\0';
	return length < size ? (ssize_t)length : -E2BIG;
}

size_t strlcpy(char *to, const char *from, size_t size)
{
	strscpy(to, from, size);
	return strlen(from);
}

void *kmemdup(const void *from, size_t size, gfp_t flags)
{
	void *copy = (kmalloc)(size, flags);

	if (copy && size)
		memcpy(copy, from, size);
	return copy;
}

char *kstrndup(const char *text, size_t max, gfp_t flags)
{
	size_t length = text ? strnlen(text, max) : 0;
	char *copy = text ? (kmalloc)(length + 1, flags) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

char *kstrdup(const char *text, gfp_t flags)
{
	return kstrndup(text, SIZE_MAX - 1, flags);
}

/* 0 if all of the text was a number, but for a newline. */
static int judge(const char *text, const char *end)
{
	if (errno == ERANGE)
		return -ERANGE;
	if (*end == '\n')
		end++;
	return end == text || *end ? -EINVAL : 0;
}

/* strtoull(3) takes blanks and a minus, too. */
int kstrtoull(const char *text, unsigned int base, unsigned long long *value)
{
	unsigned long long number;
	char *end;
	int err;

	if (*text == '+')
		text++;
	if (*text < '0' || (*text > '9' && base <= 10))
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &end, (int)base);
	err = judge(text, end);
	if (!err)
		*value = number;
	return err;
}

int kstrtoll(const char *text, unsigned int base, long long *value)
{
	bool negative = *text == '-';
	unsigned long long number;
	int err = kstrtoull(text + negative, base, &number);

	if (err || (negative && text[1] == '+'))
		return err ? err : -EINVAL;
	if (number > (unsigned long long)S64_MAX + negative)
		return -ERANGE;
	*value = negative ? (long long)-number : (long long)number;
	return 0;
}

int kstrtoul(const char *text, unsigned int base, unsigned long *value)
{
	unsigned long long number;
	int err = kstrtoull(text, base, &number);

	if (!err)
		*value = number;
	return err;
}

int kstrtol(const char *text, unsigned int base, long *value)
{
	long long number;
	int err = kstrtoll(text, base, &number);

	if (!err)
		*value = number;
	return err;
}

int kstrtouint(const char *text, unsigned int base, unsigned int *value)
{
	unsigned long long number;
	int err = kstrtoull(text, base, &number);

	if (!err && number > U32_MAX)
		err = -ERANGE;
	if (!err)
		*value = (unsigned int)number;
	return err;
}

int kstrtoint(const char *text, unsigned int base, int *value)
{
	long long number;
	int err = kstrtoll(text, base, &number);

	if (!err && (number > INT32_MAX || number < INT32_MIN))
		err = -ERANGE;
	if (!err)
		*value = (int)number;
	return err;
}

/* y, n, 1, 0, on, off; the first letters decide. */
int kstrtobool(const char *text, bool *value)
{
	bool o = text && (*text == 'o' || *text == 'O');

	if (!text || !*text || (o && !text[1]))
		return -EINVAL;
	if (strchr("yYtT1", *text) || (o && strchr("nN", text[1])))
		*value = true;
	else if (strchr("nNfF0", *text) || (o && strchr("fF", text[1])))
		*value = false;
	else
		return -EINVAL;
	return 0;
}

int scnprintf(char *text, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, size, format, args);
	va_end(args);
	return size ? min(length, (int)size - 1) : 0;
}

char *kasprintf(gfp_t flags, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = length < 0 ? NULL : (kmalloc)((size_t)length + 1, flags);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return text;
}
