/* SPDX-License-Identifier: BSD-2-Clause */
/* fs.h - files that a module makes. Files of the system are not opened: filp_open() does not exist. */
#ifndef EMU_KERNEL_LINUX_FS_H
#define EMU_KERNEL_LINUX_FS_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/stat.h>
#include <linux/types.h>

struct module;
struct dentry;

struct inode {
	void *i_private; /* what debugfs_create_file() was given */
};

struct file {
	void *private_data;
	loff_t f_pos;
	struct inode *f_inode;
};

/* Of a file of debugfs `open`, `read` and `release` are called, when somebody reads it. */
struct file_operations {
	struct module *owner;
	loff_t (*llseek)(struct file *file, loff_t offset, int whence);
	ssize_t (*read)(struct file *file, char __user *to, size_t size, loff_t *at);
	ssize_t (*write)(struct file *file, const char __user *from, size_t size, loff_t *at);
	int (*open)(struct inode *inode, struct file *file);
	int (*release)(struct inode *inode, struct file *file);
};

static inline struct inode *file_inode(const struct file *file)
{
	return file->f_inode;
}

#endif
