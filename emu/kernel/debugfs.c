/* SPDX-License-Identifier: BSD-2-Clause */
/* debugfs.c - files of a module in the folder of FI_EMU_DEBUGFS. Each is a FIFO with a thread, which waits for a reader, makes the
 * FIFO anew for the next one, and lets the module show its text: so that a reader gets one text and its end. */
#include <emu_kernel.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/debugfs.h>
#include <linux/string.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct dentry {
	struct dentry *parent, *children, *next;  /* under `tree` */
	char name[64], path[512];                 /* path "": there is no folder */
	const struct file_operations *operations; /* NULL: a folder */
	struct inode inode;
	pthread_t thread;
	bool runs;
	int end;              /* an eventfd that ends a write to a reader that does not read */
	pthread_mutex_t lock; /* guards `ends`, and the FIFO's making */
	bool ends;
};

/* Guards the tree. Not held while a thread ends, as its module may call here. */
static pthread_mutex_t tree = PTHREAD_MUTEX_INITIALIZER;
static struct dentry root;

/* --- a file --- */

/* False: the reader has gone, or the file ends. */
static bool write_all(const struct dentry *dentry, int fd, const char *text, size_t length)
{
	struct pollfd wait[] = { { .fd = fd, .events = POLLOUT }, { .fd = dentry->end, .events = POLLIN } };

	while (length > 0) {
		ssize_t written;

		if (poll(wait, 2, -1) < 0 || wait[1].revents)
			return false;
		written = write(fd, text, length);
		if (written < 0 && errno != EAGAIN)
			return false;
		text += written > 0 ? written : 0;
		length -= written > 0 ? (size_t)written : 0;
	}
	return true;
}

static void show_file(struct dentry *dentry, int fd)
{
	struct file file = { .f_inode = &dentry->inode };
	const struct file_operations *op = dentry->operations;
	char part[4096];
	ssize_t length;

	file.private_data = dentry->inode.i_private;
	if (op->open && op->open(&dentry->inode, &file))
		return;
	while (op->read && (length = op->read(&file, part, sizeof(part), &file.f_pos)) > 0)
		if (!write_all(dentry, fd, part, (size_t)length))
			break;
	if (op->release)
		op->release(&dentry->inode, &file);
}

/* A new FIFO, which the last reader does not know, takes the place of the old one at once: a reader finds one at any time. False:
 * the file ends, or its folder is not there. */
static bool make_anew(struct dentry *dentry)
{
	char fresh[sizeof(dentry->path) + sizeof(".new")];
	bool made = false;

	snprintf(fresh, sizeof(fresh), "%s.new", dentry->path);
	pthread_mutex_lock(&dentry->lock);
	unlink(dentry->ends ? dentry->path : fresh); /* the latter is of a process that was killed */
	if (!dentry->ends)
		made = !mkfifo(fresh, 0600) && !rename(fresh, dentry->path);
	pthread_mutex_unlock(&dentry->lock);
	return made;
}

static void *serve_file(void *arg)
{
	struct dentry *dentry = arg;
	bool goes_on = true;

	while (goes_on) {
		int fd = open(dentry->path, O_WRONLY | O_CLOEXEC); /* until somebody reads it */

		if (fd < 0)
			break;
		goes_on = make_anew(dentry); /* the next reader waits there */
		if (goes_on && !fcntl(fd, F_SETFL, O_NONBLOCK))
			show_file(dentry, fd);
		close(fd);
	}
	return NULL;
}

static void begin_file(struct dentry *dentry)
{
	dentry->end = eventfd(0, EFD_CLOEXEC);
	dentry->runs = dentry->end >= 0 && make_anew(dentry) && !emu_kernel_start_thread(&dentry->thread, serve_file, dentry);
	if (!dentry->runs && dentry->end >= 0)
		close(dentry->end);
}

/* Lets the thread's open() return, if it waits in one, or its poll(). */
static void end_file(struct dentry *dentry)
{
	int fd;

	pthread_mutex_lock(&dentry->lock);
	dentry->ends = true;
	fd = open(dentry->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	pthread_mutex_unlock(&dentry->lock);
	(void)!eventfd_write(dentry->end, 1); /* it is empty: cannot fail */
	pthread_join(dentry->thread, NULL);
	if (fd >= 0)
		close(fd);
	close(dentry->end);
}

/* --- the tree --- */

static const char *root_path(void)
{
	const char *folder = getenv("FI_EMU_DEBUGFS");

	return folder ? folder : "";
}

static struct dentry *find_child(const struct dentry *parent, const char *name)
{
	struct dentry *at = parent->children;

	while (at && strcmp(at->name, name) != 0)
		at = at->next;
	return at;
}

static int name_path(struct dentry *dentry)
{
	const char *above = dentry->parent == &root ? root_path() : dentry->parent->path;
	int length = *above ? snprintf(dentry->path, sizeof(dentry->path), "%s/%s", above, dentry->name) : 0;

	return length < (int)sizeof(dentry->path) ? 0 : -ENAMETOOLONG;
}

static int enter_child(struct dentry *parent, struct dentry *made)
{
	int err = 0;

	pthread_mutex_lock(&tree);
	if (find_child(parent, made->name))
		err = -EEXIST;
	made->parent = parent;
	if (!err)
		err = name_path(made);
	if (!err && *made->path && !made->operations && mkdir(made->path, 0700) && errno != EEXIST)
		err = -errno;
	if (!err) {
		made->next = parent->children;
		parent->children = made;
	}
	pthread_mutex_unlock(&tree);
	return err;
}

static struct dentry *make_dentry(const char *name, struct dentry *parent, void *data, const struct file_operations *operations)
{
	struct dentry *made;
	int err;

	if (IS_ERR(parent))
		return parent;
	if (!name || !*name || strchr(name, '/') || !strcmp(name, "..") || !strcmp(name, ".") || strlen(name) >= sizeof(made->name))
		return ERR_PTR(-EINVAL);
	made = calloc(1, sizeof(*made));
	if (!made)
		return ERR_PTR(-ENOMEM);
	strscpy(made->name, name, sizeof(made->name));
	made->operations = operations;
	made->inode.i_private = data;
	pthread_mutex_init(&made->lock, NULL);
	err = enter_child(parent ? parent : &root, made);
	if (err) {
		free(made);
		return ERR_PTR(err);
	}
	if (operations && *made->path)
		begin_file(made);
	return made;
}

struct dentry *debugfs_create_dir(const char *name, struct dentry *parent)
{
	return make_dentry(name, parent, NULL, NULL);
}

/* The rights are not kept: the files are for the user that runs the module. */
struct dentry *debugfs_create_file(const char *name, mode_t mode, struct dentry *parent, void *data,
				   const struct file_operations *operations)
{
	(void)mode;
	return operations ? make_dentry(name, parent, data, operations) : ERR_PTR(-EINVAL);
}

void debugfs_remove(struct dentry *dentry)
{
	struct dentry **link;

	if (IS_ERR_OR_NULL(dentry))
		return;
	while (dentry->children)
		debugfs_remove(dentry->children);
	pthread_mutex_lock(&tree);
	for (link = &dentry->parent->children; *link != dentry;)
		link = &(*link)->next;
	*link = dentry->next;
	pthread_mutex_unlock(&tree);
	if (dentry->runs)
		end_file(dentry);
	if (!dentry->operations && *dentry->path)
		rmdir(dentry->path);
	pthread_mutex_destroy(&dentry->lock);
	free(dentry);
}

/* --- values --- */

static int u32_show(struct seq_file *file, void *arg)
{
	(void)arg;
	seq_printf(file, "%u\n", READ_ONCE(*(u32 *)file->private));
	return 0;
}

static int u64_show(struct seq_file *file, void *arg)
{
	(void)arg;
	seq_printf(file, "%llu\n", READ_ONCE(*(u64 *)file->private));
	return 0;
}

static int bool_show(struct seq_file *file, void *arg)
{
	(void)arg;
	seq_printf(file, "%c\n", READ_ONCE(*(bool *)file->private) ? 'Y' : 'N');
	return 0;
}

static int atomic_show(struct seq_file *file, void *arg)
{
	(void)arg;
	seq_printf(file, "%d\n", atomic_read(file->private));
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(u32);
DEFINE_SHOW_ATTRIBUTE(u64);
DEFINE_SHOW_ATTRIBUTE(bool);
DEFINE_SHOW_ATTRIBUTE(atomic);

void debugfs_create_u32(const char *name, mode_t mode, struct dentry *parent, u32 *value)
{
	debugfs_create_file(name, mode, parent, value, &u32_fops);
}

void debugfs_create_u64(const char *name, mode_t mode, struct dentry *parent, u64 *value)
{
	debugfs_create_file(name, mode, parent, value, &u64_fops);
}

void debugfs_create_bool(const char *name, mode_t mode, struct dentry *parent, bool *value)
{
	debugfs_create_file(name, mode, parent, value, &bool_fops);
}

void debugfs_create_atomic_t(const char *name, mode_t mode, struct dentry *parent, atomic_t *value)
{
	debugfs_create_file(name, mode, parent, value, &atomic_fops);
}
