/* SPDX-License-Identifier: BSD-2-Clause */
/* request.c - requests of the control socket, of any bytes: one is read, or refused with a sentence and nothing to free; and the
 * plan in it likewise.
 *
 * Input: a request without its newline. */
#include "emu/process/ctl/ctl_answer.h"
#include "emu/process/faults/fault_file.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ctl_request request;
	struct fault_plan plan;
	const char *wrong;
	char why[256] = "", *bytes = malloc(size); /* of its own size: what reads behind it is found */

	FUZZ_CHECK(bytes || !size);
	if (size)
		memcpy(bytes, data, size);
	wrong = ctl_request_read(bytes, size, &request);
	FUZZ_CHECK(!wrong || !request.text);
	FUZZ_CHECK(memchr(request.cmd, 0, sizeof(request.cmd)) && memchr(request.level, 0, sizeof(request.level)));
	if (request.text)
		FUZZ_CHECK(fault_read_text(request.text, strlen(request.text), &plan, why, sizeof(why)) || *why);
	free(request.text);
	free(bytes);
	return 0;
}
