/* SPDX-License-Identifier: BSD-2-Clause */
/* seq_files.c - texts that a file shows: made whole at the first read of an open file. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int open_text(struct file *file, const struct seq_file *as)
{
	struct seq_file *text = malloc(sizeof(*text));

	if (!text)
		return -ENOMEM;
	*text = *as;
	file->private_data = text;
	return 0;
}

int seq_open(struct file *file, const struct seq_operations *op)
{
	return open_text(file, &(struct seq_file){ .op = op });
}

int single_open(struct file *file, int (*show)(struct seq_file *file, void *arg), void *data)
{
	return open_text(file, &(struct seq_file){ .emu_show = show, .private = data });
}

int seq_release(struct inode *inode, struct file *file)
{
	struct seq_file *text = file->private_data;

	(void)inode;
	free(text->buf);
	free(text);
	return 0;
}

int single_release(struct inode *inode, struct file *file)
{
	return seq_release(inode, file);
}

int seq_write(struct seq_file *file, const void *data, size_t length)
{
	if (length > file->size - file->count) {
		size_t size = max(2 * file->size, file->count + length);
		char *grown = realloc(file->buf, size);

		if (!grown)
			return -ENOMEM;
		file->buf = grown;
		file->size = size;
	}
	memcpy(file->buf + file->count, data, length);
	file->count += length;
	return 0;
}

void seq_puts(struct seq_file *file, const char *text)
{
	seq_write(file, text, strlen(text));
}

void seq_putc(struct seq_file *file, char c)
{
	seq_write(file, &c, 1);
}

void seq_printf(struct seq_file *file, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		return;
	seq_write(file, text, (size_t)length);
	free(text);
}

/* 0 or the error of a show(), which ends the text. */
static int show_all(struct seq_file *file)
{
	loff_t at = 0;
	void *element;
	int rc = 0;

	if (file->emu_show)
		return file->emu_show(file, NULL);
	element = file->op->start(file, &at);
	while (element && !IS_ERR(element) && rc >= 0) {
		size_t before = file->count;

		rc = file->op->show(file, element);
		if (rc) /* SEQ_SKIP, or an error: nothing of this element */
			file->count = before;
		element = file->op->next(file, element, &at);
	}
	file->op->stop(file, element);
	return rc < 0 ? rc : IS_ERR(element) ? (int)PTR_ERR(element) : 0;
}

ssize_t seq_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct seq_file *text = file->private_data;
	size_t from = (size_t)*at, length;
	int err = *at ? 0 : show_all(text);

	if (err)
		return err;
	length = from < text->count ? min(size, text->count - from) : 0;
	if (length)
		memcpy(to, text->buf + from, length);
	*at += (loff_t)length;
	return (ssize_t)length;
}

loff_t seq_lseek(struct file *file, loff_t offset, int whence)
{
	(void)file, (void)offset, (void)whence;
	return -ESPIPE;
}
