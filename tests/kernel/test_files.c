/* SPDX-License-Identifier: BSD-2-Clause */
/* test_files.c - texts of a module, its files in the folder of FI_EMU_DEBUGFS, and the small headers. */
#include <asm/byteorder.h>
#include <asm/checksum.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { GUARD_S = 60 };

/* What a shell's cat gets. */
static char *read_file(const char *path)
{
	static char text[65536];
	FILE *file = fopen(path, "r");
	size_t length;

	cr_assert(file, "%s", path);
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = '\0';
	fclose(file);
	return text;
}

/* --- texts --- */

static void *count_start(struct seq_file *file, loff_t *at)
{
	(void)file;
	return *at < 5 ? (void *)(uintptr_t)(*at + 1) : NULL;
}

static void *count_next(struct seq_file *file, void *element, loff_t *at)
{
	(void)element;
	++*at;
	return count_start(file, at);
}

static void count_stop(struct seq_file *file, void *element)
{
	(void)file, (void)element;
}

static int count_show(struct seq_file *file, void *element)
{
	seq_printf(file, "%lu;", (unsigned long)element);
	return element == (void *)3 ? SEQ_SKIP : 0;
}

static const struct seq_operations counting = { count_start, count_stop, count_next, count_show };

static int counting_open(struct inode *inode, struct file *file)
{
	(void)inode;
	return seq_open(file, &counting);
}

static const struct file_operations counting_files = { .open = counting_open, .read = seq_read, .release = seq_release };

Test(kernel_files, a_text_of_elements)
{
	struct file file = { 0 };
	char text[64] = "";
	size_t length = 0;
	ssize_t rc;

	cr_assert_eq(seq_open(&file, &counting), 0);
	while ((rc = seq_read(&file, text + length, 3, &file.f_pos)) > 0)
		length += (size_t)rc;
	cr_assert_eq(rc, 0);
	cr_expect_str_eq(text, "1;2;4;5;");
	cr_expect_eq(seq_lseek(&file, 0, 0), -ESPIPE);
	seq_release(NULL, &file);
}

/* --- the folder --- */

static int large_show(struct seq_file *file, void *arg)
{
	(void)arg;
	for (int i = 0; i < 2000; i++)
		seq_printf(file, "%04d %s\n", i, (const char *)file->private);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(large);

static int number_get(void *data, u64 *value)
{
	*value = ++*(u64 *)data;
	return 0;
}
DEFINE_SIMPLE_ATTRIBUTE(number_files, number_get, NULL, "%llu\n");

Test(kernel_files, a_reader_gets_the_text_of_that_moment)
{
	char folder[] = "/tmp/emu-debugfs-XXXXXX", path[128];
	struct dentry *dir, *sub;
	u64 number = 0;
	u32 small = 7;

	cr_assert(mkdtemp(folder));
	setenv("FI_EMU_DEBUGFS", folder, 1);
	dir = debugfs_create_dir("net", NULL);
	sub = debugfs_create_dir("peers", dir);
	cr_assert(!IS_ERR(dir) && !IS_ERR(sub));
	cr_expect_eq(PTR_ERR(debugfs_create_dir("peers", dir)), -EEXIST);
	cr_expect_eq(PTR_ERR(debugfs_create_dir("../up", dir)), -EINVAL);
	debugfs_create_file("count", 0444, sub, NULL, &counting_files);
	debugfs_create_file("large", 0444, sub, (void *)(uintptr_t) "line", &large_fops);
	debugfs_create_file("number", 0444, dir, &number, &number_files);
	debugfs_create_u32("small", 0444, dir, &small);
	snprintf(path, sizeof(path), "%s/net/peers/count", folder);
	for (int i = 0; i < 200; i++) /* a reader finds the file at any time */
		cr_expect_str_eq(read_file(path), "1;2;4;5;");
	snprintf(path, sizeof(path), "%s/net/peers/large", folder);
	cr_expect_eq(strlen(read_file(path)), 20000);
	snprintf(path, sizeof(path), "%s/net/number", folder);
	cr_expect_str_eq(read_file(path), "1\n");
	cr_expect_str_eq(read_file(path), "2\n");
	snprintf(path, sizeof(path), "%s/net/small", folder);
	cr_expect_str_eq(read_file(path), "7\n");
	debugfs_remove_recursive(dir);
	cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

static int endless_show(struct seq_file *file, void *arg)
{
	(void)arg;
	for (int i = 0; i < 200000; i++)
		seq_puts(file, "endless\n");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(endless);

/* Its thread has filled the pipe, and waits for room. */
Test(kernel_files, ends_under_a_reader_that_does_not_read)
{
	char folder[] = "/tmp/emu-debugfs-XXXXXX", path[128];
	struct dentry *file;
	int fd, had;

	alarm(GUARD_S);
	cr_assert(mkdtemp(folder));
	setenv("FI_EMU_DEBUGFS", folder, 1);
	file = debugfs_create_file("endless", 0444, NULL, NULL, &endless_fops);
	snprintf(path, sizeof(path), "%s/endless", folder);
	fd = open(path, O_RDONLY);
	cr_assert_geq(fd, 0);
	do
		cr_assert(!ioctl(fd, FIONREAD, &had));
	while (had < fcntl(fd, F_GETPIPE_SZ));
	debugfs_remove(file);
	close(fd);
	cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

Test(kernel_files, without_a_folder_nothing_is_made)
{
	struct dentry *dir;
	u32 value = 0;

	unsetenv("FI_EMU_DEBUGFS");
	dir = debugfs_create_dir("net", NULL);
	cr_assert(!IS_ERR(dir));
	debugfs_create_u32("value", 0444, dir, &value);
	debugfs_create_file("in an error", 0444, ERR_PTR(-EINVAL), NULL, &counting_files);
	debugfs_remove(dir);
	debugfs_remove(NULL);
}

/* --- the small ones --- */

Test(kernel_files, values_of_small_headers)
{
	static const u8 bytes[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 }; /* of RFC 1071, 3 */
	struct page *page = alloc_page(GFP_KERNEL);
	u32 from = 5, to = 0;

	cr_expect_eq(page_to_virt(page), page_address(page));
	__free_page(page);
	cr_expect_eq(be32_to_cpu(cpu_to_be32(0x01020304)), 0x01020304);
	cr_expect_eq(*(const u8 *)&(u32){ cpu_to_le32(0x01020304) }, 4);
	cr_expect_eq(csum_fold(csum_partial(bytes, sizeof(bytes), 0)), (u16)~__builtin_bswap16(0xddf2));
	cr_expect_eq(in_aton("192.0.2.1"), htonl(0xc0000201));
	cr_expect_eq(copy_from_user(&to, &from, sizeof(to)), 0);
	cr_expect_eq(to, from);
	cr_expect(LINUX_VERSION_CODE >= KERNEL_VERSION(5, 8, 0));
}
