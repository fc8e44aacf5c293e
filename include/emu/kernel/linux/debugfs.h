/* SPDX-License-Identifier: BSD-2-Clause */
/* debugfs.h - files that show the state of a module: with FI_EMU_DEBUGFS=folder they are FIFOs in that folder, and a reader gets
 * what the module shows at that moment. Without the setting the calls succeed, and there is nothing. Nobody can write to them. */
#ifndef EMU_KERNEL_LINUX_DEBUGFS_H
#define EMU_KERNEL_LINUX_DEBUGFS_H

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/seq_file.h>

/* NULL as the parent is the root. Names that are there, or cannot be: an error pointer, which these calls take for a parent. */
struct dentry *debugfs_create_dir(const char *name, struct dentry *parent);
struct dentry *debugfs_create_file(const char *name, mode_t mode, struct dentry *parent, void *data,
				   const struct file_operations *operations);
void debugfs_remove(struct dentry *dentry); /* with all in it; NULL and error pointers are fine */
#define debugfs_remove_recursive(dentry) debugfs_remove(dentry)

/* Their values, as numbers in a line. They are not written to. */
void debugfs_create_u32(const char *name, mode_t mode, struct dentry *parent, u32 *value);
void debugfs_create_u64(const char *name, mode_t mode, struct dentry *parent, u64 *value);
void debugfs_create_bool(const char *name, mode_t mode, struct dentry *parent, bool *value);
void debugfs_create_atomic_t(const char *name, mode_t mode, struct dentry *parent, atomic_t *value);

/* A file that is a number: reads call `get`. `set` is not called. */
#define DEFINE_DEBUGFS_ATTRIBUTE(name, get, set, format) DEFINE_SIMPLE_ATTRIBUTE(name, get, set, format)
#define DEFINE_SIMPLE_ATTRIBUTE(name, get, set, format)                      \
	static int name##_emu_show(struct seq_file *file, void *arg)         \
	{                                                                    \
		int (*emu_get)(void *, u64 *) = (get);                       \
		int (*emu_set)(void *, u64) = (set);                         \
		u64 value = 0;                                               \
		int rc = emu_get ? emu_get(file->private, &value) : -EACCES; \
		(void)arg;                                                   \
		(void)emu_set;                                               \
		if (!rc)                                                     \
			seq_printf(file, format, value);                     \
		return rc;                                                   \
	}                                                                    \
	static int name##_emu_open(struct inode *inode, struct file *file)   \
	{                                                                    \
		return single_open(file, name##_emu_show, inode->i_private); \
	}                                                                    \
	static const struct file_operations name = { .open = name##_emu_open, .read = seq_read, .release = single_release }

#endif
