/* SPDX-License-Identifier: BSD-2-Clause */
/* seq_file.h - texts that a file shows. */
#ifndef EMU_KERNEL_LINUX_SEQ_FILE_H
#define EMU_KERNEL_LINUX_SEQ_FILE_H

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/printk.h>

struct seq_operations;

struct seq_file {
	char *buf;
	size_t size, count;
	void *private;
	const struct seq_operations *op;
	int (*emu_show)(struct seq_file *file, void *arg);
};

struct seq_operations {
	void *(*start)(struct seq_file *file, loff_t *at);
	void (*stop)(struct seq_file *file, void *element);
	void *(*next)(struct seq_file *file, void *element, loff_t *at);
	int (*show)(struct seq_file *file, void *element);
};

#define SEQ_START_TOKEN ((void *)1)
#define SEQ_SKIP 1

int seq_open(struct file *file, const struct seq_operations *op);
int seq_release(struct inode *inode, struct file *file);
int single_open(struct file *file, int (*show)(struct seq_file *file, void *arg), void *data);
int single_release(struct inode *inode, struct file *file);
ssize_t seq_read(struct file *file, char __user *to, size_t size, loff_t *at);
loff_t seq_lseek(struct file *file, loff_t offset, int whence); /* there is one reading, from the beginning: -ESPIPE */

void seq_printf(struct seq_file *file, const char *format, ...) __printf(2, 3);
void seq_puts(struct seq_file *file, const char *text);
void seq_putc(struct seq_file *file, char c);
int seq_write(struct seq_file *file, const void *data, size_t length); /* 0, or -ENOMEM */

#define DEFINE_SHOW_ATTRIBUTE(name)                                      \
	static int name##_open(struct inode *inode, struct file *file)   \
	{                                                                \
		return single_open(file, name##_show, inode->i_private); \
	}                                                                \
	static const struct file_operations name##_fops = {              \
		.open = name##_open,                                     \
		.read = seq_read,                                        \
		.llseek = seq_lseek,                                     \
		.release = single_release,                               \
	}

#endif
