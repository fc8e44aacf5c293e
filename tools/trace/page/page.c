/* SPDX-License-Identifier: BSD-2-Clause */
/* page.c - a trace as one HTML page: the template with its marks replaced
 *
 * page_parts.c, which the build makes of the files of this folder (embed.cmake), has them as strings. */
#include "tools/trace/page/page.h"

#include <errno.h>
#include <string.h>

#include "tools/trace/page/page_impl.h"

static void scripts_write(FILE *to)
{
	for (const char *const *script = page_scripts; *script; script++)
		fprintf(to, "<script>\n%s</script>\n", *script);
}

static int mark_replace(const char *mark, const struct trace *trace, FILE *to)
{
	if (strncmp(mark, "{{page.css}}", 12) == 0)
		fputs(page_css, to);
	else if (strncmp(mark, "{{scripts}}", 11) == 0)
		scripts_write(to);
	else if (strncmp(mark, "{{data}}", 8) == 0)
		return page_data_write(trace, to);
	return 0;
}

int page_write(const struct trace *trace, FILE *to)
{
	const char *rest = page_html, *mark;

	errno = 0;
	while ((mark = strstr(rest, "{{"))) {
		int ret;

		fwrite(rest, 1, (size_t)(mark - rest), to);
		ret = mark_replace(mark, trace, to);
		if (ret)
			return ret;
		rest = strstr(mark, "}}") + 2;
	}
	fputs(rest, to);
	if (fflush(to) || ferror(to))
		return errno ? -errno : -EIO;
	return 0;
}
